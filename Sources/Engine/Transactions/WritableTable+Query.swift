extension WritableTable {
  /// Removes all objects that match a filter.
  ///
  /// - Parameters:
  ///   - filter: selects the objects; one for which a null makes the filter unknown is not selected.
  ///   - most: the maximum; if more objects match, none is removed. Nil: no limit.
  ///   - shouldStop: called now and then; true ends the call.
  /// - Returns: the number of objects that match, also when it exceeds `most`.
  /// - Complexity: that of the query, plus O(log n) for each object; O(tree nodes) when all are removed.
  ///   Memory: the objects' keys and the transaction's changes.
  /// - Throws: `QueryError`; `EngineError.transactionEnded`, `.noSuchColumn`, `.damaged`, `.system`;
  ///   `.cancelled` when `shouldStop` has returned true: then roll the transaction back.
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

/// Queries inside a transaction, which see its changes. The table must not change while one runs: collect
/// keys first, then change their objects.
extension Query {
  /// The number of objects, with the transaction's changes.
  ///
  /// - Throws: `QueryError`; `EngineError.transactionEnded`, `.noSuchColumn`, `.damaged`.
  public func count(in table: WritableTable) throws -> Int {
    try table.editor.query { try count(of: table.editor) }
  }

  /// How the query finds its objects, in one line for people, as `explain(in:)` for tables of a version.
  ///
  /// - Throws: the errors of `count`.
  public func explain(in table: WritableTable) throws -> String {
    try table.editor.query { try explanation(of: table.editor) }
  }

  /// Calls `body` with every object, in order. The rows have the values of `columns`.
  ///
  /// - Throws: the errors of `count`; `EngineError.invalidArgument` when `body` has changed the table, its
  ///   objects or its columns, and `.transactionEnded` when it has ended the transaction, after which `body`
  ///   is not called again; the errors of `body`, which end the loop.
  public func forEachRow(in table: WritableTable, _ body: (Row) throws -> Void) throws {
    try table.editor.query { try forEachRow(of: table.editor, body) }
  }

  /// The objects, in order. The rows have the values of `columns`.
  ///
  /// - Throws: the errors of `count`.
  public func rows(in table: WritableTable) throws -> [Row] {
    var rows: [Row] = []
    try table.editor.query { try forEachRow(of: table.editor) { rows.append($0) } }
    return rows
  }

  /// The keys of the objects, in order.
  ///
  /// - Throws: the errors of `count`.
  public func keys(in table: WritableTable) throws -> [Int64] {
    try table.editor.query { try keys(of: table.editor) }
  }

  /// Aggregates the objects that match the filter, as `aggregates(_:in:)` for tables of a version.
  ///
  /// - Throws: the errors of `count`; `EngineError.invalidArgument` for a sum or average of values that are
  ///   not numbers.
  public func aggregates(_ aggregates: [Aggregate], in table: WritableTable) throws -> [Value] {
    try table.editor.query { try groups(by: [], aggregates, of: table.editor)[0].aggregates }
  }

  /// Groups the objects that match the filter, as `groups(by:_:in:)` for tables of a version.
  ///
  /// - Throws: the errors of `aggregates`.
  public func groups(
    by columns: [String], _ aggregates: [Aggregate] = [], in table: WritableTable
  ) throws -> [Group] {
    try table.editor.query { try groups(by: columns, aggregates, of: table.editor) }
  }
}
