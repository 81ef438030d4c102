/// Reads neighbouring leaves and encodes their rows as one, column by column, so that memory holds
/// no more than one column's spellings and the result.
///
/// Thread rule: confined; one for each thread. Its memory is used again for every cluster.
final class ClusterMerger {
  /// What a cluster says, whatever its encodings: a digest of the keys, and one of each column.
  struct Digest: Sendable, Equatable {
    var keys: UInt64 = 0
    var columns: [UInt64] = []
  }

  struct Merged: Sendable {
    let cluster: EncodedCluster
    let digest: Digest
  }

  private let builder = ClusterBuilder(effort: .thorough)
  private let decoded = DecodedColumn()
  private var arena = OutputBuffer()
  private var spans = Scratch<TextSpan>()

  /// Encodes the rows of leaves that follow each other.
  ///
  /// - Parameters:
  ///   - entries: their places in the tree; at least one.
  ///   - end: where the version ends.
  /// - Throws: `BlockError`, `ClusterError`.
  func merge(
    _ entries: [NodeEntry], columnIDs: [UInt32], _ blocks: BlockReader, end: UInt64
  ) throws -> Merged {
    let leaves = try entries.map { try Leaf($0, blocks, end: end) }
    var digest = Digest(columns: [UInt64](repeating: 0, count: columnIDs.count))
    let offsets = try keyOffsets(leaves)
    digest.keys = Self.digest(offsets)
    let cluster = try builder.encode(
      rowCount: offsets.count, columnIDs: columnIDs, keyOffsets: offsets
    ) { index throws(ClusterError) in
      try gather(columnIDs[index], leaves, rowCount: offsets.count)
      let column = ColumnMatrix(arena: arena.bytes, spans: UnsafePointer(spans.pointer))
      digest.columns[index] = Self.digest(
        UnsafeRawPointer(arena.start), UnsafePointer(spans.pointer), count: offsets.count)
      return column
    }
    return Merged(cluster: cluster, digest: digest)
  }

  /// The digest of a leaf as it is stored.
  func digest(
    _ entry: NodeEntry, columnIDs: [UInt32], _ blocks: BlockReader, end: UInt64
  ) throws -> Digest {
    let leaf = try Leaf(entry, blocks, end: end)
    var digest = Digest()
    digest.keys = Self.digest(try keyOffsets([leaf]))
    for id in columnIDs {
      try leaf.column(id: id).decode(rows: 0..<leaf.rowCount, into: decoded)
      guard let spans = decoded.spans.baseAddress else {
        digest.columns.append(0)
        continue
      }
      digest.columns.append(Self.digest(decoded.base, spans, count: decoded.count))
    }
    return digest
  }

  // MARK: Gathering

  /// All keys, counted from the first one.
  private func keyOffsets(_ leaves: [Leaf]) throws(ClusterError) -> [Int64] {
    var offsets: [Int64] = []
    offsets.reserveCapacity(leaves.reduce(0) { $0 + $1.rowCount })
    for leaf in leaves {
      let keys = try leaf.keys()
      // Damaged keys may wrap around: the builder refuses those that do not ascend.
      for row in 0..<leaf.rowCount { offsets.append(keys.key(row) &- leaves[0].entry.firstKey) }
    }
    return offsets
  }

  /// Puts a column's spellings into arena and spans.
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
      // What many rows share is copied once: all that the spans reach.
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

  private static func digest(_ keys: [Int64]) -> UInt64 {
    keys.withUnsafeBytes { Checksum.of($0) }
  }

  /// Of every row's spelling in turn, and of its being null.
  private static func digest(
    _ base: UnsafeRawPointer, _ spans: UnsafePointer<TextSpan>, count: Int
  ) -> UInt64 {
    var digest: UInt64 = 0
    for row in 0..<count {
      let span = spans[row]
      if span.isNull {
        digest = mix(digest, .max)
        continue
      }
      let length = Int(span.length)
      let start = base + Int(span.offset)
      digest = mix(digest, UInt64(truncatingIfNeeded: length))
      if length > 64 {
        digest = mix(
          digest, Checksum.of(UnsafeRawBufferPointer(start: start, count: length)))
        continue
      }
      var offset = 0
      while offset &+ 8 <= length {
        digest = mix(digest, start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        offset &+= 8
      }
      digest = mix(digest, rest(start + offset, count: length &- offset))
    }
    return digest
  }

  /// 0 to 7 bytes as a word: two loads that overlap, or single bytes, so that all are in it.
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
