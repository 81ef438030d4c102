import Engine

/// A parser thread's work on one chunk when only the types of its columns are needed. No value is encoded,
/// and a column that is certainly text is no longer examined.
///
/// If records may be rejected for their values, `ColumnBatchBuilder` does the work, as the other values of a
/// rejected record must not decide types.
///
/// Thread rule: confined; one for each parser thread.
final class ColumnClassifier {
  /// The state of a column on this thread.
  private struct Watch {
    /// True when no later value can change its type.
    var isSettled = false
    /// True when all classes are needed, because a value that does not fit rejects a record.
    let isWhole: Bool
    let allowsNulls: Bool
    /// For each candidate, whether it has read all values so far.
    var fitting: [Bool]
  }

  private let plan: ImportPlan
  private let parser: RecordParser
  private let careful: ColumnBatchBuilder
  private let isAlwaysCareful: Bool
  private var watches: [Watch]
  private var scan = NotationScan()

  init(_ plan: ImportPlan) {
    self.plan = plan
    careful = ColumnBatchBuilder(plan)
    parser = RecordParser(
      dialect: plan.dialect, columnCount: plan.fieldCount, ragged: plan.ragged,
      header: plan.header, endsWithDelimiter: plan.endsWithDelimiter)
    isAlwaysCareful =
      !plan.keyColumns.isEmpty || !plan.rules.isEmpty || plan.columns.contains { $0.scanned != nil }
    watches = plan.columns.map { column in
      Watch(
        isWhole: column.strictType != nil || column.missing != nil, allowsNulls: column.isNullable,
        fitting: column.candidates.map { _ in true })
    }
  }

  /// The summaries of the columns in a chunk.
  func build(_ chunk: Chunk) throws -> [ColumnBatch.ColumnSummary] {
    if !isAlwaysCareful, let summaries = classify(chunk) { return summaries }
    return try careful.build(chunk).columns
  }

  /// Nil if a record may have to be rejected for its values.
  private func classify(_ chunk: Chunk) -> [ColumnBatch.ColumnSummary]? {
    let parsed = parser.parse(chunk)
    defer { parsed.release() }
    let matrix = RowMatrix(plan, parsed, chunk)
    while watches.count < matrix.columnCount {
      watches.append(Watch(isWhole: false, allowsNulls: true, fitting: []))
    }
    let summaries = matrix.withSpans { spans in
      chunk.withMemory { memory in
        memory.baseAddress.map { classify(matrix, spans, memory, $0) }
      }
    }
    guard let summaries, let summaries else {
      return (0..<matrix.columnCount).map { _ in .init(nulls: 0, sightings: []) }
    }
    return summaries
  }

  private func classify(
    _ matrix: RowMatrix, _ spans: UnsafePointer<TextSpan>, _ memory: UnsafeRawBufferPointer,
    _ base: UnsafeRawPointer
  ) -> [ColumnBatch.ColumnSummary]? {
    var summaries: [ColumnBatch.ColumnSummary] = []
    summaries.reserveCapacity(matrix.columnCount)
    // Kept only if no record is rejected: what a rejected one shows must not hide what others do.
    var next = watches
    for column in 0..<matrix.columnCount {
      var watch = next[column]
      if watch.isSettled {
        summaries.append(.init(nulls: 0, sightings: []))
        continue
      }
      let (seen, nulls) = observe(column, watch, matrix, spans, base)
      if nulls > 0, !watch.allowsNulls { return nil }
      let classes = seen.reduce(TypeSet()) { $0.union($1.type) }
      if watch.isWhole, !isWithin(classes, column) { return nil }
      var summary = ColumnBatch.ColumnSummary(nulls: nulls, sightings: [])
      for (type, row) in seen {
        let (record, line) = matrix.place(row)
        summary.sightings.append(.init(type: type, record: record, line: line))
      }
      if watch.fitting.contains(true) {
        summary.misfits = misfits(column, &watch, matrix, spans, memory)
      }
      watch.isSettled =
        !watch.isWhole && watch.allowsNulls && classes.contains(.text)
        && !watch.fitting.contains(true)
      next[column] = watch
      summaries.append(summary)
    }
    watches = next
    return summaries
  }

  /// The classes of values, each with its first row; classes after the first text only if all are needed.
  private func observe(
    _ column: Int, _ watch: Watch, _ matrix: RowMatrix, _ spans: UnsafePointer<TextSpan>,
    _ base: UnsafeRawPointer
  ) -> ([(type: TypeSet, row: Int)], nulls: Int) {
    var seen: [(type: TypeSet, row: Int)] = []
    var (classes, nulls) = (TypeSet(), 0)
    var place = spans + column
    for row in 0..<matrix.rowCount {
      let span = place.pointee
      place += matrix.columnCount
      if span.isNull {
        nulls &+= 1
        continue
      }
      let type = TypeSet.of(span.bytes(from: base))
      if classes.contains(type) { continue }
      classes.formUnion(type)
      seen.append((type, row))
      if type == .text, !watch.isWhole, watch.allowsNulls { break }
    }
    return (seen, nulls)
  }

  /// Returns whether all values fit a column's own type, and the bounds for its words of null.
  private func isWithin(_ classes: TypeSet, _ column: Int) -> Bool {
    let planned = plan.columns[column]
    if let type = planned.strictType, !classes.fits(type) { return false }
    return planned.missing.map { classes.isSubset(of: $0.bounds) } ?? true
  }

  private func misfits(
    _ column: Int, _ watch: inout Watch, _ matrix: RowMatrix, _ spans: UnsafePointer<TextSpan>,
    _ memory: UnsafeRawBufferPointer
  ) -> [ColumnBatch.Misfit] {
    let places = watch.fitting.indices.filter { watch.fitting[$0] }
    let rows = scan.misfits(
      places.map { plan.columns[column].candidates[$0] }, rowCount: matrix.rowCount, memory
    ) { spans[$0 * matrix.columnCount + column] }
    return zip(places, rows).compactMap { place, row in
      guard let row else { return nil }
      watch.fitting[place] = false
      let (record, line) = matrix.place(row)
      return ColumnBatch.Misfit(candidate: place, record: record, line: line)
    }
  }
}

@available(*, unavailable)
extension ColumnClassifier: Sendable {}
