/// Writes one version into another, empty file: live data only, in large clusters, encoded anew by
/// several threads, a column at a time.
///
/// What was written is read back from the file after the flush and compared with what was read, so
/// that a file is never replaced by a copy that says something else.
///
/// The copy's bytes depend on the version alone, not on the number of threads: which clusters are
/// merged is decided before any is encoded, and they are written in order.
///
/// Thread rule: called by one thread, while the version is held.
package struct Compactor {
  /// Rows of a compacted cluster at most: enough for dictionaries and symbol tables to pay. Half as
  /// many made app rows 2% larger; twice as many saved 0.4% and took 36 MB more memory.
  static let clusterRows = 65_536
  /// Clusters of more encoded bytes than this together are not merged, which bounds the memory of
  /// each thread.
  static let clusterBytes = 6 << 20
  /// Each thread takes up to 35 MB, for long text: all together stay below 128 MB.
  static let mostThreads = 3

  private let source: VersionRoots
  private let blocks: BlockReader
  private let target: any Storage
  private let writer: BlockWriter
  private let space = SpaceMap(version: 0)
  private let targetBlocks: BlockReader
  private let team: MergingTeam
  private let builder = ClusterBuilder()
  private let shouldStop: () -> Bool
  /// The first slot's page carries a temporary's mark, which stays until the copy is in place.
  private let isMarked: Bool
  /// Of the keys and columns of each cluster written, in order.
  private var digests: [[ClusterMerger.Digest]] = []

  /// Copies a version.
  ///
  /// - Parameters:
  ///   - target: an empty storage.
  ///   - isMarked: marks the copy as a temporary, from the first byte that is written. The mark lies where
  ///     the first slot will: only the second is written here.
  ///   - shouldStop: asked between clusters, on the caller's thread.
  /// - Returns: the version's place in the copy; its number is the source's plus one.
  /// - Throws: `BlockError`, `ClusterError`, `DecodingFailure` when the source is damaged;
  ///   `SystemError`; `EngineError.damaged` when the copy does not read back as written;
  ///   `EngineError.cancelled` when `shouldStop` said so.
  package static func copy(
    _ record: VersionRecord, _ blocks: BlockReader, to target: any Storage,
    identity: DatabaseIdentity, isMarked: Bool = false,
    shouldStop: @escaping () -> Bool = { false }
  ) throws -> VersionRecord {
    var compactor = try Compactor(record, blocks, target, isMarked, shouldStop)
    if isMarked { try compactor.mark() }
    let copied = try compactor.copyTables()
    try compactor.commit(copied, identity)
    try compactor.verify(copied)
    return copied
  }

  private init(
    _ record: VersionRecord, _ blocks: BlockReader, _ target: any Storage, _ isMarked: Bool,
    _ shouldStop: @escaping () -> Bool
  ) throws {
    self.shouldStop = shouldStop
    self.isMarked = isMarked
    source = try VersionRoots(record, blocks)
    self.blocks = blocks
    self.target = target
    writer = BlockWriter(storage: target, space: space, length: try target.length())
    targetBlocks = try BlockReader(storage: target)
    team = MergingTeam(size: min(System.processorCount, Self.mostThreads))
  }

  /// Durable before anything else is written: who finds the file after a crash must know what it is.
  private func mark() throws {
    let page = CommitSlot.temporaryPage
    try target.resize(to: page.count)
    try page.withUnsafeBytes { try target.write($0, at: 0) }
    try target.flush()
  }

  private mutating func copyTables() throws -> VersionRecord {
    var catalogue = source.catalogue
    for index in catalogue.tables.indices {
      try copy(&catalogue.tables[index])
    }
    let root = try writer.append(node: catalogue.encode())
    try writer.writeOut()
    let version = try source.record.nextVersion
    try writer.commit(version: version)
    return VersionRecord(
      version: version, root: root, end: UInt64(space.liveEnd * Layout.pageBytes))
  }

  private mutating func copy(_ table: inout Catalogue.Table) throws {
    let end = source.record.end
    let schema = try TableSchema(decoding: blocks.block(table.schema, end: end))
    try table.checkIndexes(schema)
    let store = ClusterStore(
      writer: writer, blocks: targetBlocks, baseEnd: 0, builder: builder)
    store.columnIDs = schema.columnIDs
    var limits = TreeEditor.Limits()
    limits.clusterRows = ClusterFormat.maximumRows
    let editor = try TreeEditor(
      reader: TreeReader(blocks: targetBlocks, root: .empty, end: 0), clusters: store,
      limits: limits)
    var groups = ClusterGroups(TreeReader(blocks: blocks, root: table.root, end: end))
    let columns = schema.columnIDs
    let blocks = blocks
    while let round = try groups.next(team.size) {
      if shouldStop() { throw EngineError.cancelled }
      let parts = round.flatMap { group in columns.map { (group: group, column: $0) } }
      let encoded = try team.map(parts) { part, merger in
        try merger.encode(column: part.column, of: part.group, blocks, end: end)
      }
      for (index, group) in round.enumerated() {
        let offsets = try ClusterMerger.keyOffsets(of: group, blocks, end: end)
        let own = encoded[index * columns.count..<(index + 1) * columns.count]
        digests.append([ClusterMerger.digest(ofKeys: offsets)] + own.map(\.digest))
        let cluster = try builder.assemble(
          own.map(\.column), rowCount: offsets.count, keyOffsets: offsets)
        try editor.append(try store.write(cluster, firstKey: group[0].firstKey))
        for entry in group { blocks.forget(entry, end: end) }
      }
    }
    let index = try copyIndex(of: table, schema)
    table.valueIndexes = try copyValueIndexes(of: table)
    table.root = try editor.seal()
    table.index = index
    table.schema = try writer.append(node: schema.encode())
  }

  /// Writes the primary key's index as one run, without what is out of date.
  private func copyIndex(of table: Catalogue.Table, _ schema: TableSchema) throws -> [IndexRun] {
    guard let column = schema.keyColumn else { return [] }
    let end = source.record.end
    let output = RunWriter(writer, IndexLimits())
    // As every object has its entry, as many entries as objects are one for each.
    let entries = table.index.reduce(UInt64(0)) { $0 &+ $1.count }
    var merger = RunMerger(
      IndexBlocks(blocks, end: end), output, filtersAll: entries != table.root.count,
      movesLeaves: false)
    for run in table.index { try merger.add(run) }
    let check = IndexCheck(
      TreeReader(blocks: blocks, root: table.root, end: end), table.index, schema, column)
    try merger.run(check.removeOutdated)
    return try output.finish().map { [$0] } ?? []
  }

  /// Writes each secondary index as one run, without what is out of date.
  private func copyValueIndexes(of table: Catalogue.Table) throws -> [Catalogue.Index] {
    let end = source.record.end
    let tree = TreeReader(blocks: blocks, root: table.root, end: end)
    return try table.valueIndexes.map { index in
      let output = RunWriter(writer, IndexLimits(), sharesCodes: true)
      let entries = index.runs.reduce(UInt64(0)) { $0 &+ $1.count }
      var merger = RunMerger(
        IndexBlocks(blocks, end: end), output, filtersAll: entries != table.root.count,
        movesLeaves: false)
      for run in index.runs { try merger.add(run) }
      try merger.run(ValueIndexCheck(tree, index, name: "").removeOutdated)
      var copied = index
      copied.runs = try output.finish().map { [$0] } ?? []
      return copied
    }
  }

  /// Every object of the copy must be found by its key, and in every secondary index.
  private func verifyIndexes(
    of table: Catalogue.Table, _ schema: TableSchema, end: UInt64
  ) throws {
    let tree = TreeReader(blocks: targetBlocks, root: table.root, end: end)
    var problem: String?
    if let column = schema.keyColumn {
      problem = try IndexCheck(tree, table.index, schema, column).run().first
    }
    for index in table.valueIndexes where problem == nil {
      let place = schema.columnIDs.firstIndex(of: index.column)
      let name = place.map { schema.columns[$0].name } ?? "\(index.column)"
      problem = try ValueIndexCheck(tree, index, name: name).run().first
    }
    guard let problem else { return }
    throw EngineError.damaged(
      path: blocks.storage.path, where: "an index of table '\(table.name)'",
      reason: "\(problem); the file was left as it is")
  }

  private func commit(_ record: VersionRecord, _ identity: DatabaseIdentity) throws {
    let end = Int(record.end)
    if try target.length() != end { try target.resize(to: end) }
    try target.flush()
    let page = CommitSlot(record: record, identity: identity).page()
    for index in (isMarked ? 1 : 0)..<Layout.slotCount {
      try page.withUnsafeBytes { try target.write($0, at: index * Layout.pageBytes) }
    }
    try target.flush()
  }

  private func verify(_ record: VersionRecord) throws {
    let copy = try VersionRoots(record, targetBlocks)
    let blocks = targetBlocks
    var index = 0
    for table in copy.catalogue.tables {
      let schema = try TableSchema(decoding: blocks.block(table.schema, end: record.end))
      var groups = ClusterGroups(
        TreeReader(blocks: blocks, root: table.root, end: record.end), clustersEach: 1)
      let columns = schema.columnIDs
      while let round = try groups.next(team.size) {
        if shouldStop() { throw EngineError.cancelled }
        let parts = round.flatMap { group in columns.map { (entry: group[0], column: $0) } }
        let found = try team.map(parts) { part, merger in
          try merger.digest(column: part.column, of: part.entry, blocks, end: record.end)
        }
        for (place, group) in round.enumerated() {
          let offsets = try ClusterMerger.keyOffsets(of: group, blocks, end: record.end)
          let own = found[place * columns.count..<(place + 1) * columns.count]
          let digest = [ClusterMerger.digest(ofKeys: offsets)] + own
          guard index < digests.count, digest == digests[index] else {
            throw EngineError.damaged(
              path: target.path, where: "cluster at offset \(group[0].reference.offset)",
              reason: "the compacted copy does not read back as it was written")
          }
          index += 1
          blocks.forget(group[0], end: record.end)
        }
      }
      try verifyIndexes(of: table, schema, end: record.end)
    }
    guard index == digests.count else {
      throw EngineError.damaged(
        path: target.path, where: "the tree", reason: "clusters are missing from the copy")
    }
  }
}

/// A tree's leaves in order, as groups that are merged into one cluster each.
struct ClusterGroups {
  private let tree: TreeReader
  private var cursor: ClusterCursor
  private var next: NodeEntry?
  private let clustersEach: Int
  private let clusterRows: Int
  private var started = false

  init(
    _ tree: TreeReader, clustersEach: Int = .max, clusterRows: Int = Compactor.clusterRows
  ) {
    self.tree = tree
    self.clusterRows = clusterRows
    cursor = tree.clusters()
    self.clustersEach = clustersEach
  }

  /// The next `count` groups, or as many as there are; nil after the last.
  mutating func next(_ count: Int) throws -> [[NodeEntry]]? {
    var round: [[NodeEntry]] = []
    while round.count < count, let group = try nextGroup() { round.append(group) }
    return round.isEmpty ? nil : round
  }

  private mutating func nextGroup() throws -> [NodeEntry]? {
    if !started {
      started = true
      next = try cursor.next()?.entry
    }
    var group: [NodeEntry] = []
    var rows: UInt64 = 0
    var bytes = 0
    while let entry = next, group.count < clustersEach {
      // Counts come from the file: none is near overflow once it is compared with the limit.
      let (sum, overflow) = rows.addingReportingOverflow(entry.count)
      let fits = !overflow && sum <= clusterRows
      bytes += try tree.blocks.byteCount(ofLeaf: entry, end: tree.end)
      guard group.isEmpty || (fits && bytes <= Compactor.clusterBytes) else { break }
      rows = sum
      group.append(entry)
      next = try cursor.next()?.entry
    }
    return group.isEmpty ? nil : group
  }
}
