/// The right edge of the tree, where objects are added.
///
/// Programs add objects one by one, so nothing is allocated here.
extension TreeEditor {
  /// Runs `body` on the open rows of the last cluster, or of a new one when that is full.
  ///
  /// - Parameters:
  ///   - nextKey: the first key of a new cluster.
  ///   - appended: the number of rows appended by the transaction so far; many allow larger clusters.
  package func withTail<Result>(
    nextKey: Int64, appended: Int, _ body: (OpenCluster) throws -> Result
  ) throws -> Result {
    // A cluster that this transaction began may grow further.
    let limit = max(limits.tailRows, min(limits.clusterRows, appended + 1))
    if let node = try lastNode() {
      if let cluster = openTail(of: node, limit: limit) { return try change(cluster, body) }
      if try hasRoom(node, limit: limit) { return try changeTail(node, body) }
      try joinTail(node)
    }
    let cluster = clusters.newCluster()
    openCount += 1
    try append(Child(firstKey: nextKey, count: 0, content: .open(.rows(cluster))))
    guard let node = try lastNode() else {
      throw EngineError.invalidArgument("a cluster that was just added is not there")
    }
    return try changeTail(node, body)
  }

  /// The last node of level 1, after its ancestors were read into memory; nil when the tree is empty.
  func lastNode() throws -> EditNode? {
    var current = root
    // The last child is copied only where it is needed: a copy counts references, and every object that is
    // added comes by here.
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

  /// Marks the nodes on the way to the last leaf as changed, and changes the object counts of their last
  /// children.
  ///
  /// - Parameters:
  ///   - more: the number of objects added.
  ///   - fewer: the number of objects removed.
  ///   - bottom: the lowest level whose counts change.
  func changeEdge(more: UInt64 = 0, fewer: UInt64 = 0, bottom: Int = 1) {
    if let root { Self.changeEdge(root, more: more, fewer: fewer, bottom: bottom) }
  }

  private static func changeEdge(_ node: EditNode, more: UInt64, fewer: UInt64, bottom: Int) {
    node.isChanged = true
    let last = node.children.count - 1
    guard last >= 0 else { return }
    if node.level >= bottom {
      node.children[last].count = node.children[last].count + more - fewer
    }
    guard node.level > 1, case .node(let child) = node.children[last].content else { return }
    changeEdge(child, more: more, fewer: fewer, bottom: bottom)
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

  /// Runs `body` on the rows of the last leaf, and updates the counts.
  private func changeTail<Result>(
    _ node: EditNode, _ body: (OpenCluster) throws -> Result
  ) throws -> Result {
    try change(openRows(at: node, node.children.count - 1), body)
  }

  /// - Parameter cluster: the rows of the last leaf.
  private func change<Result>(
    _ cluster: OpenCluster, _ body: (OpenCluster) throws -> Result
  ) throws -> Result {
    let before = UInt64(cluster.count)
    defer {
      let after = UInt64(cluster.count)
      changeEdge(more: after, fewer: before)
      count = count + after - before
      changeCount += 1
      #if DEBUG
        requireInvariantsNowAndThen()
      #endif
    }
    return try body(cluster)
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
