import Base

/// Versions that are kept: reading them, and saying which are.
extension Database {
  /// The versions that are kept beside the newest, oldest first.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: as `snapshot()`.
  public func keptVersions() throws -> [KeptVersion] { try snapshot().keptVersions }

  /// A version that is kept, or the newest, held until the snapshot is released, also when the version is let
  /// go meanwhile.
  ///
  /// Never waits for a writer, and takes no lock, as `snapshot()` does not. Cost: that of `snapshot()` a few
  /// times, and O(kept versions).
  ///
  /// - Throws: `EngineError.noSuchVersion`, also when the version is let go just now; as `snapshot()`.
  public func snapshot(at name: VersionName) throws -> Snapshot {
    try translatingErrors(path) {
      while true {
        let parts = try parts
        let newest = try snapshot()
        let wanted = try newest.record(of: name)
        if wanted == newest.record { return newest }
        guard newest.blocks === parts.blocks,
          let hold = try hold(kept: wanted, parts, newest: newest.version)
        else { continue }
        return try Snapshot(hold: hold, blocks: parts.blocks)
      }
    }
  }

  /// Holds a kept version.
  ///
  /// - Parameter newest: the number of a version that keeps it.
  /// - Returns: nil when a compaction has put another file in place meanwhile.
  /// - Throws: `EngineError.noSuchVersion` when it was let go meanwhile.
  private func hold(
    kept wanted: VersionRecord, _ parts: FileParts, newest: UInt64, usesSpare: Bool = false
  ) throws -> VersionHold? {
    let locked = try parts.locks?.hold { record in
      let history = try VersionRoots(record, parts.blocks).history(parts.blocks)
      return try Self.kept(wanted.version, by: history, of: record.version)
    }
    let (slot, record) = try coordination.hold(usesSpare: usesSpare, since: newest) {
      // The second look: whether the newest version keeps it still.
      try (usesSpare ? snapshotForLooking() : snapshot()).record(of: .number(wanted.version))
    }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
    return parts === (try self.parts) && record == wanted ? hold : nil
  }

  /// Holds all versions that one keeps, for who is going to read them.
  ///
  /// - Returns: the holds, and the numbers of versions that were let go meanwhile.
  func holdKept(of record: VersionRecord, _ blocks: BlockReader) throws
    -> (holds: [VersionHold], gone: Set<UInt64>)
  {
    let parts = try parts
    var holds: [VersionHold] = []
    var gone: Set<UInt64> = []
    // What is damaged is the check's to say.
    guard let history = try? VersionRoots(record, blocks).history(blocks) else { return ([], []) }
    for root in history.kept {
      do {
        if let hold = try hold(kept: root.record, parts, newest: record.version, usesSpare: true) {
          holds.append(hold)
        } else {
          gone.insert(root.record.version)
        }
      } catch EngineError.noSuchVersion {
        gone.insert(root.record.version)
      }
    }
    return (holds, gone)
  }

  /// The newest version, and those that it keeps, held.
  ///
  /// - Parameter withPending: whether what is pending is held, too.
  func heldVersions(
    withPending: Bool = false
  ) throws -> (newest: Snapshot, others: [VersionHold]) {
    while true {
      let snapshot = try snapshot()
      let (kept, gone) = try holdKept(of: snapshot.record, snapshot.blocks)
      // Somebody has let go of one meanwhile: the newest version keeps others.
      if !gone.isEmpty { continue }
      if !withPending { return (snapshot, kept) }
      guard let pending = try holdPending(of: snapshot.record, snapshot.blocks) else { continue }
      return (snapshot, kept + pending)
    }
  }

  private static func kept(
    _ version: UInt64, by history: History, of newest: UInt64
  ) throws -> VersionRecord {
    guard let place = history.place(of: version) else {
      throw EngineError.noSuchVersion(
        name: "\(version)", newest: newest, kept: history.kept.map(\.record.version))
    }
    return history.kept[place].record
  }

  /// Bytes, in whole pages, that kept versions reach and the newest version does not; and of each of them,
  /// those that no other version which is kept reaches: so many come free when it alone is let go.
  ///
  /// - Complexity: O(tree nodes of these versions), each once where several share it.
  /// - Throws: as `snapshot()`.
  public func keptBytes() throws -> (all: Int, alone: [UInt64: Int]) {
    try translatingErrors(path) {
      try withKeptVersions { snapshot, kept in
        let space = try SpaceMap.walking(snapshot.blocks, newest: snapshot.record, held: kept)
        let (all, alone) = space.retiredPages(reachedBy: kept.map(\.version))
        return (all * Layout.pageBytes, alone.mapValues { $0 * Layout.pageBytes })
      }
    }
  }
}
