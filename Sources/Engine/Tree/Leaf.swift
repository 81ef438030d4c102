/// A leaf of the tree as its readers see it: rows in the order of their keys.
///
/// Rows count from 0, without those that were deleted.
///
/// Thread rule: confined, while the version is held.
package struct Leaf {
  /// The leaf's place in the tree; its `count` is the number of rows.
  package let entry: NodeEntry
  /// The cluster that most rows lie in, with the statistics of each of its columns.
  package let cluster: ClusterReader

  package init(_ entry: NodeEntry, _ blocks: BlockReader, end: UInt64) throws {
    self.entry = entry
    cluster = try blocks.cluster(entry, end: end)
  }

  package var rowCount: Int { cluster.rowCount }

  /// The keys of the rows.
  package func keys() throws -> LeafKeys {
    LeafKeys(firstKey: entry.firstKey, keys: try cluster.keys())
  }

  /// Opens a column; one that is all null when the leaf has none with that identifier.
  package func column(id: UInt32) throws -> LeafColumn {
    LeafColumn(reader: try cluster.open(id: id))
  }
}

/// The keys of a leaf's rows.
package struct LeafKeys {
  fileprivate let firstKey: Int64
  fileprivate let keys: ClusterKeys

  /// - Precondition: the row exists.
  package func key(_ row: Int) -> Int64 { firstKey &+ keys.offset(row) }

  /// The row of a key; nil when there is none.
  ///
  /// - Complexity: O(log rows).
  package func row(ofKey key: Int64) -> Int? { keys.row(key &- firstKey) }
}

/// One column of a leaf.
package struct LeafColumn {
  fileprivate let reader: ColumnReader

  package var rowCount: Int { reader.rowCount }

  /// The column as it is stored, when no row of the leaf was changed since: its statistics and typed
  /// values then hold for the leaf.
  package var unchanged: ColumnReader? { reader }

  /// A row's value; null outside the rows.
  ///
  /// - Throws: `ClusterError.damagedColumn` when the spelling is not of the type.
  package func value(_ row: Int, as type: ColumnType) throws -> Value {
    try reader.value(row, as: type)
  }

  /// Calls `body` with the bytes of a row's spelling, or nil for null. They are valid during the call.
  package func withSpelling<Result>(
    _ row: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    try reader.withSpelling(row, body)
  }

  /// Decodes the spellings of some rows.
  package func decode(rows: Range<Int>, into decoded: DecodedColumn) {
    decoded.decode(reader, rows: rows)
  }
}
