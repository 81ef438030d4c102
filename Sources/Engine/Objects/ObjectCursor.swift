/// Reads single objects of a table in one version. Leaves that were read lately are kept open, so that going
/// back to one, or on to a neighbour, costs little.
///
/// Thread rule: confined; one thread at a time. Keeps its snapshot alive.
package final class ObjectCursor: ObjectReading {
  package let table: Table
  package var shape: RowShape { table.shape }
  private let leaves: LeafCache
  private let columnCount: Int
  // Unchecked, as all below: nothing that is called while they change comes back here; the checks would
  // cost more than reading a value.
  @exclusivity(unchecked) private var reader: LeafReader?
  /// Its row in the leaf.
  @exclusivity(unchecked) private var place = 0
  /// The object's values, where the reader has them together.
  @exclusivity(unchecked) private var record: RowRecords.Record?
  /// How many objects come before the leaf; nil when it is not known.
  @exclusivity(unchecked) private var leafPosition: Int?

  package init(_ table: Table) {
    self.table = table
    leaves = table.takeLeaves()
    columnCount = table.shape.columns.count
  }

  deinit { table.putLeaves(leaves) }

  package var key: Int64? { reader?.key(place) }

  package func go(to key: Int64) throws -> Bool {
    if let reader, key >= reader.leaf.entry.firstKey, let row = reader.row(ofKey: key) {
      go(reader, row)
      return true
    }
    leave()
    return try table.reading {
      guard let entry = try table.tree.leaf(ofKey: key) else { return false }
      let leaf = try table.leaf(entry, leaves)
      guard let row = leaf.row(ofKey: key) else { return false }
      leafPosition = nil
      go(leaf, row)
      return true
    }
  }

  @inline(__always)
  private func go(_ leaf: LeafReader, _ row: Int) {
    reader = leaf
    place = row
    record = leaf.record(row)
  }

  private func leave() {
    reader = nil
    record = nil
  }

  package func go(toPosition position: Int) throws -> Bool {
    if let reader, let leafPosition, position >= leafPosition,
      position - leafPosition < reader.rowCount
    {
      go(reader, position - leafPosition)
      return true
    }
    leave()
    return try table.reading {
      guard position >= 0,
        let location = try table.tree.location(ofPosition: UInt64(position))
      else { return false }
      let leaf = try table.leaf(location.entry, leaves)
      let first = Int(clamping: location.position)
      guard position - first < leaf.rowCount else { return false }
      leafPosition = first
      go(leaf, position - first)
      return true
    }
  }

  package func position() throws -> Int? {
    guard let reader else { return nil }
    if leafPosition == nil {
      leafPosition = try table.reading {
        try table.tree.location(ofKey: reader.key(place)).map { Int(clamping: $0.position) }
      }
    }
    return leafPosition.map { $0 + place }
  }

  package func value(_ column: Int) throws -> Value {
    guard column >= 0, column < columnCount else { return .null }
    if let value = record?.value(column) { return value }
    guard let reader else { return .null }
    return try table.reading { try reader.value(place, column) }
  }

  package func withSpelling<Result>(
    _ column: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard let reader, shape.columns.indices.contains(column) else { return try body(nil) }
    return try table.reading { try reader.withSpelling(place, column, body) }
  }

  package func row() throws -> Row? {
    guard let reader else { return nil }
    return try table.reading {
      Row(key: reader.key(place), values: try reader.values(place), shape: shape)
    }
  }
}
