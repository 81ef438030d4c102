/// What is still to come of a tree while two trees are compared: the part that comes next, as large as
/// it can be, and the way to those behind it.
///
/// A part that is found in the other tree too is skipped whole; any other is opened, a level at a time.
///
/// Thread rule: confined, while the version is held.
struct TreeFront {
  /// A subtree, or at level 0 a leaf.
  struct Part {
    let entry: NodeEntry
    let level: Int
    /// The first key of what follows in the tree: all keys of the part are below. Nil at the tree's end.
    let end: Int64?
  }

  private let tree: TreeReader
  private var stack: [(node: Node, next: Int, end: Int64?)] = []
  /// Nil behind the last.
  private(set) var part: Part?
  /// How many objects of the tree come before what is still to come.
  private(set) var position = 0
  private var opened: (leaf: Leaf, keys: LeafKeys, row: Int)?

  private(set) var nodesRead = 0
  private(set) var leavesOpened = 0

  init(_ tree: TreeReader) {
    self.tree = tree
    if tree.root.level > 0 {
      part = Part(entry: tree.root.entry, level: tree.root.level, end: nil)
    }
  }

  /// True when nothing of the part has been taken yet.
  var isWhole: Bool { opened == nil }

  /// The first key that is still to come.
  var firstKey: Int64? {
    if let opened { return opened.keys.key(opened.row) }
    return part?.entry.firstKey
  }

  private mutating func moveOn() {
    opened = nil
    while let top = stack.last {
      guard top.next < top.node.entryCount else {
        stack.removeLast()
        continue
      }
      stack[stack.count - 1].next += 1
      let behind = top.next + 1
      part = Part(
        entry: top.node.entry(top.next), level: top.node.level - 1,
        end: behind < top.node.entryCount ? top.node.firstKey(behind) : top.end)
      return
    }
    part = nil
  }

  /// Leaves the whole part out.
  mutating func skip() {
    guard let part else { return }
    position &+= Int(clamping: part.entry.count)
    moveOn()
  }

  /// Puts a subtree's own parts in its place.
  ///
  /// - Throws: `BlockError` when its node is damaged. Its keys lie within the part's: so no two parts
  ///   overlap, and no damaged tree takes longer to go through than the file has blocks.
  mutating func descend() throws(BlockError) {
    guard let part, part.level > 0 else { return }
    nodesRead += 1
    let node = try tree.node(part.entry, level: part.level)
    if let end = part.end, node.firstKey(node.entryCount - 1) >= end {
      throw BlockError(
        path: tree.blocks.storage.path, offset: part.entry.reference.offset,
        length: part.entry.reference.length,
        what: "the node's keys reach beyond those of the next one")
    }
    stack.append((node, 0, part.end))
    moveOn()
  }

  /// What is left of the leaf that comes next, up to a key.
  ///
  /// - Parameter end: nil, or the part's own end: all that is left.
  /// - Precondition: the part is a leaf.
  mutating func rows(below end: Int64?) throws -> LeafRows? {
    guard let part, part.level == 0 else { return nil }
    if opened == nil {
      leavesOpened += 1
      let leaf = try Leaf(part.entry, tree.blocks, end: tree.end)
      opened = (leaf, try leaf.keys(), 0)
    }
    guard let (leaf, keys, row) = opened else { return nil }
    var upper = leaf.rowCount
    if let end, end != part.end {
      upper = max(row, partitionPoint(0..<leaf.rowCount) { keys.key($0) >= end })
    }
    return LeafRows(leaf: leaf, keys: keys, rows: row..<upper, firstPosition: position)
  }

  /// Goes behind rows that `rows(below:)` gave.
  mutating func take(_ taken: LeafRows) {
    position &+= taken.rows.count
    opened?.row = taken.rows.upperBound
    if taken.rows.upperBound >= taken.leaf.rowCount { moveOn() }
  }
}

/// Some rows of a leaf that follow each other.
struct LeafRows {
  let leaf: Leaf
  let keys: LeafKeys
  let rows: Range<Int>
  /// The position of the first one in its table.
  let firstPosition: Int

  /// The position of one of the rows in its table.
  func position(_ row: Int) -> Int { firstPosition &+ (row &- rows.lowerBound) }
}
