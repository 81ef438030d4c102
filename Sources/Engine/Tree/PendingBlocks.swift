/// The blocks of a tree that are still to be visited, from the root down, in the order of keys: the
/// way to go through a tree of objects or of an index block by block.
///
/// A hostile tree cannot keep its reader busy: the blocks may not add up to more bytes than the version has.
struct PendingBlocks {
  private var pending: [(entry: NodeEntry, level: Int)]
  private var budget: UInt64

  /// - Parameter end: the version's.
  init(from root: NodeEntry, level: Int, end: UInt64) {
    pending = [(root, level)]
    budget = end
  }

  /// The tree refers to more bytes than the version has.
  struct TooManyBytes: Error {
    let entry: NodeEntry
  }

  /// The block that comes next, nodes with their level and leaves with level 0; nil behind the last.
  mutating func next() throws(TooManyBytes) -> (entry: NodeEntry, level: Int)? {
    guard let next = pending.popLast() else { return nil }
    let (rest, overflow) = budget.subtractingReportingOverflow(UInt64(next.entry.reference.length))
    guard !overflow else { throw TooManyBytes(entry: next.entry) }
    budget = rest
    return next
  }

  /// Has what a node refers to come next.
  mutating func add(below node: Node) {
    for index in (0..<node.entryCount).reversed() {
      pending.append((node.entry(index), node.level - 1))
    }
  }

  /// Has one block come next.
  mutating func add(_ entry: NodeEntry, level: Int) { pending.append((entry, level)) }

  /// Counts bytes of a block that is visited by the way.
  mutating func spend(_ bytes: UInt32) { budget -= min(budget, UInt64(bytes)) }
}
