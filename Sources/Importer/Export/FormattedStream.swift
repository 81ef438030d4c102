import Engine

/// Formats rows as they come, and passes the output on in pieces.
///
/// Thread rule: one thread at a time.
struct FormattedStream {
  private let formatter: RowFormatter
  private let output: FormattedBytes

  init(_ formatter: RowFormatter) {
    self.formatter = formatter
    output = FormattedBytes(capacity: RowFormatter.bufferBytes)
  }

  func header() { formatter.header(to: output) }

  /// Formats all rows of a window.
  func rows(_ window: ResultWindow, _ write: (UnsafeRawBufferPointer) throws -> Void) throws {
    let facts = formatter.facts(window)
    var row = 0
    while row < window.count {
      // A window as readers of leaves make them is written as a whole.
      let limit = output.count + 4 * RowFormatter.bufferBytes
      row = formatter.rows(window, facts, from: row, to: output, limit: limit)
      if output.count >= RowFormatter.bufferBytes { try end(write) }
    }
  }

  /// Passes on the remaining output, also when the rows behind it cannot be read. After an error of `write`
  /// there is none.
  func end(_ write: (UnsafeRawBufferPointer) throws -> Void) throws {
    defer { output.removeAll() }
    if output.count > 0 { try write(output.bytes) }
  }
}
