import Base

/// Visits a whole tree inside a write transaction.
extension TreeEditor {
  /// Calls `visit` with every block of the file below a node, including the node's block.
  ///
  /// - Complexity: O(nodes); clusters are not read.
  func forEachBlock(below node: EditNode, _ visit: (BlockReference) throws -> Void) throws {
    if let origin = node.origin { try visit(origin.reference) }
    for child in node.children {
      switch child.content {
      case .open(.rows): continue
      case .open(.overlay(let overlay)): try overlay.references.forEach(visit)
      case .node(let inner): try forEachBlock(below: inner, visit)
      case .stored(let reference):
        let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
        if node.level == 1 {
          try clusters.references(of: entry).forEach(visit)
        } else {
          try reader.walk(below: entry, level: node.level - 1) { entry, _ in
            try visit(entry.reference)
          }
        }
      }
    }
  }

  /// The number of objects before the leaf to which a key belongs, and that leaf, if there is one.
  ///
  /// A node's first key may be too low, as its first objects may have been deleted. So when no leaf can hold
  /// a key, not all objects need have greater ones.
  func place(ofKeysFrom key: Int64) throws -> (position: UInt64, leaf: LeafPlace?) {
    var position: UInt64 = 0
    var current = root
    while let node = current {
      let index = partitionPoint(0..<node.children.count) { node.children[$0].firstKey > key } - 1
      if index < 0 { return (position, nil) }
      for before in node.children[..<index] { position += before.count }
      let child = node.children[index]
      switch child.content {
      case .open(let leaf): return (position, .open(leaf, position: position))
      case .node(let inner): current = inner
      case .stored(let reference):
        let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
        if node.level == 1 { return (position, .stored(entry, position: position)) }
        let inner = try load(entry, level: node.level - 1)
        node.children[index].content = .node(inner)
        current = inner
      }
    }
    return (position, nil)
  }

  /// The greatest key; nil when there is no object.
  ///
  /// - Complexity: O(log n); reads only the keys of the last leaf.
  func lastKey() throws -> Int64? {
    guard count > 0, let place = try place(ofPosition: count - 1) else { return nil }
    switch place {
    case .open(let leaf, _): return leaf.count == 0 ? nil : leaf.key(leaf.count - 1)
    case .stored(let entry, _): return try clusters.lastKey(of: entry)
    }
  }

  /// Replaces every leaf by those that `body` writes for it, with the same rows. When `body` throws, nothing
  /// has changed.
  ///
  /// - Precondition: no leaf is open (`closeAll`).
  /// - Complexity: O(nodes), plus the cost of `body`.
  func replaceLeaves(_ body: (NodeEntry) throws -> [NodeEntry]) throws {
    guard let root else { return }
    var changes: [(node: EditNode, children: [Child])] = []
    var replaced: [BlockReference] = []
    var written: [BlockReference] = []
    // A damaged tree, whose nodes may refer to the same blocks repeatedly, must not make it run forever.
    var budget = reader.end
    do {
      try forEachLeafNode(root, &budget) { node in
        var children: [Child] = []
        for child in node.children {
          guard case .stored(let reference) = child.content else {
            children.append(child)
            continue
          }
          let entry = NodeEntry(
            firstKey: child.firstKey, count: child.count, reference: reference)
          let leaves = try body(entry)
          written += leaves.map(\.reference)
          replaced += try clusters.references(of: entry)
          children += leaves.map {
            Child(firstKey: $0.firstKey, count: $0.count, content: .stored($0.reference))
          }
        }
        changes.append((node, children))
      }
    } catch {
      try written.forEach(clusters.drop)
      throw error
    }
    for (node, children) in changes { node.children = children }
    markChanged(root)
    try replaced.forEach(clusters.drop)
    changeCount += 1
  }

  /// Calls `body` with every node of level 1, after reading all nodes into memory.
  private func forEachLeafNode(
    _ node: EditNode, _ budget: inout UInt64, _ body: (EditNode) throws -> Void
  ) throws {
    if node.level == 1 { return try body(node) }
    for index in node.children.indices {
      let child = node.children[index]
      switch child.content {
      case .node(let inner): try forEachLeafNode(inner, &budget, body)
      case .open: continue
      case .stored(let reference):
        let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
        let (rest, overflow) = budget.subtractingReportingOverflow(UInt64(reference.length))
        guard !overflow else {
          throw BlockError(
            path: reader.blocks.storage.path, offset: reference.offset, length: reference.length,
            what: "the tree refers to more bytes than the file has")
        }
        budget = rest
        let inner = try load(entry, level: node.level - 1)
        node.children[index].content = .node(inner)
        try forEachLeafNode(inner, &budget, body)
      }
    }
  }

  private func markChanged(_ node: EditNode) {
    node.isChanged = true
    for case .node(let inner) in node.children.map(\.content) { markChanged(inner) }
  }
}
