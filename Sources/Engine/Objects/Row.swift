/// An object's values, copied out of a version.
public struct Row: Sendable, Equatable {
  /// The object's key, given when it was inserted and never used again.
  public let key: Int64
  /// A value for each column, in the order of the table's columns.
  public let values: [Value]
  private let schema: TableSchema

  package init(key: Int64, values: [Value], schema: TableSchema) {
    self.key = key
    self.values = values
    self.schema = schema
  }

  /// The value of a column; nil when the table has no column of that name.
  public subscript(column: String) -> Value? {
    schema.index(of: column).map { values[$0] }
  }

  /// The names of the columns, in their order.
  public var columnNames: [String] { schema.columns.map(\.name) }

  public static func == (left: Row, right: Row) -> Bool {
    left.key == right.key && left.values == right.values
  }
}
