/// A pattern of dates or date-times in the notation of `strptime`, with English names and those of
/// `MonthNames`.
///
/// | field | what it reads |
/// |---|---|
/// | `%Y` `%y` | four digits; two, as in POSIX: 69 to 99 are 1969 to 1999, 00 to 68 are 2000 to 2068 |
/// | `%m` `%d` `%e` | one or two digits |
/// | `%B` `%b` `%h` | a month's name, whole or short, in any case |
/// | `%A` `%a` | a weekday's name, likewise; it must be the date's |
/// | `%H` `%k`, `%I` `%l` | an hour of 24; of 12, with `%p` |
/// | `%M` `%S` | two digits |
/// | `%f` | one to six digits of a second's fraction |
/// | `%p` | AM or PM, in any case |
/// | `%z` | `±HH:MM`, `±HHMM` or `±HH`, or a name such as `Z`, `UTC`, `GMT`, `CEST`: see `ZoneNames` |
/// | `%F` `%D` `%T` `%R` | `%Y-%m-%d`, `%m/%d/%y`, `%H:%M:%S`, `%H:%M` |
///
/// A blank stands for one or more blanks, other characters for themselves. A `-` behind the `%` has no
/// effect. Adjacent numbers must have all their digits (`%Y%m%d`).
package struct DatePattern: Sendable, Hashable {
  enum Item: Sendable, Hashable {
    case literal(UInt8)
    case blank
    case year
    case shortYear
    case month
    case day
    case monthName
    case weekday
    case hour
    case hourOf12
    case minute
    case second
    case fraction
    case meridiem
    case zone

    fileprivate var isNumber: Bool {
      switch self {
      case .year, .shortYear, .month, .day, .hour, .hourOf12, .minute, .second, .fraction: true
      case .literal, .blank, .monthName, .weekday, .meridiem, .zone: false
      }
    }
  }

  static let maximumLength = 128

  private var items: [Item] = []
  /// For each item: whether a number must have all its digits.
  private var isPadded: [Bool] = []
  /// Reads most spellings, where the items allow it.
  private(set) var fixed: FixedDatePattern?

  package var hasTime: Bool { items.contains(.hour) || items.contains(.hourOf12) }

  /// Whether the day is before the month, where both are numbers before the year; nil for all other patterns,
  /// whose order cannot be mistaken.
  package var isDayFirst: Bool? {
    guard let day = items.firstIndex(of: .day), let month = items.firstIndex(of: .month),
      let year = items.firstIndex(where: { $0 == .year || $0 == .shortYear }),
      day < year, month < year
    else { return nil }
    return day < month
  }

  /// Why a text is not a pattern, in words.
  package struct Problem: Error {
    package let reason: String
  }

  /// What kind of values a pattern reads.
  package enum Kind: Sendable {
    /// Dates, with or without a time of day.
    case date
    /// Times of day.
    case time
  }

  private let kind: Kind

  package init(_ text: String, _ kind: Kind = .date) throws(Problem) {
    self.kind = kind
    guard text.utf8.count <= Self.maximumLength else {
      throw Problem(reason: "it is longer than \(Self.maximumLength) bytes")
    }
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      guard byte == 0x25 else {
        append(byte)
        continue
      }
      if rest.first == 0x2D { rest = rest.dropFirst() }
      guard let field = rest.popFirst() else { throw Problem(reason: "it ends with a %") }
      try appendField(field)
    }
    try check()
    isPadded = items.indices.map { index in
      items[index].isNumber
        && ((index > 0 && items[index - 1].isNumber)
          || (index + 1 < items.count && items[index + 1].isNumber))
    }
    fixed = FixedDatePattern(items)
  }

  private mutating func append(_ byte: UInt8) {
    guard byte == 0x20 || byte == 0x09 else { return items.append(.literal(byte)) }
    if items.last != .blank { items.append(.blank) }
  }

  private mutating func appendField(_ field: UInt8) throws(Problem) {
    switch field {
    case UInt8(ascii: "Y"): items.append(.year)
    case UInt8(ascii: "y"): items.append(.shortYear)
    case UInt8(ascii: "m"): items.append(.month)
    case UInt8(ascii: "d"), UInt8(ascii: "e"): items.append(.day)
    case UInt8(ascii: "B"), UInt8(ascii: "b"), UInt8(ascii: "h"): items.append(.monthName)
    case UInt8(ascii: "A"), UInt8(ascii: "a"): items.append(.weekday)
    case UInt8(ascii: "H"), UInt8(ascii: "k"): items.append(.hour)
    case UInt8(ascii: "I"), UInt8(ascii: "l"): items.append(.hourOf12)
    case UInt8(ascii: "M"): items.append(.minute)
    case UInt8(ascii: "S"): items.append(.second)
    case UInt8(ascii: "f"): items.append(.fraction)
    case UInt8(ascii: "p"): items.append(.meridiem)
    case UInt8(ascii: "z"), UInt8(ascii: "Z"): items.append(.zone)
    case UInt8(ascii: "F"):
      items += [.year, .literal(0x2D), .month, .literal(0x2D), .day]
    case UInt8(ascii: "D"):
      items += [.month, .literal(0x2F), .day, .literal(0x2F), .shortYear]
    case UInt8(ascii: "T"):
      items += [.hour, .literal(0x3A), .minute, .literal(0x3A), .second]
    case UInt8(ascii: "R"): items += [.hour, .literal(0x3A), .minute]
    case UInt8(ascii: "%"): append(field)
    default:
      let name = String(decoding: [field], as: UTF8.self)
      throw Problem(
        reason: "%\(name) is none of its fields, which are %Y %y %m %d %e %B %b %A %a %H %I %M %S "
          + "%f %p %z %F %D %T %R %%")
    }
  }

  private func check() throws(Problem) {
    func count(_ wanted: Item...) -> Int { items.count { wanted.contains($0) } }
    let day = [count(.year, .shortYear), count(.month, .monthName), count(.day)]
    if kind == .time {
      guard day == [0, 0, 0], count(.weekday, .zone) == 0, count(.minute) == 1 else {
        throw Problem(
          reason: "a time of day needs hours and minutes and nothing else, such as %H:%M")
      }
    } else if day != [1, 1, 1] {
      throw Problem(reason: "it needs one year, one month and one day, such as %Y-%m-%d")
    }
    let time = [
      count(.hour, .hourOf12), count(.minute), count(.second), count(.fraction), count(.meridiem),
      count(.zone), count(.weekday),
    ]
    guard time.allSatisfy({ $0 <= 1 }) else { throw Problem(reason: "a field stands twice") }
    guard count(.meridiem) == count(.hourOf12) else {
      throw Problem(reason: "%I and %p need each other; an hour of 24 is %H")
    }
    guard time[0] >= time[1], time[1] >= time[2], time[2] >= time[3], time[0] >= time[5] else {
      throw Problem(
        reason: "minutes need hours, seconds minutes, fractions seconds, and a zone a time")
    }
  }

  // MARK: Reading

  private struct Fields {
    var year = 0
    var month = 0
    var day = 0
    var weekday: Int?
    var hour = 0
    var isAfternoon: Bool?
    var minute = 0
    var second = 0
    var microsecond = 0
    var zoneMinutes = 0
  }

  /// True when the pattern fits the spelling.
  package func reads(_ spelling: UnsafeRawBufferPointer) -> Bool {
    parse(SpellingView(spelling)) != nil
  }

  /// Microseconds since 1970, of midnight when the pattern has no time; since midnight when it has no date.
  /// Nil when the pattern does not fit, or the calendar has no such moment.
  func parse(_ spelling: SpellingView) -> Int64? {
    fixed?.parse(spelling) ?? parseItems(spelling)
  }

  /// Reads one field after the other.
  func parseItems(_ spelling: SpellingView) -> Int64? {
    var fields = Fields()
    var index = 0
    for (place, item) in items.enumerated() {
      guard Self.read(item, isPadded: isPadded[place], spelling, &index, &fields) else {
        return nil
      }
    }
    guard index == spelling.count else { return nil }
    if kind == .time {
      // A time alone counts from the first day.
      (fields.year, fields.month, fields.day) = (1970, 1, 1)
    }
    return Self.moment(fields)
  }

  private static func moment(_ fields: Fields) -> Int64? {
    var hour = fields.hour
    if let isAfternoon = fields.isAfternoon {
      guard hour >= 1, hour <= 12 else { return nil }
      hour = hour % 12 &+ (isAfternoon ? 12 : 0)
    }
    guard fields.month >= 1, fields.month <= 12, fields.day >= 1,
      fields.day <= CalendarDate.length(month: fields.month, year: fields.year), hour < 24,
      fields.minute < 60, fields.second < 60
    else { return nil }
    let days = CalendarDate.days(year: fields.year, month: fields.month, day: fields.day)
    // 1970-01-01 was a Thursday. Monday is 0.
    if let weekday = fields.weekday, (days &+ 3 &+ 7 &* 200_000) % 7 != weekday { return nil }
    let minutes = hour &* 60 &+ fields.minute &- fields.zoneMinutes
    let seconds = minutes &* 60 &+ fields.second
    let moment =
      Int64(days) &* DateTime.microsecondsPerDay &+ Int64(seconds) &* 1_000_000
      &+ Int64(fields.microsecond)
    return DateTime.range.contains(moment) ? moment : nil
  }

  private static func read(
    _ item: Item, isPadded: Bool, _ spelling: SpellingView, _ index: inout Int,
    _ fields: inout Fields
  ) -> Bool {
    switch item {
    case .literal(let byte):
      guard index < spelling.count, spelling[index] == byte else { return false }
      index &+= 1
      return true
    case .blank:
      let start = index
      skipBlanks(spelling, &index)
      return index > start
    case .year: return number(spelling, &index, 4...4, &fields.year)
    case .shortYear:
      guard number(spelling, &index, 2...2, &fields.year) else { return false }
      fields.year &+= fields.year < 69 ? 2000 : 1900
      return true
    case .month: return number(spelling, &index, isPadded ? 2...2 : 1...2, &fields.month)
    case .day: return number(spelling, &index, isPadded ? 2...2 : 1...2, &fields.day)
    case .hour, .hourOf12:
      return number(spelling, &index, isPadded ? 2...2 : 1...2, &fields.hour)
    case .minute: return number(spelling, &index, 2...2, &fields.minute)
    case .second: return number(spelling, &index, 2...2, &fields.second)
    case .fraction:
      let start = index
      guard number(spelling, &index, 1...6, &fields.microsecond) else { return false }
      for _ in index &- start..<6 { fields.microsecond = fields.microsecond &* 10 }
      return true
    case .monthName:
      let start = index
      if let month = EnglishNames.match(EnglishNames.months, spelling, &index) {
        fields.month = month &+ 1
        return true
      }
      index = start
      guard let month = MonthNames.match(spelling, &index) else { return false }
      fields.month = month
      return true
    case .weekday:
      fields.weekday = EnglishNames.match(EnglishNames.weekdays, spelling, &index)
      return fields.weekday != nil
    case .meridiem:
      guard index &+ 2 <= spelling.count, spelling[index &+ 1] | 0x20 == 0x6D else { return false }
      let letter = spelling[index] | 0x20
      guard letter == 0x61 || letter == 0x70 else { return false }
      fields.isAfternoon = letter == 0x70
      index &+= 2
      return true
    case .zone: return zone(spelling, &index, &fields.zoneMinutes)
    }
  }

  private static func skipBlanks(_ spelling: SpellingView, _ index: inout Int) {
    while index < spelling.count, spelling[index] == 0x20 || spelling[index] == 0x09 {
      index &+= 1
    }
  }

  private static func number(
    _ spelling: SpellingView, _ index: inout Int, _ digits: ClosedRange<Int>, _ value: inout Int
  ) -> Bool {
    value = 0
    var count = 0
    while count < digits.upperBound, index < spelling.count, spelling[index] &- 0x30 < 10 {
      value = value &* 10 &+ Int(spelling[index] &- 0x30)
      index &+= 1
      count &+= 1
    }
    return count >= digits.lowerBound
  }

  private static func zone(
    _ spelling: SpellingView, _ index: inout Int, _ minutes: inout Int
  ) -> Bool {
    guard index < spelling.count else { return false }
    let sign = spelling[index]
    guard sign == 0x2B || sign == 0x2D else {
      guard let offset = ZoneNames.match(spelling, &index) else { return false }
      minutes = offset
      return true
    }
    index &+= 1
    var (hour, minute) = (0, 0)
    guard number(spelling, &index, 2...2, &hour) else { return false }
    if index < spelling.count {
      if spelling[index] == 0x3A { index &+= 1 }
      guard number(spelling, &index, 2...2, &minute) else { return false }
    }
    guard hour < 24, minute < 60 else { return false }
    minutes = (hour &* 60 &+ minute) &* (sign == 0x2B ? 1 : -1)
    return true
  }
}

/// The names of months and weekdays.
private enum EnglishNames {
  static let months = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
  ]
  static let weekdays = [
    "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday",
  ]

  /// The place in `names` of the name at an index, whole or its first three letters. Moves the index behind
  /// the name.
  static func match(
    _ names: [String], _ spelling: SpellingView, _ index: inout Int
  ) -> Int? {
    for (place, name) in names.enumerated() where has(name.utf8.prefix(3), spelling, index) {
      index &+= has(name, spelling, index) ? name.utf8.count : 3
      // `Junk` is not June, and `Marc` is not March.
      if index < spelling.count, MonthNames.isLetter(spelling[index]) { return nil }
      return place
    }
    return nil
  }

  static func has(_ name: String, _ spelling: SpellingView, _ index: Int) -> Bool {
    has(name.utf8.prefix(9), spelling, index)
  }

  private static func has(
    _ name: Substring.UTF8View, _ spelling: SpellingView, _ index: Int
  ) -> Bool {
    guard index &+ name.count <= spelling.count else { return false }
    var place = index
    for letter in name {
      // Only the case of a letter may differ from the name.
      if (spelling[place] ^ letter) & ~0x20 != 0 { return false }
      place &+= 1
    }
    return true
  }
}
