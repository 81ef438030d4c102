/// Where a table's bytes are, column by column.
public struct TableUse: Sendable {
  public struct ColumnUse: Sendable {
    public let column: Column
    /// Bytes of its values in all clusters.
    public internal(set) var bytes = 0
    /// How many clusters use which encoding.
    public internal(set) var encodings: [String: Int] = [:]
    public internal(set) var nulls = 0
  }

  public let name: String
  public let objects: Int
  public internal(set) var clusters = 0
  /// Bytes of clusters, their headers included.
  public internal(set) var clusterBytes = 0
  public internal(set) var columns: [ColumnUse]
  /// The name of the primary key's column; nil when there is none.
  public let keyColumn: String?
  /// Bytes of the primary key's index, its nodes included.
  public internal(set) var indexBytes = 0

  /// Reads the directories of a table's clusters, not their values.
  ///
  /// - Complexity: O(clusters × columns).
  /// - Throws: `EngineError.damaged`.
  package init(_ table: Table) throws {
    name = table.name
    objects = table.count
    columns = table.columns.map { ColumnUse(column: $0) }
    keyColumn = table.keyColumn
    indexBytes = try table.indexBytes()
    let identifiers = table.schema.columnIDs
    try table.forEachLeaf { leaf in
      clusters += 1
      clusterBytes += Int(leaf.entry.reference.length)
      for (index, identifier) in identifiers.enumerated() {
        guard let column = try leaf.cluster.column(id: identifier) else {
          columns[index].nulls += leaf.rowCount
          continue
        }
        columns[index].bytes += column.byteCount
        columns[index].nulls += column.nullCount
        columns[index].encodings[column.encoding.name, default: 0] += 1
      }
    }
  }
}
