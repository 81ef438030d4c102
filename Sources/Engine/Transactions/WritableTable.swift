/// A table inside a write transaction, for reading and changing.
///
/// Thread rule: belongs to its transaction's thread, or serial queue; not `Sendable`. Using it elsewhere
/// throws `EngineError.wrongThread`, using it after the transaction has ended `.transactionEnded`.
public struct WritableTable {
  package let editor: TableEditor

  init(_ editor: TableEditor) { self.editor = editor }

  /// The table's name in the transaction.
  public var name: String { editor.name }
  /// The columns in their order, with the transaction's changes.
  public var columns: [Column] { editor.schema.columns }

  /// How many objects the table has, with the transaction's changes.
  ///
  /// - Complexity: O(1).
  /// - Throws: `EngineError.transactionEnded`.
  public var count: Int { get throws { try editor.count() } }

  /// The object with a key, with the transaction's changes; nil when there is none.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  public func row(forKey key: Int64) throws -> Row? { try editor.row(forKey: key) }

  /// The object at a position in the order of keys, from 0; nil beyond the last.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  public func row(at position: Int) throws -> Row? { try editor.row(at: position) }

  /// The name of the only column of the primary key; nil when the table has no key, or one of several
  /// columns: see `keyColumns`.
  public var keyColumn: String? { keyColumns.count == 1 ? keyColumns[0] : nil }

  /// The names of the primary key's columns, in its order; empty when the table has none.
  public var keyColumns: [String] { editor.schema.keyNames }

  /// The object with a primary key, with the transaction's changes; nil when there is none.
  ///
  /// A primary key is the spelling of its value. For a number in a column of doubles, both `5.0` and `5` are
  /// looked up, in this order; in a text column only the exact text.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, `.damaged`.
  public func row(forPrimaryKey value: Value) throws -> Row? {
    try editor.find(value).flatMap { try editor.row(forKey: $0) }
  }

  /// The object with a primary key of several columns, with the transaction's changes; nil when there
  /// is none.
  ///
  /// - Parameter values: one for each column of the key, in its order: see `keyColumns`.
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, or one of another number of
  ///   columns; `.damaged`.
  public func row(forPrimaryKey values: [Value]) throws -> Row? {
    try editor.find(values).flatMap { try editor.row(forKey: $0) }
  }

  /// Makes a column the primary key, in place of an existing one.
  ///
  /// - Complexity: O(objects).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidKey` naming an object whose value is null, or two that
  ///   have the same: the table is then as it was.
  public func setKey(_ column: String) throws { try setKey([column]) }

  /// Makes several columns together the primary key, in place of an existing one.
  ///
  /// - Parameter columns: at least one, each once, in the key's order. The same columns in another order are
  ///   another key: its objects are the same, and values are given to `row(forPrimaryKey:)` in that order.
  /// - Complexity: O(objects).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema` for a column that occurs twice; `.invalidKey`
  ///   naming an object with a null there, or two that have the same: the table is then as it was.
  public func setKey(_ columns: [String]) throws {
    try editor.setKey(columns: columns.map { try index(of: $0) })
  }

  /// The names of the columns that have a secondary index, in the columns' order.
  public var indexedColumns: [String] { editor.indexedColumns.map { columns[$0].name } }

  /// Gives a column a secondary index, by which queries find its values without reading the table:
  /// comparisons, ranges, lists, beginnings of texts, nulls. Values may repeat. A column that has one keeps
  /// it.
  ///
  /// Each insertion, and each change of a value there, then writes an entry of 5 to 10 bytes, several times
  /// as runs are merged. `Query.explain(in:)` shows how a query uses it.
  ///
  /// - Complexity: O(n log n) for n objects; memory is bounded.
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`, `.system`; the table is then as it was.
  public func addIndex(_ column: String) throws {
    try editor.addIndex(ofColumn: index(of: column))
  }

  /// Drops the secondary index of a column, if it has one. Queries answer as before.
  ///
  /// - Complexity: O(nodes of the index).
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`.
  public func removeIndex(_ column: String) throws {
    try editor.dropIndex(ofColumn: index(of: column))
  }

  /// Adds an object, or changes the one with the same primary key.
  ///
  /// - Parameter values: by column, the primary key's among them. Columns that are not named get their
  ///   default in a new object, and stay as they are in an existing one.
  /// - Returns: the object's key, and whether it is new.
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key or it is not among the values,
  ///   `.noSuchColumn`, `.invalidValue`.
  @discardableResult
  public func upsert(_ values: [String: Value]) throws -> (key: Int64, isNew: Bool) {
    let own = keyColumns.compactMap { values[$0] }
    guard !own.isEmpty, own.count == keyColumns.count else {
      throw EngineError.invalidArgument(
        "table '\(self.name)': an upsert needs a primary key, and its value")
    }
    guard !own.contains(.null), let key = try editor.find(own) else {
      return (try insert(values), true)
    }
    try update(key, values)
    return (key, false)
  }

  /// Adds an object.
  ///
  /// - Parameter values: one for each column, in the columns' order.
  /// - Returns: the object's key.
  /// - Throws: `EngineError.invalidValue` naming table, column and value; `.duplicateKey`.
  @discardableResult
  public func insert(_ values: [Value]) throws -> Int64 { try editor.insert(values) }

  /// Adds an object; columns that are not named get their default, or null without one.
  ///
  /// - Throws: `EngineError.noSuchColumn`, `.invalidValue`, `.duplicateKey`.
  @discardableResult
  public func insert(_ values: [String: Value]) throws -> Int64 {
    var row = columns.map(\.filling)
    for (name, value) in values { row[try index(of: name)] = value }
    return try editor.insert(row)
  }

  /// Changes the named values of an object.
  ///
  /// - Throws: `EngineError.noSuchObject`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`.
  public func update(_ key: Int64, _ changes: [String: Value]) throws {
    try editor.update(key, try changes.map { (try index(of: $0.key), $0.value) })
  }

  /// Removes an object.
  ///
  /// - Returns: false when there is none with that key.
  /// - Complexity: O(log n). Nothing is written for its primary key.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  @discardableResult
  public func delete(_ key: Int64) throws -> Bool { try editor.delete(key) }

  /// Removes all objects. Their keys are not given again.
  ///
  /// - Complexity: O(tree nodes): objects are not read.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  public func deleteAll() throws { try editor.deleteAll() }

  func index(of column: String) throws -> Int {
    guard let index = editor.schema.index(of: column) else {
      throw EngineError.noSuchColumn(
        table: name, column: column, known: columns.map(\.name))
    }
    return index
  }
}
