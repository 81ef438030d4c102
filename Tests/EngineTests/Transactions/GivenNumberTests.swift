import TestSupport
import Testing

@testable import Engine

/// Numbers that cancelled transactions have given are not given again.
@Suite("Numbers of cancelled transactions")
struct GivenNumberTests {
  private struct Oops: Error {}
  private static let columns = [Column("a", .int)]

  /// Runs `body` in a transaction that is cancelled.
  private func cancel<Result>(
    _ database: Database, _ body: (borrowing WriteTransaction) throws -> Result
  ) throws -> Result {
    let transaction = try database.beginWrite()
    let result = try body(transaction)
    transaction.rollBack()
    return result
  }

  private func keys(_ database: Database) throws -> [Int64] {
    try Query().keys(in: database.snapshot().table("t"))
  }

  @Test("Whatever ends the transaction", arguments: ["closure", "call", "scope", "commit", "disk"])
  func ways(_ way: String) throws {
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { try $0.createTable("t", columns: Self.columns) }
    #expect(try database.write { try $0.table("t").insert([.int(1)]) } == 1)
    var key: Int64 = 0
    switch way {
    case "closure":
      #expect(throws: Oops.self) {
        try database.write {
          key = try $0.table("t").insert([.int(2)])
          throw Oops()
        }
      }
    case "call": key = try cancel(database) { try $0.table("t").insert([.int(2)]) }
    case "scope":
      let transaction = try database.beginWrite()
      key = try transaction.table("t").insert([.int(2)])
    default:
      // Its blocks cannot be written, or an operation after the insertion fails.
      #expect(throws: EngineError.self) {
        try database.write {
          key = try $0.table("t").insert([.int(2)])
          storage.fail(after: 0, code: 28)
          if way == "disk" { for _ in 0..<1000 { try $0.table("t").insert([.int(3)]) } }
        }
      }
      storage.recover()
      #expect(key == 2)
    }
    let next = try database.write { try $0.table("t").insert([.int(4)]) }
    #expect(way == "disk" ? next > 2 : next == 3)
    #expect(try keys(database) == [1, next])
    #expect(try database.check().problems == [])
  }

  @Test("Rows that nobody is told the keys of leave no gap: an import may be repeated")
  func bulk() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { try $0.createTable("t", columns: Self.columns) }
    func append(_ transaction: borrowing WriteTransaction) throws {
      let editor = try transaction.table("t").editor
      var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
      for key in 0..<10 as Range<Int64> { try rows.append(key: key, values: [.int(key)]) }
      try editor.append(try rows.encode(with: ClusterBuilder()))
    }
    try cancel(database) { try append($0) }
    try database.write { try append($0) }
    #expect(try keys(database) == Array(1...10))
    // Keys below one that the program was told count as given.
    let key = try cancel(database) {
      try append($0)
      return try $0.table("t").insert([.int(0)])
    }
    #expect(key == 21)
    #expect(try database.write { try $0.table("t").insert([.int(0)]) } == 22)
  }

  @Test("Tables' numbers, and the keys of a table that is made anew")
  func tables() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    let first = try cancel(database) {
      try $0.createTable("t", columns: Self.columns)
      #expect(try $0.table("t").insert([.int(1)]) == 1)
      return try $0.table("t").editor.number
    }
    try database.write {
      try $0.createTable("t", columns: Self.columns)
      #expect(try $0.table("t").editor.number == first + 1)
      #expect(try $0.table("t").insert([.int(1)]) == 1)
    }
    #expect(try database.check().problems == [])
  }

  @Test("What is known goes with the last handle, and other databases know nothing of it")
  func handles() throws {
    let folder = TemporaryFolder()
    let paths = [folder.path("a.sheaf"), folder.path("b.sheaf")]
    let databases = try paths.map { try Database.open($0) }
    for database in databases {
      try database.write { try $0.createTable("t", columns: Self.columns) }
    }
    #expect(try cancel(databases[0]) { try $0.table("t").insert([.int(1)]) } == 1)
    #expect(try databases[1].write { try $0.table("t").insert([.int(1)]) } == 1)
    let other = try Database.open(paths[0])
    try databases[0].close()
    // A compaction puts another file in place.
    #expect(try other.compact().decision == .compacted)
    #expect(try cancel(other) { try $0.table("t").insert([.int(1)]) } == 2)
    try other.close()
    let last = try Database.open(paths[0])
    #expect(try last.write { try $0.table("t").insert([.int(1)]) } == 1)
    try last.close()
    try databases[1].close()
  }

  @Test("What is known does not grow with tables that come and go")
  func memory() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    for round in 0..<500 {
      try cancel(database) {
        try $0.createTable("x", columns: Self.columns)
        try $0.table("x").insert([.int(1)])
      }
      try database.write(durability: Durability.none) {
        try $0.createTable("t\(round)", columns: Self.columns)
      }
      #expect(try cancel(database) { try $0.table("t\(round)").insert([.int(1)]) } == 1)
      #expect(try cancel(database) { try $0.table("t\(round)").insert([.int(1)]) } == 2)
      if round >= 10 {
        try database.write(durability: Durability.none) { try $0.deleteTable("t\(round - 10)") }
      }
      let given = try #require(database.lock.withLock { database.shared.given })
      #expect(given.nextKeys.count <= 90, "round \(round)")
    }
    #expect(try database.write { try $0.table("t495").insert([.int(1)]) } == 3)
  }
}
