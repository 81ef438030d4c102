import Engine

/// The values that an object gets from an input's row with its key.
struct ReplacementRule: Sendable, Equatable {
  /// What happens to columns that the input lacks.
  enum OtherColumns: Sendable, Equatable {
    case kept
    /// They get these spellings; nil: null.
    case replaced(by: [[UInt8]?])
  }

  /// The index of each of the table's columns in a row; nil: the row lacks it.
  let positions: [Int?]
  let others: OtherColumns
  /// Columns of a row from this index on are for surplus fields.
  let inputColumns: Int
  private let ignoresBlanks: Bool
  /// The table's column that orders rows by age.
  private let age: Age?

  private struct Age: Sendable, Equatable {
    let column: Int
    let order: SpellingOrder
  }

  /// - Parameter columnCount: the number of columns of the rows.
  init(_ schema: TableSchema, _ plan: ImportPlan, columnCount: Int, _ conflict: ConflictRule) {
    var found: [UInt32: Int] = [:]
    for index in 0..<columnCount { found[plan.identifier(index)] = index }
    positions = schema.columnIDs.map { found[$0] }
    others = conflict.policy == .update ? .kept : .replaced(by: schema.defaults)
    inputColumns = plan.columns.count
    ignoresBlanks = conflict.ignoresBlanks
    let places = positions
    age = conflict.newerThan.flatMap { schema.index(of: $0) }.map { column in
      // The table's column gets the plan's type with the first batch, which is compared before.
      let own = places[column].flatMap { $0 < plan.columns.count ? plan.columns[$0] : nil }
      let planned = own.flatMap { own in own.strictType.map { Reading($0, own.strictNotation) } }
      return Age(
        column: column, order: SpellingOrder(planned ?? schema.columns[column].reading))
    }
  }

  /// Returns whether a row is new enough to change an object.
  ///
  /// - Parameter present: the object's value in a column of the table.
  func isNewer(
    _ fields: ArraySlice<TextSpan>, _ memory: UnsafeRawBufferPointer,
    than present: (_ column: Int) -> UnsafeRawBufferPointer?
  ) -> Bool {
    guard let age else { return true }
    return withValue(age.column, fields, memory) { bytes, isKept in
      !isKept && age.order.isAbove(bytes, present(age.column))
    }
  }

  /// Columns whose values may change; not the primary key, by which the object was found.
  func changingColumns(_ schema: TableSchema) -> [Int] {
    positions.indices.filter { column in
      if schema.isInKey(column) { return false }
      if case .kept = others { return positions[column] != nil }
      return true
    }
  }

  /// Calls `body` with a column's new value: its bytes, nil for null, or that it keeps its value.
  ///
  /// - Parameters:
  ///   - fields: the row, whose offsets are relative to the start of `memory`.
  func withValue<Result>(
    _ column: Int, _ fields: ArraySlice<TextSpan>, _ memory: UnsafeRawBufferPointer,
    _ body: (_ bytes: UnsafeRawBufferPointer?, _ isKept: Bool) throws -> Result
  ) rethrows -> Result {
    guard let position = positions[column] else {
      guard case .replaced(let defaults) = others else { return try body(nil, true) }
      guard let spelling = defaults[column] else { return try body(nil, false) }
      return try spelling.withUnsafeBytes { try body($0, false) }
    }
    let span = fields[fields.startIndex + position]
    if ignoresBlanks, span.isNull || span.length == 0 { return try body(nil, true) }
    // A record without a surplus field does not change its column.
    if span.isNull {
      var keepsMissing = false
      if case .kept = others { keepsMissing = position >= inputColumns }
      return try body(nil, keepsMissing)
    }
    let start = Int(span.offset)
    return try body(
      UnsafeRawBufferPointer(rebasing: memory[start..<start + Int(span.length)]), false)
  }

  /// Returns whether a column's value would change.
  func changes(
    _ present: UnsafeRawBufferPointer?, _ column: Int, _ fields: ArraySlice<TextSpan>,
    _ memory: UnsafeRawBufferPointer
  ) -> Bool {
    withValue(column, fields, memory) { bytes, isKept in
      if isKept { return false }
      guard let present, let bytes else { return present != nil || bytes != nil }
      return !Bytes.areEqual(present, bytes)
    }
  }
}
