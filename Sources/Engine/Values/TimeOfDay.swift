/// A time of day, to the microsecond: 00:00:00 to 23:59:59.999999.
///
/// Thread rule: a plain value, `Sendable`.
public struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since midnight.
  public let microseconds: Int64

  static let range: ClosedRange<Int64> = 0...DateTime.microsecondsPerDay - 1

  /// The time `microseconds` microseconds after midnight; nil when that is not on the same day.
  public init?(microseconds: Int64) {
    guard Self.range.contains(microseconds) else { return nil }
    self.microseconds = microseconds
  }

  /// The nearest time inside the range, for microseconds that come from a file.
  init(clamping microseconds: Int64) {
    self.microseconds = min(max(microseconds, Self.range.lowerBound), Self.range.upperBound)
  }

  /// `HH:MM:SS`, with a fraction of six digits when it is not 0.
  public var description: String { String(decoding: spelling, as: UTF8.self) }

  /// The bytes of the description.
  var spelling: [UInt8] {
    let (seconds, fraction) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    func two(_ number: Int64) -> [UInt8] {
      [
        UInt8(truncatingIfNeeded: 0x30 + number / 10),
        UInt8(truncatingIfNeeded: 0x30 + number % 10),
      ]
    }
    var bytes = two(seconds / 3600) + [0x3A] + two(seconds / 60 % 60) + [0x3A] + two(seconds % 60)
    if fraction == 0 { return bytes }
    bytes.append(0x2E)
    for rest in [fraction / 10_000, fraction / 100 % 100, fraction % 100] { bytes += two(rest) }
    return bytes
  }

  /// Reads `HH:MM`, `HH:MM:SS` and `HH:MM:SS.f` with one to six digits of a fraction; nil for all other
  /// spellings.
  static func parse(_ spelling: SpellingView) -> Int64? {
    guard spelling.count >= 5, spelling.count <= 15, spelling[2] == 0x3A,
      let hour = pair(spelling, 0), let minute = pair(spelling, 3), hour < 24, minute < 60
    else { return nil }
    var microseconds = (hour &* 60 &+ minute) &* 60_000_000
    if spelling.count == 5 { return microseconds }
    guard spelling.count >= 8, spelling[5] == 0x3A, let second = pair(spelling, 6), second < 60
    else { return nil }
    microseconds &+= second &* 1_000_000
    if spelling.count == 8 { return microseconds }
    guard spelling[8] == 0x2E, spelling.count > 9 else { return nil }
    var unit: Int64 = 100_000
    for index in 9..<spelling.count {
      let digit = spelling[index] &- 0x30
      guard digit < 10 else { return nil }
      microseconds &+= Int64(digit) &* unit
      unit /= 10
    }
    return microseconds
  }

  /// Two digits.
  private static func pair(_ spelling: SpellingView, _ index: Int) -> Int64? {
    let (tens, ones) = (spelling[index] &- 0x30, spelling[index &+ 1] &- 0x30)
    return tens < 10 && ones < 10 ? Int64(tens &* 10 &+ ones) : nil
  }

  /// True for an earlier time.
  public static func < (left: Self, right: Self) -> Bool { left.microseconds < right.microseconds }
}
