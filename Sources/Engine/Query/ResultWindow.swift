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
  /// What the columns were decoded by; empty for rows that were copied.
  private let decoded: [DecodedColumn]

  @inlinable package var count: Int { rows.count }

  /// The number of bytes after a field that may be read, whatever they contain.
  package static let readableBytes = 8

  init(
    rows: [Int32], keys: [Int64],
    columns: [(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)],
    decoded: [DecodedColumn] = []
  ) {
    self.rows = rows
    self.keys = keys
    self.columns = columns
    self.decoded = decoded
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

  /// Calls `body` with the memory that `field` reads: the address and spans of each column, and the index of
  /// each row. It costs less for each field.
  @inlinable @inline(__always)
  package func withSpans<Result>(
    _ body: (
      _ columns: UnsafeBufferPointer<(base: UnsafeRawPointer, spans: UnsafePointer<TextSpan>)>,
      _ rows: UnsafeBufferPointer<Int32>
    ) -> Result
  ) -> Result {
    columns.withUnsafeBufferPointer { columns in
      rows.withUnsafeBufferPointer { body(columns, $0) }
    }
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

  /// An upper bound of the total length of the spellings in a column.
  ///
  /// - Complexity: O(1); O(rows) if they were copied.
  package func mostBytes(ofColumn column: Int) -> Int {
    decoded.isEmpty ? length(0..<count, column) : decoded[column].mostBytes
  }

  /// Returns whether a test is true of bytes that contain all spellings of a column, perhaps with others.
  ///
  /// - Parameter test: the same one for all windows of a reader: text that several windows share is tested
  ///   once.
  /// - Complexity: O(bytes).
  package func allText(ofColumn column: Int, _ test: (UnsafeRawBufferPointer) -> Bool) -> Bool {
    if !decoded.isEmpty { return decoded[column].allText(test) }
    let (base, spans) = columns[column]
    var low = Int.max
    var high = 0
    for row in rows {
      let span = spans[Int(row)]
      if span.isNull { continue }
      low = min(low, Int(span.offset))
      high = max(high, span.end)
    }
    return low >= high || test(UnsafeRawBufferPointer(start: base + low, count: high - low))
  }

  /// The value of a row in a column.
  ///
  /// - Parameter id: the column's permanent number.
  /// - Throws: `ClusterError.misfit` when the spelling does not fit the type.
  package func value(
    _ row: Int, _ column: Int, id: UInt32, _ reading: Reading
  ) throws -> Value {
    guard let field = field(row, column) else { return .null }
    guard let value = Value(spelling: field, as: reading) else {
      throw ClusterError.misfit(column: id, row: Int(rows[row]), type: reading.type)
    }
    return value
  }
}
