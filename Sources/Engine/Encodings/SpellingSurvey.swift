/// The classes of spellings, and the bounds of their values, found in one pass.
///
/// Which bounds a column has depends on the classes of all its spellings, so those of each kind are collected
/// side by side. `StatisticsCollector`, which knows the kind, gives the same bounds.
struct SpellingSurvey {
  private(set) var observation = TypeObservation()
  private var lowPrefix = UInt64.max
  private var highPrefix = UInt64.min
  private var integers = Bounds()
  private var days = Bounds()
  private var moments = Bounds()
  private var numbers = NumberBounds()

  private struct Bounds {
    var low = Int64.max
    var high = Int64.min

    @inline(__always)
    mutating func add(_ value: Int64) {
      low = min(low, value)
      high = max(high, value)
    }
  }

  /// - Parameter row: the row of the column that has the spelling.
  @inline(__always)
  mutating func add(_ spelling: SpellingView, row: Int) {
    let prefix = spelling.orderedPrefix
    lowPrefix = min(lowPrefix, prefix)
    highPrefix = max(highPrefix, prefix)
    let beginsLikeNumber = spelling.count > 0 && SpellingClass.mayBeginNumber(spelling[0])
    let type =
      beginsLikeNumber ? readNumberOrDate(spelling) : SpellingClass.classify(spelling)
    if !observation.classes.contains(type) { observation.insert(type, row: row) }
    // Numbers and dates behind blanks, and numbers in words.
    if !beginsLikeNumber, type != .text, type != .bool { addAgain(spelling, type) }
  }

  /// Adds the value of a spelling that begins like a number, and returns its class.
  @inline(never)
  private mutating func readNumberOrDate(_ spelling: SpellingView) -> TypeSet {
    let number = NumberSpelling.parseCanonical(spelling)
    if !number.isMisfit {
      if number.scale == 0 {
        integers.add(number.mantissa)
      } else {
        numbers.add(number) { NumberSpelling.parseDouble(spelling) }
      }
      return number.typeClass
    }
    var value = SpellingClass.Value.unread
    var type = SpellingClass.classifyNumberOrDate(spelling, &value)
    switch value {
    case .number(let parts): add(parts, spelling)
    case .days(let number): days.add(number)
    case .moment(let number): moments.add(number)
    case .unread:
      // Such as `50.`, or a number with a blank behind it.
      if spelling.hasBlanksAround { type = SpellingClass.classify(spelling) }
      addAgain(spelling, type)
    }
    return type
  }

  private mutating func add(_ parts: NumberSpelling.Parts, _ spelling: SpellingView) {
    if let int = parts.int { return integers.add(int) }
    let approximation =
      parts.significantDigits <= 19
      ? NumberSpelling.approximateDouble(parts.mantissa, exponent: parts.exponent) : nil
    numbers.add(
      approximate: approximation.map { parts.isNegative ? -$0 : $0 },
      exact: { NumberSpelling.double(parts, spelling) })
  }

  /// Reads the value of a spelling whose class was found without it.
  @inline(never)
  private mutating func addAgain(_ spelling: SpellingView, _ type: TypeSet) {
    switch type {
    case .int, .bigInt: if let value = PlainSpelling.int(spelling) { integers.add(value) }
    case .double, .longDecimal:
      if let value = PlainSpelling.double(spelling) { numbers.add(value) }
    case .date: if let value = PlainSpelling.date(spelling) { days.add(value) }
    case .dateTime:
      if let value = PlainSpelling.dateTime(spelling) {
        moments.add(value.microsecondsSince1970)
      }
    default: break
    }
  }

  /// The bounds of all spellings.
  var statistics: ColumnStatistics {
    let kind = ColumnStatistics.kind(observation.classes)
    switch kind {
    case .none: return .none
    case .text: return ColumnStatistics(kind: kind, minimum: lowPrefix, maximum: highPrefix)
    case .integers: return Self.statistics(kind, integers)
    case .days: return Self.statistics(kind, days)
    case .moments:
      var all = moments
      if days.low <= days.high {
        // Within the range of the calendar, nothing overflows.
        all.add(days.low &* DateTime.microsecondsPerDay)
        all.add(days.high &* DateTime.microsecondsPerDay)
      }
      return Self.statistics(kind, all)
    case .doubles:
      var all = numbers
      if integers.low <= integers.high {
        all.add(Double(integers.low))
        all.add(Double(integers.high))
      }
      return ColumnStatistics(all)
    }
  }

  private static func statistics(
    _ kind: ColumnStatistics.Kind, _ bounds: Bounds
  ) -> ColumnStatistics {
    bounds.low <= bounds.high
      ? ColumnStatistics(kind: kind, integers: bounds.low...bounds.high) : .none
  }
}
