// Byte by byte: bytes that do not fill a block, and dialects that masks cannot handle.

extension RecordScan {
  enum Step {
    case done
    /// A line has ended, and its record is counted.
    case ended
    /// The available bytes do not determine the next step.
    case waiting
    case recordTooLong
  }

  /// Takes the next byte, or several that belong together.
  mutating func step(_ bytes: UnsafeRawPointer, count: Int, atEnd: Bool) -> Step {
    let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
    if byte == 0x0D || byte == 0x0A { return newline(byte, bytes) }
    if beginsLine, let comment = dialect.comment {
      switch comment.match(bytes, at: position, count: count) {
      case .yes:
        state = .comment
        commentStart = position
        return take(comment.count)
      case .partly where !atEnd: return .waiting
      default: break
      }
    }
    if state == .comment { return take(1) }
    if state != .quoted, dialect.isSeparatingBlank(byte) {
      state = beginsLine ? .blankStart : .fieldStart
      return take(1)
    }
    if state != .quoted, byte == dialect.delimiter.first {
      switch dialect.delimiter.match(bytes, at: position, count: count) {
      case .yes:
        state = .fieldStart
        return take(dialect.delimiter.count)
      case .partly where !atEnd: return .waiting
      default: break
      }
    }
    if byte == dialect.ownEscape { return escape(bytes, count: count, atEnd: atEnd) }
    if byte == dialect.quote {
      state.takeQuote(doubled: dialect.doublesQuotes)
    } else if state != .quoted {
      let isStart = state == .fieldStart || state == .blankStart
      state = isStart && dialect.isBlank(byte) ? .blankStart : .unquoted
    }
    return take(1)
  }

  /// True when the line begins here, or after blanks that are ignored.
  private var beginsLine: Bool { position == recordStart || isBlankLine }

  private mutating func take(_ count: Int) -> Step {
    position += count
    previousIsReturn = false
    return .done
  }

  private mutating func newline(_ byte: UInt8, _ bytes: UnsafeRawPointer) -> Step {
    // The line feed of a record end `\r\n` whose carriage return was taken already.
    let isSecond = byte == 0x0A && previousIsReturn
    previousIsReturn = byte == 0x0D
    if !isSecond { lineBreaks += 1 }
    position += 1
    if state == .quoted { return .done }
    let length = position - 1 - recordStart
    if length > maximumRecordBytes {
      // Not part of the record; the splitter counts the line ends before it again.
      position -= 1
      return .recordTooLong
    }
    let isRecord =
      state == .comment
      ? dialect.mayBeRecord(bytes, from: commentStart, to: position - 1)
      : (length > 0 && !isBlankLine) || blankLinesAreRecords
    state = .fieldStart
    recordStart = position
    if isSecond { return .done }
    if isRecord { records += 1 }
    return .ended
  }

  /// Takes an escape and the text that it makes literal; only the escape before anything else.
  private mutating func escape(_ bytes: UnsafeRawPointer, count: Int, atEnd: Bool) -> Step {
    guard let length = dialect.escapedLength(bytes, at: position + 1, count: count, atEnd: atEnd)
    else { return .waiting }
    if length > 0 {
      let next = bytes.load(fromByteOffset: position + 1, as: UInt8.self)
      if next == 0x0D || next == 0x0A { lineBreaks += 1 }
    }
    if state != .quoted { state = .unquoted }
    return take(1 + length)
  }
}

extension Dialect {
  /// The number of bytes that an escape right before `position` makes literal: those of a quote, a delimiter,
  /// an escape or a record end; 0 before anything else, where the escape is an ordinary character. Nil when
  /// the available bytes do not determine it.
  func escapedLength(
    _ bytes: UnsafeRawPointer, at position: Int, count: Int, atEnd: Bool
  ) -> Int? {
    guard position < count else { return atEnd ? 0 : nil }
    let byte = bytes.load(fromByteOffset: position, as: UInt8.self)
    if byte == quote || byte == escape || byte == 0x0A { return 1 }
    if byte == 0x0D {
      if position + 1 >= count { return atEnd ? 1 : nil }
      return bytes.load(fromByteOffset: position + 1, as: UInt8.self) == 0x0A ? 2 : 1
    }
    switch matchDelimiter(bytes, at: position, count: count) {
    case .yes: return delimiter.count
    case .partly: return atEnd ? 0 : nil
    case .no: return 0
    }
  }
}
