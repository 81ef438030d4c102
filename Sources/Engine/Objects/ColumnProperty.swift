/// A Swift type whose values a column can hold unchanged: the types of the properties of `Codable` types.
protocol ColumnProperty {
  static var columnType: ColumnType { get }
  /// Nil when the value is too large for the column.
  var columnValue: Value? { get }
  /// Nil when the value does not have this type.
  init?(_ value: Value)
  /// A value for trying how a type decodes itself. A type that rejects the first example gets a second.
  static func example(_ attempt: Int) -> Self
}

/// The number of different examples.
let exampleAttempts = 2

protocol IntegerProperty: ColumnProperty, FixedWidthInteger {}

extension IntegerProperty {
  static var columnType: ColumnType { .int }
  var columnValue: Value? { Int64(exactly: self).map { .int($0) } }
  init?(_ value: Value) {
    switch value {
    case .int(let int): self.init(exactly: int)
    case .double(let double): self.init(exactly: double)
    default: return nil
    }
  }
  static func example(_ attempt: Int) -> Self { attempt == 0 ? 0 : 1 }
}

extension Int: IntegerProperty {}
extension Int8: IntegerProperty {}
extension Int16: IntegerProperty {}
extension Int32: IntegerProperty {}
extension Int64: IntegerProperty {}
extension UInt: IntegerProperty {}
extension UInt8: IntegerProperty {}
extension UInt16: IntegerProperty {}
extension UInt32: IntegerProperty {}
extension UInt64: IntegerProperty {}

extension Bool: ColumnProperty {
  static var columnType: ColumnType { .bool }
  var columnValue: Value? { .bool(self) }
  init?(_ value: Value) {
    guard case .bool(let bool) = value else { return nil }
    self = bool
  }
  static func example(_ attempt: Int) -> Bool { attempt > 0 }
}

extension Double: ColumnProperty {
  static var columnType: ColumnType { .double }
  var columnValue: Value? { .double(self) }
  init?(_ value: Value) {
    switch value {
    case .double(let double): self = double
    case .int(let int): self.init(exactly: int)
    default: return nil
    }
  }
  static func example(_ attempt: Int) -> Double { attempt == 0 ? 0 : 1 }
}

extension Float: ColumnProperty {
  static var columnType: ColumnType { .double }
  var columnValue: Value? { .double(Double(self)) }
  /// The nearest number; nil for values that are too large.
  init?(_ value: Value) {
    guard let double = Double(value) else { return nil }
    self.init(double)
    if isInfinite, double.isFinite { return nil }
  }
  static func example(_ attempt: Int) -> Float { attempt == 0 ? 0 : 1 }
}

extension String: ColumnProperty {
  static var columnType: ColumnType { .text }
  var columnValue: Value? { .text(self) }
  init?(_ value: Value) {
    guard case .text(let text) = value else { return nil }
    self = text
  }
  /// The second example is a UUID.
  static func example(_ attempt: Int) -> String {
    attempt == 0 ? "" : "00000000-0000-0000-0000-000000000000"
  }
}

extension CalendarDate: ColumnProperty {
  static var columnType: ColumnType { .date }
  var columnValue: Value? { .date(self) }
  init?(_ value: Value) {
    guard case .date(let date) = value else { return nil }
    self = date
  }
  static func example(_ attempt: Int) -> CalendarDate { CalendarDate(clamping: 0) }
}

extension DateTime: ColumnProperty {
  static var columnType: ColumnType { .dateTime }
  var columnValue: Value? { .dateTime(self) }
  init?(_ value: Value) {
    guard case .dateTime(let moment) = value else { return nil }
    self = moment
  }
  static func example(_ attempt: Int) -> DateTime { DateTime(clamping: 0) }
}

extension TimeOfDay: ColumnProperty {
  static var columnType: ColumnType { .time }
  var columnValue: Value? { .time(self) }
  init?(_ value: Value) {
    guard case .time(let time) = value else { return nil }
    self = time
  }
  static func example(_ attempt: Int) -> TimeOfDay { TimeOfDay(clamping: 0) }
}

extension ExactDecimal: ColumnProperty {
  static var columnType: ColumnType { .decimal }
  var columnValue: Value? { .decimal(self) }
  init?(_ value: Value) {
    switch value {
    case .decimal(let decimal): self = decimal
    case .int(let int): self.init(int)
    default: return nil
    }
  }
  static func example(_ attempt: Int) -> ExactDecimal { ExactDecimal(Int64(attempt)) }
}

extension UniqueIdentifier: ColumnProperty {
  static var columnType: ColumnType { .uuid }
  var columnValue: Value? { .uuid(self) }
  init?(_ value: Value) {
    guard case .uuid(let identifier) = value else { return nil }
    self = identifier
  }
  static func example(_ attempt: Int) -> UniqueIdentifier {
    UniqueIdentifier(bits: UInt128(attempt))
  }
}

/// Bytes: the only array that a column can hold.
extension Array: ColumnProperty where Element == UInt8 {
  static var columnType: ColumnType { .data }
  var columnValue: Value? { .data(self) }
  init?(_ value: Value) {
    guard case .data(let bytes) = value else { return nil }
    self = bytes
  }
  static func example(_ attempt: Int) -> [UInt8] { [] }
}
