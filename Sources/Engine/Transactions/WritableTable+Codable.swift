/// Writes `Encodable` objects: each property goes into the column with the name of its coding key.
///
/// The types of properties are those of `Row.decode`, which reads objects back. An integer may also go into a
/// column of doubles, if a double represents it exactly. A property that is a list or an object is rejected,
/// and so is one without a column.
extension WritableTable {
  /// Adds an object. Columns without a property get their default, or null if they have none; a property that
  /// is nil is null.
  ///
  /// - Returns: the object's key.
  /// - Throws: `EngineError.invalidProperty`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`;
  ///   `.invalidArgument` when the object changes the table's columns while it is encoded; the errors of its
  ///   `encode(to:)`.
  @discardableResult
  public func insert<Model: Encodable>(_ object: Model) throws -> Int64 {
    try editor.withRowEncoder { encoder in
      try encode(object, encoder)
      return try editor.insert(encoder.row)
    }
  }

  /// Adds an object, or changes the object with the same primary key: those columns for which `object` has a
  /// property.
  ///
  /// - Returns: the object's key, and whether it is new.
  /// - Throws: the errors of `insert`; `EngineError.invalidArgument` when the table has no primary key or the
  ///   object has no property for it.
  @discardableResult
  public func upsert<Model: Encodable>(_ object: Model) throws -> (key: Int64, isNew: Bool) {
    try upsert(values(of: object))
  }

  /// Sets the columns of an object from all properties; other columns stay unchanged.
  ///
  /// - Throws: the errors of `insert`; `EngineError.noSuchObject`.
  public func update<Model: Encodable>(_ key: Int64, _ object: Model) throws {
    try update(key, values(of: object))
  }

  private func values<Model: Encodable>(of object: Model) throws -> [String: Value] {
    try editor.withRowEncoder { encoder in
      try encode(object, encoder)
      return encoder.values
    }
  }

  private func encode<Model: Encodable>(_ object: Model, _ encoder: RowEncoder) throws {
    let changes = editor.schemaChangeCount
    try encoder.encode(object, table: name)
    guard editor.schemaChangeCount == changes else {
      throw EngineError.invalidArgument(
        "the columns of table '\(name)' were changed while an object for it was encoded")
    }
  }
}

extension TableEditor {
  /// Calls `body` with an encoder of the table's columns, which is reused for the next object.
  fileprivate func withRowEncoder<Result>(_ body: (RowEncoder) throws -> Result) throws -> Result {
    // An object that adds other objects while it is encoded gets another encoder.
    let encoder = knownEncoder.take() ?? RowEncoder(schema)
    let result = try body(encoder)
    // After an error the encoder may still be in use by code that has caught the error.
    knownEncoder = encoder
    return result
  }
}
