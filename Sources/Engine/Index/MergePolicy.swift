/// Sizes of an index; tests make them tiny so that merges happen early.
package struct IndexLimits: Sendable {
  /// Entries of a leaf. A pack of more needs more bits for each.
  package var leafEntries = 1024
  /// Children of a node.
  package var nodeCapacity = Node.standardCapacity
  /// Runs of fewer entries together are held in memory by a writer: 2 MiB.
  package var recentEntries = 65_536
  /// Runs of fewer entries than this are rewritten by the next commit.
  package var smallestRun = 256
  /// So many small runs of about one size become one. They are few in any case: the recent ones.
  package var smallFanout = 16
  /// So many large runs of about one size become one. Each entry is written once for each power
  /// of this between the recent ones and the whole; a key is looked up in up to as many runs less one
  /// of each size. With 8, importing a million random keys wrote 4 bytes less for each and took a
  /// fifth longer.
  package var largeFanout = 4
  /// Memory for the filters of large runs, the newest first.
  package var filterBytes = 16 << 20
  /// How tables that get a key make its codes; tests set it, for the same codes at every run.
  package var keyCode: KeyCode?

  package init() {}
}

/// Says which runs become one when a new one is written.
package struct MergePolicy {
  let limits: IndexLimits

  package init(_ limits: IndexLimits) { self.limits = limits }

  /// - Parameters:
  ///   - counts: entries of each run, in the order in which they were written.
  ///   - added: new entries.
  /// - Returns: the first run to merge with the new entries and all runs behind it.
  package func firstMerged(_ counts: [UInt64], added: Int) -> Int {
    var first = counts.count
    var sum = UInt64(added)
    let recent = counts.lastIndex { $0 >= UInt64(limits.recentEntries) }.map { $0 + 1 } ?? 0
    let total = counts[recent...].reduce(sum) { $0 &+ $1 }
    if total >= UInt64(limits.recentEntries) {
      first = recent
      sum = total
    }
    while first > 0 {
      let (level, fanout) = tier(sum)
      var start = first
      while start > 0, tier(counts[start - 1]).level <= level { start -= 1 }
      guard start < first, first - start >= fanout - 1 else { break }
      for index in start..<first { sum &+= counts[index] }
      first = start
    }
    return first
  }

  /// Runs of a level have about one size; so many of them become one.
  private func tier(_ count: UInt64) -> (level: Int, fanout: Int) {
    var level = 0
    var bound = UInt64(limits.smallestRun)
    if count < bound { return (0, 2) }
    let recent = UInt64(limits.recentEntries)
    while bound < recent {
      level += 1
      bound = min(bound * UInt64(max(limits.smallFanout, 2)), recent)
      if count < bound { return (level, limits.smallFanout) }
    }
    while level < 64 {
      level += 1
      let (next, overflow) = bound.multipliedReportingOverflow(
        by: UInt64(max(limits.largeFanout, 2)))
      if overflow || count < next { break }
      bound = next
    }
    return (level, limits.largeFanout)
  }
}
