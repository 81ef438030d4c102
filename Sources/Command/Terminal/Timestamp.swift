import Base
import Engine

/// Moments as logs write them: `2026-11-21T03:00:05Z`.
enum Timestamp {
  static var now: String { text(secondsSince1970: System.secondsSince1970) }

  /// In UTC, after the proleptic Gregorian calendar.
  ///
  /// The day's date is found as in Howard Hinnant's `civil_from_days`: years that begin in March, in
  /// eras of 400.
  static func text(secondsSince1970 seconds: Int) -> String {
    let day = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    let second = seconds - day * 86_400
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
      (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    let date = [
      digits(year, 4), digits(month, 2), digits(dayOfYear - (153 * marchMonth + 2) / 5 + 1, 2),
    ]
    let time = [digits(second / 3600, 2), digits(second / 60 % 60, 2), digits(second % 60, 2)]
    return date.joined(separator: "-") + "T" + time.joined(separator: ":") + "Z"
  }

  private static func digits(_ number: Int, _ count: Int) -> String {
    let text = String(number)
    return String(repeating: "0", count: max(0, count - text.count)) + text
  }
}
