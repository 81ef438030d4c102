import Engine

/// One record of a parsed chunk, malformed or not.
package struct RecordInfo: Sendable, Equatable {
  /// First byte, relative to the chunk.
  package let start: UInt32
  /// End of the last field, without the record end.
  package let end: UInt32
  /// Line of the first byte, relative to the chunk's first line.
  package let line: UInt32
  package let fieldCount: UInt32
  /// Its row; `UInt32.max` when the record is malformed.
  package let row: UInt32

  func with(row: UInt32) -> RecordInfo {
    RecordInfo(start: start, end: end, line: line, fieldCount: fieldCount, row: row)
  }
}

/// The fields of a chunk as byte ranges, row by row.
///
/// It belongs to its parser, which refills it for the next chunk.
///
/// Thread rule: confined to the parser's thread.
package final class ParsedChunk {
  package let columnCount: Int
  /// The chunk to which all spans point; nil before the first chunk and after `release`.
  package internal(set) var chunk: Chunk?
  /// Well-formed records.
  package internal(set) var rowCount = 0
  /// All records, malformed ones included.
  package internal(set) var recordCount = 0
  /// In the order of the input.
  package internal(set) var malformed: [MalformedRecord] = []
  /// Row by row; empty unless the policy is `extend`.
  package internal(set) var surplus: [SurplusField] = []
  /// The deviations that were tolerated.
  package internal(set) var tolerances = Tolerances()

  /// Plain memory for the inner loop of the parser, which keeps a copy of these pointers: no reference
  /// counting and no exclusivity check per field. The parser extends it once per record.
  struct Room {
    var fields: UnsafeMutablePointer<TextSpan>
    /// The number of rows, and of records, for which there is memory.
    var rows = 1
    var records: UnsafeMutablePointer<RecordInfo>
    var recordOfRow: UnsafeMutablePointer<UInt32>
    var recordCount = 1
  }
  private(set) var room: Room

  private var fields: UnsafeMutablePointer<TextSpan> { room.fields }
  private var records: UnsafeMutablePointer<RecordInfo> { room.records }
  private var recordOfRow: UnsafeMutablePointer<UInt32> { room.recordOfRow }

  init(columnCount: Int) {
    self.columnCount = max(1, columnCount)
    room = Room(
      fields: .allocate(capacity: self.columnCount), records: .allocate(capacity: 1),
      recordOfRow: .allocate(capacity: 1))
  }

  deinit {
    room.fields.deallocate()
    room.records.deallocate()
    room.recordOfRow.deallocate()
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

  /// The index of a row's record in the chunk.
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
    chunk?.inputOffset(Int(record(index).start)) ?? 0
  }

  /// A record as in the input, without its record end.
  package func originalBytes(ofRecord index: Int) -> [UInt8] {
    let record = record(index)
    return chunk?.original(from: Int(record.start), to: Int(record.end)) ?? []
  }

  /// A copy of the bytes of a field; nil for null.
  package func text(_ span: TextSpan) -> [UInt8]? {
    guard !span.isNull, let chunk else { return nil }
    let start = Int(span.offset)
    return chunk.withMemory { Array($0[start..<start + Int(span.length)]) }
  }

  /// A field without the blanks and tabs around it; null when it has nothing else and is not quoted.
  ///
  /// - Parameter memory: the chunk's memory, in which spans point.
  func withoutBlanks(
    _ span: TextSpan, _ memory: UnsafeRawBufferPointer, quote: UInt8?
  ) -> TextSpan {
    guard !span.isNull, span.length > 0 else { return span }
    let isBlank = { (index: Int) in memory[index] == 0x20 || memory[index] == 0x09 }
    var (start, end) = (Int(span.offset), Int(span.offset) + Int(span.length))
    while start < end, isBlank(start) { start += 1 }
    while start < end, isBlank(end - 1) { end -= 1 }
    if start == end, !isQuoted(span, quote: quote) { return .null }
    return TextSpan(offset: UInt32(clamping: start), length: UInt32(clamping: end - start))
  }

  /// Returns whether a field is quoted: it is after a quote or, when it was unescaped, after the input's
  /// bytes.
  func isQuoted(_ span: TextSpan, quote: UInt8?) -> Bool {
    guard let chunk, let quote, !span.isNull else { return false }
    let start = Int(span.offset)
    if start >= chunk.byteCount { return true }
    return start > 0 && chunk.withMemory { $0[start - 1] == quote }
  }

  /// Releases the chunk, so that its memory can be reused; the spans are invalid afterwards.
  package func release() {
    chunk = nil
    rowCount = 0
    recordCount = 0
    malformed.removeAll(keepingCapacity: true)
    surplus.removeAll(keepingCapacity: true)
    tolerances = Tolerances()
  }

  // MARK: The header again

  /// Removes the rows that repeat the header, and records them as malformed.
  func removeRepeats(of header: [[UInt8]?]) {
    // The longest name is the least likely to have the length and bytes of a value; before the first may be a
    // byte-order mark.
    let others = header.indices.dropFirst().filter { header[$0] != nil }
    guard let probe = others.max(by: { header[$0]?.count ?? 0 < header[$1]?.count ?? 0 }),
      let name = header[probe], header.count == columnCount, let chunk
    else { return }
    let initial = name.first
    let first = chunk.withMemory { memory in
      (0..<rowCount).first { row in
        let span = fields[row * columnCount + probe]
        // In place: every row is tested.
        return !span.isNull && Int(span.length) == name.count
          && (initial == nil || memory[Int(span.offset)] == initial)
          && memory[Int(span.offset)..<Int(span.offset) + name.count].elementsEqual(name)
          && repeats(header, row)
      }
    }
    if let first { removeRepeats(of: header, from: first) }
  }

  private func repeats(_ header: [[UInt8]?], _ row: Int) -> Bool {
    header.indices.allSatisfy {
      let field = text(fields[row * columnCount + $0])
      return field == header[$0] || ($0 == 0 && field?.withoutMark == header[$0])
    } && !surplus.contains { $0.row == row }
  }

  private func removeRepeats(of header: [[UInt8]?], from first: Int) {
    var kept = first
    var newRows = Array(0..<first)
    for row in first..<rowCount {
      let index = Int(recordOfRow[row])
      if repeats(header, row) {
        newRows.append(-1)
        records[index] = records[index].with(row: .max)
        malformed.append(
          MalformedRecord(
            record: index, reason: .repeatedHeader, byteOffset: byteOffset(ofRecord: index),
            line: line(ofRecord: index), column: 1))
        continue
      }
      newRows.append(kept)
      for column in 0..<columnCount where kept < row {
        fields[kept * columnCount + column] = fields[row * columnCount + column]
      }
      recordOfRow[kept] = UInt32(truncatingIfNeeded: index)
      records[index] = records[index].with(row: UInt32(truncatingIfNeeded: kept))
      kept += 1
    }
    surplus = surplus.map { SurplusField(row: newRows[$0.row], index: $0.index, span: $0.span) }
    rowCount = kept
    malformed.sort { $0.record < $1.record }
  }

  // MARK: Filling

  func begin(_ chunk: Chunk) {
    release()
    self.chunk = chunk
    // A row of n fields has at least n - 1 delimiters; only padded rows may need more memory.
    let rows = min(chunk.recordCount, chunk.byteCount / columnCount + 1) + 1
    if rows > room.rows { growRows(to: rows) }
    if chunk.recordCount >= room.recordCount { growRecords(to: chunk.recordCount + 1) }
  }

  /// Allocates memory for more rows and records than these: twice as many as before.
  @inline(never)
  func grow(rows: Int, records: Int) -> Room {
    if rows > room.rows { growRows(to: 2 * room.rows) }
    if records > room.recordCount { growRecords(to: 2 * room.recordCount) }
    return room
  }

  private func growRows(to rows: Int) {
    room.fields.grow(from: room.rows * columnCount, to: rows * columnCount)
    room.rows = rows
  }

  private func growRecords(to count: Int) {
    room.records.grow(from: room.recordCount, to: count)
    room.recordOfRow.grow(from: room.recordCount, to: count)
    room.recordCount = count
  }
}

extension UnsafeMutablePointer {
  /// Moves to larger memory.
  fileprivate mutating func grow(from count: Int, to larger: Int) {
    let place = Self.allocate(capacity: larger)
    place.update(from: self, count: count)
    deallocate()
    self = place
  }
}

@available(*, unavailable)
extension ParsedChunk: Sendable {}

extension [UInt8] {
  /// The text behind a byte-order mark, as each of several files that were put together may begin with one.
  fileprivate var withoutMark: [UInt8]? {
    starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : nil
  }
}
