extension TableEditor {
  /// Makes a column the primary key of the table, in place of the one that it may have.
  ///
  /// - Throws: `EngineError.invalidKey` naming an object whose value is null, or two that have the
  ///   same; the table's key and values are then as they were.
  /// - Complexity: O(n log n); memory is bounded.
  package func setKey(column: Int) throws {
    try use {
      guard schema.columns.indices.contains(column) else {
        throw EngineError.invalidArgument("table '\(name)' has no column \(column)")
      }
      if column == schema.keyColumn { return }
      let (oldSchema, oldIndex) = (schema, index)
      schema.setKey(at: column, code: oldIndex.newKeyCode())
      index = oldIndex.makeEmpty()
      do {
        try addAllKeys(column)
        try index.mergeAll(removeOutdated)
      } catch {
        let unfinished = index
        (schema, index) = (oldSchema, oldIndex)
        // What was written of the new index is not referred to.
        try unfinished.removeAll()
        throw error
      }
      try oldIndex.removeAll()
      schemaIsChanged = true
    }
  }

  /// Adds an entry for every object there is.
  private func addAllKeys(_ column: Int) throws {
    let decoded = DecodedColumn()
    try forEachStoredLeaf { leaf in
      let keys = try leaf.keys()
      try leaf.column(id: schema.columnIDs[column]).decode(
        rows: 0..<leaf.rowCount, into: decoded)
      for row in 0..<leaf.rowCount {
        guard let spelling = decoded[row] else {
          throw EngineError.invalidKey(
            table: name, column: schema.columns[column].name,
            reason: "object \(keys.key(row)) has none there; give it one first")
        }
        index.add(IndexEntry(code: schema.keyCode.code(spelling), object: keys.key(row)))
      }
      try index.limitMemory(removeOutdated)
    }
  }
}
