import Base

/// Names, numbers and indexes of new tables.
extension TransactionState {
  /// Rejects names that a program must not give to a table.
  func checkName(_ name: String) throws {
    guard !name.isEmpty else {
      throw EngineError.invalidSchema(table: name, reason: "a table needs a name")
    }
    guard !Catalogue.isReserved(name) else {
      throw EngineError.invalidSchema(
        table: name, reason: "a table's name may not begin with a zero byte")
    }
  }

  /// Makes a table with the next number; it is not in a catalogue yet.
  func newTable(
    _ name: String, _ columns: [Column], keys: [String], indexes: [String] = []
  ) throws -> (entry: Catalogue.TableEntry, schema: TableSchema) {
    let schema = try TableSchema(
      columns, table: name, keys: keys, keyCode: host.settings.indexLimits.keyCode)
    let next = catalogue.nextTableNumber &+ 1
    // A catalogue without further numbers stores the last one.
    guard next > 0, next < .max else {
      throw EngineError.tooLarge(what: "a table's number", limit: "2^32")
    }
    var table = Catalogue.TableEntry(number: catalogue.nextTableNumber, name: name)
    table.valueIndexes = try newIndexes(indexes, schema, table: name)
    catalogue.nextTableNumber = next
    return (table, schema)
  }

  /// Empty indexes for columns of a new table.
  private func newIndexes(
    _ names: [String], _ schema: TableSchema, table: String
  ) throws -> [Catalogue.Index] {
    var indexes: [Catalogue.Index] = []
    for name in names {
      guard let column = schema.index(of: name) else {
        throw EngineError.invalidSchema(
          table: table, reason: "the index '\(name)' is of none of its columns")
      }
      let id = schema.columnIDs[column]
      if indexes.contains(where: { $0.column == id }) { continue }
      let secret = host.settings.indexLimits.keyCode ?? .random()
      indexes.append(
        Catalogue.Index(column: id, ValueCode(schema.columns[column].reading, secret: secret)))
    }
    return indexes.sorted { $0.column < $1.column }
  }
}
