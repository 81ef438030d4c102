import Base
import TestSupport
import Testing

@testable import Engine

/// Asynchronous writes run in order and make a version each. They are flushed together, can be
/// cancelled before they begin, and complete once they are durable.
@Suite("Asynchronous reads and writes", .timeLimit(.minutes(60)))
struct AsyncWriteTests {
  private struct Oops: Error {}

  private static func create(_ storage: any Storage) throws -> Database {
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("log", columns: [Column("what", .int)]) }
    return database
  }

  private static func values(_ snapshot: Snapshot) throws -> [Int64] {
    var values: [Int64] = []
    try snapshot.table("log").forEachRow { row in
      if case .int(let value) = row.values[0] { values.append(value) }
    }
    return values
  }

  private static func flushes(_ storage: RecordingStorage) -> Int {
    storage.log.count { if case .flushEnded = $0 { true } else { false } }
  }

  /// Keeps the writing thread inside a write until it is opened.
  private final class Gate: Sendable {
    private let opened = Shared<Bool>()
    private let reached = Shared<Bool>()
    func open() { opened.append(true) }
    func close(_ database: Database) {
      database.asyncWrite { _ in
        self.reached.append(true)
        _ = self.opened.wait(for: 1)
      }
      #expect(reached.wait(for: 1))
    }
  }

  @Test("Queued writes come in order, each a version, and share flushes")
  func grouping() throws {
    // Flushes take no time here, so that a write which is not delayed is flushed alone.
    let storage = RecordingStorage()
    let database = try Self.create(storage)
    let gate = Gate()
    gate.close(database)
    let outcomes = Shared<(Int64, UInt64)>()
    let durable = Shared<Bool>()
    for value in 0..<300 as Range<Int64> {
      database.asyncWrite { transaction in
        try transaction.table("log").insert([.int(value)])
        return transaction.baseVersion + 1
      } completion: { result in
        guard case .success(let version) = result else { return }
        outcomes.append((value, version))
        // Durable by now, and visible to all.
        durable.append((try? database.newestVersion) ?? 0 >= version)
      }
    }
    let before = Self.flushes(storage)
    let began = System.monotonicNanoseconds
    gate.open()
    #expect(outcomes.wait(for: 300))
    let milliseconds = Int((System.monotonicNanoseconds - began) / 1_000_000)
    #expect(outcomes.list.map(\.0) == Array(0..<300))
    #expect(outcomes.list.map(\.1) == Array(3..<303))
    #expect(durable.list.allSatisfy { $0 })
    // Two flushes a round, a round every 10 ms, and the last round at once.
    let shared = Self.flushes(storage) - before
    #expect(shared <= 2 * (milliseconds / 10 + 3), "\(shared) flushes in \(milliseconds) ms")
    if System.environment("SHEAF_FIGURES") != nil {
      print("300 asynchronous writes: \(shared) flushes, \(milliseconds) ms")
    }
    #expect(try Self.values(database.snapshot()) == Array(0..<300))
    try database.close()
  }

  @Test("A write that allows no grouping has flushes of its own")
  func alone() throws {
    let storage = RecordingStorage()
    let database = try Self.create(storage)
    let before = Self.flushes(storage)
    let outcomes = Shared<Int64>()
    for value in 0..<20 as Range<Int64> {
      database.asyncWrite(allowsGrouping: false) {
        try $0.table("log").insert([.int(value)])
      } completion: { _ in
        outcomes.append(value)
      }
    }
    #expect(outcomes.wait(for: 20))
    #expect(outcomes.list == Array(0..<20))
    #expect(Self.flushes(storage) - before == 40)
    try database.close()
  }

  @Test("An error rolls back its own write only, and is told in its place")
  func errors() throws {
    let database = try Self.create(RecordingStorage(isRecording: false))
    let outcomes = Shared<String>()
    for value in 0..<30 as Range<Int64> {
      database.asyncWrite { transaction in
        try transaction.table("log").insert([.int(value)])
        if value % 3 == 1 { throw Oops() }
        if value % 3 == 2 { try database.write { _ in } }
      } completion: { result in
        switch result {
        case .success: outcomes.append("\(value)")
        case .failure(is Oops): outcomes.append("\(value) oops")
        case .failure(EngineError.nestedTransaction): outcomes.append("\(value) nested")
        case .failure(let error): outcomes.append("\(value) \(error)")
        }
      }
    }
    #expect(outcomes.wait(for: 30))
    let endings = ["", " oops", " nested"]
    #expect(outcomes.list == (0..<30).map { "\($0)\(endings[$0 % 3])" })
    #expect(try Self.values(database.snapshot()) == Array(stride(from: 0, to: 30, by: 3)))
    try database.close()
  }

  @Test("A write is cancelled before it begins, not after")
  func cancelling() throws {
    let database = try Self.create(RecordingStorage(isRecording: false))
    let gate = Gate()
    gate.close(database)
    let outcomes = Shared<String>()
    let writes = (0..<10 as Range<Int64>).map { value in
      database.asyncWrite {
        try $0.table("log").insert([.int(value)])
      } completion: { result in
        switch result {
        case .success: outcomes.append("\(value) made")
        case .failure(EngineError.cancelled): outcomes.append("\(value) cancelled")
        case .failure(let error): outcomes.append("\(value) \(error)")
        }
      }
    }
    for index in stride(from: 0, to: 10, by: 2) {
      #expect(writes[index].cancel())
      #expect(!writes[index].cancel())
      #expect(writes[index].isCancelled)
    }
    // The completion comes while the writing thread is still busy.
    #expect(outcomes.wait(for: 5))
    gate.open()
    #expect(outcomes.wait(for: 10))
    #expect(
      outcomes.list.sorted() == (0..<10).map { "\($0) \($0 % 2 == 0 ? "cancelled" : "made")" })
    #expect(!writes[1].cancel() && !writes[1].isCancelled)
    #expect(try Self.values(database.snapshot()) == [1, 3, 5, 7, 9])
    try database.close()
  }

  @Test("An asynchronous write inside a transaction comes after it")
  func inside() throws {
    let database = try Self.create(RecordingStorage(isRecording: false))
    let outcomes = Shared<Bool>()
    try database.write { transaction in
      database.asyncWrite {
        try $0.table("log").insert([.int(2)])
      } completion: { _ in
        outcomes.append(true)
      }
      System.sleep(milliseconds: 5)
      try transaction.table("log").insert([.int(1)])
    }
    #expect(outcomes.wait(for: 1))
    #expect(try Self.values(database.snapshot()) == [1, 2])
    try database.close()
  }

  @Test("Closing makes the queued writes first and refuses later ones")
  func closing() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("log", columns: [Column("what", .int)]) }
    let connection = database.connection()
    let outcomes = Shared<String>()
    for value in 0..<200 as Range<Int64> {
      let insert: @Sendable (borrowing WriteTransaction) throws -> Void = {
        try $0.table("log").insert([.int(value)])
      }
      let told: @Sendable (Result<Void, any Error>) -> Void = {
        if case .success = $0 { outcomes.append("\(value)") } else { outcomes.append("\($0)") }
      }
      // A connection's writes enter the queue one by one, and count as well.
      if value % 2 == 0 {
        database.asyncWrite(insert, completion: told)
      } else {
        connection.asyncWrite(insert, completion: told)
      }
    }
    try database.close()
    #expect(outcomes.list.count == 200)
    #expect(Set(outcomes.list) == Set((0..<200).map { "\($0)" }))
    let late = Shared<String>()
    let tell: @Sendable (Result<Void, any Error>) -> Void = {
      if case .failure(let error) = $0 { late.append("\(error)") }
    }
    database.asyncWrite({ _ in }, completion: tell)
    connection.asyncWrite({ _ in }, completion: tell)
    database.asyncRead({ _ in }, completion: tell)
    connection.asyncRead({ _ in }, completion: tell)
    #expect(late.wait(for: 4))
    #expect(Set(late.list) == ["\(EngineError.closed(path: database.path))"])
    let again = try Database.open(folder.path("a.sheaf"))
    #expect(try again.snapshot().table("log").count == 200)
    try again.close()
  }

  @Test("Closing inside a write or a connection's closure throws; inside a completion it works")
  func closingInside() throws {
    let database = try Self.create(RecordingStorage(isRecording: false))
    let connection = database.connection()
    let outcomes = Shared<String>()
    database.asyncWrite { _ in
      try database.close()
    } completion: {
      outcomes.append("\($0)")
    }
    #expect(outcomes.wait(for: 1))
    #expect(outcomes.list[0].contains("inside a write transaction"))
    #expect(throws: EngineError.nestedConnection(path: database.path)) {
      try connection.read { _ in try database.close() }
    }
    database.asyncWrite {
      try $0.table("log").insert([.int(1)])
    } completion: { _ in
      do { try database.close() } catch { outcomes.append("\(error)") }
      outcomes.append("closed")
    }
    #expect(outcomes.wait(for: 2))
    #expect(outcomes.list[1] == "closed")
    #expect(throws: EngineError.closed(path: database.path)) { _ = try database.snapshot() }
  }

  @Test("After a failure every completion is told, and what was promised is in the file")
  func failure() throws {
    var poisoned = 0
    for number in 0..<12 {
      let inner = RecordingStorage(isRecording: false)
      let storage = FailingStorage(inner)
      let database = try Self.create(storage)
      let gate = Gate()
      gate.close(database)
      let made = Shared<Int64>()
      let outcomes = Shared<Bool>()
      for value in 0..<5 as Range<Int64> {
        database.asyncWrite {
          try $0.table("log").insert([.int(value)])
        } completion: { result in
          if case .success = result { made.append(value) }
          if case .failure(EngineError.poisoned) = result {
            outcomes.append(true)
          } else {
            outcomes.append(false)
          }
        }
      }
      storage.fail(after: number, code: 5)
      gate.open()
      #expect(outcomes.wait(for: 5))
      poisoned += outcomes.list.count { $0 }
      try? database.close()
      let again = try Database.open(storage: inner)
      #expect(Set(try Self.values(again.snapshot())).isSuperset(of: made.list), "after \(number)")
      try again.close()
    }
    #expect(poisoned > 0)
  }

  @Test("async/await: results, errors, and cancellation before the start")
  func awaiting() async throws {
    let database = try Self.create(RecordingStorage(isRecording: false))
    let key = try await database.asyncWrite { try $0.table("log").insert([.int(4)]) }
    #expect(
      try await database.asyncRead { try $0.table("log").row(forKey: key)?.values } == [.int(4)])
    await #expect(throws: Oops.self) { try await database.asyncWrite { _ in throw Oops() } }
    await #expect(throws: Oops.self) { try await database.asyncRead { _ in throw Oops() } }
    let gate = Gate()
    gate.close(database)
    let task = Task { try await database.asyncWrite { try $0.table("log").insert([.int(5)]) } }
    let other = Task { try await database.asyncWrite { try $0.table("log").insert([.int(6)]) } }
    task.cancel()
    // The gate is still shut: the task does not wait for the writing thread.
    await #expect(throws: CancellationError.self) { try await task.value }
    gate.open()
    _ = try await other.value
    #expect(try database.read { try Self.values($0) } == [4, 6])
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await database.asyncRead { $0.version }
    }
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try database.close()
  }

  @Test("A database released by its own completion ends quietly")
  func lastOwner() throws {
    let folder = TemporaryFolder()
    let outcomes = Shared<Bool>()
    for _ in 0..<20 {
      let before = outcomes.list.count
      do {
        let database = try Database.open(folder.path("a.sheaf"))
        database.asyncWrite { [database] _ in
          _ = database.path
        } completion: { _ in
          outcomes.append(true)
        }
        database.asyncRead { [database] _ in
          _ = database.path
        } completion: { _ in
          outcomes.append(true)
        }
      }
      #expect(outcomes.wait(for: before + 2))
    }
  }
}
