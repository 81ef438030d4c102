import Importer

/// The slowest and most obvious CSV parser, written from the rules of docs/csv.md: a position in an
/// array, a function for each rule. The fast splitter and parser are compared with it.
struct ReferenceParser {
  struct Record: Equatable {
    var fields: [[UInt8]?] = []
    /// The input offset of each field.
    var fieldStarts: [Int] = []
    var start = 0
    /// Without the record end.
    var end = 0
    /// Behind the first byte of the record end.
    var endWithNewline = 0
    var line = 0
    var problem: (reason: MalformedReason, position: Int)?

    static func == (a: Record, b: Record) -> Bool {
      a.fields == b.fields && a.start == b.start && a.end == b.end && a.line == b.line
    }
  }

  let bytes: [UInt8]
  private(set) var records: [Record] = []
  /// Lines with tolerated deviations.
  private(set) var blankLines: [Int] = []
  private(set) var comments: [Int] = []
  private(set) var strayQuotes: [Int] = []
  private(set) var blanksAroundQuotes: [Int] = []
  private(set) var textBehindQuotes: [Int] = []
  private let dialect: Dialect
  private let delimiter: [UInt8]
  private let comment: [UInt8]?
  private let blankLinesAreRecords: Bool
  /// Whether a run of blanks is one delimiter.
  private let isWhitespace: Bool
  /// Line of every byte, and where that line starts.
  private var lines: [(line: Int, start: Int)] = []
  private var at = 0

  init(
    _ bytes: [UInt8], dialect: Dialect = .rfc4180, blankLinesAreRecords: Bool = false,
    readsComments: Bool = true
  ) {
    self.bytes = bytes
    self.dialect = dialect
    self.blankLinesAreRecords = blankLinesAreRecords
    delimiter = dialect.delimiter.bytes
    isWhitespace = dialect.delimiterName == "whitespace"
    comment = readsComments ? dialect.comment?.bytes : nil
    findLines()
    at = firstByte
    while at < bytes.count { readLine() }
  }

  var firstByte: Int { bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0 }

  /// 1-based line and column of a byte.
  func place(_ position: Int) -> (line: Int, column: Int) {
    let line = lines[position]
    return (line.line, position - line.start + 1)
  }

  private mutating func findLines() {
    var line = 1
    var start = firstByte
    for index in 0...bytes.count {
      if index > firstByte {
        let before = bytes[index - 1]
        let here = index < bytes.count ? bytes[index] : 0
        if before == 0x0A || (before == 0x0D && here != 0x0A) {
          line += 1
          start = index
        }
      }
      lines.append((line, start))
    }
  }

  // MARK: Looking ahead

  private func stands(_ text: [UInt8], at position: Int? = nil) -> Bool {
    bytes[(position ?? at)...].starts(with: text)
  }

  private var isAtEnd: Bool { at >= bytes.count }
  private var isAtLineEnd: Bool { !isAtEnd && (bytes[at] == 0x0A || bytes[at] == 0x0D) }
  private var isAtQuote: Bool { !isAtEnd && bytes[at] == dialect.quote }

  private var isAtBlank: Bool {
    guard !isAtEnd, bytes[at] == 0x20 || bytes[at] == 0x09 else { return false }
    return !isWhitespace && !delimiter.contains(bytes[at]) && bytes[at] != dialect.quote
      && bytes[at] != dialect.escape
  }

  /// The bytes that an escape here makes literal; empty if it is no escape, or stands for itself.
  private var escaped: [UInt8] {
    guard let escape = dialect.escape, escape != dialect.quote, stands([escape]),
      at + 1 < bytes.count
    else { return [] }
    let next = bytes[at + 1]
    if next == dialect.quote || next == escape || next == 0x0A { return [next] }
    if stands([0x0D, 0x0A], at: at + 1) { return [0x0D, 0x0A] }
    if next == 0x0D { return [0x0D] }
    if isWhitespace { return next == 0x20 || next == 0x09 ? [next] : [] }
    return stands(delimiter, at: at + 1) ? delimiter : []
  }

  /// Whether a field ends here.
  private var isAtDelimiter: Bool {
    if isAtEnd { return false }
    return isWhitespace ? bytes[at] == 0x20 || bytes[at] == 0x09 : stands(delimiter)
  }

  /// Passes a delimiter, if there is one with a field behind it.
  private mutating func passDelimiter() -> Bool {
    if isWhitespace {
      while isAtDelimiter { at += 1 }
      return !isAtEnd && !isAtLineEnd
    }
    guard isAtDelimiter else { return false }
    at += delimiter.count
    return true
  }

  // MARK: Records

  private mutating func readLine() {
    var record = Record()
    record.start = at
    record.line = lines[at].line
    // Blanks before the first field do not count.
    if isWhitespace { _ = passDelimiter() }
    if let comment, stands(comment) {
      if !isWhitespace { at += comment.count }
      record.fields.append(nil)
      while !isAtEnd, !isAtLineEnd {
        if isAtDelimiter {
          if passDelimiter() { record.fields.append(nil) }
        } else {
          at += 1
        }
      }
      if let width = dialect.possibleRecordFields,
        record.fields.count == width || mayBeRecord(Array(bytes[record.start..<at]), width)
      {
        record.problem = (
          .possibleComment(String(decoding: comment, as: UTF8.self)), record.start
        )
        finish(record)
      } else {
        comments.append(record.line)
        skipLineEnd()
      }
      return
    }
    if isAtLineEnd || isAtEnd, !blankLinesAreRecords {
      blankLines.append(record.line)
      skipLineEnd()
      return
    }
    while true {
      record.fieldStarts.append(at)
      readField(&record)
      guard passDelimiter() else { break }
    }
    if record.problem == nil, let position = firstInvalid(record.start, at) {
      record.problem = (.invalidUTF8, position)
    }
    finish(record)
  }

  /// Whether a line that begins with a comment would be a record of `width` fields, perhaps with a delimiter
  /// behind the last, or the beginning of one.
  private func mayBeRecord(_ line: [UInt8], _ width: Int) -> Bool {
    // What the line does not close goes on behind the record end.
    let parser = ReferenceParser(line + [0x0A], dialect: dialect, readsComments: false)
    guard let record = parser.records.first else { return false }
    let count = record.fields.count
    if record.end > line.count { return count <= width }
    let endsEmpty = !isWhitespace && record.fields.last == .some(nil)
    return count == width || (endsEmpty && count - 1 == width)
  }

  private mutating func finish(_ given: Record) {
    var record = given
    record.end = at
    record.endWithNewline = isAtEnd ? at : at + 1
    records.append(record)
    skipLineEnd()
  }

  private mutating func skipLineEnd() {
    if stands([0x0D, 0x0A]) { at += 2 } else if !isAtEnd { at += 1 }
  }

  // MARK: Fields

  private mutating func readField(_ record: inout Record) {
    let start = at
    while isAtBlank { at += 1 }
    if isAtQuote {
      if at > start { blanksAroundQuotes.append(lines[start].line) }
      readQuoted(&record)
      return
    }
    at = start
    let field = readUnquoted(notesQuotes: true)
    record.fields.append(at == start ? nil : field)
  }

  private mutating func readUnquoted(notesQuotes: Bool) -> [UInt8] {
    var field: [UInt8] = []
    while !isAtEnd, !isAtLineEnd, !isAtDelimiter {
      let literal = escaped
      if literal.isEmpty {
        if isAtQuote, notesQuotes { strayQuotes.append(lines[at].line) }
        field.append(bytes[at])
        at += 1
      } else {
        field += literal
        at += 1 + literal.count
      }
    }
    return field
  }

  private mutating func readQuoted(_ record: inout Record) {
    let opening = at
    var field: [UInt8] = []
    at += 1
    while true {
      if isAtEnd {
        if record.problem == nil { record.problem = (.unterminatedQuote, opening) }
        record.fields.append(field)
        return
      }
      let literal = escaped
      if !literal.isEmpty {
        field += literal
        at += 1 + literal.count
      } else if isAtQuote {
        guard dialect.escape != nil, at + 1 < bytes.count, bytes[at + 1] == dialect.quote else {
          break
        }
        field.append(bytes[at])
        at += 2
      } else {
        field.append(bytes[at])
        at += 1
      }
    }
    at += 1
    let closed = at
    while isAtBlank { at += 1 }
    let text = at
    let behind = readUnquoted(notesQuotes: false)
    if at > text, dialect.keepsTextBehindQuotes {
      textBehindQuotes.append(lines[text].line)
      field += bytes[closed..<text] + behind
    } else if at > text {
      if record.problem == nil { record.problem = (.textAfterClosingQuote, text) }
    } else if text > closed {
      blanksAroundQuotes.append(lines[closed].line)
    }
    record.fields.append(field)
  }

  private func firstInvalid(_ start: Int, _ end: Int) -> Int? {
    var parser = Unicode.UTF8.ForwardParser()
    var iterator = bytes[start..<end].makeIterator()
    var position = start
    while true {
      switch parser.parseScalar(from: &iterator) {
      case .valid(let scalar): position += scalar.count
      case .error: return position
      case .emptyInput: return nil
      }
    }
  }
}
