/// State that a handle keeps from one write transaction to the next, so that the next one need not read it.
///
/// All but the map of free pages is found by references, whose checksums prove that it equals the file's
/// content; the map is used only if no other handle has committed since.
///
/// Thread rule: for the holder of the writers' turn.
final class WriterMemory {
  /// The map of free pages, kept while nobody else writes.
  var space: SpaceMap?
  /// Whether the map was dropped because tables were restored, and not after a failure.
  var hasRestored = false
  /// The rows that the last transactions wrote last.
  var tails = KeptByTable<ClusterStore.Tail>()
  /// The newest entries of the keys' indexes that were used last.
  var recentKeys = KeptByTable<RecentKeys>()
  /// The state of the tables that were written last.
  var knownTables = KeptByTable<KnownTable>()
  /// The kept versions of the versions whose pages the pipeline has needed last, by their roots.
  var keptRoots: [BlockReference: [VersionRecord]] = [:]
  /// The newest version's catalogue, by its root, as decoded from the file.
  var catalogue: (root: BlockReference, catalogue: Catalogue)?
  /// Creating it would cost a small transaction more than its rows.
  private(set) var builder = ClusterBuilder()

  /// Forgets everything, after a failure or when another file has replaced this one.
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

/// A table's state after the handle's last transaction on it; valid while the catalogue refers to the same
/// blocks.
struct KnownTable {
  let reference: BlockReference
  let schema: TableSchema
  /// The root and a key above all of its keys; nil when it was not determined.
  let bounded: (root: TreeRoot, nextKey: Int64)?

  init(_ table: Catalogue.TableEntry, _ editor: TableEditor) {
    reference = table.schema
    schema = editor.schema
    bounded = editor.nextKeyIsChecked ? (table.root, table.nextKey) : nil
  }
}
