/// Makes a row of a table from an `Encodable` object: its properties, by their coding keys.
///
/// | property | column |
/// |---|---|
/// | `Bool` | bool |
/// | `Int`, `Int8` ... `UInt64` | int, or a double that is the same; above `Int64.max` refused |
/// | `Double`, `Float` | double |
/// | `String` | text |
/// | `CalendarDate`, `DateTime`, `TimeOfDay` | date, datetime, time |
/// | `ExactDecimal`, `UniqueIdentifier` | decimal, uuid |
/// | `[UInt8]` | data |
/// | an enum with one of these as its raw value, or anything that encodes itself as one | that |
/// | an optional of these | null for nil |
///
/// Foundation's `Date` encodes itself as a double, seconds since 2001; `UUID` as text: columns of moments and
/// of UUIDs take `DateTime` and `UniqueIdentifier`. Everything else, such as lists (Foundation's `Data` is
/// one) and nested objects, is rejected with the property's name.
///
/// Thread rule: one object at a time, on one thread.
final class RowEncoder {
  private let names: [String]
  private let indices: [String: Int]
  private let fillings: [Value]
  // Unchecked: no function called during their changes accesses them again, but every property does.
  /// A value for each column; a column without a property has its default.
  @exclusivity(unchecked) private(set) var row: [Value] = []
  /// The columns that have received a value; a column occurs twice when its name was encoded twice.
  @exclusivity(unchecked) private var given: [Int] = []
  /// The column of the next property in most objects: the one after the previous property's.
  @exclusivity(unchecked) private var next = 0
  /// The first impossible request; encoding continues until a call that can throw.
  private var failure: EngineError?
  /// The first property that has no column.
  private var unknown: String?
  private var type: any Any.Type = Never.self

  init(_ schema: TableSchema) {
    names = schema.columns.map(\.name)
    indices = schema.indices
    fillings = schema.columns.map(\.filling)
  }

  /// Makes `row` and `values` of an object.
  ///
  /// - Parameter table: the table's name, for messages.
  /// - Throws: `EngineError.invalidProperty`, `.noSuchColumn`, and the errors of the object's own `encode`.
  func encode<Model: Encodable>(_ object: Model, table: String) throws {
    type = Model.self
    row = fillings
    given.removeAll(keepingCapacity: true)
    next = 0
    failure = nil
    unknown = nil
    do {
      try object.encode(to: ObjectEncoder(row: self))
    } catch EncodingError.invalidValue(_, let context) {
      // The default for integers of 128 bits ends here.
      throw error(context.property, context.debugDescription)
    }
    if let failure { throw failure }
    if let unknown { throw EngineError.noSuchColumn(table: table, column: unknown, known: names) }
  }

  /// The values of the object's properties, by column; when a name occurs twice, the later value counts.
  var values: [String: Value] {
    Dictionary(given.map { (names[$0], row[$0]) }, uniquingKeysWith: { $1 })
  }

  fileprivate func error(_ property: String, _ reason: String) -> EngineError {
    .invalidProperty(type: "\(type)", property: property, reason: reason)
  }

  fileprivate func refuse(_ property: String, _ reason: String) -> EngineError {
    let error = error(property, reason)
    failure = failure ?? error
    return error
  }

  fileprivate func set(_ value: Value, _ property: String) {
    let isNext = next < names.count && names[next] == property
    guard let place = isNext ? next : indices[property] else {
      unknown = unknown ?? property
      return
    }
    row[place] = value
    given.append(place)
    next = place + 1
  }

  fileprivate func set<Property: Encodable>(_ value: Property, _ property: String) throws {
    if let own = value as? any ColumnProperty { return try set(own: own, property) }
    try value.encode(to: PropertyEncoder(row: self, property: property))
  }

  /// Like `set`, for a type that is known to fit a column: the check would take longer than the rest.
  @inline(__always)
  fileprivate func set<Property: ColumnProperty>(own value: Property, _ property: String) throws {
    guard let columnValue = value.columnValue else {
      throw error(
        property, "\(value) is too large for a column of \(Property.columnType.name)")
    }
    set(columnValue, property)
  }

  /// Like `set(own:)`, for optionals.
  @inline(__always)
  fileprivate func set<Property: ColumnProperty>(own value: Property?, _ property: String) throws {
    guard let value else { return set(.null, property) }
    try set(own: value, property)
  }
}

extension EncodingError.Context {
  /// The coding path of the value that could not be encoded.
  fileprivate var property: String { codingPath.map(\.stringValue).joined(separator: ".") }
}

/// The encoder of an object.
private struct ObjectEncoder: Encoder, SingleValueEncodingContainer {
  let row: RowEncoder
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  private static let reason = "a row is made of an object with named properties"

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(PropertiesContainer(row: row))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    RefusingEncoder(error: row.refuse("", Self.reason))
  }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  func encodeNil() throws { throw row.error("", Self.reason) }

  /// For objects that wrap another object.
  func encode<Wrapped: Encodable>(_ value: Wrapped) throws {
    if value is any ColumnProperty { throw row.error("", Self.reason) }
    try value.encode(to: self)
  }
}

private struct PropertiesContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let row: RowEncoder
  var codingPath: [any CodingKey] { [] }
  private static var reason: String { "objects and lists inside an object have no column" }

  func encodeNil(forKey key: Key) { row.set(.null, key.stringValue) }

  func encode<Property: Encodable>(_ value: Property, forKey key: Key) throws {
    try row.set(value, key.stringValue)
  }

  /// Encodes nil as null; the standard library's version would omit the column. It has an overload for each
  /// of the types below, which takes precedence over a generic one.
  func encodeIfPresent<Property: Encodable>(_ value: Property?, forKey key: Key) throws {
    try encodeOrNil(value, key)
  }

  private func encodeOrNil<Property: Encodable>(_ value: Property?, _ key: Key) throws {
    guard let value else { return encodeNil(forKey: key) }
    try encode(value, forKey: key)
  }

  // One method for each type: a generic method would look up the type at run time, for each property.
  func encode(_ value: Bool, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: String, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Double, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Float, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Int, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Int8, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Int16, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Int32, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: Int64, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: UInt, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: UInt8, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: UInt16, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: UInt32, forKey key: Key) throws { try row.set(own: value, key.stringValue) }
  func encode(_ value: UInt64, forKey key: Key) throws { try row.set(own: value, key.stringValue) }

  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws {
    try row.set(own: value, key.stringValue)
  }

  func nestedContainer<Inner: CodingKey>(
    keyedBy: Inner.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Inner> {
    RefusingEncoder(error: row.refuse(key.stringValue, Self.reason)).container(keyedBy: keyedBy)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    RefusingEncoder(error: row.refuse(key.stringValue, Self.reason))
  }

  func superEncoder() -> any Encoder { RefusingEncoder(error: row.refuse("super", Self.reason)) }

  func superEncoder(forKey key: Key) -> any Encoder {
    RefusingEncoder(error: row.refuse(key.stringValue, Self.reason))
  }
}

/// The encoder of one property.
private struct PropertyEncoder: Encoder, SingleValueEncodingContainer {
  let row: RowEncoder
  let property: String
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private func refusing(_ what: String) -> RefusingEncoder {
    RefusingEncoder(
      error: row.refuse(
        property,
        "it is \(what), which has no column; leave it out of the coding keys, or "
          + "encode it as one text or number"))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    refusing("an object of its own").container(keyedBy: type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    refusing("a list (for bytes take [UInt8], not Data)")
  }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func encodeNil() { row.set(.null, property) }

  func encode<Property: Encodable>(_ value: Property) throws { try row.set(value, property) }
}

/// Throws the same error for everything that is encoded. Requesting a container cannot throw, so there must
/// be one.
private struct RefusingEncoder: Encoder, UnkeyedEncodingContainer, SingleValueEncodingContainer {
  let error: EngineError
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }
  var count: Int { 0 }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(RefusingContainer(error: error))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }
  func encodeNil() throws { throw error }
  func encode<Property: Encodable>(_ value: Property) throws { throw error }
  func nestedContainer<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    container(keyedBy: type)
  }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { self }
}

private struct RefusingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let error: EngineError
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) throws { throw error }
  func encode<Property: Encodable>(_ value: Property, forKey key: Key) throws { throw error }
  func nestedContainer<Inner: CodingKey>(
    keyedBy type: Inner.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Inner> {
    RefusingEncoder(error: error).container(keyedBy: type)
  }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    RefusingEncoder(error: error)
  }
  func superEncoder() -> any Encoder { RefusingEncoder(error: error) }
  func superEncoder(forKey key: Key) -> any Encoder { RefusingEncoder(error: error) }
}
