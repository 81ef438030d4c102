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
    let leaves = try entries.map { try Leaf($0, blocks, end: end) }
    let rowCount = leaves.reduce(0) { $0 + $1.rowCount }
    try gather(id, leaves, rowCount: rowCount)
    let start = UnsafePointer(spans.pointer)
    let column = try builder.encode(
      ColumnMatrix(arena: arena.bytes, spans: start), id: id, rowCount: rowCount)
    return (column, Self.digest(UnsafeRawPointer(arena.start), start, count: rowCount))
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
    return Self.digest(decoded.base, spans, count: decoded.count)
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
  private static func digest(
    _ base: UnsafeRawPointer, _ spans: UnsafePointer<TextSpan>, count: Int
  ) -> UInt64 {
    var digest: UInt64 = 0
    for row in 0..<count {
      let span = spans[row]
      let place = UInt64(truncatingIfNeeded: row)
      if span.isNull {
        digest &+= mix(place, .max)
        continue
      }
      let length = Int(span.length)
      let start = base + Int(span.offset)
      var own = UInt64(truncatingIfNeeded: length)
      if length > 64 {
        own = mix(own, Checksum.of(UnsafeRawBufferPointer(start: start, count: length)))
      } else {
        var offset = 0
        while offset &+ 8 <= length {
          own = mix(own, start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
          offset &+= 8
        }
        own = mix(own, rest(start + offset, count: length &- offset))
      }
      digest &+= mix(place, own)
    }
    return digest
  }

  /// 0 to 7 bytes as a word: two overlapping loads, or single bytes, that contain all of them.
  @inline(__always)
  private static func rest(_ start: UnsafeRawPointer, count: Int) -> UInt64 {
    if count >= 4 {
      let low = start.loadUnaligned(as: UInt32.self)
      let high = start.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self)
      return UInt64(low) | UInt64(high) &<< 32
    }
    if count == 0 { return 0 }
    let middle = start.load(fromByteOffset: count &>> 1, as: UInt8.self)
    let last = start.load(fromByteOffset: count &- 1, as: UInt8.self)
    return UInt64(start.load(as: UInt8.self)) | UInt64(middle) &<< 8 | UInt64(last) &<< 16
  }

  /// Folds a word in, so that any changed bit changes about half of the result.
  @inline(__always)
  private static func mix(_ digest: UInt64, _ word: UInt64) -> UInt64 {
    let product = (digest ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
      by: word ^ 0xD6E8_FEB8_6659_FD93)
    return product.high ^ product.low &+ word
  }
}
