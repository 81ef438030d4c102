import Engine

/// A table of one column whose values contain characters that elsewhere separate fields: `1.234,56 €`,
/// `12,5%`, `August 3, 2018`, `2018-08-03 12:30`.
///
/// Each whole line is then a value, and by the rules of types all of them have one type. Two columns may look
/// the same: `1,5` may be a 1 and a 5. The signs of one column are a currency, a month, lines with different
/// numbers of fields, or a header of one name.
struct LoneColumn {
  /// True when there is no other sensible reading; otherwise there may be several columns.
  let isCertain: Bool
  /// The first line with such a value.
  let example: String
  /// The delimiter that would separate fields.
  let delimiter: [UInt8]

  private static let comma: UInt8 = 0x2C
  private static let blank: UInt8 = 0x20
  /// More lines show nothing new.
  private static let sampleLines = 200
  private static let longestValue = 48
  private static let longestName = 64

  /// A delimiter that does not occur in the sample, for a table of one column.
  static func unused(_ sample: [UInt8]) -> [UInt8]? {
    [[0x09], [0x3B], [0x7C], [0x1F]].first { !sample.contains($0[0]) }
  }

  /// Nil when the lines are not such values.
  ///
  /// - Parameters:
  ///   - sample: the input's beginning as UTF-8.
  ///   - isWhole: whether it is the whole input; otherwise its last line may be truncated.
  ///   - delimiter: the delimiter that explains the sample best.
  ///   - mayHaveName: false if the user says that there is no header.
  /// - Complexity: O(1) for most tables, since a longer line ends it.
  init?(_ sample: [UInt8], isWhole: Bool, delimiter: ShortPattern, mayHaveName: Bool = true) {
    let bytes = delimiter.bytes
    guard let mark = bytes.first, mark == Self.comma || bytes == [Self.blank],
      var lines = Self.lines(sample, isWhole: isWhole), let first = lines.first
    else { return nil }
    let hasHead = !CellShape(first).isTyped
    if hasHead {
      guard mayHaveName, !first.contains(mark), first.contains(where: { $0 != Self.blank }) else {
        return nil
      }
      lines.removeFirst()
    }
    // A blank line follows a title rather than a name.
    let isName = lines.first?.isEmpty == false && Self.isWord(first)
    lines.removeAll { $0.isEmpty || (!$0.contains(mark) && CellShape($0).isBlank) }
    guard let example = lines.first(where: { $0.contains(mark) }),
      lines.allSatisfy({ CellShape($0).isTyped }),
      let kind = Kind(lines, blanks: mark == Self.blank)
    else { return nil }
    let values = Values(lines: lines, kind: kind)
    let verdict: Bool?
    if mark == Self.blank || kind == .date || values.isRagged {
      verdict = true
    } else if hasHead {
      verdict = kind != .number || values.showsFraction || isName
    } else if kind == .money {
      verdict = values.haveUsualCommas
    } else {
      verdict = values.hasLeadingZeros || values.hasBothMarks || kind == .share ? false : nil
    }
    guard let verdict else { return nil }
    isCertain = verdict
    self.example = String(decoding: example, as: UTF8.self)
    self.delimiter = bytes
  }

  /// A note for people.
  func note(isTaken: Bool, unused: [UInt8]) -> String {
    let shown = String(decoding: delimiter, as: UTF8.self)
    return isTaken
      ? "each line is one value, such as '\(example)', and was not divided; --delimiter '\(shown)' "
        + "divides it"
      : "each line is one value as well, such as '\(example)': if there is only one column, use "
        + "--delimiter '\(unused == [0x09] ? "\\t" : String(decoding: unused, as: UTF8.self))'"
  }

  /// The lines of a sample without blanks and quotes around them, from the first that is not empty; nil when
  /// some are longer than values, or have quotes inside.
  private static func lines(_ sample: [UInt8], isWhole: Bool) -> [[UInt8]]? {
    var lines: [[UInt8]] = []
    var rest = sample[...]
    while lines.count < sampleLines, !rest.isEmpty {
      let most = lines.isEmpty ? longestName : longestValue
      let end = rest.prefix(most + 1).firstIndex { $0 == 0x0A || $0 == 0x0D }
      guard end != nil || rest.count <= most else { return nil }
      let raw = Array(rest[..<(end ?? rest.endIndex)])
      if end == nil, !isWhole { break }
      let isPair = end.map { rest[$0...].starts(with: [0x0D, 0x0A]) } ?? false
      rest = rest[(end.map { $0 + (isPair ? 2 : 1) } ?? rest.endIndex)...]
      var line = raw.withoutBlanks
      if line.count > 1, line.first == 0x22, line.last == 0x22 {
        line = Array(line.dropFirst().dropLast())
      }
      if line.contains(0x22) { return nil }
      if lines.isEmpty, line.first == UInt8(ascii: "#") { return nil }
      if !line.isEmpty || !lines.isEmpty { lines.append(line) }
    }
    return lines
  }

  /// Returns whether a header is one word, as titles of other tables seldom are.
  private static func isWord(_ name: [UInt8]) -> Bool {
    !name.contains { $0 == blank || ($0 >= 0x30 && $0 <= 0x39) }
  }

  private enum Kind {
    case number, money, share, date

    /// Nil when the lines as a column are text.
    init?(_ lines: [[UInt8]], blanks: Bool) {
      // Here no comma is a delimiter, so that it may be a decimal comma.
      let finder = NotationFinder(toldFormats: [], toldNumbers: nil, delimiter: 0x09)
      guard let type = finder.candidates(lines).first?.reading.type ?? Self.plain(lines) else {
        return nil
      }
      switch type {
      case .date, .dateTime:
        guard lines.allSatisfy(Self.isDivided) else { return nil }
        self = .date
      case .decimal:
        let isShare = lines.contains { $0.last == UInt8(ascii: "%") }
        let isPlain = lines.allSatisfy { CellShape($0) == .number }
        if isPlain { return nil }
        self = isShare ? .share : .money
      case .time where blanks: self = .date
      case .int, .double:
        if blanks { return nil }
        self = .number
      default: return nil
      }
    }

    private static func plain(_ lines: [[UInt8]]) -> ColumnType? {
      var classes: TypeSet = []
      for line in lines { classes.formUnion(line.withUnsafeBytes(TypeSet.of)) }
      return classes.inferredType == .dateTime ? .dateTime : nil
    }

    /// Returns whether a blank follows every comma, as after the day of a month.
    private static func isDivided(_ line: [UInt8]) -> Bool {
      line.indices.allSatisfy {
        line[$0] != comma || ($0 + 1 < line.count && line[$0 + 1] == blank)
      }
    }
  }

  /// The evidence of the commas in some numbers.
  private struct Values {
    /// True when the lines have different numbers of commas.
    let isRagged: Bool
    private(set) var hasLeadingZeros = false
    private(set) var hasBothMarks = false
    /// True when commas are where they are in amounts of the currency.
    private(set) var haveUsualCommas = true
    private var lengths: Set<Int> = []
    private var firstLengths: Set<Int> = []
    private let count: Int

    init(lines: [[UInt8]], kind: Kind) {
      isRagged = Set(lines.map { line in line.count { $0 == comma } }).count > 1
      count = lines.count
      for line in lines {
        let parts = line.split(separator: comma, omittingEmptySubsequences: false)
        if line.contains(0x2E), parts.count > 1 { hasBothMarks = true }
        if let first = parts.first { firstLengths.insert(Self.digits(first)) }
        for part in parts.dropFirst() {
          let digits = Self.digits(part)
          if digits > 1, part.first == 0x30 { hasLeadingZeros = true }
          lengths.insert(digits)
        }
        if kind == .money, !Self.hasUsualCommas(line, parts) { haveUsualCommas = false }
      }
    }

    /// True when the digits after the commas are fractions rather than separate numbers: also when their
    /// number is constant, at least two, after numbers of any length.
    var showsFraction: Bool {
      hasLeadingZeros || hasBothMarks
        || (count > 2 && lengths.count == 1 && lengths != [1] && firstLengths.count > 1)
    }

    private static func digits(_ part: ArraySlice<UInt8>) -> Int {
      part.prefix { $0 >= 0x30 && $0 <= 0x39 }.count
    }

    /// `$1,234` and `1,50 €`, but not `$5,3`.
    private static func hasUsualCommas(_ line: [UInt8], _ parts: [ArraySlice<UInt8>]) -> Bool {
      let digits = parts.dropFirst().map(Self.digits)
      if digits.allSatisfy({ $0 == 3 }) { return true }
      let symbol = Currency.beginning(line) ?? Currency.ending(line)
      return digits == [2] && !(symbol.map(Currency.withCommas.contains) ?? true)
    }
  }
}

extension CellShape {
  fileprivate init(_ bytes: [UInt8]) {
    self = bytes.withUnsafeBufferPointer { CellShape($0) }
  }
}
