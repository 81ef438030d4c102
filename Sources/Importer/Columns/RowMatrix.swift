import Engine

/// The rows of a chunk before encoding: the parser's fields, or a changed copy of them.
///
/// Thread rule: confined; valid until the parser takes the next chunk.
struct RowMatrix {
  private(set) var columnCount: Int
  private(set) var rowCount: Int
  /// Nil: the parser's spans, unchanged.
  private var copy: [TextSpan]?
  /// The parser's row for each row; nil: the same number.
  private var parsedRows: [Int]?
  private let parsed: ParsedChunk
  private let chunk: Chunk

  init(_ plan: ImportPlan, _ parsed: ParsedChunk, _ chunk: Chunk) {
    self.parsed = parsed
    self.chunk = chunk
    columnCount = plan.fieldCount
    rowCount = parsed.rowCount
    if let fields = plan.fields { choose(fields) }
    let own = columnCount
    if !parsed.surplus.isEmpty { addSurplus() }
    if plan.trimsFields { trim(quote: plan.dialect.quote) }
    if let added = plan.added { add(added, behind: own) }
    if plan.hasNulls { putNulls(plan) }
    // Spellings of null are those of the query.
    if plan.respells { respell(plan) }
  }

  /// Fields, row by row.
  var spans: [TextSpan] {
    if let copy { return copy }
    // `Array(_:)` would copy the elements one by one.
    return Array(unsafeUninitializedCapacity: parsed.spans.count) { room, count in
      count = room.initialize(fromContentsOf: parsed.spans)
    }
  }

  /// The parser's row for a row.
  func parsedRow(_ row: Int) -> Int { parsedRows?[row] ?? row }

  /// The index of a row's record in the chunk.
  func recordIndex(_ row: Int) -> Int { parsed.recordIndex(ofRow: parsedRow(row)) }

  /// The number of a row's record in the input, and its line.
  func place(_ row: Int) -> (record: Int, line: Int) {
    let record = recordIndex(row)
    return (chunk.firstRecord + record, parsed.line(ofRecord: record))
  }

  /// The fields in place, for the duration of the call; nil when there are none.
  func withSpans<Result>(_ body: (UnsafePointer<TextSpan>) throws -> Result) rethrows -> Result? {
    if let copy { return try copy.withUnsafeBufferPointer { try $0.baseAddress.map(body) } }
    return try parsed.spans.baseAddress.map(body)
  }

  /// Replaces the rows by some of them.
  mutating func keep(_ spans: [TextSpan], parsedRows rows: [Int]) {
    copy = spans
    parsedRows = rows
    rowCount = rows.count
  }

  // MARK: Columns

  /// Removes the fields that become no column, and puts the others in the columns' order.
  private mutating func choose(_ fields: [Int]) {
    var spans: [TextSpan] = []
    spans.reserveCapacity(rowCount * fields.count)
    for row in 0..<rowCount {
      for field in fields { spans.append(parsed.span(row: row, column: field)) }
    }
    copy = spans
    columnCount = fields.count
  }

  /// Appends the surplus fields of long records to the rows.
  private mutating func addSurplus() {
    let own = columnCount
    let wide = own + (parsed.surplus.map(\.index).max() ?? -1) + 1
    var spans = [TextSpan](repeating: .null, count: rowCount * wide)
    let narrow = self.spans
    for row in 0..<rowCount {
      for column in 0..<own { spans[row * wide + column] = narrow[row * own + column] }
    }
    for field in parsed.surplus { spans[field.row * wide + own + field.index] = field.span }
    copy = spans
    columnCount = wide
  }

  /// Adds the values of columns that are not from a field after the first `own` columns.
  ///
  /// The chunk's bytes are moved to make space for them: pointers into them become invalid.
  private mutating func add(_ added: AddedValues, behind own: Int) {
    let columns = added.columns
    let longest = columns.reduce(0) { $0 + $1.longest * ($1.constant == nil ? rowCount : 1) }
    var fields = spans
    var end = chunk.makeRoom(longest, keeping: &fields)
    func put(_ bytes: [UInt8]) -> TextSpan {
      if bytes.isEmpty { return .null }
      defer { end += bytes.count }
      chunk.write(bytes, at: end)
      return TextSpan(offset: UInt32(clamping: end), length: UInt32(clamping: bytes.count))
    }
    let constants = columns.map { $0.constant.map(put) }
    let wide = columnCount + columns.count
    var spans: [TextSpan] = []
    spans.reserveCapacity(rowCount * wide)
    var value: [UInt8] = []
    for row in 0..<rowCount {
      let start = row * columnCount
      spans += fields[start..<start + own]
      let (record, line) = place(row)
      for (column, constant) in zip(columns, constants) {
        if let constant {
          spans.append(constant)
          continue
        }
        value.removeAll(keepingCapacity: true)
        column.append(record: record, line: line, to: &value)
        spans.append(put(value))
      }
      spans += fields[start + own..<start + columnCount]
    }
    copy = spans
    columnCount = wide
  }

  // MARK: Values

  /// Gives the values of a query the spelling of their columns.
  ///
  /// The chunk's bytes are moved to make space for them: pointers into them become invalid.
  private mutating func respell(_ plan: ImportPlan) {
    var changes: [(index: Int, spelling: [UInt8])] = []
    var fields = spans
    chunk.withMemory { memory in
      for (column, planned) in plan.columns.enumerated() {
        guard let spelling = planned.spelling else { continue }
        for index in stride(from: column, to: fields.count, by: max(1, columnCount)) {
          let span = fields[index]
          if span.isNull { continue }
          let start = Int(span.offset)
          let field = UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)])
          if let changed = spelling.respelled(field) { changes.append((index, changed)) }
        }
      }
    }
    var end = chunk.makeRoom(changes.reduce(0) { $0 + $1.spelling.count }, keeping: &fields)
    for (index, spelling) in changes {
      chunk.write(spelling, at: end)
      fields[index] = TextSpan(
        offset: UInt32(clamping: end), length: UInt32(clamping: spelling.count))
      end += spelling.count
    }
    copy = fields
  }

  /// Removes blanks around fields.
  private mutating func trim(quote: UInt8?) {
    var spans = spans
    chunk.withMemory { memory in
      for index in spans.indices {
        spans[index] = parsed.withoutBlanks(spans[index], memory, quote: quote)
      }
    }
    copy = spans
  }

  /// Replaces the spellings of null by null.
  private mutating func putNulls(_ plan: ImportPlan) {
    var spans = spans
    chunk.withMemory { memory in
      /// - Parameter unquoted: whether a quoted field is not null, unless it is empty.
      func put(_ nulls: NullWords, _ index: Int, unquoted: Bool = false) {
        let span = spans[index]
        guard nulls.haveLength(Int(span.length)), !span.isNull else { return }
        if unquoted, span.length > 0, parsed.isQuoted(span, quote: plan.dialect.quote) {
          return
        }
        let start = Int(span.offset)
        if nulls.contain(memory[start..<start + Int(span.length)]) { spans[index] = .null }
      }
      if !plan.nulls.isEmpty {
        let nulls = NullWords(plan.nulls)
        for index in spans.indices { put(nulls, index) }
      }
      for (column, planned) in plan.columns.enumerated() {
        guard let missing = planned.missing else { continue }
        let nulls = NullWords(missing.spellings)
        for row in 0..<rowCount { put(nulls, row * columnCount + column, unquoted: true) }
      }
    }
    copy = spans
  }
}

/// Spellings of null. Their lengths alone exclude most fields.
private struct NullWords {
  private let words: [[UInt8]]
  /// A bit for each length; the highest one for all from 63 on.
  private let lengths: UInt64

  init(_ words: [[UInt8]]) {
    self.words = words
    lengths = words.reduce(0) { $0 | Self.bit($1.count) }
  }

  private static func bit(_ length: Int) -> UInt64 { 1 &<< UInt64(min(length, 63)) }

  /// Returns false when none of the words has this length.
  func haveLength(_ length: Int) -> Bool { lengths & Self.bit(length) != 0 }

  func contain(_ field: Slice<UnsafeRawBufferPointer>) -> Bool {
    words.contains { $0.count == field.count && field.elementsEqual($0) }
  }
}
