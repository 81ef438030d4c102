/// Leaves that are kept open from lookup to lookup, whatever version they were found in: a reference with
/// its checksum says that the bytes are the same.
///
/// Bounded: when there are too many, all are closed.
///
/// Thread rule: one thread at a time, while the file is open and a version is held that has the leaf
/// asked for. Kept in `BlockReader.known` between uses.
package final class LeafCache {
  /// Open addressing; the number of slots is a power of two and more than twice the readers.
  @exclusivity(unchecked) private var slots: ContiguousArray<LeafReader?>
  @exclusivity(unchecked) private var count = 0
  @exclusivity(unchecked) private var columnCount = 0

  /// Columns of all leaves together; each takes about 120 bytes when it is open.
  private static let maximumColumns = 1 << 14
  private static let fewestSlots = 64

  init() { slots = ContiguousArray(repeating: nil, count: Self.fewestSlots) }

  /// A leaf, opened when it is not open yet.
  ///
  /// - Throws: `BlockError`, `ClusterError`.
  func reader(
    _ entry: NodeEntry, columnIDs: [UInt32], _ blocks: BlockReader, end: UInt64
  ) throws -> LeafReader {
    var slot = Self.hash(entry.reference) & (slots.count - 1)
    while let reader = slots[slot] {
      if reader.leaf.entry == entry {
        if reader.columnIDs == columnIDs { return reader }
        // The table has got another column since.
        let reader = try LeafReader(reader.leaf, columnIDs: columnIDs)
        columnCount += columnIDs.count
        slots[slot] = reader
        return reader
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    let reader = try LeafReader(Leaf(entry, blocks, end: end), columnIDs: columnIDs)
    insert(reader)
    return reader
  }

  private func insert(_ reader: LeafReader) {
    columnCount += reader.columnIDs.count
    if columnCount > Self.maximumColumns {
      slots = ContiguousArray(repeating: nil, count: Self.fewestSlots)
      count = 0
      columnCount = reader.columnIDs.count
    }
    count += 1
    if count * 2 >= slots.count {
      let old = slots
      slots = ContiguousArray(repeating: nil, count: old.count * 2)
      for case let reader? in old { place(reader) }
    }
    place(reader)
  }

  private func place(_ reader: LeafReader) {
    var slot = Self.hash(reader.leaf.entry.reference) & (slots.count - 1)
    while slots[slot] != nil { slot = (slot + 1) & (slots.count - 1) }
    slots[slot] = reader
  }

  /// The upper bits are the ones that all others have mixed into.
  private static func hash(_ reference: BlockReference) -> Int {
    Int(truncatingIfNeeded: (reference.offset ^ reference.checksum) &* 0x9E37_79B9_7F4A_7C15 >> 32)
  }
}
