import Base

/// The place of a block, and the checksum of its bytes.
///
/// The checksum is stored in the parent, so that the commit slot verifies the whole tree below it (a Merkle
/// tree). For a cluster it covers the cluster's header, which contains its columns' checksums.
package struct BlockReference: Sendable, Hashable {
  package var offset: UInt64
  package var length: UInt32
  package var checksum: UInt64
  /// True for a block of an overlay, which replaces a leaf or is below another overlay; its checksum covers
  /// all of it.
  package var isOverlay = false

  package init(offset: UInt64, length: UInt32, checksum: UInt64) {
    self.offset = offset
    self.length = length
    self.checksum = checksum
  }

  /// Bytes of an encoded reference: offset 8, length 4, form 4 (0, or 1 for an overlay),
  /// checksum 8.
  package static let encodedBytes = 24

  package func encode(into writer: inout ByteWriter) {
    writer.append(words.0)
    writer.append(words.1)
    writer.append(words.2)
  }

  /// The encoded bytes as little-endian words.
  @inline(__always)
  var words: (UInt64, UInt64, UInt64) {
    (offset, UInt64(length) | (isOverlay ? 1 << 32 : 0), checksum)
  }

  /// Reads a reference.
  ///
  /// - Parameter mayBeOverlay: whether it may refer to an overlay.
  package init(
    from reader: inout ByteReader, mayBeOverlay: Bool = false
  ) throws(DecodingFailure) {
    offset = try reader.read(UInt64.self, "block offset")
    length = try reader.read(UInt32.self, "block length")
    let at = reader.offset
    let form = try reader.read(UInt32.self, "reserved")
    guard form <= (mayBeOverlay ? 1 : 0) else {
      throw DecodingFailure(what: "reserved bytes of a reference are not zero", offset: at)
    }
    isOverlay = form == 1
    checksum = try reader.read(UInt64.self, "block checksum")
  }

  /// The block's pages; nil when it is not between the slots and `end`.
  package func pages(within end: UInt64) -> Range<Int>? {
    let (last, overflow) = offset.addingReportingOverflow(UInt64(length))
    guard !overflow, length > 0, offset >= UInt64(Layout.firstBlockOffset), last <= end,
      last <= UInt64(Int.max)
    else { return nil }
    // A forged end may be the largest number.
    return Int(offset) / Layout.pageBytes..<(Int(last) - 1) / Layout.pageBytes + 1
  }

  /// The block's bytes; nil when it is not between the slots and `end`.
  package func bytes(within end: UInt64) -> Range<Int>? {
    pages(within: end).map { _ in Int(offset)..<Int(offset) + Int(length) }
  }
}

/// The constants of the file format; all other sizes are derived from them.
package enum Layout {
  /// The size of a page, the unit of reuse.
  package static let pageBytes = 4096
  package static let slotCount = 2
  package static let firstBlockOffset = slotCount * pageBytes
  /// A slot's content is within one sector, which disks write whole or not at all.
  package static let sectorBytes = 512
  /// The maximum length of a block: a longer one read from a file is never trusted.
  package static let maximumBlockBytes = 1 << 30
  /// A tree deeper than this is damaged (capacity to the power of 16 exceeds any file).
  package static let maximumDepth = 16

  package static func pages(holding bytes: Int) -> Int {
    bytes / pageBytes + (bytes % pageBytes == 0 ? 0 : 1)
  }
}
