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
    let newest = try database.newestVersion
    try database.close()
    let written = slots(storage)
    #expect(written[0] == written[1])
    #expect(try Recovery.run(storage).record.version == newest)
  }

  @Test("What somebody else has left in the second slot does not stay there", arguments: [0, 4000])
  func spoilt(at place: Int) throws {
    let (database, storage) = try database()
    try database.trim()
    let (before, written) = (flushes(storage), slots(storage))
    let second = try #require(lastSlotWritten(storage))
    try [UInt8](repeating: 7, count: 64).withUnsafeBytes {
      try storage.write($0, at: second * Layout.pageBytes + place)
    }
    try database.close()
    #expect(slots(storage)[0] == written[0] && slots(storage)[1] == written[1])
    #expect(flushes(storage) == before + 1)
  }

  private func lastSlotWritten(_ storage: RecordingStorage) -> Int? {
    storage.log.reversed().lazy.compactMap { entry -> Int? in
      guard case .write(let offset, _) = entry, offset < Layout.firstBlockOffset else { return nil }
      return offset / Layout.pageBytes
    }.first
  }
}
