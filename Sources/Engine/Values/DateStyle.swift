/// How a date is spelled. A column without a notation reads all but the first as text; they are dates only in
/// storage.
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

  /// The lengths of all spellings: `3 May 2018` has 10 bytes, `September 30, 2018` has 18.
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

  /// The separator of the parts: a byte, and whether a space follows the second one.
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

  /// Days since 1970; nil unless the spelling is exactly the one that `write` gives that day.
  func parse(_ spelling: SpellingView) -> Int32? {
    if self == .iso { return DateSpelling.parseDate(spelling) }
    guard Self.isLikely(spelling) else { return nil }
    switch self {
    case .monthDayYear, .shortMonthDayYear: return parseMonthFirst(spelling)
    case .slashedMonthDayYear, .slashedDayMonthYear, .dotted: return parseYearLast(spelling)
    case .slashedYearMonthDay:
      return spelling.count == 10 ? DateSpelling.parseDate(spelling, separator: 0x2F) : nil
    case .iso, .dayMonthYear, .dayShortMonthYear, .dashedDayMonthYear: break
    }
    var fields = Fields()
    var index = 0
    let (first, second, third) = parts
    let byte = separator.byte
    guard Self.read(first, spelling, &index, &fields), index < spelling.count,
      spelling[index] == byte
    else { return nil }
    index &+= 1
    guard Self.read(second, spelling, &index, &fields), index < spelling.count,
      spelling[index] == byte
    else { return nil }
    index &+= 1
    guard Self.read(third, spelling, &index, &fields), index == spelling.count,
      fields.month >= 1, fields.month <= 12, fields.day >= 1,
      fields.day <= CalendarDate.length(month: fields.month, year: fields.year)
    else { return nil }
    return Int32(
      truncatingIfNeeded: CalendarDate.days(
        year: fields.year, month: fields.month, day: fields.day))
  }

  /// False for most spellings that are not dates in any style.
  @inline(__always)
  static func isLikely(_ spelling: SpellingView) -> Bool {
    lengths.contains(spelling.count) && spelling[spelling.count &- 1] &- 0x30 < 10
  }

  /// Reads the commonest style, a word at a time.
  ///
  /// - Precondition: `isLikely`.
  @inline(__always)
  private func parseMonthFirst(_ spelling: SpellingView) -> Int32? {
    let isShort = self == .shortMonthDayYear
    guard let (month, length) = MonthName.match(spelling, at: 0, isShort: isShort),
      spelling[length] == 0x20
    else { return nil }
    // The last eight bytes: ` 3, 2018` behind the month, or `13, 2018` behind it and a space.
    let rest = spelling.fullWord(at: spelling.count &- 8)
    guard rest & 0xFFFF_0000 == 0x202C_0000 else { return nil }
    let hasTwo = spelling.count &- length == 9
    guard hasTwo || spelling.count &- length == 8 else { return nil }
    // Only digits: the comma and the space become zeros, and so does the missing digit of a short day.
    let tens = hasTwo ? rest & 0xFF : 0x30
    let digits = rest & 0xFFFF_FFFF_0000_FF00 | 0x3030_0000 | tens
    guard NumberSpelling.areDigits(digits), !hasTwo || tens > 0x30 else { return nil }
    let number = Int(truncatingIfNeeded: NumberSpelling.eightDigits(digits))
    let (day, year) = number.quotientAndRemainder(dividingBy: 1_000_000)
    guard day >= 1, day <= CalendarDate.length(month: month, year: year) else { return nil }
    return Int32(truncatingIfNeeded: CalendarDate.days(year: year, month: month, day: day))
  }

  /// Reads two parts of two digits and a year.
  @inline(__always)
  private func parseYearLast(_ spelling: SpellingView) -> Int32? {
    guard spelling.count == 10 else { return nil }
    let byte = UInt64(separator.byte)
    // `DD.MM.YY` and `.MM.YYYY`.
    let head = DigitTemplate(0x3030_0030_3000_3030 | byte &<< 16 | byte &<< 40)
    let tail = DigitTemplate(0x3030_3030_0030_3000 | byte | byte &<< 24)
    let first = head.digits(spelling.fullWord(at: 0))
    let last = tail.digits(spelling.fullWord(at: 2))
    guard head.misfits(first) | tail.misfits(last) == 0 else { return nil }
    let pairs = DigitTemplate.pairs(first)
    let (one, two) = (DigitTemplate.pair(pairs, at: 0), DigitTemplate.pair(pairs, at: 3))
    let isMonthFirst = self == .slashedMonthDayYear
    return DateSpelling.days(
      DigitTemplate.pair(pairs, at: 6), DigitTemplate.pair(DigitTemplate.pairs(last), at: 6),
      isMonthFirst ? one : two, isMonthFirst ? two : one)
  }

  /// Takes a part; false when it is missing.
  @inline(__always)
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
      let isShort = part == .shortMonthName
      guard let (month, length) = MonthName.match(spelling, at: index, isShort: isShort) else {
        return false
      }
      index &+= length
      fields.month = month
      return true
    }
  }

  @inline(__always)
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

  /// - Precondition: nine bytes may be written.
  @inline(__always)
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
      // Without a branch: below 10 the digit takes the place of the zero.
      let second = fields.day >= 10 ? 1 : 0
      let tens = fields.day / 10
      target.storeBytes(of: 0x30 &+ UInt8(truncatingIfNeeded: tens), as: UInt8.self)
      target.storeBytes(
        of: 0x30 &+ UInt8(truncatingIfNeeded: fields.day &- tens &* 10), toByteOffset: second,
        as: UInt8.self)
      return 1 &+ second
    case .monthName, .shortMonthName:
      let name = MonthName(fields.month)
      target.storeBytes(of: name.start.littleEndian, as: UInt64.self)
      // The last letter of the only longer name.
      target.storeBytes(of: 0x72, toByteOffset: 8, as: UInt8.self)
      return part == .monthName ? name.length : 3
    }
  }
}

/// An English month: its first eight letters as a word, the first one lowest, and how many letters it has.
///
/// The words are written as numbers: an import compares every date with them.
private struct MonthName {
  let start: UInt64
  let length: Int

  private init(_ start: UInt64, _ length: Int) {
    self.start = start
    self.length = length
  }

  /// - Parameter month: 1 to 12.
  @inline(__always)
  init(_ month: Int) {
    switch month {
    case 1: self.init(0x0079_7261_756E_614A, 7)
    case 2: self.init(0x7972_6175_7262_6546, 8)
    case 3: self.init(0x0068_6372_614D, 5)
    case 4: self.init(0x006C_6972_7041, 5)
    case 5: self.init(0x0079_614D, 3)
    case 6: self.init(0x656E_754A, 4)
    case 7: self.init(0x796C_754A, 4)
    case 8: self.init(0x7473_7567_7541, 6)
    case 9: self.init(0x6562_6D65_7470_6553, 9)
    case 10: self.init(0x0072_6562_6F74_634F, 7)
    case 11: self.init(0x7265_626D_6576_6F4E, 8)
    default: self.init(0x7265_626D_6563_6544, 8)
    }
  }

  /// The month whose name, or its first three letters, stands at an index and ends by `count`.
  @inline(__always)
  static func match(
    _ spelling: SpellingView, at index: Int, isShort: Bool
  ) -> (month: Int, length: Int)? {
    let word = spelling.word(at: index)
    guard let month = month(word) else { return nil }
    let name = MonthName(month)
    let length = isShort ? 3 : name.length
    let mask = UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- min(length, 8) &* 8)
    // Bytes behind the spelling are zeros here, and so never letters.
    guard (word ^ name.start) & mask == 0 else { return nil }
    // Only September is longer than a word, by its last letter.
    if length == 9 && (index &+ 8 >= spelling.count || spelling[index &+ 8] != 0x72) { return nil }
    return (month, length)
  }

  /// The month whose first three letters a word begins with.
  @inline(__always)
  private static func month(_ word: UInt64) -> Int? {
    switch word & 0xFF_FFFF {
    case 0x6E_614A: 1
    case 0x62_6546: 2
    case 0x72_614D: 3
    case 0x72_7041: 4
    case 0x79_614D: 5
    case 0x6E_754A: 6
    case 0x6C_754A: 7
    case 0x67_7541: 8
    case 0x70_6553: 9
    case 0x74_634F: 10
    case 0x76_6F4E: 11
    case 0x63_6544: 12
    default: nil
    }
  }
}
