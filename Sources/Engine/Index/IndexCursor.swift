/// Finds codes in a run, in ascending order: each node and leaf is opened once, however many codes are in it.
///
/// Thread rule: confined, while the version is held.
package struct IndexCursor {
  private let blocks: IndexBlocks
  private let run: IndexRun
  /// The path to the current leaf; `limit` is the first code after a node's codes.
  private var path: [(node: Node, limit: Int64)] = []
  private var leaf: IndexLeaf?
  private var leafLimit = Int64.min
  private var row = 0
  /// Leaves opened so far.
  private(set) package var opened = 0

  package init(_ run: IndexRun, _ blocks: IndexBlocks) {
    self.run = run
    self.blocks = blocks
  }

  /// Calls `body` with the object of each entry that has this code.
  ///
  /// - Parameter code: not below the previous one.
  /// - Throws: `BlockError` when a block on the way is damaged; the errors of `body`.
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
        opened += 1
        return
      }
      path.append((try blocks.node(last.node.entry(index), level: last.node.level - 1), limit))
    }
  }
}

extension IndexRun {
  /// For each of some codes, calls `body` with the objects that may have it.
  ///
  /// - Parameters:
  ///   - codes: ascending.
  ///   - body: receives an index in `codes`, and an object.
  /// - Returns: the number of leaves that it has opened.
  @discardableResult
  package func find(
    _ codes: some RandomAccessCollection<Int64>, _ blocks: IndexBlocks,
    _ body: (_ position: Int, _ object: Int64) throws -> Void
  ) throws -> Int {
    var cursor = IndexCursor(self, blocks)
    for (position, code) in codes.enumerated() {
      if code > lastCode { break }
      if code < firstCode { continue }
      try cursor.find(code) { try body(position, $0) }
    }
    return cursor.opened
  }
}
