/// Compares the ways in which a leaf's values are read, and their statistics.
///
/// Scans read packed numbers; lookups and exports read spellings; queries skip clusters by their bounds. All
/// must agree, or results would depend on the way of reading.
///
/// Thread rule: confined, while the version is held.
struct ReadingCheck {
  private let leaf: Leaf
  private let keys: LeafKeys
  private let schema: TableSchema
  /// The number of rows decoded together.
  private static let window = 4096

  init(_ leaf: Leaf, _ keys: LeafKeys, _ schema: TableSchema) {
    self.leaf = leaf
    self.keys = keys
    self.schema = schema
  }

  /// The problems, in words: the first one of each column.
  ///
  /// - Complexity: O(rows × columns), with the values of 4,096 rows in memory.
  /// - Throws: `ClusterError` when the leaf is damaged.
  func problems() throws -> [String] {
    var problems: [String] = []
    for (column, identifier) in zip(schema.columns, schema.columnIDs) {
      if let problem = try problem(column, identifier) {
        problems.append("column '\(column.name)'\(problem)")
      }
    }
    return problems
  }

  private func problem(_ column: Column, _ identifier: UInt32) throws -> String? {
    let values = try leaf.column(id: identifier)
    if case .dictionary(let dictionary) = values.stored.body,
      let (first, second) = dictionary.repeated()
    {
      return ": its dictionary's entries \(first) and \(second) are the same"
    }
    let known = try leaf.statistics(id: identifier)
    let decoded = DecodedColumn()
    let window = ColumnWindow(column.reading, makesValues: true)
    try values.open(window)
    var nulls = 0
    for start in stride(from: 0, to: leaf.rowCount, by: Self.window) {
      let rows = start..<min(start + Self.window, leaf.rowCount)
      values.decode(rows: rows, into: decoded)
      try values.decode(rows: rows, into: window)
      for row in rows {
        let spelling = decoded[row - start]
        if spelling == nil { nulls += 1 }
        if let problem = try problem(row, column, values, spelling, window, row - start, known) {
          return ", key \(keys.key(row)): \(problem)"
        }
      }
    }
    return nulls == known.nullCount
      ? nil : ": \(nulls) values are null, and \(known.nullCount) are counted"
  }

  private func problem(
    _ row: Int, _ column: Column, _ values: LeafColumn, _ spelling: UnsafeRawBufferPointer?,
    _ window: ColumnWindow, _ place: Int, _ known: LeafStatistics
  ) throws -> String? {
    let value = spelling.map { Value(spelling: $0, as: column.reading) } ?? .null
    guard let value else { return "it is no \(column.type.name)" }
    if try window.value(place) != value { return "it reads differently by itself and in a scan" }
    if leaf.overlay != nil {
      let isSame = try values.withSpelling(row) { single in
        switch (single, spelling) {
        case (nil, nil): true
        case (let single?, let spelling?): Bytes.areEqual(single, spelling)
        default: false
        }
      }
      if !isSame { return "it is spelled differently alone and among others" }
    }
    // Bounds apply to spellings that are read without a notation.
    switch (known.kind, column.reading.plainType) {
    case (.integers, .int), (.days, .date), (.moments, .dateTime):
      if let bounds = known.integers, let number = window.number(place), !bounds.contains(number) {
        return "it is outside the bounds \(bounds.lowerBound) to \(bounds.upperBound)"
      }
    default: break
    }
    return nil
  }
}

extension DictionaryEncoding {
  /// Finds two equal entries, with which equal rows would have different numbers.
  ///
  /// - Complexity: O(bytes of the entries), which are in memory meanwhile.
  fileprivate func repeated() -> (Int, Int)? {
    let decoded = DecodedColumn()
    decoded.decode(entriesOf: self)
    var places: [[UInt8]: Int] = [:]
    for index in 0..<entries.count {
      guard let spelling = decoded[index] else { continue }
      if let first = places.updateValue(index, forKey: Array(spelling)) { return (first, index) }
    }
    return nil
  }
}
