import Foundation
import TestSupport

/// CSV in which every oddity of real files is frequent, without malformed records.
struct OddCSV {
  private var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  static let numbers: [String] = [
    "0", "1", "42", "-7", "007", "+5", "4.10", "1e3", "-0", "1.0", ".5", "5.", "00", "1E+05",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "9007199254740993",
    "NaN", "nan", "inf", "-Infinity", "0.1", "123456789012345678901234567890", "1e400", "0x10",
    "1_000", "1,5", "٣", "-", "+", ".", "e5", " 1", "1 ", "0.30000000000000004", "1e-320",
  ]
  static let dates: [String] = [
    "2018-08-03", "0001-01-01", "9999-12-31", "2018-02-29", "2020-02-29", "2018-8-3", "18-08-03",
    "2018-08-03T10:00:00", "2018-08-03 10:00:00.123456", "2018-08-03T10:00:00Z",
    "2018-08-03T10:00:00+02:00", "August 3, 2018", "2018-08-03T24:00:00", "10000-01-01",
  ]
  static let texts: [String] = [
    "", " ", "a", "two\nlines", "carriage\rreturn", "both\r\nends", "say \"hi\"", "\"", "\"\"", ",",
    "a,b", "\0", "a\0b", "😀", "👩‍👩‍👧‍👦", "naïve", "美", "\u{FEFF}bom", "tab\there", "null", "NULL",
    "\\", "'", "\u{202E}rtl", "true", "False", "TRUE", "yes", ";", "|",
  ]

  /// - Parameter isMixed: whether any column may have any oddity; otherwise each column has one kind.
  mutating func make(rows: Int, isMixed: Bool) -> [UInt8] {
    var output = Array("id,number,date,text,flag,rare\n".utf8)
    let ends = ["\n", "\n", "\n", "\r\n", "\r"]
    for row in 0..<rows {
      var fields: [String?] = [
        String(row), pick(Self.numbers), pick(Self.dates), text(), pick(["true", "false"]),
        chance(50) ? pick(Self.numbers) : nil,
      ]
      if isMixed { fields.shuffle(using: &random) }
      if chance(12) { fields[Int.random(in: 0..<fields.count, using: &random)] = nil }
      let line = fields.map { $0.map { quoted($0) } ?? "" }.joined(separator: ",")
      output += Array(line.utf8)
      if row < rows - 1 || chance(2) { output += Array(pick(ends).utf8) }
      // Blank lines between records do not count.
      if chance(40), output.last == 0x0A { output += Array("\n\r\n".utf8) }
    }
    return output
  }

  private mutating func chance(_ oneIn: Int) -> Bool {
    Int.random(in: 0..<oneIn, using: &random) == 0
  }

  private mutating func pick(_ list: [String]) -> String {
    list[Int.random(in: 0..<list.count, using: &random)]
  }

  private mutating func text() -> String {
    if chance(60) { return String(repeating: "long ,\"\n", count: 40 + 700 * (chance(8) ? 1 : 0)) }
    return chance(3) ? pick(Self.texts) + pick(Self.texts) : pick(Self.texts)
  }

  private mutating func quoted(_ field: String) -> String {
    let mustQuote =
      field.isEmpty || field.utf8.contains { $0 == 0x22 || $0 == 0x2C || $0 == 0x0A || $0 == 0x0D }
    guard mustQuote || chance(4) else { return field }
    return "\"" + field.replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }
}
