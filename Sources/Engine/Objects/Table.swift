/// A table in one version, for reading.
///
/// Thread rule: `Sendable`; any thread. It retains its snapshot.
public struct Table: Sendable {
  let snapshot: Snapshot
  private let entry: Catalogue.TableEntry
  /// The columns with their permanent numbers, and the primary key.
  public var schema: TableSchema { shape.schema }
  package let shape: RowShape
  package let tree: TreeReader

  init(snapshot: Snapshot, entry: Catalogue.TableEntry) throws {
    self.snapshot = snapshot
    var entry = entry
    let end = snapshot.record.end
    shape = RowShape(
      try TableSchema(decoding: try snapshot.blocks.block(entry.schema, end: end)))
    try entry.checkIndexes(shape.schema)
    self.entry = entry
    tree = TreeReader(blocks: snapshot.blocks, root: entry.root, end: end)
  }

  /// The table's name in this version.
  public var name: String { entry.name }
  /// The same in every version, whatever the table's name; never assigned to another table.
  package var number: UInt32 { entry.number }
  /// The database version of this table.
  package var version: UInt64 { snapshot.version }
  /// The columns, in their order.
  public var columns: [Column] { schema.columns }

  /// Name, columns and key, in the form of a declaration.
  public var definition: TableDefinition { TableDefinition(name, schema, indexes: indexedColumns) }

  /// The number of objects. Cost: O(1); the number is stored.
  public var count: Int { Int(clamping: tree.root.count) }

  /// Higher than every key in this version.
  package var nextKey: Int64 { entry.nextKey }

  /// A small value stored with the table, such as an import's checkpoint.
  package func note(_ name: String) -> [UInt8]? { entry.notes[name] }

  // MARK: Single objects

  /// The object with a key; nil when there is none.
  ///
  /// - Complexity: O(log n); about a microsecond when the clusters are in memory. Recently read clusters stay
  ///   open, for all versions. `value(forKey:column:)` reads less.
  /// - Throws: `EngineError.damaged` when a block on the path is damaged.
  public func row(forKey key: Int64) throws -> Row? {
    try withLeaves { leaves in
      guard let (reader, row) = try find(key, leaves) else { return nil }
      return Row(key: key, values: try reader.values(row), shape: shape)
    }
  }

  /// One value of the object with a key; nil when there is no such object.
  ///
  /// - Complexity: O(log n). Reads no other columns.
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`.
  public func value(forKey key: Int64, column name: String) throws -> Value? {
    let column = try indices(of: [name])[0]
    return try withLeaves { leaves in
      guard let (reader, row) = try find(key, leaves) else { return nil }
      return try reader.value(row, column)
    }
  }

  /// The object at a position in the order of keys, from 0; nil beyond the last.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.damaged`.
  public func row(at position: Int) throws -> Row? {
    try withLeaves { leaves in
      guard let (reader, row) = try find(position: position, leaves) else { return nil }
      return Row(
        key: reader.key(row), values: try reader.values(row), shape: shape)
    }
  }

  /// The key of the object at a position in the order of keys, from 0; nil beyond the last.
  ///
  /// - Complexity: O(log n). Reads no value.
  /// - Throws: `EngineError.damaged`.
  public func key(at position: Int) throws -> Int64? {
    try withLeaves { leaves in
      try find(position: position, leaves).map { reader, row in reader.key(row) }
    }
  }

  /// The number of objects before the one with a key, in the order of keys; nil when no object has that key.
  ///
  /// - Complexity: O(log n). Reads no value.
  /// - Throws: `EngineError.damaged`.
  public func position(ofKey key: Int64) throws -> Int? {
    try withLeaves { leaves in
      guard let place = try tree.location(ofKey: key),
        let row = try self.leaf(place.entry, leaves).row(ofKey: key)
      else { return nil }
      return Int(clamping: place.position) + row
    }
  }

  private func find(
    _ key: Int64, _ leaves: LeafCache
  ) throws -> (reader: LeafReader, row: Int)? {
    guard let entry = try tree.leaf(ofKey: key) else { return nil }
    let reader = try leaf(entry, leaves)
    return reader.row(ofKey: key).map { (reader, $0) }
  }

  private func find(
    position: Int, _ leaves: LeafCache
  ) throws -> (reader: LeafReader, row: Int)? {
    guard position >= 0, let place = try tree.location(ofPosition: UInt64(position)) else {
      return nil
    }
    let reader = try leaf(place.entry, leaves)
    let row = position - Int(clamping: place.position)
    return row < reader.rowCount ? (reader, row) : nil
  }

  /// Returns a leaf's reader, opening the leaf if necessary.
  func leaf(_ entry: NodeEntry, _ leaves: LeafCache) throws -> LeafReader {
    try leaves.reader(entry, shape, tree.blocks, end: tree.end)
  }

  /// Calls `body` with the open leaves, which no other thread uses meanwhile.
  private func withLeaves<Result>(_ body: (LeafCache) throws -> Result) throws -> Result {
    let leaves = takeLeaves()
    defer { putLeaves(leaves) }
    return try reading { try body(leaves) }
  }

  /// Takes the open leaves, for use by one thread at a time; the caller returns them.
  func takeLeaves() -> LeafCache { tree.blocks.known.take() as? LeafCache ?? LeafCache() }

  func putLeaves(_ leaves: LeafCache) { tree.blocks.known.put(leaves) }

  /// Runs `body` and converts its errors to `EngineError`.
  @inline(__always)
  func reading<Result>(_ body: () throws -> Result) throws -> Result {
    try translatingErrors(snapshot.blocks.storage.path, body)
  }

  /// The name of the only column of the primary key; nil when the table has no key, or one of several
  /// columns: see `keyColumns`.
  public var keyColumn: String? { keyColumns.count == 1 ? keyColumns[0] : nil }

  /// The names of the primary key's columns, in its order; empty when the table has none.
  public var keyColumns: [String] { schema.keyNames }

  /// The names of the columns that have a secondary index, in the columns' order.
  public var indexedColumns: [String] {
    entry.valueIndexes.compactMap { index in
      schema.columnIDs.firstIndex(of: index.column).map { columns[$0].name }
    }
  }

  package func valueIndexReader(ofColumn id: UInt32) -> (code: ValueCode, entries: IndexReader)? {
    entry.valueIndexes.first { $0.column == id }.map {
      ($0.code, IndexReader($0.runs, IndexBlocks(tree.blocks, end: tree.end)))
    }
  }

  /// The runs of the primary key's index.
  var keyRuns: [IndexRun] { entry.index }

  package func keyIndexReader() -> (code: KeyCode, entries: IndexReader)? {
    if schema.keyColumns.isEmpty { return nil }
    return (schema.keyCode, IndexReader(entry.index, IndexBlocks(tree.blocks, end: tree.end)))
  }

  /// The object with a primary key; nil when there is none.
  ///
  /// A primary key is the spelling of its value. In a column of doubles, a number is looked up as `5.0` and
  /// then as `5`; in a text column only the exact text matches.
  ///
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, `.damaged`.
  public func row(forPrimaryKey value: Value) throws -> Row? {
    try row(forPrimaryKey: [value])
  }

  /// The object with a primary key of several columns; nil when there is none. A null among the values finds
  /// none.
  ///
  /// - Parameter values: one for each column of the key, in its order: see `keyColumns`.
  /// - Complexity: O(log n).
  /// - Throws: `EngineError.invalidArgument` when the table has no primary key, or one of another number of
  ///   columns; `.damaged`.
  public func row(forPrimaryKey values: [Value]) throws -> Row? {
    guard !schema.keyColumns.isEmpty else {
      throw EngineError.invalidArgument("table '\(name)' has no primary key")
    }
    guard values.count == schema.keyColumns.count else {
      throw EngineError.wrongKeyParts(table: name, schema, given: values.count)
    }
    return try withLeaves { leaves in
      for key in values.keyBytes(schema) {
        if let row = try row(withKey: key, leaves) { return row }
      }
      return nil
    }
  }

  /// The key of the object with the primary key of these bytes (`KeyTuple`); nil when there is none.
  ///
  /// - Complexity: O(log n).
  package func object(forKeyBytes key: [UInt8]) throws -> Int64? {
    if schema.keyColumns.isEmpty { return nil }
    return try withLeaves { try row(withKey: key, $0)?.key }
  }

  private func row(withKey key: [UInt8], _ leaves: LeafCache) throws -> Row? {
    try key.withUnsafeBytes { wanted in
      let code = schema.keyCode.code(wanted)
      var found: Row?
      for run in entry.index where found == nil {
        try run.find(CollectionOfOne(code), IndexBlocks(tree.blocks, end: tree.end)) {
          _, object in
          if found == nil { found = try row(object, leaves, having: wanted) }
        }
      }
      return found
    }
  }

  /// The object with a key, if it has the given primary key.
  private func row(
    _ key: Int64, _ leaves: LeafCache, having wanted: UnsafeRawBufferPointer
  ) throws -> Row? {
    guard let (reader, row) = try find(key, leaves) else { return nil }
    guard try reader.has(wanted, row, schema.keyColumns) else { return nil }
    return Row(key: key, values: try reader.values(row), shape: shape)
  }

  /// The size of the primary key's index in bytes.
  ///
  /// - Complexity: O(nodes of the index).
  package func indexBytes() throws -> Int { try byteCount(entry.index) }

  /// The entries of the primary key's index: one for each object, plus outdated ones.
  package var indexEntries: Int {
    Int(clamping: entry.index.reduce(UInt64(0)) { $0 &+ $1.count })
  }

  /// The secondary indexes, each with its column's name, bytes and entries.
  ///
  /// - Complexity: O(nodes of the indexes).
  package func valueIndexSizes() throws -> [(column: String, bytes: Int, entries: Int)] {
    try zip(indexedColumns, entry.valueIndexes).map { column, index in
      let entries = index.runs.reduce(UInt64(0)) { $0 &+ $1.count }
      return (column, try byteCount(index.runs), Int(clamping: entries))
    }
  }

  private func byteCount(_ runs: [IndexRun]) throws -> Int {
    try reading {
      var bytes = 0
      for run in runs {
        try IndexBlocks(tree.blocks, end: tree.end).walk(run) { entry, _ in
          bytes += Int(entry.reference.length)
        }
      }
      return bytes
    }
  }

  /// Calls `body` with every object, in the order of keys. `forEachView` is faster, since it copies nothing.
  ///
  /// - Throws: `EngineError.damaged`, and the errors of `body`.
  public func forEachRow(_ body: (Row) throws -> Void) throws {
    let scan = RowScan(shape, copies: true)
    try forEachLeaf { leaf in try scan.forEachRow(leaf, body) }
  }

  /// Calls `body` with every object in place, in the order of keys: see `RowView`.
  ///
  /// - Throws: `EngineError.damaged`, and the errors of `body`.
  public func forEachView(_ body: (RowView) throws -> Void) throws {
    let scan = RowScan(shape, copies: false)
    try forEachLeaf { leaf in try scan.forEachView(leaf, body) }
  }

  package func walkLeaves(_ body: (Leaf) throws -> Bool) throws {
    try reading {
      var cursor = tree.leaves()
      while let location = try cursor.next() {
        guard try body(try Leaf(location.entry, tree.blocks, end: tree.end)) else { return }
      }
    }
  }
}
