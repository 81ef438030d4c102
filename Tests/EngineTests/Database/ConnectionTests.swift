import Base
import TestSupport
import Testing

@testable import Engine

/// A connection's reads and writes run one at a time, in order; it can stay on a version; using it
/// inside itself throws.
@Suite("Connections", .timeLimit(.minutes(60)))
struct ConnectionTests {
  private static func create() throws -> Database {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { try $0.createTable("log", columns: [Column("what", .int)]) }
    return database
  }

  @Test("Reads and writes of many threads come one at a time, in the order of asking")
  func order() throws {
    let database = try Self.create()
    let connection = database.connection()
    let order = Shared<Int>()
    let asked = Shared<Int>()
    var threads: [Base.Thread] = []
    let problems = Shared<String>()
    try connection.read { _ in
      for who in 0..<12 {
        switch who % 4 {
        case 0: connection.asyncWrite { _ in order.append(who) }
        case 1:
          connection.asyncRead { _ in
            order.append(who)
          } completion: { _ in
          }
        default:
          threads.append(
            try Thread(name: "asker") {
              do {
                asked.append(who)
                if who % 4 == 2 {
                  try connection.read { _ in order.append(who) }
                } else {
                  try connection.write { _ in order.append(who) }
                }
              } catch {
                problems.append("\(error)")
              }
            })
          #expect(asked.wait(for: threads.count))
          // The thread asks within a few instructions.
          System.sleep(milliseconds: 20)
        }
      }
      System.sleep(milliseconds: 10)
      #expect(order.list == [])
    }
    for thread in threads { thread.join() }
    #expect(order.wait(for: 12))
    #expect(order.list == Array(0..<12))
    #expect(problems.list == [])
    try database.close()
  }

  @Test("A connection sees its own writes at once, also those that are not durable yet")
  func ownWrites() throws {
    let storage = RecordingStorage(isRecording: false, flushMilliseconds: 10)
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("log", columns: [Column("what", .int)]) }
    let connection = database.connection()
    for count in 1...30 {
      try connection.write(durability: .group) { try $0.table("log").insert([.int(1)]) }
      #expect(try connection.read { try $0.table("log").count } == count)
    }
    // Reads run in turn; their completions run beside the next ones.
    let seen = Shared<[Int]>()
    for index in 0..<10 {
      connection.asyncWrite { try $0.table("log").insert([.int(1)]) }
      connection.asyncRead {
        try $0.table("log").count
      } completion: {
        if case .success(let count) = $0 { seen.append([index, count]) }
      }
    }
    #expect(seen.wait(for: 10))
    #expect(Set(seen.list) == Set((0..<10).map { [$0, 31 + $0] }))
    try database.close()
  }

  @Test("A long-lived read stays on its version until it is moved")
  func longLived() throws {
    let database = try Self.create()
    let connection = database.connection()
    #expect(try connection.beginLongLivedRead())
    #expect(try !connection.beginLongLivedRead())
    try connection.write { try $0.table("log").insert([.int(1)]) }
    try database.write { try $0.table("log").insert([.int(2)]) }
    #expect(try connection.read { try $0.table("log").count } == 0)
    let newest = try connection.write { try $0.table("log").count }
    #expect(newest == 2)
    #expect(connection.longLivedVersion == 2)
    #expect(try database.connection().read { try $0.table("log").count } == 2)
    #expect(try connection.beginLongLivedRead())
    #expect(try connection.read { try $0.table("log").count } == 2)
    try database.write { try $0.table("log").insert([.int(3)]) }
    #expect(try connection.read { try $0.table("log").count } == 2)
    try connection.endLongLivedRead()
    try connection.endLongLivedRead()
    #expect(connection.longLivedVersion == nil)
    #expect(try connection.read { try $0.table("log").count } == 3)
    try database.close()
  }

  @Test("A connection used inside itself, or inside a transaction, throws instead of waiting")
  func nested() async throws {
    let database = try Self.create()
    let connection = database.connection()
    let nested = EngineError.nestedConnection(path: database.path)
    let uses: [@Sendable () throws -> Void] = [
      { try connection.read { _ in } }, { try connection.write { _ in } },
      { _ = try connection.beginLongLivedRead() }, { try connection.endLongLivedRead() },
    ]
    for use in uses {
      #expect(throws: nested) { try connection.read { _ in try use() } }
      #expect(throws: nested) { try connection.write { _ in try use() } }
      await #expect(throws: nested) { try await connection.asyncRead { _ in try use() } }
      await #expect(throws: nested) { try await connection.asyncWrite { _ in try use() } }
      #expect(throws: EngineError.nestedTransaction(path: database.path)) {
        try database.write { _ in try use() }
      }
    }
    // Inside a read, another connection may be used, and later work be asked for.
    let outcomes = Shared<Bool>()
    try connection.read { _ in
      let version = try database.connection().read { $0.version }
      #expect(try version == database.newestVersion)
      connection.asyncRead { _ in
      } completion: { _ in
        outcomes.append(true)
      }
      connection.asyncWrite { _ in
      } completion: { _ in
        outcomes.append(true)
      }
    }
    #expect(outcomes.wait(for: 2))
    try database.close()
  }

  @Test("Random uses of a few connections by threads and tasks", arguments: 1..<4 as Range<UInt64>)
  func random(seed: UInt64) async throws {
    let database = try Self.create()
    let connections = (0..<3).map { _ in database.connection() }
    try database.write { try $0.table("log").insert([.int(0)]) }
    let increment: @Sendable (borrowing WriteTransaction) throws -> Void = { transaction in
      let table = try transaction.table("log")
      guard case .int(let value)? = try table.row(forKey: 1)?["what"] else { return }
      try table.update(1, ["what": .int(value + 1)])
    }
    let read: @Sendable (Snapshot) throws -> Int64 = { snapshot in
      guard case .int(let value)? = try snapshot.table("log").row(forKey: 1)?["what"] else {
        return -1
      }
      return value
    }
    let total = Shared<Int>()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for worker in 0..<6 as Range<UInt64> {
        group.addTask {
          var random = SplitMix64(seed: seed << 8 | worker)
          for _ in 0..<40 {
            let connection = connections[Int.random(in: 0..<3, using: &random)]
            switch Int.random(in: 0..<7, using: &random) {
            case 0:
              try connection.write(durability: .group, increment)
              total.append(1)
            case 1:
              try await connection.asyncWrite(increment)
              total.append(1)
            case 2:
              try await database.asyncWrite(
                allowsGrouping: .random(using: &random), increment)
              total.append(1)
            case 3: _ = try connection.read(read)
            case 4: _ = try await connection.asyncRead(read)
            case 5: try connection.beginLongLivedRead()
            default: try connection.endLongLivedRead()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    for connection in connections { try connection.endLongLivedRead() }
    #expect(try connections[0].read(read) == Int64(total.list.count), "seed \(seed)")
    try database.close()
  }
}
