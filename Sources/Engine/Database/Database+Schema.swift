/// Opens a file with the tables that a program declares.
extension Database {
  /// Compares the file with `options.schema`, and changes it where that is allowed. A refused database is
  /// closed.
  func adoptSchema() throws {
    guard let declared = options.schema else { return }
    do {
      // Usually the file needs no change, and the call does not wait for a writer.
      if try isAdopted(declared) { return }
      try write(durability: .full) { try adopt(declared, $0) }
    } catch {
      // The refusal is more important than an error of closing.
      try? close()
      throw error
    }
  }

  private func isAdopted(_ declared: Schema) throws -> Bool {
    let snapshot = try snapshot()
    let version = snapshot.schemaVersion
    let tables = try snapshot.tableNames.map { name in
      let table = try snapshot.table(name)
      return FoundTable(table.definition, table.schema, note: table.note(DeclaredColumns.note))
    }
    let isReadOnly = options.access == .readOnly
    if try isDone(declared, tables: tables, version: version) {
      return isReadOnly || declared.isMarked(in: tables)
    }
    guard isReadOnly else { return false }
    let comparison = try SchemaComparison(declared, file: tables)
    throw mismatch(
      declared, version,
      comparison.differences + ["it has to be opened for writing once, to be made so"])
  }

  /// True when the file needs no change.
  ///
  /// - Throws: when the file cannot be changed to fit.
  private func isDone(
    _ declared: Schema, tables: [FoundTable], version: UInt64
  ) throws -> Bool {
    let differences = try SchemaComparison(declared, file: tables).differences
    if version > declared.version {
      throw EngineError.newerSchema(
        path: path, fileVersion: version, declaredVersion: declared.version)
    }
    if version < declared.version { return false }
    if declared.isNew(to: tables) { return differences.isEmpty }
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

  /// Migrates the tables to the declared version, in one transaction.
  private func adopt(_ declared: Schema, _ transaction: borrowing WriteTransaction) throws {
    let old = transaction.schemaVersion
    let tables = try transaction.definitions()
    // Another process may have migrated them meanwhile.
    if try isDone(declared, tables: tables, version: old) {
      return try transaction.mark(declared)
    }
    if !declared.isNew(to: tables), let migration = options.migration {
      try migration(transaction, old)
    }
    let comparison = try SchemaComparison(declared, file: transaction.definitions())
    for table in comparison.missingTables {
      try transaction.createTable(table)
    }
    for (name, column) in comparison.missingColumns {
      let table = try transaction.table(name)
      if try column.isNullable || column.default != nil || table.count == 0 {
        try table.addColumn(column)
      }
    }
    let indexes = try SchemaComparison(declared, file: transaction.definitions())
    for (name, column) in indexes.surplusIndexes {
      try transaction.table(name).removeIndex(column)
    }
    for (name, column) in indexes.missingIndexes where try transaction.has(column, in: name) {
      try transaction.table(name).addIndex(column)
    }
    let left = try SchemaComparison(declared, file: transaction.definitions())
    guard left.differences.isEmpty else { throw mismatch(declared, old, left.differences) }
    try transaction.mark(declared)
    try transaction.setSchemaVersion(declared.version)
  }
}

extension Schema {
  /// True when no program has declared a table of the file and none of its tables is declared here: imports
  /// made all of them.
  fileprivate func isNew(to file: [FoundTable]) -> Bool {
    if !allowsOthers { return file.isEmpty }
    let names = Set(tables.map(\.name))
    return !file.contains { $0.declared != nil || names.contains($0.definition.name) }
  }

  /// True when every table of the file has a note of its declared columns.
  fileprivate func isMarked(in file: [FoundTable]) -> Bool {
    let file = file.byName
    return tables.allSatisfy { file[$0.name]?.isMarked(as: $0) ?? false }
  }
}

extension WriteTransaction {
  /// Stores with each declared table which of its columns are declared.
  fileprivate func mark(_ schema: Schema) throws {
    for wanted in schema.tables {
      let editor = try table(wanted.name).editor
      let names = Set(wanted.columns.map(\.name))
      let numbers = zip(editor.schema.columnIDs, editor.schema.columns)
        .filter { names.contains($0.1.name) }.map(\.0)
      let note = ColumnNumbers.encode(Set(numbers))
      if editor.note(DeclaredColumns.note) != note {
        try editor.setNote(DeclaredColumns.note, note)
      }
    }
  }
}
