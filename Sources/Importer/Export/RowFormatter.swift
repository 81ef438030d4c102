import Engine

/// Writes rows as CSV or JSON Lines into a buffer.
struct RowFormatter {
  private let format: TableExporter.Format
  private let names: [String]
  private let writers: [FieldWriter]
  private let keys: [[UInt8]]
  /// What was written and not yet taken.
  private(set) var output: [UInt8] = []

  /// Bytes to hand on at once.
  static let bufferBytes = 1 << 18

  init(_ columns: [Column], _ format: TableExporter.Format) {
    self.format = format
    names = columns.map(\.name)
    writers = columns.map { FieldWriter($0, format) }
    keys = names.enumerated().map { FieldWriter.key($1, isFirst: $0 == 0) }
    output.reserveCapacity(Self.bufferBytes + 4096)
  }

  /// The names of the columns; CSV only.
  mutating func header() {
    if format == .csv { FieldWriter.appendHeader(names, to: &output) }
  }

  /// One row.
  @inline(__always)
  mutating func row(_ field: (Int) -> UnsafeRawBufferPointer?) {
    for column in writers.indices {
      if format == .csv {
        if column > 0 { output.append(0x2C) }
        writers[column].appendCSV(field(column), to: &output)
      } else {
        output += keys[column]
        writers[column].appendJSON(field(column), to: &output)
      }
    }
    if format == .jsonl { output.append(0x7D) }
    output.append(0x0A)
  }

  /// Hands on what was written, once it is enough to be worth it or when it is the last.
  mutating func flush(isLast: Bool, _ write: (UnsafeRawBufferPointer) throws -> Void) throws {
    guard isLast || output.count >= Self.bufferBytes else { return }
    if !output.isEmpty { try output.withUnsafeBytes(write) }
    output.removeAll(keepingCapacity: true)
  }
}
