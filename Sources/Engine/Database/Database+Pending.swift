import Base

/// What is pending: reading it, and dropping it.
extension Database {
  /// Drops what an import has left pending beside a table; see `Snapshot.pendingTables`.
  ///
  /// - Returns: false when nothing was pending under that name.
  /// - Throws: as `write`.
  @discardableResult
  public func abandonPending(_ name: String) throws -> Bool {
    try write { try $0.abandonPending(name) }
  }

  /// The table that is pending beside the newest version's, with its companions, as a version of its own:
  /// its only table of programs. Held until the snapshot is released.
  ///
  /// - Parameter asBegun: the visible table as it was when the pending one was begun, in its place.
  /// - Returns: nil when nothing is pending under that name; with `asBegun` also when there was no such table.
  /// - Throws: as `snapshot()`.
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

  /// Holds what is pending beside a version, all of it, for who is going to read it.
  ///
  /// - Returns: nil when that has changed meanwhile.
  func holdPending(of record: VersionRecord, _ blocks: BlockReader) throws -> [VersionHold]? {
    let parts = try parts
    // What is damaged is the check's to say.
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

  /// Publishes what is pending as a version that is held, and then looks whether it is what the newest
  /// version has still, as readers of versions do (`versionsToKeep`).
  ///
  /// - Returns: nil when the newest version has something else by now.
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
