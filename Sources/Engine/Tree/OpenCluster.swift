/// The rows of a cluster while a transaction changes them: keys, and spellings row by row.
///
/// Replaced and removed spellings stay in the arena until the cluster is written.
///
/// Thread rule: used by the transaction's thread only.
package final class OpenCluster {
  package private(set) var keys: [Int64]
  package private(set) var arena: [UInt8]
  /// Row-major: a span for each column of each row.
  package private(set) var spans: [TextSpan]
  package let columnCount: Int

  package init(columnCount: Int) {
    keys = []
    arena = []
    spans = []
    self.columnCount = columnCount
  }

  /// Decoded rows of a cluster that is there already.
  init(keys: [Int64], arena: [UInt8], spans: [TextSpan], columnCount: Int) {
    self.keys = keys
    self.arena = arena
    self.spans = spans
    self.columnCount = columnCount
  }

  package var count: Int { keys.count }

  /// About how much memory the values take.
  package var bytes: Int { arena.count + spans.count * MemoryLayout<TextSpan>.stride }

  /// The row of a key; nil when no object has it.
  package func row(ofKey key: Int64) -> Int? {
    var low = 0
    var high = keys.count
    while low < high {
      let middle = (low + high) / 2
      if keys[middle] < key { low = middle + 1 } else { high = middle }
    }
    return low < keys.count && keys[low] == key ? low : nil
  }

  /// Adds a row behind all others.
  ///
  /// - Parameter values: a value for each column.
  package func append(key: Int64, _ values: [Value]) throws(EngineError) {
    keys.append(key)
    for value in values { spans.append(try add(value)) }
  }

  /// Adds a row of spellings behind all others.
  package func append(key: Int64, base: UnsafeRawPointer, _ row: UnsafePointer<TextSpan>)
    throws(EngineError)
  {
    keys.append(key)
    for column in 0..<columnCount {
      let span = row[column]
      if span.isNull {
        spans.append(.null)
      } else {
        let start = try room(for: Int(span.length))
        arena.append(
          contentsOf: UnsafeRawBufferPointer(
            start: base + Int(span.offset), count: Int(span.length)))
        spans.append(TextSpan(offset: start, length: span.length))
      }
    }
  }

  package func replace(row: Int, column: Int, with value: Value) throws(EngineError) {
    spans[row * columnCount + column] = try add(value)
  }

  package func remove(row: Int) {
    keys.remove(at: row)
    spans.removeSubrange(row * columnCount..<(row + 1) * columnCount)
  }

  /// A value's spelling; nil for null.
  package func spelling(row: Int, column: Int) -> ArraySlice<UInt8>? {
    let span = spans[row * columnCount + column]
    if span.isNull { return nil }
    return arena[Int(span.offset)..<Int(span.offset) + Int(span.length)]
  }

  /// Some of the rows as a cluster.
  func encode(
    _ rows: Range<Int>, columnIDs: [UInt32], firstKey: Int64, with builder: ClusterBuilder
  ) throws -> EncodedCluster {
    try arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        guard let first = spans.baseAddress else {
          throw EngineError.invalidArgument("rows without columns")
        }
        return try builder.encode(
          arena: arena, spans: first + rows.lowerBound * columnCount, rowCount: rows.count,
          columnCount: columnCount, columnIDs: columnIDs,
          keyOffsets: keys[rows].map { $0 &- firstKey })
      }
    }
  }

  private func add(_ value: Value) throws(EngineError) -> TextSpan {
    if case .null = value { return .null }
    let before = arena.count
    value.appendSpelling(to: &arena)
    let length = arena.count - before
    guard arena.count < Self.maximumBytes else {
      arena.removeLast(length)
      throw Self.tooLarge
    }
    return TextSpan(offset: UInt32(before), length: UInt32(length))
  }

  private func room(for length: Int) throws(EngineError) -> UInt32 {
    guard arena.count + length < Self.maximumBytes else { throw Self.tooLarge }
    return UInt32(arena.count)
  }

  /// A block's length bounds what one cluster can hold.
  private static let maximumBytes = Layout.maximumBlockBytes - (1 << 20)
  private static let tooLarge = EngineError.tooLarge(
    what: "the values of neighbouring objects", limit: "1 GiB")
}
