import Engine

/// The names of a table's columns.
///
/// Spaces and tabs around a name are removed, unless it is from a database. An empty name becomes `column`
/// and its number, from `column1`. The first column of a name keeps it; further ones get the first of `_2`,
/// `_3` and so on that is free. Names are case-sensitive.
package struct Header: Sendable, Equatable {
  /// More columns are refused: a wrong delimiter is more likely, and every column takes memory in every
  /// batch.
  package static let maximumColumns = 65_536

  /// A change in a name, for the report.
  package enum Note: Sendable, Equatable, CustomStringConvertible {
    /// `column` counts from 1.
    case emptyName(column: Int, became: String)
    case duplicateName(String, column: Int, became: String)

    package var description: String {
      switch self {
      case .emptyName(let column, let name): "column \(column) has no name: it is called \(name)"
      case .duplicateName(let old, let column, let name):
        "column \(column) is named \(old) as an earlier one is: it is called \(name)"
      }
    }
  }

  /// Unique and not empty.
  package let names: [String]
  package let notes: [Note]
  /// The fields of the record with the names; empty when the names were given, or come from several records.
  package private(set) var fields: [String?] = []

  /// The names as given or read, made unique.
  ///
  /// - Complexity: O(names).
  package init(_ given: [String]) { self.init(trimmed: given.map(Self.trimmed)) }

  private init(trimmed: [String]) {
    // Columns that keep their name come first, so that no generated name takes it.
    var taken = Set<String>()
    let keeps = trimmed.map { !$0.isEmpty && taken.insert($0).inserted }
    var names = trimmed
    var notes: [Note] = []
    var nextSuffix: [String: Int] = [:]
    for index in names.indices where !keeps[index] {
      let old = names[index]
      let base = old.isEmpty ? "column\(index + 1)" : old
      var name = base
      // Continuing from the last suffix keeps ten thousand equal names linear.
      var suffix = nextSuffix[base] ?? 2
      if !old.isEmpty || taken.contains(name) {
        repeat {
          name = "\(base)_\(suffix)"
          suffix += 1
        } while taken.contains(name)
        nextSuffix[base] = suffix
      }
      taken.insert(name)
      names[index] = name
      notes.append(
        old.isEmpty
          ? .emptyName(column: index + 1, became: name)
          : .duplicateName(old, column: index + 1, became: name))
    }
    self.names = names
    self.notes = notes
  }

  /// `column1`, `column2` and so on, for an input without a header.
  package init(columnCount: Int) {
    names = (0..<max(0, columnCount)).map { "column\($0 + 1)" }
    notes = []
  }

  /// The names in one record, or in several consecutive ones, joined by a blank.
  ///
  /// - Parameters:
  ///   - endsWithDelimiter: whether to ignore an empty name after the last one.
  ///   - areExact: whether blanks around a name belong to it.
  package init(rows: [[String?]], endsWithDelimiter: Bool = false, areExact: Bool = false) {
    var names = [String](repeating: "", count: rows.map(\.count).max() ?? 0)
    for (column, name) in Self.places(rows) {
      let part = areExact ? name : Self.trimmed(name)
      if !part.isEmpty { names[column] += names[column].isEmpty ? part : " " + part }
    }
    var fields = rows.first ?? []
    if endsWithDelimiter, names.last?.isEmpty == true {
      names.removeLast()
      if fields.count > names.count { fields.removeLast() }
    }
    self.init(trimmed: names)
    self.fields = rows.count == 1 ? fields : []
  }

  private static func places(_ rows: [[String?]]) -> [(column: Int, name: String)] {
    rows.flatMap { row in row.enumerated().map { ($0, $1 ?? "") } }
  }

  /// The first records of a chunk as text, with any number of fields; nil for null. Malformed ones are
  /// omitted.
  ///
  /// - Parameter needsFirst: whether a malformed first record is an error, as for a header.
  /// - Throws: `ImportError.malformedHeader`.
  package static func records(
    _ chunk: Chunk, dialect: Dialect, file: String, limit: Int, needsFirst: Bool = true
  ) throws(ImportError) -> [[String?]] {
    try sampled(chunk, dialect: dialect, file: file, limit: limit, needsFirst: needsFirst)
      .map(\.fields)
  }

  /// Like `records`, with the line of each record, relative to the chunk's first line, from 1.
  static func sampled(
    _ chunk: Chunk, dialect: Dialect, file: String, limit: Int, needsFirst: Bool
  ) throws(ImportError) -> [(line: Int, fields: [String?])] {
    let parser = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend)
    let parsed = parser.parse(chunk)
    if needsFirst, let problem = parsed.malformed.first, problem.record == 0 {
      let reason =
        if case .tooManyFields(_, let found) = problem.reason {
          "it has \(found) fields, more than \(maximumColumns)"
        } else {
          problem.reason.description
            + problem.reason.advice(
              parsed.originalBytes(ofRecord: 0),
              likelyEncoding: problem.reason == .invalidUTF8 ? likelyEncoding(chunk) : nil)
        }
      throw ImportError.malformedHeader(
        position: SourcePosition(
          file: file, line: problem.line, column: problem.column, byteOffset: problem.byteOffset),
        reason: reason)
    }
    let count = min(limit, parsed.rowCount)
    var records = (0..<count).map { row in
      (
        line: Int(parsed.record(parsed.recordIndex(ofRow: row)).line) + 1,
        fields: [Self.string(parsed, parsed.span(row: row, column: 0))]
      )
    }
    for field in parsed.surplus where field.row < count {
      records[field.row].fields.append(Self.string(parsed, field.span))
    }
    return records
  }

  /// Uses all available bytes, as a few names may fit many encodings.
  private static func likelyEncoding(_ chunk: Chunk) -> String? {
    let bytes = chunk.copy(from: 0, to: min(chunk.byteCount, 1 << 16))
    return EncodingGuess.likely(bytes, isWhole: false)?.encoding.rawValue
  }

  private static func string(_ parsed: ParsedChunk, _ span: TextSpan) -> String? {
    parsed.text(span).map { String(decoding: $0, as: UTF8.self) }
  }

  private static func trimmed(_ name: String) -> String {
    let bytes = name.utf8
    let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
    guard let first = bytes.firstIndex(where: { !isBlank($0) }),
      let last = bytes.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(name[first...last])
  }
}
