/// A secondary index of one column inside a write transaction.
///
/// It maps codes of values (`ValueCode`) to objects, many to one code. Its entries are hints: the entry of an
/// object that was deleted, or whose value was changed, stays until entries outnumber objects two to one;
/// then all are checked. So a deletion writes nothing here. But every existing object has an entry with the
/// code of its value, including null.
///
/// Its runs are a `RunSet`, like those of `KeyIndex`. It keeps nothing in memory between transactions, as
/// adding objects needs no lookup.
///
/// Thread rule: only the transaction's thread.
package final class ValueIndex {
  /// The column's permanent identifier.
  package let column: UInt32
  private(set) package var code: ValueCode
  private let runSet: RunSet
  /// False when a value did not fit the column's type, as shortly before the type is widened: objects are
  /// then missing until all are added again.
  private(set) package var isComplete = true

  /// - Parameters:
  ///   - stored: the index in the transaction's base.
  ///   - baseEnd: the end of the base.
  package init(
    column: UInt32, _ code: ValueCode, runs: [IndexRun], writer: BlockWriter, blocks: BlockReader,
    baseEnd: UInt64, limits: IndexLimits, isNew: Bool
  ) {
    self.column = column
    self.code = code
    runSet = RunSet(
      runs, writer: writer, blocks: blocks, baseEnd: baseEnd, limits: limits, isNew: isNew)
  }

  package var runs: [IndexRun] { runSet.runs }
  package var isChanged: Bool { runSet.isChanged }

  /// The entries, for looking values up.
  package func reader() throws -> IndexReader { try runSet.reader() }

  // MARK: Changing

  /// Adds the entry of an object.
  ///
  /// - Parameter code: the code of its value; nil when the value does not fit the column's type.
  package func add(_ code: Int64?, of object: Int64) {
    guard let code else { return isComplete = false }
    runSet.add(IndexEntry(code: code, object: object))
  }

  /// Removes all entries.
  package func removeAll() throws { try runSet.removeAll() }

  /// Removes all entries, to add them again for a column that is read in another way.
  package func restart(as reading: Reading) throws {
    try removeAll()
    code = ValueCode(reading, secret: code.secret)
    isComplete = true
  }

  // MARK: Writing

  /// Writes the entries when there are many, to limit the memory of a large transaction. Call it when the
  /// objects of all entries have been added.
  package func limitMemory(_ filter: RunMerger.Filter) throws {
    if runSet.isFull { try write(from: runSet.firstMerged, filtersAll: false, filter) }
  }

  /// Writes all added entries, and returns the runs.
  ///
  /// - Parameters:
  ///   - objects: the number of objects in the table. When most entries are outdated, all are checked.
  ///   - filter: removes outdated entries.
  package func seal(objects: UInt64, _ filter: RunMerger.Filter) throws -> [IndexRun] {
    if runSet.pending.isEmpty { return runs }
    // Checking few entries costs little: small tables have small indexes.
    let isOutdated = runSet.isOutdated(objects: objects, slack: runSet.limits.leafEntries * 4)
    try write(from: isOutdated ? 0 : runSet.firstMerged, filtersAll: isOutdated, filter)
    return runs
  }

  /// Merges all runs into one.
  ///
  /// - Parameter checkingAll: whether to check all entries, including those that do not share their code, and
  ///   those of a single run.
  package func mergeAll(checkingAll: Bool = false, _ filter: RunMerger.Filter) throws {
    guard runs.count > 1 || checkingAll || !runSet.pending.isEmpty else { return }
    try write(from: 0, filtersAll: checkingAll, filter)
  }

  private func write(from first: Int, filtersAll: Bool, _ filter: RunMerger.Filter) throws {
    let output = RunWriter(runSet.writer, runSet.limits, sharesCodes: true)
    try runSet.write(from: first, through: output, filtersAll: filtersAll, filter)
  }
}
