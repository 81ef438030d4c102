import Foundation
import TestSupport
import Testing

@testable import Engine

/// Times of day, by themselves, in notations, queries, sorts and indexes.
@Suite struct TimeOfDayTests {
  /// The plainest possible reader.
  private func slow(_ text: String) -> Int64? {
    let pattern = "^([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])(\\.([0-9]{1,6}))?)?$"
    let whole = text.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    guard whole.range(of: pattern, options: .regularExpression) != nil else { return nil }
    let parts = whole.split(separator: ":")
    let seconds = parts.count == 3 ? Decimal(string: String(parts[2])) ?? 0 : 0
    let minutes = (Int64(parts[0]) ?? 0) * 60 + (Int64(parts[1]) ?? 0)
    return minutes * 60_000_000 + NSDecimalNumber(decimal: seconds * 1_000_000).int64Value
  }

  @Test("Times are parsed as a slow reader does", arguments: 0..<3 as Range<UInt64>)
  func spellings(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    let alphabet = Array("0123456789012345::::. ")
    for round in 0..<4000 {
      var text = String(format: "%02d:%02d", Int(random.next() % 25), Int(random.next() % 61))
      if round % 2 == 0 { text += String(format: ":%02d", Int(random.next() % 61)) }
      if round % 4 == 0 { text += ".\(random.next() % 10_000_000)" }
      if round % 3 == 0 {
        var letters = Array(text)
        letters[Int(random.next() % UInt64(letters.count))] =
          alphabet[Int(random.next() % UInt64(alphabet.count))]
        text = String(letters)
      }
      let value = Value(spelling: text, type: .time)
      #expect(
        value == slow(text).map { .time(TimeOfDay(clamping: $0)) }, "seed \(seed): '\(text)'")
      if let value { #expect(Value(spelling: value.spelling, type: .time) == value) }
    }
    #expect(TimeOfDay(microseconds: 86_400_000_000) == nil && TimeOfDay(microseconds: -1) == nil)
    #expect(TimeOfDay(microseconds: 86_399_000_001)?.description == "23:59:59.000001")
  }

  @Test("Times are read in notations")
  func notations() throws {
    func read(_ text: String, _ patterns: String...) throws -> String? {
      let notation = try Notation(.time, patterns)
      let value = Array(text.utf8).withUnsafeBytes {
        Value(spelling: $0, as: Reading(.time, notation))
      }
      return value.map { String(decoding: $0.spelling, as: UTF8.self) }
    }
    #expect(try read("3:45 PM", "%I:%M %p") == "15:45:00")
    #expect(try read("12:00 am", "%I:%M %p") == "00:00:00")
    #expect(try read("13:00 PM", "%I:%M %p") == nil)
    #expect(try read("7h05", "%Hh%M") == "07:05:00")
    #expect(try read(" 07:05:01.5", "%I:%M %p") == "07:05:01.500000")
    #expect(try read("24:00", "%H:%M") == nil)
    for pattern in ["%H", "%H:%M %z", "%Y-%m-%d %H:%M", "%M:%H", "%A %H:%M", "%H:%M:%S:%H"] {
      #expect(throws: EngineError.self, "\(pattern)") { try Notation(.time, [pattern]) }
    }
    #expect(throws: EngineError.self) { try Notation(.date, ["%H:%M"]) }
  }

  @Test("Times are stored, sorted and queried")
  func inATable() throws {
    let path = TemporaryFolder()
    let database = try Database.open(path.path("t.sheaf"))
    var random = SplitMix64(seed: 5)
    let times = (0..<500).map { _ in
      Int64(random.next() % 86_400) * 1_000_000 + Int64(random.next() % 2)
    }
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("at", .time), Column("n", .int)])
      let table = try transaction.table("t")
      for (index, time) in times.enumerated() {
        let value = TimeOfDay(microseconds: time).map { Value.time($0) } ?? .null
        try table.insert([index % 50 == 7 ? .null : value, .int(Int64(index))])
      }
    }
    try database.write { try $0.table("t").addIndex("at") }
    let table = try database.snapshot().table("t")
    let there = times.enumerated().filter { $0.offset % 50 != 7 }
    let noon: Int64 = 12 * 3_600_000_000
    #expect(
      try Query(Predicate("at < '12:00'")).count(in: table) == there.count { $0.element < noon })
    let one = there[3].element
    let spelled = try #require(TimeOfDay(microseconds: one)).description
    for use in [IndexPolicy.never, .always] {
      var found: [Int64] = []
      try ResultReader(Query(try Predicate("at == '\(spelled)'")), table, indexUse: use)
        .forEachWindow(withKeys: true) { found += $0.keys }
      #expect(found.count == there.count { $0.element == one })
    }
    var sorted = Query()
    sorted.sort = [.ascending("at")]
    sorted.columns = ["at"]
    let rows = try sorted.rows(in: table).compactMap { row -> Int64? in
      if case .time(let time) = row.values[0] { time.microseconds } else { nil }
    }
    #expect(rows == there.map(\.element).sorted())
    for text in ["at == 5", "at == '25:00'", "at contains '1'"] {
      #expect(throws: QueryError.self) {
        _ = try Query(try Predicate(text)).count(in: table)
      }
    }
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }
}
