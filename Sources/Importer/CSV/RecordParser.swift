import Engine

/// Finds the fields of chunks.
///
/// The common record is parsed with masks over 64 bytes, as in `RecordScan`: field ends are the delimiters
/// and newlines outside quotes. Some input is parsed byte by byte (`RecordParser+Careful.swift`): records
/// with text around quotes, the last bytes of a chunk, and dialects with more than a one-byte delimiter and
/// quotes written twice. Runs of blanks as delimiters have masks of their own
/// (`RecordParser+Whitespace.swift`).
///
/// An empty unquoted field is null, a quoted empty one an empty string. Blanks are kept, except
/// around quoted fields. `docs/csv.md` has all the rules.
///
/// Thread rule: one parser per thread; it reuses its buffers.
package final class RecordParser {
  package let dialect: Dialect
  package let columnCount: Int
  package let ragged: ImportOptions.Ragged
  let parsed: ParsedChunk
  /// Whether a record ends with a delimiter behind its last field.
  package let endsWithDelimiter: Bool
  let quote: UInt16
  private let header: [[UInt8]?]
  let scanner: BlockScanner

  /// - Parameters:
  ///   - columnCount: the fields of a well-formed record, at least 1.
  ///   - header: the header's fields; a record that repeats them is malformed. Empty: no record is compared.
  ///   - endsWithDelimiter: whether to drop an empty field after the last one.
  package init(
    dialect: Dialect, columnCount: Int, ragged: ImportOptions.Ragged = .reject,
    header: [[UInt8]?] = [],
    endsWithDelimiter: Bool = false
  ) {
    self.header = header.count == columnCount ? header : []
    self.endsWithDelimiter = endsWithDelimiter
    self.dialect = dialect
    self.columnCount = max(1, columnCount)
    self.ragged = ragged
    parsed = ParsedChunk(columnCount: columnCount)
    quote = dialect.quote.map(UInt16.init) ?? .max
    scanner = BlockScanner(dialect)
  }

  /// The state of the parser. Positions are relative to the chunk.
  struct Cursor {
    var recordStart = 0
    var fieldStart = 0
    /// Index of the next field.
    var field = 0
    /// The first field beyond the columns, if there is one.
    var surplusStart = 0
    /// Index of the current record.
    var record = 0
    var row = 0
    /// Line of the record's first byte.
    var line = 0
    /// Line ends inside quotes in this record.
    var breaksInside = 0
    /// The position of the next ill-formed UTF-8, or the number of bytes.
    var invalid = 0
    /// Used bytes of the scratch area, now and at the beginning of the record.
    var scratch = 0
    var scratchAtRecord = 0
    /// Memory for the results.
    var room: ParsedChunk.Room
    /// The fields of the next row.
    var rowFields: UnsafeMutablePointer<TextSpan> { room.fields + row * columnCount }
    let columnCount: Int
  }

  /// Parses a chunk. The result is valid until the next call.
  ///
  /// - Complexity: O(bytes of the chunk).
  package func parse(_ chunk: Chunk) -> ParsedChunk {
    parsed.begin(chunk)
    let bytes = UnsafeRawPointer(chunk.memory)
    var cursor = Cursor(room: parsed.room, columnCount: columnCount)
    cursor.invalid = UTF8Validation.firstInvalid(bytes, from: 0, count: chunk.byteCount)
    if dialect.isPlain {
      if dialect.isWhitespace {
        parseBlanks(chunk, &cursor)
      } else {
        parseBlocks(chunk, &cursor)
      }
    }
    while cursor.recordStart < chunk.byteCount { parseCarefully(chunk, &cursor) }
    parsed.rowCount = cursor.row
    parsed.recordCount = cursor.record
    if !header.isEmpty { parsed.removeRepeats(of: header) }
    return parsed
  }

  /// The state that one block passes to the next.
  private struct Carry {
    /// All ones: inside quotes.
    var inside: UInt64 = 0
    /// 1 when a quote in the next byte would open a field, or double the previous one.
    var mayOpen: UInt64 = 1
    /// Whether there were only blanks since the field began.
    var beginsField = true
    var closing: UInt64 = 0
    var carriageReturn: UInt64 = 0
    /// Not zero when the current field may contain doubled quotes.
    var doubled: UInt64 = 0
  }

  private func parseBlocks(_ chunk: Chunk, _ cursor: inout Cursor) {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    var carry = Carry()
    var position = 0
    while count - position >= 64 {
      var marks = scanner.marks(bytes + position)
      if marks.quotes | carry.inside | carry.closing == 0 {
        position = parsePlainBlocks(chunk, &cursor, from: position, marks, &carry)
        continue
      }
      let newlines = marks.lineFeeds | marks.carriageReturns
      var inside = BlockScanner.parity(marks.quotes) ^ carry.inside
      let boundaries = marks.delimiters | newlines | marks.quotes
      var odd: UInt64 = 0
      var stray: UInt64 = 0
      if marks.quotes & inside & ~((boundaries &<< 1) | carry.mayOpen) != 0 {
        (odd, stray) = takeOutStrayQuotes(&marks, bytes + position, carry)
        inside = BlockScanner.parity(marks.quotes) ^ carry.inside
      }
      let opening = marks.quotes & inside
      let closing = marks.quotes & ~inside
      let separators = marks.delimiters | newlines
      let afterReturn = (marks.carriageReturns &<< 1) | carry.carriageReturn
      let lineEnds = marks.carriageReturns | (marks.lineFeeds & ~afterReturn)
      var ends = (marks.delimiters | lineEnds) & ~inside
      // Text after a closing quote, or blanks before an opening one. The masks are right before this
      // position.
      let uncommon = odd | (((closing &<< 1) | carry.closing) & ~(separators | marks.quotes))
      if uncommon != 0 {
        let before = (uncommon & (0 &- uncommon)) &- 1
        ends &= before
        stray &= before
      }
      if stray != 0 { noteStrayQuote(chunk, at: position + stray.trailingZeroBitCount, cursor) }
      let doubled = opening & ((marks.quotes &<< 1) | carry.closing)
      finishFields(
        chunk, &cursor, position: position, ends: ends, lineEnds: lineEnds,
        breaksInside: lineEnds & inside,
        doubled: doubled, beginsDoubled: carry.doubled != 0)
      if uncommon != 0 {
        parseCarefully(chunk, &cursor)
        position = cursor.recordStart
        carry = Carry()
        continue
      }
      carry.inside = 0 &- (inside >> 63)
      carry.mayOpen = (separators | closing) >> 63
      carry.closing = closing >> 63
      carry.beginsField = beginsField(marks, inside, bytes + position, carry.beginsField)
      carry.carriageReturn = marks.carriageReturns >> 63
      // A field that ends here needs no more work.
      let ended = UInt64.max >> UInt64(ends.leadingZeroBitCount)
      carry.doubled = ends == 0 ? doubled | carry.doubled : doubled & ~ended
      position += 64
    }
  }

  /// Parses blocks without quotes whose fields need no inspection, up to a block that has some.
  ///
  /// - Parameters:
  ///   - start: the beginning of such a block, outside quotes.
  ///   - first: the marks of that block.
  /// - Returns: the end of the blocks.
  @inline(never)
  private func parsePlainBlocks(
    _ chunk: Chunk, _ cursor: inout Cursor, from start: Int, _ first: BlockMarks,
    _ carry: inout Carry
  ) -> Int {
    let bytes = UnsafeRawPointer(chunk.memory)
    var position = start
    var marks = first
    repeat {
      let afterReturn = (marks.carriageReturns &<< 1) | carry.carriageReturn
      finishPlainFields(
        chunk, &cursor, position: position, delimiters: marks.delimiters,
        lineEnds: marks.carriageReturns | (marks.lineFeeds & ~afterReturn))
      carry.carriageReturn = marks.carriageReturns >> 63
      position += 64
      if chunk.byteCount - position < 64 { break }
      marks = scanner.likelyPlainMarks(bytes + position)
    } while marks.quotes == 0
    let state = dialect.state(
      behind: bytes, from: start, to: position, before: carry.beginsField ? .blankStart : .unquoted)
    carry.mayOpen = state == .fieldStart ? 1 : 0
    carry.beginsField = state.beginsField
    return position
  }

  /// Stores the fields that end in a block without quotes, and finishes the records that end there.
  @inline(__always)
  private func finishPlainFields(
    _ chunk: Chunk, _ cursor: inout Cursor, position: Int, delimiters: UInt64, lineEnds: UInt64
  ) {
    let columnCount = cursor.columnCount
    var (delimiters, lineEnds) = (delimiters, lineEnds)
    var row = cursor.rowFields
    var (field, start) = (cursor.field, cursor.fieldStart)
    while true {
      // Without another line end, all delimiters are before it.
      let line = lineEnds & (0 &- lineEnds)
      var ends = delimiters & (line &- 1) | line
      lineEnds ^= line
      delimiters &= ~ends
      while ends != 0 {
        let end = position &+ ends.trailingZeroBitCount
        ends &= ends &- 1
        let span = TextSpan(
          offset: end == start ? .max : UInt32(truncatingIfNeeded: start),
          length: UInt32(truncatingIfNeeded: end &- start))
        if field < columnCount {
          row[field] = span
        } else {
          cursor.field = field
          addSurplus(span, start: start, &cursor)
        }
        field &+= 1
        start = end &+ 1
      }
      cursor.field = field
      if line == 0 { break }
      finishRecord(chunk, &cursor, end: start &- 1)
      row = cursor.rowFields
      (field, start) = (cursor.field, cursor.fieldStart)
    }
    cursor.fieldStart = start
  }

  /// Removes the quotes that are literal characters of unquoted fields from a block's marks.
  ///
  /// - Returns: the quotes that open a field after blanks, and the removed ones.
  @inline(never)
  private func takeOutStrayQuotes(
    _ marks: inout BlockMarks, _ bytes: UnsafeRawPointer, _ carry: Carry
  ) -> (behindBlanks: UInt64, stray: UInt64) {
    let openings = BlockScanner.openings(
      marks, bytes, beginsField: carry.beginsField, dialect: dialect)
    let all = marks.quotes
    marks.quotes = BlockScanner.structuralQuotes(
      marks, isInside: carry.inside != 0, openings: openings.all | carry.mayOpen)
    let inside = BlockScanner.parity(marks.quotes) ^ carry.inside
    let direct = openings.direct | carry.mayOpen | (marks.quotes &<< 1)
    return (marks.quotes & inside & openings.all & ~direct, all & ~marks.quotes)
  }

  @inline(never)
  func noteStrayQuote(_ chunk: Chunk, at position: Int, _ cursor: Cursor) {
    guard parsed.tolerances[.strayQuotes] == nil else { return }
    parsed.tolerances.note(.strayQuotes, line: place(of: position, chunk, cursor).line)
  }

  /// Whether the byte behind a block is still at the start of a field, or in the blanks there.
  @inline(__always)
  private func beginsField(
    _ marks: BlockMarks, _ inside: UInt64, _ bytes: UnsafeRawPointer, _ before: Bool
  ) -> Bool {
    if (inside | marks.quotes) >> 63 != 0 { return false }
    let separators = marks.delimiters | marks.lineFeeds | marks.carriageReturns
    if separators >> 63 != 0 { return true }
    guard dialect.isBlank(bytes.load(fromByteOffset: 63, as: UInt8.self)) else { return false }
    return BlockScanner.endsBlank(marks, bytes, beginsField: before, dialect: dialect)
  }

  /// Stores the fields that end in a block, and finishes the records that end there.
  ///
  /// - Parameters:
  ///   - doubled: the second ones of doubled quotes.
  ///   - beginsDoubled: whether there was one in a field that began in an earlier block.
  @inline(__always)
  private func finishFields(
    _ chunk: Chunk, _ cursor: inout Cursor, position: Int, ends: UInt64, lineEnds: UInt64,
    breaksInside: UInt64, doubled: UInt64, beginsDoubled: Bool
  ) {
    let bytes = UnsafeRawPointer(chunk.memory)
    let columnCount = cursor.columnCount
    var breaks = breaksInside
    var escapes = doubled
    var hasEscapes = beginsDoubled
    var remaining = ends
    var row = cursor.rowFields
    var (field, start) = (cursor.field, cursor.fieldStart)
    while remaining != 0 {
      let bit = UInt64(remaining.trailingZeroBitCount)
      remaining &= remaining &- 1
      let end = position &+ Int(bit)
      var span = TextSpan(
        offset: end == start ? .max : UInt32(truncatingIfNeeded: start),
        length: UInt32(truncatingIfNeeded: end &- start))
      if UInt16(bytes.load(fromByteOffset: start, as: UInt8.self)) == quote {
        span.offset &+= 1
        span.length &-= 2
        let own = escapes & ((1 &<< bit) &- 1)
        escapes ^= own
        if hasEscapes || own != 0 { span = unescaped(span, chunk, &cursor) }
      }
      hasEscapes = false
      if field < columnCount {
        row[field] = span
      } else {
        cursor.field = field
        addSurplus(span, start: start, &cursor)
      }
      field &+= 1
      start = end &+ 1
      if (lineEnds &>> bit) & 1 != 0 {
        let before = breaks & ((1 &<< bit) &- 1)
        breaks ^= before
        if before != 0 { cursor.breaksInside &+= before.nonzeroBitCount }
        cursor.field = field
        finishRecord(chunk, &cursor, end: end)
        row = cursor.rowFields
        (field, start) = (cursor.field, cursor.fieldStart)
      }
    }
    (cursor.field, cursor.fieldStart) = (field, start)
    if breaks != 0 { cursor.breaksInside &+= breaks.nonzeroBitCount }
  }

  /// Finishes the record whose last field ends at `end`, and begins the next behind the record end.
  @inline(__always)
  func finishRecord(
    _ chunk: Chunk, _ cursor: inout Cursor, end: Int, problem: Problem? = nil
  ) {
    if end > cursor.recordStart || chunk.blankLinesAreRecords {
      let isCommon =
        problem == nil && cursor.field == columnCount && cursor.invalid >= end && !endsWithDelimiter
      let isRow = isCommon || acceptsUncommon(chunk, &cursor, end: end, problem: problem)
      store(&cursor, end: end, isRow: isRow)
    } else {
      noteBlankLine(chunk, cursor)
    }
    beginRecord(chunk, &cursor, end: end)
  }

  @inline(never)
  private func noteBlankLine(_ chunk: Chunk, _ cursor: Cursor) {
    parsed.tolerances.note(.blankLines, line: chunk.firstLine &+ cursor.line)
  }

  /// Begins the next record behind the record end at `end`.
  @inline(__always)
  func beginRecord(_ chunk: Chunk, _ cursor: inout Cursor, end: Int) {
    var next = end &+ 1
    let bytes = UnsafeRawPointer(chunk.memory)
    if next < chunk.byteCount, bytes.load(fromByteOffset: end, as: UInt8.self) == 0x0D,
      bytes.load(fromByteOffset: next, as: UInt8.self) == 0x0A
    {
      next &+= 1
    }
    cursor.line &+= 1 &+ cursor.breaksInside
    cursor.breaksInside = 0
    cursor.scratchAtRecord = cursor.scratch
    cursor.recordStart = next
    cursor.fieldStart = next
    cursor.field = 0
  }

  @inline(__always)
  func store(_ cursor: inout Cursor, end: Int, isRow: Bool) {
    cursor.room.records[cursor.record] = RecordInfo(
      start: UInt32(truncatingIfNeeded: cursor.recordStart),
      end: UInt32(truncatingIfNeeded: end),
      line: UInt32(truncatingIfNeeded: cursor.line),
      fieldCount: UInt32(truncatingIfNeeded: cursor.field),
      row: isRow ? UInt32(truncatingIfNeeded: cursor.row) : .max)
    if isRow {
      cursor.room.recordOfRow[cursor.row] = UInt32(truncatingIfNeeded: cursor.record)
      cursor.row &+= 1
    }
    cursor.record &+= 1
    if cursor.row >= cursor.room.rows || cursor.record >= cursor.room.recordCount {
      cursor.room = parsed.grow(rows: cursor.row + 1, records: cursor.record + 1)
    }
  }
}

@available(*, unavailable)
extension RecordParser: Sendable {}
