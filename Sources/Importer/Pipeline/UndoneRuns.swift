import Engine

/// Which imports in a database's list no longer count, because their table returned to an earlier version.
package enum UndoneRuns {
  /// A state of a table that an import or a restoration has created.
  private struct State {
    let version: UInt64
    /// The import that created it; nil: a restoration.
    let run: Int64?
    /// The state from which it was created, or to which the table returned; nil for the first one.
    let earlier: Int?
  }

  /// The numbers of the undone imports. An import counts again when its undoing was undone.
  ///
  /// - Parameter runs: all imports in the list, oldest first.
  /// - Complexity: O(runs + restores), O(log n) for each restore.
  /// - Throws: `EngineError.damaged`.
  package static func find(_ runs: [RunEntry], in snapshot: Snapshot) throws -> Set<Int64> {
    find(runs, try RestoreNote.list(snapshot))
  }

  static func find(_ runs: [RunEntry], _ restores: [RestoreNote]) -> Set<Int64> {
    var undone: Set<Int64> = []
    let byTable = Dictionary(grouping: restores, by: \.table)
    for (table, restores) in byTable {
      let own = runs.filter { $0.table == table }
      undone.formUnion(find(own, of: restores))
    }
    return undone
  }

  /// Finds the undone imports of one table.
  private static func find(_ runs: [RunEntry], of restores: [RestoreNote]) -> Set<Int64> {
    var states: [State] = []
    var left = restores.sorted { $0.version < $1.version }[...]
    func restore(before version: UInt64) {
      while let next = left.first, next.version < version {
        left.removeFirst()
        // States are in the order of creation: the last one up to a version is that of the version.
        let place = states.lastIndex { $0.version <= next.restored }
        states.append(State(version: next.version, run: nil, earlier: place))
      }
    }
    for run in runs.sorted(by: { ($0.version, $0.number) < ($1.version, $1.number) }) {
      restore(before: run.version)
      let last = states.indices.last
      states.append(State(version: run.version, run: run.number, earlier: last))
    }
    restore(before: .max)
    var undone = Set(runs.map(\.number))
    var place = states.indices.last
    while let state = place.map({ states[$0] }) {
      if let run = state.run { undone.remove(run) }
      place = state.earlier
    }
    return undone
  }
}
