extension TableEditor {
  /// Makes columns the primary key of the table, in place of an existing one.
  ///
  /// - Parameter columns: the indices of the columns, in the key's order; at least one, each once.
  /// - Throws: `EngineError.invalidKey`, naming an object whose value is null, or two objects with the same
  ///   values; the table is then unchanged.
  /// - Complexity: O(n log n); memory is bounded.
  package func setKey(columns: [Int]) throws {
    try use {
      guard !columns.isEmpty, columns.allSatisfy(schema.columns.indices.contains) else {
        throw EngineError.invalidArgument("table '\(name)' has no columns \(columns)")
      }
      guard Set(columns).count == columns.count else {
        throw EngineError.invalidSchema(table: name, reason: "a column stands twice in the key")
      }
      if columns == schema.keyColumns { return }
      try refuseHiddenKeys(columns: columns)
      let (oldSchema, oldIndex) = (schema, index)
      schema.setKey(at: columns, code: oldIndex.newKeyCode())
      index = oldIndex.makeEmpty()
      do {
        try addAllKeys()
        try index.mergeAll(removeOutdated)
      } catch {
        let unfinished = index
        (schema, index) = (oldSchema, oldIndex)
        // Frees the blocks written for the new index, which nothing refers to.
        try unfinished.removeAll()
        throw error
      }
      try oldIndex.removeAll()
      schemaIsChanged = true
    }
  }

  /// Rejects columns for a key of records when imports would reject the key of some object: an empty text, a
  /// value with blanks around it, a decimal or UUID that is not spelled as such values are, without a
  /// notation.
  ///
  /// - Parameter columns: the indices of the columns.
  /// - Throws: `EngineError.invalidKey`, naming the object.
  /// - Complexity: O(n).
  package func refuseUnfitKeys(columns: [Int]) throws {
    for index in columns {
      let column = schema.columns[index]
      let isTyped = ![.text, .data].contains(column.type)
      var unfit: (key: Int64, spelling: [UInt8])?
      try forEachSpelling(ofColumn: index) { key, _, spelling in
        guard let spelling else { return true }
        let isUnfit =
          isTyped
          ? KeySpelling.isUnfit(spelling, column.type)
            || (column.type.isWide && Value(spelling: spelling, as: Reading(column.type)) == nil)
          : spelling.isEmpty
        if isUnfit { unfit = (key, Array(spelling.prefix(100))) }
        return !isUnfit
      }
      guard let unfit else { continue }
      let shown = String(decoding: unfit.spelling, as: UTF8.self)
      let hasBlanks = unfit.spelling.withUnsafeBytes(\.hasBlanksAround)
      throw EngineError.invalidKey(
        table: name, column: column.name,
        reason: !isTyped
          ? "object \(unfit.key) is empty there; give it a value first"
          : "object \(unfit.key) is spelled '\(shown)' there, "
            + (hasBlanks ? "with blanks" : "not as \(column.type.article) is")
            + ", and keys are compared as they are spelled: give it the value again, or the column "
            + "the type text")
    }
  }

  /// Rejects columns with spellings by which a key would not be found.
  private func refuseHiddenKeys(columns: [Int]) throws {
    for index in columns where KeySpelling.hides(schema.columns[index].type) {
      let column = schema.columns[index]
      var unfit: (key: Int64, value: String)?
      try forEachSpelling(ofColumn: index) { key, _, spelling in
        if let spelling, KeySpelling.isHidden(spelling, column.type) {
          unfit = (key, String(decoding: spelling.prefix(100), as: UTF8.self))
        }
        return unfit == nil
      }
      guard let unfit else { continue }
      throw EngineError.invalidKey(
        table: name, column: column.name,
        reason: "object \(unfit.key) is spelled '\(unfit.value)' there, with blanks, and "
          + "keys are compared as they are spelled: give it the value again, or the column the type text"
      )
    }
  }

  /// Adds an entry for every existing object.
  private func addAllKeys() throws {
    let decoded = DecodedKeys(schema)
    try forEachStoredLeaf { leaf in
      let keys = try leaf.keys()
      try decoded.decode(leaf, rows: 0..<leaf.rowCount)
      for row in 0..<leaf.rowCount {
        let code = decoded.withKey(row) { $0.map(schema.keyCode.code) }
        guard let code else {
          throw EngineError.invalidKey(
            table: name, column: keyDescription,
            reason: "object \(keys.key(row)) has none there; give it one first")
        }
        index.add(IndexEntry(code: code, object: keys.key(row)))
      }
      try index.limitMemory(removeOutdated)
    }
  }
}
