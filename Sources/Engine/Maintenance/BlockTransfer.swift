import Base

/// Identifies a block's content at any place: its checksum, with the facts that its parent has about it.
/// Equal checksums of nodes mean equal subtrees, since a node has the checksums of its children.
struct BlockContent: Hashable {
  enum Kind: Hashable {
    case catalogue, schema, node(level: Int), cluster, overlay, indexLeaf
  }

  /// The table of the block, and one of the table's trees. Within a version only leaves of an index can then
  /// have equal contents.
  struct Owner: Hashable {
    var table: UInt32 = 0
    /// 0: the objects; 1: the index of the primary key; above: the column of a secondary index, plus 2.
    var index: UInt64 = 0

    func keyIndex() -> Owner { Owner(table: table, index: 1) }
    func index(of column: UInt32) -> Owner { Owner(table: table, index: UInt64(column) + 2) }
    var isIndex: Bool { index > 0 }
  }

  let kind: Kind
  let owner: Owner
  let firstKey: Int64
  let count: UInt64
  let length: UInt32
  let checksum: UInt64

  init(_ kind: Kind, _ owner: Owner, _ entry: NodeEntry, checksum: UInt64? = nil) {
    self.kind = kind
    self.owner = owner
    firstKey = entry.firstKey
    count = entry.count
    length = entry.reference.length
    self.checksum = checksum ?? entry.reference.checksum
  }

  init(catalogue reference: BlockReference) {
    self.init(.catalogue, Owner(), NodeEntry(firstKey: 0, count: 0, reference: reference))
  }

  /// The kind of the blocks below a node of a level, or of a leaf.
  static func kind(level: Int, isIndex: Bool, isOverlay: Bool) -> Kind {
    level > 0
      ? .node(level: level)
      : isIndex ? .indexLeaf : isOverlay ? .overlay : .cluster
  }
}

/// Copies versions into another file unchanged, block by block. Blocks that the other file has are neither
/// read nor written, nor are the blocks below them; blocks that versions share are copied once.
///
/// A block that refers to others has other bytes in the copy, since the others have other places. `made`
/// records the block of the source from which it was made, for the next transfer.
///
/// Thread rule: confined, while the versions are held.
struct BlockTransfer {
  private let source: BlockReader
  private let writer: BlockWriter
  private let shouldStop: () -> Bool
  /// The contents that the other file has.
  private var known: [BlockContent: BlockReference]
  /// The written blocks that refer to others, each with the checksum of the block from which it was made.
  private(set) var made: [(place: BlockReference, checksum: UInt64)] = []
  /// The written blocks, to be read back.
  private var written: [(entry: NodeEntry, kind: BlockContent.Kind)] = []
  /// The end of all blocks that were placed or are reused.
  private(set) var end: UInt64
  private let target: BlockReader
  /// Leaves of indexes that the copy of the current version uses.
  private var taken: Set<UInt64> = []
  private var emptyHistory: BlockReference?

  /// - Parameters:
  ///   - known: blocks of the other file, by the contents of which they are copies.
  ///   - target: reads these blocks and the written ones.
  ///   - end: the end of the known blocks.
  init(
    _ source: BlockReader, _ writer: BlockWriter, known: [BlockContent: BlockReference] = [:],
    in target: BlockReader, end: UInt64 = 0, shouldStop: @escaping () -> Bool
  ) {
    self.target = target
    self.source = source
    self.writer = writer
    self.known = known
    self.end = end
    self.shouldStop = shouldStop
  }

  // MARK: Versions

  /// Copies the tables of a catalogue.
  ///
  /// - Parameter end: the end of the version.
  mutating func copyTables(of catalogue: inout Catalogue, end: UInt64) throws {
    taken = []
    // Nodes of this transfer may be read again as known ones.
    try writer.writeOut()
    for table in catalogue.tables {
      for (run, owner) in table.ownedRuns {
        try take(run.root.entry, level: run.root.level, owner, end: end)
      }
    }
    for index in catalogue.tables.indices {
      var table = catalogue.tables[index]
      let owner = BlockContent.Owner(table: table.number)
      table.schema = try copy(
        leaf: NodeEntry(firstKey: 0, count: 0, reference: table.schema), .schema, owner, end: end)
      if table.root.level > 0 {
        table.root.entry.reference = try copy(
          table.root.entry, level: table.root.level, owner, end: end)
      }
      for run in table.index.indices {
        try copy(&table.index[run], owner.keyIndex(), end: end)
      }
      for place in table.valueIndexes.indices {
        let owner = owner.index(of: table.valueIndexes[place].column)
        for run in table.valueIndexes[place].runs.indices {
          try copy(&table.valueIndexes[place].runs[run], owner, end: end)
        }
      }
      catalogue.tables[index] = table
    }
  }

  /// Records the leaves of an index that are reused together with the nodes above them: a leaf of equal
  /// content in another run is another block.
  private mutating func take(
    _ entry: NodeEntry, level: Int, _ owner: BlockContent.Owner, end: UInt64
  ) throws {
    if level == 0 { return }
    if let there = known[BlockContent(.node(level: level), owner, entry)] {
      let copy = NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: there)
      return try takeCopied(copy, level: level, IndexBlocks(target, end: .max))
    }
    for child in try IndexBlocks(source, end: end).children(entry, level: level) {
      try take(child, level: level - 1, owner, end: end)
    }
  }

  private mutating func takeCopied(
    _ entry: NodeEntry, level: Int, _ blocks: IndexBlocks
  ) throws {
    if level == 0 {
      taken.insert(entry.reference.offset)
      return
    }
    for child in try blocks.children(entry, level: level) {
      try takeCopied(child, level: level - 1, blocks)
    }
  }

  /// Copies the versions that a version keeps, and returns the history of the copy.
  ///
  /// - Parameter old: the copy's history so far; versions that it has stay in place.
  mutating func copyKept(_ history: History, known old: History) throws -> History {
    var history = history
    // A pending table is not a version, and is not copied.
    history.pending = []
    for place in history.kept.indices {
      let record = history.kept[place].record
      let content = BlockContent(catalogue: record.root)
      if let same = old.place(of: record.version), known[content] == old.kept[same].record.root {
        history.kept[place].record = old.kept[same].record
        continue
      }
      var catalogue = try VersionRoots(record, source).catalogue
      try copyTables(of: &catalogue, end: record.end)
      // The history of a kept version is not used.
      if catalogue.history != nil { catalogue.history = try noHistory() }
      let root = try put(node: catalogue.encode())
      note(root, madeOf: record.root.checksum)
      known[content] = root
      history.kept[place].record = VersionRecord(
        version: record.version, root: root,
        end: UInt64(Layout.pages(holding: Int(clamping: end)) * Layout.pageBytes),
        hasHistory: catalogue.history != nil)
    }
    return history
  }

  private mutating func noHistory() throws -> BlockReference {
    if let emptyHistory { return emptyHistory }
    let reference = try History.empty { try put(node: $0) }
    emptyHistory = reference
    return reference
  }

  private mutating func copy(
    _ run: inout IndexRun, _ owner: BlockContent.Owner, end: UInt64
  ) throws {
    run.root.entry.reference = try copy(
      run.root.entry, level: run.root.level, owner, end: end)
  }

  // MARK: Blocks

  /// Places a block that refers to others, or belongs to the copy only.
  mutating func put(node bytes: [UInt8]) throws -> BlockReference {
    let reference = try writer.append(node: bytes)
    end = max(end, reference.offset + UInt64(reference.length))
    written.append((NodeEntry(firstKey: 0, count: 0, reference: reference), .schema))
    return reference
  }

  private mutating func note(_ place: BlockReference, madeOf checksum: UInt64) {
    made.append((place, checksum))
  }

  /// A block of the copy with this content; nil when there is none, or it has another owner.
  private mutating func find(_ content: BlockContent) -> BlockReference? {
    guard let there = known[content] else { return nil }
    if content.kind == .indexLeaf, !taken.insert(there.offset).inserted { return nil }
    return there
  }

  private mutating func copy(
    _ entry: NodeEntry, level: Int, _ owner: BlockContent.Owner, end: UInt64
  ) throws -> BlockReference {
    let kind = BlockContent.kind(
      level: level, isIndex: owner.isIndex, isOverlay: entry.reference.isOverlay)
    switch kind {
    case .cluster, .indexLeaf, .schema, .catalogue:
      return try copy(leaf: entry, kind, owner, end: end)
    case .overlay, .node: break
    }
    let content = BlockContent(kind, owner, entry)
    if let there = find(content) { return there }
    if kind == .overlay { return try copy(overlay: entry, owner, end: end) }
    var children = try source.children(
      of: entry, level: level, isIndex: owner.isIndex, end: end)
    for place in children.indices {
      children[place].reference = try copy(children[place], level: level - 1, owner, end: end)
    }
    let reference = try put(node: Node.encode(level: level, children[...]))
    note(reference, madeOf: entry.reference.checksum)
    known[content] = reference
    return reference
  }

  /// Copies a block that refers to no others, byte for byte.
  private mutating func copy(
    leaf entry: NodeEntry, _ kind: BlockContent.Kind, _ owner: BlockContent.Owner, end: UInt64
  ) throws -> BlockReference {
    let content = BlockContent(kind, owner, entry)
    if let there = find(content) { return there }
    if shouldStop() { throw EngineError.cancelled }
    try source.verify(entry, kind, end: end)
    let bytes = Array(try source.extent(entry.reference, end: end))
    var reference = try writer.append(cluster: bytes, checksum: entry.reference.checksum)
    reference.isOverlay = entry.reference.isOverlay
    source.forget(entry, end: end)
    self.end = max(self.end, reference.offset + UInt64(reference.length))
    written.append(
      (NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: reference), kind))
    known[content] = reference
    if kind == .indexLeaf { taken.insert(reference.offset) }
    return reference
  }

  /// Copies a cluster and the overlay blocks over it, the lowest first, as each block refers to the one below
  /// it.
  private mutating func copy(
    overlay entry: NodeEntry, _ owner: BlockContent.Owner, end: UInt64
  ) throws -> BlockReference {
    let overlay = try source.overlay(entry, end: end)
    var below = try copy(overlay.base, level: 0, owner, end: end)
    for reference in overlay.references.reversed() {
      let content = BlockContent(
        .overlay, owner,
        NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: reference))
      if let there = find(content) {
        below = there
        continue
      }
      let bytes = try source.withCopy(of: reference, end: end) {
        OverlayBlock.copy(of: $0, over: below)
      }
      below = try put(node: bytes)
      below.isOverlay = true
      note(below, madeOf: reference.checksum)
      known[content] = below
    }
    return below
  }

  // MARK: Verifying

  /// Reads all written blocks back from the file, also those of the copy's own table.
  ///
  /// - Parameter own: the table that only the copy has.
  /// - Throws: `EngineError.damaged` when their bytes differ from those that were written.
  func verify(_ target: BlockReader, own: Catalogue.TableEntry?) throws {
    for (entry, kind) in written { try verify(entry, kind, target) }
    guard let own else { return }
    try verify(NodeEntry(firstKey: 0, count: 0, reference: own.schema), .schema, target)
    guard own.root.level > 0 else { return }
    try verify(below: own.root.entry, level: own.root.level, target)
  }

  private func verify(below entry: NodeEntry, level: Int, _ target: BlockReader) throws {
    try verify(entry, BlockContent.kind(level: level, isIndex: false, isOverlay: false), target)
    if level == 0 { return }
    for child in try target.children(of: entry, level: level, isIndex: false, end: .max) {
      try verify(below: child, level: level - 1, target)
    }
  }

  private func verify(
    _ entry: NodeEntry, _ kind: BlockContent.Kind, _ target: BlockReader
  ) throws {
    if shouldStop() { throw EngineError.cancelled }
    do {
      try target.verify(entry, kind, end: .max)
    } catch {
      throw EngineError.damaged(
        path: target.storage.path, where: "the block at byte \(entry.reference.offset)",
        reason: "the copy does not read back as it was written (\(error))")
    }
    target.forget(
      NodeEntry(
        firstKey: 0, count: 0,
        reference: BlockReference(
          offset: entry.reference.offset, length: entry.reference.length, checksum: 0)),
      end: .max)
  }
}

extension Catalogue.TableEntry {
  /// The runs of all indexes, and which index each is of.
  var ownedRuns: [(run: IndexRun, owner: BlockContent.Owner)] {
    let owner = BlockContent.Owner(table: number)
    return index.map { ($0, owner.keyIndex()) }
      + valueIndexes.flatMap { index in
        index.runs.map { ($0, owner.index(of: index.column)) }
      }
  }
}

extension BlockReader {
  /// Verifies all bytes of a block.
  ///
  /// - Throws: `BlockError`, `ClusterError` when a checksum does not match.
  fileprivate func verify(_ entry: NodeEntry, _ kind: BlockContent.Kind, end: UInt64) throws {
    guard kind == .cluster else {
      _ = try block(entry.reference, end: end)
      return
    }
    let cluster = try cluster(entry, end: end)
    for place in 0..<cluster.columnCount { _ = try cluster.open(cluster.column(at: place)) }
    _ = try cluster.keys()
    guard cluster.hasZeroPadding() else {
      throw ClusterError.damagedHeader("its padding is not zero")
    }
  }
}
