import Engine

/// The rows of a chunk as a table has them: fields chosen, blanks and null spellings taken out. The parser's
/// own matrix of spans, or a changed copy of it.
///
/// Thread rule: a plain value; its spans are valid while the chunk and what was parsed of it are.
struct RowMatrix {
  private(set) var columnCount: Int
  private(set) var rowCount: Int
  /// nil: the parser's spans as they are.
  private var copy: [TextSpan]?
  /// The parser's row for each row; nil: the same.
  private var parsedRows: [Int]?

  init(_ plan: ImportPlan, _ parsed: ParsedChunk, _ chunk: Chunk) {
    columnCount = plan.fieldCount
    rowCount = parsed.rowCount
    if let fields = plan.fields { choose(fields, parsed) }
    if !parsed.surplus.isEmpty { addSurplus(parsed) }
    if plan.trimsFields { trim(plan, parsed, chunk) }
    if plan.hasNulls { putNulls(plan, parsed, chunk) }
  }

  func parsedRow(_ row: Int) -> Int { parsedRows?[row] ?? row }

  /// Calls `body` with the spans, row by row; nil when there is no room for any.
  func withSpans<Result>(
    _ parsed: ParsedChunk, _ body: (UnsafePointer<TextSpan>) throws -> Result
  ) throws -> Result? {
    if let copy { return try copy.withUnsafeBufferPointer { try $0.baseAddress.map(body) } }
    return try parsed.spans.baseAddress.map(body)
  }

  /// A copy of the spans.
  func spans(_ parsed: ParsedChunk) -> [TextSpan] { copy ?? Array(parsed.spans) }

  /// Leaves rows out.
  ///
  /// - Parameters:
  ///   - spans: of those that are left.
  ///   - rows: the parser's row for each of them.
  mutating func keep(_ spans: [TextSpan], rows: [Int]) {
    copy = spans
    parsedRows = rows
    rowCount = rows.count
  }

  /// Leaves the fields out that become no column, and puts the others in the columns' order.
  private mutating func choose(_ fields: [Int], _ parsed: ParsedChunk) {
    var spans: [TextSpan] = []
    spans.reserveCapacity(rowCount * fields.count)
    for row in 0..<rowCount {
      for field in fields { spans.append(parsed.span(row: row, column: field)) }
    }
    copy = spans
    columnCount = fields.count
  }

  /// Widens the rows by the surplus fields of long records.
  private mutating func addSurplus(_ parsed: ParsedChunk) {
    let own = columnCount
    let wide = own + (parsed.surplus.map(\.index).max() ?? -1) + 1
    var spans = [TextSpan](repeating: .null, count: rowCount * wide)
    let narrow = self.spans(parsed)
    for row in 0..<rowCount {
      for column in 0..<own { spans[row * wide + column] = narrow[row * own + column] }
    }
    for field in parsed.surplus { spans[field.row * wide + own + field.index] = field.span }
    copy = spans
    columnCount = wide
  }

  private mutating func trim(_ plan: ImportPlan, _ parsed: ParsedChunk, _ chunk: Chunk) {
    var spans = spans(parsed)
    chunk.withMemory { memory in
      for index in spans.indices {
        spans[index] = parsed.withoutBlanks(spans[index], memory, quote: plan.dialect.quote)
      }
    }
    copy = spans
  }

  private mutating func putNulls(_ plan: ImportPlan, _ parsed: ParsedChunk, _ chunk: Chunk) {
    var spans = spans(parsed)
    chunk.withMemory { memory in
      /// - Parameter unquoted: whether a field in quotes is none, unless it is empty.
      func put(_ nulls: [[UInt8]], _ index: Int, unquoted: Bool = false) {
        if spans[index].isNull { return }
        if unquoted, spans[index].length > 0,
          parsed.isQuoted(spans[index], quote: plan.dialect.quote)
        {
          return
        }
        let start = Int(spans[index].offset)
        let field = memory[start..<start + Int(spans[index].length)]
        if nulls.contains(where: { $0.count == field.count && field.elementsEqual($0) }) {
          spans[index] = .null
        }
      }
      if !plan.nulls.isEmpty { for index in spans.indices { put(plan.nulls, index) } }
      for (column, planned) in plan.columns.enumerated() {
        guard let missing = planned.missing else { continue }
        for row in 0..<rowCount {
          put(missing.spellings, row * columnCount + column, unquoted: true)
        }
      }
    }
    copy = spans
  }
}
