/// Changes a table's columns.
///
/// The changes belong to the transaction, like those of objects: a rollback undoes them, and earlier
/// snapshots keep their columns. Values keep their spellings, so most changes write only the schema, however
/// many objects there are. Existing `WritableTable` values stay valid.
extension WritableTable {
  /// Name, columns and key, in the form of a declaration.
  public var definition: TableDefinition {
    TableDefinition(name, editor.schema, indexes: indexedColumns)
  }

  /// Adds a column after the others. Existing objects get its default, or null if it has none.
  ///
  /// To leave existing objects null and set a default for new ones only, add the column without a default and
  /// call `setDefault`.
  ///
  /// - Complexity: O(1) without a default; with one, the table is rewritten: O(bytes), but only clusters with
  ///   changed rows are decoded.
  /// - Throws: `EngineError.invalidSchema` when the name is empty or taken, the default does not have the
  ///   type, or the column allows no null, has no default, and there are objects; `.tooLarge`, `.system`.
  public func addColumn(_ column: Column) throws { try editor.addColumn(column) }

  /// Renames a column.
  ///
  /// - Complexity: O(columns).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema` when the name is empty or taken.
  public func renameColumn(_ name: String, to newName: String) throws {
    try editor.renameColumn(at: index(of: name), to: newName)
  }

  /// Removes a column and its values. Their bytes become free when the objects are rewritten, at the latest
  /// by a compaction.
  ///
  /// - Complexity: O(columns).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema` for the last column and for one of the primary
  ///   key.
  public func removeColumn(_ name: String) throws {
    try editor.removeColumn(at: index(of: name))
  }

  /// Gives a column a wider type without loss: every value keeps its spelling and reads as the new type. From
  /// `int` to `double` if all values are within ±2^53; from any type to `text` (from `data` if all values are
  /// UTF-8) and to `data`.
  ///
  /// Primary keys are still compared by their spellings: in a column widened to `double`, `5` and `5.0` are
  /// two keys.
  ///
  /// - Complexity: O(1); O(clusters) from `int` to `double`, O(objects) from `data` to `text`.
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema`, naming an object, when the types or the values
  ///   do not allow it.
  public func widenColumn(_ name: String, to type: ColumnType) throws {
    try editor.checkAndWiden(column: index(of: name), to: type)
  }

  /// Finds the values of a column that do not fit another type, by their spellings.
  ///
  /// - Parameters:
  ///   - name: the column.
  ///   - type: the other type.
  ///   - most: the maximum number listed; all are counted.
  /// - Complexity: O(objects).
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`, `.transactionEnded`.
  public func misfits(
    _ name: String, as type: ColumnType, most: Int = 1000
  ) throws -> (count: Int, first: [Misfit]) {
    try misfits(name, as: Reading(type), most: most)
  }

  package func misfits(
    _ name: String, as reading: Reading, most: Int,
    isFit: (UnsafeRawBufferPointer) -> Bool = { _ in true }
  ) throws -> (count: Int, first: [Misfit]) {
    var count = 0
    var first: [Misfit] = []
    try editor.forEachSpelling(ofColumn: index(of: name)) { key, row, spelling in
      guard let spelling, Value(spelling: spelling, as: reading) == nil || !isFit(spelling) else {
        return true
      }
      count += 1
      if first.count < most {
        first.append(
          Misfit(key: key, row: row, value: String(decoding: spelling, as: UTF8.self)))
      }
      return true
    }
    return (count, first)
  }

  /// Gives a column any type that fits all of its values, by their spellings, which stay: a text column can
  /// become a date column when every text is a date. Only the schema is written.
  ///
  /// - Complexity: O(objects); an index of the column is rebuilt.
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema`, naming an object whose value does not fit, or
  ///   when the default does not; the table is then unchanged.
  public func setType(_ name: String, to type: ColumnType) throws {
    try setReading(name, to: Reading(type))
  }

  /// - Parameter isFit: a further condition that all values must meet.
  package func setReading(
    _ name: String, to reading: Reading, isFit: (UnsafeRawBufferPointer) -> Bool = { _ in true }
  ) throws {
    let place = try index(of: name)
    let column = columns[place]
    if column.reading == reading { return }
    let isKey = editor.schema.keyColumns.contains(place)
    let misfits = try misfits(name, as: reading, most: 1) {
      isFit($0) && !(isKey && KeySpelling.isHidden($0, reading.type))
    }
    if let first = misfits.first.first {
      throw EngineError.invalidSchema(
        table: self.name,
        reason: "column '\(name)' has \(misfits.count) value\(misfits.count == 1 ? "" : "s") that "
          + "\(misfits.count == 1 ? "is" : "are") not \(reading.type.article), the first in object "
          + "\(first.key): '\(first.value.prefix(100))'")
    }
    if let value = column.default {
      let spelling = column.stored(value).spelling
      guard spelling.withUnsafeBytes({ Value(spelling: $0, as: reading) }) != nil else {
        throw EngineError.invalidSchema(
          table: self.name,
          reason:
            "column '\(name)' has a default that is not \(reading.type.article); change it first")
      }
    }
    try editor.widen([(place, reading)])
  }

  /// Allows or forbids null in a column.
  ///
  /// - Complexity: O(1) to allow it, O(clusters) to forbid it.
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema`, naming an object that is null there, or when the
  ///   column is in the primary key.
  public func setNullable(_ name: String, _ isNullable: Bool) throws {
    try editor.setNullable(isNullable, at: index(of: name))
  }

  /// Sets the value of objects that are later added by column names without this column; nil sets null.
  /// Existing objects stay unchanged.
  ///
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema` when the value does not have the column's type.
  public func setDefault(_ name: String, _ value: Value?) throws {
    try editor.setDefault(value, at: index(of: name))
  }

  /// Removes the primary key; its columns stay, not nullable. Without a key it does nothing.
  ///
  /// - Complexity: O(nodes of its index).
  /// - Throws: `EngineError.damaged`.
  public func removeKey() throws { try editor.removeKey() }

  /// Calls `body` with every object that exists at the beginning, in the order of keys, with the values that
  /// it has when it is visited. `body` may add, change and delete objects, including this one, and change
  /// columns. Objects that it has added or deleted are not visited.
  ///
  ///     try table.forEachRow { row in
  ///       guard case .text(let name)? = row["name"] else { return }
  ///       try table.update(row.key, ["name": .text(name.uppercased())])
  ///     }
  ///
  /// - Complexity: O(n), plus O(log n) for each object that is changed before its visit.
  /// - Throws: `EngineError.damaged`, and the errors of `body`.
  public func forEachRow(_ body: (Row) throws -> Void) throws { try editor.forEachRow(body) }
}
