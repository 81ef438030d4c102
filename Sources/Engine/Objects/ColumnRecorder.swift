/// Finds the columns of a `Decodable` type, by letting it decode itself from examples.
private final class ColumnRecorder {
  let type: String
  var columns: [Column] = []

  init(_ type: String) { self.type = type }

  func error(_ property: String, _ reason: String) -> EngineError {
    .invalidProperty(type: type, property: property, reason: reason)
  }

  func record(_ name: String, _ type: ColumnType, isNullable: Bool) {
    if let index = columns.firstIndex(where: { $0.name == name }) {
      columns[index].isNullable = columns[index].isNullable || isNullable
    } else {
      columns.append(Column(name, type, nullable: isNullable))
    }
  }

  /// Records a property and returns an example of it; nil when there is no example, although the column is
  /// known.
  func example<Property: Decodable>(
    of type: Property.Type, _ name: String, isNullable: Bool
  ) throws -> (Property?, failure: (any Error)?) {
    if let own = type as? any ColumnProperty.Type {
      record(name, own.columnType, isNullable: isNullable)
      return (own.example(0) as? Property, nil)
    }
    var failure: (any Error)?
    for attempt in 0..<exampleAttempts {
      let decoder = ExampleDecoder(property: name, attempt: attempt, recorder: self)
      do {
        let example = try Property(from: decoder)
        try record(name, decoder.asked, isNullable)
        return (example, nil)
      } catch let error as EngineError {
        throw error
      } catch {
        failure = error
        if attempt == exampleAttempts - 1 { try record(name, decoder.asked, isNullable) }
      }
    }
    return (Self.firstCase(type), failure)
  }

  private func record(
    _ name: String, _ asked: ExampleDecoder.Asked, _ isNullable: Bool
  ) throws {
    guard let type = asked.type else {
      throw error(name, "it asks for no text, number or date; declare the columns by hand")
    }
    record(name, type, isNullable: isNullable || asked.forNull)
  }

  private static func firstCase<Property>(_ type: Property.Type) -> Property? {
    func first<Cases: CaseIterable>(_ cases: Cases.Type) -> Any? { cases.allCases.first }
    return (type as? any CaseIterable.Type).flatMap { first($0) } as? Property
  }
}

/// The decoder of the type itself.
private struct RecordingDecoder: Decoder, SingleValueDecodingContainer {
  let recorder: ColumnRecorder
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private var refusal: EngineError {
    recorder.error("", "a row is read into an object with named properties")
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RecordingContainer(recorder: recorder))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw refusal }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }
  func decodeNil() -> Bool { false }

  /// For types that wrap another type.
  func decode<Wrapped: Decodable>(_ type: Wrapped.Type) throws -> Wrapped {
    if type is any ColumnProperty.Type { throw refusal }
    return try Wrapped(from: self)
  }
}

private struct RecordingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let recorder: ColumnRecorder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }

  /// A type that calls this decodes the value next.
  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<Property: Decodable>(_ type: Property.Type, forKey key: Key) throws -> Property {
    let (example, failure) = try recorder.example(
      of: type, key.stringValue, isNullable: false)
    guard let example else {
      let why = failure.map { ($0 as? DecodingError)?.reason ?? "\($0)" } ?? "no value is known"
      throw recorder.error(
        key.stringValue,
        "no example of it can be made (\(why)); make \(type) CaseIterable or the property "
          + "optional, or declare the columns by hand")
    }
    return example
  }

  func decodeIfPresent<Property: Decodable>(
    _ type: Property.Type, forKey key: Key
  ) throws -> Property? { try recordOptional(type, key) }

  private func recordOptional<Property: Decodable>(
    _ type: Property.Type, _ key: Key
  ) throws -> Property? {
    _ = try recorder.example(of: type, key.stringValue, isNullable: true)
    return nil
  }

  // The standard library has overloads for these types, which take precedence over a generic one.
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? {
    try recordOptional(type, key)
  }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? {
    try recordOptional(type, key)
  }

  private func refusal(_ property: String) -> EngineError {
    recorder.error(property, "objects and lists inside an object have no column")
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

/// The decoder of one property, with an example of the type that it decodes.
private struct ExampleDecoder: Decoder, SingleValueDecodingContainer {
  /// Stores the type that the property decodes.
  final class Asked {
    var type: ColumnType?
    var forNull = false
  }

  let property: String
  let attempt: Int
  let recorder: ColumnRecorder
  let asked = Asked()
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  private func refusal(_ what: String) -> EngineError {
    recorder.error(property, "it is \(what), which has no column")
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw refusal("an object of its own")
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw refusal("a list (for bytes take [UInt8], not Data)")
  }
  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool {
    asked.forNull = true
    return false
  }

  func decode<Property: Decodable>(_ type: Property.Type) throws -> Property {
    guard let own = type as? any ColumnProperty.Type else { return try Property(from: self) }
    asked.type = own.columnType
    guard let example = own.example(attempt) as? Property else { throw refusal("\(type)") }
    return example
  }
}

extension TableDefinition {
  /// Declares the columns of a `Decodable` type, in the order of decoding; optional properties may be null.
  ///
  ///     struct App: Codable { var id: Int, name: String, stars: Double? }
  ///     let apps = try TableDefinition(of: App.self, named: "apps", key: "id")
  ///
  /// One instance is decoded from example values, zeros and empty texts, so the type's `init(from:)` must
  /// accept these. See `Row.decode` for the types of properties.
  ///
  /// - Parameters:
  ///   - type: the type whose properties become columns.
  ///   - name: the name of the table.
  ///   - keys: the properties of the primary key, in its order.
  ///   - indexes: the properties with a secondary index.
  /// - Throws: `EngineError.invalidProperty`, naming a property that no column can hold or that has no
  ///   example; `.invalidSchema` when there are no properties, or none has a key's name; the errors of
  ///   `init(from:)`, but `.invalidProperty` for a `DecodingError`.
  public init<Model: Decodable>(
    of type: Model.Type, named name: String, keys: [String], indexes: [String] = []
  ) throws {
    let recorder = ColumnRecorder("\(type)")
    do {
      _ = try Model(from: RecordingDecoder(recorder: recorder))
    } catch let error as DecodingError {
      throw recorder.error(
        error.property.isEmpty ? recorder.columns.last?.name ?? "" : error.property,
        "example values are refused (\(error.reason)); declare the columns by hand")
    }
    self.init(
      name, try TableSchema(recorder.columns, table: name, keys: keys), indexes: indexes)
  }

  /// Like `init(of:named:keys:indexes:)`, for a key of one property, or none.
  ///
  /// - Throws: the errors of `init(of:named:keys:indexes:)`.
  public init<Model: Decodable>(
    of type: Model.Type, named name: String, key: String? = nil, indexes: [String] = []
  ) throws {
    try self.init(of: type, named: name, keys: key.map { [$0] } ?? [], indexes: indexes)
  }
}
