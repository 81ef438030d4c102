/// Bounds of a column's values, for skipping clusters that cannot match.
///
/// The kind depends on what *all* spellings that are not null have in common, so a reader of that type may
/// trust the bounds for every row:
///
/// | kind | given when all spellings are | minimum and maximum |
/// |---|---|---|
/// | 0 none | (all null) | 0 |
/// | 1 integers | 64-bit integers | Int64 |
/// | 2 doubles | numbers, not all integers | Double bit patterns |
/// | 3 text | anything else | first 8 bytes, zeros behind, big-endian |
/// | 4 days | dates | Int64, since 1970 |
/// | 5 moments | date-times, not all dates | Int64, microseconds since 1970 UTC |
///
/// Text bounds are in the order of unsigned bytes: a spelling's own first 8 bytes lie between them.
package struct ColumnStatistics: Sendable, Equatable {
  package enum Kind: UInt8, Sendable {
    case none = 0
    case integers = 1
    case doubles = 2
    case text = 3
    case days = 4
    case moments = 5
  }

  package var kind: Kind
  /// The bits in the directory.
  package var minimum: UInt64
  package var maximum: UInt64

  package static let none = ColumnStatistics(kind: .none, minimum: 0, maximum: 0)

  init(kind: Kind, minimum: UInt64, maximum: UInt64) {
    self.kind = kind
    self.minimum = minimum
    self.maximum = maximum
  }

  init(kind: Kind, integers: ClosedRange<Int64>) {
    self.init(
      kind: kind, minimum: UInt64(bitPattern: integers.lowerBound),
      maximum: UInt64(bitPattern: integers.upperBound))
  }

  /// Numbers that are not all integers.
  init(_ numbers: NumberBounds) {
    self.init(
      kind: .doubles, minimum: numbers.low.bitPattern, maximum: numbers.high.bitPattern)
  }

  /// The kind for a column whose spellings have these classes.
  static func kind(_ classes: TypeSet) -> Kind {
    if classes.isEmpty { return .none }
    if classes.isSubset(of: [.int, .bigInt]) { return .integers }
    if classes.fits(.double) { return .doubles }
    if classes == .date { return .days }
    if classes.fits(.dateTime) { return .moments }
    return .text
  }

  /// The bounds of integers, days or moments; nil for other kinds or damaged ones.
  package var integers: ClosedRange<Int64>? {
    guard kind == .integers || kind == .days || kind == .moments else { return nil }
    let low = Int64(bitPattern: minimum)
    let high = Int64(bitPattern: maximum)
    return low <= high ? low...high : nil
  }

  /// The bounds of numbers, integers included; nil for other kinds or damaged ones.
  package var numbers: ClosedRange<Double>? {
    if kind == .integers, let integers {
      return Double(integers.lowerBound)...Double(integers.upperBound)
    }
    guard kind == .doubles else { return nil }
    let low = Double(bitPattern: minimum)
    let high = Double(bitPattern: maximum)
    return low <= high ? low...high : nil
  }

  /// The bounds of text prefixes, see above; nil for other kinds or damaged ones.
  package var textPrefixes: ClosedRange<UInt64>? {
    kind == .text && minimum <= maximum ? minimum...maximum : nil
  }
}

/// Collects bounds spelling by spelling.
struct StatisticsCollector {
  let kind: ColumnStatistics.Kind
  private var low = Int64.max
  private var high = Int64.min
  private var numbers = NumberBounds()
  private var lowPrefix = UInt64.max
  private var highPrefix = UInt64.min

  init(_ kind: ColumnStatistics.Kind) { self.kind = kind }

  /// Adds a spelling; false when it is not of the kind.
  @inline(__always)
  mutating func add(_ spelling: SpellingView) -> Bool {
    switch kind {
    case .none: return false
    case .text:
      let prefix = spelling.orderedPrefix
      lowPrefix = min(lowPrefix, prefix)
      highPrefix = max(highPrefix, prefix)
    case .integers:
      guard let int = PlainSpelling.int(spelling) else { return false }
      add(int)
    case .doubles:
      let number = NumberSpelling.parseCanonical(spelling)
      if !number.isMisfit {
        add(number, spelling)
        return true
      }
      guard let double = PlainSpelling.double(spelling) else { return false }
      numbers.add(double)
    case .days:
      guard let days = PlainSpelling.date(spelling) else { return false }
      add(days)
    case .moments:
      guard let moment = PlainSpelling.dateTime(spelling) else { return false }
      add(moment.microsecondsSince1970)
    }
    return true
  }

  @inline(__always)
  mutating func add(_ value: Int64) {
    low = min(low, value)
    high = max(high, value)
  }

  /// Adds a number that is spelled there.
  @inline(__always)
  mutating func add(_ number: ScaledNumber, _ spelling: SpellingView) {
    numbers.add(number) { NumberSpelling.parseDouble(spelling) }
  }

  /// Adds bounds of values that are stored elsewhere.
  mutating func add(_ bounds: ClosedRange<Int64>) {
    add(bounds.lowerBound)
    add(bounds.upperBound)
  }

  /// Multiplies the bounds so far by `unit`, in which they were counted.
  mutating func scale(by unit: Int64) {
    low = low &* unit
    high = high &* unit
  }

  var result: ColumnStatistics {
    switch kind {
    case .none: return .none
    case .text:
      return ColumnStatistics(kind: kind, minimum: lowPrefix, maximum: highPrefix)
    case .doubles:
      return ColumnStatistics(numbers)
    case .integers, .days, .moments:
      return low <= high ? ColumnStatistics(kind: kind, integers: low...high) : .none
    }
  }
}
