/// The right edge of the tree, where objects are added.
///
/// Programs add objects one by one, so nothing is allocated here.
extension TreeEditor {
  /// The open rows of the last cluster, or of a new one when that is full. Call `countTail` after rows were
  /// added to them.
  ///
  /// - Parameters:
  ///   - nextKey: the first key of a new cluster.
  ///   - appended: the number of rows appended by the transaction so far; many allow larger clusters.
  package func openTail(nextKey: Int64, appended: Int) throws -> OpenCluster {
    // A cluster that this transaction began may grow further.
    let limit = max(limits.tailRows, min(limits.clusterRows, appended + 1))
    if let node = try lastNode() {
      if let cluster = openTail(of: node, limit: limit) { return cluster }
      if try hasRoom(node, limit: limit) {
        // Set before it is opened: a node with an open leaf must be rewritten.
        changeEdge()
        return try openRows(at: node, node.children.count - 1)
      }
      if case .open(.rows(let full))? = node.children.last?.content { openRowBytes += full.bytes }
      try joinTail(node)
      // Large rows fill a cluster before the caller asks for the next time.
      if holdsMuch { try limitMemory() }
    }
    let cluster = clusters.newCluster()
    openCount += 1
    try append(Child(firstKey: nextKey, count: 0, content: .open(.rows(cluster))))
    return cluster
  }

  /// Counts rows that were added to those of `openTail`.
  package func countTail(more rows: Int) {
    changeEdge(more: UInt64(rows))
    count += UInt64(rows)
    changeCount += 1
    #if DEBUG
      requireInvariantsNowAndThen()
    #endif
  }

  /// The last node of level 1, after its ancestors were read into memory; nil when the tree is empty.
  func lastNode() throws -> EditNode? {
    // Every object that is added comes by here: nodes that are in memory are passed without counting
    // references, as the root keeps them.
    var current: EditNode? = root.map { Self.lastNode(inMemoryBelow: $0) }
    while let node = current, !node.children.isEmpty {
      if node.level == 1 { return node }
      let last = node.children[node.children.count - 1]
      switch last.content {
      case .node(let child): current = child
      case .stored(let reference):
        let entry = NodeEntry(firstKey: last.firstKey, count: last.count, reference: reference)
        let loaded = try load(entry, level: node.level - 1)
        node.children[node.children.count - 1].content = .node(loaded)
        current = loaded
      case .open: return nil
      }
    }
    return nil
  }

  /// The last node of the lowest level down to which the last nodes are in memory.
  private static func lastNode(inMemoryBelow root: EditNode) -> EditNode {
    var current = Unmanaged.passUnretained(root)
    while let below = current._withUnsafeGuaranteedRef({ $0.lastChild }) { current = below }
    return current.takeUnretainedValue()
  }

  /// Marks the nodes on the way to the last leaf as changed, and changes the object counts of their last
  /// children.
  ///
  /// - Parameters:
  ///   - more: the number of objects added.
  ///   - bottom: the lowest level whose counts change.
  func changeEdge(more: UInt64 = 0, bottom: Int = 1) {
    var current = root.map(Unmanaged.passUnretained)
    while let node = current {
      current = node._withUnsafeGuaranteedRef { node in
        node.isChanged = true
        let last = node.children.count - 1
        if last >= 0, node.level >= bottom {
          node.children[last].count += more
        }
        return node.lastChild
      }
    }
  }

  private func hasRoom(_ node: EditNode, limit: Int) throws -> Bool {
    guard let child = node.children.last else { return false }
    return try child.count < UInt64(limit) && fits(child, limits.clusterBytes / 4)
  }

  /// The rows of the last leaf where it is open and has room, as `hasRoom` and `openRows` would find after
  /// more steps; otherwise nil.
  private func openTail(of node: EditNode, limit: Int) -> OpenCluster? {
    let last = node.children.count - 1
    guard last >= 0, node.children[last].count < UInt64(limit),
      case .open(.rows(let cluster)) = node.children[last].content,
      fits(cluster, limits.clusterBytes / 4)
    else { return nil }
    return cluster
  }

  /// Appends a cluster that was already written.
  package func append(_ entry: NodeEntry) throws {
    try append(
      Child(firstKey: entry.firstKey, count: entry.count, content: .stored(entry.reference)))
  }

  private func append(_ child: Child) throws {
    changeCount += 1
    count += child.count
    guard let node = try lastNode() else {
      // The tree is empty, perhaps after all of its levels were emptied.
      if let origin = root?.origin { try clusters.drop(origin.reference) }
      root = EditNode(level: 1, children: [child], origin: nil)
      return
    }
    changeEdge(more: child.count, bottom: 2)
    node.children.append(child)
  }
}
