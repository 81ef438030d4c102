/// A source of rows for a query: a table in a version, or a table inside a transaction with its changes.
///
/// Thread rule: that of the conforming type.
package protocol LeafSource {
  var name: String { get }
  var schema: TableSchema { get throws }
  /// The file's path, for errors.
  var path: String { get }
  var objectCount: Int { get throws }

  /// Calls `body` with each leaf in the order of keys, until it returns false. A leaf is readable while it
  /// and the source exist and, in a transaction, until that ends.
  ///
  /// - Throws: `EngineError.damaged`, and the errors of `body`.
  func walkLeaves(_ body: (Leaf) throws -> Bool) throws

  /// The leaf that may hold a key; nil when none can.
  ///
  /// - Throws: `EngineError.damaged`.
  func leaf(holding key: Int64) throws -> Leaf?

  /// A column's secondary index; nil when there is none, or it cannot be used.
  ///
  /// - Parameter id: the column's permanent identifier.
  func valueIndexReader(ofColumn id: UInt32) throws -> (code: ValueCode, entries: IndexReader)?

  /// The primary key's index; nil when there is none, or it cannot be used.
  func keyIndexReader() throws -> (code: KeyCode, entries: IndexReader)?

  /// Increases with every change to the objects or the columns.
  var changeCount: Int { get }

  /// Checks that the table is unchanged. Call it before further reads after anything that may have changed
  /// the table.
  ///
  /// - Throws: `EngineError.invalidArgument` when the table has changed, `.transactionEnded`.
  func checkUnchanged(since changes: Int) throws

  /// The number of leaves.
  ///
  /// - Complexity: O(leaves).
  func leafCount() throws -> Int
}

extension LeafSource {
  /// Calls `body` with every leaf.
  package func forEachLeaf(_ body: (Leaf) throws -> Void) throws {
    try walkLeaves { leaf in
      try body(leaf)
      return true
    }
  }

  /// The indices of columns.
  ///
  /// - Throws: `EngineError.noSuchColumn`.
  package func indices(of names: [String]) throws -> [Int] {
    let schema = try schema
    return try names.map { name in
      guard let index = schema.index(of: name) else {
        throw EngineError.noSuchColumn(
          table: self.name, column: name, known: schema.columns.map(\.name))
      }
      return index
    }
  }
}

extension LeafSource {
  /// Calls `body` with each leaf that has some of the given objects, and with their rows, until it returns
  /// false.
  ///
  /// - Parameter keys: ascending; keys without an object are skipped.
  /// - Complexity: O(log n) for each leaf, and for each key that is in none of them.
  /// - Throws: the errors of `forEachLeaf`.
  package func walkLeaves(
    holding keys: [Int64], _ body: (Leaf, _ rows: [Int]) throws -> Bool
  ) throws {
    let changes = changeCount
    var next = 0
    while next < keys.count {
      guard let leaf = try leaf(holding: keys[next]) else {
        next += 1
        continue
      }
      var rows: [Int] = []
      try translatingErrors(path) {
        let leafKeys = try leaf.keys()
        let last = leafKeys.key(leaf.rowCount - 1)
        repeat {
          if let row = leafKeys.row(ofKey: keys[next]) { rows.append(row) }
          next += 1
        } while next < keys.count && keys[next] <= last
      }
      if rows.isEmpty { continue }
      guard try withExtendedLifetime(leaf, { try body(leaf, rows) }) else { return }
      try checkUnchanged(since: changes)
    }
  }
}

extension Table: LeafSource {
  package var path: String { tree.blocks.storage.path }
  package var objectCount: Int { count }
  package var changeCount: Int { 0 }
  /// A version never changes.
  package func checkUnchanged(since changes: Int) {}

  package func leaf(holding key: Int64) throws -> Leaf? {
    try translatingErrors(path) {
      try tree.location(ofKey: key).map { try Leaf($0.entry, tree.blocks, end: tree.end) }
    }
  }

  package func leafCount() throws -> Int {
    try translatingErrors(path) {
      var cursor = tree.leaves()
      var count = 0
      while try cursor.next() != nil { count += 1 }
      return count
    }
  }
}
