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
    let hasHeader: Bool
    let header: Header
    let report: ImportReport.DialectReport
    /// The bytes of the record that named the columns, without its end; nil where none did.
    let headerLine: [UInt8]?
  }

  /// - Throws: `ImportError.emptyInput`, `.malformedHeader`, `.invalidDialect`, and what reading
  ///   throws.
  func open(_ source: any ByteSource) throws -> Opened {
    let splitter = RecordSplitter(source: source, limits: options.limits)
    let (sample, isWhole) = try sample(splitter)
    try checkPlain(sample)
    var sniffed: [String] = []
    let quote: UInt8?
    if let given = options.quote {
      quote = given
    } else {
      quote = 0x22
      sniffed.append("quote")
    }
    let delimiter: UInt8
    if let given = options.delimiter {
      delimiter = given
    } else {
      delimiter = DialectSniffer.delimiter(sample, isWhole: isWhole, quote: quote)
      sniffed.append("delimiter")
    }
    let dialect = try Dialect(delimiter: delimiter, quote: quote)
    splitter.dialect = dialect
    let records = try sampleRecords(sample, isWhole: isWhole, dialect)
    let hasHeader: Bool
    switch options.header {
    case .firstRecord: hasHeader = true
    case .absent, .names: hasHeader = false
    case .sniffed:
      hasHeader = HeaderSniffer.looksLikeHeader(records)
      sniffed.append("header")
    }
    let (header, headerLine) = try readHeader(splitter, hasHeader, records, dialect)
    splitter.blankLinesAreRecords = header.names.count == 1
    return Opened(
      source: source, splitter: splitter, dialect: dialect, hasHeader: hasHeader, header: header,
      report: ImportReport.DialectReport(
        delimiter: delimiter, quote: quote, hasHeader: hasHeader, sniffed: sniffed,
        recordEnd: recordEnd(sample)),
      headerLine: headerLine)
  }

  /// The beginning of the input, and whether it is all of it: enough for at least one whole record,
  /// up to the length that a record may have.
  private func sample(_ splitter: RecordSplitter) throws -> (bytes: [UInt8], isWhole: Bool) {
    var wanted = DialectSniffer.sampleBytes
    while true {
      let bytes = try splitter.peek(wanted)
      if bytes.count < wanted { return (bytes, true) }
      if recordEnd(bytes) != nil || wanted >= options.limits.maximumRecordBytes {
        return (bytes, false)
      }
      wanted = min(2 * wanted, options.limits.maximumRecordBytes)
    }
  }

  /// What is compressed in a way that was not seen before it was read, as a pipe's contents.
  private func checkPlain(_ sample: [UInt8]) throws(ImportError) {
    if let compression = Compression.of(path: "", beginning: sample) {
      throw .unreadableInput(
        path: name,
        reason: "it is compressed: send it through \(compression.program) -dc, or name the file")
    }
    if sample.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
      throw .unreadableInput(path: name, reason: "it is a ZIP archive: unpack it first")
    }
  }

  private func recordEnd(_ sample: [UInt8]) -> String? {
    DialectSniffer.recordEnd(
      sample, quote: options.quote ?? 0x22, delimiter: options.delimiter)
  }

  private var name: String { path == "-" ? "standard input" : path }

  private func sampleRecords(_ sample: [UInt8], isWhole: Bool, _ dialect: Dialect) throws
    -> [[String?]]
  {
    // Names that are given need no look at the records.
    if case .names = options.header { return [] }
    let splitter = RecordSplitter(
      source: MemorySource(sample, name: name), dialect: dialect, limits: options.limits)
    guard let chunk = try splitter.next(recordLimit: 100) else { return [] }
    // Without a header a malformed first record is to be rejected like any other.
    var records = try Header.records(
      chunk, dialect: dialect, file: name, limit: 100,
      needsFirst: options.header != .absent)
    if chunk.isLast, !isWhole, records.count > 1 { records.removeLast() }
    return records
  }

  private func readHeader(
    _ splitter: RecordSplitter, _ hasHeader: Bool, _ records: [[String?]], _ dialect: Dialect
  ) throws -> (Header, line: [UInt8]?) {
    if hasHeader {
      guard let chunk = try splitter.next(recordLimit: 1), chunk.recordCount > 0 else {
        throw ImportError.emptyInput(path: name)
      }
      let isEnd = { (byte: UInt8) in byte == 0x0A || byte == 0x0D }
      let line = chunk.withBytes { Array($0.drop(while: isEnd)) }
      let end = line.lastIndex { !isEnd($0) }.map { $0 + 1 } ?? 0
      return (try Header(chunk, dialect: dialect, file: name), Array(line[..<end]))
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
    writer.append(opened.dialect.delimiter)
    writer.append(opened.dialect.quote ?? 0)
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
    if let key {
      writer.append(key)
      writer.append(options.conflictPolicy.rawValue)
    }
    return Checksum.of(writer.bytes)
  }
}
