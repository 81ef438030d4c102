/// Some rows of a result, with their spellings in each requested column.
///
/// Unsafe for speed: it points into the memory of its reader, which the next window reuses.
///
/// Thread rule: confined to the call that receives it.
@usableFromInline
package struct ResultWindow {
  /// The index of each row in the spans.
  @usableFromInline package let rows: [Int32]
  /// The rows' keys; empty unless they were requested.
  package let keys: [Int64]
  /// The address that the spans' offsets are relative to, and a span for each index.
  @usableFromInline let columns: [(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)]

  @inlinable package var count: Int { rows.count }

  /// The number of bytes after a field that may be read, whatever they contain.
  package static let readableBytes = 8

  init(
    rows: [Int32], keys: [Int64],
    columns: [(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)]
  ) {
    self.rows = rows
    self.keys = keys
    self.columns = columns
  }

  /// Calls `body` with a window of one row with given values.
  package static func with(_ row: [Value], _ body: (ResultWindow) throws -> Void) throws {
    var arena: [UInt8] = []
    let spans = row.map { value in
      if value == .null { return TextSpan.null }
      let start = arena.count
      value.appendSpelling(to: &arena)
      return TextSpan(
        offset: UInt32(truncatingIfNeeded: start),
        length: UInt32(truncatingIfNeeded: arena.count - start))
    }
    arena.append(contentsOf: repeatElement(0, count: readableBytes))
    try arena.withUnsafeBytes { arena in
      try spans.withUnsafeBufferPointer { spans in
        guard let base = arena.baseAddress, let first = spans.baseAddress else { return }
        try body(ResultWindow(rows: [0], keys: [], columns: row.indices.map { (base, first + $0) }))
      }
    }
  }

  /// The spelling of a row in a column, both numbered from 0; nil for null.
  @inlinable @inline(__always)
  package func field(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
    let (base, spans) = columns[column]
    let span = spans[Int(rows[row])]
    if span.isNull { return nil }
    return UnsafeRawBufferPointer(start: base + Int(span.offset), count: Int(span.length))
  }

  /// The total length of the rows' spellings in a column.
  @inlinable
  package func length(_ rows: Range<Int>, _ column: Int) -> Int {
    let spans = columns[column].spans
    var length = 0
    for row in rows {
      let span = spans[Int(self.rows[row])]
      length &+= span.isNull ? 0 : Int(span.length)
    }
    return length
  }

  /// The place and total length of a column's spellings.
  package struct Extent {
    /// Bytes that contain all spellings, perhaps with others; nil when there are none, or all are empty.
    package let bytes: UnsafeRawBufferPointer?
    package let length: Int
  }

  /// - Complexity: O(rows).
  package func extent(ofColumn column: Int) -> Extent {
    let (base, spans) = columns[column]
    var low = Int.max
    var high = 0
    var length = 0
    for row in rows {
      let span = spans[Int(row)]
      if span.isNull { continue }
      low = min(low, Int(span.offset))
      high = max(high, Int(span.offset) &+ Int(span.length))
      length &+= Int(span.length)
    }
    return Extent(
      bytes: low < high ? UnsafeRawBufferPointer(start: base + low, count: high - low) : nil,
      length: length)
  }

  /// The value of a row in a column.
  ///
  /// - Throws: `ClusterError.misfit` when the spelling does not fit the type.
  package func value(_ row: Int, _ column: Int, _ reading: Reading) throws -> Value {
    guard let field = field(row, column) else { return .null }
    guard let value = Value(spelling: field, as: reading) else {
      throw ClusterError.misfit(column: UInt32(column), row: row, type: reading.type)
    }
    return value
  }
}

/// Reads the columns of chosen rows of leaves.
///
/// Thread rule: confined.
package final class WindowReader {
  private let columnIDs: [UInt32]
  private let decoded: [DecodedColumn]

  /// When fewer than one row in this many is chosen, a leaf is read in pieces of `pieceRows` rows, and pieces
  /// without a chosen row are skipped.
  private static let sparse = 32
  private static let pieceRows = 512

  package init(columnIDs: [UInt32]) {
    self.columnIDs = columnIDs
    decoded = columnIDs.map { _ in DecodedColumn() }
  }

  var columnCount: Int { columnIDs.count }

  /// Calls `body` with windows of the chosen rows, in their order.
  ///
  /// - Parameter body: also receives the row to which the window's `rows` are relative.
  package func read(
    _ leaf: Leaf, _ chosen: RowBits, withKeys: Bool,
    _ body: (ResultWindow, _ firstRow: Int) throws -> Void
  ) throws {
    guard let first = chosen.next(from: 0), let last = chosen.last else { return }
    let keys = withKeys ? try leaf.keys() : nil
    let columns = try columnIDs.map { try leaf.column(id: $0) }
    let isDense = chosen.population * Self.sparse >= last - first
    let size = isDense ? last - first + 1 : Self.pieceRows
    var next: Int? = first
    while let start = next {
      let end = min(start + size, last + 1)
      var rows: [Int32] = []
      var row = chosen.next(from: start)
      while let found = row, found < end {
        rows.append(Int32(truncatingIfNeeded: found - start))
        row = chosen.next(from: found + 1)
      }
      for (column, decoded) in zip(columns, decoded) {
        column.decode(rows: start..<end, into: decoded)
      }
      let window = ResultWindow(
        rows: rows, keys: keys.map { keys in rows.map { keys.key(Int($0) + start) } } ?? [],
        columns: try decoded.map { column in
          guard column.count == end - start, let spans = column.spans.baseAddress else {
            throw ClusterError.damagedHeader("a column has fewer rows than its leaf")
          }
          return (column.base, UnsafePointer(spans))
        })
      try body(window, start)
      next = row
    }
  }
}
