import Engine

/// Finds from a sample how amounts of money and shares are spelled.
///
/// All amounts of a column have one currency, or all are shares: otherwise their numbers cannot be compared.
/// Some may lack the currency, such as `0` among `$4.99`.
enum AmountFinder {
  /// The parts of a field.
  fileprivate struct Parts {
    /// Empty when there is none.
    var symbol: [UInt8] = []
    var isBehind = false
    var hasBlank = false
    var separators: Set<UInt8> = []
    /// Whether exactly three digits follow each comma, and each point.
    var hasThousands = true

    /// The pattern for amounts with the same form.
    func example(_ number: String) -> String {
      let symbol = String(decoding: symbol, as: UTF8.self)
      let blank = hasBlank ? " " : ""
      return isBehind ? number + blank + symbol : symbol + blank + number
    }
  }

  private static let longestField = 64
  private static let percent: [UInt8] = [0x25]

  /// The notations that fit all fields; none when they are not amounts. When `1.234` or `1,234` has two
  /// possible meanings, both are included.
  ///
  /// - Parameters:
  ///   - told: how numbers are spelled, if the user said so.
  ///   - hasNoThousands: whether the user said that nothing stands between thousands.
  static func candidates(
    _ fields: [[UInt8]], told: NumberStyle? = nil, hasNoThousands: Bool = false
  ) -> [ReadingCandidate] {
    var shape: Parts?
    var separators: Set<UInt8> = []
    var hasThousands = true
    for field in fields {
      guard let parts = parts(field) else { return [] }
      if !parts.symbol.isEmpty { shape = shape ?? parts }
      separators.formUnion(parts.separators)
      hasThousands = hasThousands && parts.hasThousands
    }
    guard let shape else { return [] }
    let styles = styles(shape.symbol, separators, hasThousands: hasThousands, told)
    let found = styles.compactMap { (meaning, style) -> ReadingCandidate? in
      let style =
        hasNoThousands ? NumberStyle(decimal: style.decimal, thousands: nil) : style
      let notation = try? Notation(.decimal, [shape.example(style.example)])
      return notation.map { ReadingCandidate($0, meaning: meaning) }
    }
    // This also excludes columns in which another currency occurs.
    return found.filter { NotationFinder.fit([$0], fields) }
  }

  /// The notation of a column that was declared to have decimals: that of the fields that are amounts, with
  /// the most frequent currency. Nil when they need none, or have several possible meanings.
  static func likely(
    _ fields: [[UInt8]], told: NumberStyle?, hasNoThousands: Bool = false
  ) -> Notation? {
    let amounts = fields.map(\.withoutBlanks).compactMap { field in
      parts(field).map { (field: field, symbol: $0.symbol) }
    }
    let counts = Dictionary(grouping: amounts.map(\.symbol)) { $0 }.mapValues(\.count)
    let most = amounts.map(\.symbol).filter { !$0.isEmpty }.max {
      counts[$0, default: 0] < counts[$1, default: 0]
    }
    let found = candidates(
      amounts.filter { $0.symbol.isEmpty || $0.symbol == most }.map(\.field), told: told,
      hasNoThousands: hasNoThousands)
    guard let first = found.first, found.allSatisfy({ $0.meaning == first.meaning }) else {
      return nil
    }
    return first.reading.notation
  }

  /// The possible spellings of numbers with these separators, by their meanings.
  private static func styles(
    _ symbol: [UInt8], _ separators: Set<UInt8>, hasThousands: Bool, _ told: NumberStyle?
  ) -> [(meaning: Int, style: NumberStyle)] {
    let (comma, point): (UInt8, UInt8) = (0x2C, 0x2E)
    let others = separators.subtracting([comma, point])
    guard others.count <= 1 else { return [] }
    // Commas separate thousands, or points do in the other case, unless another character does.
    let byPoint = (0, NumberStyle(decimal: .point, thousands: others.first ?? comma))
    let byComma = (1, NumberStyle(decimal: .comma, thousands: others.first ?? point))
    if let told {
      return [byPoint, byComma].filter {
        $0.1.decimal == told.decimal && (told.thousands ?? $0.1.thousands) == $0.1.thousands
      }
    }
    if separators.isDisjoint(with: [comma, point]) { return [byPoint] }
    if symbol == percent, !separators.contains(comma) { return [byPoint] }
    if !separators.contains(point), hasThousands, others.isEmpty,
      Currency.withCommas.contains(symbol)
    {
      return [byPoint]
    }
    return [byPoint, byComma]
  }

  /// Nil when a field is not a number, with or without a currency or a percent sign.
  private static func parts(_ field: [UInt8]) -> Parts? {
    guard field.count <= longestField else { return nil }
    var rest = field[...]
    var parts = Parts()
    if rest.first == 0x28, rest.last == 0x29 { rest = rest.dropFirst().dropLast() }
    rest.dropSign()
    if let currency = Currency.beginning(rest) {
      parts.symbol = currency
      rest = rest.dropFirst(currency.count)
      parts.hasBlank = rest.dropBlanks()
      rest.dropSign()
    } else if let symbol = rest.last == percent[0] ? percent : Currency.ending(rest) {
      (parts.symbol, parts.isBehind) = (symbol, true)
      rest = rest.dropLast(symbol.count)
      parts.hasBlank = rest.dropLastBlanks()
    }
    guard parts.takeNumber(rest) else { return nil }
    return parts
  }
}

extension AmountFinder.Parts {
  /// Parses digits and the separators between them; returns false when there is anything else.
  fileprivate mutating func takeNumber(_ number: ArraySlice<UInt8>) -> Bool {
    var (digits, total) = (0, 0)
    var isBehindMark = false
    var index = number.startIndex
    while index < number.endIndex {
      let byte = number[index]
      let blank = number[index...].blankAtStart
      if byte &- 0x30 < 10 {
        (digits, total) = (digits + 1, total + 1)
        index += 1
        continue
      }
      guard blank > 0 || byte == 0x2C || byte == 0x2E || byte == 0x27 else { return false }
      if isBehindMark, digits != 3 { hasThousands = false }
      separators.insert(blank > 0 ? 0x20 : byte)
      isBehindMark = byte == 0x2C || byte == 0x2E
      digits = 0
      index += max(blank, 1)
    }
    if isBehindMark, digits != 3 { hasThousands = false }
    return total > 0
  }
}

extension ArraySlice<UInt8> {
  fileprivate mutating func dropSign() {
    if first == 0x2B || first == 0x2D {
      self = dropFirst()
    } else if starts(with: [0xE2, 0x88, 0x92]) {
      self = dropFirst(3)
    }
    _ = dropBlanks()
  }

  /// The length in bytes of a blank at the beginning of the slice; U+00A0 and U+202F are blanks too.
  fileprivate var blankAtStart: Int {
    if first == 0x20 { return 1 }
    if starts(with: [0xC2, 0xA0]) { return 2 }
    return starts(with: [0xE2, 0x80, 0xAF]) ? 3 : 0
  }

  /// Returns true when there were any.
  fileprivate mutating func dropBlanks() -> Bool {
    let before = count
    while blankAtStart > 0 { self = dropFirst(blankAtStart) }
    return count < before
  }

  fileprivate mutating func dropLastBlanks() -> Bool {
    let before = count
    while let blank = [1, 2, 3].first(where: { suffix($0).blankAtStart == $0 }) {
      self = dropLast(blank)
    }
    return count < before
  }
}
