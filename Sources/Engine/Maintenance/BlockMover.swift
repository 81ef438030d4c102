import Base

/// Moves blocks of the transaction's base to other places in the file, byte for byte, and rewrites the blocks
/// that refer to them.
///
/// Thread rule: only the transaction's thread.
struct BlockMover {
  /// The offsets of the blocks to move: no two blocks of a version begin at the same place.
  let wanted: Set<UInt64>
  /// The page before which a block must be placed; nil: any place.
  let limit: (BlockReference) -> Int?
  let blocks: BlockReader
  let writer: BlockWriter
  /// The end of the version.
  let end: UInt64
  /// Bytes that moved towards the front of the file.
  private(set) var gained = 0
  /// Bytes written.
  private(set) var moved = 0

  init(
    _ wanted: Set<UInt64>, _ blocks: BlockReader, _ writer: BlockWriter, end: UInt64,
    below limit: @escaping (BlockReference) -> Int?
  ) {
    self.wanted = wanted
    self.limit = limit
    self.blocks = blocks
    self.writer = writer
    self.end = end
  }

  private func isToMove(_ reference: BlockReference) -> Bool {
    guard wanted.contains(reference.offset) else { return false }
    return limit(reference).map { writer.hasRoom(for: Int(reference.length), below: $0) } ?? true
  }

  private mutating func note(_ old: BlockReference, _ new: BlockReference) throws {
    moved += Int(new.length)
    if new.offset < old.offset { gained += Int(new.length) }
    try writer.drop(old)
  }

  /// Moves a block that refers to no other.
  ///
  /// - Returns: whether it was moved.
  mutating func move(_ reference: inout BlockReference) throws -> Bool {
    guard reference.length > 0, isToMove(reference) else { return false }
    let old = reference
    reference = try writer.copy(old)
    try note(old, reference)
    return true
  }

  /// Moves the wanted blocks of a table.
  ///
  /// - Returns: whether any block was moved.
  /// - Complexity: O(nodes), and the blocks that are moved.
  /// - Throws: `BlockError` when a node is damaged, `SystemError`.
  mutating func move(_ table: inout Catalogue.TableEntry) throws -> Bool {
    var isChanged = try move(&table.schema)
    if table.root.level > 0 {
      isChanged =
        try move(&table.root.entry, level: table.root.level, isIndex: false) || isChanged
    }
    for place in table.index.indices {
      isChanged = try move(&table.index[place].root) || isChanged
    }
    for index in table.valueIndexes.indices {
      for place in table.valueIndexes[index].runs.indices {
        isChanged = try move(&table.valueIndexes[index].runs[place].root) || isChanged
      }
    }
    return isChanged
  }

  private mutating func move(_ run: inout TreeRoot) throws -> Bool {
    try move(&run.entry, level: run.level, isIndex: true)
  }

  private mutating func move(
    _ entry: inout NodeEntry, level: Int, isIndex: Bool
  ) throws -> Bool {
    if level == 0 {
      guard entry.reference.isOverlay else { return try move(&entry.reference) }
      return try move(overlay: &entry)
    }
    var children = try blocks.children(of: entry, level: level, isIndex: isIndex, end: end)
    var isChanged = false
    for place in children.indices {
      isChanged = try move(&children[place], level: level - 1, isIndex: isIndex) || isChanged
    }
    guard isChanged || isToMove(entry.reference) else { return false }
    let old = entry.reference
    entry.reference = try writer.append(node: Node.encode(level: level, children[...]))
    try note(old, entry.reference)
    return true
  }

  /// Moves a leaf's cluster and the overlay blocks over it: a block over a moved one must refer to its new
  /// place.
  private mutating func move(overlay entry: inout NodeEntry) throws -> Bool {
    let overlay = try blocks.overlay(entry, end: end)
    var below = overlay.base.reference
    var isChanged = try move(&below)
    for reference in overlay.references.reversed() {
      guard isChanged || isToMove(reference) else {
        below = reference
        continue
      }
      isChanged = true
      let copy = try blocks.withCopy(of: reference, end: end) {
        OverlayBlock.copy(of: $0, over: below)
      }
      below = try writer.append(node: copy)
      below.isOverlay = true
      try note(reference, below)
    }
    entry.reference = below
    return isChanged
  }
}
