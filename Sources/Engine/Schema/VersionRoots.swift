import Base

/// Everything a version's root block names: the way to all its blocks.
package struct VersionRoots {
  package let record: VersionRecord
  package let catalogue: Catalogue

  /// - Throws: `BlockError` or `DecodingFailure` when the root block is damaged.
  package init(_ record: VersionRecord, _ blocks: BlockReader) throws {
    self.record = record
    catalogue = try Catalogue(decoding: try blocks.block(record.root, end: record.end))
  }

  /// Calls `visit` with every block of the version: what it is, where, and its table.
  ///
  /// - Complexity: O(tree nodes + bytes of overlays); clusters are not read.
  package func forEachBlock(
    _ blocks: BlockReader,
    _ visit: (BlockReference, BlockKind, Catalogue.TableEntry?) throws -> Void
  ) throws {
    try visit(record.root, .catalogue, nil)
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

/// What a block is for.
package enum BlockKind: String, Sendable {
  case catalogue
  case schema
  case node
  case cluster
  case overlay
  /// A node or a leaf of an index.
  case index
}

extension SpaceMap {
  /// The map of a file, from what the newest and the held versions reach.
  ///
  /// - Parameter locked: versions that are held too, and whose roots need not be known.
  /// - Complexity: O(tree nodes of these versions).
  /// - Throws: `BlockError` when a node or catalogue is damaged, or a held version is gone.
  package static func walking(
    _ blocks: BlockReader, newest: VersionRecord, held: [VersionRecord],
    locked: [ClosedRange<UInt64>] = []
  ) throws -> SpaceMap {
    let space = SpaceMap(version: newest.version)
    try VersionRoots(newest, blocks).forEachBlock(blocks) { reference, _, _ in
      if let bytes = reference.bytes(within: newest.end) { space.countLive(bytes) }
    }
    let length = try blocks.storage.length()
    var walked: Set<UInt64> = [newest.version]
    for version in held
    where version.version < newest.version && walked.insert(version.version).inserted {
      // Bytes beyond the file's end must not be looked at.
      guard version.end <= UInt64(length) else {
        throw BlockError(
          path: blocks.storage.path, offset: version.root.offset, length: version.root.length,
          what: "the held version \(version.version) reaches beyond the file's end")
      }
      do {
        try VersionRoots(version, blocks).forEachBlock(blocks) { reference, _, _ in
          if let bytes = reference.bytes(within: version.end) {
            space.countHeld(bytes, version: version.version)
          }
        }
      } catch let error as DecodingFailure {
        throw BlockError(
          path: blocks.storage.path, offset: version.root.offset, length: version.root.length,
          what: "\(error.what) at byte \(error.offset) of the catalogue")
      }
    }
    let isUnknown = locked.contains { range in
      range.lowerBound < newest.version
        && !(range.lowerBound == range.upperBound && walked.contains(range.lowerBound))
    }
    space.finishCounting(unknownWithin: isUnknown ? length / Layout.pageBytes : nil)
    return space
  }
}
