import Base
import Engine

/// The rows of a chunk of an import with a primary key, as the parser found them. The writer decides by their
/// keys what to do with each.
///
/// The spans point into the chunk, which is kept meanwhile: the many chunks whose keys are all new need no
/// copy.
struct KeyedRows: Sendable {
  /// Where a row's record lies in its chunk.
  struct RecordExtent: Sendable {
    /// Index among the records of the chunk, including malformed ones.
    let record: Int
    /// Relative to the chunk.
    let bytes: Range<Int>
    let line: Int
  }

  let chunk: Chunk
  /// Row by row, `columnCount` each.
  let spans: [TextSpan]
  let columnCount: Int
  /// The index in a row of the key's column, or of the first of several.
  let keyColumn: Int
  /// The rows' keys when they have several columns; nil: they are what is in `keyColumn`.
  let tuples: KeyTuples?
  let places: [RecordExtent]
  /// For each row, the nearest one before it with the same key, or -1; empty when all keys are different.
  let earlier: [Int32]
  /// Whether many new rows make a cluster of their own; not in small batches.
  let formsClusters: Bool
  /// All rows, encoded; nil where that was of no use: in small batches, and when the table has some of the
  /// keys.
  var encoded: EncodedCluster?
  /// What the parser found about the keys in the table; nil: it has not looked.
  var scouted: ScoutedRows?

  var rowCount: Int { places.count }

  /// Where a row's key is, in the memory that `withKeys` gives.
  func key(_ row: Int) -> TextSpan {
    if let tuples { return tuples.spans[row] }
    return spans[row * columnCount + keyColumn]
  }

  /// Calls `body` with the memory that the offsets of keys are relative to.
  func withKeys<Result>(_ body: (UnsafeRawPointer) throws -> Result) throws -> Result {
    if let tuples { return try tuples.withKeys { base, _ in try body(base) } }
    return try withBase { try body($1) }
  }

  /// The bytes of a row's key.
  func keyBytes(_ row: Int) -> [UInt8] { tuples?.bytes(ofRow: row) ?? text(key(row)) }

  /// A row's key for messages.
  func describedKey(_ row: Int) -> String {
    guard let tuples else { return String(decoding: text(key(row)).prefix(200), as: UTF8.self) }
    return tuples.described(row: row, mostBytes: 200)
  }

  /// Calls `body` with the memory that the spans' offsets are relative to.
  func withBase<Result>(_ body: (UnsafeRawBufferPointer, UnsafeRawPointer) throws -> Result) throws
    -> Result
  {
    try chunk.withMemory { memory in
      guard let base = memory.baseAddress else {
        throw EngineError.invalidArgument("rows of a chunk without bytes")
      }
      return try body(memory, base)
    }
  }

  /// A copy of a field's bytes; empty for null.
  func text(_ span: TextSpan) -> [UInt8] {
    if span.isNull { return [] }
    let start = Int(span.offset)
    return chunk.withMemory { Array($0[start..<start + Int(span.length)]) }
  }

  /// The record of a row that cannot be added because of its key.
  func reject(_ row: Int, file: String, column: String, reason: (String) -> String) -> Reject {
    let place = places[row]
    let span = spans[row * columnCount + keyColumn]
    // A key that was unescaped has no position of its own: use the record's start.
    let offset = Int(span.offset) >= chunk.byteCount ? place.bytes.lowerBound : Int(span.offset)
    let key = describedKey(row)
    return Reject(
      record: chunk.firstRecord + place.record,
      position: SourcePosition(
        file: file, line: place.line,
        column: chunk.inputLength(from: place.bytes.lowerBound, to: offset) + 1,
        byteOffset: chunk.inputOffset(offset)),
      column: column, value: key, reason: reason(key),
      original: chunk.original(from: place.bytes.lowerBound, to: place.bytes.upperBound))
  }

  /// The summaries of the columns for some of the rows.
  ///
  /// - Parameters:
  ///   - columns: what those rows look like.
  ///   - rows: which rows they are.
  ///   - plan: the plan of the columns.
  func summaries(
    of columns: [SpellingFacts], rows: [Int], _ plan: ImportPlan
  ) -> [ColumnBatch.ColumnSummary] {
    func place(_ row: Int) -> (record: Int, line: Int) {
      let place = places[rows[row]]
      return (chunk.firstRecord + place.record, place.line)
    }
    var scan = NotationScan()
    return columns.enumerated().map { index, column in
      var summary = ColumnBatch.ColumnSummary(column, place: place)
      if index < plan.columns.count, !plan.columns[index].candidates.isEmpty {
        let misfits = chunk.withMemory { memory in
          scan.misfits(plan.columns[index].candidates, rowCount: rows.count, memory) {
            spans[rows[$0] * columnCount + index]
          }
        }
        summary.misfits = ColumnBatch.Misfit.all(misfits, place)
      }
      return summary
    }
  }
}

/// Finds rows with the same key as an earlier one: a hash table without an allocation per row.
struct KeyRepeats {
  private var slots: [Int32] = []

  /// For each key, the nearest equal one before it, or -1; empty when all are different.
  mutating func find(_ keys: KeyTuples) -> [Int32] {
    keys.bytes.withUnsafeBytes { find(keys.spans, in: $0) }
  }

  /// The same for keys that lie in some memory.
  mutating func find(_ keys: [TextSpan], in memory: UnsafeRawBufferPointer) -> [Int32] {
    var size = 16
    while size < 2 * keys.count { size *= 2 }
    slots.removeAll(keepingCapacity: true)
    slots.append(contentsOf: repeatElement(-1, count: size))
    var earlier: [Int32] = []
    for (row, key) in keys.enumerated() {
      let bytes = Self.bytes(key, memory)
      var slot = Int(truncatingIfNeeded: Checksum.of(bytes)) & (size - 1)
      while slots[slot] >= 0 {
        let other = Self.bytes(keys[Int(slots[slot])], memory)
        if bytes.count == other.count, bytes.elementsEqual(other) {
          if earlier.isEmpty { earlier = [Int32](repeating: -1, count: keys.count) }
          earlier[row] = slots[slot]
          break
        }
        slot = (slot + 1) & (size - 1)
      }
      slots[slot] = Int32(truncatingIfNeeded: row)
    }
    return earlier
  }

  private static func bytes(_ span: TextSpan, _ memory: UnsafeRawBufferPointer)
    -> UnsafeRawBufferPointer
  {
    if span.isNull { return UnsafeRawBufferPointer(rebasing: memory[0..<0]) }
    let start = Int(span.offset)
    return UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)])
  }
}
