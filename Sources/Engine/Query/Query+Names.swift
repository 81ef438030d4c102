import Base

/// Follows renamed columns.
extension Query {
  /// The same query with the names of its columns in a later or earlier state of the table.
  ///
  /// - Parameters:
  ///   - old: the table's columns when the query was made.
  ///   - new: the table's columns now.
  ///   - table: the table's name, for the error.
  /// - Complexity: O(columns + length of the query).
  /// - Throws: `EngineError.noSuchColumn` when a column no longer exists, even if another one has its name.
  package func renamed(
    from old: TableSchema, to new: TableSchema, table: String
  ) throws -> Query {
    var query = self
    func name(_ name: String) throws -> String {
      // Running the query reports a name that never existed.
      guard let index = old.index(of: name) else { return name }
      guard let place = new.place(ofID: old.columnIDs[index]) else {
        throw EngineError.noSuchColumn(
          table: table, column: name, known: new.columns.map(\.name))
      }
      return new.columns[place].name
    }
    query.filter = try filter?.renamed(name)
    query.columns = try columns?.map(name)
    query.distinctColumns = try distinctColumns?.map(name)
    for index in sort.indices { query.sort[index].column = try name(sort[index].column) }
    return query
  }
}

extension Predicate {
  fileprivate func renamed(_ name: (String) throws -> String) rethrows -> Predicate {
    switch self {
    case .test(var test):
      test.column = try name(test.column)
      return .test(test)
    case .all(let parts): return .all(try parts.map { try $0.renamed(name) })
    case .any(let parts): return .any(try parts.map { try $0.renamed(name) })
    case .not(let part): return .not(try part.renamed(name))
    }
  }
}

extension TableSchema {
  /// The index of the column with an identifier; nil when there is none.
  func place(ofID id: UInt32) -> Int? {
    let place = partitionPoint(0..<columnIDs.count) { columnIDs[$0] >= id }
    return place < columnIDs.count && columnIDs[place] == id ? place : nil
  }
}
