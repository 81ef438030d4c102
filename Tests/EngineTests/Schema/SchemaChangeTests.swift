import TestSupport
import Testing

@testable import Engine

/// Changes to columns and tables: what they keep, what they free, and what is refused with which
/// reason.
@Suite("Changes to tables and columns")
struct SchemaChangeTests {
  private static let columns = [
    Column("id", .int), Column("name", .text), Column("stars", .int),
    Column("raw", .data), Column("day", .date),
  ]

  /// A table of as many rows in a database.
  private func make(
    _ count: Int, at path: String, options: Database.Options = .tiny
  ) throws -> Database {
    let database = try Database.open(path, options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      let table = try transaction.table("a")
      for row in 0..<count { try table.insert(Self.row(row)) }
    }
    return database
  }

  private static func row(_ row: Int) -> [Value] {
    [
      .int(Int64(row)), .text("name \(row)"), row % 7 == 3 ? .null : .int(Int64(row % 5)),
      .data([UInt8](repeating: 200, count: 40)),
      CalendarDate(daysSince1970: row).map { .date($0) } ?? .null,
    ]
  }

  private func message(_ body: () throws -> Void) -> String {
    do {
      try body()
      return "nothing was thrown"
    } catch {
      return "\(error)"
    }
  }

  @Test("What is refused says why, and changes nothing")
  func refusals() throws {
    let folder = TemporaryFolder()
    let database = try make(20, at: folder.path("a.sheaf"))
    try database.write { transaction in
      try transaction.createTable("b", columns: [Column("x", .int)])
      let (a, b) = (try transaction.table("a"), try transaction.table("b"))
      let before = a.definition
      let found: [(String, String)] = [
        (message { try b.removeColumn("x") }, "a table has at least one"),
        (message { try a.removeColumn("id") }, "give the key up first"),
        (message { try a.removeColumn("nome") }, "has no column 'nome'"),
        (message { try a.setNullable("id", true) }, "never null"),
        (message { try a.setNullable("stars", false) }, "null in object 4"),
        (message { try a.setKey("name2") }, "has no column 'name2'"),
        (message { try a.setKey("stars") }, "cannot be the key"),
        (message { try a.renameColumn("id", to: "name") }, "there already"),
        (message { try a.renameColumn("id", to: "") }, "empty"),
        (message { try a.widenColumn("name", to: .int) }, "cannot be widened to int"),
        (message { try a.widenColumn("day", to: .dateTime) }, "add another column and fill it"),
        (message { try a.widenColumn("raw", to: .text) }, "not UTF-8 in object 1"),
        (message { try a.setDefault("stars", .text("x")) }, "the default of column 'stars', 'x'"),
        (message { try a.addColumn(Column("", .int)) }, "empty"),
        (message { try a.addColumn(Column("day", .int)) }, "there already"),
        (message { try a.addColumn(Column("n", .int, nullable: false)) }, "give it a default"),
        (message { try a.addColumn(Column("n", .int, default: .bool(true))) }, "is not an int"),
        (
          message { try a.setDefault("name", .text(String(repeating: "x", count: 70_000))) },
          "longer than 65536"
        ),
        (message { try transaction.renameTable("a", to: "b") }, "a table 'b' already"),
        (message { try transaction.renameTable("a", to: "") }, "needs a name"),
        (message { try transaction.renameTable("c", to: "d") }, "no table 'c'"),
        (message { try transaction.deleteTable("c") }, "no table 'c'"),
      ]
      for (text, part) in found { #expect(text.contains(part), "\(text)") }
      #expect(a.definition == before)
      #expect(transaction.tableNames == ["a", "b"])
    }
    let table = try database.snapshot().table("a")
    for row in 0..<20 { #expect(try table.row(at: row)?.values == Self.row(row)) }
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Integers that a double does not hold are not widened to doubles")
  func exactDoubles() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("x", .int, default: .int(1 << 53))])
      let table = try transaction.table("a")
      for row in 0..<30 { try table.insert([.int(row == 17 ? (1 << 53) + 1 : Int64(row))]) }
      #expect(
        message { try table.widenColumn("x", to: .double) }.contains(
          "is 9007199254740993 in object 18"))
      try table.update(18, ["x": .int(-(1 << 53))])
      try table.setDefault("x", .int((1 << 53) + 2))
      #expect(message { try table.widenColumn("x", to: .double) }.contains("by default"))
      try table.setDefault("x", .int(7))
      try table.widenColumn("x", to: .double)
      #expect(table.columns[0].default == .double(7))
      #expect(try table.row(forKey: 18)?["x"] == .double(-9_007_199_254_740_992))
    }
    let table = try database.snapshot().table("a")
    #expect(try Query(column("x") >= 25.0).count(in: table) == 5)
  }

  @Test("The bytes of a removed column come free with a compaction")
  func removedBytes() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try make(400, at: path, options: .init())
    try database.write { transaction in
      let table = try transaction.table("a")
      // Texts that do not compress.
      var random = RandomChanges(seed: 3)
      for key in 1...400 as ClosedRange<Int64> {
        let noise = (0..<40).map { _ in UInt8.random(in: 0...255, using: &random.random) }
        try table.update(key, ["raw": .data(noise)])
      }
    }
    #expect(try database.compact().decision == .compacted)
    let before = try database.fileUse().used
    try database.write { try $0.table("a").removeColumn("raw") }
    #expect(try database.check().problems == [])
    #expect(try SchemaModelTests.unknownColumn(database) != nil)
    #expect(try database.compact().decision == .compacted)
    #expect(try SchemaModelTests.unknownColumn(database) == nil)
    #expect(try before - database.fileUse().used > 400 * 40)
    #expect(
      try database.tableUse("a").columns.map(\.column.name) == ["id", "name", "stars", "day"])
    try database.close()
  }

  @Test("A deleted table gives all its pages back, also one of the same transaction")
  func deletedTable() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"), options: .tiny)
    let empty = try database.fileUse().used
    for isSame in [false, true] {
      var table: WritableTable?
      let fill = { (transaction: borrowing WriteTransaction) in
        try transaction.createTable("a", columns: Self.columns, key: "id")
        let table = try transaction.table("a")
        for row in 0..<500 { try table.insert(Self.row(row)) }
        for key in 1...100 as ClosedRange<Int64> { try table.update(key * 3, ["stars": .int(9)]) }
      }
      if !isSame { try database.write(fill) }
      try database.write { transaction in
        if isSame { try fill(transaction) }
        let given = try transaction.table("a")
        table = given
        try given.insert(Self.row(1000))
        try transaction.deleteTable("a")
        #expect(throws: EngineError.noSuchTable(name: "a", known: [])) { try given.count }
        #expect(throws: EngineError.self) { try transaction.table("a") }
        // Another table may take the name.
        try transaction.createTable("a", columns: [Column("other", .bool)])
        #expect(try transaction.table("a").count == 0)
        try transaction.deleteTable("a")
      }
      #expect(throws: EngineError.transactionEnded) { try table?.count }
      #expect(try database.snapshot().tableNames == [])
      #expect(try database.fileUse().used <= empty)
      #expect(try database.check().problems == [])
    }
    try database.close()
  }

  @Test("deleteAll leaves tables and nothing in them; isEmpty says so")
  func deleteAll() throws {
    let folder = TemporaryFolder()
    let database = try make(300, at: folder.path("a.sheaf"))
    try database.write { try $0.createTable("b", columns: [Column("x", .int)]) }
    #expect(try !database.isEmpty)
    let old = try database.snapshot()
    try database.write { try $0.deleteAll() }
    #expect(try database.isEmpty)
    #expect(try !old.isEmpty && old.table("a").count == 300)
    #expect(try database.snapshot().tableNames == ["a", "b"])
    // Keys of objects are not given twice; primary keys are free again.
    #expect(try database.write { try $0.table("a").insert(Self.row(5)) } == 301)
    try database.close()
  }

  @Test("Rolling back restores columns, names and values; snapshots keep theirs")
  func rollBack() throws {
    let folder = TemporaryFolder()
    let database = try make(60, at: folder.path("a.sheaf"))
    let before = try Model.digest(database.snapshot())
    let old = try database.snapshot()
    let transaction = try database.beginWrite()
    try change(transaction)
    transaction.rollBack()
    #expect(try Model.digest(database.snapshot()) == before)
    try database.write { try change($0) }
    #expect(try Model.digest(old) == before)
    #expect(try old.table("a").row(forPrimaryKey: .int(7))?.key == 8)
    let table = try database.snapshot().table("c")
    #expect(table.columns.map(\.name) == ["number", "stars", "raw", "day", "more"])
    #expect(try table.row(at: 9)?["more"] == .text("m"))
    #expect(table.keyColumn == nil)
    #expect(try database.check().problems == [])
    try database.close()
  }

  private func change(_ transaction: borrowing WriteTransaction) throws {
    let table = try transaction.table("a")
    try table.removeColumn("name")
    try table.renameColumn("id", to: "number")
    try table.addColumn(Column("more", .text, nullable: false, default: .text("m")))
    try table.removeKey()
    try table.widenColumn("day", to: .text)
    try transaction.renameTable("a", to: "c")
    try table.delete(3)
    try table.update(4, ["number": .int(-1), "day": .text("some day")])
  }

  /// If a column's number were used again, the old values would come back.
  @Test("A column that is added after one was removed has nothing of it")
  func numbers() throws {
    let folder = TemporaryFolder()
    let database = try make(60, at: folder.path("a.sheaf"))
    try database.write { transaction in
      let table = try transaction.table("a")
      try table.removeColumn("day")
      try table.addColumn(Column("day", .date))
    }
    let table = try database.snapshot().table("a")
    #expect(try Query(column("day").isNull).count(in: table) == 60)
    try database.close()
  }

  @Test("Each object comes once, also when leaves are written meanwhile", arguments: [0, 1, 3, 64])
  func visits(openClusters: Int) throws {
    var options = Database.Options.tiny
    options.limits.openClusters = openClusters
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      let table = try transaction.table("a")
      for row in 0..<400 { try table.insert(Self.row(row)) }
    }
    for step in [2, 3, 7, 20, 90] as [Int64] {
      let transaction = try database.beginWrite()
      let table = try transaction.table("a")
      var (keys, due) = ([] as [Int64], Set(1...400 as ClosedRange<Int64>))
      try table.forEachRow { row in
        keys.append(row.key)
        // The walk ends even if it begins anew.
        if keys.count > 400 { throw EngineError.invalidArgument("it does not end: \(row.key)") }
        guard row.key % step == 1 else { return }
        // Sometimes it deletes all of the next leaves, and its own.
        for key in row.key...row.key + step - 2 where try table.delete(key) && key > row.key {
          due.remove(key)
        }
        try table.insert(Self.row(1000 + Int(row.key)))
      }
      #expect(keys == due.sorted(), "step \(step)")
      transaction.rollBack()
    }
  }

  @Test("A failing disk while a default is written leaves the table as it was", arguments: 0..<6)
  func failure(operation: Int) throws {
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    var options = Database.Options.tiny
    options.limits.clusterRows = 1000
    let database = try Database.open(storage: storage, options: options)
    let noise = (0..<400_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 5) }
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      try transaction.createTable("b", columns: [Column("x", .int)])
      let table = try transaction.table("a")
      for row in 0..<12 {
        var values = Self.row(row)
        values[3] = .data(noise)
        let rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
        var one = rows
        try one.append(key: 0, values: values)
        try table.editor.append(try one.encode(with: ClusterBuilder()))
      }
    }
    let before = try Model.digest(database.snapshot())
    var hasFailed = false
    do {
      try database.write { transaction in
        storage.fail(after: operation, code: 5)
        let (table, other) = (try transaction.table("a"), try transaction.table("b"))
        do {
          try table.addColumn(Column("more", .int, default: .int(1)))
          hasFailed = storage.failure != nil
          if hasFailed { Issue.record("operation \(operation): it was added") }
          try table.removeColumn("more")
          storage.fail(after: 1 << 30, code: 5)
        } catch {
          hasFailed = storage.failure != nil
          storage.fail(after: 1 << 30, code: 5)
          // Only rolling back is possible.
          for said in [
            message { _ = try other.insert([.int(1)]) }, message { _ = try other.count },
            message { try table.renameColumn("id", to: "more") },
          ] { #expect(said.contains("roll it back"), "\(said)") }
          throw error
        }
      }
    } catch EngineError.system {
      #expect(hasFailed)
    }
    #expect(try database.check().problems == [])
    #expect(try Model.digest(database.snapshot()) == before)
    #expect(try SchemaModelTests.spaceDifference(database, database.snapshot()) == nil)
    try database.write { try $0.table("a").addColumn(Column("more", .int, default: .int(1))) }
    let table = try database.snapshot().table("a")
    #expect(try Query(column("more") == 1).count(in: table) == 12)
    #expect(try database.check().problems == [])
  }

  @Test("What cannot be read is not freed: a damaged node keeps a table from being deleted")
  func damagedNode() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      try transaction.createTable("b", columns: [Column("x", .int)])
      let table = try transaction.table("a")
      for row in 0..<200 { try table.insert(Self.row(row)) }
    }
    var nodes: [BlockReference] = []
    // Read by another reader: the database's reader remembers the node from before the damage.
    let record = try database.snapshot().record
    let blocks = try BlockReader(storage: storage)
    let table = try #require(VersionRoots(record, blocks).catalogue.tables.first)
    try TreeReader(blocks: blocks, root: table.root, end: record.end).walk { entry, level in
      if level == 1 { nodes.append(entry.reference) }
    }
    let place = Int(try #require(nodes.dropFirst(nodes.count / 2).first).offset) + 9
    try [storage.content[place] ^ 0xFF].withUnsafeBytes { try storage.write($0, at: place) }
    let before = try database.check().problems
    #expect(!before.isEmpty)
    for round in 0..<4 {
      try database.write { transaction in
        for row in 0..<30 { try transaction.table("b").insert([.int(Int64(row))]) }
      }
      // A page that was used again would be one more problem.
      #expect(try database.check().problems == before, "round \(round)")
    }
    // After a failure the writer looks for free pages again, which it cannot without that node.
    let column = Column("more", .int, default: .int(1))
    for said in [
      message { try database.write { try $0.deleteTable("a") } },
      message { try database.write { try $0.table("a").deleteAll() } },
      message { try database.write { try $0.table("a").addColumn(column) } },
      message { try database.write { _ = try $0.table("b").insert([.int(1)]) } },
    ] { #expect(said.contains("damaged"), "\(said)") }
    #expect(try database.check().problems == before)
  }
}
