/// A day of the proleptic Gregorian calendar, from 0000-01-01 to 9999-12-31, without a time zone.
///
/// Thread rule: a plain value, `Sendable`.
public struct CalendarDate: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Days since 1970-01-01; negative before it.
  public let daysSince1970: Int32

  /// 0000-01-01 and 9999-12-31, as days since 1970-01-01.
  package static let range: ClosedRange<Int64> = -719_528...2_932_896

  /// The day `days` days after 1970-01-01; nil outside the years 0 to 9999.
  public init?(daysSince1970 days: Int) {
    guard Self.range.contains(Int64(days)) else { return nil }
    daysSince1970 = Int32(days)
  }

  /// The day of a year (0 to 9999), month (1 to 12) and day of the month; nil when the calendar has
  /// no such day.
  public init?(year: Int, month: Int, day: Int) {
    guard (0...9999).contains(year), (1...12).contains(month), day >= 1,
      day <= Self.length(month: month, year: year)
    else { return nil }
    daysSince1970 = Int32(truncatingIfNeeded: Self.days(year: year, month: month, day: day))
  }

  /// The nearest day inside the calendar's range, for days that come from a file.
  init(clamping days: Int64) {
    daysSince1970 = Int32(
      truncatingIfNeeded: min(max(days, Self.range.lowerBound), Self.range.upperBound))
  }

  /// 0 to 9999.
  public var year: Int { parts.year }
  /// 1 to 12.
  public var month: Int { parts.month }
  /// 1 to 31.
  public var day: Int { parts.day }

  /// `YYYY-MM-DD`.
  public var description: String { String(decoding: Value.date(self).spelling, as: UTF8.self) }

  /// True for an earlier day.
  public static func < (left: Self, right: Self) -> Bool {
    left.daysSince1970 < right.daysSince1970
  }

  // Years begin in March, so that the leap day is a year's last.

  /// After Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
  @inline(__always)
  static func days(year: Int, month: Int, day: Int) -> Int {
    let shifted = month <= 2 ? year &- 1 : year
    let era = (shifted >= 0 ? shifted : shifted &- 399) / 400
    let yearOfEra = shifted &- era &* 400
    let dayOfYear = (153 &* (month > 2 ? month &- 3 : month &+ 9) &+ 2) / 5 &+ day &- 1
    let dayOfEra = yearOfEra &* 365 &+ yearOfEra / 4 &- yearOfEra / 100 &+ dayOfYear
    return era &* 146_097 &+ dayOfEra &- 719_468
  }

  /// After Cassio Neri and Lorenz Schneider, "Euclidean affine functions and their application to calendar
  /// algorithms", with 400 years more, so that no number is negative.
  @inline(__always)
  var parts: (year: Int, month: Int, day: Int) {
    let quarters = 4 &* UInt64(bitPattern: Int64(daysSince1970) &+ 865_565) &+ 3
    let century = quarters / 146_097
    let ofCentury = (quarters &- century &* 146_097) | 3
    // The upper half is the year of the century, the lower one the part of that year.
    let years = ofCentury &* 2_939_745
    let dayOfYear = (years & 0xFFFF_FFFF) / 11_758_980
    let months = 2141 &* dayOfYear &+ 197_913
    let isNext = dayOfYear >= 306
    let year = 100 &* century &+ years &>> 32 &- 400 &+ (isNext ? 1 : 0)
    let month = months &>> 16 &- (isNext ? 12 : 0)
    let day = (months & 0xFFFF) / 2141 &+ 1
    return (
      Int(truncatingIfNeeded: year), Int(truncatingIfNeeded: month), Int(truncatingIfNeeded: day)
    )
  }

  @inline(__always)
  static func length(month: Int, year: Int) -> Int {
    if month == 2 {
      let isLeap = year & 3 == 0 && (year % 100 != 0 || year % 400 == 0)
      return isLeap ? 29 : 28
    }
    // April, June, September and November: the months whose bit is clear.
    return 0b1_0101_1010_1010 >> month & 1 == 1 ? 31 : 30
  }
}
