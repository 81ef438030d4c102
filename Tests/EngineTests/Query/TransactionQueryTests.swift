import Testing
import TestSupport

@testable import Engine

@Suite("Queries inside a transaction")
struct TransactionQueryTests {
  @Test("They see its changes, like their slow twin", arguments: Effort.seeds(1..<7))
  func changes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 300)
    let made = try RandomTable(&random)
    try made.database.write { transaction in
      let table = try transaction.table("t")
      for step in 0..<8 {
        try change(table, &random)
        // Row by row, by position.
        let rows = try (0..<table.count).compactMap { try table.row(at: $0) }
        var generator = PredicateGenerator(random: random, rows: rows)
        for _ in 0..<6 {
          let predicate = generator.predicate()
          let expected = rows.filter { SlowQuery.matches(predicate, $0) == true }
          var query = Query(predicate)
          #expect(try query.rows(in: table) == expected, "seed \(seed), step \(step): \(predicate)")
          #expect(try query.count(in: table) == expected.count)
          query.sort = [.descending("word"), .ascending("int")]
          let sorted = expected.sorted { SlowQuery.compare($0, $1, query.sort) < 0 }
          #expect(try query.keys(in: table).count == sorted.count)
          let found = try query.rows(in: table)
          for (one, other) in zip(found, sorted) {
            #expect(SlowQuery.compare(one, other, query.sort) == 0, "seed \(seed), step \(step)")
          }
          #expect(
            try query.aggregates([.count("int")], in: table)
              == [.int(Int64(expected.filter { $0["int"] != .null }.count))])
        }
        random = generator.random
      }
    }
  }

  private func change(_ table: WritableTable, _ random: inout SplitMix64) throws {
    for _ in 0..<Int.random(in: 0...5, using: &random) {
      let count = try table.count
      let row = count == 0 ? nil : try table.row(at: Int.random(in: 0..<count, using: &random))
      switch (Int.random(in: 0..<8, using: &random), row) {
      case (0...2, let row?):
        try table.update(row.key, ["int": .int(7), "word": .text("changed"), "late": .null])
      case (3...4, let row?): try table.delete(row.key)
      case (5, _) where Int.random(in: 0..<10, using: &random) == 0: try table.deleteAll()
      default: try table.insert(["int": .int(5), "double": .double(0.5), "text": .text("new")])
      }
    }
  }

  @Test("Changing the table while it is read is refused")
  func changeWhileReading() throws {
    var random = SplitMix64(seed: 5)
    let made = try RandomTable(&random)
    try made.database.write { transaction in
      let table = try transaction.table("t")
      #expect(throws: EngineError.self) {
        try Query().forEachRow(in: table) { try table.delete($0.key) }
      }
      for key in try Query().keys(in: table) { try table.delete(key) }
      #expect(try Query().count(in: table) == 0)
    }
  }

  /// What a closure may do to the table that is being read.
  enum Change: CaseIterable {
    case update, insert, delete, deleteAll, addColumn, removeColumn, widen, deleteTable
  }

  /// How the walk goes through the table.
  enum Walk: CaseIterable { case whole, filtered, indexed, sorted, limited, distinct }

  private static func query(_ walk: Walk) -> Query {
    var query = Query()
    switch walk {
    case .whole: break
    case .filtered: query.filter = column("n") >= 0
    case .indexed: query.filter = column("m") == 3
    case .sorted: query.sort = [.descending("n")]
    case .limited: query.limit = 900
    case .distinct: query.isDistinct = true
    }
    return query
  }

  private static func text(_ number: Int) -> Value {
    .text("a rather long and unique text, number \(number * 7919)")
  }

  private static func makeTable(_ transaction: borrowing WriteTransaction) throws -> WritableTable {
    try transaction.createTable(
      "t", columns: [Column("s", .text), Column("n", .int), Column("m", .int), Column("x", .int)],
      indexes: ["m"])
    let table = try transaction.table("t")
    for number in 0..<1000 {
      let n = Int64(number)
      try table.insert([text(number), .int(n), .int(number % 100 == 3 ? 3 : n), .int(n)])
    }
    return table
  }

  @Test(
    "What is being read stays, whatever the body does, and the first change ends it",
    arguments: Walk.allCases)
  func changeInsideBody(walk: Walk) throws {
    for change in Change.allCases {
      for readsAgain in [false, true] {
        let folder = TemporaryFolder()
        let database = try Database.open(folder.path("db"))
        try database.write { transaction in
          let table = try Self.makeTable(transaction)
          var given = 0
          var kept: [Row] = []
          #expect(throws: EngineError.self, "\(walk), \(change)") {
            try Self.query(walk).forEachRow(in: table) { row in
              given += 1
              kept.append(row)
              guard given == 2 else { return }
              switch change {
              case .update: try table.update(500, ["s": .text("another")])
              case .insert: try table.insert(["n": .int(-1)])
              case .delete: try table.delete(500)
              case .deleteAll: try table.deleteAll()
              case .addColumn: try table.addColumn(Column("y", .int, default: .int(1)))
              case .removeColumn: try table.removeColumn("x")
              case .widen: try table.widenColumn("n", to: .text)
              case .deleteTable: try transaction.deleteTable("t")
              }
              if readsAgain, change != .deleteTable {
                _ = try Query(column("s") == "another").count(in: table)
                _ = try Query().rows(in: table)
              }
            }
          }
          #expect(given == 2, "\(walk), \(change): objects were given after the change")
          for row in kept {
            guard case .int(let number)? = row["n"] else {
              Issue.record("\(row)")
              continue
            }
            #expect(row["s"] == Self.text(Int(number)))
          }
        }
      }
    }
  }

  @Test("Queries of a body leave what is being read alone", arguments: Walk.allCases)
  func queriesInsideBody(walk: Walk) throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("db"))
    try database.write { transaction in
      let table = try Self.makeTable(transaction)
      let expected = try Self.query(walk).rows(in: table)
      var given: [Row] = []
      try Self.query(walk).forEachRow(in: table) { row in
        given.append(row)
        if given.count % 100 == 1 {
          #expect(try Query(column("n") >= 500).count(in: table) == 500)
          try table.forEachRow { _ in }
        }
      }
      #expect(given == expected && !given.isEmpty)
    }
  }

  @Test("A body that ends the transaction is given nothing more")
  func endInsideBody() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("db"))
    try database.write { _ = try Self.makeTable($0) }
    let session = try database.session()
    for commits in [false, true] {
      var given = 0
      try session.write { transaction in
        let table = try transaction.table("t")
        #expect(throws: EngineError.transactionEnded) {
          try Query().forEachRow(in: table) { _ in
            given += 1
            if commits { try session.commitWrite() } else { try session.cancelWrite() }
          }
        }
      }
      #expect(given == 1)
    }
  }
}
