import Base

extension Database {
  /// Every version whose pages must be neither written nor cut off. Only for the thread that has the writers'
  /// turn.
  ///
  /// Only this function reads both the versions that the pipeline keeps and those that readers hold, because
  /// the order matters: first the pipeline, then the readers.
  ///
  /// A reader publishes a version, in its slot or by a lock on the file, and then checks that it is still the
  /// newest; if not, it starts again. Suppose that the writer read the readers before the publication. Then
  /// the reader's check came after the writer had read the pipeline's versions, which it reads in one step:
  /// the newest complete version, the durable one, the one that is becoming durable, and the visible one. The
  /// newest version never goes back, and after that step it can only have become the one that was becoming
  /// durable or the one that was complete, since only the holder of the turn completes the next. Readers of
  /// slots see the visible version; readers of the file see the durable one or the one that is becoming
  /// durable. So the version that the reader confirmed is among those kept. If the writer read the readers
  /// after the publication, it has seen the version there.
  ///
  /// In the other order, a version could become visible, be registered and be replaced between the two steps.
  /// It would be in neither list, and its pages would be written while they are read.
  ///
  /// A reader that is registering may name a version that no longer exists, until its check.
  ///
  /// **Kept versions** are those in the histories of all of the pipeline's versions, not of the newest alone:
  /// after a power cut the durable version is the newest, and its kept versions count. A reader of a kept
  /// version publishes it and then checks that the newest version still keeps it. A dropped version is never
  /// kept again. Suppose that the writer read the readers before the publication. If one of the pipeline's
  /// versions kept the reader's version, the writer has kept it. If none did, neither does the version that
  /// the reader checks afterwards, and the reader starts again.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions {
    let pipeline = parts.pipeline.keptVersions()
    options.betweenLooks?()
    let held = try coordination.heldVersions().map(\.record)
    let locked = try parts.locks?.lockedVersions() ?? []
    let kept = try keptByHistory(of: pipeline, parts)
    return KeptVersions(records: pipeline + kept + held, locked: locked)
  }

  /// The versions in the histories of others, and their pending tables. Only for the thread that has the
  /// writers' turn.
  private func keptByHistory(of records: [VersionRecord], _ parts: FileParts) throws
    -> [VersionRecord]
  {
    var known: [BlockReference: [VersionRecord]] = [:]
    for record in records where record.hasHistory && known[record.root] == nil {
      known[record.root] = try memory.keptRoots[record.root] ?? named(by: record, parts.blocks)
    }
    memory.keptRoots = known
    return Array(Set(known.values.joined()))
  }

  private func named(by record: VersionRecord, _ blocks: BlockReader) throws -> [VersionRecord] {
    let history = try VersionRoots(record, blocks).history(blocks)
    guard history.pending.isEmpty != record.hasPending else {
      throw EngineError.damaged(
        path: path, where: "the commit slots",
        reason:
          "version \(record.version) has \(record.hasPending ? "no" : "a") pending table, and its slot "
          + "says otherwise")
    }
    return history.records(in: record)
  }

  /// Calls `body` with a snapshot of the newest version and its kept versions. These are not held: when one
  /// cannot be read, and may have been dropped meanwhile, `body` is called again.
  func withKeptVersions<Result>(
    _ body: (Snapshot, [VersionRecord]) throws -> Result
  ) throws -> Result {
    var attempts = 0
    while true {
      let snapshot = try snapshotForLooking()
      do {
        return try withExtendedLifetime(snapshot) {
          try body(snapshot, try snapshot.history().kept.map(\.record))
        }
      } catch let error as BlockError {
        attempts += 1
        if attempts == 100 { throw error }
        if try newestVersion == snapshot.version { throw error }
      }
    }
  }

  /// Makes a map of the file's pages, for the holder of the writers' turn when it has none.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap {
    try walk(newest, parts.blocks) { try versionsToKeep(parts) }
  }

  /// Makes the map of the file's pages from the blocks that the newest and the other versions reach.
  func walk(
    _ newest: VersionRecord, _ blocks: BlockReader, _ others: () throws -> KeptVersions
  ) throws -> SpaceMap {
    var attempts = 0
    while true {
      let kept = try others()
      do {
        return try SpaceMap.walking(
          blocks, newest: newest, held: kept.records, locked: kept.locked)
      } catch let error as BlockError {
        // A reader that is registering may name, for a moment, a version that no longer exists.
        attempts += 1
        if attempts == 200 || kept.records.allSatisfy({ $0 == newest }) { throw error }
        System.sleep(milliseconds: 1)
      }
    }
  }
}
