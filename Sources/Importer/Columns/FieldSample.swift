import Engine

/// The fields of an input's first records, column by column: what columns are looked like at before any
/// record is parsed for good.
///
/// As many records as there are in the first bytes, up to `ColumnTypes.sampleRecords`; the same for every
/// run over the same input.
struct FieldSample {
  /// Those of each column that are not null.
  let columns: [[[UInt8]]]
  /// Of each column what would stand for null, were it not in quotes.
  let quotedWords: [Set<[UInt8]>]
  /// Whether all fields are in quotes, empty ones too: what is missing is written so.
  let quotesEmptyFields: Bool

  init() {
    columns = []
    quotedWords = []
    quotesEmptyFields = false
  }

  /// - Parameters:
  ///   - splitter: positioned at the first record; it stays there.
  ///   - parser: of all fields, which pads short records.
  /// - Throws: what reading throws.
  init(
    _ splitter: RecordSplitter, _ parser: RecordParser, columnCount: Int, _ options: ImportOptions
  ) throws {
    let wanted =
      DialectSniffer.sampleBytes - min(splitter.byteOffset, DialectSniffer.sampleBytes / 2)
    let bytes = try splitter.peek(wanted)
    let isWhole = bytes.count < wanted
    let parts = RecordSplitter(
      source: MemorySource(bytes, name: "sample"), dialect: splitter.dialect, limits: options.limits
    )
    var columns = [[[UInt8]]](repeating: [], count: columnCount)
    var quotedWords = [Set<[UInt8]>](repeating: [], count: columnCount)
    let quote = splitter.dialect.quote
    let nulls = Set(options.nulls.map { Array($0.utf8) })
    var left = ColumnTypes.sampleRecords
    var (hasEmpty, hasUnquoted) = (false, false)
    while left > 0, let chunk = try? parts.next(recordLimit: left) {
      let parsed = parser.parse(chunk)
      defer { parsed.release() }
      left -= max(1, parsed.recordCount)
      for row in 0..<parsed.rowCount {
        // The last one may be cut off.
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
          if isQuoted, MissingValues.words.contains(field) { quotedWords[column].insert(field) }
          if nulls.contains(field) { continue }
          columns[column].append(field)
        }
      }
    }
    self.columns = columns
    self.quotedWords = quotedWords
    quotesEmptyFields = hasEmpty && !hasUnquoted
  }
}
