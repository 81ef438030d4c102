import Base

/// Changes a B+ tree inside a write transaction, copy on write. Nodes on the way to a change are read into
/// memory, and `seal` rewrites them. Leaves that change are open, as rows or as overlays; everything else
/// stays in the file.
///
/// Nodes in memory may have more children than a block can hold; `seal` splits them.
///
/// Thread rule: only the transaction's thread.
package final class TreeEditor {
  /// A node in memory.
  final class EditNode {
    // Unchecked: no function called during a change accesses these again, and every insertion changes them.
    let level: Int
    @exclusivity(unchecked) var children: [Child]
    /// The block from which it was read; nil for a new node.
    let origin: NodeEntry?
    @exclusivity(unchecked) var isChanged: Bool

    init(level: Int, children: [Child], origin: NodeEntry?) {
      self.level = level
      self.children = children
      self.origin = origin
      isChanged = origin == nil
    }

    /// The last child, if it is a node in memory. No reference is counted: valid while this node has it.
    var lastChild: Unmanaged<EditNode>? {
      guard level > 1, case .node(let child)? = children.last?.content else { return nil }
      return Unmanaged.passUnretained(child)
    }
  }

  /// A child, with the first key and the number of objects below it.
  struct Child {
    enum Content {
      case stored(BlockReference)
      case node(EditNode)
      case open(OpenLeaf)
    }
    var firstKey: Int64
    var count: UInt64
    var content: Content
  }

  let reader: TreeReader
  let clusters: ClusterStore
  let limits: Limits
  // Unchecked, as in a node.
  @exclusivity(unchecked) var root: EditNode?
  var openCount = 0
  private var overlayMemory = 0
  /// The bytes of open rows, or more: what was opened and added since all were written.
  package internal(set) var openRowBytes = 0
  @exclusivity(unchecked) package internal(set) var count: UInt64
  /// Increases with every change of the table's objects.
  @exclusivity(unchecked) package internal(set) var changeCount = 0
  package var isChanged: Bool { changeCount > 0 }

  /// - Parameters:
  ///   - reader: the tree of the transaction's base.
  ///   - clusters: reads and writes the transaction's clusters.
  package init(reader: TreeReader, clusters: ClusterStore, limits: Limits) throws {
    self.reader = reader
    self.clusters = clusters
    self.limits = limits
    count = reader.root.count
    if reader.root.level > 0 {
      root = try load(reader.root.entry, level: reader.root.level)
    }
  }

  func load(_ entry: NodeEntry, level: Int) throws -> EditNode {
    let children = try reader.entries(entry, level: level).map { child in
      Child(firstKey: child.firstKey, count: child.count, content: .stored(child.reference))
    }
    return EditNode(level: level, children: children, origin: entry)
  }

  // MARK: Finding

  /// The path from the root to a leaf: nodes, each with the index of the child.
  typealias Path = [(node: EditNode, index: Int)]

  private func path(choosing choose: (EditNode) -> Int?) throws -> Path? {
    var path: Path = []
    var current = root
    while let node = current, let index = choose(node) {
      path.append((node, index))
      if node.level == 1 { return path }
      switch node.children[index].content {
      case .node(let child): current = child
      case .stored(let reference):
        let child = node.children[index]
        let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
        let loaded = try load(entry, level: node.level - 1)
        node.children[index].content = .node(loaded)
        current = loaded
      case .open: return nil
      }
    }
    return nil
  }

  func path(toKey key: Int64) throws -> Path? {
    try path { node in
      let behind = partitionPoint(node.children.indices) { node.children[$0].firstKey > key }
      return behind == 0 ? nil : behind - 1
    }
  }

  /// A leaf in its state in the transaction, and the number of objects before it.
  package enum LeafPlace {
    case stored(NodeEntry, position: UInt64)
    case open(OpenLeaf, position: UInt64)
  }

  /// The leaf that may hold a key; nil when there is none.
  package func place(ofKey key: Int64) throws -> LeafPlace? {
    try path(toKey: key).flatMap(Self.place)
  }

  /// The leaf that holds the object at a position; nil beyond the last.
  package func place(ofPosition wanted: UInt64) throws -> LeafPlace? {
    guard wanted < count else { return nil }
    var position: UInt64 = 0
    let path = try path { node in
      var index = 0
      while index < node.children.count - 1, position + node.children[index].count <= wanted {
        position += node.children[index].count
        index += 1
      }
      return index
    }
    return path.flatMap(Self.place)
  }

  private static func place(_ path: Path) -> LeafPlace? {
    guard let last = path.last else { return nil }
    var position: UInt64 = 0
    for step in path {
      for before in 0..<step.index { position += step.node.children[before].count }
    }
    let child = last.node.children[last.index]
    switch child.content {
    case .open(let cluster): return .open(cluster, position: position)
    case .stored(let reference):
      let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
      return .stored(entry, position: position)
    case .node: return nil
    }
  }

  // MARK: Changing

  /// Replaces all fields of an object; returns false when no object has that key.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - row: a span for each column.
  package func replace(
    _ key: Int64, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>
  ) throws -> Bool {
    try withOpenLeaf(holding: key) { try $0.replace(key, base: base, row: row) }
  }

  /// Changes some fields of an object; returns false when no object has that key.
  package func update(_ key: Int64, _ changes: [(column: Int, value: Value)]) throws -> Bool {
    try withOpenLeaf(holding: key) { try $0.update(key, changes) }
  }

  /// Removes an object; returns false when no object has that key.
  package func delete(_ key: Int64) throws -> Bool {
    try withOpenLeaf(holding: key) { $0.delete(key) }
  }

  /// Runs `body` on the leaf that holds a key, and updates the counts; returns false when there is none.
  private func withOpenLeaf(
    holding key: Int64, _ body: (OpenLeaf) throws -> Bool
  ) throws -> Bool {
    guard let path = try path(toKey: key), let last = path.last else { return false }
    let child = last.node.children[last.index]
    switch child.content {
    case .node: return false
    case .open(let leaf):
      // A missing key makes no change.
      return try leaf.row(ofKey: key) != nil && change(path, leaf, body)
    case .stored(let reference):
      let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
      guard let leaf = try clusters.open(entry, holding: key, limits: limits) else { return false }
      last.node.children[last.index].content = .open(leaf)
      switch leaf {
      case .rows(let cluster):
        openCount += 1
        openRowBytes += cluster.bytes
      case .overlay(let overlay): overlayMemory += overlay.memory
      }
      return try change(path, leaf, body)
    }
  }

  /// Returns whether a cluster has less than a number of bytes, measured as in the file.
  func fits(_ child: Child, _ bytes: Int) throws -> Bool {
    switch child.content {
    case .open(.rows(let cluster)): return fits(cluster, bytes)
    case .open(.overlay(let overlay)): return Int(overlay.base.reference.length) < bytes
    case .stored(let reference):
      let entry = NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference)
      return try clusters.byteCount(ofLeaf: entry) < bytes
    case .node: return false
    }
  }

  /// A decoded cluster is a few times as large as in the file.
  func fits(_ cluster: OpenCluster, _ bytes: Int) -> Bool { cluster.bytes < bytes * 4 }

  private func change<Result>(
    _ path: Path, _ leaf: OpenLeaf, _ body: (OpenLeaf) throws -> Result
  ) throws -> Result {
    let before = UInt64(leaf.count)
    let memory = leaf.memory
    defer {
      let after = UInt64(leaf.count)
      for step in path {
        step.node.children[step.index].count += after
        step.node.children[step.index].count -= before
        step.node.isChanged = true
      }
      count = count + after - before
      changeCount += 1
      switch leaf {
      case .rows: openRowBytes += leaf.memory - memory
      case .overlay: overlayMemory += leaf.memory - memory
      }
      #if DEBUG
        requireInvariantsNowAndThen()
      #endif
    }
    return try body(leaf)
  }

  func openRows(at node: EditNode, _ index: Int) throws -> OpenCluster {
    let child = node.children[index]
    let cluster: OpenCluster
    switch child.content {
    case .open(.rows(let cluster)): return cluster
    case .open(.overlay(let overlay)): cluster = try clusters.openRows(overlay)
    case .node: throw EngineError.invalidArgument("level 1 refers to clusters")
    case .stored(let reference):
      cluster = try clusters.openRows(
        NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference))
    }
    node.children[index].content = .open(.rows(cluster))
    openCount += 1
    openRowBytes += cluster.bytes
    return cluster
  }

  /// Writes open leaves when there are many, to limit the memory of a large transaction. Call it between
  /// changes.
  package func limitMemory() throws {
    guard openCount > limits.openClusters || overlayMemory > limits.openOverlayBytes || holdsMuch,
      let root
    else { return }
    try closeClusters(below: root)
    openRowBytes = 0
  }

  /// True when open rows have so many bytes that `limitMemory` writes them, however few there are.
  var holdsMuch: Bool { openRowBytes > limits.openRowBytes }

  /// Writes all open leaves.
  package func closeAll() throws {
    if let root { try closeClusters(below: root) }
    #if DEBUG
      Invariants.require(checkInvariants)
    #endif
  }

  private func closeClusters(below node: EditNode) throws {
    let old = node.children
    var children: [Child] = []
    children.reserveCapacity(old.count)
    var done = 0
    // Needed also when one of them fails: those before it are written and closed.
    defer { node.children = children + old[done...] }
    for child in old {
      switch child.content {
      case .stored: children.append(child)
      case .node(let inner):
        try closeClusters(below: inner)
        if !inner.children.isEmpty {
          children.append(child)
        } else if let origin = inner.origin {
          // Every path to an empty node would end without a leaf.
          try clusters.drop(origin.reference)
        }
      case .open(let leaf):
        for entry in try close(leaf) {
          children.append(
            Child(
              firstKey: entry.firstKey, count: entry.count, content: .stored(entry.reference)))
        }
      }
      done += 1
    }
  }

  private func close(_ leaf: OpenLeaf) throws -> [NodeEntry] {
    let entries = try clusters.close(leaf, limits: limits)
    switch leaf {
    case .rows: openCount -= 1
    // The overlay's share is unknown here; but all overlays are closed together, so 0 is right.
    case .overlay: overlayMemory = 0
    }
    return entries
  }

  /// Removes all objects.
  ///
  /// - Complexity: O(nodes); clusters are dropped without being read.
  package func removeAll() throws {
    var dropped: [BlockReference] = []
    if let root { try forEachBlock(below: root) { dropped.append($0) } }
    // Dropped only after all were read: blocks below an unreadable node must not count as free.
    try dropped.forEach(clusters.drop)
    root = nil
    openCount = 0
    overlayMemory = 0
    count = 0
    changeCount += 1
  }

  // MARK: Writing

  /// Writes the changes, bottom up, and returns the new root.
  package func seal() throws -> TreeRoot {
    guard isChanged else { return reader.root }
    guard let root else { return .empty }
    if let origin = root.origin { try clusters.drop(origin.reference) }
    var level = root.level
    var entries = try sealedChildren(of: root, isLast: true)
    while true {
      if entries.isEmpty { return .empty }
      // A node with one child is unnecessary: the child becomes the root.
      if entries.count == 1, level > 1 { return TreeRoot(level: level - 1, entry: entries[0]) }
      let nodes = try write(entries, level: level, isLast: true)
      if nodes.count == 1 { return TreeRoot(level: level, entry: nodes[0]) }
      entries = nodes
      level += 1
    }
  }

  /// A node's children as entries, after the changed ones were written.
  private func sealedChildren(of node: EditNode, isLast: Bool) throws -> [NodeEntry] {
    var entries: [NodeEntry] = []
    entries.reserveCapacity(node.children.count)
    // Children of adjacent changed nodes, written together so that small nodes merge.
    var merging: [NodeEntry] = []
    func writeMerging(isLast: Bool) throws {
      if merging.isEmpty { return }
      entries += try write(merging, level: node.level - 1, isLast: isLast)
      merging = []
    }
    for (index, child) in node.children.enumerated() {
      let isLastChild = isLast && index == node.children.count - 1
      switch child.content {
      case .open(let leaf): entries += try close(leaf)
      case .node(let inner) where inner.isChanged:
        if let origin = inner.origin { try clusters.drop(origin.reference) }
        merging += try sealedChildren(of: inner, isLast: isLastChild)
      case .node(let inner):
        if let origin = inner.origin { try keep(origin) }
      case .stored(let reference):
        try keep(
          NodeEntry(firstKey: child.firstKey, count: child.count, reference: reference))
      }
    }
    /// Handles an unchanged child: merges it into its small left neighbour, or keeps it.
    func keep(_ entry: NodeEntry) throws {
      if !merging.isEmpty, merging.count < limits.nodeCapacity / 4 {
        let neighbour = try reader.entries(entry, level: node.level - 1)
        if neighbour.count + merging.count <= limits.nodeCapacity {
          try clusters.drop(entry.reference)
          merging += neighbour
          return
        }
      }
      try writeMerging(isLast: false)
      entries.append(entry)
    }
    // What the last node hands on goes into the node before it, unless that is full.
    if isLast, node.level == 2, settled(merging) > 0, let before = entries.last {
      let neighbour = try reader.entries(before, level: 1)
      if neighbour.count < limits.nodeCapacity {
        try clusters.drop(before.reference)
        entries.removeLast()
        merging = neighbour + merging
      }
    }
    try writeMerging(isLast: isLast)
    return entries
  }

  /// The number of leaves that the last node of level 1 hands on to the node before it, as every commit that
  /// appends writes the last node again. Leaves stay that further appends change, or `joinTail` joins.
  private func settled(_ leaves: [NodeEntry]) -> Int {
    let passing = UInt64(limits.clusterRows / 4)
    let least = max(leaves.count - limits.newLeaves, 0)
    var count = leaves.count - 1
    while count > least, leaves[count - 1].count <= passing { count -= 1 }
    return count >= limits.edgeLeaves ? count : 0
  }

  /// Writes nodes for the entries: full ones at the right edge, where appends continue, otherwise even ones.
  private func write(_ children: [NodeEntry], level: Int, isLast: Bool) throws -> [NodeEntry] {
    let capacity = limits.nodeCapacity
    var entries = children
    if level == 1 { try joinSmall(&entries, isLast: isLast) }
    // The last leaf will probably be replaced next anyway.
    try clusters.gather(&entries, upTo: entries.count - (isLast && level == 1 ? 1 : 0))
    let pieces = (entries.count + capacity - 1) / capacity
    let size = isLast ? capacity : (entries.count + pieces - 1) / max(pieces, 1)
    let edge = isLast && level == 1 ? settled(entries) : 0
    return try [0..<edge, edge..<entries.count].flatMap { part in
      try stride(from: part.lowerBound, to: part.upperBound, by: max(size, 1)).map { start in
        let slice = entries[start..<min(start + size, part.upperBound)]
        let reference = try clusters.write(node: Node.encode(level: level, slice))
        return NodeEntry(
          firstKey: entries[start].firstKey, count: slice.reduce(0) { $0 + $1.count },
          reference: reference)
      }
    }
  }
}
