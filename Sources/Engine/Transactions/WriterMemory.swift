/// State that a handle keeps from one write transaction to the next, to save reading it.
///
/// All of it except the map of free pages is found by references, whose checksums prove that it equals the
/// file's content. The map is used only if no other handle has committed since.
///
/// Thread rule: only for the holder of the writers' turn.
final class WriterMemory {
  /// The map of free pages, kept while no other handle writes.
  var space: SpaceMap?
  /// True when the map was dropped because tables were restored, and not after a failure.
  var hasRestored = false
  /// The rows that the latest transactions wrote last.
  var tails = KeptByTable<ClusterStore.Tail>()
  /// The newest entries of the keys' indexes used last.
  var recentKeys = KeptByTable<RecentKeys>()
  /// The state of the tables that were written last.
  var knownTables = KeptByTable<KnownTable>()
  /// The kept versions of the versions whose pages the pipeline needed last, by root.
  var keptRoots: [BlockReference: [VersionRecord]] = [:]
  /// The newest version's catalogue as decoded from the file, by root.
  var catalogue: (root: BlockReference, catalogue: Catalogue)?
  /// Kept because creating it would cost a small transaction more than its rows do.
  private(set) var builder = ClusterBuilder()

  /// Forgets everything, after a failure or a replacement of the file.
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
