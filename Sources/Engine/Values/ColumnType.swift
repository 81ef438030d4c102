/// How the spellings of a column are read as values.
///
/// The type says nothing about how a column is stored: every encoding keeps the spelling of each
/// field to the letter, so changing a column from `int` to `text` rewrites nothing. The raw values
/// are part of the file format.
///
/// Thread rule: a plain value, `Sendable`.
public enum ColumnType: UInt8, Sendable, CaseIterable {
  /// Whole numbers of 64 bits, signed.
  case int = 1
  /// IEEE 754 numbers of 64 bits; `NaN`, `inf` and `-inf` are numbers too.
  case double = 2
  /// `true` and `false`, in lower, Title or UPPER case.
  case bool = 3
  /// Days of the proleptic Gregorian calendar, `YYYY-MM-DD`.
  case date = 4
  /// Moments in microseconds, `YYYY-MM-DDTHH:MM:SS` and its variants.
  case dateTime = 5
  /// Unicode text, stored as UTF-8.
  case text = 6
  /// Bytes without further meaning.
  case data = 7
  /// Times of day in microseconds, `HH:MM:SS` and its variants.
  case time = 8

  /// The name used on the command line and in reports.
  public var name: String {
    switch self {
    case .int: "int"
    case .double: "double"
    case .bool: "bool"
    case .date: "date"
    case .dateTime: "datetime"
    case .text: "text"
    case .data: "data"
    case .time: "time"
    }
  }

  /// The type of that name, or nil.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}
