/// A moment in time, in microseconds, inside the years 0 to 9999 (UTC).
///
/// Thread rule: a plain value, `Sendable`.
public struct DateTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Microseconds since 1970-01-01T00:00:00Z; negative before it. Leap seconds do not count.
  public let microsecondsSince1970: Int64

  static let microsecondsPerDay: Int64 = 86_400_000_000
  package static let range: ClosedRange<Int64> =
    CalendarDate.range.lowerBound * microsecondsPerDay...(CalendarDate.range.upperBound + 1)
    * microsecondsPerDay - 1

  /// The moment `microseconds` microseconds after 1970-01-01T00:00:00Z; nil outside the years 0 to 9999.
  public init?(microsecondsSince1970 microseconds: Int64) {
    guard Self.range.contains(microseconds) else { return nil }
    microsecondsSince1970 = microseconds
  }

  /// The nearest moment inside the range, for microseconds that come from a file.
  package init(clamping microseconds: Int64) {
    microsecondsSince1970 = min(max(microseconds, Self.range.lowerBound), Self.range.upperBound)
  }

  /// `YYYY-MM-DDTHH:MM:SSZ`, with a fraction of six digits when it is not 0.
  public var description: String { String(decoding: Value.dateTime(self).spelling, as: UTF8.self) }

  /// True for an earlier moment.
  public static func < (left: Self, right: Self) -> Bool {
    left.microsecondsSince1970 < right.microsecondsSince1970
  }
}
