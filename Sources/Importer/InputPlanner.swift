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
    /// nil for pipes.
    let identity: Checkpoint.InputIdentity?
  }

  static func source(_ path: String) throws(ImportError) -> FileSource {
    path == "-" ? try FileSource.standardInput() : try FileSource(path: path)
  }

  /// - Throws: `ImportError.emptyInput`, `.malformedHeader`, `.invalidDialect`, and what reading
  ///   throws.
  func open(_ source: any ByteSource) throws -> Opened {
    let splitter = RecordSplitter(source: source, limits: options.limits)
    let (sample, isWhole) = try sample(splitter)
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
    let header = try readHeader(splitter, hasHeader, records, dialect)
    splitter.blankLinesAreRecords = header.names.count == 1
    return Opened(
      source: source, splitter: splitter, dialect: dialect, hasHeader: hasHeader, header: header,
      report: ImportReport.DialectReport(
        delimiter: delimiter, quote: quote, hasHeader: hasHeader, sniffed: sniffed,
        recordEnd: recordEnd(sample)),
      identity: try identity(source))
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
  ) throws -> Header {
    if hasHeader {
      guard let chunk = try splitter.next(recordLimit: 1), chunk.recordCount > 0 else {
        throw ImportError.emptyInput(path: name)
      }
      return try Header(chunk, dialect: dialect, file: name)
    }
    splitter.nextRecord = 1
    if case .names(let names) = options.header { return Header(names) }
    guard let first = records.first else { throw ImportError.emptyInput(path: name) }
    return Header(columnCount: first.count)
  }

  /// What makes the input the same one when an import is resumed.
  private func identity(_ source: any ByteSource) throws -> Checkpoint.InputIdentity? {
    guard let size = source.size, path != "-" else { return nil }
    let again = try Self.source(path)
    var prefix = [UInt8](repeating: 0, count: Checkpoint.prefixBytes)
    var filled = 0
    while filled < prefix.count {
      let count = try prefix.withUnsafeMutableBytes { bytes throws in
        try again.read(into: UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
      }
      if count == 0 { break }
      filled += count
    }
    let digest = prefix.withUnsafeBytes {
      Checksum.of(UnsafeRawBufferPointer(rebasing: $0[..<filled]))
    }
    return Checkpoint.InputIdentity(size: size, digest: digest)
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
