import Base
import Engine

/// Opens one input and finds everything that parsing its records requires: dialect, header, columns, and the
/// first record.
struct InputPlanner {
  let options: ImportOptions
  let path: String
  /// The types of the columns, in the order of the fields, if the input itself has types.
  var types: [ColumnType?]?

  /// An input whose header has been read.
  struct Opened {
    let source: any ByteSource
    let splitter: RecordSplitter
    let dialect: Dialect
    let encoding: TextEncoding
    let hasHeader: Bool
    let header: Header
    /// True when records end with a delimiter after their last field.
    let endsWithDelimiter: Bool
    /// True when the header has no name for the first column.
    let isWithoutFirstName: Bool
    let report: ImportReport.DialectReport
    let findings: InputFindings
    /// Notes for the user about how the input was read.
    var notes: [String]
    /// What to tell about a header of which nothing but its words says that it is one; nil for any other.
    let headerDoubt: String?
    /// The bytes of the record with the names, in the input's encoding, without its end; nil when there is
    /// none.
    let headerLine: [UInt8]?

    /// The likely encoding, if the beginning is not UTF-8; the input is nevertheless read as UTF-8.
    let likelyEncoding: String?
    /// The columns that its records get in addition to their fields.
    let added: AddedValues
    /// Its first fields, independent of later records.
    let sample: FieldSample
    /// The header's fields, to recognize a repeated header; empty if such a record may be data.
    let repeatedHeader: [[UInt8]?]
    /// The types of the columns, in the order of the fields, if the input itself has types.
    let types: [ColumnType?]?

    /// All that the user is told about how the input was read.
    ///
    /// - Parameters:
    ///   - options: the first record has names, not data, if they name one of its columns.
    ///   - isColumn: whether the table had a column of this name before: it is not data either if it had all.
    func told(_ options: ImportOptions, _ isColumn: (String) -> Bool) -> [String] {
      let names = header.names.map { options.renames[$0] ?? $0 }
      var chosen = Set(options.keys + (options.columns ?? [])).union(options.renames.values)
      if case .named(let types) = options.types { chosen.formUnion(types.keys) }
      let areKnown = names.contains(where: chosen.contains) || names.allSatisfy(isColumn)
      return notes + (areKnown ? [] : [headerDoubt].compactMap(\.self))
        + header.notes.map(\.description)
    }
  }

  /// The first records of an input.
  struct Sample {
    var bytes: [UInt8]
    var isWhole: Bool
    /// The start of these records.
    var start: RecordSplitter.Start
    var encoding: TextEncoding
    /// The original bytes, for encodings whose bytes cannot be computed from UTF-8.
    var original: SystemText?
  }

  /// - Throws: `ImportError.emptyInput`, `.malformedHeader`, `.invalidDialect`, `.unsupportedEncoding`, and
  ///   the errors of reading.
  func open(_ source: any ByteSource) throws -> Opened {
    try options.checkNumbers()
    let decoded = try DecodingSource(
      detecting: source, given: options.encoding, guesses: options.isSniffing)
    let splitter = RecordSplitter(
      source: decoded.withoutFooter(lines: options.skipFooter), limits: options.limits,
      encoding: decoded.encoding, original: decoded.original)
    var notes = notes(decoded)
    let skipped = options.skipLines ?? 0
    try splitter.skipLines(skipped)
    var sample = try sample(splitter)
    try checkPlain(sample.bytes)
    try refuseBinary(sample)
    var given = given
    var preamble = try takeDeclaration(splitter, &sample, &given, &notes)
    let sniffed = try findDialect(sample, given, &notes)
    var dialect = sniffed.dialect
    if given.quote == nil, let quote = dialect.quote, quote != 0x22 {
      let sign = ShellWord.inQuotes(String(UnicodeScalar(quote)))
      notes.append(
        "\(sign) around fields is taken for a quote, and left out; --quote '\"' keeps it, --quote \(sign) "
          + "says the same without this note")
    }
    let comments = try skipComments(splitter, sniffed.leadingComments, &notes)
    if comments > 0 { sample = try self.sample(splitter) }
    let front = try skipPreamble(splitter, sample, dialect, &notes)
    if front.lines > 0 { sample = try self.sample(splitter) }
    preamble += comments + front.lines
    let records = try front.records ?? sampleRecords(sample, dialect)
    var findings = InputFindings(sniffed.trials, chosen: dialect)
    var headerDoubt: String?
    let hasHeader = try sniffHeader(records, sample, dialect, &findings, &notes, &headerDoubt)
    splitter.dialect = dialect
    let found = try readHeader(splitter, hasHeader, records, dialect, &notes)
    let header = found.header
    if dialect.possibleRecordFields != nil {
      dialect.possibleRecordFields = header.names.count
      splitter.dialect = dialect
    }
    splitter.blankLinesAreRecords = header.names.count == 1
    if header.names.count == 1, options.delimiter == nil, !sniffed.isLone {
      notes += notesOfOneColumn(records)
    }
    noteFooter(
      source, decoded, dialect, width: header.names.count, from: splitter.byteOffset, &notes)
    let ends = recordEnds(sample, dialect, &notes)
    let repeatedHeader = repeatedHeader(header)
    let first = try FieldSample(
      splitter,
      RecordParser(
        dialect: dialect, columnCount: max(1, header.names.count), ragged: .pad,
        header: repeatedHeader, endsWithDelimiter: found.endsWithDelimiter),
      columnCount: header.names.count, options)
    if hasHeader, first.isWithoutRecords, options.header == .sniffed, headerDoubt == nil {
      headerDoubt = Self.doubtOfOnlyRecord
    }
    return Opened(
      source: source, splitter: splitter, dialect: dialect, encoding: decoded.encoding,
      hasHeader: hasHeader, header: header, endsWithDelimiter: found.endsWithDelimiter,
      isWithoutFirstName: found.isWithoutFirstName,
      report: report(
        dialect, decoded, hasHeader: hasHeader, skipped: skipped + preamble, ends: ends),
      findings: findings, notes: notes, headerDoubt: headerDoubt, headerLine: found.line,
      likelyEncoding: likelyEncoding(sample),
      added: try AddedValues(
        options, path: path, taken: ColumnChoice.taken(header.names, options)),
      sample: first, repeatedHeader: repeatedHeader, types: types)
  }

  /// The fields by which a record is the header again; none if it may be data.
  private func repeatedHeader(_ header: Header) -> [[UInt8]?] {
    var names = header.fields
    if case .names(let given) = options.header { names = given }
    // A single name, or none, is too little to distinguish a header from a record.
    guard names.compactMap({ $0 }).count > 1, types == nil else { return [] }
    return names.map { $0.map { Array($0.utf8) } }
  }

  private static let doubtOfOnlyRecord =
    "its only record is taken for the names of the columns: use --header no if it is data, --header yes if "
    + "it is right; an open quote, or line ends that are none here, make one record of many, too"

  /// Decides whether the first record names the columns, by the options or by its cells.
  private func sniffHeader(
    _ records: [[String?]], _ sample: Sample, _ dialect: Dialect, _ findings: inout InputFindings,
    _ notes: inout [String], _ doubt: inout String?
  ) throws -> Bool {
    switch options.header {
    case .firstRecord: return true
    case .absent, .names: return false
    case .sniffed:
      var judgement = HeaderSniffer.judge(records)
      if !judgement.isHeader, try namesAreQuoted(sample, dialect) { judgement = .quoted }
      findings.header = judgement.reason
      let hasHeader = options.headerLines > 1 || judgement.isHeader
      guard judgement.isDoubtful, options.headerLines < 2 else { return hasHeader }
      if hasHeader {
        doubt =
          "the first record is taken for the names of the columns, and nothing tells whether it has "
          + "them: use --header no if it is data, --header yes if it is right"
      } else {
        notes.append(
          "the first record is taken as data: \(judgement.reason); if it has the names, use "
            + "--header yes")
      }
      return hasHeader
    }
  }

  /// The likely encoding of text that is not UTF-8; nil for UTF-8, for which the test is fast.
  private func likelyEncoding(_ sample: Sample) -> String? {
    guard sample.encoding == .utf8 else { return nil }
    let count = sample.bytes.count
    let invalid = sample.bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { UTF8Validation.firstInvalid($0, from: 0, count: count) } ?? count
    }
    // The last character may be truncated.
    guard invalid < (sample.isWhole ? count : count - 3) else { return nil }
    return EncodingGuess.likely(sample.bytes, isWhole: sample.isWhole)?.encoding.rawValue
  }

  /// Notes for the user about the encoding.
  private func notes(_ decoded: DecodingSource) -> [String] {
    if let guess = decoded.guess { return [guess.note] }
    guard let given = decoded.overruled else { return [] }
    return [
      "the \(decoded.hasMark ? "byte-order mark says" : "order of its bytes is that of") "
        + "\(decoded.encoding.rawValue), which was read, not \(given.rawValue) as --encoding does"
    ]
  }

  private func recordEnds(
    _ sample: Sample, _ dialect: Dialect, _ notes: inout [String]
  ) -> [String] {
    let ends = DialectSniffer.recordEnds(sample.bytes, dialect)
    if ends.count > 1 {
      notes.append("record ends are mixed; every one of \\n, \\r\\n and \\r ends a record")
    }
    return ends
  }

  /// Skips a first line like `sep=;`, which gives the delimiter.
  ///
  /// - Returns: the number of skipped lines.
  private func takeDeclaration(
    _ splitter: RecordSplitter, _ sample: inout Sample, _ given: inout DialectSniffer.Given,
    _ notes: inout [String]
  ) throws -> Int {
    guard options.skipLines == nil,
      let declared = DialectSniffer.declaredDelimiter(sample.bytes)
    else { return 0 }
    given.delimiter = given.delimiter ?? [declared]
    notes.append(
      "the first line, 'sep=\(String(decoding: [declared], as: UTF8.self))', names the delimiter "
        + "and was left out; --skip-lines 0 keeps it")
    try splitter.skipLines(1)
    sample = try self.sample(splitter)
    return 1
  }

  private var given: DialectSniffer.Given {
    // If short records are allowed, a line with fewer fields may be one.
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
    if source.hasMark || source.guess != nil { sniffed.append("encoding") }
    if options.skipLines == nil { sniffed.append("skippedLines") }
    func text(_ byte: UInt8) -> String { String(decoding: [byte], as: UTF8.self) }
    return ImportReport.DialectReport(
      delimiter: dialect.delimiterName, quote: dialect.quote.map(text),
      escape: dialect.escape.map(text), comment: dialect.comment?.text, hasHeader: hasHeader,
      encoding: source.encoding, skippedLines: skipped, sniffed: sniffed, recordEnd: ends.first)
  }

  /// The beginning of the input, and whether it is the whole input: enough for at least one whole record, up
  /// to the maximum length of a record.
  private func sample(_ splitter: RecordSplitter) throws -> Sample {
    var wanted = DialectSniffer.sampleBytes
    while true {
      let bytes = try splitter.peek(wanted)
      let sample = Sample(
        bytes: bytes, isWhole: bytes.count < wanted,
        start: .init(byteOffset: splitter.byteOffset, line: splitter.line),
        encoding: splitter.encoding, original: splitter.peekOriginal())
      if sample.isWhole || wanted >= options.limits.maximumRecordBytes { return sample }
      let dialect = try Dialect(
        delimiter: given.delimiter ?? (options.quote == 0x2C ? [0x09] : [0x2C]),
        quote: options.quote ?? 0x22, escape: options.escape, comment: given.comment)
      if !DialectSniffer.recordEnds(bytes, dialect).isEmpty { return sample }
      wanted = min(2 * wanted, options.limits.maximumRecordBytes)
    }
  }

  /// Refuses an input with many NUL characters. Text has hardly any, except UTF-16 and UTF-32 decoded in
  /// another encoding.
  private func refuseBinary(_ sample: Sample) throws {
    let head = sample.bytes.prefix(4096)
    let nuls = head.indices.filter { head[$0] == 0 }
    guard nuls.count * 10 > head.count * 3 else {
      // Text in non-Latin alphabets has fewer, and all of its bytes may also be UTF-8.
      if !nuls.isEmpty, sample.encoding == .utf8,
        let encoding = EncodingGuess.unmarked(sample.bytes)
      {
        throw ImportError.unsupportedEncoding(
          path: name,
          reason: "it looks like UTF-16 without a byte-order mark: try --encoding "
            + encoding.rawValue)
      }
      return
    }
    let odd = nuls.filter { ($0 - head.startIndex) % 2 == 1 }.count
    let text = head.prefix { $0 != 0 }
    let advice =
      !text.isEmpty && text.count + nuls.count == head.count
      ? "there is text before them, and nothing else: the file was cut off, or not written to its end; get "
        + "it again"
      : sample.encoding != .utf8
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

  /// Refuses an input that is not CSV, or is compressed and was not recognized before reading, as in a pipe.
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

  var name: String { path == "-" ? "standard input" : path }

  func firstChunk(_ sample: Sample, _ dialect: Dialect) throws -> Chunk? {
    let splitter = RecordSplitter(
      source: MemorySource(sample.bytes, name: name, origin: sample.start.byteOffset),
      dialect: dialect, limits: options.limits, start: sample.start, encoding: sample.encoding,
      original: sample.original.map { SystemText(copying: $0) })
    return try splitter.next(recordLimit: HeaderSniffer.sampleRecords)
  }

  private func sampleRecords(_ sample: Sample, _ dialect: Dialect) throws -> [[String?]] {
    guard let chunk = try firstChunk(sample, dialect) else { return [] }
    // Without a header, a malformed first record is rejected like any other.
    let needsFirst = options.header == .sniffed || options.header == .firstRecord
    var records = try Header.records(
      chunk, dialect: dialect, file: name, limit: HeaderSniffer.sampleRecords,
      needsFirst: needsFirst)
    if chunk.isLast, !sample.isWhole, records.count > 1 { records.removeLast() }
    return records
  }
}
