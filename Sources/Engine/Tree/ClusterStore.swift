import Base

/// Reads and writes a transaction's clusters of one table.
///
/// Thread rule: only the transaction's thread.
package final class ClusterStore {
  private let writer: BlockWriter
  private let blocks: BlockReader
  private let baseEnd: UInt64
  package let builder: ClusterBuilder
  /// Encodes changed rows thoroughly: they are few and stay in many versions.
  private lazy var columnBuilder = ClusterBuilder(effort: .thorough)
  /// A cluster whose rows are still in memory, so that consecutive small transactions need not decode the
  /// cluster that they all append to. The reference's checksum identifies the values; with the first key it
  /// identifies the keys.
  package struct Tail {
    let reference: BlockReference
    let rows: RowBuffer

    /// Larger clusters are not worth the memory.
    static let maximumBytes = 1 << 20
  }

  /// The tail that the last transaction wrote; its first change takes it.
  package var tail: Tail?
  /// The last cluster that this transaction wrote.
  private(set) package var lastClosed: Tail?
  /// The numbers of the table's columns in clusters; set before the first cluster is opened.
  package var columnIDs: [UInt32] = []

  /// - Parameter builder: used only by this store meanwhile.
  package init(
    writer: BlockWriter, blocks: BlockReader, baseEnd: UInt64, builder: ClusterBuilder
  ) {
    self.builder = builder
    self.writer = writer
    self.blocks = blocks
    self.baseEnd = baseEnd
  }

  /// The transaction's own blocks are beyond the end of its base.
  private func end() throws -> UInt64 {
    try writer.writeOut()
    return max(baseEnd, UInt64(writer.length))
  }

  /// A leaf for reading, perhaps one of this transaction.
  package func leaf(_ entry: NodeEntry) throws -> Leaf {
    try Leaf(entry, blocks, end: end())
  }

  /// All rows of a leaf, for changing.
  package func openRows(_ entry: NodeEntry) throws -> OpenCluster {
    if let rows = try takeTail(entry) { return rows }
    var rows = RowBuffer(columnIDs: columnIDs)
    try rows.append(try leaf(entry))
    try dropLeaf(entry)
    return OpenCluster(rows)
  }

  private func takeTail(_ entry: NodeEntry) throws(BlockError) -> OpenCluster? {
    guard let tail, tail.reference == entry.reference, tail.rows.keys.first == entry.firstKey,
      tail.rows.columnIDs == columnIDs
    else { return nil }
    self.tail = nil
    try drop(entry.reference)
    return OpenCluster(tail.rows)
  }

  /// The greatest key of a leaf.
  func lastKey(of entry: NodeEntry) throws -> Int64? {
    if let tail, tail.reference == entry.reference, tail.rows.keys.first == entry.firstKey {
      return tail.rows.keys.last
    }
    let leaf = try leaf(entry)
    return leaf.rowCount == 0 ? nil : try leaf.keys().key(leaf.rowCount - 1)
  }

  /// A leaf for changing a few of its rows; nil when it has no row with that key.
  package func open(
    _ entry: NodeEntry, holding key: Int64, limits: TreeEditor.Limits
  ) throws -> OpenLeaf? {
    let leaf = try leaf(entry)
    guard try leaf.keys().row(ofKey: key) != nil else { return nil }
    let length = Int((leaf.overlay?.base ?? entry).reference.length)
    // Rewriting such a cluster costs about as much as an overlay.
    if length < limits.overlayFrom { return .rows(try openRows(entry)) }
    return .overlay(try OpenOverlay(leaf, columnIDs: columnIDs))
  }

  /// The rows of a leaf whose overlay is open.
  func openRows(_ overlay: OpenOverlay) throws -> OpenCluster {
    let rows = try overlay.rows()
    try overlay.references.forEach(drop)
    return OpenCluster(rows)
  }

  package func newCluster() -> OpenCluster { OpenCluster(RowBuffer(columnIDs: columnIDs)) }

  /// Writes an open leaf: as its overlay, or as rows when the overlay has become large compared with the
  /// cluster.
  package func close(_ leaf: OpenLeaf, limits: TreeEditor.Limits) throws -> [NodeEntry] {
    switch leaf {
    case .rows(let cluster): return try close(cluster, limits: limits)
    case .overlay(let overlay): return try close(overlay, limits: limits)
    }
  }

  private func close(_ overlay: OpenOverlay, limits: TreeEditor.Limits) throws -> [NodeEntry] {
    #if DEBUG
      Invariants.require(overlay.checkInvariants)
    #endif
    if overlay.count == 0 {
      try overlay.references.forEach(drop)
      return []
    }
    if overlay.isUnchanged { return [overlay.entry] }
    let most = limits.overlayBytes(of: overlay.base)
    // After so many changes, comparing the rows costs more than it can save.
    if overlay.isMostlyDeleted || overlay.newBytes > most * 4 {
      return try close(try openRows(overlay), limits: limits)
    }
    var builder = try OverlayBuilder(overlay, columns: columnBuilder, limits.columnsPercent)
    let merged = try builder.mergedCount()
    let rest = overlay.stored.map { $0.blocks[merged...].reduce(0) { $0 + $1.byteCount } } ?? 0
    let block = try builder.encode(merging: merged)
    if (block?.count ?? 0) + rest > most { return try rewrite(overlay, limits: limits) }
    let references = overlay.stored?.references ?? []
    try references[..<merged].forEach(drop)
    var reference = merged < references.count ? references[merged] : overlay.base.reference
    if let block {
      reference = try writer.append(node: block)
      reference.isOverlay = true
    }
    return [
      NodeEntry(firstKey: overlay.firstKey, count: UInt64(overlay.count), reference: reference)
    ]
  }

  /// Writes all rows of a leaf anew after many small changes. Those of a compacted file stay in large
  /// clusters, encoded as thoroughly, which take up to half of the space of others.
  private func rewrite(_ overlay: OpenOverlay, limits: TreeEditor.Limits) throws -> [NodeEntry] {
    let rows = overlay.cluster.rowCount
    guard rows > limits.clusterRows else {
      return try close(try openRows(overlay), limits: limits)
    }
    var limits = limits
    limits.clusterRows = max(limits.clusterRows, min(rows, limits.rewrittenRows))
    return try close(
      try openRows(overlay), limits: limits, with: ClusterBuilder(effort: .thorough))
  }

  /// Writes open rows as one or more clusters; as none when there are no rows.
  package func close(_ cluster: OpenCluster, limits: TreeEditor.Limits) throws -> [NodeEntry] {
    try close(cluster, limits: limits, with: builder)
  }

  private func close(
    _ cluster: OpenCluster, limits: TreeEditor.Limits, with builder: ClusterBuilder
  ) throws -> [NodeEntry] {
    var entries: [NodeEntry] = []
    let pieces = max(1, (cluster.count + limits.clusterRows - 1) / limits.clusterRows)
    let size = max(1, (cluster.count + pieces - 1) / pieces)
    for start in stride(from: 0, to: cluster.count, by: size) {
      let rows = start..<min(start + size, cluster.count)
      let encoded = try cluster.rows.encode(with: builder, rows: rows)
      entries.append(
        try write(
          encoded, firstKey: cluster.rows.keys[start],
          lifetime: limits.lifetime(ofRows: rows.count)))
    }
    if entries.count == 1, cluster.rows.byteCount <= Tail.maximumBytes {
      lastClosed = Tail(reference: entries[0].reference, rows: cluster.rows)
    }
    return entries
  }

  /// Places an encoded cluster.
  ///
  /// - Parameter lifetime: see `BlockWriter.append`.
  /// - Throws: `EngineError.tooLarge`, `SystemError`.
  package func write(
    _ cluster: EncodedCluster, firstKey: Int64, lifetime: BlockWriter.Lifetime? = nil
  ) throws -> NodeEntry {
    guard cluster.bytes.count <= Layout.maximumBlockBytes else {
      throw EngineError.tooLarge(
        what: "a cluster of \(cluster.rowCount) objects",
        limit: "\(Layout.maximumBlockBytes) bytes")
    }
    return NodeEntry(
      firstKey: firstKey, count: UInt64(cluster.rowCount),
      reference: try writer.append(
        cluster: cluster.bytes, checksum: cluster.headerChecksum, lifetime: lifetime))
  }

  package func write(node bytes: [UInt8]) throws -> BlockReference {
    try writer.append(node: bytes)
  }

  package func drop(_ reference: BlockReference) throws(BlockError) { try writer.drop(reference) }

  /// Moves blocks of a node's first children together when they are in sparse pages: see `Gatherer`.
  func gather(_ entries: inout [NodeEntry], upTo end: Int) throws {
    try writer.gather(&entries, upTo: end).forEach(drop)
  }

  /// Drops a leaf: its cluster, and its overlay if there is one.
  package func dropLeaf(_ entry: NodeEntry) throws { try references(of: entry).forEach(drop) }

  /// The blocks of a leaf: its cluster, and its overlay if there is one.
  func references(of entry: NodeEntry) throws -> [BlockReference] {
    guard entry.reference.isOverlay else { return [entry.reference] }
    let overlay = try blocks.overlay(entry, end: end())
    return [overlay.base.reference] + overlay.references
  }

  /// Rewrites a leaf with an additional column that has the same value in every row. The other columns are
  /// copied as stored, except those that the table no longer has.
  ///
  /// The leaf itself is not dropped.
  ///
  /// - Parameter columnIDs: the table's columns, including the new one.
  /// - Complexity: O(bytes); when rows have changed since the cluster was written, all rows are encoded.
  func write(
    _ entry: NodeEntry, columnIDs: [UInt32], adding id: UInt32, spelling: [UInt8],
    limits: TreeEditor.Limits
  ) throws -> [NodeEntry] {
    let leaf = try leaf(entry)
    guard leaf.overlay == nil else {
      var rows = RowBuffer(columnIDs: columnIDs)
      try rows.append(leaf)
      if let place = columnIDs.firstIndex(of: id) { try rows.fill(place, with: spelling) }
      return try close(OpenCluster(rows), limits: limits)
    }
    var columns: [EncodedColumn] = []
    for other in columnIDs where other != id {
      if let column = try leaf.cluster.encodedColumn(id: other) { columns.append(column) }
    }
    columns.append(try builder.encode(repeating: spelling, id: id, rowCount: leaf.rowCount))
    let keys = try leaf.cluster.keys()
    let offsets = keys.isDense ? nil : (0..<keys.rowCount).map(keys.offset)
    let cluster = try builder.assemble(columns, rowCount: leaf.rowCount, keyOffsets: offsets)
    return [try write(cluster, firstKey: entry.firstKey)]
  }

  /// The bytes of a leaf's cluster and overlay.
  package func byteCount(ofLeaf entry: NodeEntry) throws -> Int {
    if !entry.reference.isOverlay { return Int(entry.reference.length) }
    return try blocks.byteCount(ofLeaf: entry, end: end())
  }
}

extension BlockReader {
  /// A cluster in place: this verifies its header, and the first read of a column verifies that column.
  package func cluster(_ entry: NodeEntry, end: UInt64) throws -> ClusterReader {
    let bytes = try extent(entry.reference, end: end)
    let offset = Int(entry.reference.offset)
    guard let header = ClusterReader.header(of: bytes) else {
      throw BlockError(
        path: storage.path, offset: entry.reference.offset, length: entry.reference.length,
        what: "it is no cluster")
    }
    try verify(header, offset: offset, checksum: entry.reference.checksum)
    let reader = try ClusterReader(bytes, verified: verifiedParts(of: entry.reference))
    guard UInt64(reader.rowCount) == entry.count else {
      throw BlockError(
        path: storage.path, offset: entry.reference.offset, length: entry.reference.length,
        what: "the cluster has \(reader.rowCount) rows where the tree counts \(entry.count)")
    }
    return reader
  }
}
