/// How the spellings of a column are read as values.
///
/// The type does not determine how a column is stored: every encoding keeps the exact spelling of each field,
/// so changing a column from `int` to `text` rewrites nothing. The raw values are part of the file format.
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
  /// Decimal numbers of up to 38 digits, never rounded: amounts of money, shares, long measurements.
  case decimal = 9
  /// 128 bits, spelled as 32 hexadecimal digits.
  case uuid = 10

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
    case .decimal: "decimal"
    case .uuid: "uuid"
    }
  }

  /// Whether each value is just its spelling, byte by byte.
  package var isSpelled: Bool { self == .text || self == .data }

  /// Whether values are compared as 17 bytes instead of 8: see `WideNumber`.
  package var isWide: Bool { self == .decimal || self == .uuid }

  /// Whether the classes of spellings (`TypeSet`) tell which of them are values; otherwise each spelling must
  /// be read.
  package var hasClasses: Bool { self != .time && !isWide }

  /// The type with that name, or nil.
  public init?(name: String) {
    guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = match
  }
}
