import Base

/// Writes one version into another, empty file: live data only, in large clusters, encoded anew by several
/// threads, a column at a time.
///
/// After the flush everything written is read back from the file and compared with the source, so that a copy
/// with other values never replaces a file.
///
/// The copy's bytes depend only on the version, not on the number of threads: the clusters to merge are
/// chosen before any is encoded, and they are written in order.
///
/// If kept versions are copied, clusters are not merged, but shared (`SharedCopy`).
///
/// Thread rule: called by one thread, while the version is held.
package struct Compactor {
  /// The maximum rows of a compacted cluster: enough for dictionaries and symbol tables to be worth their
  /// space. Half as many made app rows 2% larger; twice as many saved 0.4% and took 36 MB more memory.
  static let clusterRows = 65_536
  /// Clusters with more encoded bytes than this together are not merged, which bounds the memory of each
  /// thread.
  static let clusterBytes = 6 << 20
  /// Nor are clusters of which a column has more text than this: one that was compacted may take a thirtieth
  /// of its text. Imported clusters reach the other limit first.
  static func textBytes(_ clusterBytes: Int) -> Int { clusterBytes / 3 * 5 }
  /// Each thread takes up to 35 MB, for long text; together they stay below 128 MB.
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
  private let clusterBytes: Int
  /// The first slot's page carries a temporary's mark until the copy is in place.
  private let isMarked: Bool
  /// The digests of the keys and columns of each cluster written, in order.
  private var digests: [[ClusterMerger.Digest]] = []

  /// Copies a version.
  ///
  /// - Parameters:
  ///   - target: an empty storage.
  ///   - keepsVersions: whether kept versions are copied too. Otherwise the copy has none; it has their limit
  ///     in both cases.
  ///   - keepsPending: whether pending tables are copied too. Clusters are then not merged either.
  ///   - isMarked: whether the copy is marked as a temporary from its first byte. The mark takes the place of
  ///     the first slot: only the second is written here.
  ///   - clusterBytes: the bytes of the clusters that are merged into one; tests set a small number.
  ///   - shouldStop: called between clusters, on the caller's thread.
  /// - Returns: the version in the copy; its number is the source's plus one.
  /// - Throws: `BlockError`, `ClusterError`, `DecodingFailure` when the source is damaged; `SystemError`;
  ///   `EngineError.damaged` when the copy does not read back as written; `EngineError.cancelled` when
  ///   `shouldStop` has returned true.
  package static func copy(
    _ record: VersionRecord, _ blocks: BlockReader, to target: any Storage,
    identity: DatabaseIdentity, isMarked: Bool = false, keepsVersions: Bool = false,
    keepsPending: Bool = false, clusterBytes: Int = Compactor.clusterBytes,
    shouldStop: @escaping () -> Bool = { false }
  ) throws -> VersionRecord {
    var compactor = try Compactor(record, blocks, target, isMarked, clusterBytes, shouldStop)
    if isMarked { try compactor.mark() }
    let history = try compactor.source.history(blocks)
    if (keepsVersions && !history.kept.isEmpty) || (keepsPending && !history.pending.isEmpty) {
      var shared = SharedCopy(blocks, compactor.writer, shouldStop)
      let catalogue = try shared.copy(
        compactor.source, keepsVersions: keepsVersions, keepsPending: keepsPending)
      let copied = try compactor.seal(catalogue, shared.copied)
      try compactor.commit(copied, identity)
      try shared.verify(compactor.source, copied, compactor.targetBlocks)
      return copied
    }
    let copied = try compactor.copyTables()
    try compactor.commit(copied, identity)
    try compactor.verify(copied)
    return copied
  }

  private init(
    _ record: VersionRecord, _ blocks: BlockReader, _ target: any Storage, _ isMarked: Bool,
    _ clusterBytes: Int, _ shouldStop: @escaping () -> Bool
  ) throws {
    self.shouldStop = shouldStop
    self.clusterBytes = clusterBytes
    self.isMarked = isMarked
    source = try VersionRoots(record, blocks)
    self.blocks = blocks
    self.target = target
    writer = BlockWriter(storage: target, space: space, length: try target.length())
    targetBlocks = try BlockReader(storage: target)
    team = MergingTeam(size: min(System.processorCount, Self.mostThreads))
  }

  /// Durable before any other write: after a crash, another process must recognize the file.
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
    var history = History()
    history.limit = try source.history(blocks).limit
    catalogue.history = try history.write { try writer.append(node: $0) }
    return try seal(catalogue, nil)
  }

  /// Writes the catalogue with all places in the copy.
  ///
  /// - Parameter history: what was copied besides the newest version; nil: nothing.
  private func seal(_ catalogue: Catalogue, _ history: History?) throws -> VersionRecord {
    let root = try writer.append(node: catalogue.encode())
    try writer.writeOut()
    let version = try source.record.nextVersion
    try writer.commit(version: version)
    return VersionRecord(
      version: version, root: root, end: UInt64(space.liveEnd * Layout.pageBytes),
      hasHistory: catalogue.history != nil, hasPending: history?.pending.isEmpty == false,
      hasCompoundKeys: history != nil
        ? catalogue.hasCompoundKeys(after: source.record) : catalogue.hasCompoundKeys,
      hasParts: history?.fillsPart == true)
  }

  private mutating func copy(_ table: inout Catalogue.TableEntry) throws {
    let end = source.record.end
    let schema = try TableSchema(decoding: blocks.block(table.schema, end: end))
    try table.checkIndexes(schema)
    let store = ClusterStore(
      writer: writer, blocks: targetBlocks, baseEnd: 0, builder: builder)
    store.columnIDs = schema.columnIDs
    var limits = TreeEditor.Limits()
    limits.clusterRows = ClusterFormat.maximumRows
    // Nothing is appended before the next commit, which divides the last node.
    limits.edgeLeaves = .max
    // Few rows in a cluster are large ones; joined, they would be encoded again, and less well.
    limits.smallRows = 0
    let editor = try TreeEditor(
      reader: TreeReader(blocks: targetBlocks, root: .empty, end: 0), clusters: store,
      limits: limits)
    var parts = ClusterParts(
      ClusterGroups(
        TreeReader(blocks: blocks, root: table.root, end: end), of: schema.columnIDs,
        clusterBytes: clusterBytes),
      schema.columnIDs, shouldStop)
    let blocks = blocks
    var columns: [EncodedColumn] = []
    var digest: [ClusterMerger.Digest] = []
    var mapped = MappedRange(blocks)
    try team.forEach(window: parts.window(team.size), { try parts.next() }) { part, merger in
      guard let column = part.column else {
        return MergedPart.keys(
          try ClusterMerger.keyOffsets(of: part.group, blocks, end: end), part.group)
      }
      return .column(try merger.encode(column: column, of: part.group, blocks, end: end))
    } consume: { part in
      switch part {
      case .column((let column, let found)):
        columns.append(column)
        digest.append(found)
      case .keys(let offsets, let group):
        digests.append([ClusterMerger.digest(ofKeys: offsets)] + digest)
        let cluster = try builder.assemble(columns, rowCount: offsets.count, keyOffsets: offsets)
        try editor.append(try store.write(cluster, firstKey: group[0].firstKey))
        for entry in group { mapped.add(leaf: entry, end: end) }
        (columns, digest) = ([], [])
      }
    }
    mapped.release()
    let index = try copyIndex(of: table, schema)
    table.valueIndexes = try copyValueIndexes(of: table)
    table.root = try editor.seal()
    table.index = index
    table.schema = try writer.append(node: schema.encode())
  }

  /// Writes the primary key's index as one run, without outdated entries.
  private func copyIndex(of table: Catalogue.TableEntry, _ schema: TableSchema) throws -> [IndexRun]
  {
    if schema.keyColumns.isEmpty { return [] }
    let end = source.record.end
    let output = RunWriter(writer, IndexLimits())
    // Every object has an entry. So if there are as many entries as objects, none is outdated.
    let entries = table.index.reduce(UInt64(0)) { $0 &+ $1.count }
    var merger = RunMerger(
      IndexBlocks(blocks, end: end), output, filtersAll: entries != table.root.count,
      movesLeaves: false)
    for run in table.index { try merger.add(run) }
    let tree = TreeReader(blocks: blocks, root: table.root, end: end)
    let check = IndexCheck(keyOf: table, schema, tree)
    try merger.run(check.removeOutdated)
    return try output.finish().map { [$0] } ?? []
  }

  /// Writes each secondary index as one run, without outdated entries.
  private func copyValueIndexes(of table: Catalogue.TableEntry) throws -> [Catalogue.Index] {
    let end = source.record.end
    let tree = TreeReader(blocks: blocks, root: table.root, end: end)
    return try table.valueIndexes.map { index in
      let output = RunWriter(writer, IndexLimits(), sharesCodes: true)
      let entries = index.runs.reduce(UInt64(0)) { $0 &+ $1.count }
      var merger = RunMerger(
        IndexBlocks(blocks, end: end), output, filtersAll: entries != table.root.count,
        movesLeaves: false)
      for run in index.runs { try merger.add(run) }
      try merger.run(IndexCheck(index, name: "", tree).removeOutdated)
      var copied = index
      copied.runs = try output.finish().map { [$0] } ?? []
      return copied
    }
  }

  /// Checks that every object of the copy is found by its key, and in every secondary index.
  private func verifyIndexes(
    of table: Catalogue.TableEntry, _ schema: TableSchema, end: UInt64
  ) throws {
    let tree = TreeReader(blocks: targetBlocks, root: table.root, end: end)
    var problem: String?
    if !schema.keyColumns.isEmpty {
      problem = try IndexCheck(keyOf: table, schema, tree).run().first
    }
    for index in table.valueIndexes where problem == nil {
      let place = schema.columnIDs.firstIndex(of: index.column)
      let name = place.map { schema.columns[$0].name } ?? "\(index.column)"
      problem = try IndexCheck(index, name: name, tree).run().first
    }
    guard let problem else { return }
    throw EngineError.damaged(
      path: blocks.storage.path, where: "an index of table '\(table.name)'",
      reason: "\(problem); the file was left as it is")
  }

  /// The result of a thread's work on a part of a cluster: an encoded column, or the keys, which come last.
  private enum MergedPart: Sendable {
    case column((column: EncodedColumn, digest: ClusterMerger.Digest))
    case keys([Int64], [NodeEntry])
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
      var parts = ClusterParts(
        ClusterGroups(
          TreeReader(blocks: blocks, root: table.root, end: record.end), of: [], clustersEach: 1),
        schema.columnIDs, shouldStop)
      var digest: [ClusterMerger.Digest] = []
      var mapped = MappedRange(blocks)
      try team.forEach(window: parts.window(team.size), { try parts.next() }) { part, merger in
        let entry = part.group[0]
        if let column = part.column {
          return try (merger.digest(column: column, of: entry, blocks, end: record.end), nil)
        }
        let offsets = try ClusterMerger.keyOffsets(of: part.group, blocks, end: record.end)
        return (ClusterMerger.digest(ofKeys: offsets), entry)
      } consume: { (found: ClusterMerger.Digest, entry: NodeEntry?) in
        guard let entry else { return digest.append(found) }
        guard index < digests.count, [found] + digest == digests[index],
          try blocks.cluster(entry, end: record.end).hasZeroPadding()
        else {
          throw EngineError.damaged(
            path: target.path, where: "cluster at offset \(entry.reference.offset)",
            reason: "the compacted copy does not read back as it was written")
        }
        index += 1
        mapped.add(leaf: entry, end: record.end)
        digest = []
      }
      mapped.release()
      try verifyIndexes(of: table, schema, end: record.end)
    }
    guard index == digests.count else {
      throw EngineError.damaged(
        path: target.path, where: "the tree", reason: "clusters are missing from the copy")
    }
  }
}
