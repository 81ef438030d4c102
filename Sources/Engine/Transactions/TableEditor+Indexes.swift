/// The secondary indexes of a table inside a write transaction.
extension TableEditor {
  /// The indices of the columns with a secondary index, ascending.
  package var indexedColumns: [Int] { valueIndexes.compactMap(place) }

  private func place(_ index: ValueIndex) -> Int? { schema.columnIDs.firstIndex(of: index.column) }

  private func valueIndex(ofColumn column: Int) -> ValueIndex? {
    guard schema.columnIDs.indices.contains(column) else { return nil }
    return valueIndexes.first { $0.column == schema.columnIDs[column] }
  }

  package func valueIndexReader(
    ofColumn id: UInt32
  ) throws -> (code: ValueCode, entries: IndexReader)? {
    try use {
      guard let index = valueIndexes.first(where: { $0.column == id }), index.isComplete else {
        return nil
      }
      return (index.code, try index.reader())
    }
  }

  package func keyIndexReader() throws -> (code: KeyCode, entries: IndexReader)? {
    try use {
      if schema.keyColumns.isEmpty { return nil }
      return (schema.keyCode, try index.reader())
    }
  }

  // MARK: The set of indexes

  /// Adds a secondary index for a column, unless it has one.
  ///
  /// - Complexity: O(n log n); memory is bounded.
  /// - Throws: `EngineError.damaged`, `.system`; the table is then unchanged.
  package func addIndex(ofColumn column: Int) throws {
    try use {
      guard schema.columns.indices.contains(column) else {
        throw EngineError.invalidArgument("table '\(name)' has no column \(column)")
      }
      if valueIndex(ofColumn: column) != nil { return }
      let added = makeIndex(
        Catalogue.Index(
          column: schema.columnIDs[column],
          ValueCode(schema.columns[column].reading, secret: index.newKeyCode())), true)
      do {
        try enterAll(added, column)
      } catch {
        // Frees the blocks written for it, which nothing refers to.
        try added.removeAll()
        throw error
      }
      valueIndexes.append(added)
      valueIndexes.sort { $0.column < $1.column }
      indexesAreChanged = true
    }
  }

  /// Removes a column's secondary index, if there is one. Call it before removing the column.
  ///
  /// - Complexity: O(nodes of the index).
  package func dropIndex(ofColumn column: Int) throws {
    try use {
      guard let dropped = valueIndex(ofColumn: column) else { return }
      try dropped.removeAll()
      valueIndexes.removeAll { $0 === dropped }
      indexesAreChanged = true
    }
  }

  /// Rebuilds a column's index after a change of its type, which changes the codes of its values.
  func remakeIndex(ofColumn column: Int) throws {
    guard let index = valueIndex(ofColumn: column) else { return }
    let reading = schema.columns[column].reading
    if index.isComplete, index.code.reading == reading { return }
    try index.restart(as: reading)
    try enterAll(index, column)
  }

  /// Adds an entry for every existing object.
  private func enterAll(_ index: ValueIndex, _ column: Int) throws {
    try tree.closeAll()
    let decoded = DecodedColumn()
    var position: UInt64 = 0
    while case .stored(let entry, _)? = try tree.place(ofPosition: position) {
      let leaf = try store.leaf(entry)
      let keys = try leaf.keys()
      try leaf.column(id: index.column).decode(rows: 0..<leaf.rowCount, into: decoded)
      for row in 0..<leaf.rowCount {
        guard let code = index.code.code(decoded[row]) else {
          throw ClusterError.misfit(column: index.column, row: row, type: index.code.type)
        }
        index.add(code, of: keys.key(row))
      }
      try index.limitMemory { try self.removeOutdated(&$0, index, column) }
      position += entry.count
    }
    try index.mergeAll { try self.removeOutdated(&$0, index, column) }
  }

  // MARK: Objects

  /// Adds the entries of objects that were just added, whose keys are consecutive.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - first: the spans of the first object, followed by those of the others.
  func enter(
    base: UnsafeRawPointer, _ first: UnsafePointer<TextSpan>, rowCount: Int, firstObject: Int64
  ) {
    for index in valueIndexes {
      guard let column = place(index) else { continue }
      for row in 0..<rowCount {
        let span = first[row * schema.columns.count + column]
        index.add(
          index.code.code(span.isNull ? nil : span.bytes(from: base)),
          of: firstObject &+ Int64(row))
      }
    }
  }

  /// Adds the entries of an encoded cluster's objects.
  func enter(_ cluster: EncodedCluster, firstObject: Int64) throws {
    if valueIndexes.isEmpty { return }
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      let decoded = DecodedColumn()
      for index in valueIndexes {
        decoded.decode(try reader.open(id: index.column), rows: 0..<reader.rowCount)
        for row in 0..<reader.rowCount {
          index.add(index.code.code(decoded[row]), of: firstObject &+ Int64(row))
        }
      }
    }
  }

  private static func code(_ value: Value, _ index: ValueIndex) -> Int64? {
    if case .null = value { return ValueCode.null }
    return value.spelling.withUnsafeBytes { index.code.code($0) }
  }

  /// A new entry that a change requires.
  struct NewEntry {
    let index: ValueIndex
    /// Nil: the new value does not fit the column's type.
    let code: Int64?
  }

  /// The entries that an object needs when some of its values change. None if its code stays the same, so
  /// that an index does not grow without need.
  func newEntries(
    of key: Int64, _ changes: [(column: Int, value: Value)]
  ) throws -> [NewEntry] {
    var entries: [NewEntry] = []
    for index in valueIndexes {
      guard let column = place(index), let change = changes.last(where: { $0.column == column })
      else { continue }
      let code = Self.code(change.value, index)
      if try self.code(of: key, column, index) != code {
        entries.append(NewEntry(index: index, code: code))
      }
    }
    return entries
  }

  /// The entries that an object needs when spellings replace all of its values.
  func newEntries(
    of key: Int64, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>
  ) throws -> [NewEntry] {
    var entries: [NewEntry] = []
    for index in valueIndexes {
      guard let column = place(index) else { continue }
      let code = index.code.code(row[column].isNull ? nil : row[column].bytes(from: base))
      if try self.code(of: key, column, index) != code {
        entries.append(NewEntry(index: index, code: code))
      }
    }
    return entries
  }

  func enter(_ entries: [NewEntry], of object: Int64) {
    for entry in entries { entry.index.add(entry.code, of: object) }
  }

  /// The code of an object's current value.
  private func code(of key: Int64, _ column: Int, _ index: ValueIndex) throws -> Int64? {
    var objects = ObjectReader(self)
    guard try objects.go(to: key) else { return nil }
    return try objects.withSpelling(column) { index.code.code($0) }
  }

  // MARK: Writing

  /// Writes entries when there are many. Call it when every entered object has been added.
  func limitValueIndexes() throws {
    for index in valueIndexes {
      guard let column = place(index) else { continue }
      try index.limitMemory { try removeOutdated(&$0, index, column) }
    }
  }

  /// Writes all secondary indexes, for the catalogue.
  func sealValueIndexes() throws -> [Catalogue.Index] {
    try valueIndexes.compactMap { index in
      guard let column = place(index) else { return nil }
      // A value did not fit the column, and the column's type was not widened.
      if !index.isComplete { try remakeIndex(ofColumn: column) }
      let runs = try index.seal(objects: tree.count) { try removeOutdated(&$0, index, column) }
      return Catalogue.Index(column: index.column, index.code, runs: runs)
    }
  }

  /// Removes the entries whose objects no longer exist or have another value.
  func removeOutdated(
    _ entries: inout [IndexEntry], _ index: ValueIndex, _ column: Int
  ) throws {
    let order = entries.indices.sorted { entries[$0].object < entries[$1].object }
    var isCurrent = [Bool](repeating: false, count: entries.count)
    var objects = ObjectReader(self)
    for place in order {
      guard try objects.go(to: entries[place].object) else { continue }
      let code = try objects.withSpelling(column) { index.code.code($0) }
      isCurrent[place] = code == entries[place].code
    }
    var place = 0
    entries.removeAll { _ in
      defer { place += 1 }
      return !isCurrent[place]
    }
  }
}
