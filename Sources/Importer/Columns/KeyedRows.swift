import Base
import Engine

/// The rows of a chunk in an import with a primary key, as parsed. The writer decides by their keys what to
/// do with each.
///
/// The spans point into the chunk, which is retained: the many chunks whose keys are all new need no copy.
struct KeyedRows: Sendable {
  /// The place of a row's record in its chunk.
  struct RecordExtent: Sendable {
    /// The index among the chunk's records, including malformed ones.
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
  /// The rows' keys when they have several columns; nil: the spellings in `keyColumn`.
  let tuples: KeyTuples?
  let places: [RecordExtent]
  /// For each row, the nearest earlier one with the same key, or -1; empty when all keys are different.
  let earlier: [Int32]
  /// True when many new rows make a cluster of their own; false in small batches.
  let formsClusters: Bool
  /// All rows, encoded; nil when that was useless: in small batches, and when the table has some of the keys.
  var encoded: EncodedCluster?
  /// The results of the parser's lookup in the table; nil when there was none.
  var scouted: ScoutedRows?

  var rowCount: Int { places.count }

  /// The span of a row's key, in the memory from `withKeys`.
  func key(_ row: Int) -> TextSpan {
    if let tuples { return tuples.spans[row] }
    return spans[row * columnCount + keyColumn]
  }

  /// Calls `body` with the memory to which the offsets of keys are relative.
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

  /// Calls `body` with the memory to which the spans' offsets are relative.
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

  /// The reject for a row that cannot be added because of its key.
  func reject(_ row: Int, file: String, column: String, reason: (String) -> String) -> Reject {
    let place = places[row]
    let span = spans[row * columnCount + keyColumn]
    // A key that was unescaped has no position of its own; the record's start is then used.
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
  ///   - columns: the facts about those rows.
  ///   - rows: the rows.
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
      if plan.keyColumns.contains(index), !column.observation.classes.contains(.text),
        let row = plan.firstUnfitKey(
          index, rowCount: rows.count, chunk, { spans[rows[$0] * columnCount + index] })
      {
        let (record, line) = place(row)
        summary.sightings.append(.init(type: .text, record: record, line: line))
      }
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

  /// Like `find` for tuples, for keys in some memory.
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
        if Bytes.areEqual(bytes, other) {
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
