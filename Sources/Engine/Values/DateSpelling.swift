/// How the date-times of one column are spelled, where the moment leaves a choice.
struct DateTimeStyle: Equatable, Sendable {
  enum Zone: UInt8, Sendable {
    case none = 0
    case utc = 1
    case ahead = 2
    case behind = 3
  }

  var separator: UInt8 = 0x54
  var hasSeconds = true
  /// 0 to 6.
  var fractionDigits: UInt8 = 0
  var zone: Zone = .utc
  /// The offset's magnitude, for `ahead` and `behind`.
  var zoneMinutes: UInt16 = 0

  init(fractionDigits: UInt8 = 0) { self.fractionDigits = fractionDigits }

  /// Every moment in this style is a multiple of this many microseconds.
  var unit: Int64 {
    if !hasSeconds { return 60_000_000 }
    return Int64(
      truncatingIfNeeded: NumberSpelling.integerPowerOfTen(6 &- Int(min(fractionDigits, 6))))
  }

  /// Local time minus UTC, in microseconds.
  var zoneOffset: Int64 {
    let minutes = Int64(zoneMinutes)
    switch zone {
    case .none, .utc: return 0
    case .ahead: return minutes &* 60_000_000
    case .behind: return 0 &- minutes &* 60_000_000
    }
  }
}

/// Reading ISO 8601 dates and date-times from their spellings, and writing them.
enum DateSpelling {
  struct ParsedDateTime {
    var microseconds: Int64
    var style: DateTimeStyle
  }

  /// Days since 1970 of `YYYY-MM-DD`; nil when the calendar has no such day.
  @inline(__always)
  static func parseDate(_ spelling: SpellingView) -> Int32? {
    guard spelling.count == 10 else { return nil }
    return parseDate(spelling, separator: 0x2D)
  }

  /// Days since 1970 of a year, a month and a day of ten bytes.
  ///
  /// - Precondition: the spelling has at least ten bytes.
  @inline(__always)
  static func parseDate(_ spelling: SpellingView, separator: UInt8) -> Int32? {
    let byte = UInt64(separator)
    // `YYYY-MM-` and `YY-MM-DD`.
    let head = DigitTemplate(0x0030_3000_3030_3030 | byte &<< 32 | byte &<< 56)
    let tail = DigitTemplate(0x3030_0030_3000_3030 | byte &<< 16 | byte &<< 40)
    let first = head.digits(spelling.fullWord(at: 0))
    let last = tail.digits(spelling.fullWord(at: 2))
    guard head.misfits(first) | tail.misfits(last) == 0 else { return nil }
    let pairs = DigitTemplate.pairs(last)
    return days(
      DigitTemplate.pair(DigitTemplate.pairs(first), at: 0), DigitTemplate.pair(pairs, at: 0),
      DigitTemplate.pair(pairs, at: 3), DigitTemplate.pair(pairs, at: 6))
  }

  /// Days since 1970; nil when the calendar has no such day.
  @inline(__always)
  static func days(_ century: Int, _ yearOfCentury: Int, _ month: Int, _ day: Int) -> Int32? {
    let year = century &* 100 &+ yearOfCentury
    guard month >= 1, month <= 12, day >= 1, day <= CalendarDate.length(month: month, year: year)
    else { return nil }
    return Int32(truncatingIfNeeded: CalendarDate.days(year: year, month: month, day: day))
  }

  @inline(__always)
  private static func pair(_ spelling: SpellingView, _ index: Int) -> Int? {
    let tens = spelling[index] &- 0x30
    let ones = spelling[index &+ 1] &- 0x30
    guard tens < 10, ones < 10 else { return nil }
    return Int(tens &* 10 &+ ones)
  }

  /// The moment and the style of a date-time; nil when it is not one.
  static func parseDateTime(_ spelling: SpellingView) -> ParsedDateTime? {
    let count = spelling.count
    // YYYY-MM-DDTHH:MM is the shortest, with seconds, fraction and offset the longest.
    guard count >= 16, count <= 32, spelling[10] == 0x54 || spelling[10] == 0x20,
      let (days, minutes) = parseMinutes(spelling)
    else { return nil }
    var style = DateTimeStyle()
    style.separator = spelling[10]
    style.hasSeconds = false
    var microseconds = Int64(minutes) &* 60_000_000
    var index = 16
    if count >= 19, spelling[16] == 0x3A {
      guard let second = pair(spelling, 17), second < 60 else { return nil }
      style.hasSeconds = true
      microseconds &+= Int64(second) &* 1_000_000
      index = 19
      if count > 19, spelling[19] == 0x2E {
        guard let fraction = parseFraction(spelling) else { return nil }
        style.fractionDigits = UInt8(truncatingIfNeeded: fraction.digits)
        microseconds &+= fraction.microseconds
        index = 20 &+ fraction.digits
      }
    }
    guard parseZone(spelling, from: index, into: &style) else { return nil }
    microseconds &+= Int64(days) &* DateTime.microsecondsPerDay &- style.zoneOffset
    guard DateTime.range.contains(microseconds) else { return nil }
    return ParsedDateTime(microseconds: microseconds, style: style)
  }

  /// The day, and the minute of the day, in the first 16 bytes, whatever separates the two.
  @inline(__always)
  private static func parseMinutes(_ spelling: SpellingView) -> (days: Int32, minutes: Int)? {
    // `YYYY-MM-`, and `DD`, a byte that is made 0, `HH:MM`.
    let head = DigitTemplate(0x2D30_302D_3030_3030)
    let tail = DigitTemplate(0x3030_3A30_3000_3030)
    let first = head.digits(spelling.fullWord(at: 0))
    let last = tail.digits(spelling.fullWord(at: 8) & 0xFFFF_FFFF_FF00_FFFF)
    guard head.misfits(first) | tail.misfits(last) == 0 else { return nil }
    let date = DigitTemplate.pairs(first)
    let time = DigitTemplate.pairs(last)
    let (hour, minute) = (DigitTemplate.pair(time, at: 3), DigitTemplate.pair(time, at: 6))
    guard hour < 24, minute < 60,
      let days = days(
        DigitTemplate.pair(date, at: 0), DigitTemplate.pair(date, at: 2),
        DigitTemplate.pair(date, at: 5), DigitTemplate.pair(time, at: 0))
    else { return nil }
    return (days, hour &* 60 &+ minute)
  }

  /// One to six digits from byte 20 on.
  private static func parseFraction(_ spelling: SpellingView) -> (
    microseconds: Int64, digits: Int
  )? {
    let zeros = DigitTemplate(0x3030_3030_3030_3030)
    let values = zeros.digits(spelling.word(at: 20))
    // The lowest mark is exact; bytes past the end are no digits.
    let digits = zeros.misfits(values).trailingZeroBitCount &>> 3
    guard digits >= 1, digits <= 6 else { return nil }
    let aligned = values &<< UInt64(truncatingIfNeeded: (8 &- digits) &* 8)
    let fraction = Int64(truncatingIfNeeded: NumberSpelling.eightDigits(aligned))
    let unit = Int64(truncatingIfNeeded: NumberSpelling.integerPowerOfTen(6 &- digits))
    return (fraction &* unit, digits)
  }

  private static func parseZone(
    _ spelling: SpellingView, from index: Int, into style: inout DateTimeStyle
  ) -> Bool {
    let rest = spelling.count &- index
    if rest == 0 {
      style.zone = .none
      return true
    }
    let sign = spelling[index]
    if sign == 0x5A {
      style.zone = .utc
      return rest == 1
    }
    guard sign == 0x2B || sign == 0x2D, rest == 6, spelling[index &+ 3] == 0x3A,
      let hours = pair(spelling, index &+ 1), let minutes = pair(spelling, index &+ 4), hours < 24,
      minutes < 60
    else { return false }
    style.zone = sign == 0x2B ? .ahead : .behind
    style.zoneMinutes = UInt16(truncatingIfNeeded: hours &* 60 &+ minutes)
    return true
  }

  // MARK: Writing

  /// Writes `YYYY-MM-DD` and returns its length.
  ///
  /// - Precondition: `NumberSpelling.capacity` bytes may be written at `target`.
  static func write(_ date: CalendarDate, to target: UnsafeMutableRawPointer) -> Int {
    let (year, month, day) = date.parts
    writePair(year / 100, to: target)
    writePair(year % 100, to: target + 2)
    target.storeBytes(of: 0x2D, toByteOffset: 4, as: UInt8.self)
    writePair(month, to: target + 5)
    target.storeBytes(of: 0x2D, toByteOffset: 7, as: UInt8.self)
    writePair(day, to: target + 8)
    return 10
  }

  /// Writes a date-time in a style and returns its length.
  ///
  /// - Precondition: `NumberSpelling.capacity` bytes may be written at `target`.
  static func write(
    _ moment: DateTime, style: DateTimeStyle, to target: UnsafeMutableRawPointer
  ) -> Int {
    // The local time may lie a day out of range when the moment comes from a damaged file.
    let local = DateTime(clamping: moment.microsecondsSince1970 &+ style.zoneOffset)
      .microsecondsSince1970
    var days = local / DateTime.microsecondsPerDay
    var time = local % DateTime.microsecondsPerDay
    if time < 0 {
      time &+= DateTime.microsecondsPerDay
      days &-= 1
    }
    _ = write(CalendarDate(clamping: days), to: target)
    target.storeBytes(of: style.separator, toByteOffset: 10, as: UInt8.self)
    let seconds = Int(truncatingIfNeeded: time / 1_000_000)
    writePair(seconds / 3600, to: target + 11)
    target.storeBytes(of: 0x3A, toByteOffset: 13, as: UInt8.self)
    writePair(seconds / 60 % 60, to: target + 14)
    var length = 16
    if style.hasSeconds {
      target.storeBytes(of: 0x3A, toByteOffset: 16, as: UInt8.self)
      writePair(seconds % 60, to: target + 17)
      length = 19
      if style.fractionDigits > 0 {
        target.storeBytes(of: 0x2E, toByteOffset: 19, as: UInt8.self)
        let micros = Int(truncatingIfNeeded: time % 1_000_000)
        writePair(micros / 10_000, to: target + 20)
        writePair(micros / 100 % 100, to: target + 22)
        writePair(micros % 100, to: target + 24)
        length = 20 &+ Int(min(style.fractionDigits, 6))
      }
    }
    return length &+ writeZone(style, to: target + length)
  }

  private static func writeZone(
    _ style: DateTimeStyle, to target: UnsafeMutableRawPointer
  ) -> Int {
    switch style.zone {
    case .none: return 0
    case .utc:
      target.storeBytes(of: 0x5A, as: UInt8.self)
      return 1
    case .ahead, .behind:
      target.storeBytes(of: style.zone == .ahead ? 0x2B : 0x2D, as: UInt8.self)
      writePair(Int(style.zoneMinutes) / 60, to: target + 1)
      target.storeBytes(of: 0x3A, toByteOffset: 3, as: UInt8.self)
      writePair(Int(style.zoneMinutes) % 60, to: target + 4)
      return 6
    }
  }

  /// Two digits; `value` is 0 to 99.
  @inline(__always)
  static func writePair(_ value: Int, to target: UnsafeMutableRawPointer) {
    let tens = value / 10
    target.storeBytes(of: UInt8(truncatingIfNeeded: tens) &+ 0x30, as: UInt8.self)
    target.storeBytes(
      of: UInt8(truncatingIfNeeded: value &- tens &* 10) &+ 0x30, toByteOffset: 1, as: UInt8.self)
  }
}
