import TestSupport
import Testing

@testable import Engine

/// The records of rows that are read in random order, compared with the slow, obvious way.
@Suite("Records of rows")
struct RowRecordsTests {
  private static let columns: [Column] = [
    Column("tiny", .int), Column("small", .int), Column("medium", .int), Column("large", .int),
    Column("extreme", .int), Column("double", .double), Column("bool", .bool),
    Column("date", .date), Column("moment", .dateTime), Column("word", .text),
    Column("unique", .text), Column("long", .text), Column("data", .data), Column("none", .int),
    Column("constant", .text),
  ]

  /// Values at the limits of each form of a slot, some of them null.
  private static func values(_ row: Int, _ random: inout SplitMix64) -> [String: Value] {
    func int(_ bits: Int) -> Value {
      let limit = Int64(1) << (bits - 1)
      return .int(
        [-limit, -limit + 1, -1, 0, limit - 1].randomElement(using: &random) ?? 0)
    }
    let doubles: [Double] = [.nan, .infinity, -.infinity, -0.0, 0.1, 1e300, 4.5]
    var values: [String: Value] = [
      "tiny": .int(Int64.random(in: -127...127, using: &random)), "small": int(8),
      "medium": int(16), "large": int(32),
      "extreme": .int([.min, .max, 0].randomElement(using: &random) ?? 0),
      "double": .double(doubles.randomElement(using: &random) ?? 0),
      "bool": .bool(Bool.random(using: &random)),
      "date": CalendarDate(daysSince1970: row * 7).map { .date($0) } ?? .null,
      "moment": DateTime(microsecondsSince1970: Int64(row) * 86_399_999_999).map { .dateTime($0) }
        ?? .null,
      "word": .text(["", "a", "ä", "a word of more than 15 bytes"][row % 4]),
      "unique": .text("unique ünique \(row)"), "constant": .text("always the same"),
      "data": .data(Array(repeating: 0xFF, count: row % 5)),
      "long": .text(String(repeating: "long ", count: row % 1500 == 7 ? 900 : row % 3)),
    ]
    for name in values.keys.sorted() where name != "constant" {
      if Int.random(in: 0..<9, using: &random) == 0 { values[name] = .null }
    }
    return values
  }

  @Test("Every form of a value, in several segments, imported, changed and compacted")
  func forms() throws {
    var random = SplitMix64(seed: 41)
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns)
      let table = try transaction.table("t")
      for row in 0..<3000 { try table.insert(Self.values(row, &random)) }
    }
    _ = try database.compact()
    try compare(try database.snapshot().table("t"), &random, "compacted")
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in stride(from: 5 as Int64, to: 3000, by: 211) {
        try table.update(key, Self.values(Int(key), &random))
        try table.delete(key + 1)
      }
    }
    try compare(try database.snapshot().table("t"), &random, "changed")
    try database.close()
  }

  private func compare(_ table: Table, _ random: inout SplitMix64, _ what: String) throws {
    let expected = try ReadingTests.slowRows(table)
    let cache = LeafCache()
    var made = 0
    for round in 0..<2 {
      for index in expected.indices.shuffled(using: &random) {
        let (key, values) = expected[index]
        let entry = try #require(try table.tree.leaf(ofKey: key))
        let reader = try table.leaf(entry, cache)
        let row = try #require(reader.row(ofKey: key))
        let found = try reader.values(row)
        #expect(found == values, "\(what), round \(round), key \(key)")
        for column in [0, values.count - 1, Int.random(in: values.indices, using: &random)] {
          let value = try reader.value(row, column)
          #expect(value == values[column], "\(what), key \(key), column \(column)")
        }
        if reader.records.contains(where: { $0 != nil }) { made += 1 }
      }
    }
    // All rows of the second round, except changed ones.
    #expect(made > expected.count - 100, "\(what): records were made for too few rows")
  }
}
