/// Decodes a `Decodable` object from a row: each property is the column with the name of its coding key. The
/// types are those of `RowEncoder`.
struct RowDecoder {
  fileprivate let row: Row
  fileprivate let type: String

  /// - Throws: `EngineError.invalidProperty`, and the errors of the type's own `init(from:)`.
  static func object<Model: Decodable>(_ type: Model.Type, of row: Row) throws -> Model {
    let decoder = RowDecoder(row: row, type: "\(Model.self)")
    do {
      return try Model(from: ObjectDecoder(row: decoder))
    } catch let error as DecodingError {
      throw decoder.error(error.property, error.reason)
    }
  }

  fileprivate func error(_ property: String, _ reason: String) -> EngineError {
    .invalidProperty(type: type, property: property, reason: reason)
  }

  fileprivate func value(_ property: String) throws -> Value {
    guard let value = row[property] else {
      throw error(property, "the row has no column of that name")
    }
    return value
  }

  fileprivate func decode<Property: Decodable>(
    _ type: Property.Type, _ value: Value, _ property: String
  ) throws -> Property {
    guard let own = type as? any ColumnProperty.Type else {
      do {
        return try Property(from: PropertyDecoder(row: self, value: value, property: property))
      } catch let failure as DecodingError {
        throw error(property, "\(value.described) is no \(type): \(failure.reason)")
      }
    }
    guard let result = own.init(value) as? Property else {
      throw error(property, reason(value, own))
    }
    return result
  }

  private func reason(_ value: Value, _ type: any ColumnProperty.Type) -> String {
    guard let found = value.columnType else {
      return "the object has null there; make the property optional"
    }
    if found == type.columnType || (found == .double && type.columnType == .int) {
      return "\(value.described) does not fit \(type)"
    }
    return "the column is \(found.article), which is no \(type)"
  }
}

extension DecodingError {
  private var context: Context {
    switch self {
    case .typeMismatch(_, let context), .valueNotFound(_, let context),
      .keyNotFound(_, let context), .dataCorrupted(let context):
      context
    @unknown default: Context(codingPath: [], debugDescription: "\(self)")
    }
  }

  /// The coding path of the value that could not be decoded.
  var property: String { context.codingPath.map(\.stringValue).joined(separator: ".") }

  /// The reason of the failure, in words.
  var reason: String { context.debugDescription }
}

/// The decoder of an object.
private struct ObjectDecoder: Decoder, SingleValueDecodingContainer {
  let row: RowDecoder
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private var refusal: EngineError {
    row.error("", "a row is read into an object with named properties")
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(PropertiesContainer(row: row))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw refusal }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func decodeNil() -> Bool { false }

  /// For objects that wrap another object.
  func decode<Wrapped: Decodable>(_ type: Wrapped.Type) throws -> Wrapped {
    if type is any ColumnProperty.Type { throw refusal }
    return try Wrapped(from: self)
  }
}

private struct PropertiesContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: RowDecoder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { row.row.columnNames.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { row.row[key.stringValue] != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try row.value(key.stringValue) == .null }

  func decode<Property: Decodable>(_ type: Property.Type, forKey key: Key) throws -> Property {
    try row.decode(type, try row.value(key.stringValue), key.stringValue)
  }

  private func refusal(_ property: String) -> EngineError {
    row.error(property, "objects and lists inside an object have no column")
  }

  func nestedContainer<Inner: CodingKey>(
    keyedBy type: Inner.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Inner> { throw refusal(key.stringValue) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw refusal(key.stringValue)
  }

  func superDecoder() throws -> any Decoder { throw refusal("super") }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw refusal(key.stringValue) }
}

/// The decoder of one property.
private struct PropertyDecoder: Decoder, SingleValueDecodingContainer {
  let row: RowDecoder
  let value: Value
  let property: String
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private func refusal(_ what: String) -> EngineError {
    row.error(property, "it is \(what), which has no column")
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw refusal("an object of its own")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw refusal("a list (for bytes take [UInt8], not Data)")
  }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func decodeNil() -> Bool { value == .null }

  func decode<Property: Decodable>(_ type: Property.Type) throws -> Property {
    try row.decode(type, value, property)
  }
}

extension Row {
  /// Decodes the object as a `Decodable` type: each property is the column with the name of its coding key.
  /// Other columns are ignored; an optional property without a column is nil.
  ///
  ///     struct App: Codable { var name: String, stars: Double? }
  ///     let app = try table.row(forKey: 1)?.decode(App.self)
  ///
  /// The types of properties: `Bool`; integers of all widths, which must hold the value exactly, also from a
  /// column of doubles; `Double` and `Float`; `String`; `CalendarDate`, `DateTime`, `TimeOfDay`;
  /// `ExactDecimal`, `UniqueIdentifier`; `[UInt8]`; enums with a raw value of these types; and optionals of
  /// these. Foundation's `Date` reads a double, seconds since 2001.
  ///
  /// - Throws: `EngineError.invalidProperty`, naming the property, also for a `DecodingError` of the type
  ///   itself; other errors of its `init(from:)`.
  public func decode<Model: Decodable>(_ type: Model.Type) throws -> Model {
    try RowDecoder.object(type, of: self)
  }
}
