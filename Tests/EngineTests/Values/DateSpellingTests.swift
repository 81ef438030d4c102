import TestSupport
import Testing

@testable import Engine

/// Dates and date-times that are read by words, compared with those read byte by byte.
@Suite struct DateSpellingTests {
  /// Takes one field after the other.
  private struct SlowReader {
    var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func number(_ digits: Int) -> Int? {
      let field = rest.prefix(digits)
      guard field.count == digits, field.allSatisfy({ (0x30...0x39).contains($0) }) else {
        return nil
      }
      rest = rest.dropFirst(digits)
      return field.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    mutating func take(_ byte: UInt8) -> Bool {
      guard rest.first == byte else { return false }
      rest = rest.dropFirst()
      return true
    }

    /// Three numbers of as many digits, with a byte between them.
    mutating func day(_ order: [Character], _ separator: UInt8) -> Int? {
      var fields: [Character: Int] = [:]
      for (index, field) in order.enumerated() {
        if index > 0, !take(separator) { return nil }
        guard let number = number(field == "y" ? 4 : 2) else { return nil }
        fields[field] = number
      }
      guard let year = fields["y"], let month = fields["m"], let day = fields["d"] else {
        return nil
      }
      return CalendarDate(year: year, month: month, day: day).map { Int($0.daysSince1970) }
    }

    mutating func moment() -> Int64? {
      guard let day = day(["y", "m", "d"], 0x2D), take(0x54) || take(0x20), let hour = number(2),
        take(0x3A), let minute = number(2), hour < 24, minute < 60
      else { return nil }
      var micros = Int64(hour * 60 + minute) * 60_000_000
      if take(0x3A) {
        guard let second = number(2), second < 60 else { return nil }
        micros += Int64(second) * 1_000_000
        if take(0x2E) {
          let digits = rest.prefix { (0x30...0x39).contains($0) }.count
          guard (1...6).contains(digits), var fraction = number(digits) else { return nil }
          for _ in digits..<6 { fraction *= 10 }
          micros += Int64(fraction)
        }
      }
      var offset = 0
      if !rest.isEmpty, !take(0x5A) {
        let isAhead = rest.first == 0x2B
        guard take(0x2B) || take(0x2D), let hours = number(2), take(0x3A), let minutes = number(2),
          hours < 24, minutes < 60
        else { return nil }
        offset = (hours * 60 + minutes) * (isAhead ? 1 : -1)
      }
      guard rest.isEmpty else { return nil }
      let moment = Int64(day) * 86_400_000_000 + micros - Int64(offset) * 60_000_000
      return DateTime(microsecondsSince1970: moment)?.microsecondsSince1970
    }
  }

  /// The spelling alone, and with other bytes behind it.
  private static func views(_ bytes: [UInt8], _ body: (SpellingView) -> Void) {
    for rest in [[], [UInt8](repeating: 0x35, count: 16)] as [[UInt8]] {
      (bytes + rest).withUnsafeBytes { room in
        guard let base = room.baseAddress else { return }
        body(SpellingView(base, count: bytes.count, readable: room.count))
      }
    }
  }

  /// A text, its beginnings, and each text that differs from it in one byte.
  private static func variants(_ text: String) -> [[UInt8]] {
    let bytes = Array(text.utf8)
    var variants = (0...bytes.count).map { Array(bytes[..<$0]) }
    variants.append(bytes + [0x30])
    let others = Array("0123456789:-.TZ +/x".utf8) + [0, 0x2F, 0x3A, 0x80, 0xB0, 0xB5, 0xFF]
    for place in bytes.indices {
      for other in others where other != bytes[place] {
        var changed = bytes
        changed[place] = other
        variants.append(changed)
      }
    }
    return variants
  }

  @Test("ISO dates and date-times, with another byte at every place")
  func iso() {
    let texts = [
      "2018-08-03", "2018-12-29", "2000-02-29", "1900-02-28", "0000-01-01", "9999-12-31",
      "2018-08-03T04:05", "2018-08-03 23:59:59", "2018-08-03T04:05:06Z", "2018-08-03T04:05:06.1",
      "2018-08-03T04:05:06.123456", "2018-08-03 04:05:06.1234+02:00",
      "2018-08-03T04:05:06.123456-11:30",
      "2018-08-03T04:05+00:30", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00+00:01",
    ]
    for bytes in texts.flatMap(Self.variants) {
      var (slow, day) = (SlowReader(bytes), SlowReader(bytes))
      let moment = slow.moment()
      let date = day.day(["y", "m", "d"], 0x2D).flatMap { day.rest.isEmpty ? $0 : nil }
      Self.views(bytes) { view in
        #expect(DateSpelling.parseDateTime(view)?.microseconds == moment, "\(bytes)")
        #expect(DateSpelling.parseDate(view).map(Int.init) == date, "\(bytes)")
      }
    }
  }

  @Test("Dates of numbers in every style, with another byte at every place")
  func styles() {
    let styles: [(DateStyle, String, [Character], UInt8)] = [
      (.slashedMonthDayYear, "08/03/2018", ["m", "d", "y"], 0x2F),
      (.slashedDayMonthYear, "31/12/1999", ["d", "m", "y"], 0x2F),
      (.dotted, "29.02.2000", ["d", "m", "y"], 0x2E),
      (.slashedYearMonthDay, "2018/08/03", ["y", "m", "d"], 0x2F),
    ]
    for (style, text, order, separator) in styles {
      for bytes in Self.variants(text) {
        var slow = SlowReader(bytes)
        let day = slow.day(order, separator).flatMap { slow.rest.isEmpty ? $0 : nil }
        Self.views(bytes) { view in
          #expect(style.parse(view).map(Int.init) == day, "\(style) \(bytes)")
        }
      }
    }
  }

  @Test(
    "Patterns with a place for every digit read as field by field does, and most spellings at once")
  func fixedPatterns() throws {
    let patterns: [(String, ColumnType, String)] = [
      ("%d.%m.%Y", .date, "03.08.2018"), ("%m/%d/%y", .date, "08/03/68"),
      ("%Y%m%d", .date, "20180803"), ("%d %m %Y", .date, "03 08 2018"),
      ("%H:%M:%S", .time, "04:05:06"), ("%H.%M", .time, "23.59"),
      ("%d/%m/%Y %H:%M", .dateTime, "31/12/1999 23:59"),
      ("%Y.%m.%d-%H:%M:%S", .dateTime, "2000.02.29-00:00:00"),
      ("le %d-%m-%Y a %H h %M", .dateTime, "le 03-08-2018 a 04 h 05"),
    ]
    for (text, type, example) in patterns {
      let pattern = try DatePattern(text, type == .time ? .time : .date)
      let notation = try Notation(type, [text])
      let usual = try #require(notation.usual, "\(text)")
      for bytes in Self.variants(example) {
        Self.views(bytes) { view in
          let slow = pattern.parseItems(view)
          #expect(pattern.parse(view) == slow, "\(text): \(bytes)")
          #expect(!usual.reads(view) || slow != nil, "\(text): \(bytes)")
          #expect(
            (notation.value(view) != nil)
              == (PlainSpelling.read(view, pattern.parseItems) != nil
                || PlainReader.reads(view, type)),
            "\(text): \(bytes)")
        }
      }
      Self.views(Array(example.utf8)) { #expect(usual.reads($0), "\(text)") }
    }
    // A digit that is always the same, names, and numbers of other lengths have no fixed places.
    for text in ["%d5%m.%Y", "%d %B %Y", "%Y-%m-%d %I:%M %p", "%Y-%m-%dT%H:%M:%S.%f"] {
      #expect(try DatePattern(text).fixed == nil, "\(text)")
    }
  }

  /// What every column of a type reads besides its notation.
  private enum PlainReader {
    static func reads(_ view: SpellingView, _ type: ColumnType) -> Bool {
      switch type {
      case .date: PlainSpelling.date(view) != nil
      case .time: PlainSpelling.time(view) != nil
      default: PlainSpelling.dateTime(view) != nil
      }
    }
  }

  @Test("Numbers with a decimal comma are read at once exactly if they are read")
  func usualNumbers() throws {
    for (pattern, type) in [
      ("1,5", ColumnType.double), ("1.234,5", .double), ("1.234", .int), ("1,234", .int),
    ] {
      let notation = try Notation(type, [pattern])
      let usual = try #require(notation.usual)
      for text in ["5", "-12,5", "1234567,25", "1234567890123456", "0,5", "12.5", "1,234", "1.234"]
      {
        for bytes in Self.variants(text) {
          Self.views(bytes) { view in
            #expect(!usual.reads(view) || notation.value(view) != nil, "\(pattern): \(bytes)")
          }
        }
      }
      Self.views(Array("1234".utf8)) { #expect(usual.reads($0), "\(pattern)") }
    }
    #expect(try Notation(.bool, ["yes/no"]).usual == nil)
  }
}
