import Engine

/// Writes a table's objects as CSV or JSON Lines.
///
/// CSV is RFC 4180 with `\n`: a null is an empty field, an empty string is `""`, and a field is
/// quoted only when it must be. What was imported comes back to the letter, since values are kept as
/// they were spelled. JSON Lines has an object a line, its keys in the order of the columns; numbers
/// and booleans are JSON's own, NaN and null are null, everything else is a string. Data columns are
/// written in Base64.
///
/// Thread rule: one thread at a time.
public struct TableExporter {
  public enum Format: String, Sendable, CaseIterable {
    case csv
    case jsonl
  }

  public var format = Format.csv
  /// The columns to write, in this order; nil: all.
  public var columns: [String]?
  /// Write at most so many objects.
  public var limit: Int?
  /// Whether CSV begins with the names of the columns.
  public var hasHeader = true

  public init() {}

  /// Bytes handed to `write` at once.
  private static let bufferBytes = 1 << 18

  /// Writes the table.
  ///
  /// - Parameter write: called with the next bytes of the output, in order; what it throws ends the
  ///   export and is thrown on.
  /// - Returns: the number of objects written.
  /// - Throws: `EngineError.noSuchColumn`, `.damaged`.
  @discardableResult
  public func run(_ table: Table, write: (UnsafeRawBufferPointer) throws -> Void) throws -> Int {
    let indices = try selected(table)
    let names = indices.map { table.columns[$0].name }
    let writers = indices.map { FieldWriter(table.columns[$0], format) }
    var output: [UInt8] = []
    output.reserveCapacity(Self.bufferBytes + 4096)
    if format == .csv, hasHeader { FieldWriter.appendHeader(names, to: &output) }
    let decoded = indices.map { _ in DecodedColumn() }
    let keys = names.enumerated().map { FieldWriter.key($1, isFirst: $0 == 0) }
    var left = limit ?? Int.max
    var written = 0
    try table.forEachLeaf { leaf in
      let rows = min(leaf.rowCount, left)
      if rows == 0 { return }
      for (position, index) in indices.enumerated() {
        try leaf.column(id: table.schema.columnIDs[index])
          .decode(rows: 0..<rows, into: decoded[position])
      }
      for row in 0..<rows {
        for position in writers.indices {
          let field = decoded[position][row]
          if format == .csv {
            if position > 0 { output.append(0x2C) }
            writers[position].appendCSV(field, to: &output)
          } else {
            output += keys[position]
            writers[position].appendJSON(field, to: &output)
          }
        }
        if format == .jsonl { output.append(0x7D) }
        output.append(0x0A)
        if output.count >= Self.bufferBytes {
          try output.withUnsafeBytes(write)
          output.removeAll(keepingCapacity: true)
        }
      }
      left -= rows
      written += rows
    }
    if !output.isEmpty { try output.withUnsafeBytes(write) }
    return written
  }

  /// Finds out whether the table has all of `columns`, so that nothing is begun in vain.
  ///
  /// - Throws: `EngineError.noSuchColumn`.
  public func check(_ table: Table) throws {
    _ = try selected(table)
  }

  private func selected(_ table: Table) throws -> [Int] {
    guard let columns else { return Array(table.columns.indices) }
    return try columns.map { name in
      guard let index = table.schema.index(of: name) else {
        throw EngineError.noSuchColumn(
          table: table.name, column: name, known: table.columns.map(\.name))
      }
      return index
    }
  }
}
