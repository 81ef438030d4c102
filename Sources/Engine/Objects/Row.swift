/// An object's values, copied out of a version.
///
/// Thread rule: a plain value, `Sendable`.
public struct Row: Sendable, Equatable {
  /// The object's key, assigned on insertion and never reused.
  public let key: Int64
  /// A value for each column, in the order of the table's columns.
  public internal(set) var values: [Value]
  private let shape: RowShape

  package init(key: Int64, values: [Value], shape: RowShape) {
    self.key = key
    self.values = values
    self.shape = shape
  }

  /// The value of a column; nil when the table has no column of that name.
  public subscript(column: String) -> Value? {
    shape.schema.index(of: column).map { values[$0] }
  }

  /// The names of the columns, in their order.
  public var columnNames: [String] { shape.columns.map(\.name) }

  /// True for the same key with the same values in the same order of columns.
  public static func == (left: Row, right: Row) -> Bool {
    left.key == right.key && left.values == right.values
  }
}

extension Row: CustomStringConvertible {
  /// The object on one line for people: its key, then each column with its value; long values are cut off.
  public var description: String {
    let fields = zip(columnNames, values).map { "\($0): \($1.described)" }
    return "object \(key) (\(fields.joined(separator: ", ")))"
  }
}

/// The columns that rows have in common. An object, so that a row retains one object instead of the parts of
/// a schema.
package final class RowShape: Sendable {
  package let schema: TableSchema
  package var columns: [Column] { schema.columns }

  package init(_ schema: TableSchema) { self.schema = schema }

  /// True when the other shape has the same columns, read in the same way, whatever their names.
  func isSame(_ other: RowShape) -> Bool {
    schema.columnIDs == other.schema.columnIDs
      && zip(columns, other.columns).allSatisfy { $0.reading == $1.reading }
  }
}
