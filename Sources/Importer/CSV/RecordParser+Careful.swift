import Engine

// What is uncommon, byte by byte: every rule of the grammar in the order it is written down.

extension RecordParser {
  /// A problem with the quotes of a record, and where it is.
  struct Problem {
    let reason: MalformedReason
    let position: Int
  }

  /// Parses the record at `cursor.recordStart` from its first byte, whatever was done of it before.
  @inline(never)
  func parseCarefully(_ chunk: Chunk, _ cursor: inout Cursor) {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    cursor.field = 0
    cursor.breaksInside = 0
    cursor.scratch = cursor.scratchAtRecord
    dropSurplus(ofRow: cursor.row)
    var problem: Problem?
    var position = cursor.recordStart
    while true {
      let start = position
      var span: TextSpan
      if position < count, UInt16(bytes.load(fromByteOffset: position, as: UInt8.self)) == quote {
        span = quotedField(chunk, &cursor, &position, &problem)
      } else {
        position = fieldEnd(bytes, from: position, count: count)
        span = position == start ? .null : Self.span(from: start, to: position)
      }
      if cursor.field < columnCount {
        parsed.fields[cursor.row * columnCount + cursor.field] = span
      } else {
        addSurplus(span, start: start, &cursor)
      }
      cursor.field += 1
      guard position < count,
        bytes.load(fromByteOffset: position, as: UInt8.self) == dialect.delimiter
      else { break }
      position += 1
    }
    finishRecord(chunk, &cursor, end: position, problem: problem)
  }

  /// Reads a quoted field from its opening quote; `position` is left at the delimiter or newline
  /// behind it, or at the end of the chunk.
  private func quotedField(
    _ chunk: Chunk, _ cursor: inout Cursor, _ position: inout Int, _ problem: inout Problem?
  ) -> TextSpan {
    let bytes = UnsafeRawPointer(chunk.memory)
    let count = chunk.byteCount
    let opening = position
    var isDoubled = false
    var previous: UInt8 = 0
    position += 1
    while position < count {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if UInt16(byte) == quote {
        guard position + 1 < count,
          UInt16(bytes.load(fromByteOffset: position + 1, as: UInt8.self)) == quote
        else { break }
        isDoubled = true
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
    let end = fieldEnd(bytes, from: position, count: count)
    if end > position {
      problem = problem ?? Problem(reason: .textAfterClosingQuote, position: position)
      position = end
    }
    return isDoubled ? unescaped(span, chunk, &cursor) : span
  }

  /// The next delimiter or newline.
  private func fieldEnd(_ bytes: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    let delimiter = dialect.delimiter
    var position = start
    while position < count {
      let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
      if byte == delimiter || byte == 0x0A || byte == 0x0D { break }
      position += 1
    }
    return position
  }

  private static func span(from start: Int, to end: Int) -> TextSpan {
    TextSpan(
      offset: UInt32(truncatingIfNeeded: start), length: UInt32(truncatingIfNeeded: end - start))
  }

  /// The field without its doubled quotes, in the scratch area; the same span when it has none.
  ///
  /// A field loses a quote by it and has lost two around it, so the fields of a chunk always fit
  /// its scratch area, which is as large as the chunk.
  @inline(never)
  func unescaped(_ span: TextSpan, _ chunk: Chunk, _ cursor: inout Cursor) -> TextSpan {
    let source = UnsafeRawBufferPointer(
      start: chunk.memory + Int(span.offset), count: Int(span.length))
    guard source.contains(where: { UInt16($0) == quote }) else { return span }
    let room = chunk.byteCount - cursor.scratch
    guard room >= source.count else { return span }
    let target = UnsafeMutableRawBufferPointer(
      start: chunk.memory + chunk.scratchOffset + cursor.scratch, count: room)
    var written = 0
    var isSecond = false
    for byte in source {
      if UInt16(byte) == quote {
        isSecond.toggle()
        if !isSecond { continue }
      }
      target[written] = byte
      written += 1
    }
    let offset = chunk.scratchOffset + cursor.scratch
    cursor.scratch += written
    return Self.span(from: offset, to: offset + written)
  }

  // MARK: Records that are not as they should be

  /// Whether the record, which has another number of fields or ill-formed text, is a row all the
  /// same; it is filled with nulls then. Otherwise it is noted as malformed.
  @inline(never)
  func acceptsUncommon(
    _ chunk: Chunk, _ cursor: inout Cursor, end: Int, problem: Problem?
  ) -> Bool {
    var reason: MalformedReason?
    var position = cursor.recordStart
    if let problem {
      reason = problem.reason
      position = problem.position
    } else if cursor.invalid < end {
      reason = .invalidUTF8
      position = cursor.invalid
    } else if cursor.field < columnCount && ragged == .reject {
      reason = .tooFewFields(expected: columnCount, found: cursor.field)
    } else if cursor.field > maximumFields {
      reason = .tooManyFields(expected: columnCount, found: cursor.field)
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
    let row = parsed.fields + cursor.row * columnCount
    var field = cursor.field
    while field < columnCount {
      row[field] = .null
      field += 1
    }
    return true
  }

  private func note(
    _ reason: MalformedReason, at position: Int, _ chunk: Chunk, _ cursor: Cursor
  ) {
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
    parsed.malformed.append(
      MalformedRecord(
        record: cursor.record, reason: reason, byteOffset: chunk.byteOffset &+ position,
        line: chunk.firstLine &+ line, column: position - lineStart + 1))
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
