/// Creates, renames and deletes tables.
extension WriteTransaction {
  /// The version of the tables' schema, set by programs; see `Schema`.
  public var schemaVersion: UInt64 { state.catalogue.schemaVersion }

  func setSchemaVersion(_ version: UInt64) throws { try state.setSchemaVersion(version) }

  /// Every table in the form of a declaration, oldest first.
  func definitions() throws -> [FoundTable] {
    try tableNames.map { name in
      let table = try table(name)
      return FoundTable(
        table.definition, table.editor.schema, note: table.editor.note(DeclaredColumns.note))
    }
  }

  func has(_ column: String, in name: String) throws -> Bool {
    try table(name).columns.contains { $0.name == column }
  }

  /// Creates an empty table.
  ///
  /// - Throws: the errors of `createTable(_:columns:key:indexes:)`.
  public func createTable(_ definition: TableDefinition) throws {
    try createTable(
      definition.name, columns: definition.columns, keys: definition.keys,
      indexes: definition.indexes)
  }

  /// Renames a table. Existing `WritableTable` values of it stay valid.
  ///
  /// - Complexity: O(1).
  /// - Throws: `EngineError.noSuchTable`; `.tableExists`, `.invalidSchema` for a name that is taken or empty;
  ///   `.transactionEnded`.
  public func renameTable(_ name: String, to newName: String) throws {
    try state.renameTable(name, to: newName)
  }

  /// Deletes a table with all its objects. Later uses of a `WritableTable` of it throw `noSuchTable`; its
  /// name is free.
  ///
  /// - Complexity: O(tree nodes); objects are not read.
  /// - Throws: `EngineError.noSuchTable`, `.damaged`, `.transactionEnded`; the table is then unchanged.
  public func deleteTable(_ name: String) throws { try state.deleteTable(name) }

  /// Deletes all objects of all tables; tables, columns and the schema's version stay.
  ///
  /// - Complexity: O(tree nodes); objects are not read.
  /// - Throws: `EngineError.damaged`, `.transactionEnded`.
  public func deleteAll() throws {
    for name in tableNames { try table(name).deleteAll() }
  }
}

extension TransactionState {
  func setSchemaVersion(_ version: UInt64) throws {
    try checkOpen()
    guard catalogue.schemaVersion != version else { return }
    catalogue.schemaVersion = version
    noteVisibleChange()
  }

  func renameTable(_ name: String, to newName: String) throws {
    let editor = try programEditor(name)
    if name == newName { return }
    try checkName(newName)
    guard catalogue.place(named: newName) == nil else {
      throw EngineError.tableExists(name: newName)
    }
    try editor.rename(to: newName)
    if let place = catalogue.place(number: editor.number) {
      catalogue.rename(at: place, to: newName)
    }
    editors[name] = nil
    editors[newName] = editor
    noteVisibleChange()
  }

  func deleteTable(_ name: String) throws {
    let number = try programEditor(name).number
    // Remaining companions would have no effect, but their blocks would be lost.
    let companions = catalogue.tables.filter { Catalogue.isCompanion($0.name, of: number) }
    for name in companions.map(\.name) + [name] { try removeTable(name) }
  }

  private func removeTable(_ name: String) throws {
    let editor = try editor(name)
    try editor.deleteTable()
    if let place = catalogue.place(number: editor.number) { catalogue.remove(at: place) }
    editors[name] = nil
    deletedEditors.append(editor)
    noteVisibleChange()
  }
}
