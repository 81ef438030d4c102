import Base
import TestSupport
import Testing

@testable import Engine

/// Reading the slots while others commit finds the newest version, and reports no damage where there is
/// none.
@Suite("Slots that others write")
struct RecoveryAmongWritersTests {
  /// A file whose other writer commits right after every read of the slots.
  private final class RacingStorage: Storage {
    let inner: RecordingStorage
    let path = "memory.sheaf"
    private let looks = Guarded(0)
    private let commits: @Sendable (Int) -> Void

    /// - Parameter commits: called after each read of the slots, with the number of reads before.
    init(_ inner: RecordingStorage, commits: @escaping @Sendable (Int) -> Void) {
      self.inner = inner
      self.commits = commits
    }

    func length() -> Int { inner.length() }
    func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try inner.write(bytes, at: offset)
    }
    func flush() throws(SystemError) { inner.flush() }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      inner.view(at: offset, count: count)
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
      throws(SystemError) -> Int
    {
      let count = inner.read(into: buffer, at: offset)
      if offset == 0 {
        let number = looks.withLock { looks in
          defer { looks += 1 }
          return looks
        }
        commits(number)
      }
      return count
    }
  }

  private func database() throws -> (Database, RecordingStorage) {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .int)])
      try transaction.table("t").insert([.int(0)])
    }
    // From now on pages are used again.
    for number in 0..<4 { Self.commit(database, number) }
    return (database, storage)
  }

  private static func commit(_ database: Database, _ number: Int) {
    for value in 0..<16 as Range<Int64> {
      do {
        try database.write { try $0.table("t").update(1, ["a": .int(Int64(number) * 16 + value)]) }
      } catch {
        Issue.record("\(error)")
      }
    }
  }

  @Test("What the slots named is gone each time for long: then it is found")
  func newest() throws {
    let (database, storage) = try database()
    let racing = RacingStorage(storage) { if $0 < 60 { Self.commit(database, $0) } }
    #expect(throws: EngineError.self) { try Recovery.run(racing) }
    let found = try Recovery.runAmongWriters(racing)
    #expect(found.fallback == nil)
    #expect(try found.record.version == database.newestVersion)
  }

  @Test("A check finds nothing wrong with them")
  func check() throws {
    let (database, storage) = try database()
    let snapshot = try database.snapshot()
    let racing = RacingStorage(storage) { if $0 < 60 { Self.commit(database, $0) } }
    let report = Checker.run(snapshot.record, try BlockReader(storage: racing))
    #expect(report.problems == [])
  }

  @Test("What stays wrong is told soon, with writers or without", arguments: [0, 1])
  func damaged(slot: Int) throws {
    let (database, storage) = try database()
    try database.write { try $0.table("t").update(1, ["a": .int(7)]) }
    try database.close()
    for slot in 0...slot {
      try [UInt8](repeating: 7, count: 64).withUnsafeBytes {
        try storage.write($0, at: slot * Layout.pageBytes + 16)
      }
    }
    let began = System.monotonicNanoseconds
    if slot == 0 {
      #expect(try Recovery.runAmongWriters(storage).fallback?.contains("slot 0") == true)
    } else {
      #expect(throws: EngineError.self) { try Recovery.runAmongWriters(storage) }
    }
    #expect(System.monotonicNanoseconds - began < 10_000_000_000)
  }
}
