import Base

/// The content of a version's root block, from which all of its blocks are reached.
package struct VersionRoots {
  package let record: VersionRecord
  package let catalogue: Catalogue

  /// The roots of a version that a transaction will write.
  init(_ record: VersionRecord, _ catalogue: Catalogue) {
    self.record = record
    self.catalogue = catalogue
  }

  /// - Throws: `BlockError` or `DecodingFailure` when the root block is damaged.
  package init(_ record: VersionRecord, _ blocks: BlockReader) throws {
    self.record = record
    catalogue = try Catalogue(decoding: try blocks.block(record.root, end: record.end))
  }

  /// Calls `visit` with every block of the version: its reference, its kind, and its table.
  ///
  /// - Complexity: O(tree nodes + bytes of overlays); clusters are not read.
  package func forEachBlock(
    _ blocks: BlockReader,
    _ visit: (BlockReference, BlockKind, Catalogue.TableEntry?) throws -> Void
  ) throws {
    try visit(record.root, .catalogue, nil)
    // Without the kept versions, which are walked as versions of their own.
    for block in try historyBlocks(blocks) { try visit(block, .history, nil) }
    for table in catalogue.tables {
      try visit(table.schema, .schema, table)
      try TreeReader(blocks: blocks, root: table.root, end: record.end).walk { entry, level in
        let kind: BlockKind = level > 0 ? .node : entry.reference.isOverlay ? .overlay : .cluster
        try visit(entry.reference, kind, table)
      }
      let index = IndexBlocks(blocks, end: record.end)
      for run in table.allRuns {
        try index.walk(run) { entry, _ in try visit(entry.reference, .index, table) }
      }
    }
  }
}

extension VersionRoots {
  /// The kept versions and their limit.
  ///
  /// - Throws: `BlockError` or `DecodingFailure` when a block is damaged.
  package func history(_ blocks: BlockReader) throws -> History {
    try storedHistory(blocks).history
  }

  /// - Throws: `BlockError` or `DecodingFailure` when a block is damaged.
  func storedHistory(_ blocks: BlockReader) throws -> StoredHistory {
    guard let reference = catalogue.history else { return StoredHistory() }
    return try StoredHistory(reference, of: record, blocks)
  }

  /// The history's own block and its parts.
  ///
  /// - Throws: `BlockError` or `DecodingFailure` when its own block is damaged.
  func historyBlocks(_ blocks: BlockReader) throws -> [BlockReference] {
    guard let reference = catalogue.history else { return [] }
    return try [reference]
      + blocks.withCopy(of: reference, end: record.end) { try StoredHistory.parts(of: $0) }
  }
}

/// The use of a block.
package enum BlockKind: String, Sendable {
  case catalogue
  /// The block that lists kept versions.
  case history
  case schema
  case node
  case cluster
  case overlay
  /// A node or a leaf of an index.
  case index
}

extension SpaceMap {
  private static let countedTogether = 4096

  /// Counts the blocks of the newest version, and of its pending tables.
  private func countNewest(_ newest: VersionRecord, _ blocks: BlockReader) throws {
    let roots = try VersionRoots(newest, blocks)
    let pending = try roots.history(blocks).pending
    var frozen: [Range<Int>] = []
    var own: [Range<Int>] = []
    for root in pending {
      try VersionRoots.pending(root, in: newest, blocks, isBase: true)?.forEachBlock(blocks) {
        reference, kind, _ in
        guard let bytes = reference.bytes(within: newest.end) else { return }
        // A catalogue of pending tables is an ordinary block, which the visible table does not share.
        if kind == .catalogue { own.append(bytes) } else { frozen.append(bytes) }
      }
    }
    countFrozen(frozen)
    countLive(own)
    for root in pending {
      if let roots = try VersionRoots.pending(root, in: newest, blocks) {
        try countLive(roots, within: newest.end, blocks)
      }
    }
    try countLive(roots, within: newest.end, blocks)
  }

  /// Counts all reachable blocks, some thousand at a time.
  private func countLive(_ roots: VersionRoots, within end: UInt64, _ blocks: BlockReader) throws {
    var live: [Range<Int>] = []
    live.reserveCapacity(Self.countedTogether)
    try roots.forEachBlock(blocks) { reference, _, _ in
      if let bytes = reference.bytes(within: end) { live.append(bytes) }
      if live.count == Self.countedTogether {
        countLive(live)
        live.removeAll(keepingCapacity: true)
        // Nodes are read here and there.
        if end > MappedRange.largeFile { blocks.forgetAll(length: Int(clamping: end)) }
      }
    }
    countLive(live)
  }

  /// Builds the map of a file from the blocks that the newest and other versions reach.
  ///
  /// - Parameters:
  ///   - held: versions that are held or kept, with or without the newest.
  ///   - locked: further held versions, of which only the numbers are known.
  /// - Complexity: O(tree nodes of these versions); shared nodes are read once.
  /// - Throws: `BlockError` when a node or catalogue is damaged, or a held version no longer exists.
  package static func walking(
    _ blocks: BlockReader, newest: VersionRecord, held: [VersionRecord],
    locked: [ClosedRange<UInt64>] = []
  ) throws -> SpaceMap {
    let space = SpaceMap(version: newest.version)
    let blocks = BlockReader(forWalking: blocks)
    let length = try blocks.storage.length()
    space.reserve(pages: Layout.pages(holding: length))
    try space.countNewest(newest, blocks)
    // Several records may have one number: that of a version and its pending tables; in a backup also a held
    // and a kept version, whose catalogues differ. All of them count.
    var older: [UInt64: [BlockReference: VersionRecord]] = [:]
    for version in held where version.version < newest.version {
      older[version.version, default: [:]][version.root] = version
    }
    if !older.isEmpty {
      let versions = older.values.joined().map(\.value).sorted {
        ($0.version, $0.root.offset) < ($1.version, $1.root.offset)
      }
      space.beginCountingHeld(versions.map(\.version))
      var walk = SharedWalk(versions, blocks, length: length)
      try walk.run { reference, places in
        if let bytes = reference.bytes(within: UInt64(length)) {
          space.countHeld(bytes, by: places)
        }
      }
    }
    let isUnknown = try locked.contains { range in
      let isOne = range.lowerBound == range.upperBound
      return try range.lowerBound < newest.version
        && !(isOne && tellsAll(older[range.lowerBound], of: blocks))
    }
    space.finishCounting(unknownWithin: isUnknown ? length / Layout.pageBytes : nil)
    return space
  }

  /// Returns whether the known roots of a version lead to everything that a reader with a lock on its number
  /// may read. The root of a pending table does not lead to the version's tables, nor the version's root to
  /// its pending tables.
  private static func tellsAll(
    _ roots: [BlockReference: VersionRecord]?, of blocks: BlockReader
  ) throws -> Bool {
    guard let own = roots?.values.first(where: { !$0.isOfPendingTable }) else { return false }
    return try VersionRoots(own, blocks).history(blocks).pending.isEmpty
  }
}
