import Engine

// Handles uncommon records byte by byte: every rule of the grammar in the documented order.

extension RecordParser {
  /// A problem with the quotes of a record, and its position.
  struct Problem {
    let reason: MalformedReason
    let position: Int
  }

  /// Parses the record at `cursor.recordStart` from its first byte, whatever was parsed of it before.
  @inline(never)
  func parseCarefully(_ chunk: Chunk, _ cursor: inout Cursor) {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    cursor.field = 0
    cursor.breaksInside = 0
    cursor.scratch = cursor.scratchAtRecord
    dropSurplus(ofRow: cursor.row)
    var position = passDelimiters(bytes, from: cursor.recordStart, count: count)
    if case .yes? = dialect.comment?.match(bytes, at: position, count: count) {
      passComment(chunk, &cursor, from: position)
      return
    }
    if dialect.isWhitespace, isLineEnd(bytes, at: position, count: count) {
      finishBlankLine(chunk, &cursor, end: position)
      return
    }
    var problem: Problem?
    while true {
      let start = position
      let span = field(chunk, &cursor, &position, &problem)
      if cursor.field < columnCount {
        cursor.rowFields[cursor.field] = span
      } else {
        addSurplus(span, start: start, &cursor)
      }
      cursor.field += 1
      if dialect.isWhitespace {
        position = passDelimiters(bytes, from: position, count: count)
        if isLineEnd(bytes, at: position, count: count) { break }
      } else {
        guard case .yes = dialect.delimiter.match(bytes, at: position, count: count) else { break }
        position += dialect.delimiter.count
      }
    }
    finishRecord(chunk, &cursor, end: position, problem: problem)
  }

  /// Reads a field; leaves `position` at the delimiter or newline behind it, or at the end of the chunk.
  private func field(
    _ chunk: Chunk, _ cursor: inout Cursor, _ position: inout Int, _ problem: inout Problem?
  ) -> TextSpan {
    let bytes = UnsafeRawPointer(chunk.memory)
    let start = position
    let opening = skipBlanks(bytes, from: start, count: chunk.byteCount)
    if opening < chunk.byteCount,
      UInt16(bytes.load(fromByteOffset: opening, as: UInt8.self)) == quote
    {
      position = opening
      if opening > start { noteBlanks(at: start, chunk, cursor) }
      return quotedField(chunk, &cursor, &position, &problem)
    }
    var found = Unquoted()
    position = fieldEnd(chunk, from: start, &cursor, &found)
    if let stray = found.quote { noteStrayQuote(chunk, at: stray, cursor) }
    if position == start { return .null }
    let span = Self.span(from: start, to: position)
    return found.hasEscapes ? unescaped(span, chunk, &cursor, isQuoted: false) : span
  }

  /// The end of the blanks at `start` where they separate fields; elsewhere `start`.
  private func passDelimiters(_ bytes: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    var position = start
    while position < count,
      dialect.isSeparatingBlank(bytes.load(fromByteOffset: position, as: UInt8.self))
    { position += 1 }
    return position
  }

  private func isLineEnd(_ bytes: UnsafeRawPointer, at position: Int, count: Int) -> Bool {
    guard position < count else { return true }
    let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
    return byte == 0x0A || byte == 0x0D
  }

  private func skipBlanks(_ bytes: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    var position = start
    while position < count,
      dialect.isBlank(bytes.load(fromByteOffset: position, as: UInt8.self))
    { position += 1 }
    return position
  }

  private func noteBlanks(at position: Int, _ chunk: Chunk, _ cursor: Cursor) {
    guard parsed.tolerances[.blanksAroundQuotes] == nil else { return }
    parsed.tolerances.note(
      .blanksAroundQuotes, line: place(of: position, chunk, cursor).line)
  }

  /// Reads a quoted field from its opening quote; leaves `position` at the delimiter or newline behind it, or
  /// at the end of the chunk.
  private func quotedField(
    _ chunk: Chunk, _ cursor: inout Cursor, _ position: inout Int, _ problem: inout Problem?
  ) -> TextSpan {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    let opening = position
    var isEscaped = false
    var previous: UInt8 = 0
    position += 1
    while position < count {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if byte == dialect.ownEscape {
        let length = escapedLength(chunk, at: position + 1, &cursor)
        if length > 0 { isEscaped = true }
        position += 1 + length
        previous = 0
        continue
      }
      if UInt16(byte) == quote {
        guard dialect.doublesQuotes, position + 1 < count,
          UInt16(bytes.load(fromByteOffset: position + 1, as: UInt8.self)) == quote
        else { break }
        isEscaped = true
        position += 1
      } else if byte == 0x0D || (byte == 0x0A && previous != 0x0D) {
        cursor.breaksInside += 1
      }
      previous = byte
      position += 1
    }
    guard position < count else {
      problem = problem ?? Problem(reason: .unterminatedQuote, position: opening)
      return Self.span(from: opening + 1, to: count)
    }
    let span = Self.span(from: opening + 1, to: position)
    position += 1
    let rest = passRest(chunk, &cursor, &position, &problem)
    guard let rest else { return isEscaped ? unescaped(span, chunk, &cursor) : span }
    // Back to back in the scratch area, of which they take no more bytes than the field has.
    let inside = copied(isEscaped ? unescaped(span, chunk, &cursor) : span, chunk, &cursor)
    let behind = copied(unescaped(rest, chunk, &cursor, isQuoted: false), chunk, &cursor)
    return TextSpan(offset: inside.offset, length: inside.length + behind.length)
  }

  /// Moves from a closing quote to the end of the field: only blanks may be there, or text if it is kept.
  ///
  /// - Returns: the text that is kept, including the blanks before it; nil when there is none.
  private func passRest(
    _ chunk: Chunk, _ cursor: inout Cursor, _ position: inout Int, _ problem: inout Problem?
  ) -> TextSpan? {
    let closed = position
    let text = skipBlanks(chunk.memory, from: closed, count: chunk.byteCount)
    var found = Unquoted()
    position = fieldEnd(chunk, from: text, &cursor, &found)
    if position > text {
      if dialect.keepsTextBehindQuotes {
        parsed.tolerances.note(.textBehindQuotes, line: place(of: text, chunk, cursor).line)
        return Self.span(from: closed, to: position)
      }
      problem = problem ?? Problem(reason: .textAfterClosingQuote, position: text)
    } else if text > closed {
      noteBlanks(at: closed, chunk, cursor)
    }
    return nil
  }

  /// Copies a part of a field to the scratch area, unless it is there already.
  private func copied(_ span: TextSpan, _ chunk: Chunk, _ cursor: inout Cursor) -> TextSpan {
    if Int(span.offset) >= chunk.scratchOffset { return span }
    let offset = chunk.scratchOffset + cursor.scratch
    (chunk.memory + offset).copyMemory(
      from: chunk.memory + Int(span.offset), byteCount: Int(span.length))
    cursor.scratch += Int(span.length)
    return TextSpan(offset: UInt32(truncatingIfNeeded: offset), length: span.length)
  }

  /// The facts about an unquoted field, apart from its end.
  private struct Unquoted {
    /// The position of its first quote.
    var quote: Int?
    var hasEscapes = false
  }

  /// The next delimiter or newline that is not escaped.
  private func fieldEnd(
    _ chunk: Chunk, from start: Int, _ cursor: inout Cursor, _ found: inout Unquoted
  ) -> Int {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    let delimiter = dialect.delimiter
    let first = delimiter.first
    let ownEscape = dialect.ownEscape
    let isWhitespace = dialect.isWhitespace
    var position = start
    while position < count {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if byte == 0x0A || byte == 0x0D || (isWhitespace && byte == 0x09) { break }
      if byte == first, case .yes = delimiter.match(bytes, at: position, count: count) { break }
      if UInt16(byte) == quote, found.quote == nil { found.quote = position }
      if byte == ownEscape {
        let length = escapedLength(chunk, at: position + 1, &cursor)
        if length > 0 { found.hasEscapes = true }
        position += length
      }
      position += 1
    }
    return position
  }

  /// The length of the text that an escape before `position` makes literal; counts a line end in it.
  private func escapedLength(_ chunk: Chunk, at position: Int, _ cursor: inout Cursor) -> Int {
    // All bytes of a record are in its chunk.
    let length =
      dialect.escapedLength(chunk.memory, at: position, count: chunk.byteCount, atEnd: true) ?? 0
    if length > 0 {
      let byte = chunk.memory.load(fromByteOffset: position, as: UInt8.self)
      if byte == 0x0A || byte == 0x0D { cursor.breaksInside += 1 }
    }
    return length
  }

  /// Skips a comment line and its record end. One that may be a record is malformed.
  private func passComment(_ chunk: Chunk, _ cursor: inout Cursor, from start: Int) {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    var position = start + (dialect.comment?.count ?? 0)
    while position < count, !isLineEnd(bytes, at: position, count: count) { position += 1 }
    if dialect.mayBeRecord(bytes, from: start, to: position) {
      cursor.field = dialect.rawFields(bytes, from: start, to: position)
      let problem = Problem(
        reason: .possibleComment(dialect.comment?.text ?? ""), position: cursor.recordStart)
      finishRecord(chunk, &cursor, end: position, problem: problem)
      return
    }
    parsed.tolerances.note(.comments, line: chunk.firstLine &+ cursor.line)
    if cursor.invalid < position {
      cursor.invalid = UTF8Validation.firstInvalid(bytes, from: position, count: count)
    }
    beginRecord(chunk, &cursor, end: position)
  }

  private static func span(from start: Int, to end: Int) -> TextSpan {
    TextSpan(
      offset: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: end - start))
  }

  // MARK: Irregular records

  /// Returns whether a record with another number of fields or ill-formed text is accepted as a row, which is
  /// then filled with nulls. Otherwise it is recorded as malformed.
  @inline(never)
  func acceptsUncommon(
    _ chunk: Chunk, _ cursor: inout Cursor, end: Int, problem: Problem?
  ) -> Bool {
    var reason: MalformedReason?
    var position = cursor.recordStart
    let fields = endsWithDelimiter ? withoutTrailing(chunk, cursor, end: end) : cursor.field
    if let problem {
      reason = problem.reason
      position = problem.position
    } else if cursor.invalid < end {
      reason = chunk.encoding == .utf8 ? .invalidUTF8 : .invalidText(chunk.encoding)
      position = cursor.invalid
    } else if fields < columnCount && ragged == .reject {
      reason = .tooFewFields(expected: columnCount, found: fields)
    } else if fields > maximumFields {
      reason = .tooManyFields(expected: columnCount, found: fields)
      position = cursor.surplusStart
    }
    if cursor.invalid < end {
      cursor.invalid = UTF8Validation.firstInvalid(
        chunk.memory, from: end, count: chunk.byteCount)
    }
    if let reason {
      note(reason, at: position, chunk, cursor)
      dropSurplus(ofRow: cursor.row)
      return false
    }
    if fields < cursor.field {
      parsed.tolerances.note(.trailingDelimiters, line: chunk.firstLine &+ cursor.line)
      if parsed.surplus.last?.row == cursor.row { parsed.surplus.removeLast() }
    }
    let row = cursor.rowFields
    var field = fields
    while field < columnCount {
      row[field] = .null
      field += 1
    }
    return true
  }

  /// The number of fields without an empty one after the last delimiter.
  private func withoutTrailing(_ chunk: Chunk, _ cursor: Cursor, end: Int) -> Int {
    let last = cursor.field - 1
    let isEmpty: Bool
    if last < columnCount {
      isEmpty = last > 0 && cursor.rowFields[last].isNull
    } else if last == columnCount {
      isEmpty = cursor.surplusStart == end
    } else {
      isEmpty = parsed.surplus.last.map { $0.row == cursor.row && $0.span.isNull } ?? false
    }
    return isEmpty ? last : cursor.field
  }

  /// The line and the column, both 1-based, of a position in the current record.
  func place(of position: Int, _ chunk: Chunk, _ cursor: Cursor) -> (line: Int, column: Int) {
    var line = cursor.line
    var lineStart = cursor.recordStart
    var index = cursor.recordStart
    while index < position {
      let byte = chunk.memory.load(fromByteOffset: index, as: UInt8.self)
      let isPair =
        byte == 0x0D && index + 1 < position
        && chunk.memory.load(fromByteOffset: index + 1, as: UInt8.self) == 0x0A
      index += isPair ? 2 : 1
      if byte == 0x0D || byte == 0x0A {
        line += 1
        lineStart = index
      }
    }
    return (
      chunk.firstLine &+ line, chunk.inputLength(from: min(lineStart, position), to: position) + 1
    )
  }

  private func note(
    _ reason: MalformedReason, at position: Int, _ chunk: Chunk, _ cursor: Cursor
  ) {
    let place = place(of: position, chunk, cursor)
    parsed.malformed.append(
      MalformedRecord(
        record: cursor.record, reason: reason, byteOffset: chunk.inputOffset(position),
        line: place.line, column: place.column))
  }

  // MARK: Surplus fields

  private var maximumFields: Int {
    ragged == .extend ? max(columnCount, Header.maximumColumns) : columnCount
  }

  @inline(never)
  func addSurplus(_ span: TextSpan, start: Int, _ cursor: inout Cursor) {
    if cursor.field == columnCount { cursor.surplusStart = start }
    guard cursor.field < maximumFields else { return }
    parsed.surplus.append(
      SurplusField(row: cursor.row, index: cursor.field - columnCount, span: span))
  }

  private func dropSurplus(ofRow row: Int) {
    while let last = parsed.surplus.last, last.row == row { parsed.surplus.removeLast() }
  }
}
