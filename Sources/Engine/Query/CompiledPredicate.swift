/// A predicate compiled for a table: its columns are resolved, its literals are values of the columns' types,
/// and each `not` is moved to the tests.
///
/// With `not` only at the tests, unknown results need no representation: a test selects the rows for which it
/// is true, negated or not, and `and` and `or` of three-valued logic select the intersection and the union of
/// these.
indirect enum CompiledPredicate: Sendable {
  case constant(Bool)
  case test(CompiledTest)
  case all([CompiledPredicate])
  case any([CompiledPredicate])

  /// - Throws: `QueryError` for unknown columns, and for literals that cannot be compared with their column.
  init(_ predicate: Predicate, _ schema: TableSchema) throws(QueryError) {
    self = try Self.compile(predicate, isNegated: false, depth: 0) {
      test, isNegated throws(QueryError) in
      try TestCompiler(test, schema, isNegated: isNegated).compiled()
    }
  }

  /// Compiles a filter for one of two versions of a table, so that it means the same in both. Its columns are
  /// those of the later version, and those that only the earlier one has. A column is null in a version that
  /// lacks it. If a column was widened in between, earlier values are read as the later type.
  ///
  /// - Parameters:
  ///   - own: the columns of the version to which the filter is applied.
  ///   - other: the columns of the other version.
  ///   - isNewer: true when `own` is the later version.
  /// - Throws: `QueryError` when the filter fits neither version.
  init(
    _ predicate: Predicate, of own: TableSchema, besides other: TableSchema, isNewer: Bool
  ) throws(QueryError) {
    let columns = VersionColumns(own: own, other: other, isNewer: isNewer)
    self = try Self.compile(predicate, isNegated: false, depth: 0) {
      test, isNegated throws(QueryError) in
      try columns.compile(test, isNegated: isNegated)
    }
  }

  /// Deeper than any text of an expression; it bounds the recursion for predicates built in code.
  private static let maximumDepth = 1000

  private static func compile(
    _ predicate: Predicate, isNegated: Bool, depth: Int,
    _ test: (ColumnTest, _ isNegated: Bool) throws(QueryError) -> CompiledPredicate
  ) throws(QueryError) -> CompiledPredicate {
    guard depth < maximumDepth else {
      throw QueryError(
        position: nil, reason: "the predicate is nested more than \(maximumDepth) deep")
    }
    switch predicate {
    case .test(let column): return try test(column, isNegated)
    case .not(let part):
      return try compile(part, isNegated: !isNegated, depth: depth + 1, test)
    case .all(let parts), .any(let parts):
      var compiled: [CompiledPredicate] = []
      for part in parts {
        compiled.append(try compile(part, isNegated: isNegated, depth: depth + 1, test))
      }
      // Cheap tests first: the others skip the rows that these exclude.
      let ordered = compiled.enumerated().map { ($0.element.cost, $0.offset) }.sorted { $0 < $1 }
        .map { compiled[$0.1] }
      if case .all = predicate { return isNegated ? .any(ordered) : .all(ordered) }
      return isNegated ? .all(ordered) : .any(ordered)
    }
  }

  /// The approximate cost for a row.
  private var cost: Int {
    switch self {
    case .constant: 0
    case .test(let test): test.cost
    case .all(let parts), .any(let parts): parts.reduce(1) { $0 &+ $1.cost }
    }
  }
}

/// A test of one column, ready for its rows. A null never matches, except in the test for null.
struct CompiledTest: Sendable {
  enum Question: Sendable {
    case isNull
    case isNaN
    /// Ints, booleans (0 and 1), days or microseconds, depending on the column's type.
    case integers(NumberSet<Int64>)
    case doubles(NumberSet<Double>)
    /// Decimals or UUIDs.
    case wides(NumberSet<WideNumber>)
    case text(TextTest)
  }

  let columnID: UInt32
  let reading: Reading
  let question: Question
  let isNegated: Bool

  /// Returns whether a non-null value matches; nil when the spelling does not fit the column's type.
  ///
  /// - Parameter room: memory that is reused between calls.
  @inline(__always)
  func matches(_ spelling: UnsafeRawBufferPointer, room: inout [UInt8]) -> Bool? {
    switch question {
    case .isNull: return isNegated
    case .text(let test): return test.matches(spelling, room: &room) != isNegated
    case .integers(let set):
      guard let number = reading.integer(spelling) else { return nil }
      return set.contains(number) != isNegated
    case .doubles(let set):
      guard let number = reading.double(spelling) else { return nil }
      return !number.isNaN && set.contains(number) != isNegated
    case .wides(let set):
      guard let wide = reading.wide(spelling) else { return nil }
      return set.contains(wide) != isNegated
    case .isNaN:
      guard let number = reading.double(spelling) else { return nil }
      return number.isNaN != isNegated
    }
  }

  var type: ColumnType { reading.type }

  var cost: Int {
    switch question {
    case .isNull: return 1
    case .integers, .doubles, .isNaN: return 2
    case .wides: return 8
    case .text(let test):
      if test.ignoresCase { return 20 }
      if case .equal = test.kind { return 5 }
      return 10
    }
  }
}
