import Importer

/// A way of feeding an input to the fast splitter and parser.
struct Feed: CustomStringConvertible {
  var dialect = Dialect.rfc4180
  var columnCount = 2
  var ragged = ImportOptions.Ragged.reject
  var blankLinesAreRecords = false
  var readSizes: [Int] = []
  var chunkBytes = 4 << 20
  var recordLimit = Int.max

  var description: String {
    "columns \(columnCount), \(ragged), blank \(blankLinesAreRecords), reads \(readSizes), "
      + "chunkBytes \(chunkBytes), recordLimit \(recordLimit), "
      + "dialect \(dialect)"
  }
}

/// Compares the fast splitter and parser with the reference; returns the first difference.
func difference(_ reference: ReferenceParser, _ feed: Feed) throws -> String? {
  let bytes = reference.bytes
  let splitter = RecordSplitter(
    source: MemorySource(bytes, readSizes: feed.readSizes), dialect: feed.dialect,
    limits: .init(chunkBytes: feed.chunkBytes))
  splitter.blankLinesAreRecords = feed.blankLinesAreRecords
  let parser = RecordParser(
    dialect: feed.dialect, columnCount: feed.columnCount, ragged: feed.ragged)
  var offset = reference.firstByte
  var record = 0
  var index = 0
  var tolerances = Tolerances()
  var isLast = offset == bytes.count
  while let chunk = try splitter.next(recordLimit: feed.recordLimit) {
    if isLast { return "a chunk after the last one" }
    isLast = chunk.isLast
    let expected = reference.records[record...].prefix { $0.start < offset + chunk.byteCount }
    if chunk.index != index || chunk.byteOffset != offset || chunk.firstRecord != record {
      return "chunk \(index): index, offset or record number"
    }
    if chunk.firstLine != reference.place(offset).line { return "chunk \(index): line" }
    if chunk.recordCount != expected.count { return "chunk \(index): \(chunk.recordCount) records" }
    if chunk.copy(from: 0, to: chunk.byteCount) != Array(bytes[offset..<offset + chunk.byteCount]) {
      return "chunk \(index): bytes"
    }
    if !chunk.isLast && expected.count < feed.recordLimit && chunk.byteCount < feed.chunkBytes {
      return "chunk \(index): cut too early"
    }
    if expected.count > feed.recordLimit
      || expected.dropLast().contains(where: { $0.endWithNewline - offset >= feed.chunkBytes })
    {
      return "chunk \(index): cut too late"
    }
    let parsed = parser.parse(chunk)
    if let found = difference(parsed, Array(expected), reference, feed) {
      return "chunk \(index) at \(offset): \(found)"
    }
    tolerances.add(parsed.tolerances)
    index += 1
    offset += chunk.byteCount
    record += expected.count
  }
  if offset != bytes.count || !isLast { return "ends at \(offset) of \(bytes.count)" }
  if record != reference.records.count { return "\(record) records" }
  for (kind, lines) in [
    (.blankLines, reference.blankLines), (.comments, reference.comments),
    (.strayQuotes, reference.strayQuotes), (.blanksAroundQuotes, reference.blanksAroundQuotes),
    (.textBehindQuotes, reference.textBehindQuotes),
  ] as [(Tolerances.Kind, [Int])] {
    let found = tolerances[kind]
    if found?.line != lines.min() { return "\(kind): \(String(describing: found)) for \(lines)" }
    let isCounted = kind == .blankLines || kind == .comments || kind == .textBehindQuotes
    if isCounted, found?.count ?? 0 != lines.count { return "\(kind): \(lines.count)" }
  }
  return nil
}

private func difference(
  _ parsed: ParsedChunk, _ expected: [ReferenceParser.Record], _ reference: ReferenceParser,
  _ feed: Feed
) -> String? {
  guard parsed.recordCount == expected.count else { return "\(parsed.recordCount) parsed records" }
  var row = 0
  var malformed = parsed.malformed[...]
  var surplus = parsed.surplus[...]
  for (index, wanted) in expected.enumerated() {
    let record = parsed.record(index)
    if parsed.byteOffset(ofRecord: index) != wanted.start { return "record \(index): start" }
    if parsed.line(ofRecord: index) != wanted.line { return "record \(index): line" }
    if parsed.originalBytes(ofRecord: index) != Array(reference.bytes[wanted.start..<wanted.end]) {
      return "record \(index): end"
    }
    if Int(record.fieldCount) != wanted.fields.count { return "record \(index): field count" }
    if let (reason, position) = problem(wanted, feed) {
      let place = reference.place(position)
      let found = malformed.popFirst()
      if record.row != .max || found?.record != index || found?.reason != reason
        || found?.byteOffset != position || found?.line != place.line
        || found?.column != place.column
      {
        return "record \(index): \(String(describing: found)) for \(reason) at \(position) \(place)"
      }
      continue
    }
    if Int(record.row) != row || parsed.recordIndex(ofRow: row) != index {
      return "record \(index): row"
    }
    for column in 0..<feed.columnCount {
      let field = column < wanted.fields.count ? wanted.fields[column] : nil
      if parsed.text(parsed.span(row: row, column: column)) != field {
        return "record \(index), column \(column)"
      }
    }
    for (number, field) in wanted.fields.dropFirst(feed.columnCount).enumerated() {
      let found = surplus.popFirst()
      let text = found.flatMap { parsed.text($0.span) }
      if found?.row != row || found?.index != number || text != field {
        return "record \(index), surplus field \(number)"
      }
    }
    row += 1
  }
  if !malformed.isEmpty || !surplus.isEmpty { return "more malformed records or surplus fields" }
  return parsed.rowCount == row && parsed.spans.count == row * feed.columnCount ? nil : "rows"
}

private func problem(_ record: ReferenceParser.Record, _ feed: Feed) -> (MalformedReason, Int)? {
  if let problem = record.problem { return problem }
  let found = record.fields.count
  if found < feed.columnCount && feed.ragged == .reject {
    return (.tooFewFields(expected: feed.columnCount, found: found), record.start)
  }
  if found > feed.columnCount && feed.ragged != .extend {
    return (
      .tooManyFields(expected: feed.columnCount, found: found),
      record.fieldStarts[feed.columnCount]
    )
  }
  return nil
}
