/// Writes one version into another, empty file: live data only, in large clusters, encoded anew.
///
/// What was written is read back from the file after the flush and compared with what was read, so
/// that a file is never replaced by a copy that says something else.
///
/// Thread rule: one thread, while the version is held.
package struct Compactor {
  /// Rows of a compacted cluster: enough for dictionaries to pay.
  static let clusterRows = 32_768
  /// A cluster is closed early when its rows take this much memory.
  static let clusterBytes = 16 << 20

  private let source: VersionRoots
  private let blocks: BlockReader
  private let target: any Storage
  private let writer: BlockWriter
  private let space = SpaceMap(version: 0)
  private let targetBlocks: BlockReader
  /// For each cluster written, in order: a digest of its rows.
  private var digests: [UInt64] = []

  /// Copies a version.
  ///
  /// - Parameter target: an empty storage.
  /// - Returns: the version's place in the copy; its number is the source's plus one.
  /// - Throws: `BlockError`, `ClusterError`, `DecodingFailure` when the source is damaged;
  ///   `SystemError`; `EngineError.damaged` when the copy does not read back as written.
  package static func copy(
    _ record: VersionRecord, _ blocks: BlockReader, to target: any Storage,
    identity: DatabaseIdentity
  ) throws -> VersionRecord {
    var compactor = try Compactor(record, blocks, target)
    let copied = try compactor.copyTables()
    try compactor.commit(copied, identity)
    try compactor.verify(copied)
    return copied
  }

  private init(_ record: VersionRecord, _ blocks: BlockReader, _ target: any Storage) throws {
    source = try VersionRoots(record, blocks)
    self.blocks = blocks
    self.target = target
    writer = BlockWriter(storage: target, space: space, length: try target.length())
    targetBlocks = try BlockReader(storage: target)
  }

  private mutating func copyTables() throws -> VersionRecord {
    var catalogue = source.catalogue
    for index in catalogue.tables.indices {
      try copy(&catalogue.tables[index])
    }
    let root = try writer.append(node: catalogue.encode())
    try writer.writeOut()
    let version = source.record.version + 1
    space.commit(version: version, added: writer.added, dropped: [])
    return VersionRecord(
      version: version, root: root, end: UInt64(space.liveEnd * Layout.pageBytes))
  }

  private mutating func copy(_ table: inout Catalogue.Table) throws {
    let end = source.record.end
    let schema = try TableSchema(decoding: blocks.block(table.schema, end: end))
    let store = ClusterStore(writer: writer, blocks: targetBlocks, baseEnd: 0)
    store.columnIDs = schema.columnIDs
    var limits = TreeEditor.Limits()
    limits.clusterRows = ClusterFormat.maximumRows
    let editor = try TreeEditor(
      reader: TreeReader(blocks: targetBlocks, root: .empty, end: 0), clusters: store,
      limits: limits)
    var pending = store.newCluster()
    var cursor = TreeReader(blocks: blocks, root: table.root, end: end).clusters()
    while let location = try cursor.next() {
      let cluster = try blocks.cluster(location.entry, end: end)
      try pending.rows.append(cluster, firstKey: location.entry.firstKey)
      if pending.count >= Self.clusterRows || pending.bytes >= Self.clusterBytes {
        try write(pending, editor, store, limits)
        pending = store.newCluster()
      }
    }
    try write(pending, editor, store, limits)
    table.root = try editor.seal()
    table.schema = try writer.append(node: schema.encode())
  }

  private mutating func write(
    _ cluster: OpenCluster, _ editor: TreeEditor, _ store: ClusterStore,
    _ limits: TreeEditor.Limits
  ) throws {
    guard cluster.count > 0 else { return }
    digests.append(cluster.rows.digest())
    for entry in try store.close(cluster, limits: limits) { try editor.append(entry) }
  }

  private func commit(_ record: VersionRecord, _ identity: DatabaseIdentity) throws {
    let end = Int(record.end)
    if try target.length() != end { try target.resize(to: end) }
    try target.flush()
    let page = CommitSlot(record: record, identity: identity).page()
    for index in 0..<Layout.slotCount {
      try page.withUnsafeBytes { try target.write($0, at: index * Layout.pageBytes) }
    }
    try target.flush()
  }

  private func verify(_ record: VersionRecord) throws {
    let copy = try VersionRoots(record, targetBlocks)
    var index = 0
    for table in copy.catalogue.tables {
      let schema = try TableSchema(
        decoding: try targetBlocks.block(table.schema, end: record.end))
      var cursor = TreeReader(blocks: targetBlocks, root: table.root, end: record.end).clusters()
      while let location = try cursor.next() {
        var rows = RowBuffer(columnIDs: schema.columnIDs)
        let cluster = try targetBlocks.cluster(location.entry, end: record.end)
        try rows.append(cluster, firstKey: location.entry.firstKey)
        guard index < digests.count, rows.digest() == digests[index] else {
          throw EngineError.damaged(
            path: target.path, where: "cluster at offset \(location.entry.reference.offset)",
            reason: "the compacted copy does not read back as it was written")
        }
        index += 1
      }
    }
    guard index == digests.count else {
      throw EngineError.damaged(
        path: target.path, where: "the tree", reason: "clusters are missing from the copy")
    }
  }
}
