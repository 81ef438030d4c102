import Base

/// Visits the blocks of several versions, shared ones once, and finds which of the versions reach each block.
///
/// Versions share whole subtrees. Nodes are visited level by level, the highest first: before a level is
/// opened, all references to its nodes have been found, and so the versions that reach the nodes.
///
/// Thread rule: confined, while the versions are held.
struct SharedWalk {
  /// A node of a table's tree or of an index, or an overlay (at level 0).
  private struct Part: Hashable {
    let entry: NodeEntry
    let isIndex: Bool
  }

  private let versions: [VersionRecord]
  private let blocks: BlockReader
  private let length: UInt64
  /// Parts to be opened, by level.
  private var levels: [[Part: SpaceMap.Places]]

  /// - Parameters:
  ///   - versions: ascending.
  ///   - length: the length of the file.
  init(_ versions: [VersionRecord], _ blocks: BlockReader, length: Int) {
    self.versions = versions
    self.blocks = blocks
    self.length = UInt64(clamping: length)
    levels = Array(repeating: [:], count: Layout.maximumDepth + 1)
  }

  /// Calls `visit` with every block and the indices of the versions that reach it; for a block with several
  /// parents, once for each of them, which together name all versions.
  ///
  /// - Complexity: O(distinct tree nodes + bytes of distinct overlays).
  /// - Throws: `BlockError`, which names the version, when a block is damaged or beyond the file's end.
  mutating func run(_ visit: (BlockReference, SpaceMap.Places) throws -> Void) throws {
    for place in versions.indices { try addRoots(of: place, visit) }
    for level in stride(from: levels.count - 1, through: 0, by: -1) {
      let parts = levels[level]
      levels[level] = [:]
      for (part, places) in parts {
        try naming(places) {
          try visit(part.entry.reference, places)
          try open(part, level: level, places, visit)
        }
      }
    }
  }

  private mutating func addRoots(
    of place: Int, _ visit: (BlockReference, SpaceMap.Places) throws -> Void
  ) throws {
    let record = versions[place]
    let places = [place..<place + 1]
    try naming(places) {
      // Bytes beyond the end of the file must not be read.
      guard record.end <= length else {
        throw BlockError(
          path: blocks.storage.path, offset: record.root.offset, length: record.root.length,
          what: "the version reaches beyond the file's end")
      }
      let roots = try VersionRoots(record, blocks)
      try visit(record.root, places)
      for block in try roots.historyBlocks(blocks) { try visit(block, places) }
      for table in roots.catalogue.tables {
        try visit(table.schema, places)
        if table.root.level > 0 {
          try add(table.root.entry, level: table.root.level, isIndex: false, places, visit)
        }
        for run in table.allRuns {
          try add(run.root.entry, level: run.root.level, isIndex: true, places, visit)
        }
      }
    }
  }

  /// Adds a part, to be opened with its level; a part without children is visited at once.
  private mutating func add(
    _ entry: NodeEntry, level: Int, isIndex: Bool, _ places: SpaceMap.Places,
    _ visit: (BlockReference, SpaceMap.Places) throws -> Void
  ) throws {
    guard entry.reference.pages(within: length) != nil else {
      throw BlockError(
        path: blocks.storage.path, offset: entry.reference.offset, length: entry.reference.length,
        what: "the reference points outside the version's pages")
    }
    guard level > 0 || entry.reference.isOverlay else { return try visit(entry.reference, places) }
    let part = Part(entry: entry, isIndex: isIndex)
    let known = levels[level][part]
    levels[level][part] = known.map { SpaceMap.union($0, places) } ?? places
  }

  private mutating func open(
    _ part: Part, level: Int, _ places: SpaceMap.Places,
    _ visit: (BlockReference, SpaceMap.Places) throws -> Void
  ) throws {
    if level == 0 {
      let overlay = try blocks.overlay(part.entry, end: length)
      for reference in overlay.references.dropFirst() { try visit(reference, places) }
      return try visit(overlay.base.reference, places)
    }
    let isIndex = part.isIndex
    for child in try blocks.children(of: part.entry, level: level, isIndex: isIndex, end: length) {
      try add(child, level: level - 1, isIndex: part.isIndex, places, visit)
    }
  }

  /// Adds the version to an error.
  private func naming<Result>(
    _ places: SpaceMap.Places, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch let error as BlockError {
      throw named(error, places)
    } catch let error as DecodingFailure {
      let root = versions[places.last.map { $0.upperBound - 1 } ?? 0].root
      throw named(
        BlockError(
          path: blocks.storage.path, offset: root.offset, length: root.length,
          what: "\(error.what) at byte \(error.offset)"), places)
    }
  }

  private func named(_ error: BlockError, _ places: SpaceMap.Places) -> BlockError {
    guard let place = places.last.map({ $0.upperBound - 1 }) else { return error }
    return BlockError(
      path: error.path, offset: error.offset, length: error.length,
      what:
        "\(error.what) (of version \(versions[place].version), which is held or kept; sheaf compact "
        + "--drop-versions leaves out those that are kept)",
      system: error.system)
  }
}
