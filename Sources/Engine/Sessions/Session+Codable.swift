/// `Codable` objects in and out: see `WritableTable.insert` and `Row.decode` for the possible properties.
extension Session {
  /// Adds an object.
  ///
  /// - Throws: `EngineError.noTransaction`, `.noSuchTable`, `.wrongThread`; what
  ///   `WritableTable.insert` of an `Encodable` object throws.
  @discardableResult
  public func insert<Value: Encodable>(_ value: Value, into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").insert(value))
  }

  /// Adds an object, or changes the one with the same primary key.
  ///
  /// - Throws: as `insert`; `EngineError.invalidArgument` when the table has no primary key, or the value has
  ///   no property for it.
  @discardableResult
  public func upsert<Value: Encodable>(_ value: Value, into table: String) throws -> Object {
    let identity = try identity(of: table)
    return object(identity, try writable(identity, "an insertion").upsert(value).key)
  }
}

extension Object {
  /// The object as a value of a `Decodable` type, copied.
  ///
  /// - Throws: `EngineError.invalidated`, `.invalidProperty`, `.wrongThread`, `.damaged`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try row().decode(type)
  }

  /// Sets the values of all properties; other columns stay as they are.
  ///
  /// - Throws: `EngineError.noTransaction`, `.invalidated`, `.wrongThread`; what
  ///   `WritableTable.update` of an `Encodable` object throws.
  public func set<Value: Encodable>(_ value: Value) throws {
    let table = try writable("a change")
    try table.update(key, value)
  }
}

extension Results {
  /// The objects as values of a `Decodable` type, copied, in order.
  ///
  /// - Throws: `EngineError.invalidProperty`; as `rows`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> [Value] {
    try rows().map { try $0.decode(type) }
  }
}

extension FrozenObject {
  /// The object as a value of a `Decodable` type, copied.
  ///
  /// - Throws: `EngineError.invalidProperty`, `.damaged`.
  public func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try row().decode(type)
  }
}
