/// Sizes of an index; tests set small values, so that merges happen early.
package struct IndexLimits: Sendable {
  /// The number of entries in a leaf. With more, each needs more bits.
  package var leafEntries = 1024
  /// The number of children of a node.
  package var nodeCapacity = Node.standardCapacity
  /// Runs with fewer entries together are in the writer's memory: 2 MiB.
  package var recentEntries = 65_536
  /// The next commit rewrites runs of fewer entries than this.
  package var smallestRun = 256
  /// This many small runs of similar size become one. There are few in any case: the recent ones.
  package var smallFanout = 16
  /// This many large runs of similar size become one. Each entry is written once for each power of this
  /// number between the recent runs and the whole; for each size, a key is looked up in at most one run fewer
  /// than this number. With 8, importing a million random keys wrote 4 bytes less for each and took a fifth
  /// longer.
  package var largeFanout = 4
  /// Memory for the filters of large runs, the newest first.
  package var filterBytes = 16 << 20
  /// The code for tables that get a key; tests set it, to have the same codes in every run.
  package var keyCode: KeyCode?

  package init() {}
}

/// Decides which runs become one when a new one is written.
package struct MergePolicy {
  let limits: IndexLimits

  package init(_ limits: IndexLimits) { self.limits = limits }

  /// - Parameters:
  ///   - counts: the entries of each run, in the order in which they were written.
  ///   - added: the number of new entries.
  /// - Returns: the first run to merge; all later runs are merged too.
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

  /// Runs of a level have similar sizes; this many of them become one.
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
