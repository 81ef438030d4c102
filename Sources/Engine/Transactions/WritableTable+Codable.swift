/// `Encodable` objects in: properties go into the columns of their coding keys' names.
///
/// The types of properties are those of `Row.decode`, which reads objects back. An integer goes
/// into a column of doubles too, when a double holds it exactly. A list or an object as a property
/// is refused; so is a property whose column the table does not have.
extension WritableTable {
  /// Adds an object. Columns without a property get their default, or null without one; a property that is
  /// nil is null.
  ///
  /// - Returns: the object's key.
  /// - Throws: `EngineError.invalidProperty`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`; the errors
  ///   of the object's own `encode(to:)`.
  @discardableResult
  public func insert<Model: Encodable>(_ object: Model) throws -> Int64 {
    try editor.withRowEncoder { encoder in
      try encoder.encode(object, table: name)
      return try editor.insert(encoder.row)
    }
  }

  /// Adds an object, or changes the one with the same primary key: those of its columns that `object` has a
  /// property for.
  ///
  /// - Returns: the object's key, and whether it is new.
  /// - Throws: as `insert`; `EngineError.invalidArgument` when the table has no primary key or the object
  ///   has no property for it.
  @discardableResult
  public func upsert<Model: Encodable>(_ object: Model) throws -> (key: Int64, isNew: Bool) {
    try upsert(values(of: object))
  }

  /// Gives an object the values of all properties; other columns stay as they are.
  ///
  /// - Throws: as `insert`; `EngineError.noSuchObject`.
  public func update<Model: Encodable>(_ key: Int64, _ object: Model) throws {
    try update(key, values(of: object))
  }

  private func values<Model: Encodable>(of object: Model) throws -> [String: Value] {
    try editor.withRowEncoder { encoder in
      try encoder.encode(object, table: name)
      return encoder.values
    }
  }
}

extension TableEditor {
  /// Calls `body` with an encoder of the table's columns, which is used again for the next object.
  fileprivate func withRowEncoder<Result>(_ body: (RowEncoder) throws -> Result) throws -> Result {
    // An object that adds others while it is encoded gets another encoder.
    let encoder = knownEncoder.take() ?? RowEncoder(schema)
    let result = try body(encoder)
    // An encoder that has thrown may still be in use by code that has caught the error.
    knownEncoder = encoder
    return result
  }
}
