import Engine

/// The beginning and end of an input's table, and the names of its columns.
extension InputPlanner {
  /// Skips the lines at the beginning that are comments but could be records by their fields.
  func skipComments(_ splitter: RecordSplitter, _ lines: Int, _ notes: inout [String]) throws -> Int
  {
    guard lines > 0, options.skipLines == nil else { return 0 }
    notes.append(
      "\(lines) line\(lines == 1 ? "" : "s") before the header left out, comments that begin with '#'; "
        + "--comment none keeps them")
    try splitter.skipLines(lines)
    return lines
  }

  /// The lines before the header.
  struct Front {
    /// The number of skipped lines.
    var lines = 0
    /// The first records, if no line was skipped and none of them is malformed.
    var records: [[String?]]?
  }

  /// Skips the lines before the header that certainly do not belong to the table.
  func skipPreamble(
    _ splitter: RecordSplitter, _ sample: Sample, _ dialect: Dialect, _ notes: inout [String]
  ) throws -> Front {
    // Short records look the same, if they are allowed.
    guard options.skipLines == nil, options.ragged == .reject, options.headerLines == 1 else {
      return Front()
    }
    if case .names = options.header { return Front() }
    guard let chunk = try firstChunk(sample, dialect) else { return Front() }
    var records = try Header.sampled(
      chunk, dialect: dialect, file: name, limit: HeaderSniffer.sampleRecords, needsFirst: false)
    let hasMalformed = records.count < min(chunk.recordCount, HeaderSniffer.sampleRecords)
    if chunk.isLast, !sample.isWhole, records.count > 1 { records.removeLast() }
    let fields = records.map(\.fields)
    let unchanged = Front(records: hasMalformed ? nil : fields)
    let titles = dialect.isWhitespace ? Preamble.titles(fields) : 0
    let heads = fields.prefix(titles).map { [$0.compactMap(\.self).joined(separator: " ")] }
    switch Preamble.find(
      heads + fields.dropFirst(titles), lines: records.map(\.line),
      needsHeader: options.header != .absent)
    {
    case .none:
      if options.header == .sniffed, Preamble.isBelowFigures(fields) {
        let lines = records[1].line - 1
        notes.append(
          "the first record has nothing but figures, and what follows begins with names: if it is not "
            + "part of the table, use --skip-lines \(lines)")
      }
      return unchanged
    case .certain(let lines) where !hasMalformed:
      let text = heads.first?[0] ?? records[0].fields[0] ?? ""
      notes.append(
        "\(lines) line\(lines == 1 ? "" : "s") before the header left out, beginning with "
          + "'\(text.prefix(60))'; --skip-lines 0 keeps them")
      try splitter.skipLines(lines)
      return Front(lines: lines)
    case .certain(let lines), .possible(let lines):
      if records[0].fields.count == 1, lines <= Preamble.maximumLines {
        notes.append(
          "the first \(lines == 1 ? "line has" : "\(lines) lines have") one field, what follows has "
            + "more; if \(lines == 1 ? "it is" : "they are") not part of the table, use --skip-lines "
            + "\(lines)")
      } else if Preamble.areTitles(records.filter { $0.line <= lines }.map(\.fields)) {
        notes.append(
          "the first \(lines == 1 ? "line is" : "\(lines) lines are") filled like a title, if at all; if "
            + "\(lines == 1 ? "it is" : "they are") not part of the table, use --skip-lines \(lines)"
        )
      }
      return unchanged
    }
  }

  /// Returns whether all fields of the first record are quoted without need, while figures after the first
  /// fields of the other records are not. Programs that quote all texts, but no figures, write names in this
  /// way, even names that are figures.
  func namesAreQuoted(_ sample: Sample, _ dialect: Dialect) throws -> Bool {
    guard dialect.quote != nil, let chunk = try firstChunk(sample, dialect) else { return false }
    let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
    defer { parsed.release() }
    func isQuoted(_ span: TextSpan) -> Bool { parsed.isQuoted(span, quote: dialect.quote) }
    // The last record may be truncated.
    let count = parsed.rowCount - (chunk.isLast && !sample.isWhole ? 1 : 0)
    guard count > 2, parsed.malformed.isEmpty, let delimiter = dialect.delimiter.bytes.first,
      isQuoted(parsed.span(row: 0, column: 0))
    else { return false }
    var rows = (0..<count).map { [parsed.span(row: $0, column: 0)] }
    for field in parsed.surplus where field.row < count { rows[field.row].append(field.span) }
    let isQuotedFirst = rows[0].allSatisfy { span in
      isQuoted(span) && parsed.text(span)?.contains(delimiter) == false
    }
    return isQuotedFirst
      && rows.dropFirst().allSatisfy { row in
        let figures = row.dropFirst(min(1, row.count - 1)).filter { span in
          CellShape(parsed.text(span).map { String(decoding: $0, as: UTF8.self) }).isTyped
        }
        return !figures.isEmpty && !figures.contains(where: isQuoted)
      }
  }

  /// The names of the columns, and the form of the header.
  struct FoundHeader {
    let header: Header
    /// True when records end with a delimiter after their last field.
    let endsWithDelimiter: Bool
    /// True when the header has no name for the first column.
    var isWithoutFirstName = false
    /// The bytes of the records with the names; nil when there are none.
    let line: [UInt8]?
  }

  /// Returns whether every record has an empty field after the last column, which the header leaves unnamed
  /// or lacks.
  private func endsWithDelimiter(_ records: [[String?]], hasHeader: Bool) -> Bool {
    let columns: Int
    // This many suffice; a later record that differs is rejected.
    var rows = records.prefix(100)
    if case .names(let names) = options.header {
      columns = names.count
    } else {
      guard hasHeader, let first = rows.popFirst(), let last = first.last else { return false }
      columns = last == nil ? first.count - 1 : first.count
    }
    guard columns > 0, !rows.isEmpty else { return false }
    return rows.allSatisfy { row in
      guard row.count == columns + 1, let last = row.last else { return false }
      return last == nil
    }
  }

  /// Reads the header of the input, if it has one.
  func readHeader(
    _ splitter: RecordSplitter, _ hasHeader: Bool, _ records: [[String?]], _ dialect: Dialect,
    _ notes: inout [String]
  ) throws -> FoundHeader {
    let lines = options.headerLines
    let below = Array(records.dropFirst(hasHeader ? lines - 1 : 0))
    let ends = endsWithDelimiter(below, hasHeader: hasHeader)
    guard hasHeader else {
      splitter.nextRecord = 1
      if case .names(let names) = options.header {
        return FoundHeader(header: Header(names), endsWithDelimiter: ends, line: nil)
      }
      guard let first = records.first else { throw ImportError.emptyInput(path: name) }
      return FoundHeader(
        header: Header(columnCount: first.count), endsWithDelimiter: ends, line: nil)
    }
    var rows: [[String?]] = []
    var line: [UInt8] = []
    // Comments and blank lines before the header may fill a chunk.
    while rows.count < lines, let chunk = try splitter.next(recordLimit: 1) {
      guard chunk.recordCount > 0 else { continue }
      if chunk.isUnfinished, options.requiresFinalNewline {
        throw ImportError.unfinished(
          position: SourcePosition(
            file: name, line: chunk.firstLine, column: 1, byteOffset: chunk.byteOffset))
      }
      let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
      defer { parsed.release() }
      rows += try Header.records(chunk, dialect: dialect, file: name, limit: 1)
      if !line.isEmpty { line += Transcoder.input([0x0A], splitter.encoding) }
      line += parsed.originalBytes(ofRecord: 0)
    }
    guard !rows.isEmpty else { throw ImportError.emptyInput(path: name) }
    if rows.count < lines {
      throw ImportError.malformedHeader(
        position: SourcePosition(file: name, line: 1, column: 1, byteOffset: 0),
        reason: "--header-lines \(lines) is more than the \(rows.count) records that are there")
    }
    let form = options.ragged == .reject && !ends ? HeaderForm.find(below) : .whole
    if let note = form.note { notes.append(note) }
    if lines == 1 {
      let count = HeaderRows.count(records)
      if count > 1 {
        notes.append(
          "the first \(count) records may be the header together: use --header-lines \(count) if they are"
        )
      }
    }
    // Records are numbered from the first one without names.
    splitter.nextRecord = 1
    return FoundHeader(
      header: Header(
        rows: rows.map { form.names($0) }, endsWithDelimiter: ends, areExact: types != nil),
      endsWithDelimiter: ends, isWithoutFirstName: form == .withoutFirst, line: line)
  }

  /// Notes for the user about an input without a delimiter.
  func notesOfOneColumn(_ records: [[String?]]) -> [String] {
    var notes: [String] = []
    let hashes = records.prefix { $0.first??.hasPrefix("#") ?? false }.count
    let text = records.first?.first.flatMap(\.self)?.dropFirst() ?? ""
    // `#name` is a name.
    let isName = hashes == 1 && text.first.map { $0 != " " && $0 != "#" } ?? false
    if hashes > 0, hashes < records.count, !isName, options.comment == nil {
      notes.append(
        "\(hashes == 1 ? "the first line begins" : "the first \(hashes) lines begin") with '#', not "
          + "taken for comments: --comment '#' leaves such lines out")
    }
    guard let table = AlignedBlanks(records) else { return notes }
    switch table.gap {
    case .single:
      notes.append(
        "each line seems to have \(table.fields) fields with a blank between them, and is read as one: "
          + "give --delimiter ' ' if it has")
    case .runs:
      notes.append(
        "each line seems to have \(table.fields) fields with runs of blanks between them, and is read as "
          + "one: give --delimiter \(ImportOptions.whitespace) if it has")
    case .places(let places):
      // From the last one, so that earlier positions stay valid.
      let bars = places.reversed().map { "s/^(.{\($0)}) /\\1|/" }
      notes.append(
        "each line seems to have \(table.fields) fields in the same places, which may have blanks inside, "
          + "and is read as one: send it through sed -E '\(bars.joined(separator: ";"))' first, and give "
          + "--delimiter '|' --trim")
    }
    return notes
  }

  /// Notes lines at the end of a file that may not belong to the table.
  func noteFooter(
    _ source: any ByteSource, _ decoded: DecodingSource, _ dialect: Dialect, width: Int,
    from tableStart: Int, _ notes: inout [String]
  ) {
    // Short records look the same, if they are allowed.
    guard options.skipFooter == 0, options.ragged == .reject,
      options.limit == nil || options.isSniffing,
      decoded.encoding == .utf8, width > 1,
      let input = source.positioned, let size = source.size
    else { return }
    // Not from before the table, whose preamble and header would count as records.
    let start = max(tableStart, size - TableEnd.sampleBytes)
    guard start < size else { return }
    var bytes = [UInt8](repeating: 0, count: size - start)
    let count = bytes.withUnsafeMutableBytes { input.readAhead(into: $0, at: start) }
    guard count == bytes.count else { return }
    if start > tableStart {
      guard let end = bytes.firstIndex(of: 0x0A) else { return }
      bytes.removeFirst(end + 1)
    }
    let parts = RecordSplitter(
      source: MemorySource(bytes), dialect: dialect, limits: options.limits)
    guard let chunk = try? parts.next(recordLimit: .max), chunk.isLast,
      let records = try? Header.sampled(
        chunk, dialect: dialect, file: name, limit: .max, needsFirst: false),
      records.count == chunk.recordCount
    else { return }
    let footer = TableEnd.footer(records.map(\.fields), width: width)
    guard footer > 0 else { return }
    let first = records[records.count - footer]
    let last = chunk.firstLine + chunk.lineBreaks - (chunk.isUnfinished ? 0 : 1)
    let lines = max(1, last - first.line + 1)
    notes.append(
      "the last \(lines == 1 ? "line seems" : "\(lines) lines seem") not to be the table's: "
        + "'\((first.fields.compactMap(\.self).first ?? "").prefix(60))'; --skip-footer \(lines) leaves "
        + "\(lines == 1 ? "it" : "them") out")
  }
}
