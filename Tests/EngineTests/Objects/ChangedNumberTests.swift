import TestSupport
import Testing

@testable import Engine

/// Numbers of columns with changed rows: stored ones are decoded as such, changed ones are read by
/// their spellings.
@Suite("Numbers in changed rows") struct ChangedNumberTests {
  private static let columns = [
    Column("int", .int), Column("double", .double), Column("day", .date),
    Column("moment", .dateTime), Column("few", .int),
  ]

  private static func values(_ random: inout SplitMix64) -> [Value] {
    func number(_ end: Int64) -> Int64 { .random(in: -end..<end, using: &random) }
    let all: [Value] = [
      .int(number(1 << 40)), .double(Double(number(100_000)) / 8),
      .date(CalendarDate(clamping: number(20_000))), .dateTime(DateTime(clamping: number(1 << 50))),
      .int(number(3)),
    ]
    return all.map { Int.random(in: 0..<6, using: &random) == 0 ? .null : $0 }
  }

  @Test(
    "Changed to others and to nulls, and deleted", arguments: Effort.seeds(1..<7))
  func changed(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    // Nulls in the stored rows, or none.
    let hasNulls = seed % 2 == 0
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns)
      for _ in 0..<2500 {
        var row = Self.values(&random)
        while !hasNulls, row.contains(.null) { row = Self.values(&random) }
        try transaction.table("t").insert(row)
      }
    }
    for _ in 0..<3 {
      try database.write { transaction in
        let table = try transaction.table("t")
        for _ in 0..<40 {
          let key = Int64.random(in: 1...2500, using: &random)
          guard try table.row(forKey: key) != nil else { continue }
          if Int.random(in: 0..<4, using: &random) == 0 {
            #expect(try table.delete(key))
          } else {
            try table.update(
              key,
              Dictionary(uniqueKeysWithValues: zip(Self.columns.map(\.name), Self.values(&random))))
          }
        }
      }
      #expect(try database.tableUse("t").overlayBytes > 0)
      let table = try database.snapshot().table("t")
      let expected = try ReadingTests.slowRows(table)
      var place = 0
      try table.forEachRow { row in
        #expect(
          row.key == expected[place].key && row.values == expected[place].values,
          "seed \(seed), row \(place)")
        place += 1
      }
      #expect(place == expected.count)
    }
    try database.close()
  }

  /// A value that did not fit was changed before the column got its type.
  @Test("Stored values of changed rows need not be of the type", arguments: [40, 400])
  func misfits(different: Int) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .text)])
      for row in 0..<1000 {
        try transaction.table("t").insert([.text(row == 500 ? "none" : "\(row % different)")])
      }
    }
    try database.write { try $0.table("t").update(501, ["a": .text("77")]) }
    try database.write { try $0.table("t").setType("a", to: .int) }
    #expect(try database.tableUse("t").overlayBytes > 0)
    var values: [Value] = []
    try database.snapshot().table("t").forEachRow { values.append($0.values[0]) }
    #expect(values == (0..<1000).map { .int($0 == 500 ? 77 : Int64($0 % different)) })
    let count = try Query(column("a") == 77).count(in: database.snapshot().table("t"))
    #expect(count == (different > 77 ? 4 : 1))
    try database.close()
  }
}
