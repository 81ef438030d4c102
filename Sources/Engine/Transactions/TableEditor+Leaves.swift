/// The table's leaves as they are in the transaction, for queries.
extension TableEditor: LeafSource {
  package var objectCount: Int { get throws { try count() } }

  package func walkLeaves(_ body: (Leaf) throws -> Bool) throws {
    var position: UInt64 = 0
    let changes = changeCount
    while let place = try use({ try tree.place(ofPosition: position) }) {
      let leaf: Leaf
      switch place {
      case .stored(let entry, _): leaf = try use { try store.leaf(entry) }
      case .open(let open, _): leaf = try use { try copy(open, at: position) }
      }
      position += UInt64(leaf.rowCount)
      // Keeps the leaf alive, whatever `body` does, including queries of its own.
      let goesOn = try withExtendedLifetime(leaf) { try translatingErrors(path) { try body(leaf) } }
      if !goesOn { return }
      try checkUnchanged(since: changes)
    }
  }

  package var changeCount: Int { tree.changeCount &+ schemaChangeCount }

  package func checkUnchanged(since changes: Int) throws {
    // The transaction may have ended; then other writers may overwrite the table's pages.
    try use {}
    guard changeCount == changes else {
      throw EngineError.invalidArgument(
        "table '\(name)' was changed while it was being read; collect the objects' keys first, "
          + "and change them then")
    }
  }

  package func leaf(holding key: Int64) throws -> Leaf? {
    try use {
      switch try tree.place(ofKey: key) {
      case nil: nil
      case .stored(let entry, _): try store.leaf(entry)
      // Without rows it has no position among the other leaves.
      case .open(let open, let position): open.count == 0 ? nil : try copy(open, at: position)
      }
    }
  }

  package func leafCount() throws -> Int {
    try use {
      var (count, position) = (0, 0 as UInt64)
      while let place = try tree.place(ofPosition: position) {
        count += 1
        switch place {
        case .stored(let entry, _): position += entry.count
        case .open(let leaf, _): position += UInt64(leaf.count)
        }
      }
      return count
    }
  }

  /// A copy of an open leaf in its current state.
  private func copy(_ open: OpenLeaf, at position: UInt64) throws -> Leaf {
    if leafCopies.changes != tree.changeCount {
      leafCopies = LeafCopies(changes: tree.changeCount)
    }
    if let leaf = leafCopies.leaves[position] { return leaf }
    let leaf: Leaf
    switch open {
    case .rows(let cluster):
      let memory = LeafMemory(try cluster.rows.encode(with: store.builder).bytes)
      leaf = Leaf(
        try ClusterReader(memory.bytes), firstKey: cluster.rows.keys.first ?? 0, memory: memory)
    case .overlay(let overlay):
      var builder = try OverlayBuilder(overlay)
      let memory = try builder.encode(merging: 0).map(LeafMemory.init)
      leaf = try overlay.leaf(memory?.bytes, memory: memory)
    }
    leafCopies.leaves[position] = leaf
    return leaf
  }
}

/// The leaves of a transaction that exist only in memory, encoded as they would be in the file.
struct LeafCopies {
  /// The table's change count when they were encoded.
  let changes: Int
  /// By the number of objects before them.
  var leaves: [UInt64: Leaf] = [:]

  init(changes: Int) { self.changes = changes }
}
