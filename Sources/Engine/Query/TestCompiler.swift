/// Compiles one test: resolves its column, and converts its literals to the form in which that column's
/// values are compared.
struct TestCompiler {
  private let test: ColumnTest
  private let column: Column
  private let columnID: UInt32
  private let isNegated: Bool

  /// - Throws: `QueryError` when the table has no such column.
  init(_ test: ColumnTest, _ schema: TableSchema, isNegated: Bool) throws(QueryError) {
    guard let index = schema.index(of: test.column) else {
      throw QueryError(
        position: test.columnPosition,
        reason: ColumnNames.unknown(test.column, among: schema.columns.map(\.name)))
    }
    self.init(test, schema.columns[index], schema.columnIDs[index], isNegated: isNegated)
  }

  /// Compiles a test of a column that was already resolved.
  init(_ test: ColumnTest, _ column: Column, _ id: UInt32, isNegated: Bool) {
    self.test = test
    self.column = column
    columnID = id
    self.isNegated = isNegated
  }

  func compiled() throws(QueryError) -> CompiledPredicate {
    if test.ignoresCase, !isText {
      throw error("case can be ignored in texts only; \(named) is \(column.type.article)")
    }
    switch test.question {
    case .isNull: return make(.isNull)
    case .isNaN:
      guard column.type == .double else {
        throw error("only double columns hold NaN; \(named) is \(column.type.article)")
      }
      return make(.isNaN)
    case .isTrue:
      guard column.type == .bool else {
        throw error(
          "\(named) is \(column.type.article), not a bool; compare it with a value, such as "
            + "\(shown) == \(example)")
      }
      return make(.integers(NumberSet([1...1])))
    case .compare(let comparison, let value):
      return try compare(comparison, value)
    case .isBetween(let low, let high):
      return try between(low, high)
    case .isIn(let values): return try isIn(values)
    case .contains(let text):
      return make(.text(try textTest("contains") { .contains(bytes(text)) }))
    case .beginsWith(let text):
      return make(.text(try textTest("begins with") { .beginsWith(bytes(text)) }))
    case .endsWith(let text):
      return make(.text(try textTest("ends with") { .endsWith(bytes(text)) }))
    case .isLike(let pattern, let escape):
      guard
        let like = LikePattern(pattern, escape: escape, ignoringCase: test.ignoresCase)
      else {
        throw error("in the pattern, the escape must stand before %, _ or itself", atValue: true)
      }
      return make(.text(try textTest("like") { .like(like) }))
    }
  }

  private func make(
    _ question: CompiledTest.Question, isInverted: Bool = false
  ) -> CompiledPredicate {
    .test(
      CompiledTest(
        columnID: columnID, reading: column.reading, question: question,
        isNegated: isNegated != isInverted))
  }

  private var isText: Bool { column.type == .text || column.type == .data }

  // MARK: Comparisons

  private func compare(
    _ comparison: ColumnTest.Comparison, _ value: Value
  ) throws(QueryError) -> CompiledPredicate {
    let ordering: Ordering =
      switch comparison {
      case .equal, .notEqual: .equal
      case .less: .less
      case .lessOrEqual: .lessOrEqual
      case .greater: .greater
      case .greaterOrEqual: .greaterOrEqual
      }
    let isInverted = comparison == .notEqual
    if isText { return make(.text(try textTest(ordering, value)), isInverted: isInverted) }
    if column.type.isWide {
      let range = try wide(value).range(ordering)
      return make(.wides(NumberSet(range.map { [$0] } ?? [])), isInverted: isInverted)
    }
    let literal = try number(value)
    let question: CompiledTest.Question =
      column.type == .double
      ? .doubles(NumberSet(literal.doubles(ordering).map { [$0] } ?? []))
      : .integers(NumberSet(literal.integers(ordering).map { [$0] } ?? []))
    return make(question, isInverted: isInverted)
  }

  private func between(_ low: Value, _ high: Value) throws(QueryError) -> CompiledPredicate {
    if isText {
      let bounds = (try text(low), try text(high))
      let kind = TextTest.Kind.between(
        low: TextTest.Bound(bytes: bounds.0, isIncluded: true),
        high: TextTest.Bound(bytes: bounds.1, isIncluded: true))
      return make(.text(TextTest(kind: kind, ignoresCase: test.ignoresCase)))
    }
    if column.type.isWide {
      let above = try wide(low).range(.greaterOrEqual)
      let below = try wide(high).range(.lessOrEqual)
      return make(.wides(NumberSet(Self.intersection(above, below))))
    }
    let bounds = (try number(low), try number(high))
    if column.type == .double {
      let above = bounds.0.doubles(.greaterOrEqual)
      let below = bounds.1.doubles(.lessOrEqual)
      return make(.doubles(NumberSet(Self.intersection(above, below))))
    }
    let above = bounds.0.integers(.greaterOrEqual)
    let below = bounds.1.integers(.lessOrEqual)
    return make(.integers(NumberSet(Self.intersection(above, below))))
  }

  private static func intersection<Number>(
    _ one: ClosedRange<Number>?, _ other: ClosedRange<Number>?
  ) -> [ClosedRange<Number>] {
    guard let one, let other, one.overlaps(other) else { return [] }
    return [one.clamped(to: other)]
  }

  private func isIn(_ values: [Value]) throws(QueryError) -> CompiledPredicate {
    let present = values.filter { $0 != .null }
    // Not equal to null is unknown, so no value is certainly outside the list.
    if present.count < values.count, isNegated { return .constant(false) }
    if isText {
      var texts: Set<[UInt8]> = []
      for value in present { texts.insert(try text(value)) }
      return make(.text(TextTest(kind: .oneOf(texts), ignoresCase: test.ignoresCase)))
    }
    if column.type.isWide {
      var ranges: [ClosedRange<WideNumber>] = []
      for value in present { if let range = try wide(value).range(.equal) { ranges.append(range) } }
      return make(.wides(NumberSet(ranges)))
    }
    var literals: [NumberLiteral] = []
    for value in present { literals.append(try number(value)) }
    return make(
      column.type == .double
        ? .doubles(NumberSet(literals.compactMap { $0.doubles(.equal) }))
        : .integers(NumberSet(literals.compactMap { $0.integers(.equal) })))
  }

  // MARK: Text

  private func textTest(
    _ word: String, _ kind: () -> TextTest.Kind
  ) throws(QueryError) -> TextTest {
    guard isText else {
      throw error(
        "'\(word)' looks into texts; \(named) is \(column.type.article): compare it with values")
    }
    return TextTest(kind: kind(), ignoresCase: test.ignoresCase)
  }

  private func textTest(_ ordering: Ordering, _ value: Value) throws(QueryError) -> TextTest {
    let bytes = try text(value)
    func bound(_ isIncluded: Bool) -> TextTest.Bound {
      TextTest.Bound(bytes: bytes, isIncluded: isIncluded)
    }
    let kind: TextTest.Kind =
      switch ordering {
      case .equal: .equal(bytes)
      case .less: .between(low: nil, high: bound(false))
      case .lessOrEqual: .between(low: nil, high: bound(true))
      case .greater: .between(low: bound(false), high: nil)
      case .greaterOrEqual: .between(low: bound(true), high: nil)
      }
    return TextTest(kind: kind, ignoresCase: test.ignoresCase)
  }

  private func bytes(_ text: String) -> [UInt8] {
    test.ignoresCase ? CaseFolding.fold(text) : Array(text.utf8)
  }

  private func text(_ value: Value) throws(QueryError) -> [UInt8] {
    switch value {
    case .text(let text): return bytes(text)
    case .data(let data) where column.type == .data: return data
    default:
      let spelling = String(decoding: value.spelling, as: UTF8.self)
      throw error(
        "\(named) is \(column.type.article) and cannot be compared with \(Self.kind(value)); "
          + "write \"\(spelling)\" in quotes to compare texts",
        atValue: true)
    }
  }

  // MARK: Numbers

  /// The literal as a number of the column's type.
  private func number(_ value: Value) throws(QueryError) -> NumberLiteral {
    switch (column.type, value) {
    case (.int, .int(let int)), (.double, .int(let int)): return .int(int)
    case (.int, .double(let double)), (.double, .double(let double)):
      try refuseNaN(double)
      return .double(double)
    case (.double, .decimal(let decimal)) where decimal.scale > 0: return .double(decimal.double)
    case (.int, .decimal(let decimal)), (.double, .decimal(let decimal)):
      return .between(decimal.wholeBelow, decimal.wholeAbove)
    case (.bool, .bool(let bool)): return .int(bool ? 1 : 0)
    case (.date, .date(let date)): return .int(Int64(date.daysSince1970))
    case (.dateTime, .dateTime(let moment)): return .int(moment.microsecondsSince1970)
    case (.dateTime, .date(let date)):
      return .int(Int64(date.daysSince1970) &* DateTime.microsecondsPerDay)
    case (.time, .time(let time)): return .int(time.microseconds)
    case (.time, .text(let text)):
      guard let time = Value(spelling: text, type: .time) else {
        throw error("\"\(text.prefix(40))\" is not a time like \"12:34:56\"", atValue: true)
      }
      return try number(time)
    case (.date, .text(let text)):
      guard let date = Value(spelling: text, type: .date) else {
        throw error("\"\(text.prefix(40))\" is not a date like \"2018-08-03\"", atValue: true)
      }
      return try number(date)
    case (.dateTime, .text(let text)):
      let value = Value(spelling: text, type: .dateTime) ?? Value(spelling: text, type: .date)
      guard let value else {
        throw error(
          "\"\(text.prefix(40))\" is not a date-time like \"2018-08-03T12:34:56Z\"", atValue: true)
      }
      return try number(value)
    default: throw mismatch(value)
    }
  }

  /// The literal as a decimal or UUID, or its nearest neighbours.
  private func wide(_ value: Value) throws(QueryError) -> WideLiteral {
    switch (column.type, value) {
    case (.decimal, .int(let int)): return WideLiteral(WideNumber(ExactDecimal(int)))
    case (.decimal, .double(let double)):
      try refuseNaN(double)
      return WideLiteral(double)
    case (.decimal, .decimal(let decimal)): return WideLiteral(WideNumber(decimal))
    case (.uuid, .uuid(let identifier)): return WideLiteral(WideNumber(identifier))
    case (_, .text(let text)):
      // In the type's spelling, or in the column's notation.
      var text = text
      let found = text.withUTF8 { bytes in
        let bytes = UnsafeRawBufferPointer(bytes)
        return Reading(column.type).wide(bytes) ?? column.reading.wide(bytes)
      }
      if let found { return WideLiteral(found) }
      throw error(
        "\"\(text.prefix(40))\" is not \(column.type.article) like \(example)", atValue: true)
    default: throw mismatch(value)
    }
  }

  private func refuseNaN(_ double: Double) throws(QueryError) {
    if double.isNaN {
      throw error("a comparison with NaN is never true; write '\(shown) is nan'", atValue: true)
    }
  }

  private func mismatch(_ value: Value) -> QueryError {
    if value == .null {
      return error("a comparison with null is never true; write '\(shown) is null'", atValue: true)
    }
    return error(
      "\(named) is \(column.type.article) and cannot be compared with \(Self.kind(value)); "
        + "write a value such as \(example)",
      atValue: true)
  }

  // MARK: Messages

  private func error(_ reason: String, atValue: Bool = false) -> QueryError {
    QueryError(position: atValue ? test.valuePosition : test.columnPosition, reason: reason)
  }

  private var named: String { "column '\(column.name)'" }
  private var shown: String { ColumnNames.written(column.name) }

  private var example: String {
    switch column.type {
    case .int: "42"
    case .double: "4.5"
    case .bool: "true"
    case .date: "\"2018-08-03\""
    case .dateTime: "\"2018-08-03T12:34:56Z\""
    case .time: "\"12:34:56\""
    case .decimal: "12.50"
    case .uuid: "\"f81d4fae-7dec-11d0-a765-00a0c91e6bf6\""
    case .text, .data: "\"text\""
    }
  }

  private static func kind(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .int, .double, .decimal: "a number"
    case .uuid: "a UUID"
    case .bool: "true or false"
    case .date: "a date"
    case .dateTime: "a date-time"
    case .time: "a time"
    case .text(let text): "the text \"\(text.prefix(40))\""
    case .data: "bytes"
    }
  }
}

/// Names of columns in messages.
enum ColumnNames {
  /// Longer names are cut off in lists.
  private static let mostShown = 200

  /// The message for a missing column, with a similar name.
  static func unknown(_ name: String, among names: [String]) -> String {
    let problem = "there is no column '\(name)'"
    if let meant = nearest(to: name, among: names) {
      return problem + "; did you mean \(written(meant))?"
    }
    let shown = names.prefix(20).map { written(String($0.prefix(mostShown))) }
      .joined(separator: ", ")
    return problem + "; the columns are \(shown)\(names.count > 20 ? ", …" : "")"
  }

  /// A name in the form for an expression.
  static func written(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy {
      $0 == 0x5F || (0x30...0x39).contains($0) || (0x41...0x5A).contains($0)
        || (0x61...0x7A).contains($0)
    }
    let first = name.utf8.first ?? 0x30
    if isPlain, !(0x30...0x39).contains(first) { return name }
    return "`" + name.replacing(sign: "`", with: "``") + "`"
  }

  private static func nearest(to name: String, among names: [String]) -> String? {
    let plain = simplified(name)
    if let same = names.first(where: { simplified($0) == plain }) { return same }
    if plain.count >= 3 {
      // For `Content`, suggests `Content Rating`.
      let longer = names.filter { simplified($0).starts(with: plain) }
      if longer.count == 1 { return longer[0] }
    }
    let near = names.map { ($0, distance(plain, simplified($0))) }.min { $0.1 < $1.1 }
    guard let near, near.1 <= max(1, plain.count / 3) else { return nil }
    return near.0
  }

  private static func simplified(_ name: String) -> [UInt8] {
    CaseFolding.fold(name).filter { $0 != 0x20 && $0 != 0x5F && $0 != 0x2D }
  }

  /// The number of insertions, deletions and substitutions that turn one name into the other.
  private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
    // Such long names are not typing mistakes, and the cost is the product of the lengths.
    guard one.count <= 64, other.count <= 64 else { return .max }
    var previous = Array(0...other.count)
    for (row, byte) in one.enumerated() {
      var current = [row + 1]
      for (index, otherByte) in other.enumerated() {
        current.append(
          min(
            previous[index + 1] + 1, current[index] + 1,
            previous[index] + (byte == otherByte ? 0 : 1)))
      }
      previous = current
    }
    return previous[other.count]
  }
}
