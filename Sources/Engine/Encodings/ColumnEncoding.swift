/// How a segment stores its column. The numbers are part of the file format.
package enum ColumnEncoding: UInt8, Sendable, CaseIterable {
  case constant = 0
  case integers = 1
  case decimals = 2
  case doubles = 3
  case dictionary = 4
  case packedText = 5
  case dates = 6
  case dateTimes = 7
  case symbolText = 8

  /// The name shown in reports.
  package var name: String {
    switch self {
    case .constant: "constant"
    case .integers: "integers"
    case .decimals: "decimals"
    case .doubles: "doubles"
    case .dictionary: "dictionary"
    case .packedText: "packed text"
    case .dates: "dates"
    case .dateTimes: "date-times"
    case .symbolText: "symbol text"
    }
  }
}

/// The optional parts that a segment has.
struct SegmentFlags: OptionSet {
  let rawValue: UInt16

  /// A null bitmap, see `RowMarks`.
  static let nullBitmap = SegmentFlags(rawValue: 1)
  /// Exceptions, see `RowMarks`.
  static let exceptions = SegmentFlags(rawValue: 2)
  /// Dictionary: the index after the last entry means null.
  static let nullIndex = SegmentFlags(rawValue: 4)
  /// Dictionary: a table of symbols or digits compresses the entries.
  static let symbols = SegmentFlags(rawValue: 8)

  static let known: SegmentFlags = [.nullBitmap, .exceptions, .nullIndex, .symbols]
}
