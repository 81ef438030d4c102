@testable import Engine

/// The kind of reader that takes a version.
enum ScheduledReader {
  /// Of the writer's handle: it sees commits before they are durable.
  case own
  /// Of another process: it sees the shared memory and the file.
  case other
  /// Holds nothing, for tests of the search: its version is written over.
  case careless

  static let all = [own, other]

  func snapshot(_ database: Database, _ storage: any Storage) throws -> Snapshot {
    if self == .own { return try database.snapshot() }
    let coordination = database.coordination
    if self == .careless {
      let (slot, _) = try coordination.hold { try database.parts.pipeline.visible() }
      let snapshot = try Snapshot(
        hold: VersionHold(
          record: database.parts.pipeline.visible(), slot: slot, coordination: coordination),
        blocks: BlockReader(storage: storage))
      coordination.readerWord(slot, 1).store(0)
      return snapshot
    }
    let (slot, record) = try coordination.hold {
      try coordination.visible.load() ?? database.parts.pipeline.visible()
    }
    return try Snapshot(
      hold: VersionHold(record: record, slot: slot, coordination: coordination),
      blocks: BlockReader(storage: storage))
  }
}
