import Base

extension Database {
  /// Every version whose pages must neither be written nor cut off. Only for whoever has the writers' turn.
  ///
  /// This is the only place that reads both what the pipeline keeps and what readers hold, because the order
  /// decides: the pipeline first, the readers after.
  ///
  /// A reader publishes a version, in its slot or by a lock on the file, and then looks again
  /// whether that version is still the newest one; if not, it begins anew. Suppose that the
  /// writer's look at the readers came before that publication. Then the reader's second look came
  /// after the writer had read what the pipeline keeps, in one step: the newest complete version,
  /// the durable one, the one on its way to become durable, and the visible one. What is the newest
  /// version never goes back, and after that step it can only have become the one on its way or the
  /// one that was complete, since whoever has the turn completes the next. Readers of slots see the
  /// visible version; readers of the file see the durable one or the one on its way. So the version
  /// that the second look confirmed is among those kept. Otherwise, the publication was seen.
  ///
  /// In the other order, a version can become visible, be taken and be replaced between the two looks. It is
  /// then in neither list, and its pages are written while they are read.
  ///
  /// A reader that is just taking a version may name one that is gone already, until it looks again.
  func versionsToKeep(_ parts: FileParts) throws -> KeptVersions {
    let kept = parts.pipeline.keptVersions()
    options.betweenLooks?()
    let held = try coordination.heldVersions().map(\.record)
    let locked = try parts.locks?.lockedVersions() ?? []
    return KeptVersions(records: kept + held, locked: locked)
  }

  /// The map of the file's pages for whoever has the writers' turn and knows nothing of them yet.
  func freshSpace(_ newest: VersionRecord, _ parts: FileParts) throws -> SpaceMap {
    try walk(newest, parts.blocks) { try versionsToKeep(parts) }
  }

  /// The map of the file's pages, from what the newest and the other versions reach.
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
        // A reader that is just taking a version may name one that is gone, for a moment.
        attempts += 1
        if attempts == 200 || kept.records.allSatisfy({ $0 == newest }) { throw error }
        System.sleep(milliseconds: 1)
      }
    }
  }
}
