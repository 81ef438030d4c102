/// Finds codes in a run, in ascending order: each node and leaf is opened once, however many of the codes
/// lie in it.
///
/// Thread rule: confined, while the version is held.
package struct IndexCursor {
  private let blocks: IndexBlocks
  private let run: IndexRun
  /// The way to the present leaf; `limit` is the first code that is not below a node any more.
  private var path: [(node: Node, limit: Int64)] = []
  private var leaf: IndexLeaf?
  private var leafLimit = Int64.min
  private var row = 0

  package init(_ run: IndexRun, _ blocks: IndexBlocks) {
    self.run = run
    self.blocks = blocks
  }

  /// Calls `body` with the object of each entry that has this code.
  ///
  /// - Parameter code: not below the one asked for before.
  /// - Throws: `BlockError` when a block on the way is damaged; what `body` throws.
  /// - Complexity: O(log entries).
  package mutating func find(_ code: Int64, _ body: (Int64) throws -> Void) throws {
    guard code >= run.firstCode, code <= run.lastCode else { return }
    if leaf == nil || code >= leafLimit { try descend(to: code) }
    guard let leaf else { return }
    row = leaf.firstRow(notBelow: code, from: row)
    var next = row
    while next < leaf.rowCount {
      let entry = leaf[next]
      guard entry.code == code else { return }
      try body(entry.object)
      next &+= 1
    }
  }

  private mutating func descend(to code: Int64) throws(BlockError) {
    leaf = nil
    row = 0
    while let last = path.last, code >= last.limit { path.removeLast() }
    if path.isEmpty {
      path.append((try blocks.node(run.root.entry, level: run.root.level), .max))
    }
    while let last = path.last {
      guard let index = last.node.index(ofKey: code) else { return }
      let next = index + 1
      let limit = next < last.node.entryCount ? last.node.firstKey(next) : last.limit
      if last.node.level == 1 {
        leaf = try blocks.leaf(last.node.entry(index))
        leafLimit = limit
        return
      }
      path.append((try blocks.node(last.node.entry(index), level: last.node.level - 1), limit))
    }
  }
}

extension IndexRun {
  /// Calls `body` with the objects that may have each of some codes.
  ///
  /// - Parameters:
  ///   - codes: ascending.
  ///   - body: gets a position in `codes`, and an object.
  package func find(
    _ codes: some RandomAccessCollection<Int64>, _ blocks: IndexBlocks,
    _ body: (_ position: Int, _ object: Int64) throws -> Void
  ) throws {
    var cursor = IndexCursor(self, blocks)
    for (position, code) in codes.enumerated() {
      if code > lastCode { return }
      if code < firstCode { continue }
      try cursor.find(code) { try body(position, $0) }
    }
  }
}
