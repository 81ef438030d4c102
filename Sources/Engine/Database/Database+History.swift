import Base

/// Kept versions: reading them, and listing them.
extension Database {
  /// The versions that are kept beside the newest, oldest first.
  ///
  /// - Complexity: O(kept versions).
  /// - Throws: as `snapshot()`.
  public func keptVersions() throws -> [KeptVersion] { try snapshot().keptVersions }

  /// A snapshot of a kept version or of the newest. The version is held until the snapshot is released, even
  /// if it is dropped meanwhile.
  ///
  /// Like `snapshot()` it never waits for a writer and takes no lock. Cost: a few times that of `snapshot()`,
  /// plus O(kept versions).
  ///
  /// - Throws: `EngineError.noSuchVersion`, also when the version is being dropped; the errors of
  ///   `snapshot()`.
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
  /// - Returns: nil when a compaction has replaced the file meanwhile.
  /// - Throws: `EngineError.noSuchVersion` when the version was dropped meanwhile.
  private func hold(
    kept wanted: VersionRecord, _ parts: FileParts, newest: UInt64, usesSpare: Bool = false
  ) throws -> VersionHold? {
    let locked = try parts.locks?.hold { record in
      let history = try VersionRoots(record, parts.blocks).history(parts.blocks)
      return try Self.kept(wanted.version, by: history, of: record.version)
    }
    let (slot, record) = try coordination.hold(usesSpare: usesSpare, since: newest) {
      // After publication, checks again that the newest version still keeps it.
      try (usesSpare ? snapshotForLooking() : snapshot()).record(of: .number(wanted.version))
    }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
    return parts === (try self.parts) && record == wanted ? hold : nil
  }

  /// Holds all versions that a version keeps.
  ///
  /// - Returns: the holds, and the numbers of versions that were dropped meanwhile.
  func holdKept(of record: VersionRecord, _ blocks: BlockReader) throws
    -> (holds: [VersionHold], gone: Set<UInt64>)
  {
    let parts = try parts
    var holds: [VersionHold] = []
    var gone: Set<UInt64> = []
    // The check reports damage of the history.
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

  /// Holds the newest version and its kept versions.
  ///
  /// - Parameter withPending: whether to hold the pending tables too.
  func heldVersions(
    withPending: Bool = false
  ) throws -> (newest: Snapshot, others: [VersionHold]) {
    while true {
      let snapshot = try snapshot()
      let (kept, gone) = try holdKept(of: snapshot.record, snapshot.blocks)
      // A version was dropped meanwhile: read the newest version's list again.
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

  /// Bytes, in whole pages, that kept versions reach and the newest version does not; and for each kept
  /// version those that only it reaches, which become free when it alone is dropped.
  ///
  /// - Complexity: O(tree nodes of these versions); shared nodes are read once.
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
