/// `Encodable` objects in: properties go into the columns of their coding keys' names.
///
/// The types of properties are those of `Row.decode`, which reads objects back. An integer goes
/// into a column of doubles too, when a double holds it exactly. A list or an object as a property
/// is refused; so is a property whose column the table does not have.
extension WritableTable {
  /// Adds an object. Columns that it has no property for get their default, or null without one; a property
  /// that is nil is null.
  ///
  /// - Returns: the object's key.
  /// - Throws: `EngineError.invalidProperty`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`; what the
  ///   object's own `encode(to:)` throws.
  @discardableResult
  public func insert<Model: Encodable>(_ object: Model) throws -> Int64 {
    let columns = columns
    var row = columns.map { $0.filling }
    var next = 0
    for (name, value) in try RowEncoder.values(of: object) {
      // Properties mostly come in the order of the columns.
      let isNext = next < columns.count && columns[next].name == name
      let place = isNext ? next : try index(of: name)
      row[place] = Self.fitting(value, columns[place])
      next = place + 1
    }
    return try editor.insert(row)
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
    var values: [String: Value] = [:]
    for (name, value) in try RowEncoder.values(of: object) {
      values[name] = editor.schema.index(of: name).map { Self.fitting(value, columns[$0]) } ?? value
    }
    return values
  }

  /// An integer as a double, where the column has these and one is the same.
  private static func fitting(_ value: Value, _ column: Column) -> Value {
    guard column.type == .double, case .int(let int) = value, let double = Double(exactly: int)
    else { return value }
    return .double(double)
  }
}
