extension LeafSource {
  /// Calls `body` with the number of every object, ascending.
  ///
  /// - Complexity: O(objects), in the memory of one leaf.
  package func forEachKey(_ body: (Int64) throws -> Void) throws {
    try forEachLeaf { leaf in
      let keys = try leaf.keys()
      for row in 0..<leaf.rowCount { try body(keys.key(row)) }
    }
  }
}
