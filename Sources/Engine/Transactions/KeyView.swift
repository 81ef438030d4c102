/// A table with a primary key in one version, for looking up keys concurrently with the writer: see
/// `KeyScout`.
///
/// Thread rule: `Sendable`; any thread. It retains its snapshot, and so the version's pages: replace it
/// regularly.
package struct KeyView: Sendable {
  package let table: Table
  /// The writer's filters of large runs.
  let filters: [BlockReference: KeyFilter]
  /// The large runs; each is searched for every key.
  let runs: [IndexRun]
  /// The roots of these runs. The writer looks the keys up in all other runs.
  package let largeRuns: [BlockReference]
  private let filteredCount: Int

  package var version: UInt64 { table.version }

  /// - Parameter editor: the table in a transaction that began from the table's version and has not changed
  ///   it.
  ///   version.
  init(_ table: Table, _ editor: TableEditor) {
    self.table = table
    filters = editor.index.filters
    largeRuns = editor.index.largeRuns
    runs = table.keyRuns.filter { [largeRuns] in largeRuns.contains($0.root.entry.reference) }
    filteredCount = filters.count
  }

  /// True when the index has changed so much that keys would have to be looked up again in a large part of
  /// it.
  package func isOutdated(_ editor: TableEditor) -> Bool {
    editor.index.hasLargeRuns(beside: largeRuns) || editor.index.filters.count != filteredCount
  }
}
