import Base

/// A cluster ready to be written: its bytes, the header's checksum for its reference, and the facts found
/// while encoding it. A plain value, which a parser's thread hands to the writer's.
package struct EncodedCluster: Sendable {
  package struct ColumnFacts: Sendable {
    package let id: UInt32
    package let encoding: ColumnEncoding
    /// The segment's size in bytes.
    package let byteCount: Int
    package let statistics: ColumnStatistics
    package let spellings: SpellingFacts
  }

  /// See `ClusterFormat`.
  package let bytes: [UInt8]
  package let headerLength: Int
  /// XXH64 of the first `headerLength` bytes; through them it covers the rest too, see `ClusterFormat`.
  package let headerChecksum: UInt64
  package let rowCount: Int
  /// In the order in which the columns were given.
  package let columns: [ColumnFacts]
}

/// One column encoded separately; `ClusterBuilder.assemble` joins it with others.
///
/// A plain value, so that the columns of a cluster can be encoded by several threads.
package struct EncodedColumn: Sendable {
  let id: UInt32
  let segment: ColumnEncoder.Segment
  let bytes: [UInt8]
}

extension ClusterReader {
  /// A stored column, verified, for use in another cluster of the same rows; nil when the cluster has no
  /// column with that identifier. Its spellings are not examined.
  ///
  /// - Throws: `ClusterError.damagedColumn`.
  package func encodedColumn(id: UInt32) throws(ClusterError) -> EncodedColumn? {
    guard let column = try column(id: id) else { return nil }
    let segment = ColumnEncoder.Segment(
      encoding: column.encoding, flags: column.flags, statistics: column.statistics,
      spellings: SpellingFacts(nullCount: column.nullCount))
    return EncodedColumn(id: id, segment: segment, bytes: Array(try segmentBytes(column)))
  }
}

/// Encodes rows into clusters, straight from the span matrix of a parser.
///
/// Thread rule: confined; each thread has its own. Its memory is reused for every cluster.
package final class ClusterBuilder {
  private var encoder: ColumnEncoder
  private var output = OutputBuffer(capacity: 1 << 16)

  package init(effort: EncodingEffort = .fast) { encoder = ColumnEncoder(effort: effort) }

  /// Encodes rows whose fields are given as spans of an arena.
  ///
  /// - Parameters:
  ///   - arena: the bytes that the spans point into. Only read during the call.
  ///   - spans: `rowCount` * `columnCount` spans, row by row.
  ///   - columnIDs: the identifier of each column, all different. Any order; the file keeps them
  ///     ascending.
  ///   - keyOffsets: the key of each row minus the cluster's first key: from 0, ascending. Nil when keys have
  ///     no gaps.
  /// - Throws: `ClusterError` when a span lies outside the arena, or identifiers or keys are not as required,
  ///   or the result would be too large.
  /// - Complexity: O(bytes); hashes each spelling once and parses those that look like numbers.
  package func encode(
    arena: UnsafeRawBufferPointer, spans: UnsafePointer<TextSpan>, rowCount: Int,
    columnCount: Int, columnIDs: [UInt32], keyOffsets: [Int64]? = nil
  ) throws(ClusterError) -> EncodedCluster {
    try encode(rowCount: rowCount, columnIDs: columnIDs, columnCount, keyOffsets: keyOffsets) {
      ColumnMatrix(arena: arena, spans: spans, column: $0, stride: columnCount)
    }
  }

  /// Examines the spellings of each column as `encode` does, without making a cluster.
  ///
  /// - Throws: `ClusterError` when a span lies outside the arena.
  /// - Complexity: O(bytes), about half of encoding.
  package func examine(
    arena: UnsafeRawBufferPointer, spans: UnsafePointer<TextSpan>, rowCount: Int, columnCount: Int
  ) throws(ClusterError) -> [SpellingFacts] {
    guard rowCount >= 0, rowCount <= ClusterFormat.maximumRows else {
      throw .tooManyRows(rowCount)
    }
    var facts: [SpellingFacts] = []
    facts.reserveCapacity(columnCount)
    for index in 0..<columnCount {
      let column = ColumnMatrix(arena: arena, spans: spans, column: index, stride: columnCount)
      do throws(SpanOutside) {
        facts.append(try encoder.examine(column, rowCount: rowCount))
      } catch {
        throw .spanOutside(column: error.column, row: error.row)
      }
    }
    return facts
  }

  private func encode(
    rowCount: Int, columnIDs: [UInt32], _ columnCount: Int, keyOffsets: [Int64]?,
    _ column: (Int) throws(ClusterError) -> ColumnMatrix
  ) throws(ClusterError) -> EncodedCluster {
    let order = try begin(rowCount: rowCount, columnIDs: columnIDs, columnCount, keyOffsets)
    var columns: [EncodedCluster.ColumnFacts] = []
    columns.reserveCapacity(columnCount)
    for (position, index) in order.enumerated() {
      let start = output.count
      let segment = try encode(try column(index), rowCount)
      columns.append(try finish(columnIDs[index], segment, at: position, from: start))
    }
    return try end(rowCount: rowCount, Self.inGivenOrder(columns, order))
  }

  // MARK: Column by column

  /// Encodes one column separately, so that memory holds only its spellings and the result.
  ///
  /// - Throws: `ClusterError` when a span lies outside the arena, or the result would be too large.
  package func encode(
    _ column: ColumnMatrix, id: UInt32, rowCount: Int
  ) throws(ClusterError) -> EncodedColumn {
    guard rowCount >= 0, rowCount <= ClusterFormat.maximumRows else {
      throw .tooManyRows(rowCount)
    }
    output.removeAll()
    let segment = try encode(column, rowCount)
    try checkSize()
    return EncodedColumn(id: id, segment: segment, bytes: Array(output.bytes))
  }

  /// Encodes a column that has the same spelling in every row.
  ///
  /// - Throws: as the other `encode`.
  package func encode(
    repeating spelling: [UInt8], id: UInt32, rowCount: Int
  ) throws(ClusterError) -> EncodedColumn {
    let span = TextSpan(offset: 0, length: UInt32(clamping: spelling.count))
    let spans = [TextSpan](repeating: span, count: max(rowCount, 1))
    // One extra byte, so that there is a pointer even for the empty spelling.
    let arena = spelling + [0]
    let result = arena.withUnsafeBytes { arena in
      spans.withUnsafeBufferPointer { spans in
        Result { () throws(ClusterError) -> EncodedColumn in
          guard let first = spans.baseAddress else { throw .invalidKeys }
          return try encode(
            ColumnMatrix(arena: arena, spans: first), id: id, rowCount: rowCount)
        }
      }
    }
    return try result.get()
  }

  /// Joins separately encoded columns of the same rows. The result equals that of encoding the rows at once.
  ///
  /// - Parameter keyOffsets: as for `encode`.
  /// - Throws: `ClusterError` when identifiers or keys are not as required there, or the result would be too
  ///   large.
  package func assemble(
    _ columns: [EncodedColumn], rowCount: Int, keyOffsets: [Int64]?
  ) throws(ClusterError) -> EncodedCluster {
    let ids = columns.map(\.id)
    let order = try begin(rowCount: rowCount, columnIDs: ids, ids.count, keyOffsets)
    var entries: [EncodedCluster.ColumnFacts] = []
    for (position, index) in order.enumerated() {
      let start = output.count
      let column = columns[index]
      column.bytes.withUnsafeBytes { bytes in
        if let base = bytes.baseAddress { output.append(base, count: bytes.count) }
      }
      entries.append(try finish(column.id, column.segment, at: position, from: start))
    }
    return try end(rowCount: rowCount, Self.inGivenOrder(entries, order))
  }

  // MARK: Parts

  /// Appends the segment of a column to the output.
  private func encode(_ column: ColumnMatrix, _ rowCount: Int) throws(ClusterError)
    -> ColumnEncoder.Segment
  {
    do throws(SpanOutside) {
      return try encoder.encode(column, rowCount: rowCount, into: &output)
    } catch {
      throw .spanOutside(column: error.column, row: error.row)
    }
  }

  /// Begins the output with header, directory and keys; returns the order of the columns in the file.
  private func begin(
    rowCount: Int, columnIDs: [UInt32], _ columnCount: Int, _ keyOffsets: [Int64]?
  ) throws(ClusterError) -> [Int] {
    guard rowCount >= 0, rowCount <= ClusterFormat.maximumRows else {
      throw .tooManyRows(rowCount)
    }
    let order = try Self.order(columnIDs, count: columnCount)
    let headerLength = ClusterFormat.headerLength(columns: columnCount)
    output.removeAll()
    output.appendZeros(headerLength)
    output.replace(UInt32(truncatingIfNeeded: headerLength), at: 0)
    output.replace(UInt32(truncatingIfNeeded: rowCount), at: 4)
    output.replace(UInt32(truncatingIfNeeded: columnCount), at: 8)
    if let keyOffsets { try appendKeys(keyOffsets, rowCount: rowCount) }
    return order
  }

  /// Fills in the directory's entry for the segment that begins at `start` and ends the output.
  private func finish(
    _ id: UInt32, _ segment: ColumnEncoder.Segment, at position: Int, from start: Int
  ) throws(ClusterError) -> EncodedCluster.ColumnFacts {
    try checkSize()
    writeEntry(at: ClusterFormat.headerLength(columns: position), id: id, segment, from: start)
    return EncodedCluster.ColumnFacts(
      id: id, encoding: segment.encoding, byteCount: output.count - start,
      statistics: segment.statistics, spellings: segment.spellings)
  }

  private func end(
    rowCount: Int, _ columns: [EncodedCluster.ColumnFacts]
  ) throws(ClusterError) -> EncodedCluster {
    output.appendZeros(ClusterFormat.padding)
    try checkSize()
    let headerLength = ClusterFormat.headerLength(columns: columns.count)
    let header = UnsafeRawBufferPointer(rebasing: output.bytes[..<headerLength])
    return EncodedCluster(
      bytes: Array(output.bytes), headerLength: headerLength,
      headerChecksum: Checksum.of(header), rowCount: rowCount, columns: columns)
  }

  private func checkSize() throws(ClusterError) {
    if output.count > ClusterFormat.maximumBytes { throw .tooLarge(bytes: output.count) }
  }

  private func checksum(from start: Int) -> UInt64 {
    Checksum.of(UnsafeRawBufferPointer(rebasing: output.bytes[start...]))
  }

  private func writeEntry(
    at entry: Int, id: UInt32, _ segment: ColumnEncoder.Segment, from start: Int
  ) {
    output.replace(id, at: entry)
    output.replace(segment.encoding.rawValue, at: entry + 4)
    output.replace(segment.statistics.kind.rawValue, at: entry + 5)
    output.replace(segment.flags.rawValue, at: entry + 6)
    output.replace(UInt32(truncatingIfNeeded: start), at: entry + 8)
    output.replace(UInt32(truncatingIfNeeded: output.count - start), at: entry + 12)
    output.replace(checksum(from: start), at: entry + 16)
    output.replace(UInt32(truncatingIfNeeded: segment.spellings.nullCount), at: entry + 24)
    output.replace(segment.statistics.minimum, at: entry + 28)
    output.replace(segment.statistics.maximum, at: entry + 36)
  }

  /// Packs each key offset minus its row number. These differences never descend; without gaps all are 0, and
  /// nothing is written.
  private func appendKeys(_ keyOffsets: [Int64], rowCount: Int) throws(ClusterError) {
    guard keyOffsets.count == rowCount else { throw .invalidKeys }
    var previous: Int64 = -1
    for offset in keyOffsets {
      guard offset > previous else { throw .invalidKeys }
      previous = offset
    }
    let gaps = previous &- Int64(rowCount - 1)
    if gaps == 0 { return }
    let width = BitPacking.width(UInt64(bitPattern: gaps))
    let start = output.count
    BitPacking.pack(count: rowCount, width: width, into: &output) { row in
      UInt64(bitPattern: keyOffsets[row] &- Int64(row))
    }
    output.replace(1 as UInt8, at: 12)
    output.replace(UInt8(truncatingIfNeeded: width), at: 13)
    output.replace(UInt32(truncatingIfNeeded: start), at: 16)
    output.replace(UInt32(truncatingIfNeeded: output.count - start), at: 20)
    output.replace(checksum(from: start), at: 24)
  }

  /// The indices of the columns, by ascending identifier.
  private static func order(_ ids: [UInt32], count: Int) throws(ClusterError) -> [Int] {
    guard ids.count == count else {
      throw .invalidColumns("\(ids.count) identifiers for \(count) columns")
    }
    var order = Array(ids.indices)
    var isAscending = true
    for index in order.dropFirst() where ids[index - 1] >= ids[index] { isAscending = false }
    if isAscending { return order }
    order.sort { ids[$0] < ids[$1] }
    for (left, right) in zip(order, order.dropFirst()) where ids[left] == ids[right] {
      throw .invalidColumns("identifier \(ids[left]) is given twice")
    }
    return order
  }

  private static func inGivenOrder(
    _ columns: [EncodedCluster.ColumnFacts], _ order: [Int]
  ) -> [EncodedCluster.ColumnFacts] {
    var result = columns
    for (position, index) in order.enumerated() { result[index] = columns[position] }
    return result
  }
}
