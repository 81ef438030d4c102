/// A table inside a write transaction, for reading and changing.
///
/// Thread rule: belongs to its transaction's thread; not `Sendable`. Using it after the transaction has
/// ended throws `EngineError.transactionEnded`.
public struct WritableTable {
  package let editor: TableEditor

  init(_ editor: TableEditor) { self.editor = editor }

  public var name: String { editor.name }
  public var columns: [Column] { editor.schema.columns }

  /// How many objects the table has, with the transaction's changes.
  public var count: Int { get throws { try editor.count() } }

  /// The object with a key, with the transaction's changes; nil when there is none.
  public func row(forKey key: Int64) throws -> Row? { try editor.row(forKey: key) }

  /// The object at a position in the order of keys, from 0; nil beyond the last.
  public func row(at position: Int) throws -> Row? { try editor.row(at: position) }

  /// Adds an object.
  ///
  /// - Parameter values: one for each column, in the columns' order.
  /// - Returns: the object's key.
  /// - Throws: `EngineError.invalidValue` naming table, column and value.
  @discardableResult
  public func insert(_ values: [Value]) throws -> Int64 { try editor.insert(values) }

  /// Adds an object; columns that are not named become null.
  ///
  /// - Throws: `EngineError.noSuchColumn`, `.invalidValue`.
  @discardableResult
  public func insert(_ values: [String: Value]) throws -> Int64 {
    var row = [Value](repeating: .null, count: columns.count)
    for (name, value) in values { row[try index(of: name)] = value }
    return try editor.insert(row)
  }

  /// Changes the named values of an object.
  ///
  /// - Throws: `EngineError.noSuchObject`, `.noSuchColumn`, `.invalidValue`.
  public func update(_ key: Int64, _ changes: [String: Value]) throws {
    try editor.update(key, try changes.map { (try index(of: $0.key), $0.value) })
  }

  /// Removes an object.
  ///
  /// - Returns: false when there is none with that key.
  @discardableResult
  public func delete(_ key: Int64) throws -> Bool { try editor.delete(key) }

  /// Removes all objects. Keys that were given are not given again.
  public func deleteAll() throws { try editor.deleteAll() }

  private func index(of column: String) throws -> Int {
    guard let index = editor.schema.index(of: column) else {
      throw EngineError.noSuchColumn(
        table: name, column: column, known: columns.map(\.name))
    }
    return index
  }
}
