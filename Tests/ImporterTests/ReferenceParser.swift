import Importer

/// CSV as slowly and obviously as possible: one byte at a time, everything in arrays. What the fast
/// splitter and parser are compared with.
struct ReferenceParser {
  struct Record: Equatable {
    var fields: [[UInt8]?] = []
    /// Where each field begins in the input.
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

  private enum State {
    case fieldStart
    case unquoted
    case quoted
    case afterQuote
    case afterClosedText
  }

  let bytes: [UInt8]
  private(set) var records: [Record] = []
  private let dialect: Dialect
  private let blankLinesAreRecords: Bool
  /// Line of every byte, and where that line starts.
  private var lines: [(line: Int, start: Int)] = []

  init(_ bytes: [UInt8], dialect: Dialect = .rfc4180, blankLinesAreRecords: Bool = false) {
    self.bytes = bytes
    self.dialect = dialect
    self.blankLinesAreRecords = blankLinesAreRecords
    findLines()
    findRecords()
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

  private mutating func findRecords() {
    var state = State.fieldStart
    var field: [UInt8] = []
    var wasQuoted = false
    var record = Record()
    record.start = firstByte
    var fieldStart = firstByte

    func endField(_ record: inout Record) {
      record.fields.append(field.isEmpty && !wasQuoted ? nil : field)
      record.fieldStarts.append(fieldStart)
      field = []
      wasQuoted = false
    }

    var index = firstByte
    while index < bytes.count {
      let byte = bytes[index]
      if state == .quoted {
        if byte == dialect.quote { state = .afterQuote } else { field.append(byte) }
      } else if byte == dialect.delimiter {
        endField(&record)
        fieldStart = index + 1
        state = .fieldStart
      } else if byte == 0x0A || byte == 0x0D {
        endField(&record)
        record.end = index
        record.endWithNewline = index + 1
        let isPair = byte == 0x0D && index + 1 < bytes.count && bytes[index + 1] == 0x0A
        append(record)
        if isPair { index += 1 }
        record = Record()
        record.start = index + 1
        fieldStart = index + 1
        state = .fieldStart
      } else if byte == dialect.quote && state == .fieldStart {
        wasQuoted = true
        state = .quoted
      } else if byte == dialect.quote && state == .afterQuote {
        field.append(byte)
        state = .quoted
      } else if state == .afterQuote {
        if record.problem == nil { record.problem = (.textAfterClosingQuote, index) }
        state = .afterClosedText
      } else if state != .afterClosedText {
        field.append(byte)
        state = .unquoted
      }
      index += 1
    }
    if record.start < bytes.count {
      if state == .quoted && record.problem == nil {
        record.problem = (.unterminatedQuote, fieldStart)
      }
      endField(&record)
      record.end = bytes.count
      record.endWithNewline = bytes.count
      append(record)
    }
  }

  private mutating func append(_ given: Record) {
    var record = given
    if record.start == record.end && !blankLinesAreRecords { return }
    record.line = lines[record.start].line
    if record.problem == nil, let position = firstInvalid(record.start, record.end) {
      record.problem = (.invalidUTF8, position)
    }
    records.append(record)
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
