/// A table inside a write transaction, for reading and changing.
///
/// Thread rule: confined to its transaction's thread or serial queue; not `Sendable`. Use elsewhere throws
/// `EngineError.wrongThread`; use after the transaction's end throws `.transactionEnded`.
public struct WritableTable {
  package let editor: TableEditor

  init(_ editor: TableEditor) { self.editor = editor }

  /// The table's name in the transaction.
  public var name: String { editor.name }
  /// The columns in their order, with the transaction's changes.
  public var columns: [Column] { editor.schema.columns }

  /// The number of objects, with the transaction's changes.
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
  /// A primary key is the spelling of its value. In a column of doubles, a number is looked up as `5.0` and
  /// then as `5`; in a text column only the exact text matches.
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
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, or one with another number of
  ///   columns; `.damaged`.
  public func row(forPrimaryKey values: [Value]) throws -> Row? {
    try editor.find(values).flatMap { try editor.row(forKey: $0) }
  }

  /// Makes a column the primary key, in place of an existing one.
  ///
  /// - Complexity: O(objects).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidKey`, naming an object whose value is null, or two
  ///   objects with the same value; the table is then unchanged.
  public func setKey(_ column: String) throws { try setKey([column]) }

  /// Makes several columns together the primary key, in place of an existing one.
  ///
  /// - Parameter columns: at least one, each once, in the key's order. The same columns in another order are
  ///   another key: it identifies the same objects, and `row(forPrimaryKey:)` takes values in its order.
  /// - Complexity: O(objects).
  /// - Throws: `EngineError.noSuchColumn`; `.invalidSchema` for a column that occurs twice; `.invalidKey`,
  ///   naming an object with a null in the key, or two objects with the same key; the table is then
  ///   unchanged.
  public func setKey(_ columns: [String]) throws {
    try editor.setKey(columns: columns.map { try index(of: $0) })
  }

  /// The names of the columns that have a secondary index, in the columns' order.
  public var indexedColumns: [String] { editor.indexedColumns.map { columns[$0].name } }

  /// Adds a secondary index for a column. Queries then find values of the column without reading the table:
  /// comparisons, ranges, lists, beginnings of texts, nulls. Values may repeat. An existing index stays.
  ///
  /// Each insertion, and each change of a value in the column, writes an entry of 5 to 10 bytes, several
  /// times as runs are merged. `Query.explain(in:)` shows how a query uses the index.
  ///
  /// - Complexity: O(n log n) for n objects; memory is bounded.
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`, `.system`; the table is then unchanged.
  public func addIndex(_ column: String) throws {
    try editor.addIndex(ofColumn: index(of: column))
  }

  /// Removes the secondary index of a column, if there is one. Results of queries do not change.
  ///
  /// - Complexity: O(nodes of the index).
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`.
  public func removeIndex(_ column: String) throws {
    try editor.dropIndex(ofColumn: index(of: column))
  }

  /// Adds an object, or changes the object with the same primary key.
  ///
  /// - Parameter values: values by column, including those of the primary key. Omitted columns get their
  ///   default in a new object, and stay unchanged in an existing one.
  /// - Returns: the object's key, and whether it is new.
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key or the values lack it,
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
  /// - Throws: `EngineError.invalidValue`, naming the table, the column and the value; `.duplicateKey`.
  @discardableResult
  public func insert(_ values: [Value]) throws -> Int64 { try editor.insert(values) }

  /// Adds an object; omitted columns get their default, or null if they have none.
  ///
  /// - Throws: `EngineError.noSuchColumn`, `.invalidValue`, `.duplicateKey`.
  @discardableResult
  public func insert(_ values: [String: Value]) throws -> Int64 {
    var row = columns.map(\.filling)
    for (name, value) in values { row[try index(of: name)] = value }
    return try editor.insert(row)
  }

  /// Changes some values of an object.
  ///
  /// - Throws: `EngineError.noSuchObject`, `.noSuchColumn`, `.invalidValue`, `.duplicateKey`.
  public func update(_ key: Int64, _ changes: [String: Value]) throws {
    try editor.update(key, try changes.map { (try index(of: $0.key), $0.value) })
  }

  /// Removes an object.
  ///
  /// - Returns: false when no object has that key.
  /// - Complexity: O(log n). Nothing is written for its primary key.
  /// - Throws: `EngineError.transactionEnded`, `.damaged`.
  @discardableResult
  public func delete(_ key: Int64) throws -> Bool { try editor.delete(key) }

  /// Removes all objects. Their keys are not assigned again.
  ///
  /// - Complexity: O(tree nodes); objects are not read.
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
