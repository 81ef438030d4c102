@testable import Engine

/// Who takes a version.
enum ScheduledReader: CaseIterable {
  /// Of the writer's handle: it sees commits before they are durable.
  case own
  /// Of another process: it knows the memory that processes share, and the file.
  case other

  func snapshot(_ database: Database, _ storage: any Storage) throws -> Snapshot {
    if self == .own { return try database.snapshot() }
    let coordination = database.coordination
    let (slot, record) = try coordination.hold {
      try coordination.visible.load() ?? database.parts.pipeline.visible()
    }
    return try Snapshot(
      hold: VersionHold(record: record, slot: slot, coordination: coordination),
      blocks: BlockReader(storage: storage))
  }
}
