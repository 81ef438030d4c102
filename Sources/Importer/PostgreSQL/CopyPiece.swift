import Engine

/// A chunk of records as text for `COPY`: a plain value, passed from a parser's thread to the thread that
/// combines pieces into ranges.
struct CopyPiece: Sendable {
  /// Needed for the records that the server may refuse.
  let chunk: Chunk
  let file: String
  let firstRecord: Int
  let recordCount: Int
  let text: [UInt8]
  /// The end of each row in the text.
  let rowEnds: [UInt32]
  /// The place of each row's record in the chunk.
  let places: [KeyedRows.RecordExtent]
  let rejects: [Reject]
  /// The nulls of each column.
  let nulls: [Int]
  let tolerances: Tolerances
  /// The offset in the input at which the next chunk begins.
  let byteEnd: Int
  let lineEnd: Int
  /// Of the input's bytes up to `byteEnd`.
  let checksum: UInt64
  let isLast: Bool
  /// The beginning of the input's last record, if that has no line end.
  let unfinished: SourcePosition?

  var rowCount: Int { rowEnds.count }

  /// The text of some of its rows.
  func bytes(ofRows rows: Range<Int>) -> Range<Int> {
    let start = rows.lowerBound == 0 ? 0 : Int(rowEnds[rows.lowerBound - 1])
    return start..<(rows.isEmpty ? start : Int(rowEnds[rows.upperBound - 1]))
  }

  /// The reject for a row that the server refuses.
  func reject(_ row: Int, reason: String) -> Reject {
    let place = places[row]
    return Reject(
      record: firstRecord + place.record,
      position: SourcePosition(
        file: file, line: place.line, column: 1,
        byteOffset: chunk.inputOffset(place.bytes.lowerBound)),
      column: nil, value: nil, reason: reason,
      original: chunk.original(from: place.bytes.lowerBound, to: place.bytes.upperBound))
  }
}

/// A parser thread's work on a chunk: parses it, and writes its rows as text for `COPY`.
///
/// Thread rule: confined; each parser thread has its own.
final class CopyPieceBuilder {
  private let plan: ImportPlan
  private let fields: [CopyField]
  // Read for each field of each row; without `fields` around them, nothing is retained for that.
  private let shortcuts: [CopyField.Shortcut]
  private let isNullable: [Bool]
  private let isKey: [Bool]
  /// nil for columns without a notation.
  private let sent: [SentSpellings?]
  /// nil when every row must be examined.
  private let plainRows: PlainRows?
  private let parser: RecordParser
  private let text = CopyText()
  /// Scratch memory for the tests of rules.
  private var room: [UInt8] = []

  /// - Parameter plan: all of its columns have a strict type.
  init(_ plan: ImportPlan) {
    self.plan = plan
    let fields = plan.columns.map {
      CopyField(reading: Reading($0.strictType ?? .text, $0.strictNotation))
    }
    let noted = fields.count { $0.reading.notation != nil }
    let sent = fields.map {
      $0.reading.notation == nil ? nil : SentSpellings(columns: noted)
    }
    (self.fields, self.sent) = (fields, sent)
    shortcuts = fields.map(\.shortcut)
    isNullable = plan.columns.map(\.isNullable)
    isKey = plan.columns.indices.map(plan.keyColumns.contains)
    // Rules read values, and added values are not among the record's bytes.
    plainRows =
      plan.rules.isEmpty && plan.added == nil ? PlainRows(plan, fields, sent) : nil
    parser = RecordParser(
      dialect: plan.dialect, columnCount: plan.fieldCount, ragged: plan.ragged,
      header: plan.header, endsWithDelimiter: plan.endsWithDelimiter)
  }

  func build(_ chunk: Chunk) throws -> CopyPiece {
    let parsed = parser.parse(chunk)
    defer { parsed.release() }
    text.removeAll()
    var rejects = parsed.malformed.map { plan.reject($0, parsed) }
    let matrix = RowMatrix(plan, parsed, chunk)
    var rows = Rows(plan.columns.count, capacity: matrix.rowCount)
    let malformed = rejects.count
    _ = matrix.withSpans { spans in
      chunk.withMemory { memory in
        guard let base = memory.baseAddress else { return }
        for row in 0..<matrix.rowCount {
          if writePlain(row, matrix, spans, memory, parsed, &rows) { continue }
          if let reject = write(row, matrix, spans, base, parsed, chunk, &rows) {
            rejects.append(reject)
          }
        }
      }
    }
    if malformed > 0, rejects.count > malformed { rejects.sort { $0.record < $1.record } }
    return CopyPiece(
      chunk: chunk, file: plan.file, firstRecord: chunk.firstRecord,
      recordCount: parsed.recordCount,
      text: text.bytes, rowEnds: rows.ends, places: rows.places, rejects: rejects,
      nulls: rows.nulls,
      tolerances: parsed.tolerances, byteEnd: chunk.byteOffset + chunk.inputByteCount,
      lineEnd: chunk.firstLine + chunk.lineBreaks, checksum: chunk.checksumAfter,
      isLast: chunk.isLast, unfinished: plan.unfinished(parsed, chunk))
  }

  /// Writes a row that needs no examination; false when it needs one, and nothing was written.
  @inline(__always)
  private func writePlain(
    _ row: Int, _ matrix: RowMatrix, _ spans: UnsafePointer<TextSpan>,
    _ memory: UnsafeRawBufferPointer, _ parsed: ParsedChunk, _ rows: inout Rows
  ) -> Bool {
    // The chunk's longest record may have fewer surplus fields than the table has columns for, or more.
    guard let plainRows, matrix.columnCount == fields.count else { return false }
    let index = matrix.recordIndex(row)
    let record = parsed.record(index)
    let bytes = UnsafeRawBufferPointer(rebasing: memory[Int(record.start)..<Int(record.end)])
    guard
      plainRows.write(bytes, spans + row * matrix.columnCount, memory, to: text, &rows.nulls)
    else { return false }
    rows.end(at: text.count, index, record, parsed)
    return true
  }

  /// The facts about the rows written so far.
  private struct Rows {
    var ends: [UInt32] = []
    var places: [KeyedRows.RecordExtent] = []
    var nulls: [Int]

    init(_ columns: Int, capacity: Int) {
      nulls = [Int](repeating: 0, count: columns)
      ends.reserveCapacity(capacity)
      places.reserveCapacity(capacity)
    }

    /// Notes where a row ends in the text, and the place of its record.
    @inline(__always)
    mutating func end(
      at count: Int, _ index: Int, _ record: RecordInfo, _ parsed: ParsedChunk
    ) {
      ends.append(UInt32(clamping: count))
      places.append(
        .init(
          record: index, bytes: Int(record.start)..<Int(record.end),
          line: parsed.line(ofRecord: index)))
    }
  }

  /// Writes a row, or returns the reject that it becomes.
  private func write(
    _ row: Int, _ matrix: RowMatrix, _ spans: UnsafePointer<TextSpan>, _ base: UnsafeRawPointer,
    _ parsed: ParsedChunk, _ chunk: Chunk, _ rows: inout Rows
  ) -> Reject? {
    let start = text.count
    let index = matrix.recordIndex(row)
    let own = spans + row * matrix.columnCount
    // The chunk's longest record may have fewer surplus fields than the table has columns for, or more.
    func span(_ column: Int) -> TextSpan { column < matrix.columnCount ? own[column] : .null }
    for column in fields.indices {
      let span = span(column)
      if column > 0 { text.end(0x09) }
      if span.isNull {
        if isNullable[column] {
          rows.nulls[column] += 1
          text.writeNull()
          continue
        }
      } else if span.length > 0 || !isKey[column] {
        guard let problem = write(span.bytes(from: base), column) else { continue }
        if problem != .misfit {
          return refuse(column, span, (nil, problem.reason(plan.columns[column].name)))
        }
      }
      return refuse(
        column, span,
        plan.misfit(span, column, parsed) ?? (
          nil, CopyField.Problem.misfit.reason(plan.columns[column].name)
        ))
    }
    for column in fields.count..<max(fields.count, matrix.columnCount) where !own[column].isNull {
      undo(before: fields.count)
      return plan.reject(index, parsed, chunk, own[column], nil, nil, Self.tooLong)
    }
    if !plan.rules.isEmpty, let rule = plan.rule(refusing: own, base, room: &room) {
      undo(before: fields.count)
      return plan.reject(index, parsed, chunk, by: rule)
    }
    text.end(0x0A)
    rows.end(at: text.count, index, parsed.record(index), parsed)
    return nil

    func refuse(
      _ column: Int, _ span: TextSpan, _ problem: (value: String?, reason: String)
    ) -> Reject {
      undo(before: column)
      return plan.reject(
        index, parsed, chunk, span, plan.columns[column].name, problem.value, problem.reason)
    }

    /// Removes the row's text, and its nulls from the counts.
    func undo(before column: Int) {
      text.cut(to: start)
      for before in 0..<column where span(before).isNull { rows.nulls[before] -= 1 }
    }
  }

  private static let tooLong =
    "the record has more fields than the table has columns for: those of surplus fields are called extra1, "
    + "extra2 and so on"

  /// Writes a field.
  @inline(__always)
  private func write(_ field: UnsafeRawBufferPointer, _ column: Int) -> CopyField.Problem? {
    switch shortcuts[column] {
    case .text: return text.writeEscaped(field) ? nil : .nul
    case .integer:
      if CopyField.isPlainInteger(field) {
        text.writePlain(field)
        return nil
      }
    case .number:
      if CopyField.isPlainNumber(field) {
        text.writePlain(field)
        return nil
      }
    case .none: break
    }
    guard let sent = sent[column] else { return fields[column].write(field, to: text) }
    if sent.write(field, to: text) { return nil }
    let start = text.count
    let problem = fields[column].write(field, to: text)
    if problem == nil { sent.note(field, text, from: start) }
    return problem
  }
}

@available(*, unavailable)
extension CopyPieceBuilder: Sendable {}

/// The records of one transaction.
struct CopyRange: Sendable {
  let firstRecord: Int
  let byteStart: Int
  private(set) var pieces: [CopyPiece] = []
  private(set) var recordCount = 0
  private(set) var rowCount = 0
  private(set) var rejects: [Reject] = []

  /// A range ends once its input has this many bytes, however long its records are, so that memory stays
  /// bounded.
  static let mostBytes = 16 << 20

  init(firstRecord: Int, byteStart: Int) {
    self.firstRecord = firstRecord
    self.byteStart = byteStart
  }

  mutating func append(_ piece: CopyPiece) {
    pieces.append(piece)
    recordCount += piece.recordCount
    rowCount += piece.rowCount
    rejects += piece.rejects
  }

  var byteEnd: Int { pieces.last?.byteEnd ?? byteStart }
  var lineEnd: Int { pieces.last?.lineEnd ?? 1 }
  var checksum: UInt64 { pieces.last?.checksum ?? 0 }

  /// True when the range ends here: the number of the last record is a multiple of the batch size, or the
  /// range has enough bytes. This depends on the input and the batch size alone.
  func isFull(batchRecords: Int) -> Bool {
    recordCount > 0
      && ((firstRecord - 1 + recordCount) % batchRecords == 0
        || byteEnd - byteStart >= Self.mostBytes)
  }

  /// Calls `body` with the text of some of the rows, one piece after the other.
  func forText<Failure: Error>(
    ofRows rows: Range<Int>, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var first = 0
    for piece in pieces {
      let own =
        max(
          rows.lowerBound, first)..<max(
          max(rows.lowerBound, first), min(rows.upperBound, first + piece.rowCount))
      if !own.isEmpty {
        let bytes = piece.bytes(ofRows: own.lowerBound - first..<own.upperBound - first)
        let result: Result<Void, Failure> = piece.text.withUnsafeBytes { text in
          Result { () throws(Failure) in try body(UnsafeRawBufferPointer(rebasing: text[bytes])) }
        }
        try result.get()
      }
      first += piece.rowCount
    }
  }

  /// The reject for a row that the server refuses.
  func reject(_ row: Int, reason: String) -> Reject? {
    var first = 0
    for piece in pieces {
      if row < first + piece.rowCount { return piece.reject(row - first, reason: reason) }
      first += piece.rowCount
    }
    return nil
  }
}
