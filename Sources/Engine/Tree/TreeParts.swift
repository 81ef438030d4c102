/// The remaining parts of a tree, in the order of keys. A part is a subtree, as large as possible, which is
/// skipped or opened one level at a time.
///
/// Thread rule: confined, while the version is held.
struct TreeParts {
  /// A subtree; at level 0, a leaf.
  struct Part {
    let entry: NodeEntry
    let level: Int
    /// The first key after the part, greater than all of its keys; nil at the end of the tree.
    let end: Int64?
  }

  let tree: TreeReader
  private var stack: [(node: Node, next: Int, end: Int64?)] = []
  /// The current part; nil after the last.
  private(set) var part: Part?
  /// The number of objects before the part.
  private(set) var position: UInt64 = 0

  init(_ tree: TreeReader) {
    self.tree = tree
    if tree.root.level > 0 {
      part = Part(entry: tree.root.entry, level: tree.root.level, end: nil)
    }
  }

  private mutating func moveOn() {
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

  /// Skips the part.
  mutating func skip() {
    guard let part else { return }
    position &+= part.entry.count
    moveOn()
  }

  /// Replaces a subtree by its own parts.
  ///
  /// - Throws: `BlockError` when its node is damaged, or has keys outside the part's. So parts do not
  ///   overlap, and visiting a damaged tree takes no longer than the file has blocks.
  mutating func descend() throws(BlockError) {
    guard let part, part.level > 0 else { return }
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
}
