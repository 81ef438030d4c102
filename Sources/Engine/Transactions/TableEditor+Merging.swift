/// The changes of a compaction in use, none of which readers can see.
extension TableEditor {
  /// Replaces the leaves of a group by the cluster into which they were merged.
  ///
  /// - Returns: false, without any change, when these leaves no longer exist.
  func put(_ merged: MergedGroup) throws -> Bool {
    try use {
      let entries = merged.group.entries
      guard let first = entries.first, try tree.hasNeighbours(entries) else { return false }
      try tree.replace(entries, by: try store.write(merged.cluster, firstKey: first.firstKey))
      return true
    }
  }

  /// Merges the runs of each index into one, if that saves an eighth, and removes outdated entries.
  ///
  /// - Parameter isFixed: returns true for runs that older versions keep.
  /// - Complexity: O(entries): an index is written as a whole, as in a commit that merges large runs.
  func mergeRuns(isFixed: (IndexRun) -> Bool) throws {
    try use {
      let objects = tree.count
      if Self.pays(index.runs, objects), !index.runs.contains(where: isFixed) {
        try index.mergeAll(checkingAll: Self.entries(of: index.runs) != objects, removeOutdated)
      }
      for index in valueIndexes
      where Self.pays(index.runs, objects) && !index.runs.contains(where: isFixed) {
        guard let column = schema.columnIDs.firstIndex(of: index.column) else { continue }
        try index.mergeAll(checkingAll: Self.entries(of: index.runs) != objects) {
          try self.removeOutdated(&$0, index, column)
        }
      }
    }
  }

  private static func entries(of runs: [IndexRun]) -> UInt64 {
    runs.reduce(0) { $0 &+ $1.count }
  }

  private static func pays(_ runs: [IndexRun], _ objects: UInt64) -> Bool {
    let all = entries(of: runs)
    let most = runs.map(\.count).max() ?? 0
    return (runs.count > 1 && all &- most > all / 8) || all > objects &+ objects / 8
  }
}
