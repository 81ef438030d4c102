import Base

/// Iterates over the entries of a run in order, from an entry that is looked up.
///
/// For runs in which many entries share a code, so that entries of one code may be in several leaves.
///
/// Thread rule: confined, while the version is held.
package struct EntryCursor {
  private let blocks: IndexBlocks
  private let run: IndexRun
  /// The path to the current leaf: nodes, and the next child in each.
  private var path: [(node: Node, next: Int)] = []
  private var leaf: IndexLeaf?
  private var row = 0
  private var isPlaced = false
  /// Consecutive leaves are each read once, so more bytes than the file has mean damage.
  private var budget: UInt64

  package init(_ run: IndexRun, _ blocks: IndexBlocks) {
    self.run = run
    self.blocks = blocks
    budget = blocks.end
  }

  /// Moves to the first entry that is not below the given one.
  ///
  /// - Parameter entry: not less than the previous one.
  /// - Complexity: O(log entries), and O(leaves between) within one code.
  /// - Throws: `BlockError` when a block on the way is damaged.
  package mutating func seek(_ entry: IndexEntry) throws(BlockError) {
    guard isPlaced else {
      isPlaced = true
      try descend(to: entry.code)
      return try skip(to: entry)
    }
    // The cursor is after the last entry.
    guard let leaf else { return }
    // Leaves of one code are read in sequence, others are found from the root.
    if leaf[leaf.rowCount - 1] < entry, let next = nextFirstCode, next < entry.code {
      try descend(to: entry.code)
    }
    try skip(to: entry)
  }

  /// The current entry; nil after the last.
  package var current: IndexEntry? {
    leaf.flatMap { row < $0.rowCount ? $0[row] : nil }
  }

  /// Returns the current entry and moves to the next one; nil after the last.
  package mutating func next() throws(BlockError) -> IndexEntry? {
    while let leaf {
      if row < leaf.rowCount {
        row &+= 1
        return leaf[row &- 1]
      }
      try advanceLeaf()
    }
    return nil
  }

  /// The number of entries with codes below a given one. The position is lost.
  ///
  /// - Complexity: O(log entries), and O(leaves) within one code at its beginning.
  package mutating func count(below code: Int64) throws(BlockError) -> UInt64 {
    if code <= run.firstCode { return 0 }
    if code > run.lastCode { return run.count }
    var count: UInt64 = 0
    var entry = run.root.entry
    for level in stride(from: run.root.level, to: 0, by: -1) {
      let node = try blocks.node(entry, level: level)
      let index = node.index(ofFirst: code)
      // The sum is at most the count of the run, which is at most 2^47.
      for before in 0..<index { count &+= node.count(before) }
      entry = node.entry(index)
    }
    let leaf = try blocks.leaf(entry)
    return count &+ UInt64(leaf.firstRow(notBelow: code))
  }

  // MARK: Leaves

  private mutating func skip(to entry: IndexEntry) throws(BlockError) {
    while let leaf {
      row = Self.firstRow(of: leaf, notBelow: entry, from: row)
      if row < leaf.rowCount { return }
      try advanceLeaf()
    }
  }

  private static func firstRow(
    of leaf: IndexLeaf, notBelow entry: IndexEntry, from start: Int
  ) -> Int {
    let low = leaf.firstRow(notBelow: entry.code, from: start)
    let high =
      entry.code == .max ? leaf.rowCount : leaf.firstRow(notBelow: entry.code &+ 1, from: low)
    return partitionPoint(low..<high) { leaf[$0].object >= entry.object }
  }

  /// The first code of the next leaf; nil after the last leaf.
  private var nextFirstCode: Int64? {
    path.last { $0.next < $0.node.entryCount }.map { $0.node.firstKey($0.next) }
  }

  private mutating func descend(to code: Int64) throws(BlockError) {
    path.removeAll(keepingCapacity: true)
    var entry = run.root.entry
    for level in stride(from: run.root.level, to: 0, by: -1) {
      let node = try blocks.node(entry, level: level)
      let index = node.index(ofFirst: code)
      path.append((node, index + 1))
      entry = node.entry(index)
    }
    leaf = try blocks.leaf(entry)
    row = 0
  }

  private mutating func advanceLeaf() throws(BlockError) {
    leaf = nil
    row = 0
    while let last = path.last, last.next == last.node.entryCount { path.removeLast() }
    guard let last = path.last else { return }
    var entry = last.node.entry(last.next)
    path[path.count - 1].next += 1
    for level in stride(from: last.node.level - 1, to: 0, by: -1) {
      let node = try blocks.node(entry, level: level)
      path.append((node, 1))
      entry = node.entry(0)
    }
    let (rest, overflow) = budget.subtractingReportingOverflow(UInt64(entry.reference.length))
    guard !overflow else {
      throw BlockError(
        path: blocks.blocks.storage.path, offset: entry.reference.offset,
        length: entry.reference.length, what: "the index refers to more bytes than the file has")
    }
    budget = rest
    leaf = try blocks.leaf(entry)
  }
}
