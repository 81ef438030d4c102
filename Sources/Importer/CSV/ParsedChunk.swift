import Engine

/// One record of a parsed chunk, malformed or not.
package struct RecordInfo: Sendable, Equatable {
  /// First byte, relative to the chunk.
  package let start: UInt32
  /// End of the last field: without the record end.
  package let end: UInt32
  /// Line of the first byte, relative to the chunk's first line.
  package let line: UInt32
  package let fieldCount: UInt32
  /// Its row; `UInt32.max` when the record is malformed.
  package let row: UInt32
}

/// The fields of a chunk as byte ranges, row by row.
///
/// Belongs to the parser that made it, which fills it anew for the next chunk. Thread rule: confined
/// to the parser's thread.
package final class ParsedChunk {
  package let columnCount: Int
  /// The chunk that all spans point into; nil before the first and after `release`.
  package internal(set) var chunk: Chunk?
  /// Well-formed records.
  package internal(set) var rowCount = 0
  /// All records, malformed ones included.
  package internal(set) var recordCount = 0
  /// In the order of the input.
  package internal(set) var malformed: [MalformedRecord] = []
  /// Row by row; empty unless the policy is `extend`.
  package internal(set) var surplus: [SurplusField] = []

  // Plain memory, for the inner loop of the parser: no reference counting, no check per field. The
  // parser asks for room once per record.
  private(set) var fields: UnsafeMutablePointer<TextSpan>
  private(set) var rowCapacity = 1
  private(set) var records: UnsafeMutablePointer<RecordInfo>
  private(set) var recordOfRow: UnsafeMutablePointer<UInt32>
  private(set) var recordCapacity = 1

  init(columnCount: Int) {
    self.columnCount = max(1, columnCount)
    fields = .allocate(capacity: self.columnCount)
    records = .allocate(capacity: 1)
    recordOfRow = .allocate(capacity: 1)
  }

  deinit {
    fields.deallocate()
    records.deallocate()
    recordOfRow.deallocate()
  }

  // MARK: Reading

  /// The spans of all rows: row r, column c at `r * columnCount + c`. Valid until the next chunk is
  /// parsed.
  package var spans: UnsafeBufferPointer<TextSpan> {
    UnsafeBufferPointer(start: fields, count: rowCount * columnCount)
  }

  package func span(row: Int, column: Int) -> TextSpan {
    precondition(row >= 0 && row < rowCount && column >= 0 && column < columnCount)
    return fields[row * columnCount + column]
  }

  package func record(_ index: Int) -> RecordInfo {
    precondition(index >= 0 && index < recordCount)
    return records[index]
  }

  /// Which record of the chunk a row is.
  package func recordIndex(ofRow row: Int) -> Int {
    precondition(row >= 0 && row < rowCount)
    return Int(recordOfRow[row])
  }

  /// 1-based line of a record's first byte.
  package func line(ofRecord index: Int) -> Int {
    (chunk?.firstLine ?? 1) &+ Int(record(index).line)
  }

  /// Offset of a record's first byte from the start of the input.
  package func byteOffset(ofRecord index: Int) -> Int {
    (chunk?.byteOffset ?? 0) &+ Int(record(index).start)
  }

  /// A record as it stands in the input, without its record end.
  package func originalBytes(ofRecord index: Int) -> [UInt8] {
    let record = record(index)
    return chunk?.copy(from: Int(record.start), to: Int(record.end)) ?? []
  }

  /// A copy of the bytes of a field; nil for null.
  package func text(_ span: TextSpan) -> [UInt8]? {
    guard !span.isNull, let chunk else { return nil }
    let start = Int(span.offset)
    return chunk.withMemory { Array($0[start..<start + Int(span.length)]) }
  }

  /// Lets go of the chunk, so that its memory can be used again; the spans mean nothing afterwards.
  package func release() {
    chunk = nil
    rowCount = 0
    recordCount = 0
    malformed.removeAll(keepingCapacity: true)
    surplus.removeAll(keepingCapacity: true)
  }

  // MARK: Filling

  func begin(_ chunk: Chunk) {
    release()
    self.chunk = chunk
    // A row of n fields takes n - 1 delimiters at least; only padded rows may need more room.
    let rows = min(chunk.recordCount, chunk.byteCount / columnCount + 1) + 1
    if rows > rowCapacity { growRows(to: rows) }
    if chunk.recordCount >= recordCapacity { growRecords(to: chunk.recordCount + 1) }
  }

  @inline(never)
  func growRows(to rows: Int) {
    let larger = UnsafeMutablePointer<TextSpan>.allocate(capacity: rows * columnCount)
    larger.update(from: fields, count: rowCapacity * columnCount)
    fields.deallocate()
    fields = larger
    rowCapacity = rows
  }

  @inline(never)
  func growRecords(to count: Int) {
    let larger = UnsafeMutablePointer<RecordInfo>.allocate(capacity: count)
    larger.update(from: records, count: recordCapacity)
    records.deallocate()
    records = larger
    let largerRows = UnsafeMutablePointer<UInt32>.allocate(capacity: count)
    largerRows.update(from: recordOfRow, count: recordCapacity)
    recordOfRow.deallocate()
    recordOfRow = largerRows
    recordCapacity = count
  }
}

@available(*, unavailable)
extension ParsedChunk: Sendable {}
