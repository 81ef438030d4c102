/// A table in one version, for reading.
///
/// Thread rule: `Sendable`; any thread. Keeps its snapshot alive.
public struct Table: Sendable {
  private let snapshot: Snapshot
  private let entry: Catalogue.Table
  public let schema: TableSchema
  package let tree: TreeReader

  init(snapshot: Snapshot, entry: Catalogue.Table) throws {
    self.snapshot = snapshot
    self.entry = entry
    let end = snapshot.record.end
    schema = try TableSchema(decoding: try snapshot.blocks.block(entry.schema, end: end))
    try entry.checkIndexes(schema)
    tree = TreeReader(blocks: snapshot.blocks, root: entry.root, end: end)
  }

  public var name: String { entry.name }
  public var columns: [Column] { schema.columns }

  /// How many objects the table has. Cost: none, the number is kept.
  public var count: Int { Int(clamping: tree.root.count) }

  /// A small value that was stored with the table, such as an import's checkpoint.
  package func note(_ name: String) -> [UInt8]? { entry.notes[name] }

  /// The object with a key; nil when there is none.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.damaged` when a block on the way is damaged.
  public func row(forKey key: Int64) throws -> Row? {
    try translatingErrors(snapshot.blocks.storage.path) {
      guard let place = try tree.location(ofKey: key) else { return nil }
      let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
      guard let row = try leaf.keys().row(ofKey: key) else { return nil }
      return try RowReader(leaf, schema).row(row, key: key)
    }
  }

  /// The name of the column that is the primary key; nil when the table has none.
  public var keyColumn: String? { schema.keyColumn.map { columns[$0].name } }

  /// The names of the columns that have a secondary index, in the columns' order.
  public var indexedColumns: [String] {
    entry.valueIndexes.compactMap { index in
      schema.columnIDs.firstIndex(of: index.column).map { columns[$0].name }
    }
  }

  package func valueIndexReader(ofColumn id: UInt32) throws -> ValueIndexReader? {
    entry.valueIndexes.first { $0.column == id }.map {
      ValueIndexReader($0.code, $0.runs, IndexBlocks(tree.blocks, end: tree.end))
    }
  }

  /// The object with a primary key; nil when there is none.
  ///
  /// A primary key is the spelling of its value: a column that was imported with `5.0` in it holds
  /// `Value.double(5)`, which is spelled so, but not `Value.int(5)`.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, `.damaged`.
  public func row(forPrimaryKey value: Value) throws -> Row? {
    guard let column = schema.keyColumn else {
      throw EngineError.invalidArgument("table '\(name)' has no primary key")
    }
    if value == .null { return nil }
    return try translatingErrors(snapshot.blocks.storage.path) {
      let wanted = value.spelling
      return try wanted.withUnsafeBytes { wanted in
        let code = schema.keyCode.code(wanted)
        var found: Row?
        for run in entry.index where found == nil {
          try run.find(CollectionOfOne(code), IndexBlocks(tree.blocks, end: tree.end)) {
            _, object in
            if found == nil { found = try row(forKey: object, having: wanted, in: column) }
          }
        }
        return found
      }
    }
  }

  /// The object with a key, if it has that spelling in a column.
  private func row(
    forKey key: Int64, having spelling: UnsafeRawBufferPointer, in column: Int
  ) throws -> Row? {
    guard let place = try tree.location(ofKey: key) else { return nil }
    let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
    guard let row = try leaf.keys().row(ofKey: key) else { return nil }
    let isIt = try leaf.column(id: schema.columnIDs[column]).withSpelling(row) {
      $0.map { TableEditor.areEqual($0, spelling) } ?? false
    }
    return isIt ? try RowReader(leaf, schema).row(row, key: key) : nil
  }

  /// The object at a position in the order of keys, from 0; nil beyond the last.
  ///
  /// - Complexity: O(log n).
  public func row(at position: Int) throws -> Row? {
    try translatingErrors(snapshot.blocks.storage.path) {
      guard position >= 0, let place = try tree.location(ofPosition: UInt64(position)) else {
        return nil
      }
      let leaf = try Leaf(place.entry, tree.blocks, end: tree.end)
      let row = position - Int(clamping: place.position)
      guard row < leaf.rowCount else { return nil }
      return try RowReader(leaf, schema).row(row, key: leaf.keys().key(row))
    }
  }

  /// Bytes of the primary key's index.
  ///
  /// - Complexity: O(nodes of the index).
  package func indexBytes() throws -> Int { try byteCount(entry.index) }

  /// The secondary indexes: their columns' names, bytes and entries.
  ///
  /// - Complexity: O(nodes of the indexes).
  package func valueIndexSizes() throws -> [(column: String, bytes: Int, entries: Int)] {
    try zip(indexedColumns, entry.valueIndexes).map { column, index in
      let entries = index.runs.reduce(UInt64(0)) { $0 &+ $1.count }
      return (column, try byteCount(index.runs), Int(clamping: entries))
    }
  }

  private func byteCount(_ runs: [IndexRun]) throws -> Int {
    try translatingErrors(snapshot.blocks.storage.path) {
      var bytes = 0
      for run in runs {
        try IndexBlocks(tree.blocks, end: tree.end).walk(run) { entry, _ in
          bytes += Int(entry.reference.length)
        }
      }
      return bytes
    }
  }

  /// Calls `body` with every object, in the order of keys.
  ///
  /// - Throws: `EngineError.damaged`, and what `body` throws.
  public func forEachRow(_ body: (Row) throws -> Void) throws {
    try forEachLeaf { leaf in
      let keys = try leaf.keys()
      let rows = try RowReader(leaf, schema)
      for row in 0..<leaf.rowCount { try body(rows.row(row, key: keys.key(row))) }
    }
  }

  /// Calls `body` with every leaf, in the order of keys.
  package func forEachLeaf(_ body: (Leaf) throws -> Void) throws {
    try translatingErrors(snapshot.blocks.storage.path) {
      var cursor = tree.clusters()
      while let location = try cursor.next() {
        try body(try Leaf(location.entry, tree.blocks, end: tree.end))
      }
    }
  }
}

/// Reads whole rows of a leaf: every column of the table opened once.
package struct RowReader {
  private let columns: [LeafColumn]
  private let schema: TableSchema

  package init(_ leaf: Leaf, _ schema: TableSchema) throws {
    columns = try schema.columnIDs.map { try leaf.column(id: $0) }
    self.schema = schema
  }

  /// A row's values; a column that the leaf does not have is null.
  package func row(_ row: Int, key: Int64) throws -> Row {
    var values: [Value] = []
    values.reserveCapacity(columns.count)
    for (column, reader) in zip(schema.columns, columns) {
      values.append(try reader.value(row, as: column.type))
    }
    return Row(key: key, values: values, schema: schema)
  }
}
