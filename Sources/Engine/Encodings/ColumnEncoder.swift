/// Encodes one column after the other: reads the spellings, picks the encoding that takes the fewest bytes,
/// and writes the segment.
///
/// A column of equal spellings is constant. Otherwise candidates are sized without being built. A typed
/// encoding (integers, decimals, dates, date-times, doubles) is a candidate when at most 1 of 16 spellings
/// would be an exception. Its size limits the dictionary, which is abandoned as soon as it cannot be smaller.
/// Remaining text is compressed where that pays. Ties go to the simpler encoding, by the order of the
/// comparisons.
///
/// The choice depends only on the column, never on those encoded before.
///
/// Thread rule: confined; each thread has its own. Its memory is reused for the next column.
struct ColumnEncoder: ~Copyable {
  private let effort: EncodingEffort
  private var spans = Scratch<TextSpan>()
  private var numbers = Scratch<Int64>()
  private var scales = Scratch<UInt8>()
  private var trimmedNumbers = Scratch<Int64>()
  private var trimmedScales = Scratch<UInt8>()
  private var scaleSummaries = Scratch<TypedScan.ScaleSummary>(
    capacity: TypedScan.summaryCount)
  private var exceptions = Scratch<UInt32>()
  private var histogram = FrameHistogram()
  private var dictionary = DictionaryBuilder()
  private var codedRoom = CodedPlan.Room()
  private var compressed = CompressedStrings()

  init(effort: EncodingEffort) { self.effort = effort }

  /// The facts about a segment for the directory.
  struct Segment: Sendable {
    var encoding: ColumnEncoding
    var flags: SegmentFlags
    var statistics: ColumnStatistics
    var spellings: SpellingFacts
  }

  private enum Choice {
    case typed(TypedPlan)
    case doubles(PackedStringsPlan)
    case dictionary(DictionaryPlan, areCompressed: Bool)
    case packedText(areCompressed: Bool)
  }

  /// Appends the segment of one column of a row-major span matrix to `output`.
  mutating func encode(
    _ matrix: ColumnMatrix, rowCount: Int, into output: inout OutputBuffer
  ) throws(SpanOutside) -> Segment {
    let column = try gather(matrix, rowCount)
    if ConstantEncoding.fits(column) { return writeConstant(column, into: &output) }

    let rows = exceptions.reserve(rowCount)
    let values = numbers.reserve(rowCount)
    let (scan, mayBeNumbers) = TypedScan.scan(column, scanRoom(rowCount))
    var choice = Choice.packedText(areCompressed: false)
    var size = PackedTextEncoding.size(column)
    if let scan {
      if let plan = typedPlan(column, scan), plan.size <= size {
        choice = .typed(plan)
        size = plan.size
      }
    } else if mayBeNumbers,
      let misfits = DoubleEncoding.scan(column, numbers: values, exceptions: rows)
    {
      let doubles = DoubleEncoding.size(column, exceptions: misfits)
      if doubles <= size {
        choice = .doubles(misfits)
        size = doubles
      }
    }
    let distinct = dictionary.build(
      column, scan, limit: size &* compressionRatio(choice), effort: effort)
    chooseStrings(column, distinct, &choice, &size)

    let (facts, survey) = facts(column, scan, distinct)
    let statistics =
      scan.map { scanned(column, $0, distinct, facts.observation.classes) }
      ?? survey?.statistics ?? .none
    var segment = Segment(
      encoding: .packedText, flags: [], statistics: statistics, spellings: facts)
    switch choice {
    case .typed(let plan):
      segment.encoding = plan.encoding
      segment.flags = plan.write(column, exceptions: rows, into: &output)
    case .doubles(let misfits):
      segment.encoding = .doubles
      segment.flags = RowMarks.write(
        column, exceptions: rows, count: misfits.count, into: &output)
      BitPacking.pack(count: rowCount, width: 64, into: &output) {
        UInt64(bitPattern: values[$0])
      }
    case .dictionary(let plan, let areCompressed):
      segment.encoding = .dictionary
      segment.flags = plan.write(column, into: &output) { output in
        if areCompressed { compressed.write(into: &output) }
        return areCompressed
      }
    case .packedText(let areCompressed):
      segment.encoding = areCompressed ? .symbolText : .packedText
      segment.flags = RowMarks.write(
        column, exceptions: compressed.exceptionRows,
        count: areCompressed ? compressed.exceptions.count : 0, into: &output)
      if areCompressed {
        compressed.write(into: &output)
      } else {
        PackedTextEncoding.write(column, into: &output)
      }
    }
    return segment
  }

  /// Examines the spellings of a column as `encode` does, without encoding them.
  mutating func examine(
    _ matrix: ColumnMatrix, rowCount: Int
  ) throws(SpanOutside) -> SpellingFacts {
    let column = try gather(matrix, rowCount)
    if ConstantEncoding.fits(column) { return constantFacts(column) }
    return facts(column, TypedScan.scan(column, scanRoom(rowCount)).0, nil).0
  }

  private mutating func gather(
    _ matrix: ColumnMatrix, _ rowCount: Int
  ) throws(SpanOutside) -> GatheredColumn {
    try GatheredColumn(
      arena: matrix.arena, matrix: matrix.spans, column: matrix.column, stride: matrix.stride,
      rowCount: rowCount, scratch: spans.reserve(rowCount))
  }

  private mutating func scanRoom(_ rowCount: Int) -> TypedScan.Room {
    TypedScan.Room(
      numbers: numbers.reserve(rowCount), scales: scales.reserve(rowCount),
      scaleSummaries: scaleSummaries.pointer)
  }

  private mutating func typedPlan(_ column: GatheredColumn, _ scan: TypedScan) -> TypedPlan? {
    let trimmed = TypedScan(
      kind: .decimals,
      TypedScan.Room(
        numbers: trimmedNumbers.reserve(column.rowCount),
        scales: trimmedScales.reserve(column.rowCount), scaleSummaries: scaleSummaries.pointer))
    return TypedPlan(column, scan, trimmed: trimmed, effort: effort, histogram: &histogram)
  }

  /// The largest factor by which compression is assumed to make strings smaller.
  ///
  /// Numbers never become smaller as text: digits take more than three bits each.
  private func compressionRatio(_ choice: Choice) -> Int {
    if case .packedText = choice, effort == .thorough { return 4 }
    return 1
  }

  /// Compares the chosen encoding with a dictionary, and with compressed strings.
  private mutating func chooseStrings(
    _ column: GatheredColumn, _ distinct: DictionaryBuilder.Result?, _ choice: inout Choice,
    _ size: inout Int
  ) {
    let ratio = compressionRatio(choice)
    var plan: DictionaryPlan?
    if let distinct {
      plan = DictionaryPlan(column, distinct, effort: effort, room: &codedRoom)
    }
    // Whichever of dictionary and plain text is smaller uncompressed is assumed to be smaller compressed,
    // too.
    let usesDictionary = plan.map { $0.size < PackedTextEncoding.size(column) } ?? false
    guard let plan, usesDictionary else {
      return chooseText(column, ratio: ratio, &choice, &size)
    }
    guard chooseEntries(column, plan, ratio: ratio, &choice, &size) else { return }
    // Entries are never exceptions, but rows are: as text, a few unusual ones do not prevent the digits of
    // all others.
    chooseText(column, ratio: 4, &choice, &size)
    if case .dictionary(_, areCompressed: true) = choice {
      _ = compress(column, plan.dictionary.strings, mostExceptions: 0, { plan.span($0) })
    }
  }

  /// - Returns: true when the entries have a pattern of digits but are not stored by it.
  private mutating func chooseEntries(
    _ column: GatheredColumn, _ plan: DictionaryPlan, ratio: Int, _ choice: inout Choice,
    _ size: inout Int
  ) -> Bool {
    if plan.size < size {
      choice = .dictionary(plan, areCompressed: false)
      size = plan.size
    }
    let strings = plan.dictionary.strings
    guard plan.indexSize < size, strings.total / ratio < size else { return false }
    if compress(column, strings, mostExceptions: 0, { plan.span($0) }) {
      let bytes = plan.indexSize &+ compressed.size
      if bytes < size {
        choice = .dictionary(plan, areCompressed: true)
        size = bytes
      }
    }
    return compressed.areNearlyDigits
  }

  private mutating func chooseText(
    _ column: GatheredColumn, ratio: Int, _ choice: inout Choice, _ size: inout Int
  ) {
    let text = PackedTextEncoding.plan(column)
    let most = column.maximumExceptions
    guard text.total / ratio < size,
      compress(column, text, mostExceptions: most, { column.spans[$0] })
    else { return }
    let bytes = RowMarks.size(column, exceptions: compressed.exceptions) &+ compressed.size
    if bytes < size {
      choice = .packedText(areCompressed: true)
      size = bytes
    }
  }

  private mutating func compress(
    _ column: GatheredColumn, _ strings: PackedStringsPlan, mostExceptions: Int,
    _ span: (Int) -> TextSpan
  ) -> Bool {
    compressed.compress(
      column, strings, effort: effort, mostExceptions: mostExceptions, span: span)
  }

  private func writeConstant(
    _ column: GatheredColumn, into output: inout OutputBuffer
  ) -> Segment {
    let facts = constantFacts(column)
    var collector = StatisticsCollector(ColumnStatistics.kind(facts.observation.classes))
    if column.valueCount > 0 { _ = collector.add(column.spelling(0)) }
    ConstantEncoding.write(column, into: &output)
    return Segment(
      encoding: .constant, flags: [], statistics: collector.result, spellings: facts)
  }

  // MARK: What the spellings look like

  private func constantFacts(_ column: GatheredColumn) -> SpellingFacts {
    var facts = SpellingFacts(nullCount: column.nullCount)
    if column.valueCount > 0 {
      facts.observation.insert(SpellingClass.classify(column.spelling(0)), row: 0)
    }
    return facts
  }

  /// What the spellings look like; and all that a survey found, if one was needed.
  private func facts(
    _ column: GatheredColumn, _ scan: TypedScan?, _ distinct: DictionaryBuilder.Result?
  ) -> (SpellingFacts, SpellingSurvey?) {
    var facts = SpellingFacts(nullCount: column.nullCount)
    guard let scan else {
      let survey = survey(column, distinct)
      facts.observation = survey.observation
      return (facts, survey)
    }
    facts.observation = observe(column, scan)
    if scan.misfits == 0, case .dates(let style) = scan.kind { facts.dateStyle = style }
    return (facts, nil)
  }

  /// The classes of a column whose numbers were scanned.
  private func observe(_ column: GatheredColumn, _ scan: TypedScan) -> TypeObservation {
    var observation = TypeObservation()
    if scan.insertClassesOfScales(column, into: &observation) { return observation }
    for row in 0..<column.rowCount {
      let mark = scan.scales[row]
      if mark == TypedScan.null { continue }
      let type =
        mark == TypedScan.misfit
        ? SpellingClass.classify(column.spelling(row)) : scan.typeClass(row)
      if !observation.classes.contains(type) { observation.insert(type, row: row) }
    }
    return observation
  }

  /// The bounds of a column whose numbers were scanned.
  private func scanned(
    _ column: GatheredColumn, _ scan: TypedScan, _ distinct: DictionaryBuilder.Result?,
    _ classes: TypeSet
  ) -> ColumnStatistics {
    var collector = StatisticsCollector(ColumnStatistics.kind(classes))
    if scan.addNumbers(column, to: &collector) { return collector.result }
    if let distinct {
      for index in 0..<distinct.strings.count {
        _ = collector.add(column.spelling(distinct.entries[index].span))
      }
      return collector.result
    }
    for row in 0..<column.rowCount where !column.isNull(row) {
      if !scan.addNumber(row, column, to: &collector) {
        _ = collector.add(column.spelling(row))
      }
    }
    return collector.result
  }

  /// Reads each distinct spelling once when the distinct spellings are known.
  private func survey(
    _ column: GatheredColumn, _ distinct: DictionaryBuilder.Result?
  ) -> SpellingSurvey {
    var survey = SpellingSurvey()
    if let distinct {
      for index in 0..<distinct.strings.count {
        let entry = distinct.entries[index]
        survey.add(column.spelling(entry.span), row: Int(entry.firstRow))
      }
    } else {
      for row in 0..<column.rowCount where !column.isNull(row) {
        survey.add(column.spelling(row), row: row)
      }
    }
    return survey
  }
}

extension TypedScan {
  /// Notes the classes of all rows when the bounds of each scale prove that its numbers are of one class;
  /// otherwise returns false.
  fileprivate func insertClassesOfScales(
    _ column: GatheredColumn, into observation: inout TypeObservation
  ) -> Bool {
    guard misfits == 0 else { return false }
    if case .decimals = kind {
      for scale in 0...largestScale where scaleMask & (1 &<< UInt32(scale)) != 0 {
        let summary = summary(ofScale: scale, column)
        // Within these bounds the scale determines a decimal's class.
        guard max(summary.low.magnitude, summary.high.magnitude) < 1 << (scale == 0 ? 53 : 56)
        else { return false }
      }
    }
    var left = scaleMask
    var row = 0
    while left != 0, row < column.rowCount {
      let scale = scales[row]
      if scale != Self.null, left & (1 &<< UInt32(scale)) != 0 {
        observation.insert(typeClass(row), row: row)
        // One number with a fraction represents all scales above 0.
        left &= scale == 0 ? ~1 : 1
      }
      row &+= 1
    }
    return true
  }

  /// Adds the number of a row that is not null; false when it has none of the collector's kind.
  @inline(__always)
  fileprivate func addNumber(
    _ row: Int, _ column: GatheredColumn, to collector: inout StatisticsCollector
  ) -> Bool {
    if scales[row] == Self.misfit { return false }
    switch (kind, collector.kind) {
    case (.decimals, .doubles):
      let number = ScaledNumber(mantissa: numbers[row], scale: scales[row])
      collector.add(number, column.spelling(row))
    case (.decimals, .integers), (.dates(.iso), .days): collector.add(numbers[row])
    case (.dateTimes(let style), .moments): collector.add(numbers[row] &* style.unit)
    default: return false
    }
    return true
  }

  /// Adds the bounds of the column from its numbers; false when it has misfits.
  fileprivate func addNumbers(
    _ column: GatheredColumn, to collector: inout StatisticsCollector
  ) -> Bool {
    guard misfits == 0 else { return false }
    var unit: Int64 = 1
    if case .dateTimes(let style) = kind { unit = style.unit }
    switch collector.kind {
    case .none, .text: return false
    case .integers, .days, .moments:
      collector.add(low)
      collector.add(high)
      if unit != 1 { collector.scale(by: unit) }
      return true
    case .doubles:
      withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
        guard let base = room.baseAddress else { return }
        forEachBound(column) { number in
          let count = NumberSpelling.write(number, to: base)
          _ = collector.add(SpellingView(UnsafeRawBufferPointer(start: base, count: count)))
        }
      }
      return true
    }
  }

  /// Calls `body` with the lowest and the highest number of each scale. Numbers of one scale order like their
  /// mantissas, so the bounds of all are among them.
  ///
  /// - Precondition: no misfits.
  private func forEachBound(_ column: GatheredColumn, _ body: (ScaledNumber) -> Void) {
    for scale in 0...largestScale where scaleMask & (1 &<< UInt32(scale)) != 0 {
      let summary = summary(ofScale: scale, column)
      body(ScaledNumber(mantissa: summary.low, scale: scale))
      body(ScaledNumber(mantissa: summary.high, scale: scale))
    }
  }
}
