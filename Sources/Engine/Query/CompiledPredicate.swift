/// A predicate that fits a table: columns found, literals turned into the column's own values, `not`
/// pushed down to the tests.
///
/// With `not` only at the tests, what is unknown needs no place of its own: a test selects the rows
/// where it, negated or not, is true, and `and` and `or` of three values select the intersection
/// and the union of those.
indirect enum CompiledPredicate: Sendable {
  case constant(Bool)
  case test(CompiledTest)
  case all([CompiledPredicate])
  case any([CompiledPredicate])

  /// - Throws: `QueryError` for unknown columns, and literals that a column cannot be compared with.
  init(_ predicate: Predicate, _ schema: TableSchema) throws(QueryError) {
    self = try Self.compile(predicate, schema, isNegated: false, depth: 0)
  }

  /// Deeper than any expression can be written; bounds the recursion for those that are built.
  private static let maximumDepth = 1000

  private static func compile(
    _ predicate: Predicate, _ schema: TableSchema, isNegated: Bool, depth: Int
  ) throws(QueryError) -> CompiledPredicate {
    guard depth < maximumDepth else {
      throw QueryError(
        position: nil, reason: "the predicate is nested more than \(maximumDepth) deep")
    }
    switch predicate {
    case .test(let test):
      return try TestCompiler(test, schema, isNegated: isNegated).compiled()
    case .not(let part):
      return try compile(part, schema, isNegated: !isNegated, depth: depth + 1)
    case .all(let parts), .any(let parts):
      var compiled: [CompiledPredicate] = []
      for part in parts {
        compiled.append(try compile(part, schema, isNegated: isNegated, depth: depth + 1))
      }
      // Cheap ones first: what they leave out need not be looked at by the others.
      let ordered = compiled.enumerated().map { ($0.element.cost, $0.offset) }.sorted { $0 < $1 }
        .map { compiled[$0.1] }
      if case .all = predicate { return isNegated ? .any(ordered) : .all(ordered) }
      return isNegated ? .all(ordered) : .any(ordered)
    }
  }

  /// What a row costs, roughly.
  private var cost: Int {
    switch self {
    case .constant: 0
    case .test(let test): test.cost
    case .all(let parts), .any(let parts): parts.reduce(1) { $0 &+ $1.cost }
    }
  }
}

/// A test of one column, ready for its rows. A null never matches, but for the question about nulls.
struct CompiledTest: Sendable {
  enum Question: Sendable {
    case isNull
    case isNaN
    /// Of ints, booleans (0 and 1), days and microseconds, as the column's type says.
    case integers(NumberSet<Int64>)
    case doubles(NumberSet<Double>)
    /// Of decimals and UUIDs.
    case wides(NumberSet<WideNumber>)
    case text(TextTest)
  }

  let columnID: UInt32
  let reading: Reading
  let question: Question
  let isNegated: Bool

  /// Whether a value that is not null matches; nil when the spelling is not of the column's type.
  ///
  /// - Parameter room: kept from call to call.
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
