import Engine
import TestSupport

@testable import Engine

typealias Spelling = [UInt8]?

/// Encodes columns of spellings, whose identifiers are 1, 2, 3, …
func encode(
  _ columns: [[Spelling]], keyOffsets: [Int64]? = nil, with builder: ClusterBuilder? = nil
) throws -> EncodedCluster {
  try withMatrix(columns) { arena, spans, rowCount in
    try (builder ?? ClusterBuilder()).encode(
      arena: arena, spans: spans, rowCount: rowCount, columnCount: columns.count,
      columnIDs: columns.indices.map { UInt32($0 + 1) }, keyOffsets: keyOffsets)
  }
}

/// The facts about columns of spellings, without making a cluster.
func examine(_ columns: [[Spelling]]) throws -> [SpellingFacts] {
  try withMatrix(columns) { arena, spans, rowCount in
    try ClusterBuilder().examine(
      arena: arena, spans: spans, rowCount: rowCount, columnCount: columns.count)
  }
}

/// Calls `body` with the number of rows and their spellings, row by row.
func withMatrix<Result>(
  _ columns: [[Spelling]],
  _ body: (UnsafeRawBufferPointer, UnsafePointer<TextSpan>, _ rowCount: Int) throws -> Result
) throws -> Result {
  let rowCount = columns.first?.count ?? 0
  var arena: [UInt8] = []
  var spans: [TextSpan] = []
  for row in 0..<rowCount {
    for column in columns {
      if let spelling = column[row] {
        spans.append(TextSpan(offset: UInt32(arena.count), length: UInt32(spelling.count)))
        arena += spelling
      } else {
        spans.append(.null)
      }
    }
  }
  spans.append(.null)
  let guarded = try GuardedBytes(arena)
  defer { withExtendedLifetime(guarded) {} }
  return try spans.withUnsafeBufferPointer { matrix in
    try body(guarded.readOnly, matrix.baseAddress.unsafelyUnwrapped, rowCount)
  }
}

/// Makes columns of spellings near the limits of the encodings.
struct ColumnGenerator {
  var random: SplitMix64

  static let kinds = 42

  /// A column of one kind, sometimes with nulls and some spellings of another kind.
  mutating func column(kind: Int, rows: Int) -> [Spelling] {
    let nullShare = [0, 0, 0, 3, 50].randomElement(using: &random) ?? 0
    let strangeShare = [0, 0, 2, 5, 30].randomElement(using: &random) ?? 0
    let pool = (0..<Int.random(in: 1...40, using: &random)).map { _ in spelling(kind: kind) }
    let isPooled = Bool.random(using: &random)
    let strange = Int.random(in: 0..<Self.kinds, using: &random)
    return (0..<rows).map { row in
      if Int.random(in: 0..<100, using: &random) < nullShare { return nil }
      if Int.random(in: 0..<100, using: &random) < strangeShare { return spelling(kind: strange) }
      if kind == 21 { return Array("\(1_000_000 + row * 3)".utf8) }
      if kind == 24 { return Array("\(row * 1000 + number(-700...700))".utf8) }
      if kind == 25 { return pool[min(row / 17, pool.count - 1)] }
      return isPooled ? pool.randomElement(using: &random) ?? [] : spelling(kind: kind)
    }
  }

  mutating func spelling(kind: Int) -> [UInt8] {
    switch kind {
    case 18:
      return (0..<number(0...12)).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    case 19: return (0..<number(0...400)).map { _ in UInt8.random(in: 97...122, using: &random) }
    default: return Array(text(kind: kind).utf8)
    }
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int {
    Int.random(in: range, using: &random)
  }

  private mutating func text(kind: Int) -> String {
    switch kind {
    case 0: return "\(number(0...9))"
    case 1: return "\(number(-1000...100_000))"
    case 2: return "\(Int64.random(in: .min ... .max, using: &random))"
    case 3: return "\(number(0...50) == 0 ? number(0...1_000_000_000) : number(0...99))"
    case 4: return "\(number(0...4)).\(number(0...9))"
    case 5: return "\(number(-99...99)).\(number(10...99))"
    case 6:
      return ["\(number(0...99))", "\(number(0...9)).5", "0.\(number(100...999))"].pick(&random)
    case 7: return "\(Double.random(in: -1...1, using: &random))"
    case 8: return "\(Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &random)))"
    case 9: return "\(Double(number(1...99)) * 1e20)"
    case 10: return Self.nearNumbers.pick(&random)
    case 11: return date()
    case 12: return date() + "T" + time() + "Z"
    case 13: return date() + " " + time().prefix(5)
    case 14: return date() + "T" + time() + "." + "\(number(100...999))+02:00"
    case 15: return Self.nearDates.pick(&random)
    case 16: return ["true", "false", "True", "FALSE", "TRUE", "False"].pick(&random)
    case 17: return ["FAMILY", "GAME", "TOOLS", "Varies with device", "", "3.4.5"].pick(&random)
    case 22:
      let digits = (0..<number(14...18)).map { _ in "\(number(1...9))" }.joined()
      return "\(number(1...9)).\(digits)"
    case 23: return ["0.0", "0", "-0", "-0.0", "-1", "0.5", "-0.5", "1"].pick(&random)
    case 20: return ["true", "true", "true", "false"].pick(&random)
    case 26: return "\(1 << number(0...40) - number(0...1))"
    case 27:
      let style = DateStyle.allCases[number(0...9)]
      return Self.written(number(-20_000...40_000), style)
    case 28: return Self.written(number(17_000...17_900), .monthDayYear)
    case 29: return "\(Double(number(-9999...9999)) / 100)"
    case 30:
      let words = ["the", "of", "and", "photo", "editor", "Überschrift", "\0", "ÿ", "messenger"]
      return (0..<number(1...20)).map { _ in words.pick(&random) }.joined(separator: " ")
    case 31: return ["0", "0", "0", "0", "0", "0", "$0.99", "$\(number(1...9)).99"].pick(&random)
    case 32:
      return [8, 4, 4, 4, 12].map { digits($0, 16) }.joined(separator: "-")
    case 33: return digits([32, 40][number(0...1)], 16).uppercased()
    case 34: return (0..<6).map { _ in digits(2, 16) }.joined(separator: ":")
    case 35: return "#" + digits(number(19...40), 10)
    case 36: return digits(3, 10) + "-" + digits(2, 10) + "-" + digits(number(3...4), 10) + "."
    case 37: return digits(number(1...50), 2)
    case 38: return (0..<number(0...30)).map { _ in ["A", "C", "G", "T"].pick(&random) }.joined()
    case 39:
      return [time(), String(time().prefix(5)), time() + ".\(number(0...999_999))"].pick(&random)
    case 40: return decimal()
    case 41:
      let hex = [8, 4, 4, 4, 12].map { digits($0, 16) }
      return [
        hex.joined(separator: "-"), hex.joined(separator: "-").uppercased(), hex.joined(),
        "{" + hex.joined(separator: "-") + "}", "urn:uuid:" + hex.joined(separator: "-"),
        "00000000-0000-0000-0000-00000000000\(number(0...3))",
      ].pick(&random)
    default: return "App \(number(0...100_000)) 📱 \(number(0...9))"
    }
  }

  /// A decimal of up to 38 digits; often an earlier one with other last digits or another spelling.
  private mutating func decimal() -> String {
    let sign = ["", "", "-", "+"].pick(&random)
    switch number(0...5) {
    case 0: return sign + "\(number(0...9)).\(number(0...99))"
    case 1: return sign + "0.\(digits(number(1...37), 10))1"
    case 2: return sign + "9" + digits(number(0...36), 10)
    case 3:
      return sign + "\(number(1...99)).\(digits(number(1...35), 10))"
        + ["", "0", "000"].pick(&random)
    case 4: return sign + "\(number(0...99))e\(number(-20...20))"
    default: return sign + "123456789012345678.\(number(0...9))\(["", "0", "5"].pick(&random))"
    }
  }

  private static func written(_ days: Int, _ style: DateStyle) -> String {
    withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
      guard let base = room.baseAddress, let date = CalendarDate(daysSince1970: days) else {
        return ""
      }
      return String(decoding: room[..<style.write(date, to: base)], as: UTF8.self)
    }
  }

  private mutating func digits(_ count: Int, _ radix: Int) -> String {
    (0..<count).map { _ in String(number(0...radix - 1), radix: radix) }.joined()
  }

  private mutating func two(_ range: ClosedRange<Int>) -> String {
    let value = number(range)
    return value < 10 ? "0\(value)" : "\(value)"
  }

  private mutating func date() -> String {
    "\(number(1900...2100))-" + two(1...12) + "-" + two(1...28)
  }

  private mutating func time() -> String { two(0...23) + ":" + two(0...59) + ":" + two(0...59) }

  static let nearNumbers = [
    "4.10", "+5", "1e3", "1E3", "007", "-0", "0", "-0.0", "-0.00", "0.0", "00",
    "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616",
    "9007199254740992", "9007199254740993", "-9007199254740993", "1.", ".5", "-.5", "+.5", ".", "-",
    "+", "", "1..2", "1.2.3", "1e", "1e+", "e5", "1e400", "-1e400", "1e-400", "0e999999999999",
    "NaN",
    "nan", "inf", "-inf", "Infinity", "0x10", "1_000", "1,000", " 1", "1 ", "12345678", "123456789",
    "1234567.8", "0.1234567", "00.5", "007.5", "12345678901234567.8", "123456789012345678.9",
    "0.1234567890123456789", "0.000000000000000001", "0.0000000000000000001", "5e-324", "1e22",
    "1e23", "123456789012345678901234567890", "--5", "5-", "٣", "+0", "+007", "-5", "1e+16",
  ]

  static let nearDates = [
    "2018-08-03", "2018-02-29", "2016-02-29", "1900-02-29", "2000-02-29", "2018-13-01",
    "2018-00-01",
    "2018-01-00", "2018-01-32", "0000-01-01", "9999-12-31", "2018-8-3", "18-08-03", "2018/08/03",
    "2018-08-03T12:34:56Z", "2018-08-03 12:34", "2018-08-03T24:00:00Z", "2018-08-03T12:60:00Z",
    "2018-08-03T12:34:60Z", "2018-08-03T12:34:56.", "2018-08-03T12:34:56.1",
    "2018-08-03T12:34:56.123456",
    "2018-08-03T12:34:56.1234567", "2018-08-03T12:34:56+01:00", "2018-08-03T12:34:56-23:59",
    "2018-08-03T12:34:56+24:00", "2018-08-03T12:34:56+0100", "2018-08-03t12:34:56z",
    "2018-08-03T12",
    "0000-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "2018-08-03T12:34Z",
    "2018-08-03T12:34.5Z",
    "1969-12-31T23:59:59.999999Z", "2018-08-03X12:34:56Z", "2018-08-03T12:34:56ZZ", " 2018-08-03",
    "2018-08-03\t", " 2018-08-03 12:34 ", "12:34", " 12:34:56 ", "24:00", "12:34:56.1234567",
  ]
}

extension Array where Element == String {
  func pick(_ random: inout SplitMix64) -> String { randomElement(using: &random) ?? "" }
}
