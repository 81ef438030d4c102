import Engine

/// Writes rows as CSV or JSON Lines.
///
/// Thread rule: one thread at a time.
struct RowFormatter {
  private let format: TableExporter.Format
  private let names: [String]
  private let writers: [FieldWriter]

  /// The bytes in a piece of output, about.
  static let bufferBytes = 1 << 18
  /// The number of rows whose lengths are summed before space is reserved for them.
  private static let blockRows = 64

  /// - Parameters:
  ///   - writesValues: whether CSV has values instead of spellings.
  ///   - writesHex: whether CSV has bytes in PostgreSQL's hexadecimal form.
  init(
    _ columns: [Column], _ format: TableExporter.Format, writesValues: Bool, writesHex: Bool = false
  ) {
    self.format = format
    names = columns.map(\.name)
    writers = columns.enumerated().map {
      FieldWriter($1, writesValues: writesValues, writesHex: writesHex, isFirst: $0 == 0)
    }
  }

  /// Writes the names of the columns; CSV only.
  func header(to output: FormattedBytes) {
    guard format == .csv else { return }
    for (index, name) in names.enumerated() {
      if index > 0 { output.append(0x2C) }
      let length = name.utf8.count
      let target = output.reserve(CSVField.mostBytes(length))
      // Followed by the readable bytes that `write` requires.
      (Array(name.utf8) + Array(repeating: 0, count: 8)).withUnsafeBytes { bytes in
        guard let source = bytes.baseAddress else { return }
        // Unquoted it would be the file's byte-order mark.
        let isMarked = index == 0 && name.utf8.starts(with: [0xEF, 0xBB, 0xBF])
        output.advance(
          isMarked
            ? CSVField.quote(source, count: length, to: target)
            : CSVField.write(source, count: length, to: target))
      }
    }
    output.append(0x0A)
  }

  /// What is known of a window before its rows are written.
  struct WindowFacts {
    /// For each column, whether no field needs quotes for what it contains.
    fileprivate let arePlain: [Bool]
    /// The maximum bytes of all rows as CSV; nil when they were not counted.
    fileprivate let mostBytes: Int?
  }

  /// Looks at the columns of a window.
  ///
  /// - Complexity: O(bytes); for few rows, of which each field is tested alone, O(1).
  func facts(_ window: ResultWindow) -> WindowFacts {
    guard format == .csv, window.count > Self.blockRows else {
      return WindowFacts(arePlain: writers.map { _ in false }, mostBytes: nil)
    }
    var most = 0
    let arePlain = writers.indices.map { column in
      let isPlain = window.allText(ofColumn: column, CSVField.arePlain)
      let length = window.mostBytes(ofColumn: column)
      most &+= isPlain ? length : CSVField.mostBytes(length)
      most &+= window.count &* CSVField.mostBytes(0)
      return isPlain
    }
    return WindowFacts(arePlain: arePlain, mostBytes: most)
  }

  /// Writes rows of a window from a given one, until there are `limit` bytes of output or all rows are
  /// written; at least one row.
  ///
  /// - Returns: the first row that was not written; the window's count when all are.
  func rows(
    _ window: ResultWindow, _ facts: WindowFacts, from first: Int, to output: FormattedBytes,
    limit: Int
  ) -> Int {
    let arePlain = facts.arePlain
    if first == 0, let most = facts.mostBytes, output.count + most <= limit {
      csv(window, 0..<window.count, most, arePlain, to: output)
      return window.count
    }
    var row = first
    while row < window.count {
      var end = min(row + Self.blockRows, window.count)
      var most = mostBytes(window, row..<end)
      while end - row > 1, most > limit {
        end = row + (end - row) / 2
        most = mostBytes(window, row..<end)
      }
      if format == .csv {
        csv(window, row..<end, most, arePlain, to: output)
      } else {
        json(window, row..<end, to: output)
      }
      row = end
      if output.count >= limit { break }
    }
    return row
  }

  /// The maximum bytes of rows as CSV; about the same as JSON.
  private func mostBytes(_ window: ResultWindow, _ rows: Range<Int>) -> Int {
    var length = 0
    for column in writers.indices { length &+= window.length(rows, column) }
    return CSVField.mostBytes(length) &+ rows.count &* writers.count &* CSVField.mostBytes(0)
  }

  // MARK: CSV

  private func csv(
    _ window: ResultWindow, _ rows: Range<Int>, _ most: Int, _ arePlain: [Bool],
    to output: FormattedBytes
  ) {
    // Base64 and values reserve space themselves.
    guard !writers.contains(where: \.isEncoded) else {
      for row in rows { csv(window, row, to: output) }
      return
    }
    let target = output.reserve(most)
    let count = window.withSpans { columns, indices in
      arePlain.withUnsafeBufferPointer { arePlain in
        // Not a variable outside of the closures, which would be in memory.
        var written = 0
        for row in rows {
          let index = Int(indices[row])
          for column in columns.indices {
            let (base, spans) = columns[column]
            let span = spans[index]
            if !span.isNull {
              let (source, count) = (base + Int(span.offset), Int(span.length))
              if arePlain[column], count > 0 {
                CSVField.copy(source, count: count, to: target + written)
                written &+= count
              } else {
                written &+= CSVField.write(source, count: count, to: target + written)
              }
            }
            target.storeBytes(of: 0x2C, toByteOffset: written, as: UInt8.self)
            written &+= 1
          }
          target.storeBytes(of: 0x0A, toByteOffset: written &- 1, as: UInt8.self)
        }
        return written
      }
    }
    output.advance(count)
  }

  private func csv(_ window: ResultWindow, _ row: Int, to output: FormattedBytes) {
    for (column, writer) in writers.enumerated() {
      if column > 0 { output.append(0x2C) }
      writer.appendCSV(window.field(row, column), to: output)
    }
    output.append(0x0A)
  }

  // MARK: JSON Lines

  private func json(_ window: ResultWindow, _ rows: Range<Int>, to output: FormattedBytes) {
    for row in rows {
      for (column, writer) in writers.enumerated() {
        writer.appendJSON(window.field(row, column), to: output)
      }
      output.append(0x7D)
      output.append(0x0A)
    }
  }
}
