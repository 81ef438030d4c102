import Engine

/// Opens one input and finds out all that is needed before its records are parsed: dialect, header,
/// columns, and where to begin.
struct InputPlanner {
  let options: ImportOptions
  let path: String

  /// An input whose header has been read.
  struct Opened {
    let source: any ByteSource
    let splitter: RecordSplitter
    let dialect: Dialect
    let encoding: TextEncoding
    let hasHeader: Bool
    let header: Header
    /// Whether records end with a delimiter behind their last field.
    let endsWithDelimiter: Bool
    let report: ImportReport.DialectReport
    /// What a person should know of how the input was read.
    var notes: [String]
    /// The bytes of the record that named the columns, as they stand in the input, without its end; nil where
    /// none did.
    let headerLine: [UInt8]?

    /// Its first fields, whatever is read of it later.
    let sample: FieldSample
    /// The header's fields as they must not come again; empty where that could be a record.
    let repeatedHeader: [[UInt8]?]
  }

  /// The first records of an input.
  private struct Sample {
    var bytes: [UInt8]
    var isWhole: Bool
    /// Where they begin.
    var start: RecordSplitter.Start
    var encoding: TextEncoding
  }

  /// - Throws: `ImportError.emptyInput`, `.malformedHeader`, `.invalidDialect`,
  ///   `.unsupportedEncoding`, and what reading throws.
  func open(_ source: any ByteSource) throws -> Opened {
    let decoded = try DecodingSource(detecting: source, given: options.encoding)
    let splitter = RecordSplitter(
      source: decoded, limits: options.limits, encoding: decoded.encoding)
    var notes: [String] = []
    if let given = decoded.overruled {
      notes.append(
        "the byte-order mark says \(decoded.encoding.rawValue), which was read, not "
          + "\(given.rawValue) as --encoding does")
    }
    let skipped = options.skipLines ?? 0
    try splitter.skipLines(skipped)
    var sample = try sample(splitter)
    try checkPlain(sample.bytes)
    try refuseBinary(sample)
    var given = given
    let declared = DialectSniffer.declaredDelimiter(sample.bytes)
    if let declared, options.skipLines == nil {
      given.delimiter = given.delimiter ?? [declared]
      notes.append(
        "the first line, 'sep=\(String(decoding: [declared], as: UTF8.self))', names the delimiter "
          + "and was left out; --skip-lines 0 keeps it")
      try splitter.skipLines(1)
      sample = try self.sample(splitter)
    }
    var dialect = try DialectSniffer(
      sample.bytes, isWhole: sample.isWhole, given: given
    ).dialect()
    var preamble = try skipPreamble(splitter, sample, dialect, &notes)
    if preamble > 0 { sample = try self.sample(splitter) }
    if declared != nil, options.skipLines == nil { preamble += 1 }
    let records = try sampleRecords(sample, dialect)
    let hasHeader: Bool
    switch options.header {
    case .firstRecord: hasHeader = true
    case .absent, .names: hasHeader = false
    case .sniffed: hasHeader = HeaderSniffer.looksLikeHeader(records)
    }
    let endsWithDelimiter = endsWithDelimiter(records, hasHeader: hasHeader)
    splitter.dialect = dialect
    let (header, headerLine) = try readHeader(
      splitter, hasHeader, records, dialect, endsWithDelimiter)
    if dialect.possibleRecordFields != nil {
      dialect.possibleRecordFields = header.names.count
      splitter.dialect = dialect
    }
    splitter.blankLinesAreRecords = header.names.count == 1
    let ends = DialectSniffer.recordEnds(sample.bytes, dialect)
    if ends.count > 1 {
      notes.append("record ends are mixed; every one of \\n, \\r\\n and \\r ends a record")
    }
    // A single name, or none, is too little to tell a header from a record.
    let repeatedHeader =
      header.fields.compactMap({ $0 }).count > 1
      ? header.fields.map { $0.map { Array($0.utf8) } } : []
    return Opened(
      source: source, splitter: splitter, dialect: dialect, encoding: decoded.encoding,
      hasHeader: hasHeader, header: header, endsWithDelimiter: endsWithDelimiter,
      report: report(
        dialect, decoded, hasHeader: hasHeader, skipped: skipped + preamble, ends: ends),
      notes: notes, headerLine: headerLine,
      sample: try FieldSample(
        splitter,
        RecordParser(
          dialect: dialect, columnCount: max(1, header.names.count), ragged: .pad,
          header: repeatedHeader, endsWithDelimiter: endsWithDelimiter),
        columnCount: header.names.count, options),
      repeatedHeader: repeatedHeader)
  }

  private var given: DialectSniffer.Given {
    // Where short records are wanted, a line of fewer fields may be one.
    let comment = options.comment ?? (options.ragged == .reject ? nil : "")
    return DialectSniffer.Given(
      delimiter: options.delimiter.map { Array($0.utf8) }, quote: options.quote,
      escape: options.escape, comment: comment.map { Array($0.utf8) })
  }

  private func report(
    _ dialect: Dialect, _ source: DecodingSource, hasHeader: Bool, skipped: Int, ends: [String]
  ) -> ImportReport.DialectReport {
    var sniffed: [String] = []
    if options.delimiter == nil { sniffed.append("delimiter") }
    if options.quote == nil { sniffed.append("quote") }
    if options.escape == nil { sniffed.append("escape") }
    if options.comment == nil { sniffed.append("comment") }
    if options.header == .sniffed { sniffed.append("header") }
    if source.hasMark { sniffed.append("encoding") }
    if options.skipLines == nil { sniffed.append("skippedLines") }
    func text(_ byte: UInt8) -> String { String(decoding: [byte], as: UTF8.self) }
    return ImportReport.DialectReport(
      delimiter: dialect.delimiter.text, quote: dialect.quote.map(text),
      escape: dialect.escape.map(text), comment: dialect.comment?.text, hasHeader: hasHeader,
      encoding: source.encoding, skippedLines: skipped, sniffed: sniffed, recordEnd: ends.first)
  }

  /// The beginning of the input, and whether it is all of it: enough for at least one whole record,
  /// up to the length that a record may have.
  private func sample(_ splitter: RecordSplitter) throws -> Sample {
    var wanted = DialectSniffer.sampleBytes
    while true {
      let bytes = try splitter.peek(wanted)
      let sample = Sample(
        bytes: bytes, isWhole: bytes.count < wanted,
        start: .init(byteOffset: splitter.byteOffset, line: splitter.line),
        encoding: splitter.encoding)
      if sample.isWhole || wanted >= options.limits.maximumRecordBytes { return sample }
      let dialect = try Dialect(
        delimiter: given.delimiter ?? (options.quote == 0x2C ? [0x09] : [0x2C]),
        quote: options.quote ?? 0x22, escape: options.escape, comment: given.comment)
      if !DialectSniffer.recordEnds(bytes, dialect).isEmpty { return sample }
      wanted = min(2 * wanted, options.limits.maximumRecordBytes)
    }
  }

  /// Text has no NUL characters to speak of; UTF-16 and UTF-32 read as something else has.
  private func refuseBinary(_ sample: Sample) throws {
    let head = sample.bytes.prefix(4096)
    let nuls = head.indices.filter { head[$0] == 0 }
    guard nuls.count * 10 > head.count * 3 else { return }
    let odd = nuls.filter { ($0 - head.startIndex) % 2 == 1 }.count
    let advice =
      sample.encoding != .utf8
      ? "it may be another --encoding, or no text at all"
      : nuls.count * 10 > head.count * 6
        ? "it may be UTF-32: convert it first, for example with 'iconv -f UTF-32LE -t UTF-8'"
        : odd * 10 > nuls.count * 9
          ? "it looks like UTF-16 without a byte-order mark: try --encoding utf-16le"
          : odd * 10 < nuls.count
            ? "it looks like UTF-16 without a byte-order mark: try --encoding utf-16be"
            : "it seems to be no text at all"
    throw ImportError.unsupportedEncoding(
      path: name, reason: "\(nuls.count) of its first \(head.count) bytes are NUL; \(advice)")
  }

  /// What is compressed in a way that was not seen before it was read, as a pipe's contents, and what is no
  /// CSV at all.
  private func checkPlain(_ sample: [UInt8]) throws(ImportError) {
    if let compression = Compression.of(path: "", beginning: sample) {
      throw .otherFormat(
        path: name, format: "compressed by \(compression.program)",
        advice: "send it through \(compression.program) -dc, or name the file")
    }
    let isTold = options.delimiter != nil
    if let other = OtherFormat.of(sample), !(isTold && other.mayBeText) {
      throw .otherFormat(path: name, format: other.name, advice: other.advice)
    }
  }

  private var name: String { path == "-" ? "standard input" : path }

  /// Takes the lines before the header away, where it is certain that they are none of the table.
  private func skipPreamble(
    _ splitter: RecordSplitter, _ sample: Sample, _ dialect: Dialect, _ notes: inout [String]
  ) throws -> Int {
    // Short records, where they are wanted, look the same.
    guard options.skipLines == nil, options.ragged == .reject else { return 0 }
    if case .names = options.header { return 0 }
    guard let chunk = try firstChunk(sample, dialect) else { return 0 }
    var records = try Header.sampled(
      chunk, dialect: dialect, file: name, limit: 100, needsFirst: false)
    let hasMalformed = records.count < min(chunk.recordCount, 100)
    if chunk.isLast, !sample.isWhole, records.count > 1 { records.removeLast() }
    switch Preamble.find(
      records.map(\.fields), lines: records.map(\.line), needsHeader: options.header != .absent)
    {
    case .none: return 0
    case .certain(let lines) where !hasMalformed:
      let text = records[0].fields[0] ?? ""
      notes.append(
        "\(lines) line\(lines == 1 ? "" : "s") before the header left out, beginning with "
          + "'\(text.prefix(60))'; --skip-lines 0 keeps them")
      try splitter.skipLines(lines)
      return lines
    case .certain(let lines), .possible(let lines):
      if records[0].fields.count == 1, lines <= Preamble.maximumLines {
        notes.append(
          "the first \(lines == 1 ? "line has" : "\(lines) lines have") one field, what follows has "
            + "more; if \(lines == 1 ? "it is" : "they are") not part of the table, use --skip-lines "
            + "\(lines)")
      }
      return 0
    }
  }

  private func firstChunk(_ sample: Sample, _ dialect: Dialect) throws -> Chunk? {
    let splitter = RecordSplitter(
      source: MemorySource(sample.bytes, name: name, origin: sample.start.byteOffset),
      dialect: dialect, limits: options.limits, start: sample.start, encoding: sample.encoding)
    return try splitter.next(recordLimit: 100)
  }

  private func sampleRecords(_ sample: Sample, _ dialect: Dialect) throws -> [[String?]] {
    guard let chunk = try firstChunk(sample, dialect) else { return [] }
    // Without a header a malformed first record is to be rejected like any other.
    let needsFirst = options.header == .sniffed || options.header == .firstRecord
    var records = try Header.records(
      chunk, dialect: dialect, file: name, limit: 100, needsFirst: needsFirst)
    if chunk.isLast, !sample.isWhole, records.count > 1 { records.removeLast() }
    return records
  }

  /// Whether every record has an empty field behind the last column: one without a name, or one that
  /// the header does not have.
  private func endsWithDelimiter(_ records: [[String?]], hasHeader: Bool) -> Bool {
    let columns: Int
    var rows = records[...]
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

  private func readHeader(
    _ splitter: RecordSplitter, _ hasHeader: Bool, _ records: [[String?]], _ dialect: Dialect,
    _ endsWithDelimiter: Bool
  ) throws -> (Header, line: [UInt8]?) {
    if hasHeader {
      // Comments and blank lines before it may fill a chunk.
      while let chunk = try splitter.next(recordLimit: 1) {
        if chunk.recordCount > 0 {
          if chunk.isUnfinished, options.requiresFinalNewline {
            throw ImportError.unfinished(
              position: SourcePosition(
                file: name, line: chunk.firstLine, column: 1, byteOffset: chunk.byteOffset))
          }
          let parsed = RecordParser(dialect: dialect, columnCount: 1, ragged: .extend).parse(chunk)
          defer { parsed.release() }
          let header = try Header(
            chunk, dialect: dialect, file: name, endsWithDelimiter: endsWithDelimiter)
          return (header, parsed.originalBytes(ofRecord: 0))
        }
      }
      throw ImportError.emptyInput(path: name)
    }
    splitter.nextRecord = 1
    if case .names(let names) = options.header { return (Header(names), nil) }
    guard let first = records.first else { throw ImportError.emptyInput(path: name) }
    return (Header(columnCount: first.count), nil)
  }

  /// A digest of everything that decides what a record of this input becomes.
  ///
  /// - Parameter key: the table's primary key, given or there already.
  func optionsDigest(_ opened: Opened, key: String?) -> UInt64 {
    var writer = ByteWriter()
    writer.append(opened.dialect.delimiter.text)
    writer.append(opened.dialect.quote ?? 0)
    writer.append(opened.dialect.escape ?? 0)
    writer.append(opened.dialect.comment?.text ?? "")
    writer.append(opened.encoding.rawValue)
    writer.append(opened.endsWithDelimiter)
    writer.append(opened.hasHeader)
    for name in opened.header.names { writer.append(name) }
    for null in options.nulls { writer.append(null) }
    writer.append(options.ragged.rawValue)
    switch options.types {
    case .infer: writer.append("infer")
    case .text: writer.append("text")
    case .named(let types):
      for (name, type) in types.sorted(by: { $0.key < $1.key }) {
        writer.append(name)
        writer.append(type.rawValue)
      }
    }
    // Nothing where none is given, as before there were such options.
    for format in options.dateFormats {
      writer.append("date-format")
      writer.append(format.column ?? "")
      writer.append(format.format)
    }
    if let mark = options.decimalMark { writer.append(mark.rawValue) }
    if let separator = options.thousandsSeparator {
      writer.append("thousands")
      writer.append(separator)
    }
    for name in options.columns ?? [] {
      writer.append("column")
      writer.append(name)
    }
    for (old, new) in options.renames.sorted(by: { $0.key < $1.key }) {
      writer.append(old)
      writer.append(new)
    }
    if let key {
      writer.append(key)
      writer.append(options.conflictPolicy.rawValue)
    }
    return Checksum.of(writer.bytes)
  }
}
