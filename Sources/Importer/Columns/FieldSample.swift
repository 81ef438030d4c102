import Engine

/// The fields of an input's first records, column by column: what columns are looked like at before any
/// record is parsed for good.
///
/// As many records as there are in the first bytes, up to `ColumnTypes.sampleRecords`; the same for every
/// run over the same input.
struct FieldSample {
  /// Those of each column that are not null.
  let columns: [[[UInt8]]]

  init() { columns = [] }

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
    let nulls = Set(options.nulls.map { Array($0.utf8) })
    var left = ColumnTypes.sampleRecords
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
          guard let field = parsed.text(parsed.span(row: row, column: column)),
            !nulls.contains(field)
          else { continue }
          columns[column].append(field)
        }
      }
    }
    self.columns = columns
  }
}
