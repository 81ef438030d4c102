import Base

/// Copies blocks of several versions into another file, so that blocks that the versions share are written
/// once and are shared there too.
///
/// A block that refers to others is rewritten with their new places. Clusters are encoded anew one by one, if
/// that makes them smaller. They are not merged, as those of a single version are, since neighbours in one
/// version need not be neighbours in another.
///
/// Thread rule: confined, while the versions are held.
struct SharedCopy {
  /// A copied cluster: the digests of its columns, by number, and of its keys.
  private struct Copied {
    let entry: NodeEntry
    let keys: ClusterMerger.Digest
    let columns: [(id: UInt32, digest: ClusterMerger.Digest)]
  }

  /// Clusters with more rows were encoded thoroughly before.
  private static let mostRows = 16_384

  private let source: BlockReader
  private var read: MappedRange
  private let writer: BlockWriter
  private let shouldStop: () -> Bool
  private let merger = ClusterMerger()
  private let builder = ClusterBuilder(effort: .thorough)
  /// The new place of each block, by its offset: no two blocks of the versions begin at the same place.
  private var places: [UInt64: BlockReference] = [:]
  private var clusters: [Copied] = []
  /// The end of the last block that was placed.
  private var end: UInt64 = 0
  /// An empty history for catalogues of kept versions, whose own history is not used.
  private var emptyHistory: BlockReference?
  /// The history of the copy.
  private(set) var copied = History()

  init(_ source: BlockReader, _ writer: BlockWriter, _ shouldStop: @escaping () -> Bool) {
    self.source = source
    read = MappedRange(source)
    self.writer = writer
    self.shouldStop = shouldStop
  }

  // MARK: Versions

  /// Copies a version, and the versions and tables in its history.
  ///
  /// - Parameters:
  ///   - keepsVersions: whether to copy kept versions.
  ///   - keepsPending: whether to copy pending tables.
  /// - Returns: its catalogue with all places in the new file; the caller writes it.
  /// - Throws: `BlockError`, `ClusterError`, `DecodingFailure` when a block is damaged; `SystemError`;
  ///   `EngineError.cancelled`.
  mutating func copy(
    _ roots: VersionRoots, keepsVersions: Bool, keepsPending: Bool
  ) throws -> Catalogue {
    var history = try roots.history(source)
    if !keepsVersions { history.kept = [] }
    if !keepsPending { history.pending = [] }
    var newest = roots.catalogue
    try copyTables(&newest, end: roots.record.end)
    for place in history.pending.indices {
      history.pending[place] = try copy(history.pending[place], in: roots.record)
    }
    for place in history.kept.indices.reversed() {
      let old = history.kept[place].record
      var catalogue = try VersionRoots(old, source).catalogue
      try copyTables(&catalogue, end: old.end)
      if catalogue.history != nil { catalogue.history = try noHistory() }
      let root = try put(node: catalogue.encode())
      places[old.root.offset] = root
      history.kept[place].record = VersionRecord(
        version: old.version, root: root,
        end: UInt64(Layout.pages(holding: Int(clamping: end)) * Layout.pageBytes),
        hasHistory: catalogue.history != nil)
    }
    copied = history
    newest.history = try history.write { try put(node: $0) }
    return newest
  }

  private mutating func copy(_ old: PendingRoot, in version: VersionRecord) throws -> PendingRoot {
    var root = old
    func roots(isBase: Bool) throws -> Catalogue? {
      try VersionRoots.pending(old, in: version, source, isBase: isBase)?.catalogue
    }
    if var catalogue = try roots(isBase: true) {
      try copyTables(&catalogue, end: version.end)
      root.base = try put(node: catalogue.encode())
    }
    if var catalogue = try roots(isBase: false) {
      try copyTables(&catalogue, end: version.end)
      root.root = try put(node: catalogue.encode())
    }
    return root
  }

  private mutating func noHistory() throws -> BlockReference {
    if let emptyHistory { return emptyHistory }
    let reference = try History.empty { try put(node: $0) }
    emptyHistory = reference
    return reference
  }

  private mutating func copyTables(_ catalogue: inout Catalogue, end: UInt64) throws {
    for index in catalogue.tables.indices {
      var table = catalogue.tables[index]
      table.schema = try copy(block: table.schema, end: end)
      if table.root.level > 0 {
        table.root.entry.reference = try copy(
          node: table.root.entry, level: table.root.level, isIndex: false, end: end)
      }
      for run in table.index.indices { try copy(&table.index[run], end: end) }
      for place in table.valueIndexes.indices {
        for run in table.valueIndexes[place].runs.indices {
          try copy(&table.valueIndexes[place].runs[run], end: end)
        }
      }
      catalogue.tables[index] = table
    }
  }

  private mutating func copy(_ run: inout IndexRun, end: UInt64) throws {
    run.root.entry.reference = try copy(
      node: run.root.entry, level: run.root.level, isIndex: true, end: end)
  }

  // MARK: Blocks

  private mutating func put(node bytes: [UInt8]) throws -> BlockReference {
    let reference = try writer.append(node: bytes)
    end = max(end, reference.offset + UInt64(reference.length))
    return reference
  }

  private mutating func put(cluster bytes: [UInt8], checksum: UInt64) throws -> BlockReference {
    let reference = try writer.append(cluster: bytes, checksum: checksum)
    end = max(end, reference.offset + UInt64(reference.length))
    return reference
  }

  /// Copies a block that refers to no others, unchanged.
  private mutating func copy(block reference: BlockReference, end: UInt64) throws -> BlockReference
  {
    if let known = places[reference.offset] { return known }
    let copy = try put(node: source.withCopy(of: reference, end: end) { Array($0) })
    places[reference.offset] = copy
    return copy
  }

  private mutating func copy(
    node entry: NodeEntry, level: Int, isIndex: Bool, end: UInt64
  ) throws -> BlockReference {
    if let known = places[entry.reference.offset] { return known }
    var children = try source.children(of: entry, level: level, isIndex: isIndex, end: end)
    for index in children.indices {
      let child = children[index]
      children[index].reference =
        level > 1
        ? try copy(node: child, level: level - 1, isIndex: isIndex, end: end)
        : isIndex
          ? try copy(block: child.reference, end: end) : try copy(leaf: child, end: end)
    }
    let copy = try put(node: Node.encode(level: level, children[...]))
    places[entry.reference.offset] = copy
    return copy
  }

  private mutating func copy(leaf entry: NodeEntry, end: UInt64) throws -> BlockReference {
    guard entry.reference.isOverlay else { return try copy(cluster: entry, end: end) }
    if let known = places[entry.reference.offset] { return known }
    let overlay = try source.overlay(entry, end: end)
    var below = try copy(cluster: overlay.base, end: end)
    for reference in overlay.references.reversed() {
      if let known = places[reference.offset] {
        below = known
        continue
      }
      let bytes = try source.withCopy(of: reference, end: end) {
        OverlayBlock.copy(of: $0, over: below)
      }
      below = try put(cluster: bytes, checksum: Checksum.of(bytes))
      below.isOverlay = true
      places[reference.offset] = below
    }
    return below
  }

  private mutating func copy(cluster entry: NodeEntry, end: UInt64) throws -> BlockReference {
    if let known = places[entry.reference.offset] { return known }
    if shouldStop() { throw EngineError.cancelled }
    let cluster = try source.cluster(entry, end: end)
    let ids = try (0..<cluster.columnCount).map { try cluster.column(at: $0).id }
    var columns: [EncodedColumn] = []
    var digests: [(UInt32, ClusterMerger.Digest)] = []
    let isSmall = cluster.rowCount <= Self.mostRows
    for id in ids {
      if isSmall {
        let (column, digest) = try merger.encode(column: id, of: [entry], source, end: end)
        columns.append(column)
        digests.append((id, digest))
      } else {
        digests.append((id, try merger.digest(column: id, of: entry, source, end: end)))
      }
    }
    let offsets = try ClusterMerger.keyOffsets(of: [entry], source, end: end)
    let old = try source.extent(entry.reference, end: end)
    var copy: BlockReference?
    if isSmall {
      let encoded = try builder.assemble(columns, rowCount: offsets.count, keyOffsets: offsets)
      if encoded.bytes.count < old.count {
        copy = try put(cluster: encoded.bytes, checksum: encoded.headerChecksum)
      }
    }
    let reference = try copy ?? put(cluster: Array(old), checksum: entry.reference.checksum)
    read.add(leaf: entry, end: end)
    places[entry.reference.offset] = reference
    clusters.append(
      Copied(
        entry: NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: reference),
        keys: ClusterMerger.digest(ofKeys: offsets), columns: digests))
    return reference
  }

  // MARK: Verifying

  /// Reads everything back, and compares it with the source: clusters by their values; the blocks of each
  /// version by their places.
  ///
  /// - Parameters:
  ///   - roots: the version that was copied.
  ///   - record: the copy's version.
  /// - Throws: `EngineError.damaged` when the copy differs; the errors of reading.
  func verify(_ roots: VersionRoots, _ record: VersionRecord, _ target: BlockReader) throws {
    var mapped = MappedRange(target)
    for cluster in clusters {
      if shouldStop() { throw EngineError.cancelled }
      let (entry, end) = (cluster.entry, record.end)
      let offsets = try ClusterMerger.keyOffsets(of: [entry], target, end: end)
      let isSame = try cluster.columns.allSatisfy {
        try merger.digest(column: $0.id, of: entry, target, end: end) == $0.digest
      }
      guard isSame, ClusterMerger.digest(ofKeys: offsets) == cluster.keys,
        try target.cluster(entry, end: end).hasZeroPadding()
      else {
        throw differs("cluster at offset \(entry.reference.offset)", target)
      }
      mapped.add(leaf: entry, end: end)
    }
    mapped.release()
    let newest = try VersionRoots(record, target)
    let (old, new) = (try roots.history(source), try newest.history(target))
    guard new == copied, old.limit == new.limit else { throw differs("the history", target) }
    try compare(roots, newest, target)
    for after in new.kept {
      guard let place = old.place(of: after.record.version) else {
        throw differs("the history", target)
      }
      try compare(
        VersionRoots(old.kept[place].record, source), VersionRoots(after.record, target), target)
    }
    for after in new.pending {
      for before in old.pending where before.table == after.table {
        for isBase in [false, true] {
          let old = try VersionRoots.pending(before, in: roots.record, source, isBase: isBase)
          let new = try VersionRoots.pending(after, in: record, target, isBase: isBase)
          guard (old == nil) == (new == nil) else { throw differs("what is pending", target) }
          if let old, let new { try compare(old, new, target) }
        }
      }
    }
  }

  private func compare(_ old: VersionRoots, _ new: VersionRoots, _ target: BlockReader) throws {
    var expected: [BlockReference] = []
    try old.forEachBlock(source) { reference, kind, _ in
      if kind == .catalogue || kind == .history { return }
      guard let place = places[reference.offset] else { throw differs("a block", target) }
      expected.append(place)
    }
    var index = 0
    try new.forEachBlock(target) { reference, kind, _ in
      if kind != .cluster { _ = try target.block(reference, end: new.record.end) }
      if kind == .catalogue || kind == .history { return }
      guard index < expected.count, expected[index] == reference else {
        throw differs("block at offset \(reference.offset)", target)
      }
      index += 1
    }
    guard index == expected.count else { throw differs("the trees", target) }
  }

  private func differs(_ what: String, _ target: BlockReader) -> EngineError {
    EngineError.damaged(
      path: target.storage.path, where: what,
      reason: "the compacted copy does not read back as it was written")
  }
}
