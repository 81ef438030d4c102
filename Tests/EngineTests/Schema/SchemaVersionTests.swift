import Base
import TestSupport
import Testing

@testable import Engine

/// A file gets the tables that a program declares, or is refused with every difference.
@Suite("Schema versions and migrations")
struct SchemaVersionTests {
  private struct Oops: Error, Equatable {}

  private static let first = Schema(
    version: 1,
    tables: [
      TableDefinition(
        "people",
        columns: [Column("id", .int), Column("name", .text), Column("age", .text)], key: "id"),
      TableDefinition("old", columns: [Column("x", .int)]),
    ])

  /// Names are split in two, ages become numbers, one table is dropped, another added.
  private static let second = Schema(
    version: 2,
    tables: [
      TableDefinition(
        "person",
        columns: [
          Column("id", .int), Column("first", .text, nullable: false, default: .text("")),
          Column("last", .text), Column("age", .int, nullable: false, default: .int(0)),
          Column("note", .text),
        ], key: "id"),
      TableDefinition("new", columns: [Column("y", .double, nullable: false)]),
    ])

  @Sendable private static func migrate(
    _ transaction: borrowing WriteTransaction, _ oldVersion: UInt64
  ) throws {
    #expect(oldVersion == 1)
    try transaction.deleteTable("old")
    try transaction.renameTable("people", to: "person")
    let table = try transaction.table("person")
    try table.addColumn(Column("first", .text, nullable: false, default: .text("")))
    try table.renameColumn("age", to: "oldAge")
    try table.addColumn(Column("age", .int, nullable: false, default: .int(0)))
    try table.renameColumn("name", to: "last")
    try table.forEachRow { row in
      if case .text(let name)? = row["last"], let space = name.firstIndex(of: " ") {
        let (first, last) = (name[..<space], name[space...].dropFirst())
        try table.update(row.key, ["first": .text("\(first)"), "last": .text("\(last)")])
      }
      if case .text(let age)? = row["oldAge"], let number = Int64(age) {
        try table.update(row.key, ["age": .int(number)])
      }
    }
    try table.removeColumn("oldAge")
  }

  private static func options(
    _ schema: Schema, _ access: Database.Options.Access = .create
  ) -> Database.Options {
    var options = Database.Options.tiny
    options.access = access
    options.schema = schema
    if schema.version == 2 { options.migration = migrate }
    return options
  }

  private static func fill(_ transaction: borrowing WriteTransaction) throws {
    let table = try transaction.table("people")
    for row in 0..<40 {
      try table.insert([
        .int(Int64(row)), .text("Ada\(row) Lovelace"), row % 4 == 3 ? .null : .text("\(row + 20)"),
      ])
    }
    try transaction.table("old").insert([.int(1)])
  }

  private func make(_ path: String) throws {
    let database = try Database.open(path, options: Self.options(Self.first))
    try database.write(Self.fill)
    try database.close()
  }

  private func thrown(_ body: () throws -> Void) -> EngineError? {
    do {
      try body()
      return nil
    } catch {
      return error as? EngineError
    }
  }

  @Test("An empty file gets the tables and the version; opening it again changes nothing")
  func creation() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    for round in 0..<3 {
      let database = try Database.open(path, options: Self.options(Self.first))
      let snapshot = try database.snapshot()
      #expect(snapshot.schemaVersion == 1 && snapshot.isEmpty)
      let tables = try snapshot.tableNames.map { try snapshot.table($0).definition }
      #expect(tables.map(\.name) == ["people", "old"])
      #expect(tables[0].key == "id" && tables[0].columns[0].isNullable == false)
      #expect(snapshot.version == 2, "round \(round)")
      try database.close()
    }
    // Without a declaration the file stays as it is.
    let database = try Database.open(path)
    #expect(try database.snapshot().schemaVersion == 1)
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Declared indexes are made, and given up, when the version is raised")
  func indexes() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    var next = Self.first
    next.tables[0].indexes = ["name"]
    let error = try #require(
      thrown { _ = try Database.open(path, options: Self.options(next)) })
    guard case .schemaMismatch(_, 1, 1, let differences) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(
      differences == [
        "table 'people': column 'name' is declared as indexed, and is not in the file"
      ])
    for (version, names) in [(3, ["name"]), (4, ["age", "name"]), (5, [])] {
      next.version = UInt64(version)
      next.tables[0].indexes = names
      let database = try Database.open(path, options: Self.options(next))
      #expect(try database.snapshot().table("people").indexedColumns.sorted() == names)
      #expect(try database.check().isSound)
      try database.close()
    }
    next.version = 6
    next.tables[0].indexes = ["nothing"]
    #expect(throws: EngineError.self) {
      _ = try Database.open(path, options: Self.options(next))
    }
  }

  @Test("The same version with other tables is refused, with every difference in words")
  func mismatch() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    var other = Self.first
    other.tables[0].columns = [
      Column("id", .double), Column("name", .text, nullable: false, default: .text("x")),
      Column("more", .bool),
    ]
    other.tables[0].key = nil
    other.tables[1].name = "older"
    let error = try #require(
      thrown { _ = try Database.open(path, options: Self.options(other)) })
    guard case .schemaMismatch(_, 1, 1, let differences) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(
      differences == [
        "table 'people': column 'id' is double, the file has int, never null",
        "table 'people': column 'name' is text, never null, 'x' by default, the file has text",
        "table 'people': column 'more' (bool) is missing from the file",
        "table 'people': column 'age' is in the file and not declared",
        "table 'people': no key is declared, the file has the key 'id'",
        "table 'older' is missing from the file",
        "table 'old' is in the file and not declared",
      ])
    #expect("\(error)".contains("raise the version of the schema, 1, and give a migration"))
    // The file is closed and unchanged.
    #expect(folder.names() == ["a.sheaf"])
    other = Self.first
    other.tables[1].columns[0].type = .double
    let simple = thrown { _ = try Database.open(path, options: Self.options(other)) }
    #expect("\(try #require(simple))".contains("column 'x' is double, the file has int"))
    let database = try Database.open(path, options: Self.options(Self.first))
    #expect(try database.snapshot().table("people").count == 40)
    try database.close()
  }

  @Test("A later version than the program's is refused, also while the program has the file open")
  func newer() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let old = try Database.open(path, options: Self.options(Self.first))
    let new = try Database.open(path, options: Self.options(Self.second))
    let refused = EngineError.newerSchema(path: old.path, fileVersion: 2, declaredVersion: 1)
    #expect(throws: refused) { try old.write { try $0.table("person").deleteAll() } }
    #expect(throws: refused) { try Database.open(path, options: Self.options(Self.first)) }
    #expect(throws: refused) {
      try Database.open(path, options: Self.options(Self.first, .readOnly))
    }
    #expect("\(refused)".contains("version 2") && "\(refused)".contains("version 1"))
    #expect(try new.snapshot().table("person").count == 40)
    try old.close()
    try new.close()
  }

  @Test("A migration changes tables, columns and objects; what is missing is added")
  func migration() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    for _ in 0..<2 {
      let database = try Database.open(path, options: Self.options(Self.second))
      let snapshot = try database.snapshot()
      #expect(snapshot.schemaVersion == 2)
      #expect(snapshot.tableNames.sorted() == ["new", "person"])
      let table = try snapshot.table("person")
      // Added columns are behind the others.
      #expect(table.columns.map(\.name) == ["id", "last", "first", "age", "note"])
      for row in 0..<40 {
        let found = try table.row(forPrimaryKey: .int(Int64(row)))
        let age = row % 4 == 3 ? 0 : Int64(row + 20)
        #expect(
          found?.values
            == [.int(Int64(row)), .text("Lovelace"), .text("Ada\(row)"), .int(age), .null])
      }
      #expect(try database.check().problems == [])
      try database.close()
    }
  }

  @Test("Without a migration, what is missing is added; more than that is refused")
  func additions() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    var next = Self.first
    next.version = 7
    next.tables[0].columns += [
      Column("a", .int), Column("b", .int, nullable: false, default: .int(3)),
    ]
    next.tables.append(TableDefinition("third", columns: [Column("z", .data, nullable: false)]))
    var refused = next
    refused.tables[0].columns.append(Column("c", .int, nullable: false))
    let error = thrown { _ = try Database.open(path, options: Self.options(refused)) }
    guard case .schemaMismatch(_, 1, 7, let differences)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(
      differences == ["table 'people': column 'c' (int, never null) is missing from the file"])
    #expect("\(try #require(error))".contains("let the migration make them the same"))
    var database = try Database.open(path)
    #expect(try database.snapshot().schemaVersion == 1)
    #expect(try database.snapshot().tableNames == ["people", "old"])
    try database.close()
    // An empty table accepts the change.
    database = try Database.open(path)
    try database.write { try $0.deleteAll() }
    try database.close()
    database = try Database.open(path, options: Self.options(refused))
    #expect(try database.snapshot().schemaVersion == 7)
    #expect(try database.snapshot().table("people").columns.count == 6)
    try database.close()
  }

  @Test("A migration that throws, or leaves something out, leaves everything as it was")
  func failure() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    var database = try Database.open(path)
    let (digest, version) = try (Model.digest(database.snapshot()), database.snapshot().version)
    try database.close()
    var options = Self.options(Self.second)
    options.migration = { transaction, old in
      try Self.migrate(transaction, old)
      throw Oops()
    }
    #expect(throws: Oops()) { try Database.open(path, options: options) }
    options.migration = { transaction, old in
      try Self.migrate(transaction, old)
      try transaction.table("person").removeColumn("age")
      try transaction.table("person").addColumn(Column("age", .text))
    }
    #expect(
      "\(try #require(thrown { _ = try Database.open(path, options: options) }))".contains(
        "column 'age' is int, never null, 0 by default, the file has text; the file has version 1"))
    options.migration = { transaction, _ in try transaction.table("person").deleteAll() }
    #expect(throws: EngineError.noSuchTable(name: "person", known: ["people", "old"])) {
      try Database.open(path, options: options)
    }
    #expect(folder.names() == ["a.sheaf"])
    database = try Database.open(path, options: Self.options(Self.first))
    #expect(try Model.digest(database.snapshot()) == digest)
    #expect(try database.snapshot().version == version)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Opening for reading only compares, and changes nothing")
  func readOnly() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let database = try Database.open(path, options: Self.options(Self.first, .readOnly))
    #expect(try database.snapshot().table("people").count == 40)
    try database.close()
    let older = thrown {
      _ = try Database.open(path, options: Self.options(Self.second, .readOnly))
    }
    #expect("\(try #require(older))".contains("opened for writing once"))
    // Only the version changes.
    var next = Self.first
    next.version = 3
    let version = thrown { _ = try Database.open(path, options: Self.options(next, .readOnly)) }
    #expect("\(try #require(version))".contains("version 1 of the schema, 3 is declared"))
  }

  @Test("A declaration that cannot be is refused")
  func impossible() throws {
    let folder = TemporaryFolder()
    let column = Column("x", .int)
    for tables in [
      [TableDefinition("a", columns: [])],
      [TableDefinition("a", columns: [column, column])],
      [TableDefinition("a", columns: [column]), TableDefinition("a", columns: [column])],
      [TableDefinition("", columns: [column])],
      [TableDefinition("a", columns: [column], key: "y")],
      [TableDefinition("a", columns: [Column("x", .int, default: .text("y"))])],
    ] {
      let error = thrown {
        _ = try Database.open(
          folder.path("a.sheaf"), options: Self.options(Schema(version: 0, tables: tables)))
      }
      guard case .invalidSchema? = error else {
        Issue.record("\(tables): \(String(describing: error))")
        continue
      }
    }
  }

  @Test("Of many that open a file at the same time, one migrates it")
  func concurrent() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let lock = Lock()
    nonisolated(unsafe) var migrations = 0  // guarded by `lock`
    nonisolated(unsafe) var problems: [String] = []  // guarded by `lock`
    var options = Self.options(Self.second)
    options.migration = { transaction, old in
      lock.withLock { migrations += 1 }
      try Self.migrate(transaction, old)
    }
    let threads = try (0..<6).map { _ in
      try Thread(name: "opener") { [options] in
        do {
          let database = try Database.open(path, options: options)
          let count = try database.snapshot().table("person").count
          if count != 40 { lock.withLock { problems.append("\(count) objects") } }
          try database.close()
        } catch {
          lock.withLock { problems.append("\(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    lock.withLock {
      #expect(migrations == 1)
      #expect(problems == [])
    }
  }

  @Test("A power cut in a migration leaves the old tables or the new ones")
  func powerCut() throws {
    let storage = RecordingStorage()
    var database = try Database.open(storage: storage, options: Self.options(Self.first))
    try database.write(Self.fill)
    let old = try Model.digest(database.snapshot())
    try database.close()
    let start = storage.log.count
    database = try Database.open(storage: storage, options: Self.options(Self.second))
    let new = try Model.digest(database.snapshot())
    try database.close()
    var cut = PowerCut(storage.log, seed: 11)
    var found: [UInt64: Int] = [:]
    try cut.forEachState(from: start, each: 6, exhaustive: 4) { state in
      let survivor = RecordingStorage(state.image, isRecording: false)
      let database = try Database.open(storage: survivor, options: .tiny)
      let snapshot = try database.snapshot()
      let (digest, version) = (try Model.digest(snapshot), snapshot.schemaVersion)
      found[version, default: 0] += 1
      #expect(version == 1 || version == 2, "\(state.description)")
      #expect(digest == (version == 1 ? old : new), "\(state.description)")
      #expect(try database.check().problems == [])
      try database.close()
      // Whatever survived, opening the file again makes the new tables.
      let again = try Database.open(storage: survivor, options: Self.options(Self.second))
      #expect(try Model.digest(again.snapshot()) == new)
    }
    #expect(found.count == 2)
  }
}
