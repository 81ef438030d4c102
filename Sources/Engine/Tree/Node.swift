import Base

/// One child of a node: the first key below it, how many objects lie below it, and its block.
package struct NodeEntry: Sendable, Hashable {
  package var firstKey: Int64
  package var count: UInt64
  package var reference: BlockReference

  package init(firstKey: Int64, count: UInt64, reference: BlockReference) {
    self.firstKey = firstKey
    self.count = count
    self.reference = reference
  }
}

/// An inner node of the B+ tree, read in place. Level 1 refers to clusters and overlays, higher
/// levels to nodes.
///
///     0  1  kind, 'N'
///     1  1  level (1 or more)
///     2  2  number of entries (1 or more)
///     4  4  zero
///     8     entries of 40 bytes, first keys ascending:
///           first key 8 · object count 8 · reference 24
package struct Node {
  package static let kind: UInt8 = 0x4E
  package static let headerBytes = 8
  package static let entryBytes = 16 + BlockReference.encodedBytes
  /// The maximum number of entries in a node, which makes 5 KiB.
  package static let standardCapacity = 128

  private let bytes: UnsafeRawBufferPointer
  package let level: Int
  package let entryCount: Int

  /// Reads a verified block.
  ///
  /// - Parameters:
  ///   - repeats: whether first keys may be equal, like the codes of an index.
  ///   - path: the file's path, for errors.
  ///   - isKnown: true when the same bytes were checked for the same entry before; the node's entries are
  ///     then not checked again.
  /// - Throws: `BlockError` when the bytes are not a node of that level, are out of order, or do not add up
  ///   to the parent's entry.
  package init(
    _ bytes: UnsafeRawBufferPointer, of entry: NodeEntry, level: Int, repeats: Bool = false,
    path: @autoclosure () -> String, isKnown: Bool = false
  ) throws(BlockError) {
    func damaged(_ what: String) -> BlockError {
      BlockError(
        path: path(), offset: entry.reference.offset, length: entry.reference.length, what: what)
    }
    guard bytes.count >= Self.headerBytes, bytes[0] == Self.kind else {
      throw damaged("it is not a tree node")
    }
    self.bytes = bytes
    self.level = Int(bytes[1])
    entryCount = Int(UInt16(littleEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
    guard self.level == level, level >= 1, level <= Layout.maximumDepth else {
      throw damaged("the node's level is \(self.level) where \(level) is due")
    }
    guard entryCount > 0, bytes.count == Self.headerBytes + entryCount * Self.entryBytes else {
      throw damaged("the node's length does not fit its \(entryCount) entries")
    }
    if isKnown { return }
    var total: UInt64 = 0
    var last: Int64?
    for index in 0..<entryCount {
      let key = firstKey(index)
      if let last, repeats ? key < last : key <= last {
        throw damaged("the node's keys are out of order")
      }
      last = key
      let (sum, overflow) = total.addingReportingOverflow(count(index))
      if overflow || count(index) == 0 { throw damaged("the node's counts are impossible") }
      if form(index) > (level == 1 ? 1 : 0) { throw damaged("a reference's form is not known") }
      total = sum
    }
    guard total == entry.count, firstKey(0) == entry.firstKey else {
      throw damaged("the node does not match its parent's entry")
    }
  }

  private func word(_ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  private func offset(_ index: Int) -> Int { Self.headerBytes + index * Self.entryBytes }

  package func firstKey(_ index: Int) -> Int64 { Int64(bitPattern: word(offset(index))) }

  package func count(_ index: Int) -> UInt64 { word(offset(index) + 8) }

  /// The stored form of the reference: 1 for an overlay.
  private func form(_ index: Int) -> UInt64 { word(offset(index) + 24) >> 32 }

  package func entry(_ index: Int) -> NodeEntry {
    let at = offset(index)
    var reference = BlockReference(
      offset: word(at + 16), length: UInt32(truncatingIfNeeded: word(at + 24)),
      checksum: word(at + 32))
    reference.isOverlay = form(index) == 1
    return NodeEntry(firstKey: firstKey(index), count: count(index), reference: reference)
  }

  /// The child whose keys may include `key`; nil when `key` is before all of them.
  package func index(ofKey key: Int64) -> Int? {
    let behind = partitionPoint(0..<entryCount) { firstKey($0) > key }
    return behind == 0 ? nil : behind - 1
  }

  /// Where first keys repeat, the first child that may hold `key`: the last one with a lower first key.
  package func index(ofFirst key: Int64) -> Int {
    max(partitionPoint(0..<entryCount) { firstKey($0) >= key } - 1, 0)
  }

  /// The bytes of a node with these entries.
  package static func encode(level: Int, _ entries: ArraySlice<NodeEntry>) -> [UInt8] {
    let length = headerBytes + entries.count * entryBytes
    // Word by word into their places: every commit of an import writes its last nodes again.
    return [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
      let target = UnsafeMutableRawBufferPointer(bytes)
      func put(_ word: UInt64) {
        target.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
        count += 8
      }
      put(
        UInt64(kind) | UInt64(UInt8(truncatingIfNeeded: level)) << 8
          | UInt64(UInt16(truncatingIfNeeded: entries.count)) << 16)
      for entry in entries {
        let (place, extent, checksum) = entry.reference.words
        put(UInt64(bitPattern: entry.firstKey))
        put(entry.count)
        put(place)
        put(extent)
        put(checksum)
      }
    }
  }
}

/// The root of a tree: a node of `level`, or at level 0 a leaf or nothing.
package struct TreeRoot: Sendable, Equatable {
  package var level: Int
  package var entry: NodeEntry

  package init(level: Int, entry: NodeEntry) {
    self.level = level
    self.entry = entry
  }

  package static let empty = TreeRoot(
    level: 0,
    entry: NodeEntry(
      firstKey: 0, count: 0, reference: BlockReference(offset: 0, length: 0, checksum: 0)))

  package var count: UInt64 { level == 0 ? 0 : entry.count }
}
