import Base

/// The remaining part of a tree during the comparison of two trees: the next part, as large as possible, and
/// the path to those after it.
///
/// A part that the other tree also has is skipped as a whole; any other is opened, one level at a time.
///
/// Thread rule: confined, while the version is held.
struct TreeFront {
  private var parts: TreeParts
  /// The number of objects taken from the next leaf.
  private var taken = 0
  private var opened: (leaf: Leaf, keys: LeafKeys, row: Int)?

  private(set) var nodesRead = 0
  private(set) var leavesOpened = 0

  init(_ tree: TreeReader) { parts = TreeParts(tree) }

  /// The next part; nil after the last.
  var part: TreeParts.Part? { parts.part }

  /// The number of objects before the rest.
  var position: Int { Int(clamping: parts.position) &+ taken }

  /// True when nothing was taken from the part.
  var isWhole: Bool { opened == nil }

  /// The first key of the rest.
  var firstKey: Int64? {
    if let opened { return opened.keys.key(opened.row) }
    return part?.entry.firstKey
  }

  /// Skips the part.
  mutating func skip() {
    parts.skip()
    (opened, taken) = (nil, 0)
  }

  /// Replaces a subtree by its own parts: see `TreeParts.descend`.
  mutating func descend() throws(BlockError) {
    guard let part, part.level > 0 else { return }
    nodesRead += 1
    try parts.descend()
  }

  /// The rest of the next leaf, up to a key.
  ///
  /// - Parameter end: nil, or the part's end, for the whole rest.
  /// - Precondition: the part is a leaf.
  mutating func rows(below end: Int64?) throws -> LeafRows? {
    guard let part, part.level == 0 else { return nil }
    if opened == nil {
      leavesOpened += 1
      let leaf = try Leaf(part.entry, parts.tree.blocks, end: parts.tree.end)
      opened = (leaf, try leaf.keys(), 0)
    }
    guard let (leaf, keys, row) = opened else { return nil }
    var upper = leaf.rowCount
    if let end, end != part.end {
      upper = max(row, partitionPoint(0..<leaf.rowCount) { keys.key($0) >= end })
    }
    return LeafRows(leaf: leaf, keys: keys, rows: row..<upper, firstPosition: position)
  }

  /// Moves past rows that `rows(below:)` returned.
  mutating func take(_ rows: LeafRows) {
    taken &+= rows.rows.count
    opened?.row = rows.rows.upperBound
    if rows.rows.upperBound >= rows.leaf.rowCount { skip() }
  }
}

/// Consecutive rows of a leaf.
struct LeafRows {
  let leaf: Leaf
  let keys: LeafKeys
  let rows: Range<Int>
  /// The position of the first row in its table.
  let firstPosition: Int

  /// The position of a row in its table.
  func position(_ row: Int) -> Int { firstPosition &+ (row &- rows.lowerBound) }
}
