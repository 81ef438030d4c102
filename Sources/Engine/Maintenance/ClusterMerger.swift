import Base

/// Reads adjacent leaves and encodes their rows as one cluster, a column at a time, so that memory holds no
/// more than one column's spellings and the result.
///
/// Thread rule: confined; one for each thread. Its memory is reused for every column.
final class ClusterMerger {
  /// A digest of a cluster's keys or of one of its columns, independent of the encoding.
  typealias Digest = UInt64

  private let builder = ClusterBuilder(effort: .thorough)
  private let decoded = DecodedColumn()
  private var arena = OutputBuffer()
  private var spans = Scratch<TextSpan>()

  /// Encodes one column of adjacent leaves.
  ///
  /// - Parameters:
  ///   - entries: the leaves, at least one.
  ///   - end: the end of the version.
  /// - Throws: `BlockError`, `ClusterError`.
  func encode(
    column id: UInt32, of entries: [NodeEntry], _ blocks: BlockReader, end: UInt64
  ) throws -> (column: EncodedColumn, digest: Digest) {
    let (column, rowCount) = try encodeOnly(column: id, of: entries, blocks, end: end)
    return (column, Self.digest(arena.bytes, UnsafePointer(spans.pointer), count: rowCount))
  }

  /// Encodes one column of adjacent leaves, for its size.
  ///
  /// - Throws: `BlockError`, `ClusterError`.
  func encodeOnly(
    column id: UInt32, of entries: [NodeEntry], _ blocks: BlockReader, end: UInt64
  ) throws -> (column: EncodedColumn, rowCount: Int) {
    let leaves = try entries.map { try Leaf($0, blocks, end: end) }
    let rowCount = leaves.reduce(0) { $0 + $1.rowCount }
    try gather(id, leaves, rowCount: rowCount)
    let matrix = ColumnMatrix(arena: arena.bytes, spans: UnsafePointer(spans.pointer))
    return (try builder.encode(matrix, id: id, rowCount: rowCount), rowCount)
  }

  /// The digest of one column of a leaf as stored.
  func digest(
    column id: UInt32, of entry: NodeEntry, _ blocks: BlockReader, end: UInt64
  ) throws -> Digest {
    try digest(column: id, of: Leaf(entry, blocks, end: end))
  }

  /// The digest of one column of a leaf at any place.
  func digest(column id: UInt32, of leaf: Leaf) throws -> Digest {
    try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
    guard let spans = decoded.spans.baseAddress else { return 0 }
    return Self.digest(decoded.memory, spans, count: decoded.count)
  }

  // MARK: Keys

  /// All keys of adjacent leaves, relative to the first one.
  static func keyOffsets(
    of entries: [NodeEntry], _ blocks: BlockReader, end: UInt64
  ) throws -> [Int64] {
    var offsets: [Int64] = []
    for entry in entries {
      let leaf = try Leaf(entry, blocks, end: end)
      offsets += try keyOffsets(of: leaf, from: entries[0].firstKey)
    }
    return offsets
  }

  /// The keys of a leaf, relative to a given one.
  static func keyOffsets(of leaf: Leaf, from first: Int64) throws -> [Int64] {
    let keys = try leaf.keys()
    // Damaged keys may wrap around: the builder rejects those that do not ascend.
    return (0..<leaf.rowCount).map { keys.key($0) &- first }
  }

  static func digest(ofKeys offsets: [Int64]) -> Digest {
    offsets.withUnsafeBytes { Checksum.of($0) }
  }

  // MARK: Gathering

  /// Copies a column's spellings into arena and spans.
  private func gather(
    _ id: UInt32, _ leaves: [Leaf], rowCount: Int
  ) throws(ClusterError) {
    arena.removeAll()
    let target = spans.reserve(max(rowCount, 1))
    var row = 0
    for leaf in leaves {
      try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
      var low = Int.max
      var high = 0
      for span in decoded.spans where !span.isNull {
        low = min(low, Int(span.offset))
        high = max(high, Int(span.offset) &+ Int(span.length))
      }
      // Text shared by many rows is copied once: all bytes between the lowest and the highest span.
      let shift = arena.count &- low
      guard low > high || arena.count &+ high &- low <= ClusterFormat.maximumBytes else {
        throw .tooLarge(bytes: arena.count &+ high &- low)
      }
      if low < high { arena.append(decoded.base + low, count: high &- low) }
      for span in decoded.spans {
        target[row] =
          span.isNull
          ? .null
          : TextSpan(
            offset: UInt32(truncatingIfNeeded: Int(span.offset) &+ shift), length: span.length)
        row &+= 1
      }
    }
  }

  // MARK: Digests

  /// The digest of every row's index, and of its spelling or null. Each row is digested separately and the
  /// results are added, so that no row depends on the previous one.
  ///
  /// - Parameter memory: what the spans lie in.
  static func digest(
    _ memory: UnsafeRawBufferPointer, _ spans: UnsafePointer<TextSpan>, count: Int
  ) -> UInt64 {
    // Without memory all texts are empty, and nothing is read.
    let base = memory.baseAddress ?? UnsafeRawPointer(spans)
    var digest: UInt64 = 0
    // A word for each row, all different.
    var place: UInt64 = 0
    for row in 0..<count {
      let span = spans[row]
      place &+= 0xA076_1D64_78BD_642F
      if span.isNull {
        digest &+= mix(place, .max)
        continue
      }
      let (offset, length) = (Int(span.offset), Int(span.length))
      let view = SpellingView(
        base + offset, count: length, readable: memory.count &- offset)
      if length <= 16 {
        // Most texts are short, and nothing predicts their lengths. With its length above them, a text of up
        // to eight bytes, which are both ends, is no other one's.
        let ends = view.ends
        let size = UInt64(truncatingIfNeeded: length) &* 0xE703_7ED1_A0B4_28DB
        digest &+= mix(place ^ ends.first, ends.last ^ size)
        continue
      }
      var own = UInt64(truncatingIfNeeded: length)
      if length <= 64 {
        for place in stride(from: 0, to: length &- 8, by: 8) {
          own = mix(own, view.fullWord(at: place))
        }
        own = mix(own, view.fullWord(at: length &- 8))
      } else {
        own = mix(own, Checksum.of(view.bytes))
      }
      digest &+= mix(place, own)
    }
    return digest
  }

  /// Folds a word in, so that any changed bit changes about half of the result.
  @inline(__always)
  private static func mix(_ digest: UInt64, _ word: UInt64) -> UInt64 {
    let product = (digest ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
      by: word ^ 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low &+ word
  }
}
