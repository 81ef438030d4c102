import Testing
import TestSupport

@testable import Engine

@Suite("Queries inside a transaction")
struct TransactionQueryTests {
  @Test("They see its changes, like their slow twin", arguments: 1...6)
  func changes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 300)
    let made = try RandomTable(&random)
    try made.database.write { transaction in
      let table = try transaction.table("t")
      for step in 0..<8 {
        try change(table, &random)
        // Row by row, as positions are looked up.
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
}
