import Engine

/// How the values of a server's query are spelled for the column that they go to.
///
/// A query has one spelling for each type, whatever the values of a table look like: `9.125` is no 9125
/// beside `1.234,5`. What the column reads as the same value stays as it is.
///
/// Thread rule: a plain value, `Sendable`.
struct QuerySpelling: Sendable, Equatable {
  private let type: ColumnType
  private let reading: Reading
  private let isKey: Bool

  /// - Parameters:
  ///   - type: the type of the query's values.
  ///   - reading: how the column is read.
  ///   - isKey: whether it is in the primary key, which is compared by its spelling.
  /// - Returns: nil when every value stays as it is.
  init?(_ type: ColumnType, _ reading: Reading, isKey: Bool) {
    let isNumber = reading.notation != nil && Self.numbers.contains(type)
    let isDecimalKey = isKey && type == .decimal
    guard
      isNumber ? Self.numbers.contains(reading.type) : reading.type == type,
      isNumber || isDecimalKey || type == .bool || type == .dateTime
    else { return nil }
    // Keys are compared as they are spelled, and moments have several spellings.
    if isKey, type == .dateTime { return nil }
    (self.type, self.reading, self.isKey) = (type, reading, isKey)
  }

  /// Types whose values have a point.
  private static let numbers: [ColumnType] = [.double, .decimal]

  /// Returns whether values of a query may be misread in a column: numbers with a point, where the column has
  /// points between thousands, and whole numbers.
  static func mayBeMisread(_ type: ColumnType, _ column: Column) -> Bool {
    numbers.contains(type) && column.type == .int
      && column.notation?.patterns.contains { $0.contains(".") } == true
  }

  /// The new spelling of a value; nil when it stays as it is.
  func respelled(_ field: UnsafeRawBufferPointer) -> [UInt8]? {
    guard let value = value(field) else { return nil }
    if Value(spelling: field, as: reading) == value {
      let isUnfit = isKey && KeySpelling.isUnfit(field, reading.type)
      return isUnfit ? value.spelling : nil
    }
    return (reading.notation?.stored(value) ?? value).spelling
  }

  /// The value that the server means; nil for what has no equivalent here.
  private func value(_ field: UnsafeRawBufferPointer) -> Value? {
    switch type {
    case .bool:
      if field.elementsEqual([UInt8(ascii: "t")]) { return .bool(true) }
      return field.elementsEqual([UInt8(ascii: "f")]) ? .bool(false) : nil
    case .dateTime:
      return Value(spelling: field, as: Reading(.dateTime))
        ?? Self.moments.flatMap { Value(spelling: field, as: Reading(.dateTime, $0)) }
    default: return Value(spelling: field, as: Reading(reading.type))
    }
  }

  /// A moment with its zone, which has no minutes where that has none.
  private static let moments = try? Notation(
    .dateTime, ["%Y-%m-%d %H:%M:%S%z", "%Y-%m-%d %H:%M:%S.%f%z"])
}
