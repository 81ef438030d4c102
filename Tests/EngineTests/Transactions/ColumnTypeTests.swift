import TestSupport
import Testing

@testable import Engine

/// Deletions by a filter, and types that are given when the table has values.
@Suite struct ColumnTypeTests {
  private func filled(_ texts: [String?]) throws -> Database {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .int), Column("s", .text)], key: "id")
      for (index, text) in texts.enumerated() {
        try transaction.table("t").insert([.int(Int64(index)), text.map { .text($0) } ?? .null])
      }
    }
    return database
  }

  @Test("deleteAll(where:) deletes all matches, or none beyond the limit")
  func deletions() throws {
    let database = try filled((0..<500).map { $0 % 5 == 0 ? nil : "row \($0)" })
    func count() throws -> Int { try database.snapshot().table("t").count }
    try database.write { transaction in
      let table = try transaction.table("t")
      #expect(try table.deleteAll(where: Predicate("id < 50"), most: 49) == 50)
      #expect(try table.count == 500)
      #expect(try table.deleteAll(where: Predicate("id < 50"), most: 50) == 50)
      // Objects deleted in the transaction do not count, added ones do.
      #expect(try table.deleteAll(where: Predicate("id < 51")) == 1)
      try table.insert([.int(7), .text("again")])
      #expect(try table.deleteAll(where: Predicate("id < 51")) == 1)
    }
    #expect(try count() == 449)
    #expect(throws: EngineError.cancelled) {
      try database.write {
        try $0.table("t").deleteAll(where: Predicate("s is null")) { true }
      }
    }
    #expect(throws: QueryError.self) {
      try database.write { try $0.table("t").deleteAll(where: Predicate("none == 1")) }
    }
    #expect(try count() == 449)
    #expect(try database.write { try $0.table("t").deleteAll(where: Predicate("id >= 0")) } == 449)
    #expect(try count() == 0 && database.check(deep: true).isSound)
  }

  /// Texts read as every type: the change succeeds exactly if each value is one, and the values stay
  /// the same.
  @Test(arguments: Effort.seeds(1..<20))
  func types(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let spellings = ["5", "-17", "1.50", "true", "2026-01-02", "10:11", "x", "", "1e5", " 5"]
    let kinds = (0..<Int.random(in: 1...2, using: &random)).map { _ in
      spellings.randomElement(using: &random) ?? "5"
    }
    let texts = (0..<90).map { _ in
      Bool.random(using: &random) ? nil : kinds.randomElement(using: &random)
    }
    let types: [ColumnType] = [
      .int, .double, .decimal, .bool, .date, .dateTime, .time, .uuid, .text, .data,
    ]
    for type in types {
      let database = try filled(texts)
      let misfits = texts.enumerated().filter { _, text in
        guard let text else { return false }
        return Array(text.utf8).withUnsafeBytes { Value(spelling: $0, as: Reading(type)) } == nil
      }
      try database.write { transaction in
        let table = try transaction.table("t")
        let found = try table.misfits("s", as: type, most: 3)
        #expect(found.count == misfits.count && found.first.count == min(3, misfits.count))
        #expect(found.first.map(\.row) == misfits.prefix(3).map(\.offset), "seed \(seed), \(type)")
        #expect(found.first.map(\.value) == misfits.prefix(3).map { $0.element ?? "" })
        if misfits.isEmpty {
          try table.setType("s", to: type)
        } else {
          #expect(throws: EngineError.self) { try table.setType("s", to: type) }
        }
      }
      let table = try database.snapshot().table("t")
      #expect(table.columns[1].type == (misfits.isEmpty ? type : .text))
      var spelled: [String?] = []
      try ObjectSweep(table, columns: [1]).run(Array(1...90)) { _, fields in
        spelled.append(fields?.field(0).map { String(decoding: $0, as: UTF8.self) })
        return true
      }
      #expect(spelled == texts, "seed \(seed), \(type)")
      #expect(try database.check(deep: true).isSound)
    }
  }

  @Test("A new type needs a fitting default, and indexes follow it")
  func defaultsAndIndexes() throws {
    let database = try filled(["1", "2", nil, "1"])
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.addIndex("s")
      try table.setDefault("s", .text("x"))
      #expect(throws: EngineError.self) { try table.setType("s", to: .int) }
      try table.setDefault("s", .text("9"))
      try table.setType("s", to: .int)
      try table.setType("s", to: .int)
      #expect(throws: EngineError.self) { try table.setType("none", to: .int) }
      try table.insert(["id": .int(9)])
    }
    let table = try database.snapshot().table("t")
    var query = Query()
    query.filter = try Predicate("s >= 2")
    #expect(try query.count(in: table) == 2)
    #expect(try table.row(forPrimaryKey: .int(9))?["s"] == .int(9))
    #expect(try database.check(deep: true).isSound)
  }
}
