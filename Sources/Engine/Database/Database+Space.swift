import Base

extension Database {
  /// Every version whose pages must neither be written nor cut off. Only for the thread that has the writers'
  /// turn.
  ///
  /// This is the only place that reads both the versions that the pipeline keeps and those that readers hold,
  /// because the order decides: the pipeline first, the readers after.
  ///
  /// A reader publishes a version, in its slot or by a lock on the file, and then looks again whether that
  /// version is still the newest one; if not, it begins anew. Suppose that the writer's look at the readers
  /// came before that publication. Then the reader's second look came after the writer had read the
  /// pipeline's versions, in one step: the newest complete version, the durable one, the one on its way to
  /// become durable, and the visible one. The newest version never goes back, and after that step it can only
  /// have become the one on its way or the one that was complete, since only the holder of the turn completes
  /// the next. Readers of slots see the visible version; readers of the file see the durable one or the one
  /// on its way. So the version that the second look confirmed is among those kept. If the writer's look came
  /// after the publication, it has seen it.
  ///
  /// In the other order, a version can become visible, be taken and be replaced between the two looks. It is
  /// then in neither list, and its pages are written while they are read.
  ///
  /// A reader that is just taking a version may name one that is gone already, until it looks again.
  ///
  /// **Kept versions** are those that the pipeline's versions name in their histories: all of them, not the
  /// newest alone, for after a power cut the durable version is the newest, and its kept versions count. A
  /// reader of a kept version publishes that one, and then looks whether the newest version still keeps it. A
  /// version that was dropped is never kept again. Suppose that the writer's look at the readers came before
  /// the publication. If one of the pipeline's versions kept the reader's version, the writer has kept it. If
  /// none did, neither does the version at which the reader looks afterwards, and it begins anew.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions {
    let pipeline = parts.pipeline.keptVersions()
    options.betweenLooks?()
    let held = try coordination.heldVersions().map(\.record)
    let locked = try parts.locks?.lockedVersions() ?? []
    let kept = try keptByHistory(of: pipeline, parts)
    return KeptVersions(records: pipeline + kept + held, locked: locked)
  }

  /// The versions that the histories of others name, and their pending tables. Only for the thread that has
  /// the writers' turn.
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

  /// Calls `body` with a snapshot of the newest version and its kept versions. Nobody holds these: when one
  /// of them could not be read, and may have been dropped meanwhile, it is called again.
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

  /// A new map of the file's pages, for the holder of the writers' turn that has none yet.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap {
    try walk(newest, parts.blocks) { try versionsToKeep(parts) }
  }

  /// The map of the file's pages, from the blocks that the newest and the other versions reach.
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
        // A reader that is just taking a version may name one that is gone already, for a moment.
        attempts += 1
        if attempts == 200 || kept.records.allSatisfy({ $0 == newest }) { throw error }
        System.sleep(milliseconds: 1)
      }
    }
  }
}
