/// How a column's values are spelled where `Value.init(spelling:type:)` does not read them: `August 3, 2018`,
/// `1.234,5`, `yes`.
///
/// A database keeps spellings, so that imported text comes back unchanged; the notation, which is part of the
/// column, says what they mean. Patterns are
/// - for dates and date-times, those of `strptime`: `%B %d, %Y`, `%d/%m/%Y %H:%M`; the first that fits a
///   spelling counts, and the canonical spelling is always read; for times of day, those without a date;
/// - for ints and doubles, one example of a number: `1.234,5` has a decimal comma and points between
///   thousands, `1,5` has no separators, `1,234` is for ints;
/// - for decimals, one example of an amount, `$1,234.5` or `1.234,5 €`, or of a share, `1.5%`, which is a
///   hundredth of its number; `1.234,5` is neither;
/// - for bools, two words: `yes/no`, in lower, Title or UPPER case; `true` and `false` are always read.
///
/// Thread rule: immutable, `Sendable`.
public final class Notation: Sendable {
  /// The column's type.
  public let type: ColumnType
  /// The patterns as they were given.
  public let patterns: [String]

  private let kind: Kind
  /// What the first pattern of dates reads, or most of it.
  private let fixed: FixedDatePattern?
  /// A bit for each `DateStyle` that the notation reads as the day it means.
  private let styles: UInt16

  private enum Kind: Sendable {
    case dates([DatePattern])
    case numbers(NumberPattern)
    case amounts(AmountPattern)
    case words([BoolWords])
  }

  package static let maximumPatterns = 64

  /// - Parameters:
  ///   - type: int, double, decimal, bool, date, dateTime or time.
  ///   - patterns: at least one.
  /// - Throws: `EngineError.invalidArgument` when the patterns do not fit the type, or would read a canonical
  ///   spelling as another value.
  public init(_ type: ColumnType, _ patterns: [String]) throws(EngineError) {
    func invalid(_ reason: String) -> EngineError { .invalidArgument(reason) }
    guard !patterns.isEmpty, patterns.count <= Self.maximumPatterns else {
      throw invalid("a notation has from 1 to \(Self.maximumPatterns) patterns")
    }
    self.type = type
    self.patterns = patterns
    switch type {
    case .date, .dateTime, .time:
      var parsed: [DatePattern] = []
      for text in patterns {
        do throws(DatePattern.Problem) {
          parsed.append(try DatePattern(text, type == .time ? .time : .date))
        } catch {
          throw invalid("the date format '\(text)' cannot be used: \(error.reason)")
        }
        if type == .date, parsed.last?.hasTime == true {
          throw invalid("the date format '\(text)' has a time: it is for datetime, not date")
        }
      }
      kind = .dates(parsed)
      fixed = parsed.first?.fixed
      styles = DateStyle.allCases.reduce(0) {
        Self.reads($1, parsed) ? $0 | 1 << UInt16($1.rawValue) : $0
      }
      guard Self.agreesWithISO(parsed) else {
        throw invalid(
          "the date format '\(patterns.joined(separator: "', '"))' reads 2018-08-03 as another day "
            + "than ISO 8601 does")
      }
    case .int, .double:
      guard patterns.count == 1, let pattern = NumberPattern(patterns[0], type) else {
        throw invalid(
          "'\(patterns[0])' is no example of \(type.article): write 1,5 or 1.234,5 or 1,234.5 for "
            + "doubles, 1,234 or 1.234 for ints")
      }
      kind = .numbers(pattern)
      fixed = nil
      styles = 0
    case .bool:
      var words: [BoolWords] = []
      for text in patterns {
        guard let pair = BoolWords(text) else {
          throw invalid("'\(text)' is no pair of different words such as yes/no")
        }
        words.append(pair)
      }
      kind = .words(words)
      fixed = nil
      styles = 0
    case .decimal:
      guard patterns.count == 1, let pattern = AmountPattern(patterns[0]) else {
        throw invalid(
          "'\(patterns[0])' is no example of a decimal: write 1.234,5, or with a currency or a percent "
            + "sign $1,234.5 or 1,5 €")
      }
      kind = .amounts(pattern)
      fixed = nil
      styles = 0
    case .text, .data, .uuid:
      throw invalid("\(type.article) column has no notation: it is as it is spelled")
    }
  }

  /// A day whose parts in any other order give another day, and a day of another century.
  private static let probes = [CalendarDate(clamping: 17_746), CalendarDate(clamping: 10_950)]

  private static func reads(_ style: DateStyle, _ patterns: [DatePattern]) -> Bool {
    probes.allSatisfy { probe in
      withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
        guard let base = room.baseAddress else { return false }
        let count = style.write(probe, to: base)
        let view = SpellingView(UnsafeRawBufferPointer(start: base, count: count))
        return day(view, patterns) == Int64(probe.daysSince1970)
      }
    }
  }

  private static func agreesWithISO(_ patterns: [DatePattern]) -> Bool {
    let texts = [
      "2018-08-03", "2018-08-03T04:05:06Z", "2018-08-03 04:05:06", "2018-08-03T04:05", "04:05:06",
      "04:05",
    ]
    return texts.allSatisfy { text in
      var text = text
      return text.withUTF8 { bytes in
        let view = SpellingView(UnsafeRawBufferPointer(bytes))
        guard let found = moment(view, patterns) else { return true }
        let day = DateSpelling.parseDate(view).map { Int64($0) &* DateTime.microsecondsPerDay }
        return found == day ?? DateSpelling.parseDateTime(view)?.microseconds
          ?? TimeOfDay.parse(view)
      }
    }
  }

  // MARK: Reading

  /// What the notation reads in most rows; nil if each of them has to be read.
  package var usual: UsualSpellings? {
    if let fixed { return UsualSpellings(kind: .dates(fixed)) }
    guard case .numbers(let pattern) = kind else { return nil }
    return UsualSpellings(kind: .numbers(pattern, type))
  }

  private static func moment(_ spelling: SpellingView, _ patterns: [DatePattern]) -> Int64? {
    for pattern in patterns { if let found = pattern.parse(spelling) { return found } }
    return nil
  }

  private static func day(_ spelling: SpellingView, _ patterns: [DatePattern]) -> Int64? {
    if let moment = moment(spelling, patterns) {
      return day(moment)
    }
    return DateSpelling.parseDate(spelling).map(Int64.init)
  }

  /// The day of a moment.
  private static func day(_ moment: Int64) -> Int64 {
    let (days, rest) = moment.quotientAndRemainder(dividingBy: DateTime.microsecondsPerDay)
    return rest < 0 ? days &- 1 : days
  }

  /// True when a cluster's dates in that style are read as the days that are stored.
  func reads(_ style: DateStyle) -> Bool {
    type == .date && styles & 1 << UInt16(style.rawValue) != 0
  }

  /// The number that represents a value in comparisons, for types other than double.
  func integer(_ spelling: SpellingView) -> Int64? { PlainSpelling.read(spelling, bareInteger) }

  private func bareInteger(_ spelling: SpellingView) -> Int64? {
    // Not through the array of patterns, which would be retained for every spelling.
    if let moment = fixed?.parse(spelling) { return type == .date ? Self.day(moment) : moment }
    switch kind {
    case .dates(let patterns):
      if type == .date { return Self.day(spelling, patterns) }
      if type == .time { return Self.moment(spelling, patterns) ?? TimeOfDay.parse(spelling) }
      return Self.moment(spelling, patterns)
        ?? PlainSpelling.dateTime(spelling)?.microsecondsSince1970
    case .numbers(let pattern):
      guard type == .int else { return nil }
      if let number = pattern.canonical(spelling), number.scale == 0 { return number.mantissa }
      return pattern.withPlain(spelling, NumberSpelling.parseInt)
    case .amounts: return nil
    case .words(let pairs):
      if let bool = SpellingClass.parseBool(spelling) { return bool ? 1 : 0 }
      for pair in pairs { if let bool = pair.value(spelling) { return bool ? 1 : 0 } }
      return nil
    }
  }

  func double(_ spelling: SpellingView) -> Double? {
    guard case .numbers(let pattern) = kind, type == .double else { return nil }
    if let number = pattern.canonical(spelling),
      let value = NumberSpelling.nearestDouble(
        number.mantissa.magnitude, exponent: 0 &- Int(number.scale))
    {
      return number.mantissa < 0 ? -value : value
    }
    return PlainSpelling.read(spelling) { bare in
      pattern.withPlain(bare, NumberSpelling.parseDouble) ?? NumberSpelling.special(bare)
    }
  }

  func decimal(_ spelling: SpellingView) -> ExactDecimal? {
    guard case .amounts(let pattern) = kind else { return nil }
    return PlainSpelling.read(spelling, pattern.parse)
  }

  /// Calls `use` with a number of the notation in plain spelling; nil when the text is not one.
  func withPlainNumber<Result>(
    _ spelling: SpellingView, _ use: (SpellingView) -> Result?
  ) -> Result? {
    guard case .numbers(let pattern) = kind else { return nil }
    return PlainSpelling.read(spelling) { bare in
      NumberSpelling.special(bare) == nil ? pattern.withPlain(bare, use) : use(bare)
    }
  }

  func value(_ spelling: SpellingView) -> Value? {
    if type == .decimal { return decimal(spelling).map { .decimal($0) } }
    if type == .double { return double(spelling).map { .double($0) } }
    return integer(spelling).map { Value(number: $0, type) }
  }

  // MARK: Writing

  /// What the column keeps for a value: the value itself, or a text that is read as the value when the
  /// canonical spelling would be read as another one.
  package func stored(_ value: Value) -> Value {
    if case .amounts(let pattern) = kind, case .decimal(let decimal) = value {
      return .text(String(decoding: pattern.spelling(of: decimal), as: UTF8.self))
    }
    guard case .numbers(let pattern) = kind else { return value }
    switch value {
    case .double:
      let bytes = value.spelling.map { $0 == 0x2E ? pattern.decimal : $0 }
      return .text(String(decoding: bytes, as: UTF8.self))
    default: return value
    }
  }
}

extension Notation: Hashable, CustomStringConvertible {
  /// True for the same patterns of the same type.
  public static func == (left: Notation, right: Notation) -> Bool {
    left === right || (left.type == right.type && left.patterns == right.patterns)
  }

  /// Hashes what `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(type)
    hasher.combine(patterns)
  }

  /// The first patterns, and the number of others.
  package var summary: String {
    let more = patterns.count - 3
    return patterns.prefix(3).joined(separator: " or ") + (more > 0 ? " or \(more) more" : "")
  }

  /// The patterns, for people.
  public var description: String { patterns.joined(separator: " or ") }
}

/// Two words, for true and false.
private struct BoolWords: Sendable {
  private let (yes, no): ([UInt8], [UInt8])

  /// - Parameter text: `yes/no`, in lower case.
  init?(_ text: String) {
    let words = text.lowercased().utf8.split(separator: 0x2F, omittingEmptySubsequences: false)
    guard words.count == 2, !words[0].elementsEqual(words[1]), !words[0].isEmpty, !words[1].isEmpty,
      words.allSatisfy({ $0.count <= 32 })
    else { return nil }
    (yes, no) = (Array(words[0]), Array(words[1]))
  }

  func value(_ spelling: SpellingView) -> Bool? {
    if Self.isWord(yes, spelling) { return true }
    return Self.isWord(no, spelling) ? false : nil
  }

  /// In lower, Title or UPPER case.
  private static func isWord(_ word: [UInt8], _ spelling: SpellingView) -> Bool {
    guard word.count == spelling.count else { return false }
    func isUpper(_ index: Int) -> Bool { spelling[index] != word[index] }
    for index in word.indices where isUpper(index) {
      guard word[index] &- 0x61 < 26, spelling[index] == word[index] & ~0x20 else { return false }
      // An upper-case letter comes first, or follows only upper-case letters.
      if index > 0, !isUpper(0) || (index > 1 && !isUpper(1)) { return false }
    }
    if word.count > 2, isUpper(0), isUpper(1) {
      return word.indices.allSatisfy { isUpper($0) || word[$0] &- 0x61 >= 26 }
    }
    return true
  }
}
