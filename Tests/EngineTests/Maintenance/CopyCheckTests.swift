import TestSupport
import Testing

@testable import Engine

/// A copy that replaces its source must read back the same.
@Suite("Copies that do not read back as they were written", .timeLimit(.minutes(60)))
struct CopyCheckTests {
  @Test("Compaction notices, wherever the wrong bit is", arguments: [false, true])
  func wrongBits(keepsVersions: Bool) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .text), Column("n", .int)], key: "id", indexes: ["n"])
      let table = try transaction.table("t")
      for number in 0..<300 {
        try table.insert([.text("object \(number * 7919 % 1000)"), .int(Int64(number % 40))])
      }
    }
    if keepsVersions {
      try database.write { transaction in
        try transaction.keepBase(most: 2)
        try transaction.table("t").update(7, ["n": .int(50)])
      }
    }
    let snapshot = try database.snapshot()
    let length = Int(snapshot.record.end)
    var refused = 0
    for place in stride(from: Layout.firstBlockOffset, to: length, by: 7 * Effort.stride) {
      let target = WrongStorage(RecordingStorage(isRecording: false), wrongAt: place)
      let copied: VersionRecord
      do {
        copied = try Compactor.copy(
          snapshot.record, snapshot.blocks, to: target, identity: .random(),
          keepsVersions: keepsVersions)
      } catch {
        refused += 1
        continue
      }
      // The bit is in unused bytes.
      #expect(
        try Checker.run(copied, BlockReader(storage: target)).problems == [], "byte \(place)")
    }
    #expect(refused > 20 / Effort.stride)
    try database.close()
  }
}
