/// Replaces several leaves by one cluster with the same rows.
extension TreeEditor {
  /// Returns whether these leaves are in the tree and adjacent.
  func hasNeighbours(_ group: [NodeEntry]) throws -> Bool {
    var behind: UInt64?
    for entry in group {
      guard case .stored(let stored, let position)? = try place(ofKey: entry.firstKey),
        stored == entry, behind.map({ $0 == position }) ?? true
      else { return false }
      behind = position &+ entry.count
    }
    return true
  }

  /// Replaces adjacent leaves by one that has their rows.
  ///
  /// - Precondition: `hasNeighbours`; the new leaf has the first leaf's first key, and as many rows as all of
  ///   them.
  /// - Complexity: O(log n) for each leaf, plus O(nodes in memory).
  func replace(_ group: [NodeEntry], by merged: NodeEntry) throws {
    let old = try group.flatMap(clusters.references)
    for (place, entry) in group.enumerated() {
      guard let path = try path(toKey: entry.firstKey), let last = path.last else {
        throw EngineError.invalidArgument("a leaf that is to be merged is not there")
      }
      for step in path.dropLast() {
        step.node.isChanged = true
        step.node.children[step.index].count &-= entry.count
        if place == 0 { step.node.children[step.index].count &+= merged.count }
      }
      last.node.isChanged = true
      if place == 0 {
        last.node.children[last.index].count = merged.count
        last.node.children[last.index].content = .stored(merged.reference)
      } else {
        last.node.children.remove(at: last.index)
      }
    }
    if let root { try removeEmpty(below: root) }
    try old.forEach(clusters.drop)
    changeCount += 1
    #if DEBUG
      requireInvariantsNowAndThen()
    #endif
  }

  /// Removes nodes without leaves, and updates the first keys of those that have lost their first leaf.
  private func removeEmpty(below node: EditNode) throws {
    var children: [Child] = []
    for var child in node.children {
      if case .node(let inner) = child.content {
        try removeEmpty(below: inner)
        guard let first = inner.children.first else {
          if let origin = inner.origin { try clusters.drop(origin.reference) }
          continue
        }
        child.firstKey = first.firstKey
      }
      children.append(child)
    }
    node.children = children
  }
}
