/// An object's values in place, without copying: for reading many objects fast.
///
/// Columns are numbered by their index among the table's columns, from 0 (`TableSchema.index(of:)`).
///
/// Unsafe for speed: the view and the bytes that it returns are valid only during the call of the closure
/// that receives it. Columns that do not exist read as null.
///
/// Thread rule: confined to that call.
public struct RowView {
  private let columns: UnsafePointer<Unmanaged<ColumnWindow>>
  /// The number of the table's columns.
  public let count: Int
  private let row: Int
  /// The object's key.
  public let key: Int64

  @inline(__always)
  init(_ columns: UnsafePointer<Unmanaged<ColumnWindow>>, count: Int, row: Int, key: Int64) {
    self.columns = columns
    self.count = count
    self.row = row
    self.key = key
  }

  @inline(__always)
  private func with<Result>(
    _ column: Int, else missing: Result, _ body: (ColumnWindow) throws -> Result
  ) rethrows -> Result {
    guard column >= 0, column < count else { return missing }
    return try columns[column]._withUnsafeGuaranteedRef { try body($0) }
  }

  @inline(__always)
  private func number(_ column: Int, _ type: ColumnType) -> Int64? {
    with(column, else: nil) { $0.type == type ? $0.number(row) : nil }
  }

  /// True when the value is null.
  public func isNull(_ column: Int) -> Bool { with(column, else: true) { $0.isNull(row) } }

  /// The value of a column of integers; nil for null and other types.
  public func int(_ column: Int) -> Int64? { number(column, .int) }

  /// The value of a column of doubles; nil for null and other types.
  public func double(_ column: Int) -> Double? {
    number(column, .double).map { Double(bitPattern: UInt64(bitPattern: $0)) }
  }

  /// The value of a column of booleans; nil for null and other types.
  public func bool(_ column: Int) -> Bool? { number(column, .bool).map { $0 != 0 } }

  /// The value of a column of dates; nil for null and other types.
  public func date(_ column: Int) -> CalendarDate? {
    number(column, .date).map { CalendarDate(clamping: $0) }
  }

  /// The value of a column of date-times; nil for null and other types.
  public func dateTime(_ column: Int) -> DateTime? {
    number(column, .dateTime).map { DateTime(clamping: $0) }
  }

  /// The value of a column of times of day; nil for null and other types.
  public func time(_ column: Int) -> TimeOfDay? {
    number(column, .time).map { TimeOfDay(clamping: $0) }
  }

  /// The value of a column of decimals; nil for null and other types.
  ///
  /// - Throws: `EngineError.damaged`, through the call that gave this view, when the spelling is not a
  ///   decimal.
  public func decimal(_ column: Int) throws -> ExactDecimal? {
    guard case .decimal(let decimal)? = try wide(column, .decimal) else { return nil }
    return decimal
  }

  /// The value of a column of UUIDs; nil for null and other types.
  ///
  /// - Throws: `EngineError.damaged`, through the call that gave this view, when the spelling is not a UUID.
  public func uuid(_ column: Int) throws -> UniqueIdentifier? {
    guard case .uuid(let identifier)? = try wide(column, .uuid) else { return nil }
    return identifier
  }

  private func wide(_ column: Int, _ type: ColumnType) throws -> Value? {
    try with(column, else: nil) { $0.type == type ? try $0.value(row) : nil }
  }

  /// The bytes of a column of text (UTF-8 unless the file is damaged) or of data.
  public func bytes(_ column: Int) -> UnsafeRawBufferPointer? {
    with(column, else: nil) { $0.type.isSpelled ? $0.bytes(row) : nil }
  }

  /// The value of any column, copied.
  ///
  /// - Throws: `EngineError.damaged`, through the call that gave this view, when text is not UTF-8.
  public func value(_ column: Int) throws -> Value {
    try with(column, else: .null) { try $0.value(row) }
  }
}
