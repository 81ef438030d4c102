/// Finds the rows of a leaf that a test selects, column by column.
///
/// In a stored column, each entry of a dictionary is tested once, packed numbers are compared as numbers, and
/// bounds often decide without reading any row. Changed rows that are stored column by column are tested in
/// the same way; other changed rows are read spelling by spelling.
///
/// Unsafe pointers for speed, into memory that was just reserved for all rows of a leaf.
///
/// Thread rule: one thread at a time; leaves are read by the rule of `Leaf`.
package final class LeafScan {
  private let decoded = DecodedColumn()
  private var numbers = Scratch<Int64>()
  private var indices = Scratch<UInt32>()
  private var answers = Scratch<Bool>()
  private var spans = Scratch<TextSpan>()
  private var codes = CodeTable()
  private var decoder = SymbolDecoder()
  private var digitDecoder = DigitDecoder()
  private var text = OutputBuffer()
  // Unchecked: no function called with it accesses it again, and the check would cost more than most tests.
  @exclusivity(unchecked) private var folded: [UInt8] = []

  /// False: every column is read spelling by spelling, which is the slow twin.
  private let usesStoredColumns: Bool

  package init(usesStoredColumns: Bool = true) { self.usesStoredColumns = usesStoredColumns }

  func rows(_ leaf: Leaf, _ predicate: CompiledPredicate) throws -> RowBits {
    switch predicate {
    case .constant(let isTrue): return RowBits(count: leaf.rowCount, all: isTrue)
    case .test(let test): return try rows(try leaf.column(id: test.columnID), test)
    case .all(let parts):
      var rows = RowBits(count: leaf.rowCount, all: true)
      for (index, part) in parts.enumerated() {
        if index > 0, rows.isEmpty { break }
        rows.formIntersection(try self.rows(leaf, part))
      }
      return rows
    case .any(let parts):
      var rows = RowBits(count: leaf.rowCount, all: false)
      for (index, part) in parts.enumerated() {
        if index > 0, rows.isFull { break }
        rows.formUnion(try self.rows(leaf, part))
      }
      return rows
    }
  }

  /// The rows that the predicate selects among the candidates.
  ///
  /// - Parameter candidates: ascending; a few are tested one by one.
  func rows(
    _ leaf: Leaf, _ predicate: CompiledPredicate, among candidates: [Int]
  ) throws -> RowBits {
    guard candidates.count * Self.candidateCost < leaf.rowCount else {
      return try rows(leaf, predicate)
    }
    var columns: [UInt32: LeafColumn] = [:]
    var rows = RowBits(count: leaf.rowCount, all: false)
    for row in candidates {
      rows[row] = try matches(predicate, leaf, row, &columns)
    }
    return rows
  }

  /// A single row costs about as much as this many rows decoded together: 0.2 to 3 µs (3 µs with coded
  /// indices), against 2 to 6 ns.
  private static let candidateCost = 128

  /// Returns whether one row matches. The recursion is as deep as the predicate, whose depth its compilation
  /// has limited.
  ///
  /// - Parameter columns: the columns of the leaf that are already open.
  func matches(
    _ predicate: CompiledPredicate, _ leaf: Leaf, _ row: Int, _ columns: inout [UInt32: LeafColumn]
  ) throws -> Bool {
    switch predicate {
    case .constant(let isTrue): return isTrue
    case .all(let parts):
      for part in parts where try !matches(part, leaf, row, &columns) { return false }
      return true
    case .any(let parts):
      for part in parts where try matches(part, leaf, row, &columns) { return true }
      return false
    case .test(let test):
      let column = try columns[test.columnID] ?? leaf.column(id: test.columnID)
      columns[test.columnID] = column
      return try column.withSpelling(row) { try answer(test, $0, id: test.columnID, row: row) }
    }
  }

  private func rows(_ column: LeafColumn, _ test: CompiledTest) throws -> RowBits {
    guard usesStoredColumns else { return try spelled(column, test) }
    guard let changes = column.changes else { return try rows(column.stored, test) }
    do {
      if let rows = try rows(column, changes, test) { return rows }
    } catch ClusterError.misfit {
      // Perhaps of a value that was changed since: if it is another's, reading it throws.
    }
    return try spelled(column, test)
  }

  /// Tests a column as it is stored.
  func rows(_ stored: ColumnReader, _ test: CompiledTest) throws -> RowBits {
    if let all = ColumnBounds(stored).answer(test) {
      return RowBits(count: stored.rowCount, all: all)
    }
    if case .isNull = test.question {
      return nulls(stored, test.isNegated)
    }
    switch stored.body {
    case .absent: return RowBits(count: stored.rowCount, all: false)
    case .constant(let constant):
      let answer = try constant.spelling.map { try ask(test, $0, stored, row: 0) } ?? false
      return RowBits(count: stored.rowCount, all: answer)
    case .dictionary(let dictionary): return try rows(stored, dictionary, test)
    case .integers(let integers):
      if let rows = try rows(stored, integers, test) { return rows }
    case .decimals(let decimals):
      if let rows = try rows(stored, decimals, test) { return rows }
    case .doubles(let doubles):
      if let rows = try rows(stored, doubles, test) { return rows }
    case .dates(let dates):
      if test.reading.readsDays(dates.style), case .integers(let days) = test.question {
        return try rows(stored, dates.days, dates.marks, test, days)
      }
    case .dateTimes(let moments):
      if test.reading.plainType == .dateTime, case .integers(let microseconds) = test.question {
        let unit = moments.style.unit
        return try rows(
          stored, moments.moments, moments.marks, test,
          microseconds.map { Self.units($0, of: unit) })
      }
    case .packedText: break
    }
    return try spelled(LeafColumn(stored), test)
  }

  /// The result for one spelling.
  @inline(__always)
  private func ask(
    _ test: CompiledTest, _ spelling: UnsafeRawBufferPointer, _ column: ColumnReader, row: Int
  ) throws -> Bool {
    guard let answer = test.matches(spelling, room: &folded) else {
      throw ClusterError.misfit(column: column.id, row: row, type: test.type)
    }
    return answer
  }

  /// The answer for one row; nil is null.
  @inline(__always)
  func answer(
    _ test: CompiledTest, _ spelling: UnsafeRawBufferPointer?, id: UInt32, row: Int
  ) throws -> Bool {
    guard let spelling else {
      if case .isNull = test.question { return !test.isNegated }
      return false
    }
    guard let answer = test.matches(spelling, room: &folded) else {
      throw ClusterError.misfit(column: id, row: row, type: test.type)
    }
    return answer
  }

  // MARK: Spellings

  /// Tests any column by the spellings of its rows.
  private func spelled(_ column: LeafColumn, _ test: CompiledTest) throws -> RowBits {
    column.decode(rows: 0..<column.rowCount, into: decoded)
    let base = decoded.base
    let spans = decoded.spans
    var misfit: Int?
    let asksForNull: Bool
    if case .isNull = test.question { asksForNull = true } else { asksForNull = false }
    let rows = RowBits(count: spans.count) { row in
      let span = spans[row]
      if span.isNull { return asksForNull && !test.isNegated }
      let spelling = UnsafeRawBufferPointer(
        start: base + Int(span.offset), count: Int(span.length))
      guard let answer = test.matches(spelling, room: &folded) else {
        if misfit == nil { misfit = row }
        return false
      }
      return answer
    }
    if let misfit {
      throw ClusterError.misfit(column: test.columnID, row: misfit, type: test.type)
    }
    return rows
  }

  /// The rows that are null, or those that are not.
  private func nulls(_ column: ColumnReader, _ isNegated: Bool) -> RowBits {
    guard case .dictionary(let dictionary) = column.body, dictionary.hasNulls else {
      return RowBits(count: column.rowCount) { column.isNull($0) != isNegated }
    }
    // All at once: to read one coded index means to read those before it in its block.
    let indices = indices.reserve(column.rowCount)
    dictionary.decode(0..<column.rowCount, table: &codes, into: indices)
    let null = dictionary.entries.count
    return RowBits(count: column.rowCount) { (Int(indices[$0]) == null) != isNegated }
  }

  /// Tests each entry of a dictionary once.
  private func rows(
    _ column: ColumnReader, _ dictionary: DictionaryEncoding, _ test: CompiledTest
  ) throws -> RowBits {
    let count = dictionary.entries.count
    let answers = answers.reserve(count + 1)
    // The result for null, and for indices beyond the entries in damaged bytes.
    answers[count] = false
    var found = 0
    try forEach(dictionary.entries) { index, spelling in
      let answer = try ask(test, spelling, column, row: 0)
      answers[index] = answer
      found &+= answer ? 1 : 0
    }
    if found == 0 { return RowBits(count: column.rowCount, all: false) }
    if found == count, !dictionary.hasNulls { return RowBits(count: column.rowCount, all: true) }
    let indices = indices.reserve(column.rowCount)
    dictionary.decode(0..<column.rowCount, table: &codes, into: indices)
    return RowBits(count: column.rowCount) { answers[Int(indices[$0])] }
  }

  /// Calls `body` with every string, decompressed if necessary.
  @inline(__always)
  private func forEach(
    _ strings: StoredStrings, _ body: (Int, UnsafeRawBufferPointer) throws -> Void
  ) rethrows {
    let spans = spans.reserve(strings.count)
    let base = strings.packed.base
    strings.packed.spans(0..<strings.count, into: spans)
    if let symbols = strings.symbols { decoder.load(symbols) }
    if let digits = strings.digits { digitDecoder.load(digits) }
    for index in 0..<strings.count {
      if let digits = strings.digits {
        text.removeAll()
        let target = text.reserve(digits.decodedCount(Int(spans[index].length)) &+ 16)
        let length = digitDecoder.decode(digits, base, spans[index], to: target)
        try body(index, UnsafeRawBufferPointer(start: target, count: length))
        continue
      }
      let bytes = UnsafeRawBufferPointer(
        start: base + Int(spans[index].offset), count: Int(spans[index].length))
      guard let symbols = strings.symbols else {
        try body(index, bytes)
        continue
      }
      text.removeAll()
      let target = text.reserve(decoder.room(bytes, of: symbols) &+ 16)
      let length = decoder.decode(bytes, to: target)
      try body(index, UnsafeRawBufferPointer(start: target, count: length))
    }
  }

  // MARK: Numbers

  private func rows(
    _ column: ColumnReader, _ integers: IntegerEncoding, _ test: CompiledTest
  ) throws -> RowBits? {
    guard test.reading.notation == nil else { return nil }
    switch test.question {
    case .integers(let set) where test.type == .int:
      return try rows(column, integers.numbers, integers.marks, test, set)
    case .doubles(let set):
      // In a double column, an integer's value is the nearest double.
      return try rows(
        column, integers.numbers, integers.marks, test,
        set.map { DecimalRange.mantissas($0, scale: 0) })
    default: return nil
    }
  }

  /// For decimals, the bounds are converted to mantissas, once for each number of digits.
  private func rows(
    _ column: ColumnReader, _ decimals: DecimalEncoding, _ test: CompiledTest
  ) throws -> RowBits? {
    guard case .doubles(let set) = test.question, test.reading.notation == nil else {
      return nil
    }
    if let scale = decimals.mantissaScale {
      return try rows(
        column, decimals.mantissas, decimals.marks, test,
        set.map { mantissas($0, scale: scale) })
    }
    let sets = (0...ScaledNumber.maximumScale).map { scale in
      set.map { mantissas($0, scale: scale) }
    }
    let numbers = numbers.reserve(column.rowCount)
    decimals.mantissas.decode(0..<column.rowCount, table: &codes, into: numbers)
    let rows = RowBits(count: column.rowCount) { row in
      let number = decimals.number(numbers[row], row)
      return sets[Int(number.scale)].contains(number.mantissa) != test.isNegated
    }
    return try marked(rows, decimals.marks, column, test)
  }

  /// Kept between leaves, as computing them takes longer than testing a leaf's rows.
  private var knownMantissas: [MantissaKey: ClosedRange<Int64>?] = [:]

  private struct MantissaKey: Hashable {
    let range: ClosedRange<Double>
    let scale: Int
  }

  private func mantissas(_ range: ClosedRange<Double>, scale: Int) -> ClosedRange<Int64>? {
    let key = MantissaKey(range: range, scale: scale)
    if let known = knownMantissas[key] { return known }
    let mantissas = DecimalRange.mantissas(range, scale: scale)
    knownMantissas[key] = .some(mantissas)
    return mantissas
  }

  private func rows(
    _ column: ColumnReader, _ doubles: DoubleEncoding, _ test: CompiledTest
  ) throws -> RowBits? {
    guard case .doubles(let set) = test.question, test.reading.notation == nil else {
      return nil
    }
    let isNegated = test.isNegated
    let rows = RowBits(count: column.rowCount) { row in
      let number = doubles.number(row)
      return !number.isNaN && set.contains(number) != isNegated
    }
    return try marked(rows, doubles.marks, column, test)
  }

  private func rows(
    _ column: ColumnReader, _ packed: PackedNumbers, _ marks: RowMarks, _ test: CompiledTest,
    _ set: NumberSet<Int64>
  ) throws -> RowBits {
    let count = column.rowCount
    let numbers = numbers.reserve(count)
    packed.decode(0..<count, table: &codes, into: numbers)
    let isNegated = test.isNegated
    let rows: RowBits
    if set.ranges.count == 1 {
      let (low, high) = (set.ranges[0].lowerBound, set.ranges[0].upperBound)
      rows = RowBits(count: count) { row in
        let number = numbers[row]
        return (number >= low && number <= high) != isNegated
      }
    } else {
      rows = RowBits(count: count) { set.contains(numbers[$0]) != isNegated }
    }
    return try marked(rows, marks, column, test)
  }

  /// Removes nulls, and tests exceptions by their spellings.
  private func marked(
    _ rows: RowBits, _ marks: RowMarks, _ column: ColumnReader, _ test: CompiledTest
  ) throws -> RowBits {
    if marks.isEmpty { return rows }
    var rows = rows
    if column.nullCount > 0 {
      rows.formIntersection(RowBits(count: rows.count) { !marks.isNull($0) })
    }
    var misfit: Int?
    marks.forEachException { row, spelling in
      guard !marks.isNull(row) else { return }
      let answer = test.matches(spelling, room: &folded)
      if answer == nil { misfit = row }
      rows[row] = answer ?? false
    }
    if let misfit {
      throw ClusterError.misfit(column: column.id, row: misfit, type: test.type)
    }
    return rows
  }

  /// The multiples of `unit` in a range, in units.
  private static func units(_ range: ClosedRange<Int64>, of unit: Int64) -> ClosedRange<Int64>? {
    let (low, lowRest) = range.lowerBound.quotientAndRemainder(dividingBy: unit)
    let (high, highRest) = range.upperBound.quotientAndRemainder(dividingBy: unit)
    // Division truncates towards zero, which rounds a negative lower bound up, as required.
    let first = lowRest > 0 ? low + 1 : low
    let last = highRest < 0 ? high - 1 : high
    return first <= last ? first...last : nil
  }
}

/// Decides a test for all rows of a leaf by a column's bounds and its number of nulls.
struct ColumnBounds {
  private let column: ColumnReader

  init(_ column: ColumnReader) { self.column = column }

  /// True when all rows match, false when none does, nil when the rows must be read.
  func answer(_ test: CompiledTest) -> Bool? {
    let hasNulls = column.nullCount > 0
    if case .isNull = test.question {
      if !hasNulls { return test.isNegated }
      return column.nullCount == column.rowCount ? !test.isNegated : nil
    }
    if column.nullCount == column.rowCount { return false }
    guard let isInside = isInside(test) else { return nil }
    if isInside == test.isNegated { return false }
    return hasNulls ? nil : true
  }

  /// True when every value passes the test, before it is negated; false when none does.
  private func isInside(_ test: CompiledTest) -> Bool? {
    let statistics = column.statistics
    // Bounds apply to spellings without a notation.
    guard test.reading.notation == nil else { return nil }
    switch test.question {
    case .isNull, .isNaN: return nil
    case .integers(let set):
      let kind: ColumnStatistics.Kind? =
        switch test.type {
        case .int: .integers
        case .date: .days
        case .dateTime: .moments
        default: nil
        }
      guard statistics.kind == kind, let bounds = statistics.integers else { return nil }
      return set.covers(bounds) ? true : set.intersects(bounds) ? nil : false
    case .doubles(let set):
      guard let bounds = statistics.numbers else { return nil }
      // Bounds of doubles do not cover NaN, for which a test is unknown.
      if statistics.kind == .integers, set.covers(bounds) { return true }
      if set.intersects(bounds) { return nil }
      return statistics.kind == .integers || !test.isNegated ? false : nil
    // Such values have no bounds.
    case .wides: return nil
    case .text(let text):
      guard let bounds = statistics.textPrefixes else { return nil }
      return text.mayMatch(bounds) ? nil : false
    }
  }
}
