/// The use of a table's bytes, column by column.
///
/// Thread rule: a plain value, `Sendable`.
public struct TableUse: Sendable {
  /// The use of a column's bytes.
  public struct ColumnUse: Sendable {
    /// Its name, type and default.
    public let column: Column
    /// Bytes of its values in all clusters.
    public internal(set) var bytes = 0
    /// How many clusters use which encoding.
    public internal(set) var encodings: [String: Int] = [:]
    /// How many of the column's bytes are in which encoding.
    public internal(set) var encodingBytes: [String: Int] = [:]
    /// How many objects are null in the column.
    public internal(set) var nulls = 0
  }

  /// A secondary index.
  public struct IndexUse: Sendable {
    /// The name of its column.
    public let column: String
    /// Bytes of its blocks, nodes included.
    public let bytes: Int
    /// The number of its entries: one for each object, and outdated ones.
    public let entries: Int
  }

  /// The table's name.
  public let name: String
  /// Objects in the table.
  public let objects: Int
  /// Runs of objects that are stored together.
  public internal(set) var clusters = 0
  /// Bytes of clusters, their headers included.
  public internal(set) var clusterBytes = 0
  /// Bytes of the blocks that hold changed and deleted rows of clusters.
  public internal(set) var overlayBytes = 0
  /// The columns, in their order.
  public internal(set) var columns: [ColumnUse]
  /// The names of the primary key's columns, in its order; empty when there is none.
  public let keyColumns: [String]
  /// The name of the primary key's only column; nil when there is none, or several.
  public var keyColumn: String? { keyColumns.count == 1 ? keyColumns[0] : nil }
  /// Bytes of the primary key's index, its nodes included.
  public internal(set) var indexBytes = 0
  /// The secondary indexes, in the order of their columns.
  public internal(set) var secondaryIndexes: [IndexUse] = []

  /// Reads the directories of a table's clusters, but no values, and of changed rows only which are null.
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
    // Only directories are read, but the system maps the pages around them too: in the end, the whole file.
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

/// The range of the file that a walk through many blocks has read, released now and then.
private struct MappedRange {
  private let blocks: BlockReader
  private var range: Range<Int>?
  private var bytes = 0

  private static let most = 4 << 20

  init(_ blocks: BlockReader) { self.blocks = blocks }

  /// Call before a block is read: earlier blocks are released.
  mutating func add(_ reference: BlockReference) {
    let start = Int(clamping: reference.offset)
    let end = start + Int(reference.length)
    if bytes > Self.most, let range {
      blocks.forget(range)
      self.range = nil
      bytes = 0
    }
    bytes += Int(reference.length)
    range = min(range?.lowerBound ?? start, start)..<max(range?.upperBound ?? end, end)
  }
}
