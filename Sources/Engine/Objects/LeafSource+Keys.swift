extension LeafSource {
  /// Calls `body` with the key of every object, ascending.
  ///
  /// - Complexity: O(objects). Memory: one leaf.
  package func forEachKey(_ body: (Int64) throws -> Void) throws {
    try forEachLeaf { leaf in
      let keys = try leaf.keys()
      for row in 0..<leaf.rowCount { try body(keys.key(row)) }
    }
  }
}
