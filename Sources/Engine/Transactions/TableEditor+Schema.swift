/// Changes a table's columns and name, and deletes the table, inside a write transaction.
///
/// Clusters store columns as spellings, by numbers that are never reused. So most changes write only the
/// schema: a removed column is no longer read, and stays in the clusters until they are rewritten.
extension TableEditor {
  private func take(_ next: TableSchema) {
    schema = next
    schemaIsChanged = true
    store.columnIDs = next.columnIDs
    for visit in visits { visit.changedAll() }
  }

  /// Adds a column at the end. Existing objects get its default.
  ///
  /// - Complexity: O(1) without a default, otherwise O(bytes of the table).
  /// - Throws: `EngineError.invalidSchema`; the table is then unchanged.
  package func addColumn(_ column: Column) throws {
    try use {
      var next = schema
      try next.add(column, table: name)
      guard column.isNullable || column.filling != .null || tree.count == 0 else {
        throw EngineError.invalidSchema(
          table: name,
          reason: "column '\(column.name)' may not be null, and there are \(tree.count) objects "
            + "already; give it a default, or make it nullable")
      }
      try tree.closeAll()
      if column.filling != .null, let id = next.columnIDs.last {
        let (spelling, ids) = (column.stored(column.filling).spelling, next.columnIDs)
        try tree.replaceLeaves {
          try store.write(
            $0, columnIDs: ids, adding: id, spelling: spelling, limits: tree.limits)
        }
      }
      take(next)
    }
  }

  package func renameColumn(at index: Int, to newName: String) throws {
    try use {
      var next = schema
      try next.rename(at: index, to: newName, table: name)
      take(next)
    }
  }

  /// Removes a column that is neither the last one nor in the key.
  package func removeColumn(at index: Int) throws {
    try use {
      var next = schema
      try next.remove(at: index, table: name)
      try dropIndex(ofColumn: index)
      try tree.closeAll()
      take(next)
    }
  }

  package func setDefault(_ value: Value?, at index: Int) throws {
    try use {
      var next = schema
      try next.setDefault(value, at: index, table: name)
      take(next)
    }
  }

  /// Allows or forbids null in a column.
  ///
  /// - Complexity: O(1); O(clusters) to forbid null.
  package func setNullable(_ isNullable: Bool, at index: Int) throws {
    try use {
      guard !schema.isInKey(index) || !isNullable else {
        throw invalid(index, "is the primary key, which is never null; give the key up first")
      }
      if !isNullable {
        try forEachStoredLeaf { leaf in
          let id = schema.columnIDs[index]
          guard try leaf.statistics(id: id).nullCount > 0 else { return }
          try forEachSpelling(leaf, id) { key, spelling in
            if spelling == nil { throw invalid(index, "is null in object \(key); change it first") }
          }
        }
      }
      var next = schema
      next.setNullable(isNullable, at: index)
      take(next)
    }
  }

  private func invalid(_ column: Int, _ reason: String) -> EngineError {
    .invalidSchema(table: name, reason: "column '\(schema.columns[column].name)' \(reason)")
  }

  // MARK: Types

  /// Changes how columns are read; stored spellings stay unchanged.
  ///
  /// The caller has checked that every stored spelling can be read.
  ///
  /// - Complexity: O(columns), however many change; indexes of changed columns are rebuilt.
  package func widen(_ changes: [(column: Int, reading: Reading)]) throws {
    try use {
      var next = schema
      for change in changes { next.setReading(change.reading, at: change.column) }
      take(next)
      for change in changes { try remakeIndex(ofColumn: change.column) }
    }
  }

  /// Gives a column a wider type that reads every stored spelling without loss.
  ///
  /// - Complexity: O(1), and O(clusters) from int to double, O(n) from data to text.
  /// - Throws: `EngineError.invalidSchema`; the table is then unchanged.
  package func checkAndWiden(column index: Int, to type: ColumnType) throws {
    try use {
      let old = schema.columns[index].type
      if old == type { return }
      switch (old, type) {
      case (.int, .double) where schema.columns[index].notation != nil:
        throw invalid(index, "has a notation, which is not that of doubles; widen it to text")
      case (_, .data), (.bool, .text), (.int, .text), (.double, .text), (.date, .text),
        (.dateTime, .text), (.time, .text), (.decimal, .text), (.uuid, .text):
        break
      case (.data, .text): try checkText(index)
      case (.int, .double): try checkDoubles(index)
      default:
        throw invalid(
          index,
          "is \(old.article) and cannot be widened to \(type.name): its values keep their "
            + "spelling, which is not that of \(type.article); add another column and fill it")
      }
      var next = schema
      next.setReading(Reading(type), at: index)
      take(next)
      try remakeIndex(ofColumn: index)
    }
  }

  private func checkText(_ index: Int) throws {
    try forEachStoredLeaf { leaf in
      try forEachSpelling(leaf, schema.columnIDs[index]) { key, spelling in
        guard let spelling, String(validating: spelling, as: UTF8.self) == nil else { return }
        throw invalid(index, "is not UTF-8 in object \(key), so that it cannot be text")
      }
    }
    if let value = schema.columns[index].default,
      Value(spelling: value.spelling, type: .text) == nil
    {
      throw invalid(index, "has a default that is not UTF-8; change it first")
    }
  }

  /// Rejects integers that a double cannot represent exactly.
  private func checkDoubles(_ index: Int) throws {
    let exact: ClosedRange<Int64> = -(1 << 53)...(1 << 53)
    func check(_ value: Int64, _ place: String) throws {
      guard !exact.contains(value) else { return }
      throw invalid(
        index, "is \(value) \(place), which a double does not hold exactly; widen it to text")
    }
    if case .int(let value)? = schema.columns[index].default { try check(value, "by default") }
    let id = schema.columnIDs[index]
    try forEachStoredLeaf { leaf in
      if let bounds = try leaf.statistics(id: id).integers, exact.contains(bounds.lowerBound),
        exact.contains(bounds.upperBound)
      {
        return
      }
      try forEachSpelling(leaf, id) { key, spelling in
        guard let spelling, case .int(let value)? = Value(spelling: spelling, type: .int) else {
          return
        }
        try check(value, "in object \(key)")
      }
    }
  }

  // MARK: The table itself

  /// Removes the primary key; the column stays unchanged.
  package func removeKey() throws {
    try use {
      if schema.keyColumns.isEmpty { return }
      try index.removeAll()
      var next = schema
      next.removeKey()
      take(next)
    }
  }

  /// The caller has checked that no other table has the name.
  package func rename(to newName: String) throws { try use { table.name = newName } }

  /// Frees all blocks; every later use throws. The caller removes the table from the catalogue.
  package func deleteTable() throws {
    try use {
      try tree.removeAll()
      try index.removeAll()
      for index in valueIndexes { try index.removeAll() }
      if table.schema.length > 0 { try store.drop(table.schema) }
      isDeleted = true
    }
  }

  // MARK: Reading what is stored

  /// Calls `body` with every leaf, after writing the open ones.
  func forEachStoredLeaf(_ body: (Leaf) throws -> Void) throws {
    try tree.closeAll()
    var position: UInt64 = 0
    while case .stored(let entry, _)? = try tree.place(ofPosition: position) {
      try body(try store.leaf(entry))
      position += entry.count
    }
  }

  /// Calls `body` with the spelling of a column in every object, nil for null, until it returns false.
  package func forEachSpelling(
    ofColumn index: Int,
    _ body: (_ key: Int64, _ row: Int, UnsafeRawBufferPointer?) throws -> Bool
  ) throws {
    try use {
      try tree.closeAll()
      let id = schema.columnIDs[index]
      let decoded = DecodedColumn()
      var position: UInt64 = 0
      while case .stored(let entry, _)? = try tree.place(ofPosition: position) {
        let leaf = try store.leaf(entry)
        let keys = try leaf.keys()
        try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
        for row in 0..<leaf.rowCount
        where try !body(keys.key(row), Int(clamping: position) + row, decoded[row]) {
          return
        }
        position += entry.count
      }
    }
  }

  private func forEachSpelling(
    _ leaf: Leaf, _ id: UInt32, _ body: (Int64, UnsafeRawBufferPointer?) throws -> Void
  ) throws {
    let keys = try leaf.keys()
    let decoded = DecodedColumn()
    try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
    for row in 0..<leaf.rowCount { try body(keys.key(row), decoded[row]) }
  }
}
