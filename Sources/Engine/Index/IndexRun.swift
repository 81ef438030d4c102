import Base

/// A part of an index: a B+ tree of entries that were written together.
///
/// A tree with keys in random order would be rewritten almost completely by every commit. So each commit
/// writes a run of its own, and now and then runs of similar size are merged into a larger one
/// (`MergePolicy`), as in the log-structured merge-tree (O'Neil and others, 1996).
package struct IndexRun: Sendable, Equatable {
  /// A node of level 1 or more, whose keys are codes; `IndexLeaf`s are below level 1.
  package var root: TreeRoot
  /// No code is higher, so higher codes are not looked up in the run. The last entry may have a lower one,
  /// since a merge adopts leaves without reading them.
  package var lastCode: Int64

  package init(root: TreeRoot, lastCode: Int64) {
    self.root = root
    self.lastCode = lastCode
  }

  package var count: UInt64 { root.count }
  package var firstCode: Int64 { root.entry.firstKey }

  /// Returns false for a code that is above all codes of the run, like most new ascending keys.
  @inline(__always)
  package func reaches(_ code: Int64) -> Bool { code >= firstCode && code <= lastCode }

  /// Bytes in the catalogue: level 4, entry 40 (first code, count, reference), last code 8.
  package func encode(into writer: inout ByteWriter) {
    writer.append(UInt32(root.level))
    writer.append(UInt64(bitPattern: firstCode))
    writer.append(count)
    root.entry.reference.encode(into: &writer)
    writer.append(UInt64(bitPattern: lastCode))
  }

  package init(from reader: inout ByteReader) throws(DecodingFailure) {
    let level = try reader.read(UInt32.self, "level of an index")
    guard level >= 1, level <= UInt32(Layout.maximumDepth) else {
      throw DecodingFailure(what: "an index is too deep or empty", offset: reader.offset)
    }
    let first = Int64(bitPattern: try reader.read(UInt64.self, "first code"))
    let count = try reader.read(UInt64.self, "number of entries")
    let reference = try BlockReference(from: &reader)
    lastCode = Int64(bitPattern: try reader.read(UInt64.self, "last code"))
    guard first <= lastCode, count > 0, count <= UInt64(Int64.max) >> 16 else {
      throw DecodingFailure(what: "an index's codes or number of entries", offset: reader.offset)
    }
    root = TreeRoot(
      level: Int(level), entry: NodeEntry(firstKey: first, count: count, reference: reference))
  }
}

/// Reads the blocks of runs of one version.
///
/// Thread rule: any thread, while the version is held.
package struct IndexBlocks: Sendable {
  package let blocks: BlockReader
  /// The version's end.
  package let end: UInt64

  package init(_ blocks: BlockReader, end: UInt64) {
    self.blocks = blocks
    self.end = end
  }

  private func damaged(_ entry: NodeEntry, _ what: String) -> BlockError {
    BlockError(
      path: blocks.storage.path, offset: entry.reference.offset,
      length: entry.reference.length, what: what)
  }

  package func node(_ entry: NodeEntry, level: Int) throws(BlockError) -> Node {
    let bytes = try blocks.block(entry.reference, end: end)
    return try Node(bytes, of: entry, level: level, repeats: true, path: blocks.storage.path)
  }

  /// A leaf in place.
  package func leaf(_ entry: NodeEntry) throws(BlockError) -> IndexLeaf {
    try leaf(entry, try blocks.block(entry.reference, end: end))
  }

  private func leaf(
    _ entry: NodeEntry, _ bytes: UnsafeRawBufferPointer
  ) throws(BlockError) -> IndexLeaf {
    let leaf: IndexLeaf
    do {
      leaf = try IndexLeaf(bytes)
    } catch {
      throw damaged(entry, "\(error.what) at byte \(error.offset)")
    }
    guard leaf.rowCount == entry.count, leaf.firstCode == entry.firstKey,
      !entry.reference.isOverlay
    else {
      throw damaged(entry, "the leaf does not match its parent's entry")
    }
    return leaf
  }

  /// A leaf's entries, read from a copy: see `BlockReader.withCopy`.
  package func entries(_ entry: NodeEntry) throws -> [IndexEntry] {
    try blocks.withCopy(of: entry.reference, end: end) { bytes in
      let leaf = try leaf(entry, bytes)
      let entries = leaf.entries()
      if let problem = leaf.inconsistency(of: entries) { throw damaged(entry, problem) }
      return entries
    }
  }

  /// A node's entries, read from a copy.
  package func children(_ entry: NodeEntry, level: Int) throws -> [NodeEntry] {
    try blocks.withCopy(of: entry.reference, end: end) { bytes in
      let node = try Node(bytes, of: entry, level: level, repeats: true, path: blocks.storage.path)
      return (0..<node.entryCount).map(node.entry)
    }
  }

  /// Calls `visit` with every block of a run: nodes with their level, leaves with level 0.
  ///
  /// Reads only nodes. The blocks visited may not add up to more bytes than the version has, so a hostile
  /// file cannot make it run forever.
  package func walk(_ run: IndexRun, _ visit: (NodeEntry, _ level: Int) throws -> Void) throws {
    var pending = PendingBlocks(from: run.root.entry, level: run.root.level, end: end)
    do {
      while let (entry, level) = try pending.next() {
        guard entry.reference.pages(within: end) != nil else {
          throw damaged(entry, "the reference points outside the version's pages")
        }
        try visit(entry, level)
        if level == 0 { continue }
        for child in try children(entry, level: level).reversed() {
          pending.add(child, level: level - 1)
        }
      }
    } catch let error as PendingBlocks.TooManyBytes {
      throw damaged(error.entry, "the index refers to more bytes than the file has")
    }
  }
}

extension BlockReader {
  /// The entries of a node, read from a copy.
  ///
  /// - Parameter isIndex: true for a node of a run, false for a node of a table's tree.
  package func children(
    of entry: NodeEntry, level: Int, isIndex: Bool, end: UInt64
  ) throws -> [NodeEntry] {
    isIndex
      ? try IndexBlocks(self, end: end).children(entry, level: level)
      : try TreeReader(blocks: self, root: .empty, end: end).entries(entry, level: level)
  }
}
