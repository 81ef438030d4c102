/// The position of a byte in its field. Between bytes, this is the only state that CSV requires.
enum FieldState {
  /// At the start of a record, or right after a delimiter: only here does a quote open a quoted field.
  case fieldStart
  /// After blanks at the start of a field: a quote still opens the field. Where runs of blanks separate
  /// fields: after blanks at the start of a line.
  case blankStart
  /// In an unquoted field, or in text after a closing quote: quotes are literal.
  case unquoted
  case quoted
  /// Right after a quote in a quoted field: it was the closing one unless another follows.
  case afterQuote
  /// In a line that is not a record.
  case comment

  /// True when a quote would open a field.
  var beginsField: Bool { self == .fieldStart || self == .blankStart }

  /// Goes on behind a quote that is not escaped.
  mutating func takeQuote(doubled: Bool) {
    switch self {
    case .fieldStart, .blankStart: self = .quoted
    case .quoted: self = .afterQuote
    case .afterQuote: self = doubled ? .quoted : .unquoted
    case .unquoted, .comment: break
    }
  }
}

extension Dialect {
  /// The state at `end`, after bytes outside quotes that contain no quotes and begin at `start`.
  ///
  /// - Parameter before: the state at `start`.
  /// - Precondition: the delimiter has one byte, and there are no comments.
  func state(
    behind bytes: UnsafeRawPointer, from start: Int, to end: Int, before: FieldState
  ) -> FieldState {
    if start == end { return before }
    var last = end - 1
    while last >= start, isBlank(bytes.load(fromByteOffset: last, as: UInt8.self)) { last -= 1 }
    if last < start { return before.beginsField ? .blankStart : .unquoted }
    let byte = bytes.load(fromByteOffset: last, as: UInt8.self)
    guard byte == 0x0A || byte == 0x0D || byte == delimiter.first else { return .unquoted }
    return last == end - 1 ? .fieldStart : .blankStart
  }
}

/// Finds the end of a chunk: a state machine over the bytes of one chunk, without input or output.
///
/// It reads every byte once, however the bytes arrive. Blocks of 64 bytes are processed with masks, in which
/// "inside quotes" is the parity of the quotes so far. That is right if every opening quote is at the start
/// of a field (or doubles the previous one); other quotes are first removed from the mask.
struct RecordScan {
  enum Outcome: Equatable {
    /// All given bytes were scanned; the chunk continues.
    case needsMore
    /// The chunk ends before the byte at this position, or after it when it is the line feed of a record end
    /// `\r\n`: that byte may not have been read yet.
    case cut(Int)
    /// The record that starts at `recordStart` is too long.
    case recordTooLong
  }

  let dialect: Dialect
  private let isPlain: Bool
  private let isWhitespace: Bool
  private let scanner: BlockScanner
  private let recordLimit: Int
  private let byteLimit: Int
  let maximumRecordBytes: Int
  let blankLinesAreRecords: Bool

  // All positions are relative to the chunk's first byte.
  var position = 0
  var recordStart = 0
  var records = 0
  /// Line ends before `position`; when the chunk is cut, before the cut.
  var lineBreaks = 0
  var state = FieldState.fieldStart
  var previousIsReturn = false
  /// Where the comment of the line begins, in `comment`.
  var commentStart = 0
  /// Quotes in whole blocks that neither opened nor closed a field.
  var strayQuotes = 0
  /// True when the last block had neither quotes nor carriage returns, so that the next one probably has
  /// none.
  private var mayBePlain: Bool

  /// - Parameters:
  ///   - recordLimit: the chunk ends after this many records, at least 1.
  ///   - byteLimit: the chunk ends after the record in which it reaches this many bytes.
  ///   - maximumRecordBytes: at least 64, so that at most one record that is too long ends in a block.
  init(
    dialect: Dialect, recordLimit: Int, byteLimit: Int, maximumRecordBytes: Int,
    blankLinesAreRecords: Bool
  ) {
    self.dialect = dialect
    isPlain = dialect.isPlain
    isWhitespace = dialect.isWhitespace
    // Between blanks, a line of blanks is a blank line.
    mayBePlain = !dialect.isWhitespace
    scanner = BlockScanner(dialect)
    self.recordLimit = max(1, recordLimit)
    self.byteLimit = byteLimit
    self.maximumRecordBytes = max(64, maximumRecordBytes)
    self.blankLinesAreRecords = blankLinesAreRecords
  }

  /// Continues from `position` to `count`, the number of the chunk's bytes read so far. It may stop a little
  /// before `count` when the next byte determines the meaning of a byte.
  ///
  /// - Parameter atEnd: true when no more bytes follow.
  mutating func advance(_ bytes: UnsafeRawPointer, count: Int, atEnd: Bool) -> Outcome {
    if isPlain {
      while count - position >= 64 {
        if mayBePlain {
          passPlainBlocks(bytes, count: count)
          if count - position < 64 { break }
        }
        if let outcome = block(bytes) { return outcome }
      }
    }
    while position < count {
      switch step(bytes, count: count, atEnd: atEnd) {
      case .done: break
      case .ended:
        if records >= recordLimit || position >= byteLimit { return .cut(position) }
      case .waiting: return tooLong ?? .needsMore
      case .recordTooLong: return .recordTooLong
      }
    }
    return tooLong ?? .needsMore
  }

  private var tooLong: Outcome? {
    position - recordStart > maximumRecordBytes ? .recordTooLong : nil
  }

  /// Whether a record is unfinished when the input ends after `count` bytes.
  func isInRecord(_ bytes: UnsafeRawPointer, count: Int) -> Bool {
    guard count > recordStart, !isBlankLine || blankLinesAreRecords else { return false }
    return state != .comment || dialect.mayBeRecord(bytes, from: commentStart, to: count)
  }

  /// Skips blocks that have neither quotes nor carriage returns, up to one that needs more than counting line
  /// feeds, which `block` processes.
  private mutating func passPlainBlocks(_ bytes: UnsafeRawPointer, count: Int) {
    // A line feed would belong to that return.
    if previousIsReturn { return }
    let start = position
    let isInside = state == .quoted
    while count - position >= 64, let lineFeeds = scanner.plainLineFeeds(bytes + position) {
      if lineFeeds != 0 {
        let found = lineFeeds.nonzeroBitCount
        if !isInside {
          let blank = lineFeeds & ((lineFeeds &<< 1) | (recordStart == position ? 1 : 0))
          let length = position + lineFeeds.trailingZeroBitCount - recordStart
          if blank != 0 || found >= recordLimit - records || position + 64 >= byteLimit
            || length > maximumRecordBytes
          {
            break
          }
          records += found
          recordStart = position + 64 - lineFeeds.leadingZeroBitCount
        }
        lineBreaks += found
      }
      position += 64
    }
    if !isInside { state = dialect.state(behind: bytes, from: start, to: position, before: state) }
  }

  @inline(__always)
  private mutating func block(_ bytes: UnsafeRawPointer) -> Outcome? {
    var marks = scanner.marks(bytes + position)
    mayBePlain = !isWhitespace && marks.quotes | marks.carriageReturns == 0
    if isWhitespace { marks.delimiters |= scanner.tabs(bytes + position) }
    let newlines = marks.lineFeeds | marks.carriageReturns
    let carriedInside: UInt64 = state == .quoted ? .max : 0
    let mayOpen: UInt64 = state == .unquoted ? 0 : 1
    var inside = BlockScanner.parity(marks.quotes) ^ carriedInside
    let mayOpenAfter = marks.delimiters | newlines | marks.quotes
    if marks.quotes & inside & ~((mayOpenAfter &<< 1) | mayOpen) != 0 {
      let openings = BlockScanner.openings(
        marks, bytes + position, beginsField: beginsField, dialect: dialect)
      let structural = BlockScanner.structuralQuotes(
        marks, isInside: carriedInside != 0, openings: openings.all | mayOpen)
      strayQuotes &+= (marks.quotes ^ structural).nonzeroBitCount
      marks.quotes = structural
      inside = BlockScanner.parity(marks.quotes) ^ carriedInside
    }

    // A line feed after a carriage return belongs to the line end before it.
    let afterReturn = (marks.carriageReturns &<< 1) | (previousIsReturn ? 1 : 0)
    let lineEnds = marks.carriageReturns | (marks.lineFeeds & ~afterReturn)
    let outside = newlines & ~inside
    let ends = lineEnds & ~inside
    var begins = (outside &<< 1) | (recordStart == position ? 1 : 0)
    var endsBlank = false
    if isWhitespace {
      (begins, endsBlank) = BlockScanner.texts(
        begins | (isBlankLine ? 1 : 0), blanks: marks.delimiters)
    }
    if outside != 0 {
      if position + outside.trailingZeroBitCount - recordStart > maximumRecordBytes {
        state = .unquoted
        return .recordTooLong
      }
      let counted = blankLinesAreRecords ? ends : ends & ~begins
      if counted.nonzeroBitCount >= recordLimit - records || position + 64 >= byteLimit,
        let end = cut(ends: ends, counted: counted, lineEnds: lineEnds)
      {
        return .cut(end)
      }
      records += counted.nonzeroBitCount
      recordStart = position + 64 - outside.leadingZeroBitCount
    }
    if lineEnds != 0 { lineBreaks += lineEnds.nonzeroBitCount }
    previousIsReturn = marks.carriageReturns >> 63 != 0
    let last: UInt64 = 1 << 63
    if inside & last != 0 {
      state = .quoted
    } else if marks.quotes & last != 0 {
      state = .afterQuote
    } else if (marks.delimiters | newlines) & last != 0 {
      state = endsBlank ? .blankStart : .fieldStart
    } else {
      let isBlank = dialect.isBlank(bytes.load(fromByteOffset: position + 63, as: UInt8.self))
      state =
        isBlank
          && BlockScanner.endsBlank(
            marks, bytes + position, beginsField: beginsField, dialect: dialect)
        ? .blankStart : .unquoted
    }
    position += 64
    return nil
  }

  /// True when blanks separate fields, and the line has had only blanks so far.
  var isBlankLine: Bool { isWhitespace && state == .blankStart }

  /// Whether there is a quote between `position` and `end`; both are at block boundaries.
  func hasQuotes(_ bytes: UnsafeRawPointer, upTo end: Int) -> Bool {
    var found: UInt64 = 0
    for block in stride(from: position, to: end, by: 64) {
      found |= scanner.marks(bytes + block).quotes
    }
    return found != 0
  }

  /// Returns whether the chunk certainly does not end within the next bytes, in which this many records end,
  /// none of them too long.
  func mayPass(records count: Int, bytes: Int) -> Bool {
    count < recordLimit - records && bytes < byteLimit - position
      && bytes <= maximumRecordBytes - (position - recordStart)
  }

  private var beginsField: Bool { state.beginsField }

  /// The record end of a block that ends the chunk; `records` and `lineBreaks` are then those of the chunk.
  /// Otherwise nil, without any change.
  private mutating func cut(ends: UInt64, counted: UInt64, lineEnds: UInt64) -> Int? {
    var remaining = ends
    var found = records
    while remaining != 0 {
      let bit = remaining.trailingZeroBitCount
      let mark: UInt64 = 1 << UInt64(bit)
      remaining &= ~mark
      if counted & mark != 0 { found += 1 }
      if found >= recordLimit || position + bit + 1 >= byteLimit {
        records = found
        lineBreaks += (lineEnds & (mark | (mark &- 1))).nonzeroBitCount
        return position + bit + 1
      }
    }
    return nil
  }
}
