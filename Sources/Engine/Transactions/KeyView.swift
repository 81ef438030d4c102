/// A table with a primary key as a version has it, for looking keys up beside the writer: see `KeyScout`.
///
/// Thread rule: `Sendable`; any thread. Keeps its snapshot, and so the version's pages: to be
/// renewed now and then.
package struct KeyView: Sendable {
  package let table: Table
  /// What the writer knows of large runs.
  let filters: [BlockReference: KeyFilter]
  /// The large runs, in which keys are looked up one and all.
  let runs: [IndexRun]
  /// Their roots, for whoever looks the keys up in what has come since.
  package let largeRuns: [BlockReference]
  private let filteredCount: Int

  package var version: UInt64 { table.version }

  /// - Parameter editor: the table in a transaction that has changed nothing of it yet and began
  ///   from the table's version.
  init(_ table: Table, _ editor: TableEditor) {
    self.table = table
    filters = editor.index.filters
    largeRuns = editor.index.largeRuns
    runs = table.keyRuns.filter { [largeRuns] in largeRuns.contains($0.root.entry.reference) }
    filteredCount = filters.count
  }

  /// Whether the index has become another one, so that keys would have to be looked up once more in
  /// much of it.
  package func isOutdated(_ editor: TableEditor) -> Bool {
    editor.index.hasLargeRuns(beside: largeRuns) || editor.index.filters.count != filteredCount
  }
}
