/// Leaves that stay open between lookups, whichever version they were found in: the checksum in the reference
/// identifies the bytes.
///
/// Bounded: when it is full, all leaves are closed.
///
/// Thread rule: one thread at a time, while the file is open and a version with the wanted leaf is held.
/// `BlockReader.known` stores it between uses.
package final class LeafCache {
  /// Open addressing; the number of slots is a power of two and more than twice the readers.
  @exclusivity(unchecked) private var slots: ContiguousArray<LeafReader?>
  @exclusivity(unchecked) private(set) var count = 0
  /// The approximate memory of the readers, without the growth of those in use.
  @exclusivity(unchecked) private var byteCount = 0
  /// The reader returned last, whose growth is not counted yet.
  @exclusivity(unchecked) private var last: (reader: LeafReader, counted: Int)?

  /// The pools of values that leaves share.
  @exclusivity(unchecked) private var pools = ValuePools()

  private let maximumBytes: Int
  private static let fewestSlots = 64

  init(maximumBytes: Int = 64 << 20) {
    self.maximumBytes = maximumBytes
    slots = ContiguousArray(repeating: nil, count: Self.fewestSlots)
  }

  /// Returns a leaf's reader, opening the leaf if necessary.
  ///
  /// - Throws: `BlockError`, `ClusterError`.
  func reader(
    _ entry: NodeEntry, _ shape: RowShape, _ blocks: BlockReader, end: UInt64
  ) throws -> LeafReader {
    if let last {
      if last.reader.leaf.entry == entry, last.reader.fits(shape) { return last.reader }
      byteCount += last.reader.byteCount - last.counted
      last.reader.rest()
      if byteCount > maximumBytes { closeAll() }
    }
    let reader =
      try find(entry, shape)
      ?? insert(
        LeafReader(Leaf(entry, blocks, end: end), shape, pools: pools))
    last = (reader, reader.byteCount)
    return reader
  }

  private func find(_ entry: NodeEntry, _ shape: RowShape) throws -> LeafReader? {
    var slot = Self.hash(entry.reference) & (slots.count - 1)
    while let reader = slots[slot] {
      if reader.leaf.entry == entry {
        if reader.fits(shape) { return reader }
        // The columns of the table, or how one is read, have changed since.
        let changed = try LeafReader(reader.leaf, shape, pools: pools)
        byteCount += changed.byteCount - reader.byteCount
        slots[slot] = changed
        return changed
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  private func closeAll() {
    slots = ContiguousArray(repeating: nil, count: Self.fewestSlots)
    count = 0
    byteCount = 0
    pools = ValuePools()
  }

  private func insert(_ reader: LeafReader) -> LeafReader {
    byteCount += reader.byteCount
    count += 1
    if count * 2 >= slots.count {
      let old = slots
      slots = ContiguousArray(repeating: nil, count: old.count * 2)
      for case let reader? in old { place(reader) }
    }
    place(reader)
    return reader
  }

  private func place(_ reader: LeafReader) {
    var slot = Self.hash(reader.leaf.entry.reference) & (slots.count - 1)
    while slots[slot] != nil { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = reader
  }

  /// The upper bits are mixed from all others.
  private static func hash(_ reference: BlockReference) -> Int {
    Int(truncatingIfNeeded: (reference.offset ^ reference.checksum) &* 0x9E37_79B9_7F4A_7C15 >> 32)
  }
}
