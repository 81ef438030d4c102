/// The table's leaves as they are in the transaction, for queries.
extension TableEditor: LeafSource {
  package var objectCount: Int { get throws { try count() } }

  package func forEachLeaf(_ body: (Leaf) throws -> Void) throws {
    var position: UInt64 = 0
    let changes = tree.changeCount
    while let place = try use({ try tree.place(ofPosition: position) }) {
      let leaf: Leaf
      switch place {
      case .stored(let entry, _): leaf = try use { try store.leaf(entry) }
      case .open(let open, _): leaf = try use { try copy(open, at: position) }
      }
      position += UInt64(leaf.rowCount)
      try body(leaf)
      try checkUnchanged(since: changes)
    }
  }

  package var changeCount: Int { tree.changeCount }

  package func leaf(holding key: Int64) throws -> Leaf? {
    try use {
      switch try tree.place(ofKey: key) {
      case nil: nil
      case .stored(let entry, _): try store.leaf(entry)
      // Its place among the others says nothing when it has no row left.
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

  /// An open leaf as it is now.
  private func copy(_ open: OpenLeaf, at position: UInt64) throws -> Leaf {
    if leafCopies.changes != tree.changeCount {
      leafCopies = LeafCopies(changes: tree.changeCount)
    }
    if let leaf = leafCopies.leaves[position] { return leaf }
    let leaf: Leaf
    switch open {
    case .rows(let cluster):
      let encoded = try cluster.rows.encode(with: store.builder)
      leaf = Leaf(
        try ClusterReader(leafCopies.keep(encoded.bytes)),
        firstKey: cluster.rows.keys.first ?? 0)
    case .overlay(let overlay):
      leaf = try overlay.leaf(leafCopies.keep(overlay.encode()))
    }
    leafCopies.leaves[position] = leaf
    return leaf
  }
}

/// Leaves of a transaction that are in memory only, written as they would be in the file.
///
/// Unsafe because leaves are read in place, wherever they are.
final class LeafCopies {
  /// The state of the table that they are of.
  let changes: Int
  /// By the number of objects before them.
  var leaves: [UInt64: Leaf] = [:]
  private var buffers: [UnsafeMutableRawBufferPointer] = []

  init(changes: Int) { self.changes = changes }

  deinit { for buffer in buffers { buffer.deallocate() } }

  /// A copy that lives as long as this.
  func keep(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    buffer.copyBytes(from: bytes)
    buffers.append(buffer)
    return UnsafeRawBufferPointer(buffer)
  }
}
