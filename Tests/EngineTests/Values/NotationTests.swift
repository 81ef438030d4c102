import Foundation
import TestSupport
import Testing

@testable import Engine

/// Notations, compared with slow readers made of regular expressions and Foundation's calendar.
@Suite("Notations")
struct NotationTests {
  private func value(_ text: String, _ type: ColumnType, _ patterns: [String]) throws -> Value? {
    let notation = try Notation(type, patterns)
    return Array(text.utf8).withUnsafeBytes { Value(spelling: $0, as: Reading(type, notation)) }
  }

  private func date(_ text: String, _ patterns: String...) throws -> String? {
    try value(text, .date, patterns).map { String(decoding: $0.spelling, as: UTF8.self) }
  }

  private func moment(_ text: String, _ patterns: String...) throws -> String? {
    try value(text, .dateTime, patterns).map { String(decoding: $0.spelling, as: UTF8.self) }
  }

  @Test("Dates by their formats")
  func dates() throws {
    #expect(try date("August 3, 2018", "%B %d, %Y") == "2018-08-03")
    #expect(try date("aug 03, 2018", "%B %d, %Y") == "2018-08-03")
    #expect(try date("AUGUST  3, 2018", "%B %d, %Y") == "2018-08-03")
    #expect(try date("Augus 3, 2018", "%B %d, %Y") == nil)
    #expect(try date("August 32, 2018", "%B %d, %Y") == nil)
    #expect(try date(" August 3, 2018 ", "%B %d, %Y") == "2018-08-03")
    #expect(try date("August 3, 2018.", "%B %d, %Y") == nil)
    #expect(try date("7-Jan-18", "%d-%b-%y") == "2018-01-07")
    #expect(try date("7-Jan-69", "%d-%b-%y") == "1969-01-07")
    #expect(try date("7-Jan-68", "%d-%b-%y") == "2068-01-07")
    #expect(try date("20180803", "%Y%m%d") == "2018-08-03")
    #expect(try date("2018803", "%Y%m%d") == nil)
    #expect(try date("29/2/2019", "%d/%m/%Y") == nil)
    #expect(try date("29/2/2020", "%-d/%-m/%Y") == "2020-02-29")
    #expect(try date("Friday, August 3 2018", "%A, %B %d %Y") == "2018-08-03")
    #expect(try date("Thursday, August 3 2018", "%A, %B %d %Y") == nil)
    #expect(try date("Mon 1 Jan 0001", "%a %d %b %Y") == "0001-01-01")
    #expect(try date("Sat 1 Jan 0000", "%a %d %b %Y") == "0000-01-01")
    // The canonical spelling is always read, then the first format that fits.
    #expect(try date("2018-08-03", "%d/%m/%Y", "%m/%d/%Y") == "2018-08-03")
    #expect(try date("03/08/2018", "%d/%m/%Y", "%m/%d/%Y") == "2018-08-03")
    #expect(try date("03/28/2018", "%d/%m/%Y", "%m/%d/%Y") == "2018-03-28")
    #expect(try date("100% 3.8.2018", "100%% %d.%m.%Y") == "2018-08-03")
  }

  @Test("Date-times by their formats")
  func dateTimes() throws {
    #expect(try moment("8/3/2018 12:05 AM", "%m/%d/%Y %I:%M %p") == "2018-08-03T00:05:00Z")
    #expect(try moment("8/3/2018 12:05 pm", "%m/%d/%Y %I:%M %p") == "2018-08-03T12:05:00Z")
    #expect(try moment("8/3/2018 13:05 pm", "%m/%d/%Y %I:%M %p") == nil)
    #expect(try moment("8/3/2018 0:05 am", "%m/%d/%Y %I:%M %p") == nil)
    let log = "%d/%b/%Y:%H:%M:%S %z"
    #expect(try moment("10/Oct/2000:13:55:36 -0700", log) == "2000-10-10T20:55:36Z")
    #expect(try moment("10/Oct/2000:13:55:36 +05:30", log) == "2000-10-10T08:25:36Z")
    #expect(try moment("10/Oct/2000:13:55:36 utc", log) == "2000-10-10T13:55:36Z")
    #expect(try moment("10/Oct/2000:13:55:36 +2", log) == nil)
    #expect(try moment("1.8.2018 1:02:03.5", "%d.%m.%Y %T.%f") == "2018-08-01T01:02:03.500000Z")
    #expect(try moment("1.8.2018 24:00:00.0", "%d.%m.%Y %T.%f") == nil)
    #expect(try moment("3/8/2018", "%d/%m/%Y") == "2018-08-03T00:00:00Z")
    #expect(try moment("31/12/9999 23:59 -0100", "%d/%m/%Y %R %z") == nil)
  }

  @Test(
    "Formats that are none say why",
    arguments: [
      ("%d/%m", "one year, one month and one day"), ("%Y-%m-%d %d", "one year"),
      ("%Q", "%Q is none"), ("%Y %m %d %", "ends with a %"), ("%Y-%d-%m", "another day"),
      ("%F %I:%M", "need each other"), ("%F %M", "need hours"), ("%F %H", "has a time"),
      ("%F" + String(repeating: "x", count: 200), "longer than"),
    ])
  func problems(format: String, problem: String) throws {
    let error = try #require(throws: EngineError.self) { try Notation(.date, [format]) }
    #expect("\(error)".contains(problem))
  }

  @Test("No patterns, too many, and those of another type")
  func others() {
    #expect(throws: EngineError.self) { try Notation(.date, []) }
    #expect(throws: EngineError.self) {
      try Notation(.date, [String](repeating: "%F", count: 65))
    }
    #expect(throws: EngineError.self) { try Notation(.text, ["%F"]) }
    for text in ["", "1", "1.5.5", "1,234,5", "2,5", "1;5", "1234,5", "1é234,5"] {
      #expect(throws: EngineError.self, "\(text)") { try Notation(.double, [text]) }
    }
    #expect(throws: EngineError.self) { try Notation(.int, ["1,234.5"]) }
    for text in ["yes", "yes/", "/no", "yes/YES", "a/b/c"] {
      #expect(throws: EngineError.self, "\(text)") { try Notation(.bool, [text]) }
    }
  }

  @Test("Bools in lower, Title and UPPER case")
  func bools() throws {
    for (text, expected) in [
      ("yes", true), ("Yes", true), ("YES", true), ("no", false), ("NO", false), ("true", true),
      ("False", false),
    ] {
      #expect(try value(text, .bool, ["yes/no", "y/n"]) == .bool(expected), "\(text)")
    }
    for text in ["yEs", "YEs", "yeS", "nO", "", "ye", "yess", "1"] {
      #expect(try value(text, .bool, ["yes/no", "y/n"]) == nil, "\(text)")
    }
    #expect(try value("1", .bool, ["1/0"]) == .bool(true))
    #expect(try value("Y", .bool, ["yes/no", "y/n"]) == .bool(true))
  }

  // MARK: Numbers

  /// Groups of three digits, or none; `Double` and `Int64` read the rest.
  private func slowNumber(_ spelling: String, decimal: String, thousands: String) -> Double? {
    let text = spelling.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    if text == "NaN" || text == "nan" { return .nan }
    let group = thousands.isEmpty ? "" : "|[0-9]{1,3}(\(thousands)[0-9]{3})+"
    let whole = "[+-]?([0-9]*\(group))(\(decimal)[0-9]+)?([eE][+-]?[0-9]+)?"
    guard text.range(of: "^\(whole)$", options: .regularExpression) != nil else { return nil }
    var plain = text
    if !thousands.isEmpty {
      plain = plain.replacingOccurrences(of: thousands, with: "", options: .regularExpression)
    }
    plain = plain.replacingOccurrences(of: decimal, with: ".", options: .regularExpression)
    // Leading zeros are refused, as everywhere.
    guard plain.range(of: "^[+-]?0[0-9]", options: .regularExpression) == nil,
      plain.range(of: "[0-9]", options: .regularExpression) != nil, !plain.hasPrefix("e"),
      plain.range(of: "^[+-]?[eE]", options: .regularExpression) == nil,
      let value = Double(plain), value.isFinite
    else { return nil }
    return value
  }

  @Test("Numbers, against regular expressions", arguments: 0..<6 as Range<UInt64>)
  func numbers(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let styles = [
      ("1,5", ",", ""), ("1.234,5", ",", "\\."), ("1,234.5", "\\.", ","), ("1 234,5", ",", " "),
      ("1'234.5", "\\.", "'"), ("1_234.5", "\\.", "_"),
    ]
    let alphabet = Array("0123456789012345678900112233,,,..' _+-eE")
    for _ in 0..<3000 {
      let (pattern, decimal, thousands) = styles[Int(random.next() % UInt64(styles.count))]
      var text = String(
        (0..<Int(random.next() % 12)).map { _ in
          alphabet[Int(random.next() % UInt64(alphabet.count))]
        })
      if random.next() % 2 == 0 {
        // A valid number with at most one fault.
        let separator = thousands.replacingOccurrences(of: "\\", with: "")
        text = ["", "-", "+"][Int(random.next() % 3)] + "\(1 + random.next() % 999)"
        for _ in 0..<random.next() % 3 { text += separator + "\(100 + random.next() % 900)" }
        if random.next() % 2 == 0 {
          text += decimal.replacingOccurrences(of: "\\", with: "") + "\(random.next() % 1000)"
        }
        if random.next() % 2 == 0, !text.isEmpty {
          var letters = Array(text)
          letters[Int(random.next() % UInt64(letters.count))] =
            alphabet[Int(random.next() % UInt64(alphabet.count))]
          text = String(letters)
        }
      }
      let expected = slowNumber(text, decimal: decimal, thousands: thousands)
      let found = try value(text, .double, [pattern])
      #expect(found == expected.map { .double($0) }, "seed \(seed), '\(text)' as \(pattern)")
      if !thousands.isEmpty {
        let example = String(pattern.prefix(5))
        let int = try value(text, .int, [example])
        let whole = text.contains { !"0123456789+-, .'_".contains($0) } ? nil : expected
        if case .int(let int)? = int {
          #expect(whole == Double(int), "seed \(seed), '\(text)' as \(example)")
        }
      }
    }
  }

  @Test("No-break spaces separate thousands as blanks do, but not both in one number")
  func noBreakSpaces() throws {
    #expect(try value("1\u{A0}234\u{A0}567", .int, ["1 234"]) == .int(1_234_567))
    #expect(try value("1\u{202F}234,5", .double, ["1 234,5"]) == .double(1234.5))
    #expect(try value("1\u{202F}234 567", .int, ["1 234"]) == nil)
    #expect(try value("1\u{A0}", .int, ["1 234"]) == nil)
  }

  // MARK: Dates against Foundation

  private static let formats = [
    "%Y/%m/%d", "%B %d, %Y", "%d %b %Y", "%d-%b-%y", "%d.%m.%Y", "%m/%d/%Y", "%Y%m%d",
    "%A, %B %d, %Y",
  ]
  private static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]
  private static let weekdays = [
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
  ]

  private static let calendar = {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
    return calendar
  }()

  /// Reads a date by a format, with a regular expression for each field.
  private func slowDate(_ text: String, _ format: String) -> String? {
    var expression = ""
    var fields: [Character] = []
    var letters = Array(format)[...]
    while let letter = letters.popFirst() {
      guard letter == "%", let field = letters.popFirst() else {
        expression +=
          letter == " " ? "[ \\t]+" : NSRegularExpression.escapedPattern(for: "\(letter)")
        continue
      }
      fields.append(field)
      let digits = format == "%Y%m%d" ? "([0-9]{2})" : "([0-9]{1,2})"
      switch field {
      case "Y": expression += "([0-9]{4})"
      case "y": expression += "([0-9]{2})"
      case "m", "d": expression += digits
      default: expression += "([A-Za-z]+)"
      }
    }
    guard let regex = try? NSRegularExpression(pattern: "^\(expression)$"),
      let match = regex.firstMatch(in: text, range: NSRange(text.startIndex..., in: text)),
      match.range.length == text.utf16.count
    else { return nil }
    var parts = DateComponents()
    var weekday: Int?
    for (index, field) in fields.enumerated() {
      guard let range = Range(match.range(at: index + 1), in: text) else { return nil }
      let found = String(text[range])
      func place(_ names: [String]) -> Int? {
        names.firstIndex {
          $0.lowercased() == found.lowercased()
            || $0.prefix(3).lowercased() == found.lowercased()
        }.map { $0 + 1 }
      }
      switch field {
      case "Y": parts.year = Int(found)
      case "y": parts.year = Int(found).map { $0 < 69 ? 2000 + $0 : 1900 + $0 }
      case "m": parts.month = Int(found)
      case "d": parts.day = Int(found)
      case "A":
        guard let place = place(Self.weekdays) else { return nil }
        weekday = place
      default:
        guard let place = place(Self.months) else { return nil }
        parts.month = place
      }
    }
    guard let year = parts.year, let month = parts.month, let day = parts.day,
      (1...12).contains(month), let date = Self.calendar.date(from: parts),
      Self.calendar.component(.month, from: date) == month,
      Self.calendar.component(.day, from: date) == day
    else { return nil }
    if let weekday, Self.calendar.component(.weekday, from: date) != weekday { return nil }
    return String(format: "%04d-%02d-%02d", year, month, day)
  }

  @Test("Months in the languages of Europe")
  func monthsOfEurope() throws {
    let words = [
      "3 августа 2018": 8, "3 МАЯ 2018": 5, "3 сент. 2018": 9, "3. srpna 2018": 8,
      "3. září 2018": 9,
      "3. července 2018": 7, "3. června 2018": 6, "3 листопада 2018": 11,
      "3. März 2018": 3, "03 févr. 2018": 2, "3 FÉVRIER 2018": 2, "3 août 2018": 8, "3 ene 2018": 1,
      "3 de diciembre de 2018": 12, "3 giugno 2018": 6, "3 out 2018": 10, "3 mei 2018": 5,
      "3 października 2018": 10, "3 Września 2018": 9, "3 maj 2018": 5, "3 Okt 2018": 10,
      "3 Mars 2018": 3,
    ]
    let formats = ["%d %B %Y", "%d. %B %Y", "%d %b. %Y", "%d de %B de %Y"]
    for (text, month) in words {
      let found = try date(text, formats[0]) ?? date(text, formats[1]) ?? date(text, formats[2])
      let expected = String(format: "2018-%02d-03", month)
      #expect(try found ?? date(text, formats[3]) == expected, "\(text)")
    }
    for text in ["3 listopad 2018", "3 Marz 2018", "3 maio2018", "3 au 2018", "3 \u{FF} 2018"] {
      #expect(try date(text, formats[0]) == nil, "\(text)")
    }
    // Foundation's names, if it has the language.
    for language in ["de", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "ru", "uk", "cs"] {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: language)
      let names: [String] = formatter.monthSymbols
      guard names.count == 12 else { continue }
      for (index, name) in names.enumerated() {
        let expected = String(format: "2018-%02d-03", index + 1)
        #expect(try date("3 \(name) 2018", "%d %B %Y") == expected, "\(language): \(name)")
      }
    }
  }

  @Test("Names of zones that mean one offset")
  func zones() throws {
    let format = "%a, %d %b %Y %H:%M:%S %z"
    for (zone, expected) in [
      ("GMT", "12"), ("utc", "12"), ("CEST", "10"), ("CET", "11"), ("EDT", "16"),
      ("+0530", "06:30"),
    ] {
      let hour = expected.count == 2 ? expected + ":00" : expected
      #expect(
        try moment("Fri, 03 Aug 2018 12:00:00 \(zone)", format) == "2018-08-03T\(hour):00Z",
        "\(zone)")
    }
    for zone in ["EST", "PST", "IST", "CETX", "C", ""] {
      #expect(try moment("Fri, 03 Aug 2018 12:00:00 \(zone)", format) == nil, "\(zone)")
    }
  }

  @Test("Dates, against Foundation", arguments: 0..<4 as Range<UInt64>)
  func datesAgainstFoundation(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }
    var read = 0
    for _ in 0..<800 {
      let format = Self.formats[below(Self.formats.count)]
      let date = try #require(CalendarDate(daysSince1970: below(60_000) - 20_000))
      let components = DateComponents(year: date.year, month: date.month, day: date.day)
      let weekday = Self.calendar.component(
        .weekday, from: try #require(Self.calendar.date(from: components)))
      let isShort = below(2) == 0
      let name = Self.months[date.month - 1]
      let isPadded = format == "%Y%m%d" || below(2) == 0
      func number(_ value: Int) -> String { String(format: isPadded ? "%02d" : "%d", value) }
      var text =
        format
        .replacingOccurrences(of: "%Y", with: String(format: "%04d", date.year))
        .replacingOccurrences(of: "%y", with: String(format: "%02d", date.year % 100))
        .replacingOccurrences(of: "%m", with: number(date.month))
        .replacingOccurrences(of: "%d", with: number(date.day))
        .replacingOccurrences(of: "%B", with: isShort ? String(name.prefix(3)) : name)
        .replacingOccurrences(of: "%b", with: isShort ? String(name.prefix(3)) : name)
        .replacingOccurrences(of: "%A", with: Self.weekdays[weekday - 1])
      if below(3) == 0 { text = below(2) == 0 ? text.uppercased() : text.lowercased() }
      if below(3) == 0 {
        var letters = Array(text)
        letters[below(letters.count)] = Array("0123456789/-. ,aA")[below(17)]
        text = String(letters)
      }
      let found = try self.date(text, format)
      let bare = text.trimmingCharacters(in: CharacterSet(charactersIn: " "))
      // Unless it is canonical.
      let expected =
        Value(spelling: bare, type: .date) == nil ? slowDate(bare, format) : bare
      #expect(found == expected, "seed \(seed): '\(text)' as '\(format)'")
      if found != nil { read += 1 }
    }
    #expect(read > 400)
  }

  @Test("Any bytes, without a trap", arguments: 0..<2 as Range<UInt64>)
  func anyBytes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let readings = try [
      Reading(.date, Notation(.date, Self.formats)),
      Reading(.dateTime, Notation(.dateTime, ["%A %d %B %y %I:%M:%S.%f %p %z", "%d/%m/%Y %k"])),
      Reading(.double, Notation(.double, ["1 234,5"])), Reading(.int, Notation(.int, ["1'234"])),
      Reading(.bool, Notation(.bool, ["yes/no", "é/x"])),
    ]
    for _ in 0..<4000 {
      let bytes = (0..<Int(random.next() % 24)).map { _ in
        random.next() % 2 == 0
          ? UInt8(truncatingIfNeeded: random.next()) : UInt8(0x2B + random.next() % 0x30)
      }
      for reading in readings {
        bytes.withUnsafeBytes { _ = Value(spelling: $0, as: reading) }
      }
      let text = String(decoding: bytes, as: UTF8.self)
      for type in ColumnType.allCases { _ = try? Notation(type, [text]) }
    }
  }
}
