/// What a query reads: a table of a version, or one inside a transaction with its changes.
///
/// Thread rule: that of the type.
package protocol LeafSource {
  var name: String { get }
  var schema: TableSchema { get throws }
  /// The file, for errors.
  var path: String { get }
  var objectCount: Int { get throws }

  /// Calls `body` with every leaf, in the order of keys. A leaf may be read for as long as the source
  /// lives and the table is not changed.
  ///
  /// - Throws: `EngineError.damaged`, and what `body` throws.
  func forEachLeaf(_ body: (Leaf) throws -> Void) throws
}

extension LeafSource {
  /// The places of columns.
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

extension Table: LeafSource {
  package var path: String { tree.blocks.storage.path }
  package var objectCount: Int { count }
}
