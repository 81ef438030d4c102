/// How a date is spelled. All but the first are text to a reader, and only stored as dates.
enum DateStyle: UInt8, Sendable, CaseIterable {
  /// `2018-08-03`
  case iso = 0
  /// `August 3, 2018`
  case monthDayYear = 1
  /// `Aug 3, 2018`
  case shortMonthDayYear = 2
  /// `3 August 2018`
  case dayMonthYear = 3
  /// `3 Aug 2018`
  case dayShortMonthYear = 4
  /// `08/03/2018`
  case slashedMonthDayYear = 5
  /// `03/08/2018`
  case slashedDayMonthYear = 6
  /// `03.08.2018`
  case dotted = 7
  /// `2018/08/03`
  case slashedYearMonthDay = 8
  /// `03-Aug-2018`
  case dashedDayMonthYear = 9

  /// The shortest spelling (`May 3, 2018` has more) and the longest, `September 30, 2018`.
  static let lengths = 10...18

  private enum Part {
    case year
    case monthNumber
    case monthName
    case shortMonthName
    case day
    case paddedDay
  }

  private var parts: (Part, Part, Part) {
    switch self {
    case .iso, .slashedYearMonthDay: (.year, .monthNumber, .paddedDay)
    case .monthDayYear: (.monthName, .day, .year)
    case .shortMonthDayYear: (.shortMonthName, .day, .year)
    case .dayMonthYear: (.day, .monthName, .year)
    case .dayShortMonthYear: (.day, .shortMonthName, .year)
    case .slashedMonthDayYear: (.monthNumber, .paddedDay, .year)
    case .slashedDayMonthYear, .dotted: (.paddedDay, .monthNumber, .year)
    case .dashedDayMonthYear: (.paddedDay, .shortMonthName, .year)
    }
  }

  /// What stands between the parts: a byte, and whether a space follows the second one.
  private var separator: (byte: UInt8, isWide: Bool) {
    switch self {
    case .iso, .dashedDayMonthYear: (0x2D, false)
    case .slashedMonthDayYear, .slashedDayMonthYear, .slashedYearMonthDay: (0x2F, false)
    case .dotted: (0x2E, false)
    case .dayMonthYear, .dayShortMonthYear: (0x20, false)
    case .monthDayYear, .shortMonthDayYear: (0x20, true)
    }
  }

  // MARK: Reading

  private struct Fields {
    var year = 0
    var month = 0
    var day = 0
  }

  /// Days since 1970; nil when the spelling is not exactly what `write` makes of a day.
  func parse(_ spelling: SpellingView) -> Int32? {
    if self == .iso { return DateSpelling.parseDate(spelling) }
    guard Self.lengths.contains(spelling.count), spelling[spelling.count &- 1] &- 0x30 < 10
    else { return nil }
    var fields = Fields()
    var index = 0
    let (first, second, third) = parts
    let (byte, isWide) = separator
    guard Self.read(first, spelling, &index, &fields), index < spelling.count,
      spelling[index] == byte
    else { return nil }
    index &+= 1
    guard Self.read(second, spelling, &index, &fields), index &+ 1 < spelling.count else {
      return nil
    }
    if isWide {
      guard spelling[index] == 0x2C, spelling[index &+ 1] == 0x20 else { return nil }
      index &+= 2
    } else {
      guard spelling[index] == byte else { return nil }
      index &+= 1
    }
    guard Self.read(third, spelling, &index, &fields), index == spelling.count,
      fields.month >= 1, fields.month <= 12, fields.day >= 1,
      fields.day <= CalendarDate.length(month: fields.month, year: fields.year)
    else { return nil }
    return Int32(
      truncatingIfNeeded: CalendarDate.days(
        year: fields.year, month: fields.month, day: fields.day))
  }

  /// Takes a part; false when it is not there.
  private static func read(
    _ part: Part, _ spelling: SpellingView, _ index: inout Int, _ fields: inout Fields
  ) -> Bool {
    switch part {
    case .year: return number(spelling, &index, digits: 4, &fields.year)
    case .monthNumber: return number(spelling, &index, digits: 2, &fields.month)
    case .paddedDay: return number(spelling, &index, digits: 2, &fields.day)
    case .day:
      guard index < spelling.count, spelling[index] != 0x30 else { return false }
      let hasTwo = index &+ 1 < spelling.count && spelling[index &+ 1] &- 0x30 < 10
      return number(spelling, &index, digits: hasTwo ? 2 : 1, &fields.day)
    case .monthName, .shortMonthName:
      let word = spelling.word(at: min(index, spelling.count))
      for month in 1...12 {
        let name = MonthName.all[month &- 1]
        guard word & 0xFF_FFFF == name.start & 0xFF_FFFF else { continue }
        let length = part == .monthName ? name.length : 3
        guard index &+ length <= spelling.count else { return false }
        let mask = UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- min(length, 8) &* 8)
        guard word & mask == name.start & mask else { return false }
        // September alone is longer than a word, by its last letter.
        if length == 9 && spelling[index &+ 8] != 0x72 { return false }
        index &+= length
        fields.month = month
        return true
      }
      return false
    }
  }

  private static func number(
    _ spelling: SpellingView, _ index: inout Int, digits: Int, _ value: inout Int
  ) -> Bool {
    guard index &+ digits <= spelling.count else { return false }
    value = 0
    for offset in 0..<digits {
      let digit = spelling[index &+ offset] &- 0x30
      guard digit < 10 else { return false }
      value = value &* 10 &+ Int(digit)
    }
    index &+= digits
    return true
  }

  // MARK: Writing

  /// Writes a date and returns its length.
  ///
  /// - Precondition: `NumberSpelling.capacity` bytes may be written at `target`.
  func write(_ date: CalendarDate, to target: UnsafeMutableRawPointer) -> Int {
    if self == .iso { return DateSpelling.write(date, to: target) }
    let (year, month, day) = date.parts
    let fields = Fields(year: year, month: month, day: day)
    let (first, second, third) = parts
    let (byte, isWide) = separator
    var length = Self.write(first, fields, to: target)
    target.storeBytes(of: byte, toByteOffset: length, as: UInt8.self)
    length &+= 1
    length &+= Self.write(second, fields, to: target + length)
    target.storeBytes(of: isWide ? 0x2C : byte, toByteOffset: length, as: UInt8.self)
    length &+= 1
    if isWide {
      target.storeBytes(of: 0x20, toByteOffset: length, as: UInt8.self)
      length &+= 1
    }
    return length &+ Self.write(third, fields, to: target + length)
  }

  private static func write(
    _ part: Part, _ fields: Fields, to target: UnsafeMutableRawPointer
  ) -> Int {
    switch part {
    case .year:
      DateSpelling.writePair(fields.year / 100, to: target)
      DateSpelling.writePair(fields.year % 100, to: target + 2)
      return 4
    case .monthNumber:
      DateSpelling.writePair(fields.month, to: target)
      return 2
    case .paddedDay:
      DateSpelling.writePair(fields.day, to: target)
      return 2
    case .day:
      if fields.day >= 10 {
        DateSpelling.writePair(fields.day, to: target)
        return 2
      }
      target.storeBytes(
        of: 0x30 &+ UInt8(truncatingIfNeeded: fields.day), as: UInt8.self)
      return 1
    case .monthName, .shortMonthName:
      let name = MonthName.all[fields.month &- 1]
      target.storeBytes(of: name.start.littleEndian, as: UInt64.self)
      if name.length == 9 { target.storeBytes(of: 0x72, toByteOffset: 8, as: UInt8.self) }
      return part == .monthName ? name.length : 3
    }
  }
}

/// An English month: its first eight letters as a word, the first one lowest, and how many it has.
private struct MonthName {
  let start: UInt64
  let length: Int

  init(_ name: StaticString) {
    var word: UInt64 = 0
    name.withUTF8Buffer { letters in
      for (index, letter) in letters.prefix(8).enumerated() {
        word |= UInt64(letter) << UInt64(8 * index)
      }
    }
    start = word
    length = name.utf8CodeUnitCount
  }

  static let all: [MonthName] = [
    MonthName("January"), MonthName("February"), MonthName("March"), MonthName("April"),
    MonthName("May"), MonthName("June"), MonthName("July"), MonthName("August"),
    MonthName("September"), MonthName("October"), MonthName("November"), MonthName("December"),
  ]
}
