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
  /// What the output is.
  public enum Format: String, Sendable, CaseIterable {
    /// RFC 4180 with `\n`.
    case csv
    /// An object of JSON a line.
    case jsonl
  }

  /// What the output is.
  public var format = Format.csv
  /// Which objects to write, in which order, and which of their columns.
  public var query = Query()
  /// The columns to write, in this order; nil: all.
  public var columns: [String]? {
    get { query.columns }
    set { query.columns = newValue }
  }
  /// Write at most so many objects.
  public var limit: Int? {
    get { query.limit }
    set { query.limit = newValue }
  }
  /// Whether CSV begins with the names of the columns.
  public var hasHeader = true

  /// CSV with a header, of all objects and columns.
  public init() {}

  /// Writes the objects.
  ///
  /// - Parameters:
  ///   - table: whose objects are written.
  ///   - write: called with the next bytes of the output, in order; what it throws ends the export and
  ///     is thrown on.
  /// - Returns: the number of objects written.
  /// - Complexity: that of the query; memory is that of a few clusters, unless the query sorts.
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`, `.damaged`.
  @discardableResult
  public func run(_ table: Table, write: (UnsafeRawBufferPointer) throws -> Void) throws -> Int {
    try run(from: table, write: write)
  }

  /// The same for any source of objects, such as what can be saved of a damaged table.
  @discardableResult
  package func run(
    from source: any LeafSource, write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    let reader = try ResultReader(query, source)
    var formatter = RowFormatter(reader.columnIndices.map { reader.schema.columns[$0] }, format)
    if hasHeader { formatter.header() }
    var written = 0
    try reader.forEachWindow { window in
      for row in 0..<window.count {
        formatter.row { window.field(row, $0) }
        try formatter.flush(isLast: false, write)
      }
      written += window.count
    }
    try formatter.flush(isLast: true, write)
    return written
  }

  /// Writes rows that are at hand, a value for each column.
  package func run(
    _ rows: [[Value]], columns: [Column], write: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var formatter = RowFormatter(columns, format)
    if hasHeader { formatter.header() }
    for row in rows {
      // One arena for the row, so that its fields are valid together.
      var arena: [UInt8] = []
      var ends: [Int] = []
      for value in row {
        value.appendSpelling(to: &arena)
        ends.append(arena.count)
      }
      arena.append(0)
      arena.withUnsafeBytes { arena in
        formatter.row { column in
          if row[column] == .null { return nil }
          let start = column == 0 ? 0 : ends[column - 1]
          return UnsafeRawBufferPointer(rebasing: arena[start..<ends[column]])
        }
      }
      try formatter.flush(isLast: false, write)
    }
    try formatter.flush(isLast: true, write)
  }

  /// Finds out whether the query fits the table, so that nothing is begun in vain.
  ///
  /// - Throws: `QueryError`, `EngineError.noSuchColumn`.
  public func check(_ table: Table) throws {
    _ = try ResultReader(query, table)
  }
}
