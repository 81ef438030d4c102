/// Opening a file with the tables that a program expects.
extension Database {
  /// Compares the file with `options.schema`, and makes it so where that is allowed. A database that is
  /// refused is closed.
  func adoptSchema() throws {
    guard let declared = options.schema else { return }
    do {
      // Nearly always the file is as it should be: then nobody has to wait for a writer.
      if try isAdopted(declared) { return }
      try write(durability: .full) { try adopt(declared, $0) }
    } catch {
      // Why it was refused is the better reason.
      try? close()
      throw error
    }
  }

  private func isAdopted(_ declared: Schema) throws -> Bool {
    let snapshot = try snapshot()
    let version = snapshot.schemaVersion
    let tables = try snapshot.tableNames.map { try snapshot.table($0).definition }
    if try isDone(declared, tables: tables, version: version) { return true }
    guard options.access == .readOnly else { return false }
    let comparison = try SchemaComparison(declared: declared.tables, file: tables)
    throw mismatch(
      declared, version,
      comparison.differences + ["it has to be opened for writing once, to be made so"])
  }

  /// True when nothing is to be done.
  ///
  /// - Throws: when nothing can be done.
  private func isDone(
    _ declared: Schema, tables: [TableDefinition], version: UInt64
  ) throws -> Bool {
    let differences = try SchemaComparison(declared: declared.tables, file: tables).differences
    if version > declared.version {
      throw EngineError.newerSchema(
        path: path, fileVersion: version, declaredVersion: declared.version)
    }
    if version < declared.version { return false }
    if tables.isEmpty { return differences.isEmpty }
    guard differences.isEmpty else { throw mismatch(declared, version, differences) }
    return true
  }

  private func mismatch(
    _ declared: Schema, _ version: UInt64, _ differences: [String]
  ) -> EngineError {
    .schemaMismatch(
      path: path, fileVersion: version, declaredVersion: declared.version,
      differences: differences)
  }

  /// Brings the tables to the declared version, in one transaction.
  private func adopt(_ declared: Schema, _ transaction: borrowing WriteTransaction) throws {
    let old = transaction.schemaVersion
    let tables = try transaction.definitions()
    // Another process may have come first.
    if try isDone(declared, tables: tables, version: old) { return }
    if !tables.isEmpty, let migration = options.migration { try migration(transaction, old) }
    let comparison = try SchemaComparison(
      declared: declared.tables, file: transaction.definitions())
    for table in comparison.missingTables {
      try transaction.createTable(table)
    }
    for (name, column) in comparison.missingColumns {
      let table = try transaction.table(name)
      if try column.isNullable || column.default != nil || table.count == 0 {
        try table.addColumn(column)
      }
    }
    let indexes = try SchemaComparison(
      declared: declared.tables, file: transaction.definitions())
    for (name, column) in indexes.surplusIndexes {
      try transaction.table(name).removeIndex(column)
    }
    for (name, column) in indexes.missingIndexes where try transaction.has(column, in: name) {
      try transaction.table(name).addIndex(column)
    }
    let left = try SchemaComparison(declared: declared.tables, file: transaction.definitions())
    guard left.differences.isEmpty else { throw mismatch(declared, old, left.differences) }
    try transaction.setSchemaVersion(declared.version)
  }
}
