/// The primary keys of a leaf's rows, decoded many at a time.
///
/// Thread rule: confined. Its memory is reused.
package final class DecodedKeys {
  private let columns: [DecodedColumn]
  private let columnIDs: [UInt32]
  private var room: [UInt8] = []

  /// - Parameter columnIDs: the permanent numbers of the key's columns, in its order.
  package init(_ columnIDs: [UInt32]) {
    self.columnIDs = columnIDs
    columns = columnIDs.map { _ in DecodedColumn() }
  }

  package convenience init(_ schema: TableSchema) {
    self.init(schema.keyColumns.map { schema.columnIDs[$0] })
  }

  package func decode(_ leaf: Leaf, rows: Range<Int>) throws {
    for (id, column) in zip(columnIDs, columns) {
      try leaf.column(id: id).decode(rows: rows, into: column)
      guard column.count == rows.count else {
        throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
      }
    }
  }

  package func decode(_ cluster: ClusterReader) throws {
    for (id, column) in zip(columnIDs, columns) {
      column.decode(try cluster.open(id: id), rows: 0..<cluster.rowCount)
    }
  }

  /// The number of decoded rows.
  package var count: Int { columns.first?.count ?? 0 }

  /// Whether a row has a key.
  @inline(__always)
  package func has(_ key: UnsafeRawBufferPointer, row: Int) -> Bool {
    KeyTuple.areEqual(key, columns: columns.count) { columns[$0][row] }
  }

  /// Calls `body` with a row's key, valid during the call; with nil where a part of it is null.
  @inline(__always)
  package func withKey<Result>(
    _ row: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) rethrows -> Result {
    if columns.count == 1 { return try body(columns[0][row]) }
    room.removeAll(keepingCapacity: true)
    for column in columns {
      guard let part = column[row] else { return try body(nil) }
      KeyTuple.append(part, to: &room)
    }
    return try room.withUnsafeBytes { try body($0) }
  }

  /// Calls `body` with the decoded rows' keys, in the form for `TableEditor.addKeys`.
  package func withKeys<Result>(
    _ body: (UnsafeRawPointer, UnsafeBufferPointer<TextSpan>) throws -> Result
  ) throws -> Result {
    if columns.count == 1 { return try body(columns[0].base, columns[0].spans) }
    var keys = KeyTuples(columns: columns.count)
    for row in 0..<count { try keys.append { columns[$0][row] } }
    return try keys.withKeys(body)
  }
}

extension Leaf {
  /// Calls `body` with a row's primary key; with nil where a part of it is null.
  ///
  /// - Parameter columnIDs: the permanent numbers of the key's columns, in its order.
  package func withKey<Result>(
    _ row: Int, _ columnIDs: [UInt32], _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    if columnIDs.count == 1 { return try column(id: columnIDs[0]).withSpelling(row, body) }
    var key: [UInt8] = []
    for id in columnIDs {
      let isNull = try column(id: id).withSpelling(row) { part in
        if let part { KeyTuple.append(part, to: &key) }
        return part == nil
      }
      if isNull { return try body(nil) }
    }
    return try key.withUnsafeBytes { try body($0) }
  }

  /// Whether a row has a primary key.
  package func has(
    _ key: UnsafeRawBufferPointer, _ row: Int, _ columnIDs: [UInt32]
  ) throws -> Bool {
    try withKey(row, columnIDs) { $0.map { Bytes.areEqual($0, key) } ?? false }
  }
}

extension [Value] {
  /// The possible bytes of an object's key with these values, most likely first: see `Value.keySpellings`.
  /// None where a value is null.
  ///
  /// - Parameter schema: a schema whose key has as many columns.
  func keyBytes(_ schema: TableSchema) -> [[UInt8]] {
    var keys: [[[UInt8]]] = [[]]
    for (value, column) in zip(self, schema.keyColumns) {
      if value == .null { return [] }
      let spellings = value.keySpellings(in: schema.columns[column].type)
      keys = keys.flatMap { key in spellings.map { key + [$0] } }
    }
    return keys.map(KeyTuple.bytes)
  }
}

extension EngineError {
  /// The error for a primary key that was given with a wrong number of values.
  static func wrongKeyParts(table: String, _ schema: TableSchema, given: Int) -> EngineError {
    .invalidArgument(
      "the primary key of table '\(table)' has \(schema.keyColumns.count) columns ("
        + schema.keyNames.joined(separator: ", ") + "); \(given) values were given")
  }
}
