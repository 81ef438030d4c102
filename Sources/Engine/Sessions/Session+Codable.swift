/// Reads and writes `Codable` objects; see `WritableTable.insert` and `Row.decode` for the types of
/// properties.
extension Session {
  /// Adds an object.
  ///
  /// - Throws: `EngineError.noTransaction`, `.noSuchTable`, `.wrongThread`; the errors of
  ///   `WritableTable.insert` for an `Encodable` object.
  @discardableResult
  public func insert<Value: Encodable>(_ value: Value, into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").insert(value))
  }

  /// Adds an object, or changes the object with the same primary key.
  ///
  /// - Throws: the errors of `insert`; `EngineError.invalidArgument` when the table has no primary key, or
  ///   the value has no property for it.
  @discardableResult
  public func upsert<Value: Encodable>(_ value: Value, into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").upsert(value).key)
  }
}

extension Object {
  /// Decodes the object as a `Decodable` type.
  ///
  /// - Throws: `EngineError.invalidated`, `.invalidProperty`, `.wrongThread`, `.damaged`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try row().decode(type)
  }

  /// Sets the columns of the object from all properties; other columns stay unchanged.
  ///
  /// - Throws: `EngineError.noTransaction`, `.invalidated`, `.wrongThread`; the errors of
  ///   `WritableTable.update` for an `Encodable` object.
  public func set<Value: Encodable>(_ value: Value) throws {
    let table = try writable("a change")
    try table.update(key, value)
  }
}

extension Results {
  /// Decodes the objects as a `Decodable` type, in order.
  ///
  /// - Throws: `EngineError.invalidProperty`; the errors of `rows`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
    try rows().map { try $0.decode(type) }
  }
}

extension FrozenObject {
  /// Decodes the object as a `Decodable` type.
  ///
  /// - Throws: `EngineError.invalidProperty`, `.damaged`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try row().decode(type)
  }
}
