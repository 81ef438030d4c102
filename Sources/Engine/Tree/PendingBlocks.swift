/// The blocks of a tree that remain to be visited, from the root down, in the order of keys; for visiting a
/// tree of objects or of an index block by block.
///
/// A hostile tree cannot make its reader run forever: the blocks may not add up to more bytes than the
/// version has.
struct PendingBlocks {
  private var pending: [(entry: NodeEntry, level: Int)]
  private var budget: UInt64

  /// - Parameter end: the end of the version.
  init(from root: NodeEntry, level: Int, end: UInt64) {
    pending = [(root, level)]
    budget = end
  }

  /// The tree refers to more bytes than the version has.
  struct TooManyBytes: Error {
    let entry: NodeEntry
  }

  /// The next block, a node with its level or a leaf with level 0; nil after the last.
  mutating func next() throws(TooManyBytes) -> (entry: NodeEntry, level: Int)? {
    guard let next = pending.popLast() else { return nil }
    let (rest, overflow) = budget.subtractingReportingOverflow(UInt64(next.entry.reference.length))
    guard !overflow else { throw TooManyBytes(entry: next.entry) }
    budget = rest
    return next
  }

  /// Puts a node's children before the remaining blocks.
  mutating func add(below node: Node) {
    for index in (0..<node.entryCount).reversed() {
      pending.append((node.entry(index), node.level - 1))
    }
  }

  /// Puts one block before the remaining ones.
  mutating func add(_ entry: NodeEntry, level: Int) { pending.append((entry, level)) }

  /// Counts the bytes of a block that was visited in another way.
  mutating func spend(_ bytes: UInt32) { budget -= min(budget, UInt64(bytes)) }
}
