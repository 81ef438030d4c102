import Engine

/// How well a dialect fits the sample of an input.
///
/// In its favour: records that agree on a number of fields, and columns that are typed from top to bottom.
/// Against it: records with text behind closing quotes, other delimiters left inside the fields of every
/// record, and quoted fields that were cut in two.
struct DialectTrial {
  /// How many records are parsed to judge a dialect.
  static let sampleRecords = 200
  /// How many of them are kept as text, when lines that may be comments precede them.
  private static let firstRecords = 5
  /// About how many cells are examined.
  private static let sampleCells = 3000

  let dialect: Dialect
  /// Records with text after a closing quote, or an unclosed quote.
  private(set) var malformed = 0
  /// Records behind the narrower ones at the front that do not belong to the table.
  private(set) var records = 0
  /// The number of these narrower ones.
  private(set) var skipped = 0
  /// The share of records with the most common number of fields.
  private(set) var agreeing = 0.0
  /// The most common number of fields.
  private(set) var width = 0
  /// Of each column, whether it has only numbers, dates and similar values below the first record.
  private(set) var areTyped: [Bool] = []
  var typedColumns: Int { areTyped.count(where: \.self) }
  /// The share of all cells that are typed or have no value.
  private(set) var typedCells = 0.0
  /// Whether another delimiter occurs in the fields of each record, equally often.
  private(set) var leavesDelimiters = false
  /// Whether tabs do, which texts hardly contain. One behind each delimiter is a blank.
  private(set) var leavesTabs = false
  /// Whether a column, except the last, is empty in all records.
  private(set) var hasEmptyColumn = false
  /// Whether every second column is empty in all records: the delimiter may be two of these.
  private(set) var isDoubled = false
  /// Whether a field, except the last of a record, is empty.
  private(set) var hasEmptyFields = false
  /// Whether runs of blanks separate more, or other fields than the table seems to have.
  private(set) var cutsFields = false
  /// Whether the first line, above columns of figures, has as many words, but not above these columns.
  private(set) var mayHaveTitle = false
  /// Cells with a quote next to another delimiter: halves of a quoted field.
  private(set) var splitFields = 0
  /// Whether unescaped quotes occur in unquoted fields.
  private(set) var hasStrayQuotes = false
  /// Fields of the first records that begin and end with the quote.
  private(set) var quotedFields = 0
  /// Those of them without a record end inside: two signs that stand alone frame what lies between them.
  private(set) var framedFields = 0
  /// The bytes of the records that were parsed.
  private(set) var byteCount = 0

  /// The table's first records, as text.
  private(set) var firstRecords: [[String?]] = []

  /// How well the dialect explains the sample; higher is better.
  var score: Double {
    guard records > 0 else { return 0 }
    let width = Double(max(1, width))
    var score = 2 * agreeing + 0.5 * Double(typedColumns) / width + 0.2 * typedCells
    score -= min(0.5, Double(splitFields) / Double(records))
    if leavesDelimiters { score -= leavesTabs ? 0.6 : 0.3 }
    score -= 0.2 * Double(skipped) / Double(skipped + records)
    return score - 0.1 / width
  }

  /// Whether every record of the table is explained.
  var explainsAll: Bool { malformed == 0 && agreeing == 1 }

  /// - Parameters:
  ///   - isWhole: whether the sample is all of the input; otherwise its last record may be cut off.
  ///   - rivals: the first bytes of other possible delimiters.
  /// - Throws: the errors of the splitter.
  init?(_ sample: [UInt8], isWhole: Bool, dialect: Dialect, rivals: [UInt8]) throws {
    self.dialect = dialect
    let splitter = RecordSplitter(source: MemorySource(sample), dialect: dialect)
    guard let chunk = try splitter.next(recordLimit: Self.sampleRecords) else { return nil }
    let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
    defer { parsed.release() }
    var count = parsed.recordCount
    if chunk.isLast, !isWhole, count > 1 { count -= 1 }
    guard count > 0 else { return nil }
    byteCount = chunk.byteCount
    let widths = (0..<count).map { index -> Int in
      let record = parsed.record(index)
      return record.row == .max ? 0 : Int(record.fieldCount)
    }
    malformed = widths.count { $0 == 0 }
    hasStrayQuotes = parsed.tolerances[.strayQuotes] != nil
    width = Preamble.commonWidth(widths.filter { $0 > 0 })
    guard width > 0 else { return nil }
    let titles = dialect.isWhitespace && malformed == 0 ? Self.titles(parsed, count) : 0
    let start = titles > 0 ? titles : Self.tableStart(widths, width)
    records = count - start
    skipped = start
    agreeing = Double(widths[start...].count { $0 == width }) / Double(records)
    if width > 1 { look(at: parsed, records: start..<count, rivals) }
    if dialect.isWhitespace, explainsAll, quotedFields == 0 {
      cutsFields = seemsToCut(parsed, table: start..<count)
      mayHaveTitle = start == 0 && seemsToHaveTitle(parsed, count)
    }
  }

  /// The first record with the most common width, when fewer records come before it than behind, and all of
  /// these are narrower.
  private static func tableStart(_ widths: [Int], _ width: Int) -> Int {
    guard let first = widths.firstIndex(of: width), first <= Preamble.maximumLines,
      widths.count - first > first, widths[..<first].allSatisfy({ $0 > 0 && $0 < width })
    else { return 0 }
    return first
  }

  // MARK: Cells

  private mutating func look(at parsed: ParsedChunk, records: Range<Int>, _ rivals: [UInt8]) {
    var hasValue = [Bool](repeating: false, count: width)
    var isTyped = [Bool](repeating: true, count: width)
    var isFilled = [Bool](repeating: false, count: width)
    var left: [Int: Int] = [:]
    var firstCounts: [Int]?
    var (looked, typed, cells) = (0, 0, 0)
    var surplus = parsed.surplus[...]
    var spans: [TextSpan] = []
    let delimiter = dialect.delimiter.first
    let others = rivals.filter { !dialect.delimiter.contains($0) }
    guard let chunk = parsed.chunk else { return }
    chunk.withMemory { bytes in
      let memory = bytes.bindMemory(to: UInt8.self)
      for index in records where cells < Self.sampleCells {
        let record = parsed.record(index)
        guard record.row != .max else { continue }
        let row = Int(record.row)
        while let next = surplus.first, next.row < row { surplus.removeFirst() }
        spans.removeAll(keepingCapacity: true)
        spans.append(parsed.span(row: row, column: 0))
        while let next = surplus.first, next.row == row {
          spans.append(next.span)
          surplus.removeFirst()
        }
        guard spans.count == width else { continue }
        looked += 1
        if spans.dropLast().contains(where: \.isNull) { hasEmptyFields = true }
        if dialect.comment != nil, firstRecords.count < Self.firstRecords {
          firstRecords.append(
            spans.map { span in parsed.text(span).map { String(decoding: $0, as: UTF8.self) } })
        }
        var counts = [Int](repeating: 0, count: others.count)
        for (column, span) in spans.enumerated() where !span.isNull {
          let start = Int(span.offset)
          let end = start + Int(span.length)
          let cell = UnsafeBufferPointer(rebasing: memory[start..<end])
          cells += 1
          isFilled[column] = true
          let shape = CellShape(cell)
          let isValue =
            shape.isTyped && !(delimiter != 0x2C && shape == .figures && cell.contains(0x2C))
          if isValue || shape.isBlank { typed += 1 }
          if index > records.lowerBound, !shape.isBlank {
            hasValue[column] = true
            if !isValue { isTyped[column] = false }
          }
          if isQuoted(memory, start, end, chunk.byteCount) {
            quotedFields += 1
            if !cell.contains(where: { $0 == 0x0A || $0 == 0x0D }) { framedFields += 1 }
          } else if !isValue {
            count(others, in: cell, &counts)
          }
        }
        let expected = firstCounts ?? counts
        firstCounts = expected
        for (place, count) in counts.enumerated() where count > 0 && count == expected[place] {
          left[place, default: 0] += 1
        }
      }
    }
    areTyped = zip(hasValue, isTyped).map { $0 && $1 }
    typedCells = cells > 0 ? Double(typed) / Double(cells) : 0
    leavesDelimiters = looked > 0 && left.values.contains(looked)
    if let tab = others.firstIndex(of: 0x09), looked > 0, left[tab] == looked {
      leavesTabs = firstCounts?[tab] != width - 1
    }
    if looked > 0 { judgeEmptyColumns(isFilled, looked) }
  }

  /// - Parameter isFilled: of each column, whether some of the records has something in it.
  private mutating func judgeEmptyColumns(_ isFilled: [Bool], _ records: Int) {
    hasEmptyColumn = isFilled.dropLast().contains(false)
    isDoubled =
      width % 2 == 1 && records > (width > 3 ? 1 : 4)
      && isFilled.enumerated().allSatisfy { $1 == ($0 % 2 == 0) }
  }

  private func isQuoted(
    _ memory: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, _ chunkBytes: Int
  ) -> Bool {
    guard let quote = dialect.quote, start > 0 else { return false }
    // Fields that had escapes lie behind the chunk.
    if start >= chunkBytes { return true }
    return end < chunkBytes && memory[start - 1] == quote && memory[end] == quote
  }

  /// Counts other delimiters, and halves of quoted fields that reveal them.
  private mutating func count(
    _ others: [UInt8], in cell: UnsafeBufferPointer<UInt8>, _ counts: inout [Int]
  ) {
    var previous: UInt8 = 0
    var isSplit = false
    for byte in cell {
      if let place = others.firstIndex(of: byte) {
        counts[place] += 1
        if previous == dialect.quote { isSplit = true }
      } else if byte == dialect.quote, others.contains(previous) {
        isSplit = true
      }
      previous = byte
    }
    if isSplit { splitFields += 1 }
  }
}
