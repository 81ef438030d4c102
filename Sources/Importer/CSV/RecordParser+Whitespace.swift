import Engine

// Runs of blanks as delimiters: a field is a run of other bytes. Blanks at the beginning and end of a line
// separate nothing, and a line of nothing else is blank.

extension RecordParser {
  /// Parses blocks of 64 bytes, up to the last bytes of the chunk. Records with quotes are parsed byte by
  /// byte.
  func parseBlanks(_ chunk: Chunk, _ cursor: inout Cursor) {
    let bytes = UnsafeRawPointer(chunk.memory)
    var position = 0
    // 1 when the byte before the block is a field's.
    var isText: UInt64 = 0
    var carriageReturn: UInt64 = 0
    while chunk.byteCount - position >= 64 {
      let marks = scanner.marks(bytes + position)
      let newlines = marks.lineFeeds | marks.carriageReturns
      let texts = ~(marks.delimiters | scanner.tabs(bytes + position) | newlines)
      let behindTexts = (texts &<< 1) | isText
      let afterReturn = (marks.carriageReturns &<< 1) | carriageReturn
      var lineEnds = marks.carriageReturns | (marks.lineFeeds & ~afterReturn)
      var ends = ~texts & behindTexts
      if marks.quotes != 0 {
        // The masks are right before the first quote.
        let before = (marks.quotes & (0 &- marks.quotes)) &- 1
        lineEnds &= before
        ends &= before
      }
      finishFields(
        chunk, &cursor, position: position, begins: texts & ~behindTexts, ends: ends,
        lineEnds: lineEnds)
      if marks.quotes != 0 {
        parseCarefully(chunk, &cursor)
        position = cursor.recordStart
        (isText, carriageReturn) = (0, 0)
        continue
      }
      isText = texts >> 63
      carriageReturn = marks.carriageReturns >> 63
      position += 64
    }
  }

  /// Stores the fields that end in a block, and finishes the records that end there.
  ///
  /// - Parameters:
  ///   - begins: the first bytes of the fields that begin in the block.
  ///   - ends: the bytes after the last ones of fields.
  @inline(__always)
  private func finishFields(
    _ chunk: Chunk, _ cursor: inout Cursor, position: Int, begins: UInt64, ends: UInt64,
    lineEnds: UInt64
  ) {
    let columnCount = cursor.columnCount
    var (begins, ends, lineEnds) = (begins, ends, lineEnds)
    var row = cursor.rowFields
    var (field, start) = (cursor.field, cursor.fieldStart)
    // A field that ends before any begins has begun in an earlier block.
    if ends == 0 || begins & ((ends & (0 &- ends)) &- 1) != 0 {
      Self.takeFirst(&begins, position, &start)
    }
    while true {
      // Without another line end, all fields are before it.
      let line = lineEnds & (0 &- lineEnds)
      var own = ends & (line &- 1 | line)
      lineEnds ^= line
      ends &= ~own
      while own != 0 {
        let end = position &+ own.trailingZeroBitCount
        own &= own &- 1
        let span = TextSpan(
          offset: UInt32(truncatingIfNeeded: start),
          length: UInt32(truncatingIfNeeded: end &- start))
        if field < columnCount {
          row[field] = span
        } else {
          cursor.field = field
          addSurplus(span, start: start, &cursor)
        }
        field &+= 1
        Self.takeFirst(&begins, position, &start)
      }
      cursor.field = field
      if line == 0 { break }
      let end = position &+ line.trailingZeroBitCount
      if field > 0 {
        finishRecord(chunk, &cursor, end: end)
      } else {
        finishBlankLine(chunk, &cursor, end: end)
      }
      row = cursor.rowFields
      field = 0
    }
    cursor.fieldStart = start
  }

  @inline(__always)
  private static func takeFirst(_ begins: inout UInt64, _ position: Int, _ start: inout Int) {
    if begins == 0 { return }
    start = position &+ begins.trailingZeroBitCount
    begins &= begins &- 1
  }

  /// Finishes a line of blanks: a null in a table of one column, elsewhere no record.
  @inline(never)
  func finishBlankLine(_ chunk: Chunk, _ cursor: inout Cursor, end: Int) {
    if chunk.blankLinesAreRecords {
      cursor.rowFields[0] = .null
      cursor.field = 1
    } else {
      cursor.recordStart = end
    }
    finishRecord(chunk, &cursor, end: end)
  }
}
