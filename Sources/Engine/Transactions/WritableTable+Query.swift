extension WritableTable {
  /// Removes all objects that a filter selects.
  ///
  /// - Parameters:
  ///   - filter: which objects; one for which a null makes it unknown is not selected.
  ///   - most: if there are more than this, none is removed; nil: no limit.
  ///   - shouldStop: asked now and then.
  /// - Returns: how many there were, also when they were more than `most`.
  /// - Complexity: as the query, and O(log n) for each; O(tree nodes) when all are removed. Memory is that of
  ///   their keys, and of the transaction's changes.
  /// - Throws: `QueryError`; `EngineError.transactionEnded`, `.noSuchColumn`, `.damaged`, `.system`;
  ///   `.cancelled` when `shouldStop` has returned true: roll the transaction back then.
  @discardableResult
  public func deleteAll(
    where filter: Predicate, most: Int? = nil, shouldStop: () -> Bool = { false }
  ) throws -> Int {
    var query = Query()
    query.filter = filter
    let keys = try query.keys(in: self)
    if let most, keys.count > most { return keys.count }
    if try keys.count == count {
      try deleteAll()
      return keys.count
    }
    for (index, key) in keys.enumerated() {
      if index % 4096 == 0, shouldStop() { throw EngineError.cancelled }
      try delete(key)
    }
    return keys.count
  }
}

/// Queries inside a transaction. They see its changes; the table must not be changed while one runs: collect
/// keys first, and then change their objects.
extension Query {
  /// How many objects there are, with the transaction's changes.
  ///
  /// - Throws: `QueryError`; `EngineError.transactionEnded`, `.noSuchColumn`, `.damaged`.
  public func count(in table: WritableTable) throws -> Int {
    try table.editor.query { try count(of: table.editor) }
  }

  /// How the query finds its objects, in one line for people: see `explain(in:)` for tables of a version.
  ///
  /// - Throws: as `count`.
  public func explain(in table: WritableTable) throws -> String {
    try table.editor.query { try explanation(of: table.editor) }
  }

  /// Calls `body` with every object, in order. Its values are those of `columns`.
  ///
  /// - Throws: as `count`; `EngineError.invalidArgument` when `body` has changed the table, its objects or
  ///   its columns, and `.transactionEnded` when it has ended the transaction: `body` is not called again
  ///   then; an error of `body` ends the loop and is thrown on.
  public func forEachRow(in table: WritableTable, _ body: (Row) throws -> Void) throws {
    try table.editor.query { try forEachRow(of: table.editor, body) }
  }

  /// The objects, in order; their values are those of `columns`.
  ///
  /// - Throws: as `count`.
  public func rows(in table: WritableTable) throws -> [Row] {
    var rows: [Row] = []
    try table.editor.query { try forEachRow(of: table.editor) { rows.append($0) } }
    return rows
  }

  /// The keys of the objects, in order.
  ///
  /// - Throws: as `count`.
  public func keys(in table: WritableTable) throws -> [Int64] {
    try table.editor.query { try keys(of: table.editor) }
  }

  /// Aggregates the objects that the filter selects: see `aggregates(_:in:)` for tables of a version.
  ///
  /// - Throws: as `count`; `EngineError.invalidArgument` for a sum or average of values that are not numbers.
  public func aggregates(_ aggregates: [Aggregate], in table: WritableTable) throws -> [Value] {
    try table.editor.query { try groups(by: [], aggregates, of: table.editor)[0].aggregates }
  }

  /// Groups the objects that the filter selects: see `groups(by:_:in:)` for tables of a version.
  ///
  /// - Throws: as `aggregates`.
  public func groups(
    by columns: [String], _ aggregates: [Aggregate] = [], in table: WritableTable
  ) throws -> [Group] {
    try table.editor.query { try groups(by: columns, aggregates, of: table.editor) }
  }
}
