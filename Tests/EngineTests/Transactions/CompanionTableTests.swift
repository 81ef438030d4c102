import TestSupport
import Testing

@testable import Engine

/// A companion table has data that is kept for a table: programs do not see it, and it is deleted and
/// renamed with its table.
@Suite("Companion tables", .timeLimit(.minutes(60)))
struct CompanionTableTests {
  private static let purpose = "notes"
  private static let columns = [Column("key", .text), Column("value", .data)]
  private static let number = Column("n", .int)

  private let folder = TemporaryFolder()
  private var path: String { folder.path("a.sheaf") }

  private func put(_ transaction: borrowing WriteTransaction, table: String, rows: Range<Int>)
    throws
  {
    let companion = try transaction.companion(
      Self.purpose, of: transaction.table(table), columns: Self.columns)
    for row in rows {
      try companion?.insert(["key": .text("k\(row)"), "value": .data([UInt8(row)])])
    }
  }

  /// Two tables whose numbers begin alike, and twelve others between them.
  private func create() throws -> Database {
    let database = try Database.open(path)
    try database.write { transaction in
      for table in ["a"] + (0..<12).map({ "between \($0)" }) + ["b"] {
        try transaction.createTable(table, columns: [Self.number])
        try transaction.table(table).insert([.int(7)])
        try put(transaction, table: table, rows: 0..<(table == "a" ? 200 : 3))
      }
    }
    return database
  }

  private func kept(_ database: Database, _ table: String) throws -> [String]? {
    let snapshot = try database.snapshot()
    var keys: [String] = []
    guard let companion = try snapshot.companion(Self.purpose, of: snapshot.table(table)) else {
      return nil
    }
    try companion.forEachRow { row in
      if case .text(let key)? = row["key"] { keys.append(key) }
    }
    return keys
  }

  private func expectSound(_ database: Database, tables: Int, companions: Int) throws {
    let report = try database.check()
    #expect(report.problems == [])
    #expect(report.tables == tables && report.objects == tables)
    let snapshot = try database.snapshot()
    #expect(snapshot.tableNames.count == tables)
    #expect(try snapshot.companions().count == companions)
  }

  @Test("Programs see nothing of them, and cannot take their names")
  func hidden() throws {
    let database = try create()
    try expectSound(database, tables: 14, companions: 14)
    let snapshot = try database.snapshot()
    let name = try #require(try snapshot.companions().first?.name)
    #expect(throws: EngineError.self) { try snapshot.table(name) }
    for reserved in [name, "\0", "\0mine"] {
      try database.write { transaction in
        #expect(throws: EngineError.self) { try transaction.table(reserved) }
        #expect(throws: EngineError.self) {
          try transaction.createTable(reserved, columns: [Self.number])
        }
        #expect(throws: EngineError.self) { try transaction.renameTable("a", to: reserved) }
        #expect(throws: EngineError.self) { try transaction.deleteTable(reserved) }
        #expect(throws: EngineError.self) { try transaction.renameTable(reserved, to: "mine") }
      }
    }
    try expectSound(database, tables: 14, companions: 14)
    try database.close()
    // A schema that allows only its own tables accepts companions.
    var options = Database.Options()
    options.schema = Schema(
      version: 0, tables: snapshot.tableNames.map { TableDefinition($0, columns: [Self.number]) },
      allowsOthers: false)
    try Database.open(path, options: options).close()
  }

  @Test("They follow their table through renaming, compaction and copies")
  func followed() throws {
    let database = try create()
    try database.write { try $0.renameTable("a", to: "z") }
    #expect(try kept(database, "z")?.count == 200)
    try database.write { transaction in
      // Both names are used in one transaction.
      try transaction.createTable("a", columns: [Self.number])
      try transaction.table("a").insert([.int(7)])
      #expect(
        try transaction.companion(Self.purpose, of: transaction.table("a"), columns: nil) == nil)
      try put(transaction, table: "z", rows: 200..<210)
    }
    #expect(try kept(database, "a") == nil)
    try expectSound(database, tables: 15, companions: 14)
    #expect(try database.compact().decision == .compacted)
    #expect(try kept(database, "z") == (0..<210).map { "k\($0)" })
    try expectSound(database, tables: 15, companions: 14)
    try database.writeCopy(to: folder.path("copy.sheaf"))
    let copy = try Database.open(folder.path("copy.sheaf"))
    #expect(try kept(copy, "z") == (0..<210).map { "k\($0)" })
    try expectSound(copy, tables: 15, companions: 14)
    try copy.close()
    try database.close()
  }

  @Test("They go with their table, and with no other; a new one of that name has none")
  func deleted() throws {
    let database = try create()
    try database.write { try $0.deleteTable("a") }
    try expectSound(database, tables: 13, companions: 13)
    #expect(try kept(database, "b") == ["k0", "k1", "k2"])
    try database.write { try $0.createTable("a", columns: [Self.number]) }
    #expect(try kept(database, "a") == nil)
    try database.write { transaction in
      for name in transaction.tableNames where name != "b" { try transaction.deleteTable(name) }
    }
    try expectSound(database, tables: 1, companions: 1)
    try database.close()
  }

  @Test("What is rolled back was never there; what fails takes them with it")
  func rolledBack() throws {
    struct Stop: Error {}
    let database = try create()
    #expect(throws: Stop.self) {
      try database.write { transaction in
        try transaction.deleteTable("a")
        try put(transaction, table: "b", rows: 3..<40)
        throw Stop()
      }
    }
    #expect(try kept(database, "a")?.count == 200)
    #expect(try kept(database, "b") == ["k0", "k1", "k2"])
    try expectSound(database, tables: 14, companions: 14)
    try database.close()
  }
}
