/// Reads a B+ tree of one version: by key, by position, in order.
///
/// Thread rule: any thread, while the version is held.
package struct TreeReader: Sendable {
  package let blocks: BlockReader
  package let root: TreeRoot
  /// The version's end: no reference may lead beyond it.
  package let end: UInt64

  package init(blocks: BlockReader, root: TreeRoot, end: UInt64) {
    self.blocks = blocks
    self.root = root
    self.end = end
  }

  /// A leaf, and the number of objects before it.
  package struct Location: Sendable, Equatable {
    package let entry: NodeEntry
    package let position: UInt64
  }

  package func node(_ entry: NodeEntry, level: Int) throws(BlockError) -> Node {
    let bytes = try blocks.block(entry.reference, end: end)
    return try Node(bytes, of: entry, level: level, path: blocks.storage.path)
  }

  /// A node on the path to one object. Its entries are checked once, like its checksum. Visiting many
  /// objects, or freeing a node's blocks, checks them again, at little cost compared with the rest.
  private func nodeOnWay(_ entry: NodeEntry, level: Int) throws(BlockError) -> Node {
    let bytes = try blocks.block(entry.reference, end: end)
    let parts = blocks.verifiedParts(of: entry.reference)
    let part = Self.part(entry)
    let isKnown = parts.contains(part)
    let node = try Node(
      bytes, of: entry, level: level, path: blocks.storage.path, isKnown: isKnown)
    if !isKnown { parts.insert(part) }
    return node
  }

  /// The part of a node's block that records that the node fits an entry. The part's number depends on the
  /// entry, since the same block would not fit another entry.
  private static func part(_ entry: NodeEntry) -> Int {
    let mixed =
      (entry.count ^ UInt64(bitPattern: entry.firstKey) &* 0x9E37_79B9_7F4A_7C15)
      &* 0xD6E8_FEB8_6659_FD93
    return Int(truncatingIfNeeded: mixed & ~15 | 1)
  }

  /// A node's entries, read from a copy: see `BlockReader.withCopy`.
  package func entries(_ entry: NodeEntry, level: Int) throws -> [NodeEntry] {
    try blocks.withCopy(of: entry.reference, end: end) { bytes in
      let node = try Node(bytes, of: entry, level: level, path: blocks.storage.path)
      return (0..<node.entryCount).map(node.entry)
    }
  }

  /// The leaf that may hold the key; nil when none can.
  ///
  /// - Complexity: O(log n).
  package func location(ofKey key: Int64) throws(BlockError) -> Location? {
    guard root.level > 0 else { return nil }
    var entry = root.entry
    var position: UInt64 = 0
    for level in stride(from: root.level, to: 0, by: -1) {
      let node = try nodeOnWay(entry, level: level)
      guard let index = node.index(ofKey: key) else { return nil }
      for before in 0..<index { position &+= node.count(before) }
      entry = node.entry(index)
    }
    return Location(entry: entry, position: position)
  }

  /// The leaf that may hold the key, like `location` but without the number of objects before it.
  ///
  /// - Complexity: O(log n).
  package func leaf(ofKey key: Int64) throws(BlockError) -> NodeEntry? {
    guard root.level > 0 else { return nil }
    var entry = root.entry
    for level in stride(from: root.level, to: 0, by: -1) {
      let node = try nodeOnWay(entry, level: level)
      guard let index = node.index(ofKey: key) else { return nil }
      entry = node.entry(index)
    }
    return entry
  }

  /// The leaf that holds the object at a position; nil beyond the last.
  ///
  /// - Complexity: O(log n).
  package func location(ofPosition wanted: UInt64) throws(BlockError) -> Location? {
    guard root.level > 0, wanted < root.count else { return nil }
    var entry = root.entry
    var position: UInt64 = 0
    for level in stride(from: root.level, to: 0, by: -1) {
      let node = try nodeOnWay(entry, level: level)
      var index = 0
      while index < node.entryCount - 1, position &+ node.count(index) <= wanted {
        position &+= node.count(index)
        index += 1
      }
      entry = node.entry(index)
    }
    return Location(entry: entry, position: position)
  }

  /// All leaves, in the order of keys.
  package func leaves() -> LeafCursor { LeafCursor(self) }

  /// Calls `visit` with every block of the tree: nodes with their level; clusters and overlays with level 0.
  /// The blocks of an overlay, from the newest on, come before its cluster.
  ///
  /// Reads nodes and overlays, never clusters. A hostile tree cannot make it run forever: the blocks visited
  /// may not add up to more bytes than the version has.
  package func walk(_ visit: (NodeEntry, _ level: Int) throws -> Void) throws {
    guard root.level > 0 else { return }
    try walk(below: root.entry, level: root.level, visit)
  }

  /// Visits the part of the tree below one entry, including that entry, like `walk`.
  package func walk(
    below entry: NodeEntry, level: Int, _ visit: (NodeEntry, _ level: Int) throws -> Void
  ) throws {
    var pending = PendingBlocks(from: entry, level: level, end: end)
    do {
      while let (entry, level) = try pending.next() {
        guard entry.reference.pages(within: end) != nil else {
          throw damaged(entry, "the reference points outside the version's pages")
        }
        try visit(entry, level)
        if level > 0 {
          pending.add(below: try node(entry, level: level))
        } else if entry.reference.isOverlay {
          let overlay = try blocks.overlay(entry, end: end)
          for reference in overlay.references.dropFirst() {
            // The blocks were verified already, and no block is above a hundred others.
            pending.spend(reference.length)
            try visit(
              NodeEntry(firstKey: entry.firstKey, count: entry.count, reference: reference), 0)
          }
          pending.add(overlay.base, level: 0)
        }
      }
    } catch let error as PendingBlocks.TooManyBytes {
      throw damaged(error.entry, "the tree refers to more bytes than the file has")
    }
  }

  private func damaged(_ entry: NodeEntry, _ what: String) -> BlockError {
    BlockError(
      path: blocks.storage.path, offset: entry.reference.offset,
      length: entry.reference.length, what: what)
  }
}

/// Iterates over a tree's leaves in the order of keys.
package struct LeafCursor {
  private var parts: TreeParts

  init(_ tree: TreeReader) { parts = TreeParts(tree) }

  /// The next leaf; nil after the last.
  package mutating func next() throws(BlockError) -> TreeReader.Location? {
    while let part = parts.part, part.level > 0 { try parts.descend() }
    guard let part = parts.part else { return nil }
    let position = parts.position
    parts.skip()
    return TreeReader.Location(entry: part.entry, position: position)
  }
}
