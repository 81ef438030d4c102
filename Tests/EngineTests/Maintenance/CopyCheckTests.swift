import TestSupport
import Testing

@testable import Engine

/// A copy that replaces its source must read back the same.
@Suite("Copies that do not read back as they were written", .timeLimit(.minutes(60)))
struct CopyCheckTests {
  /// A disk that keeps one bit wrong.
  private final class WrongStorage: Storage, @unchecked Sendable {
    // @unchecked: used by one thread at a time.
    private let inner = RecordingStorage(isRecording: false)
    private let place: Int

    init(wrongAt place: Int) { self.place = place }

    var path: String { inner.path }
    func length() throws(SystemError) -> Int { inner.length() }
    func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
    func flush() throws(SystemError) { inner.flush() }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try inner.write(bytes, at: offset)
      guard place >= offset, place < offset + bytes.count else { return }
      var wrong = bytes[place - offset] ^ 4
      let failure = withUnsafeBytes(of: &wrong) { wrong -> SystemError? in
        do throws(SystemError) {
          try inner.write(wrong, at: place)
          return nil
        } catch {
          return error
        }
      }
      if let failure { throw failure }
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
      throws(SystemError) -> Int
    { inner.read(into: buffer, at: offset) }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      inner.view(at: offset, count: count)
    }
  }

  @Test("Compaction notices, wherever the wrong bit is")
  func wrongBits() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .text), Column("n", .int)], key: "id", indexes: ["n"])
      let table = try transaction.table("t")
      for number in 0..<300 {
        try table.insert([.text("object \(number * 7919 % 1000)"), .int(Int64(number % 40))])
      }
    }
    let snapshot = try database.snapshot()
    let length = Int(snapshot.record.end)
    var refused = 0
    for place in stride(from: Layout.firstBlockOffset, to: length, by: 61 * Effort.stride) {
      let target = WrongStorage(wrongAt: place)
      let copied: VersionRecord
      do {
        copied = try Compactor.copy(
          snapshot.record, snapshot.blocks, to: target, identity: .random())
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
