import Engine

/// The fields of an input's first records, column by column, for examining columns before any record is
/// finally parsed.
///
/// All complete records in the first bytes, up to `ColumnTypes.sampleRecords`; the same in every run over the
/// same input.
struct FieldSample {
  /// The sample of one column.
  struct ColumnSample {
    /// Its values that are not null.
    var fields: [[UInt8]] = []
    /// Quoted fields that would be null without quotes.
    var quotedWords: Set<[UInt8]> = []
    /// True when all fields of the input are quoted, including empty ones, so that missing values are also
    /// quoted.
    var quotesEmptyFields = false
    /// True when the sample is all of the input.
    var isWhole = true
  }

  private let columns: [ColumnSample]
  private let quotesEmptyFields: Bool
  private let isWhole: Bool
  /// True when the input has nothing behind its header, so that nothing is known of its columns.
  let isWithoutRecords: Bool

  init() {
    columns = []
    quotesEmptyFields = false
    isWhole = true
    isWithoutRecords = false
  }

  /// - Precondition: the column exists.
  func column(_ index: Int) -> ColumnSample {
    var column = columns[index]
    column.quotesEmptyFields = quotesEmptyFields
    column.isWhole = isWhole
    return column
  }

  /// - Parameters:
  ///   - splitter: positioned at the first record; it stays there.
  ///   - parser: parses all fields, and pads short records.
  /// - Throws: the errors of reading.
  init(
    _ splitter: RecordSplitter, _ parser: RecordParser, columnCount: Int, _ options: ImportOptions
  ) throws {
    let wanted =
      DialectSniffer.sampleBytes - min(splitter.byteOffset, DialectSniffer.sampleBytes / 2)
    let bytes = try splitter.peek(wanted)
    let isWhole = bytes.count < wanted
    isWithoutRecords = isWhole && bytes.allSatisfy { $0 == 0x0A || $0 == 0x0D }
    let parts = RecordSplitter(
      source: MemorySource(bytes, name: "sample"), dialect: splitter.dialect, limits: options.limits
    )
    var columns = [ColumnSample](repeating: ColumnSample(), count: columnCount)
    let quote = splitter.dialect.quote
    let nulls = Set(options.nulls.map { Array($0.utf8) })
    var left = ColumnTypes.sampleRecords
    var (hasEmpty, hasUnquoted) = (false, false)
    while left > 0, let chunk = try? parts.next(recordLimit: left) {
      let parsed = parser.parse(chunk)
      defer { parsed.release() }
      left -= max(1, parsed.recordCount)
      for row in 0..<parsed.rowCount {
        // The last record may be incomplete.
        if chunk.isLast, !isWhole, parsed.recordIndex(ofRow: row) == parsed.recordCount - 1 {
          continue
        }
        for column in 0..<columnCount {
          var span = parsed.span(row: row, column: column)
          if options.trimsFields {
            span = chunk.withMemory { parsed.withoutBlanks(span, $0, quote: quote) }
          }
          guard let field = parsed.text(span) else {
            hasUnquoted = true
            continue
          }
          if field.isEmpty { hasEmpty = true }
          let isQuoted = parsed.isQuoted(span, quote: quote)
          if !isQuoted { hasUnquoted = true }
          if isQuoted, MissingValues.words.contains(field) {
            columns[column].quotedWords.insert(field)
          }
          if nulls.contains(field) { continue }
          columns[column].fields.append(field)
        }
      }
    }
    self.columns = columns
    self.isWhole = isWhole && left > 0
    quotesEmptyFields = hasEmpty && !hasUnquoted
  }
}
