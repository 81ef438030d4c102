import Engine

/// A parser thread's work on one chunk: it parses, sets nulls, checks types, and encodes rows or looks them
/// up in the table.
///
/// Thread rule: confined; each parser thread has its own. Its memory is reused for every chunk.
final class ColumnBatchBuilder {
  private let plan: ImportPlan
  private let parser: RecordParser
  private let builder = ClusterBuilder()
  private let hasRules: Bool
  private var repeats = KeyRepeats()
  private var scan = NotationScan()
  /// Memory for the tests of rules.
  private var room: [UInt8] = []
  private let scout: RowScout?
  /// True when the table had keys of the last chunk: a cluster of all rows was then useless, and will
  /// probably be useless for the next chunk.
  private var meetsKnownKeys = false

  /// - Parameter scout: looks up rows in the table; nil: rows are not looked up.
  init(_ plan: ImportPlan, scout: RowScout? = nil) {
    self.plan = plan
    self.scout = scout
    parser = RecordParser(
      dialect: plan.dialect, columnCount: plan.fieldCount, ragged: plan.ragged,
      header: plan.header, endsWithDelimiter: plan.endsWithDelimiter)
    hasRules =
      plan.columns.contains {
        $0.strictType != nil || !$0.isNullable || $0.missing != nil
      } || !plan.rules.isEmpty
  }

  func build(_ chunk: Chunk) throws -> ColumnBatch {
    let parsed = parser.parse(chunk)
    defer { parsed.release() }
    var rejects = parsed.malformed.map { plan.reject($0, parsed) }
    var matrix = RowMatrix(plan, parsed, chunk)
    let filtered = removeFiltered(from: &matrix, parsed, chunk)
    var seen = try look(matrix, chunk)
    if hasRules, let columns = seen?.columns,
      breaksRules(columns) || breaksNotation(matrix, parsed, chunk)
        || breaksKey(matrix, chunk) || firstRefusal(matrix, chunk) != nil
    {
      rejects += removeMisfits(from: &matrix, parsed, chunk, columns)
      rejects.sort { $0.record < $1.record }
      seen = try look(matrix, chunk)
    }
    return ColumnBatch(
      firstRecord: chunk.firstRecord, recordCount: parsed.recordCount,
      rows: try rows(seen, matrix, parsed, chunk), rowCount: matrix.rowCount,
      columns: summaries(seen?.columns, matrix, parsed, chunk), rejects: rejects,
      filtered: filtered, tolerances: parsed.tolerances,
      boundaries: boundaries(parsed, chunk), byteCount: chunk.byteCount, isLast: chunk.isLast,
      unfinished: plan.unfinished(parsed, chunk))
  }

  // MARK: Encoding

  /// The examined rows of a chunk.
  private struct Seen {
    let columns: [SpellingFacts]
    /// All rows, encoded; nil when that would be useless.
    let cluster: EncodedCluster?
  }

  /// Nil when there are no rows.
  private func look(_ matrix: RowMatrix, _ chunk: Chunk) throws -> Seen? {
    guard matrix.rowCount > 0 else { return nil }
    if plan.encodes, !plan.onlyFindsTypes, !meetsKnownKeys {
      return try encode(matrix, chunk).map {
        Seen(columns: $0.columns.map(\.spellings), cluster: $0)
      }
    }
    return try matrix.withSpans { spans in
      try chunk.withMemory { arena in
        Seen(
          columns: try builder.examine(
            arena: arena, spans: spans, rowCount: matrix.rowCount, columnCount: matrix.columnCount),
          cluster: nil)
      }
    }
  }

  private func identifiers(_ columnCount: Int) -> [UInt32] {
    (0..<max(plan.columns.count, columnCount)).map(plan.identifier)
  }

  private func encode(_ matrix: RowMatrix, _ chunk: Chunk) throws -> EncodedCluster? {
    try matrix.withSpans { spans in
      try chunk.withMemory { arena in
        try builder.encode(
          arena: arena, spans: spans, rowCount: matrix.rowCount,
          columnCount: matrix.columnCount, columnIDs: identifiers(matrix.columnCount))
      }
    }
  }

  private func rows(
    _ seen: Seen?, _ matrix: RowMatrix, _ parsed: ParsedChunk, _ chunk: Chunk
  ) throws -> ColumnBatch.Rows {
    guard let seen else { return .none }
    if plan.onlyFindsTypes { return .seen(matrix.rowCount) }
    if let key = plan.keyColumns.first {
      var rows = try keyedRows(seen.cluster, key, matrix, parsed, chunk)
      rows.scouted = try scout?.look(rows, plan)
      meetsKnownKeys = rows.scouted?.found.contains { $0 >= 0 } ?? false
      // The keys of this chunk are new after all.
      if plan.encodes, seen.cluster == nil, !meetsKnownKeys {
        rows.encoded = try encode(matrix, chunk)
      }
      return .keyed(rows)
    }
    if let cluster = seen.cluster { return .encoded(cluster) }
    var arena: [UInt8] = []
    var spans: [TextSpan] = []
    spans.reserveCapacity(matrix.rowCount * matrix.columnCount)
    _ = matrix.withSpans { source in
      chunk.withMemory { memory in
        for index in 0..<matrix.rowCount * matrix.columnCount {
          let span = source[index]
          if span.isNull {
            spans.append(.null)
            continue
          }
          spans.append(TextSpan(offset: UInt32(clamping: arena.count), length: span.length))
          let start = Int(span.offset)
          arena.append(
            contentsOf: UnsafeRawBufferPointer(
              rebasing: memory[start..<start + Int(span.length)]))
        }
      }
    }
    return .spelled(
      SpelledRows(
        arena: arena, spans: spans, columnCount: matrix.columnCount,
        places: plan.keepsPlaces ? places(matrix, parsed) : [],
        records: (0..<matrix.rowCount).map {
          matrix.recordIndex($0)
        }, firstRecord: chunk.firstRecord))
  }

  private func places(_ matrix: RowMatrix, _ parsed: ParsedChunk) -> [SpelledRows.RecordStart] {
    (0..<matrix.rowCount).map { row in
      let record = matrix.recordIndex(row)
      return SpelledRows.RecordStart(
        line: parsed.line(ofRecord: record), byteOffset: parsed.byteOffset(ofRecord: record))
    }
  }

  private func keyedRows(
    _ encoded: EncodedCluster?, _ key: Int, _ matrix: RowMatrix, _ parsed: ParsedChunk,
    _ chunk: Chunk
  ) throws -> KeyedRows {
    let tuples = plan.keyColumns.count > 1 ? try keyTuples(matrix, chunk) : nil
    let earlier: [Int32]
    if let tuples {
      earlier = repeats.find(tuples)
    } else {
      let keys =
        matrix.withSpans { spans in
          (0..<matrix.rowCount).map { spans[$0 * matrix.columnCount + key] }
        } ?? []
      earlier = chunk.withMemory { repeats.find(keys, in: $0) }
    }
    return KeyedRows(
      chunk: chunk, spans: matrix.spans, columnCount: matrix.columnCount, keyColumn: key,
      tuples: tuples,
      places: (0..<matrix.rowCount).map { row in
        let index = matrix.recordIndex(row)
        let record = parsed.record(index)
        return KeyedRows.RecordExtent(
          record: index, bytes: Int(record.start)..<Int(record.end),
          line: parsed.line(ofRecord: index))
      },
      earlier: earlier, formsClusters: plan.encodes, encoded: encoded)
  }

  /// The rows' keys of several columns.
  private func keyTuples(_ matrix: RowMatrix, _ chunk: Chunk) throws -> KeyTuples {
    let (keys, width) = (plan.keyColumns, matrix.columnCount)
    var tuples = KeyTuples(columns: keys.count)
    try matrix.withSpans { spans in
      try chunk.withMemory { memory in
        guard let base = memory.baseAddress else { return }
        for row in 0..<matrix.rowCount {
          try tuples.append { part in
            let span = spans[row * width + keys[part]]
            return span.isNull ? nil : span.bytes(from: base)
          }
        }
      }
    }
    return tuples
  }

  private func summaries(
    _ columns: [SpellingFacts]?, _ matrix: RowMatrix, _ parsed: ParsedChunk, _ chunk: Chunk
  ) -> [ColumnBatch.ColumnSummary] {
    guard let columns else {
      return (0..<matrix.columnCount).map { _ in .init(nulls: 0, sightings: []) }
    }
    return columns.enumerated().map { index, column in
      var summary = ColumnBatch.ColumnSummary(column, place: matrix.place)
      if plan.keyColumns.contains(index), !column.observation.classes.contains(.text),
        let row = unfitKey(index, matrix, chunk)
      {
        let (record, line) = matrix.place(row)
        summary.sightings.append(.init(type: .text, record: record, line: line))
      }
      if index < plan.columns.count, !plan.columns[index].candidates.isEmpty {
        let candidates = plan.columns[index].candidates
        // Most dates need no second check.
        if candidates.allSatisfy({ column.isRead(as: $0.reading) }) { return summary }
        let misfits = misfits(candidates, index, matrix, parsed, chunk)
        summary.misfits = ColumnBatch.Misfit.all(misfits, matrix.place)
      }
      return summary
    }
  }

  /// For each candidate of a column, the first row that it cannot read.
  private func misfits(
    _ candidates: [ReadingCandidate], _ column: Int, _ matrix: RowMatrix, _ parsed: ParsedChunk,
    _ chunk: Chunk
  ) -> [Int?] {
    let found = matrix.withSpans { spans in
      chunk.withMemory { memory in
        scan.misfits(candidates, rowCount: matrix.rowCount, memory) {
          spans[$0 * matrix.columnCount + column]
        }
      }
    }
    return (found ?? nil) ?? []
  }

  /// A batch ends every `batchRecords` records, counted from the input's first.
  private func boundaries(_ parsed: ParsedChunk, _ chunk: Chunk) -> [ColumnBatch.Boundary] {
    var boundaries: [ColumnBatch.Boundary] = []
    let end = ColumnBatch.Boundary(
      records: parsed.recordCount, byteOffset: chunk.byteOffset + chunk.inputByteCount,
      line: chunk.firstLine + chunk.lineBreaks, checksum: chunk.checksumAfter)
    if !plan.encodes, let size = plan.batchRecords {
      // A batch ends where the number of records before is a multiple, including those before the chunk.
      let before = chunk.firstRecord - 1
      var next = size - before % size
      var checksum = chunk.checksumBefore
      var start = 0
      while next < parsed.recordCount {
        let byteOffset = parsed.byteOffset(ofRecord: next)
        let end = Int(parsed.record(next).start)
        chunk.withBytes { checksum.update(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
        start = end
        boundaries.append(
          ColumnBatch.Boundary(
            records: next, byteOffset: byteOffset, line: parsed.line(ofRecord: next),
            checksum: checksum.value))
        next += size
      }
    }
    return boundaries + [end]
  }

  // MARK: Rules

  private func breaksRules(_ columns: [SpellingFacts]) -> Bool {
    zip(plan.columns, columns).contains { column, seen in
      (!column.isNullable && seen.nullCount > 0)
        || (column.scanned == nil
          && column.strictType.map { !seen.observation.classes.fits($0) } == true)
        || isOutside(seen, column)
    }
  }

  /// Returns whether some value does not have the type of the values that made `NA` null.
  private func isOutside(
    _ seen: SpellingFacts, _ column: ImportPlan.PlannedColumn
  ) -> Bool {
    guard column.scanned == nil, let missing = column.missing else { return false }
    return !seen.observation.classes.isSubset(of: missing.bounds)
  }

  /// Whether a column of a strict type has a value that its reading cannot read.
  private func breaksNotation(_ matrix: RowMatrix, _ parsed: ParsedChunk, _ chunk: Chunk) -> Bool {
    plan.columns.enumerated().contains { index, column in
      guard let reading = column.scanned else { return false }
      return misfits([ReadingCandidate(reading)], index, matrix, parsed, chunk).contains {
        $0 != nil
      }
    }
  }

  /// An empty string identifies nothing, just like null; and a key in another than its type's canonical
  /// spelling would be a different key.
  private func breaksKey(_ matrix: RowMatrix, _ chunk: Chunk) -> Bool {
    plan.keyColumns.contains { key in
      let found = matrix.withSpans { spans in
        (0..<matrix.rowCount).contains { spans[$0 * matrix.columnCount + key].length == 0 }
      }
      if found ?? false { return true }
      return plan.isTyped(key: key) && unfitKey(key, matrix, chunk) != nil
    }
  }

  /// The first row where a column of the key is not in its type's canonical spelling.
  private func unfitKey(_ key: Int, _ matrix: RowMatrix, _ chunk: Chunk) -> Int? {
    let found = matrix.withSpans { spans in
      plan.firstUnfitKey(key, rowCount: matrix.rowCount, chunk) {
        spans[$0 * matrix.columnCount + key]
      }
    }
    return found ?? nil
  }

  /// The first row that a rule rejects.
  private func firstRefusal(_ matrix: RowMatrix, _ chunk: Chunk) -> Int? {
    if plan.rules.isEmpty { return nil }
    let found = matrix.withSpans { spans in
      (0..<matrix.rowCount).first { refusal(spans + $0 * matrix.columnCount, chunk) != nil }
    }
    return found ?? nil
  }

  /// The rule that rejects a row; nil when there is none.
  private func refusal(
    _ row: UnsafePointer<TextSpan>, _ chunk: Chunk
  ) -> ImportPlan.PlannedRule? {
    chunk.withMemory { memory in
      memory.baseAddress.flatMap { plan.rule(refusing: row, $0, room: &room) }
    }
  }

  /// Removes the rows that the filter leaves out. Rows stay if a field that the filter compares does not fit,
  /// and are rejected later.
  ///
  /// - Returns: the records of the removed rows, relative to the chunk's first record.
  private func removeFiltered(
    from matrix: inout RowMatrix, _ parsed: ParsedChunk, _ chunk: Chunk
  ) -> [Int] {
    guard let filter = plan.filter else { return [] }
    let (spans, width) = (matrix.spans, matrix.columnCount)
    var records: [Int] = []
    var kept: [TextSpan] = []
    var rows: [Int] = []
    for row in 0..<matrix.rowCount {
      let fields = row * width..<(row + 1) * width
      let isWanted =
        spans[fields].withUnsafeBufferPointer { row -> Bool in
          guard let row = row.baseAddress else { return true }
          return filter.columns.contains { plan.isMisread(row[$0], $0, parsed) }
            || chunk.withMemory { memory in
              memory.baseAddress.map { base in
                filter.test.matches(room: &room) { column in
                  row[column].isNull ? nil : row[column].bytes(from: base)
                }
              } ?? true
            }
        }
      if isWanted {
        kept += spans[fields]
        rows.append(matrix.parsedRow(row))
      } else {
        records.append(matrix.recordIndex(row))
      }
    }
    if !records.isEmpty { matrix.keep(kept, parsedRows: rows) }
    return records
  }

  /// Removes the rows whose values do not fit, and gives the reason for each.
  private func removeMisfits(
    from matrix: inout RowMatrix, _ parsed: ParsedChunk, _ chunk: Chunk, _ columns: [SpellingFacts]
  ) -> [Reject] {
    let suspects = plan.columns.indices.filter { index in
      let seen = columns[index]
      return (!plan.columns[index].isNullable && seen.nullCount > 0)
        || plan.columns[index].strictType.map { !seen.observation.classes.fits($0) } == true
        || plan.columns[index].scanned != nil || plan.keyColumns.contains(index)
        || isOutside(seen, plan.columns[index])
    }
    var rejects: [Reject] = []
    var kept: [TextSpan] = []
    var rows: [Int] = []
    let spans = matrix.spans
    for row in 0..<matrix.rowCount {
      let fields = row * matrix.columnCount..<(row + 1) * matrix.columnCount
      var isKept = true
      for index in suspects {
        let span = spans[fields.lowerBound + index]
        guard let (value, reason) = plan.misfit(span, index, parsed) else { continue }
        rejects.append(
          plan.reject(
            matrix.recordIndex(row), parsed, chunk, span,
            plan.columns[index].name, value, reason))
        isKept = false
        break
      }
      if isKept, !plan.rules.isEmpty,
        let rule = spans[fields].withUnsafeBufferPointer({ row in
          row.baseAddress.flatMap { refusal($0, chunk) }
        })
      {
        rejects.append(plan.reject(matrix.recordIndex(row), parsed, chunk, by: rule))
        isKept = false
      }
      if isKept {
        kept += spans[fields]
        rows.append(matrix.parsedRow(row))
      }
    }
    matrix.keep(kept, parsedRows: rows)
    return rejects
  }
}
