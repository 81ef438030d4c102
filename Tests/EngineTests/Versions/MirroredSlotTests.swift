import Base
import TestSupport
import Testing

@testable import Engine

@Suite("The newest version in both slots")
struct MirroredSlotTests {
  private func database() throws -> (Database, RecordingStorage) {
    let storage = RecordingStorage()
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    return (database, storage)
  }

  private func slots(_ storage: RecordingStorage) -> [[UInt8]] {
    let content = storage.content
    return (0..<2).map { Array(content[$0 * Layout.pageBytes..<($0 + 1) * Layout.pageBytes]) }
  }

  private func flushes(_ storage: RecordingStorage) -> Int {
    storage.log.count { if case .flushEnded = $0 { true } else { false } }
  }

  @Test("Closing what was tidied up flushes nothing, and both slots name the version")
  func closing() throws {
    let (database, storage) = try database()
    try database.trim()
    let (before, written) = (flushes(storage), slots(storage))
    #expect(written[0] == written[1])
    try database.close()
    #expect(flushes(storage) == before)
    #expect(slots(storage) == written)
  }

  @Test("A version that comes after tidying up goes into both slots, too")
  func later() throws {
    let (database, storage) = try database()
    try database.trim()
    try database.write { try $0.table("t").insert([.int(1)]) }
    try database.close()
    let written = slots(storage)
    #expect(written[0] == written[1])
    #expect(try Recovery.run(storage).record.version == database.newestVersion)
  }

  @Test("What somebody else has left in a slot meanwhile does not stay there", arguments: [0, 1])
  func spoilt(slot: Int) throws {
    let (database, storage) = try database()
    try database.trim()
    let (before, written) = (flushes(storage), slots(storage))
    // The version's own slot is written again by whoever writes next.
    let other = try Recovery.run(storage).slot ^ 1
    try [UInt8](repeating: 7, count: slot == 0 ? 64 : 1).withUnsafeBytes {
      try storage.write($0, at: other * Layout.pageBytes + slot * 4000)
    }
    try database.close()
    #expect(slots(storage) == written)
    #expect(flushes(storage) == before + 1)
  }
}
