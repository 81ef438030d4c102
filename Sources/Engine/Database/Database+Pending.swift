import Base

/// Reads and drops pending tables.
extension Database {
  /// Drops a pending table of an unfinished import; see `Snapshot.pendingTables`.
  ///
  /// - Returns: false when there is no pending table of that name.
  /// - Throws: the errors of `write`.
  @discardableResult
  public func abandonPending(_ name: String) throws -> Bool {
    try write { try $0.abandonPending(name) }
  }

  /// A pending table with its companions, as a version in which it is the only table of programs. It is held
  /// until the snapshot is released.
  ///
  /// - Parameter asBegun: true for the visible table as it was when the pending one was begun, instead of the
  ///   pending one.
  /// - Returns: nil when there is no pending table of that name; with `asBegun` also when there was no
  ///   visible table.
  /// - Throws: the errors of `snapshot()`.
  package func pendingSnapshot(of name: String, asBegun: Bool = false) throws -> Snapshot? {
    try translatingErrors(path) {
      while true {
        let parts = try parts
        let newest = try snapshot()
        guard newest.blocks === parts.blocks else { continue }
        guard let root = try newest.history().pending.first(where: { $0.name == name }) else {
          return nil
        }
        let (pending, base) = root.records(in: newest.record)
        guard let wanted = asBegun ? base : pending else { return nil }
        if let hold = try hold(pending: name, wanted, parts, isBase: asBegun, usesSpare: false) {
          return try Snapshot(hold: hold, blocks: parts.blocks)
        }
      }
    }
  }

  /// Holds all pending tables of a version.
  ///
  /// - Returns: nil when they have changed meanwhile.
  func holdPending(of record: VersionRecord, _ blocks: BlockReader) throws -> [VersionHold]? {
    let parts = try parts
    // The check reports damage of the history.
    guard let history = try? VersionRoots(record, blocks).history(blocks) else { return [] }
    var holds: [VersionHold] = []
    for root in history.pending {
      let (own, base) = root.records(in: record)
      for (wanted, isBase) in [(own, false)] + (base.map { [($0, true)] } ?? []) {
        guard
          let hold = try hold(pending: root.name, wanted, parts, isBase: isBase, usesSpare: true)
        else { return nil }
        holds.append(hold)
      }
    }
    return holds
  }

  private struct Gone: Error {}

  /// Publishes a pending table as a held version, and then checks that the newest version still has it, as
  /// readers of versions do (`versionsToKeep`).
  ///
  /// - Returns: nil when the newest version has another pending table.
  private func hold(
    pending name: String, _ wanted: VersionRecord, _ parts: FileParts, isBase: Bool = false,
    usesSpare: Bool
  ) throws -> VersionHold? {
    func pending(_ history: History, _ record: VersionRecord) throws -> VersionRecord {
      let roots = history.pending.first { $0.name == name }?.records(in: record)
      guard let found = isBase ? roots?.base : roots?.pending else { throw Gone() }
      return found
    }
    do {
      let locked = try parts.locks?.hold { record in
        try pending(VersionRoots(record, parts.blocks).history(parts.blocks), record)
      }
      let (slot, record) = try coordination.hold(usesSpare: usesSpare) {
        let newest = try usesSpare ? snapshotForLooking() : snapshot()
        return try pending(newest.history(), newest.record)
      }
      let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
      return parts === (try self.parts) && record == wanted ? hold : nil
    } catch is Gone {
      return nil
    }
  }
}
