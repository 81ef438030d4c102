import Base
import Engine

/// Writes a table's objects as CSV or JSON Lines.
///
/// CSV is RFC 4180 with `\n`: a null is an empty field, an empty string is `""`, and a field is quoted only
/// when it must be. Values have the spellings that were imported. JSON Lines has an object a line, with keys
/// in the order of the columns; numbers and booleans are those of JSON, NaN and null are null, everything
/// else is a string; dates and date-times are ISO 8601, however they are spelled. Data columns are in Base64.
///
/// Thread rule: one thread at a time.
public struct TableExporter {
  /// The format of the output.
  public enum Format: String, Sendable, CaseIterable {
    /// RFC 4180 with `\n`.
    case csv
    /// A JSON object a line.
    case jsonl
  }

  /// The format of the output.
  public var format = Format.csv
  /// The objects to write, with order and columns.
  public var query = Query()
  /// The columns to write, in this order; nil: all.
  public var columns: [String]? {
    get { query.columns }
    set { query.columns = newValue }
  }
  /// The maximum number of objects; nil: no limit.
  public var limit: Int? {
    get { query.limit }
    set { query.limit = newValue }
  }
  /// Whether CSV begins with the names of the columns.
  public var hasHeader = true

  /// Whether CSV has numbers, dates and booleans in their canonical spellings instead of the imported ones.
  /// JSON Lines always has.
  public var writesValues = false

  /// Whether CSV has bytes in PostgreSQL's hexadecimal form instead of Base64.
  var writesHex = false

  /// CSV with a header, of all objects and columns.
  public init() {}

  /// The number of threads that read and write rows, in addition to the calling one: as many as there are
  /// processors, up to 16.
  package var threads = min(System.processorCount, 16)
  /// The maximum bytes of a piece's output that wait for their turn; a larger piece is written on the calling
  /// thread.
  package var pieceBytes = 16 << 20

  /// Writes the objects.
  ///
  /// Other threads read the table if it is large and the query does not sort; `write` is called on the
  /// calling thread.
  ///
  /// - Parameters:
  ///   - table: the table whose objects are written.
  ///   - write: called with the next bytes of the output, in order. An error that it throws ends the export
  ///     and is rethrown.
  /// - Returns: the number of objects written.
  /// - Complexity: that of the query. Memory: the text of two pieces of the table a processor, each of up to
  ///   16 MiB where fields are long, unless the query sorts.
  /// - Throws: `QueryError`; `EngineError.noSuchColumn`; `ImportError.invalidOption` for JSON Lines with a
  ///   column twice; `.damaged`, after all objects before the damage were written.
  @discardableResult
  public func run(_ table: Table, write: (UnsafeRawBufferPointer) throws -> Void) throws -> Int {
    let reader = try ResultReader(query, table)
    let formatter = try formatter(reader)
    reader.releasesMemory = true
    guard threads > 1, !reader.isSorted, let team = ExportTeam(threads, rows: table.count) else {
      return try run(reader, formatter, write: write)
    }
    var guarding = MarkGuard(isNeeded: format == .csv && !hasHeader)
    return try team.run(
      reader, formatter, hasHeader: hasHeader, pieceBytes: pieceBytes
    ) { try guarding.write($0, write) }
  }

  /// Writes any source of objects, such as the readable part of a damaged table.
  @discardableResult
  package func run(
    from source: any LeafSource, write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    let reader = try ResultReader(query, source)
    return try run(reader, formatter(reader), write: write)
  }

  private func formatter(_ reader: ResultReader) throws -> RowFormatter {
    try formatter(reader.columnIndices.map { reader.schema.columns[$0] })
  }

  private func formatter(_ columns: [Column]) throws -> RowFormatter {
    if format == .jsonl {
      // Readers of JSON keep one of the values of a name.
      var names: Set<String> = []
      for column in columns where !names.insert(column.name).inserted {
        throw ImportError.invalidOption(
          "column '\(column.name)' is named twice, and JSON Lines has each name once: name it "
            + "once, or use CSV")
      }
    }
    return RowFormatter(columns, format, writesValues: writesValues, writesHex: writesHex)
  }

  /// The columns that are written.
  ///
  /// - Throws: the errors of `run`.
  func written(_ table: Table) throws -> [Column] {
    let reader = try ResultReader(query, table)
    return reader.columnIndices.map { reader.schema.columns[$0] }
  }

  /// Writes one row after the other, on the calling thread.
  private func run(
    _ reader: ResultReader, _ formatter: RowFormatter,
    write: (UnsafeRawBufferPointer) throws -> Void
  ) throws -> Int {
    var guarding = MarkGuard(isNeeded: format == .csv && !hasHeader)
    let stream = FormattedStream(formatter)
    if hasHeader { stream.header() }
    var written = 0
    do {
      try reader.forEachWindow { window in
        try stream.rows(window) { try guarding.write($0, write) }
        written += window.count
      }
    } catch {
      try stream.end { try guarding.write($0, write) }
      throw error
    }
    try stream.end { try guarding.write($0, write) }
    return written
  }

  /// Writes given rows, with a value for each column.
  package func run(
    _ rows: [[Value]], columns: [Column], write: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var guarding = MarkGuard(isNeeded: format == .csv && !hasHeader)
    let stream = FormattedStream(try formatter(columns))
    if hasHeader { stream.header() }
    for row in rows {
      try ResultWindow.with(row) { window in
        try stream.rows(window) { try guarding.write($0, write) }
      }
    }
    try stream.end { try guarding.write($0, write) }
  }

  /// Checks that the query fits the table, before any output is begun.
  ///
  /// - Throws: `QueryError`, `EngineError.noSuchColumn`, `ImportError.invalidOption`.
  public func check(_ table: Table) throws {
    _ = try formatter(ResultReader(query, table))
  }
}
