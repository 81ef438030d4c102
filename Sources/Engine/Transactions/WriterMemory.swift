/// What a handle keeps from one write transaction to the next, so that the next one need not read it.
///
/// All but the map of free pages is found by references, whose checksums say that it is what the
/// file has; the map counts only where no other handle has committed since.
///
/// Thread rule: for whoever has the writers' turn.
final class WriterMemory {
  /// The map of free pages, kept while nobody else writes.
  var space: SpaceMap?
  /// Whether the map was given up for tables that were restored; else that is for a failure.
  var hasRestored = false
  /// The rows that the last transactions wrote last.
  var tails = KeptByTable<ClusterStore.Tail>()
  /// The newest entries of the keys' indexes that were used last.
  var recentKeys = KeptByTable<RecentKeys>()
  /// What is known of the tables that were written last.
  var knownTables = KeptByTable<KnownTable>()
  /// The versions that are kept by those versions whose pages the pipeline has needed last, by their roots.
  var keptRoots: [BlockReference: [VersionRecord]] = [:]
  /// The newest version's catalogue, by its root, as decoding that gives it.
  var catalogue: (root: BlockReference, catalogue: Catalogue)?
  /// Making its tables would cost a small transaction more than its rows.
  private(set) var builder = ClusterBuilder()

  /// After a failure, and when another file has taken the place of this one.
  func forget() {
    space = nil
    hasRestored = false
    tails = KeptByTable()
    recentKeys = KeptByTable()
    knownTables = KeptByTable()
    keptRoots = [:]
    catalogue = nil
    builder = ClusterBuilder()
  }
}

/// What a handle knows of a table from its last transaction on it, and need not read again while
/// the catalogue refers to the same blocks.
struct KnownTable {
  let reference: BlockReference
  let schema: TableSchema
  /// The root and a key that is known to be above all of its keys; nil when nobody has looked.
  let bounded: (root: TreeRoot, nextKey: Int64)?

  init(_ table: Catalogue.TableEntry, _ editor: TableEditor) {
    reference = table.schema
    schema = editor.schema
    bounded = editor.nextKeyIsChecked ? (table.root, table.nextKey) : nil
  }
}
