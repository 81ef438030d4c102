/// A leaf of the tree for readers: rows in the order of their keys.
///
/// Rows are numbered from 0, without the deleted ones. In a leaf with an overlay, changed rows replace those
/// of the cluster.
///
/// Thread rule: confined, while the version is held. Bytes read in place are valid while the leaf exists.
package struct Leaf {
  /// The leaf's place in the tree; its `count` is the number of rows.
  package let entry: NodeEntry
  /// The cluster that has most of the rows. Its statistics do not cover changed rows: see `statistics`.
  package let cluster: ClusterReader
  /// The changes to the cluster's rows; nil when there are none.
  package let overlay: Overlay?
  /// Retains bytes that are only in memory; nil when all are in the file.
  private let memory: AnyObject?
  /// Where the leaf lies in its file, which no other leaf of the version does; nil if it was not read there.
  let place: BlockReference?

  package init(_ entry: NodeEntry, _ blocks: BlockReader, end: UInt64) throws {
    self.entry = entry
    memory = nil
    place = entry.reference
    guard entry.reference.isOverlay else {
      cluster = try blocks.cluster(entry, end: end)
      overlay = nil
      return
    }
    let overlay = try blocks.overlay(entry, end: end)
    cluster = try blocks.cluster(overlay.base, end: end)
    self.overlay = overlay
  }

  /// A leaf that is not in a tree.
  ///
  /// - Precondition: the cluster has as many rows as the overlay names.
  /// - Parameter memory: retains the overlay's bytes while the leaf exists.
  init(base cluster: ClusterReader, _ overlay: Overlay, memory: AnyObject? = nil) {
    self.memory = memory
    place = nil
    entry = overlay.base
    self.cluster = cluster
    self.overlay = overlay
  }

  /// A cluster that is not in a tree.
  ///
  /// - Parameter memory: retains the cluster's bytes while the leaf exists.
  package init(_ cluster: ClusterReader, firstKey: Int64, memory: AnyObject? = nil) {
    self.memory = memory
    place = nil
    entry = NodeEntry(
      firstKey: firstKey, count: UInt64(cluster.rowCount),
      reference: BlockReference(offset: 0, length: 0, checksum: 0))
    self.cluster = cluster
    overlay = nil
  }

  /// A cluster in a tree, without its changes.
  init(_ cluster: ClusterReader, entry: NodeEntry) {
    memory = nil
    place = nil
    self.entry = entry
    self.cluster = cluster
    overlay = nil
  }

  package var rowCount: Int { overlay?.rowCount ?? cluster.rowCount }

  /// The keys of the rows.
  package func keys() throws(ClusterError) -> LeafKeys {
    LeafKeys(
      firstKey: overlay?.base.firstKey ?? entry.firstKey, keys: try cluster.keys(),
      overlay: overlay)
  }

  /// Opens a column; a column of nulls when the leaf has none with that identifier.
  package func column(id: UInt32) throws(ClusterError) -> LeafColumn {
    var changes: OverlayColumn?
    if let overlay { changes = try OverlayColumn(overlay, id: id) }
    return LeafColumn(reader: try cluster.open(id: id), changes: changes)
  }

  /// Facts about a column's values, without reading all of them.
  ///
  /// - Complexity: O(1), or O(changed and deleted rows).
  package func statistics(id: UInt32) throws(ClusterError) -> LeafStatistics {
    guard let overlay, let changes = try OverlayColumn(overlay, id: id) else {
      let stored = try cluster.column(id: id)
      return LeafStatistics(
        nullCount: stored?.nullCount ?? rowCount, kind: stored?.statistics.kind ?? .none,
        integers: stored?.statistics.integers)
    }
    return try LeafColumn(reader: try cluster.open(id: id), changes: changes).changedStatistics()
  }
}

/// Facts about a leaf's column, without reading all of it.
package struct LeafStatistics: Equatable {
  package let nullCount: Int
  /// The kind of values that the bounds apply to.
  package let kind: ColumnStatistics.Kind
  /// Bounds, perhaps too wide, of values that are all integers, days or moments. Nil when some value is not,
  /// there is no value, or the bounds are unknown.
  package let integers: ClosedRange<Int64>?
}

/// The keys of a leaf's rows.
package struct LeafKeys {
  fileprivate let firstKey: Int64
  fileprivate let keys: ClusterKeys
  fileprivate let overlay: Overlay?

  /// - Precondition: the row exists.
  package func key(_ row: Int) -> Int64 {
    firstKey &+ keys.offset(overlay.map { $0.baseRow(row) } ?? row)
  }

  /// The row of a key; nil when there is none.
  ///
  /// - Complexity: O(log rows).
  package func row(ofKey key: Int64) -> Int? {
    guard let row = keys.row(key &- firstKey) else { return nil }
    guard let overlay else { return row }
    return overlay.isDeleted(row) ? nil : row - overlay.deletedCount(before: row)
  }
}

/// One column of a leaf.
package struct LeafColumn {
  fileprivate let reader: ColumnReader
  /// The overlay's changes to the column; nil when it has none and no row is deleted.
  let changes: OverlayColumn?
  private var overlay: Overlay? { changes?.overlay }

  /// A column without changes.
  init(_ reader: ColumnReader) { self.init(reader: reader, changes: nil) }

  init(reader: ColumnReader, changes: OverlayColumn?) {
    self.reader = reader
    self.changes = changes
  }

  package var rowCount: Int { overlay?.rowCount ?? reader.rowCount }

  /// The stored column, if none of its values was changed and no row deleted: its statistics and typed values
  /// then apply to the leaf.
  package var unchanged: ColumnReader? { changes == nil ? reader : nil }

  /// The stored column, without changes.
  var stored: ColumnReader { reader }

  /// A row's value; null for a row that does not exist.
  ///
  /// - Throws: `ClusterError.misfit` when the spelling does not fit the type.
  package func value(_ row: Int, as reading: Reading) throws(ClusterError) -> Value {
    guard let changes, let overlay else { return try reader.value(row, as: reading) }
    guard row >= 0, row < rowCount else { return .null }
    let baseRow = overlay.baseRow(row)
    guard let place = overlay.place(ofRow: baseRow) else {
      return try reader.value(baseRow, as: reading)
    }
    return try changes.withField(place) { (field) throws(ClusterError) -> Value in
      guard case .spelling(let found) = field else {
        return try reader.value(baseRow, as: reading)
      }
      guard let spelling = found else { return .null }
      guard let value = Value(spelling: spelling, as: reading) else {
        throw .misfit(column: reader.id, row: row, type: reading.type)
      }
      return value
    }
  }

  /// Calls `body` with the bytes of a row's spelling, or nil for null. They are valid during the call.
  package func withSpelling<Result>(
    _ row: Int, _ body: (UnsafeRawBufferPointer?) throws -> Result
  ) throws -> Result {
    guard let changes, let overlay else { return try reader.withSpelling(row, body) }
    guard row >= 0, row < rowCount else { return try body(nil) }
    let baseRow = overlay.baseRow(row)
    guard let place = overlay.place(ofRow: baseRow) else {
      return try reader.withSpelling(baseRow, body)
    }
    return try changes.withField(place) { (field) throws -> Result in
      guard case .spelling(let spelling) = field else {
        return try reader.withSpelling(baseRow, body)
      }
      return try body(spelling)
    }
  }

  /// Decodes the spellings of some rows.
  ///
  /// - Parameter part: how the rows relate to those of the last call with `decoded`.
  package func decode(
    rows: Range<Int>, into decoded: DecodedColumn, part: DecodedColumn.Part = .only
  ) {
    guard let changes, let overlay else {
      decoded.decode(reader, rows: rows, part: part)
      return
    }
    let rows = rows.clamped(to: 0..<rowCount)
    guard !rows.isEmpty else {
      decoded.decode(reader, rows: 0..<0)
      return
    }
    let first = overlay.baseRow(rows.lowerBound)
    let end = overlay.baseRow(rows.upperBound - 1) + 1
    decoded.decode(reader, rows: first..<end, part: part)
    changes.forEachChange(first..<end) { row, spelling in
      decoded.replace(row - first, with: spelling)
    }
    let deleted = overlay.deletedCount(before: first)..<overlay.deletedCount(before: end)
    decoded.remove(deleted.count) { overlay.deletedRow(deleted.lowerBound + $0) - first }
  }

  /// Opens the column for `decode(rows:into:)`.
  ///
  /// - Throws: `ClusterError`.
  package func open(_ window: ColumnWindow) throws(ClusterError) {
    if changes == nil { try window.open(reader) } else { window.openChanged(reader) }
  }

  /// Decodes the numbers of a column with changes: first the original ones, then the changed ones. Returns
  /// false when that is impossible.
  private func decodeChanged(
    rows: Range<Int>, _ changes: OverlayColumn, into window: ColumnWindow
  ) throws(ClusterError) -> Bool {
    let overlay = changes.overlay
    guard !rows.isEmpty, window.readsStored else { return false }
    let first = overlay.baseRow(rows.lowerBound)
    let end = overlay.baseRow(rows.upperBound - 1) + 1
    do throws(ClusterError) {
      try window.decode(reader, rows: first..<end)
    } catch {
      // Perhaps it is the original value, of another type, of a changed row; otherwise reading the row
      // throws.
      return false
    }
    try changes.replaceNumbers(first..<end, in: window)
    let deleted = overlay.deletedCount(before: first)..<overlay.deletedCount(before: end)
    window.remove(deleted.count) { overlay.deletedRow(deleted.lowerBound + $0) - first }
    return true
  }

  /// Decodes the values of some rows.
  ///
  /// - Precondition: the window was opened with this column.
  /// - Throws: `ClusterError`.
  package func decode(rows: Range<Int>, into window: ColumnWindow) throws(ClusterError) {
    let rows = rows.clamped(to: 0..<rowCount)
    guard let changes else { return try window.decode(reader, rows: rows) }
    if try decodeChanged(rows: rows, changes, into: window) { return }
    try window.decodeSpelled(id: reader.id) { decode(rows: rows, into: $0) }
  }

  /// - Precondition: the overlay changes the column.
  fileprivate func changedStatistics() throws(ClusterError) -> LeafStatistics {
    guard let changes, let overlay else {
      return LeafStatistics(nullCount: 0, kind: .none, integers: nil)
    }
    var nulls = reader.nullCount
    if nulls > 0 {
      for index in 0..<overlay.deletedCount where reader.isNull(overlay.deletedRow(index)) {
        nulls -= 1
      }
    }
    let stored = reader.statistics.kind
    let kind = stored == .none ? .integers : stored
    var collector = StatisticsCollector(kind)
    let own = reader.statistics.integers
    var isKnown = own != nil || reader.nullCount == reader.rowCount
    if let own { collector.add(own) }
    // Nulls are counted, so replaced rows have to be read; bounds may be too wide.
    var readsRows = reader.nullCount > 0
    for (source, block) in zip(changes.sources, overlay.blocks) {
      guard case .values(let values) = source else {
        if case .records(nil) = source, !block.hasWholeRows { continue }
        readsRows = true
        continue
      }
      readsRows = readsRows || values.nullCount > 0
      if values.nullCount == values.rowCount { continue }
      if values.statistics.kind == kind, let bounds = values.statistics.integers {
        collector.add(bounds)
      } else {
        isKnown = false
      }
    }
    if readsRows { changes.collect(reader, &nulls, &collector, &isKnown) }
    let bounds = collector.result.integers
    return LeafStatistics(nullCount: nulls, kind: kind, integers: isKnown ? bounds : nil)
  }
}

extension RowBuffer {
  /// Adds all rows of a leaf.
  ///
  /// - Throws: `ClusterError` when the leaf is damaged or the rows are too large; the buffer is then
  ///   unchanged.
  mutating func append(_ leaf: Leaf) throws(ClusterError) {
    let keys = try leaf.keys()
    try append(rowCount: leaf.rowCount, key: keys.key) { id, decoded throws(ClusterError) in
      try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
    }
  }
}
