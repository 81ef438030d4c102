/// A secondary index of one column inside a write transaction.
///
/// It maps codes of values (`ValueCode`) to objects, many to one code. What it says is a hint: the entry of
/// an object that was deleted, or whose value was changed, stays until entries outnumber objects two to
/// one; then all are looked at. So deleting writes nothing here. But every object there is has an entry
/// with the code of its value, nulls included.
///
/// Its runs are those of a `RunSet`, like those of `KeyIndex`. It keeps nothing in memory from transaction to
/// transaction: nothing is looked up when objects are added.
///
/// Thread rule: used by the transaction's thread only.
package final class ValueIndex {
  /// The column's permanent number.
  package let column: UInt32
  private(set) package var code: ValueCode
  private let runSet: RunSet
  /// False when a value did not fit the column's type, as happens shortly before it is widened: then
  /// objects are missing, until all are entered anew.
  private(set) package var isComplete = true

  /// - Parameters:
  ///   - stored: the index as the version has it that the transaction began from.
  ///   - baseEnd: that version's end.
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
  /// - Parameter code: of its value; nil when the value does not fit the column's type.
  package func add(_ code: Int64?, of object: Int64) {
    guard let code else { return isComplete = false }
    runSet.add(IndexEntry(code: code, object: object))
  }

  /// Removes all entries.
  package func removeAll() throws { try runSet.removeAll() }

  /// Removes all entries, to be added anew as those of a column that is read so.
  package func restart(as reading: Reading) throws {
    try removeAll()
    code = ValueCode(reading, secret: code.secret)
    isComplete = true
  }

  // MARK: Writing

  /// Writes entries when there are many, so that a large transaction needs little memory. To be called
  /// when the objects of all of them are in place.
  package func limitMemory(_ filter: RunMerger.Filter) throws {
    if runSet.isFull { try write(from: runSet.firstMerged, filtersAll: false, filter) }
  }

  /// Writes everything that has been added, and returns the runs.
  ///
  /// - Parameters:
  ///   - objects: how many the table has. When most entries are out of date all of them are looked at.
  ///   - filter: removes entries that are out of date.
  package func seal(objects: UInt64, _ filter: RunMerger.Filter) throws -> [IndexRun] {
    if runSet.pending.isEmpty { return runs }
    // Looking at few entries costs little: small tables have small indexes.
    let isOutdated = runSet.isOutdated(objects: objects, slack: runSet.limits.leafEntries * 4)
    try write(from: isOutdated ? 0 : runSet.firstMerged, filtersAll: isOutdated, filter)
    return runs
  }

  /// Makes all runs one.
  package func mergeAll(_ filter: RunMerger.Filter) throws {
    if runs.count > 1 || !runSet.pending.isEmpty { try write(from: 0, filtersAll: false, filter) }
  }

  private func write(from first: Int, filtersAll: Bool, _ filter: RunMerger.Filter) throws {
    let output = RunWriter(runSet.writer, runSet.limits, sharesCodes: true)
    try runSet.write(from: first, through: output, filtersAll: filtersAll, filter)
  }
}
