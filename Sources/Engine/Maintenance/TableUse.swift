/// The use of a table's bytes, column by column.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableUse: Sendable {
  /// The use of a column's bytes.
  public struct ColumnUse: Sendable {
    /// Its name, type and default.
    public let column: Column
    /// The bytes of its values in all clusters.
    public internal(set) var bytes = 0
    /// The number of clusters by encoding.
    public internal(set) var encodings: [String: Int] = [:]
    /// The bytes of the column by encoding.
    public internal(set) var encodingBytes: [String: Int] = [:]
    /// The number of nulls in the column.
    public internal(set) var nulls = 0
  }

  /// A secondary index.
  public struct IndexUse: Sendable {
    /// The name of its column.
    public let column: String
    /// The bytes of its blocks, including nodes.
    public let bytes: Int
    /// The number of its entries: one for each object, and outdated ones.
    public let entries: Int
  }

  /// The table's name.
  public let name: String
  /// The number of objects in the table.
  public let objects: Int
  /// The number of clusters, which are runs of objects stored together.
  public internal(set) var clusters = 0
  /// The bytes of clusters, including their headers.
  public internal(set) var clusterBytes = 0
  /// The bytes of blocks with changed and deleted rows of clusters.
  public internal(set) var overlayBytes = 0
  /// The columns, in order.
  public internal(set) var columns: [ColumnUse]
  /// The names of the primary key's columns, in its order; empty when there is no key.
  public let keyColumns: [String]
  /// The name of the primary key's only column; nil when there is no key, or several columns.
  public var keyColumn: String? { keyColumns.count == 1 ? keyColumns[0] : nil }
  /// The bytes of the primary key's index, including its nodes.
  public internal(set) var indexBytes = 0
  /// The secondary indexes, in the order of their columns.
  public internal(set) var secondaryIndexes: [IndexUse] = []

  /// Reads the directories of a table's clusters, but no values; of changed rows only the nulls.
  ///
  /// - Complexity: O((clusters + changed rows) × columns).
  /// - Throws: `EngineError.damaged`.
  package init(_ table: Table) throws {
    name = table.name
    objects = table.count
    columns = table.columns.map { ColumnUse(column: $0) }
    keyColumns = table.keyColumns
    indexBytes = try table.indexBytes()
    secondaryIndexes = try table.valueIndexSizes().map {
      IndexUse(column: $0.column, bytes: $0.bytes, entries: $0.entries)
    }
    let identifiers = table.schema.columnIDs
    // Only directories are read, but the system also maps the pages around them: in the end, the whole file.
    var mapped = MappedRange(table.tree.blocks)
    try table.forEachLeaf { leaf in
      mapped.add(leaf.overlay?.base.reference ?? leaf.entry.reference)
      clusters += 1
      if let overlay = leaf.overlay {
        clusterBytes += Int(overlay.base.reference.length)
        overlayBytes += overlay.byteCount
      } else {
        clusterBytes += Int(leaf.entry.reference.length)
      }
      for (index, identifier) in identifiers.enumerated() {
        columns[index].nulls += try leaf.statistics(id: identifier).nullCount
        guard let column = try leaf.cluster.column(id: identifier) else { continue }
        columns[index].bytes += column.byteCount
        columns[index].encodings[column.encoding.name, default: 0] += 1
        columns[index].encodingBytes[column.encoding.name, default: 0] += column.byteCount
      }
    }
  }
}
