import Base

/// Rows with their keys, to be changed and encoded again: an insertion fills them, and a cluster is decoded
/// into them when some of its rows change.
///
/// Spellings lie in one arena; a changed field's old bytes stay there until the buffer is emptied. Columns
/// are in the order of `columnIDs`.
///
/// Thread rule: a value; copies are independent.
package struct RowBuffer: Sendable {
  package let columnIDs: [UInt32]
  /// One key for each row, in the order of the rows. The owner keeps them ascending.
  package private(set) var keys: [Int64] = []
  private var arena: [UInt8] = []
  private var spans: [TextSpan] = []

  package init(columnIDs: [UInt32]) { self.columnIDs = columnIDs }

  package var columnCount: Int { columnIDs.count }
  package var rowCount: Int { keys.count }
  /// The size of all spellings in bytes, including those no longer used.
  package var byteCount: Int { arena.count }

  /// The row of a key; nil when there is none.
  ///
  /// - Complexity: O(log rows).
  package func row(ofKey key: Int64) -> Int? {
    let row = partitionPoint(keys.indices) { keys[$0] >= key }
    return row < keys.count && keys[row] == key ? row : nil
  }

  // MARK: Changing

  /// Adds a row.
  ///
  /// - Parameter values: one for each column; missing ones are null, surplus ones are ignored.
  /// - Throws: `ClusterError.tooLarge`; the buffer then stays unchanged.
  package mutating func append(key: Int64, values: [Value]) throws(ClusterError) {
    var row = SpelledRow()
    for index in 0..<columnCount { try row.append(index < values.count ? values[index] : .null) }
    try append(key: key, row)
  }

  /// Adds a row.
  ///
  /// - Precondition: it has a span for each column.
  /// - Throws: `ClusterError.tooLarge`; the buffer then stays unchanged.
  package mutating func append(key: Int64, _ row: SpelledRow) throws(ClusterError) {
    let start = arena.count
    guard start + row.bytes.count <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: start + row.bytes.count)
    }
    precondition(row.spans.count == columnCount, "a row of another number of columns")
    let shift = UInt32(truncatingIfNeeded: start)
    arena += row.bytes
    for span in row.spans {
      spans.append(
        span.isNull ? .null : TextSpan(offset: span.offset &+ shift, length: span.length))
    }
    keys.append(key)
  }

  /// Adds the rows of another buffer, whose keys must be larger.
  ///
  /// - Precondition: it has the same columns.
  /// - Throws: `ClusterError.tooLarge`; the buffer is then unchanged.
  package mutating func append(_ other: RowBuffer) throws(ClusterError) {
    guard arena.count + other.arena.count <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: arena.count + other.arena.count)
    }
    let shift = UInt32(truncatingIfNeeded: arena.count)
    keys += other.keys
    arena += other.arena
    spans += other.spans.map {
      $0.isNull ? .null : TextSpan(offset: $0.offset &+ shift, length: $0.length)
    }
  }

  /// Adds a row of spellings, straight from a parser's span matrix.
  ///
  /// - Parameters:
  ///   - base: the address that the spans' offsets are relative to.
  ///   - row: a span for each column.
  /// - Throws: `ClusterError.tooLarge`; the buffer is then unchanged.
  package mutating func append(
    key: Int64, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>
  ) throws(ClusterError) {
    try checkRoom(for: row)
    for column in 0..<columnCount { spans.append(copy(row[column], base)) }
    keys.append(key)
  }

  /// Replaces all fields of a row; the arguments are those of `append`.
  ///
  /// - Precondition: the row exists.
  /// - Throws: `ClusterError.tooLarge`; the buffer is then unchanged.
  package mutating func replace(
    _ index: Int, base: UnsafeRawPointer, row: UnsafePointer<TextSpan>
  ) throws(ClusterError) {
    try checkRoom(for: row)
    for column in 0..<columnCount { spans[self.index(index, column)] = copy(row[column], base) }
  }

  private func checkRoom(for row: UnsafePointer<TextSpan>) throws(ClusterError) {
    var length = 0
    for column in 0..<columnCount { length += Int(row[column].length) }
    guard arena.count + length <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: arena.count + length)
    }
  }

  /// Copies a field into the arena.
  private mutating func copy(_ span: TextSpan, _ base: UnsafeRawPointer) -> TextSpan {
    if span.isNull { return .null }
    let copied = TextSpan(offset: UInt32(truncatingIfNeeded: arena.count), length: span.length)
    arena.append(
      contentsOf: UnsafeRawBufferPointer(
        start: base + Int(span.offset), count: Int(span.length)))
    return copied
  }

  /// Replaces one field.
  ///
  /// - Precondition: the row and the column exist.
  package mutating func set(row: Int, column: Int, to value: Value) throws(ClusterError) {
    spans[index(row, column)] = try span(value)
  }

  /// Gives all rows the same spelling in a column.
  ///
  /// - Precondition: the column exists.
  /// - Throws: `ClusterError.tooLarge`; the buffer is then unchanged.
  package mutating func fill(_ column: Int, with spelling: [UInt8]) throws(ClusterError) {
    guard arena.count + spelling.count <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: arena.count + spelling.count)
    }
    let span = TextSpan(
      offset: UInt32(truncatingIfNeeded: arena.count),
      length: UInt32(truncatingIfNeeded: spelling.count))
    arena += spelling
    for row in 0..<rowCount { spans[index(row, column)] = span }
  }

  /// Removes the rows for which `isRemoved` returns true.
  package mutating func removeRows(where isRemoved: (_ row: Int) -> Bool) {
    var kept = 0
    for row in 0..<rowCount where !isRemoved(row) {
      if kept != row {
        keys[kept] = keys[row]
        for column in 0..<columnCount {
          spans[kept * columnCount + column] = spans[row * columnCount + column]
        }
      }
      kept += 1
    }
    keys.removeLast(keys.count - kept)
    spans.removeLast(spans.count - kept * columnCount)
  }

  private mutating func span(_ value: Value) throws(ClusterError) -> TextSpan {
    if case .null = value { return .null }
    let start = arena.count
    value.appendSpelling(to: &arena)
    guard arena.count <= ClusterFormat.maximumBytes else {
      let wanted = arena.count
      arena.removeLast(wanted - start)
      throw .tooLarge(bytes: wanted)
    }
    return TextSpan(
      offset: UInt32(truncatingIfNeeded: start),
      length: UInt32(truncatingIfNeeded: arena.count - start))
  }

  // MARK: Reading

  private func index(_ row: Int, _ column: Int) -> Int {
    precondition(
      row >= 0 && row < rowCount && column >= 0 && column < columnCount,
      "row \(row) of \(rowCount), column \(column) of \(columnCount)")
    return row * columnCount + column
  }

  /// A field's bytes; nil for null.
  package func spelling(row: Int, column: Int) -> [UInt8]? {
    let span = spans[index(row, column)]
    if span.isNull { return nil }
    return Array(arena[Int(span.offset)..<Int(span.offset) + Int(span.length)])
  }

  // MARK: Clusters

  /// Adds rows that are decoded column by column.
  ///
  /// - Parameters:
  ///   - key: called with each new row, from 0.
  ///   - decode: called with each column's identifier; decodes the same number of rows, damaged ones as null.
  /// - Throws: the errors of `decode`; `ClusterError.tooLarge`; the buffer is then unchanged.
  package mutating func append(
    rowCount count: Int, key: (Int) -> Int64,
    decode: (UInt32, DecodedColumn) throws(ClusterError) -> Void
  ) throws(ClusterError) {
    let (firstRow, arenaCount) = (rowCount, arena.count)
    spans.append(contentsOf: repeatElement(.null, count: count * columnCount))
    for row in 0..<count { keys.append(key(row)) }
    do {
      let decoded = DecodedColumn()
      for column in 0..<columnCount {
        try decode(columnIDs[column], decoded)
        try append(decoded, column: column, firstRow: firstRow)
      }
    } catch {
      keys.removeLast(keys.count - firstRow)
      spans.removeLast(spans.count - firstRow * columnCount)
      arena.removeLast(arena.count - arenaCount)
      throw error
    }
  }

  /// Copies the text that the spans of a decoded column use, once, however many rows share it.
  private mutating func append(
    _ decoded: DecodedColumn, column: Int, firstRow: Int
  ) throws(ClusterError) {
    var low = Int.max
    var high = 0
    for span in decoded.spans where !span.isNull {
      low = min(low, Int(span.offset))
      high = max(high, Int(span.offset) + Int(span.length))
    }
    guard low <= high else { return }
    let start = arena.count - low
    guard start + high <= ClusterFormat.maximumBytes else {
      throw .tooLarge(bytes: start + high)
    }
    arena.append(
      contentsOf: UnsafeRawBufferPointer(start: decoded.base + low, count: high - low))
    for (row, span) in decoded.spans.enumerated() where !span.isNull {
      spans[(firstRow + row) * columnCount + column] = TextSpan(
        offset: UInt32(truncatingIfNeeded: start + Int(span.offset)), length: span.length)
    }
  }

  /// Encodes rows as a cluster whose first key is that of the first row.
  ///
  /// - Parameter rows: the rows to encode; nil for all.
  /// - Throws: `ClusterError`, `invalidKeys` when the keys do not ascend.
  package func encode(
    with builder: ClusterBuilder, rows: Range<Int>? = nil
  ) throws(ClusterError) -> EncodedCluster {
    let range = (rows ?? 0..<rowCount).clamped(to: 0..<rowCount)
    var offsets: [Int64] = []
    offsets.reserveCapacity(range.count)
    for row in range {
      let (offset, overflow) = keys[row].subtractingReportingOverflow(keys[range.lowerBound])
      if overflow { throw .invalidKeys }
      offsets.append(offset)
    }
    // One extra span, so that there is a pointer even without rows or columns.
    var room = Array(spans[range.lowerBound * columnCount..<range.upperBound * columnCount])
    room.append(.null)
    let result = room.withUnsafeBufferPointer { matrix in
      arena.withUnsafeBytes { bytes in
        Result { () throws(ClusterError) -> EncodedCluster in
          guard let first = matrix.baseAddress else { throw .invalidKeys }
          return try builder.encode(
            arena: bytes, spans: first, rowCount: range.count, columnCount: columnCount,
            columnIDs: columnIDs, keyOffsets: offsets)
        }
      }
    }
    return try result.get()
  }
}
