extension ClusterReader {
  /// Decodes everything and compares it with the header and the directory: key order, checksums, null counts,
  /// bounds, spans and indices inside their segments, segments that do not overlap.
  ///
  /// - Throws: `ClusterError` for the first problem.
  /// - Complexity: O(bytes + rows * columns).
  package func validate() throws(ClusterError) {
    try validateKeys()
    let decoded = DecodedColumn()
    var previous: DirectoryEntry?
    for position in 0..<columnCount {
      let column = try column(at: position)
      if let previous {
        guard previous.id < column.id else {
          throw .damagedHeader("column \(column.id) is out of order in the directory")
        }
        guard previous.offset + previous.byteCount <= column.offset else {
          throw .damagedColumn(id: column.id, "its segment overlaps another")
        }
      }
      previous = column
      try validate(column, decoded)
    }
  }

  /// Validates the keys only.
  package func validateKeys() throws(ClusterError) {
    if let problem = try keys().inconsistency() { throw .damagedKeys(problem) }
  }

  /// Validates one column only, which may be sound although others are damaged.
  package func validate(id: UInt32) throws(ClusterError) {
    if let column = try column(id: id) { try validate(column, DecodedColumn()) }
  }

  private func validate(_ column: DirectoryEntry, _ decoded: DecodedColumn) throws(ClusterError) {
    let reader = try open(column)
    decoded.decode(reader, rows: 0..<rowCount)
    if let problem = reader.inconsistency(decoded) {
      throw .damagedColumn(id: column.id, problem)
    }
  }
}

extension ColumnReader {
  /// Checks that a column of that type can read every row.
  ///
  /// Call after `validate`: bounds of numbers and dates then hold for every row.
  ///
  /// - Throws: `ClusterError.misfit` for the first row that it cannot read.
  /// - Complexity: O(1) when the bounds decide, otherwise O(bytes).
  package func validate(as reading: Reading) throws(ClusterError) {
    switch (statistics.kind, reading.plainType) {
    case (.none, _), (_, .data), (.integers, .int), (.integers, .double), (.doubles, .double),
      (.days, .date), (.days, .dateTime), (.moments, .dateTime):
      return
    default: break
    }
    let decoded = DecodedColumn()
    decoded.decode(self, rows: 0..<rowCount)
    for row in 0..<rowCount {
      guard let spelling = decoded[row] else { continue }
      if Value(spelling: spelling, as: reading) == nil {
        throw .misfit(column: id, row: row, type: reading.type)
      }
    }
  }

  /// The first contradiction between the decoded column and the directory; nil when everything is consistent.
  fileprivate func inconsistency(_ decoded: DecodedColumn) -> String? {
    if let problem = structureProblem() { return problem }
    var nulls = 0
    var collector = StatisticsCollector(statistics.kind)
    for row in 0..<rowCount {
      guard let spelling = decoded[row] else {
        nulls += 1
        if readsAlone(row) && !isNull(row) { return "row \(row) is null only when read in bulk" }
        continue
      }
      let isSame =
        !readsAlone(row)
        || withSpelling(row) { single in
          single.map { Bytes.areEqual($0, spelling) } ?? false
        }
      if !isSame { return "row \(row) reads differently alone and in bulk" }
      if !collector.add(SpellingView(spelling)) {
        return "row \(row) is not of the kind that the statistics say"
      }
    }
    if nulls != nullCount { return "\(nulls) rows are null, the directory says \(nullCount)" }
    // A column without values has no bounds.
    let expected = nulls == rowCount ? ColumnStatistics.none : collector.result
    if !expected.isSame(statistics) { return "its minimum or maximum is wrong" }
    return nil
  }

  /// True for the rows that the check also reads singly: all of them, or the last of each block when reading
  /// a row means reading the rows before it there.
  private func readsAlone(_ row: Int) -> Bool {
    let numbers: PackedNumbers
    switch body {
    case .dictionary(let dictionary):
      guard dictionary.isCoded else { return true }
      return row & BitRows.blockMask == BitRows.blockMask || row == rowCount - 1
    case .integers(let integers): numbers = integers.numbers
    case .decimals(let decimals): numbers = decimals.mantissas
    case .dates(let dates): numbers = dates.days
    case .dateTimes(let moments): numbers = moments.moments
    case .absent, .constant, .doubles, .packedText: return true
    }
    if case .plain = numbers { return true }
    return row & BitRows.blockMask == BitRows.blockMask || row == rowCount - 1
  }

  private func structureProblem() -> String? {
    switch body {
    case .absent, .constant: return nil
    case .integers(let integers): return integers.marks.inconsistency()
    case .decimals(let decimals): return decimals.marks.inconsistency()
    case .doubles(let doubles): return doubles.marks.inconsistency()
    case .dates(let dates): return dates.marks.inconsistency()
    case .dateTimes(let moments): return moments.marks.inconsistency()
    case .packedText(let text):
      return text.marks.inconsistency() ?? text.strings.inconsistency()
    case .dictionary(let dictionary):
      return dictionary.inconsistency(rowCount: rowCount)
    }
  }
}

extension ColumnStatistics {
  /// True when the bounds are equal; 0 equals -0.
  fileprivate func isSame(_ other: ColumnStatistics) -> Bool {
    if kind == .doubles && other.kind == .doubles { return numbers == other.numbers }
    return self == other
  }
}
