/// A secondary index of one column inside a write transaction.
///
/// It maps codes of values (`ValueCode`) to objects, many to one code. What it says is a hint: the entry of
/// an object that was deleted, or whose value was changed, stays until entries outnumber objects two to
/// one; then all are looked at. So deleting writes nothing here. But every object there is has an entry
/// with the code of its value, nulls included.
///
/// Its runs are made and merged like those of `KeyIndex`. It keeps nothing in memory from transaction to
/// transaction: nothing is looked up when objects are added.
///
/// Thread rule: used by the transaction's thread only.
package final class ValueIndex {
  /// The column's permanent number.
  package let column: UInt32
  private(set) package var code: ValueCode
  private(set) package var runs: [IndexRun]
  private let writer: BlockWriter
  private let blocks: BlockReader
  private let baseEnd: UInt64
  private let limits: IndexLimits
  private let policy: MergePolicy
  /// Entries that are in no run yet.
  private(set) var pending: [IndexEntry] = []
  private(set) var pendingIsSorted = true
  private(set) package var isChanged: Bool
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
    self.runs = runs
    self.writer = writer
    self.blocks = blocks
    self.baseEnd = baseEnd
    self.limits = limits
    policy = MergePolicy(limits)
    isChanged = isNew
  }

  /// Runs of this transaction lie beyond its base's end.
  private func readable() throws -> IndexBlocks {
    try writer.writeOut()
    return IndexBlocks(blocks, end: max(baseEnd, UInt64(writer.length)))
  }

  /// The entries, for looking values up.
  package func reader() throws -> IndexReader {
    sortPending()
    return IndexReader(runs, try readable(), pending: pending)
  }

  private func sortPending() {
    if !pendingIsSorted { pending.sort() }
    pendingIsSorted = true
    #if DEBUG
      if pending.count <= 64 { Invariants.require(checkInvariants) }
    #endif
  }

  // MARK: Changing

  /// Adds the entry of an object.
  ///
  /// - Parameter code: of its value; nil when the value does not fit the column's type.
  package func add(_ code: Int64?, of object: Int64) {
    guard let code else { return isComplete = false }
    // A new object's entry often comes behind the last one: then nothing has to be sorted.
    let entry = IndexEntry(code: code, object: object)
    if let last = pending.last, entry < last { pendingIsSorted = false }
    pending.append(entry)
    isChanged = true
  }

  /// Removes all entries.
  package func removeAll() throws {
    if !runs.isEmpty {
      let readable = try readable()
      var dropped: [BlockReference] = []
      for run in runs { try readable.walk(run) { entry, _ in dropped.append(entry.reference) } }
      // Not before all were read: what an unreadable one leaves in use must not count as free.
      try dropped.forEach(writer.drop)
    }
    runs = []
    pending = []
    pendingIsSorted = true
    isChanged = true
  }

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
    if pending.count >= limits.recentEntries { try write(from: nil, filtersAll: false, filter) }
  }

  /// Writes everything that has been added, and returns the runs.
  ///
  /// - Parameters:
  ///   - objects: how many the table has. When most entries are out of date all of them are looked at.
  ///   - filter: removes entries that are out of date.
  package func seal(objects: UInt64, _ filter: RunMerger.Filter) throws -> [IndexRun] {
    if pending.isEmpty { return runs }
    let entries = runs.reduce(UInt64(pending.count)) { $0 &+ $1.count }
    let (bound, overflow) = objects.multipliedReportingOverflow(by: 2)
    // Looking at few entries costs little: small tables have small indexes.
    let isOutdated = !overflow && entries > bound &+ UInt64(limits.leafEntries * 4)
    try write(from: isOutdated ? 0 : nil, filtersAll: isOutdated, filter)
    return runs
  }

  /// Makes all runs one.
  package func mergeAll(_ filter: RunMerger.Filter) throws {
    if runs.count > 1 || !pending.isEmpty { try write(from: 0, filtersAll: false, filter) }
  }

  /// Writes the added entries and the runs from some index on as one run.
  private func write(from start: Int?, filtersAll: Bool, _ filter: RunMerger.Filter) throws {
    let first = start ?? policy.firstMerged(runs.map(\.count), added: pending.count)
    let output = RunWriter(writer, limits, sharesCodes: true)
    var merger = RunMerger(try readable(), output, filtersAll: filtersAll)
    sortPending()
    do {
      for run in runs[first...] { try merger.add(run) }
      merger.add(pending)
      try merger.run(filter)
      let merged = try output.finish()
      runs.removeSubrange(first...)
      if let merged { runs.append(merged) }
    } catch {
      // The index stays as it was.
      try output.written.forEach(writer.drop)
      throw error
    }
    try (merger.replaced + output.left).forEach(writer.drop)
    pending.removeAll(keepingCapacity: true)
    isChanged = true
  }
}
