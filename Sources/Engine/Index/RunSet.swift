import Base

/// The runs of an index inside a write transaction, and the entries that are in none of them yet: the common
/// part of the index of a primary key (`KeyIndex`) and of secondary indexes (`ValueIndex`).
///
/// Entries are added, and now and then written and merged with others; only a merge that finds an entry
/// outdated removes it.
///
/// Thread rule: only the transaction's thread.
final class RunSet {
  // Unchecked: no function called during their changes accesses them again, and the checks would cost as much
  // as adding an entry.
  @exclusivity(unchecked) private(set) var runs: [IndexRun]
  /// Entries that are not in a run yet.
  @exclusivity(unchecked) private(set) var pending: [IndexEntry] = []
  @exclusivity(unchecked) private(set) var pendingIsSorted = true
  @exclusivity(unchecked) private(set) var isChanged: Bool
  let limits: IndexLimits
  let writer: BlockWriter
  let blocks: BlockReader
  private let baseEnd: UInt64
  private let policy: MergePolicy

  /// - Parameters:
  ///   - runs: the runs in the transaction's base.
  ///   - baseEnd: the end of the base.
  ///   - isNew: whether the index must be written even when nothing is added.
  init(
    _ runs: [IndexRun], writer: BlockWriter, blocks: BlockReader, baseEnd: UInt64,
    limits: IndexLimits, isNew: Bool
  ) {
    self.runs = runs
    self.writer = writer
    self.blocks = blocks
    self.baseEnd = baseEnd
    self.limits = limits
    policy = MergePolicy(limits)
    isChanged = isNew
  }

  /// An empty set in the same transaction.
  func makeEmpty() -> RunSet {
    RunSet(
      [], writer: writer, blocks: blocks, baseEnd: baseEnd, limits: limits, isNew: false)
  }

  /// Prepares reading the runs: those of this transaction are beyond the end of its base.
  ///
  /// - Throws: `SystemError` when their buffered part cannot be written.
  func readable() throws -> IndexBlocks {
    try writer.writeOut()
    return IndexBlocks(blocks, end: max(baseEnd, UInt64(writer.length)))
  }

  /// The entries, for looking codes up.
  ///
  /// - Complexity: O(n log n) for n entries that are in no run yet and out of order.
  func reader() throws -> IndexReader {
    sortPending()
    return IndexReader(runs, try readable(), pending: pending)
  }

  private func sortPending() {
    if !pendingIsSorted { IndexEntry.sort(&pending) }
    pendingIsSorted = true
    #if DEBUG
      if pending.count <= 64 { Invariants.require(checkInvariants) }
    #endif
  }

  // MARK: Changing

  @inline(__always)
  func add(_ entry: IndexEntry) {
    // A new object's entry often comes after the last one; nothing must then be sorted.
    if pendingIsSorted, let last = pending.last, entry < last { pendingIsSorted = false }
    pending.append(entry)
    isChanged = true
  }

  /// Removes all entries.
  func removeAll() throws {
    if !runs.isEmpty {
      let readable = try readable()
      var dropped: [BlockReference] = []
      for run in runs { try readable.walk(run) { entry, _ in dropped.append(entry.reference) } }
      // Dropped only after all were read: blocks below an unreadable one must not count as free.
      try dropped.forEach(writer.drop)
    }
    runs = []
    pending = []
    pendingIsSorted = true
    isChanged = true
  }

  // MARK: Writing

  /// True when so many entries are in no run that they should be written, to limit the memory of a large
  /// transaction.
  var isFull: Bool { pending.count >= limits.recentEntries }

  /// Returns whether entries outnumber objects two to one, so that most of them are outdated.
  ///
  /// - Parameter slack: the number of additional entries to ignore.
  func isOutdated(objects: UInt64, slack: Int) -> Bool {
    let entries = runs.reduce(UInt64(pending.count)) { $0 &+ $1.count }
    let (bound, overflow) = objects.multipliedReportingOverflow(by: 2)
    return !overflow && entries > bound &+ UInt64(slack)
  }

  /// The first run that is merged with the added entries when they are written.
  var firstMerged: Int { policy.firstMerged(runs.map(\.count), added: pending.count) }

  /// Writes the added entries, and the runs from a given index on, as one run.
  ///
  /// - Parameters:
  ///   - output: the writer of the new run.
  ///   - known: perhaps the last of the runs.
  ///   - filtersAll: whether `filter` receives all entries, including those that do not share their code.
  ///   - filter: removes outdated entries.
  /// - Throws: the errors of reading, writing and `filter`; the runs are then unchanged.
  func write(
    from first: Int, through output: RunWriter, known: SmallRun? = nil, filtersAll: Bool,
    _ filter: RunMerger.Filter
  ) throws {
    var merger = RunMerger(try readable(), output, filtersAll: filtersAll)
    sortPending()
    do {
      for run in runs[first...] {
        if let known, known.root == run.root.entry.reference {
          merger.add(known)
        } else {
          try merger.add(run)
        }
      }
      merger.add(pending)
      try merger.run(filter)
      let merged = try output.finish()
      runs.removeSubrange(first...)
      if let merged { runs.append(merged) }
    } catch {
      try output.written.forEach(writer.drop)
      throw error
    }
    try (merger.replaced + output.left).forEach(writer.drop)
    pending.removeAll(keepingCapacity: true)
    isChanged = true
  }
}
