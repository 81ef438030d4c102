import Testing
import TestSupport

@testable import Engine

/// Primary keys of several columns.
@Suite struct CompoundKeyTests {
  private static let columns = [Column("store", .text), Column("n", .int), Column("sku", .text)]

  private static func database() throws -> Database {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .init(access: .create))
    try database.write {
      try $0.createTable("stock", columns: columns, keys: ["store", "sku"])
    }
    return database
  }

  @Test func `Parts are not run together`() throws {
    let database = try Self.database()
    try database.write { transaction in
      let table = try transaction.table("stock")
      try table.insert([.text("a"), .int(1), .text("bc")])
      try table.insert([.text("ab"), .int(2), .text("c")])
      try table.insert([.text(""), .int(3), .text("abc")])
      try table.insert([.text("abc"), .int(4), .text("")])
      #expect(throws: EngineError.self) {
        try table.insert([.text("ab"), .int(5), .text("c")])
      }
      #expect(try table.row(forPrimaryKey: [.text("ab"), .text("c")])?["n"] == .int(2))
      #expect(try table.row(forPrimaryKey: [.text("abc"), .text("")])?["n"] == .int(4))
      #expect(try table.row(forPrimaryKey: [.text("c"), .text("ab")]) == nil)
    }
    #expect(try database.check(deep: true).isSound)
  }

  @Test func `No part is null`() throws {
    let database = try Self.database()
    try database.write { transaction in
      let table = try transaction.table("stock")
      #expect(throws: EngineError.self) { try table.insert([.null, .int(1), .text("x")]) }
      #expect(throws: EngineError.self) { try table.insert([.text("x"), .int(1), .null]) }
      #expect(try table.count == 0)
    }
  }

  @Test func `A filter that fixes every part uses the index, one that fixes some does not`() throws
  {
    let database = try Self.database()
    try database.write { transaction in
      let table = try transaction.table("stock")
      for number in 0..<2000 {
        try table.insert([
          .text("s\(number % 10)"), .int(Int64(number)), .text("k\(number / 10)"),
        ])
      }
    }
    let table = try database.snapshot().table("stock")
    let whole = Query(try Predicate("n >= 0 and sku == 'k7' and store == 's3'"))
    #expect(try whole.explain(in: table).hasPrefix("indexes on 'store', 'sku'"))
    #expect(try whole.count(in: table) == 1)
    let part = Query(try Predicate("store == 's3'"))
    #expect(try part.explain(in: table).hasPrefix("scan"))
    #expect(try part.count(in: table) == 200)
  }
}
