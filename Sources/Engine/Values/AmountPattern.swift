/// The spelling of amounts and shares: numbers with a currency or a percent sign beside them.
///
/// A pattern is an example: `$1,234.5`, `1.234,5 €`, `USD 1.5`, `1.5%`; `1.234,5` is a number without either.
/// A spelling may have the currency on either side of its number, with or without a blank between them, or
/// leave it out. A minus or plus comes first, or between the two; parentheses around everything also mean a
/// minus. A share is a hundredth of its number; only 0 may lack the percent sign.
struct AmountPattern: Sendable, Hashable {
  /// Empty when there is none.
  let symbol: [UInt8]
  let numbers: NumberPattern

  private static let percent: [UInt8] = [0x25]
  private static let longestSymbol = 16

  var isPercent: Bool { symbol == Self.percent }

  init?(symbol: [UInt8], numbers: NumberPattern) {
    // True for bytes that could be taken for a part of the number.
    let isForeign = { (byte: UInt8) in
      byte &- 0x30 < 10 || byte < 0x21 || byte == 0x7F || "+-(),'_".utf8.contains(byte)
    }
    guard symbol.count <= Self.longestSymbol, !symbol.contains(where: isForeign),
      symbol.first != 0x2E
    else { return nil }
    self.symbol = symbol
    self.numbers = numbers
  }

  /// Nil when the text is not such an example.
  init?(_ text: String) {
    let bytes = Array(text.utf8)
    guard let start = bytes.firstIndex(of: 0x31) else { return nil }
    var end = start + 1
    if bytes.count >= end + 4, bytes[(end + 1)..<(end + 4)].elementsEqual("234".utf8) { end += 4 }
    guard bytes.count >= end + 2, bytes[end + 1] == 0x35 else { return nil }
    end += 2
    let sides = [bytes[..<start], bytes[end...]].map { side in
      Array(side.first == 0x20 ? side.dropFirst() : side.last == 0x20 ? side.dropLast() : side)
    }
    guard sides[0].isEmpty || sides[1].isEmpty,
      let numbers = NumberPattern(String(decoding: bytes[start..<end], as: UTF8.self), .double)
    else { return nil }
    self.init(symbol: sides[0] + sides[1], numbers: numbers)
    if isPercent, sides[1].isEmpty { return nil }
  }

  /// The number of a spelling; nil when the spelling does not fit.
  ///
  /// - Complexity: O(n) in its length.
  func parse(_ spelling: SpellingView) -> ExactDecimal? {
    var rest = Rest(spelling)
    var isNegative = rest.takeParentheses()
    var hasSign = isNegative
    func takeSign() {
      if hasSign { return }
      if let isMinus = rest.takeSign() {
        (hasSign, isNegative) = (true, isMinus)
        rest.dropBlanks()
      }
    }
    takeSign()
    var hasSymbol = symbol.isEmpty
    if !hasSymbol, !isPercent, rest.take(symbol) {
      hasSymbol = true
      rest.dropBlanks()
      takeSign()
    } else if !hasSymbol, rest.takeLast(symbol) {
      hasSymbol = true
      rest.dropLastBlanks()
    }
    let digits = rest.view
    guard digits.count > 0, digits[0] != 0x2B, digits[0] != 0x2D,
      let number = numbers.withPlain(
        digits, { ExactDecimal.parse($0, shift: isPercent ? -2 : 0) })
    else { return nil }
    if isPercent, !hasSymbol, number != .zero { return nil }
    return isNegative ? number.negated : number
  }

  /// A spelling that a column of this notation reads as the number.
  func spelling(of number: ExactDecimal) -> [UInt8] {
    var number = number
    var exponent = ""
    if isPercent {
      if let larger = ExactDecimal(coefficient: number.coefficient, scale: number.scale - 2) {
        number = larger
      } else {
        exponent = "e2"
      }
    }
    let digits = number.description.utf8.map { $0 == 0x2E ? numbers.decimal : $0 }
    return digits + Array(exponent.utf8) + (isPercent ? Self.percent : [])
  }
}

extension ExactDecimal {
  fileprivate var negated: ExactDecimal {
    ExactDecimal(coefficient: 0 - coefficient, scale: scale) ?? self
  }
}

/// The rest of a spelling between its first and last bytes.
private struct Rest {
  private let spelling: SpellingView
  private var (start, end): (Int, Int)

  init(_ spelling: SpellingView) {
    self.spelling = spelling
    (start, end) = (0, spelling.count)
  }

  var view: SpellingView { spelling.part(start..<end) }

  mutating func take(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= end - start,
      bytes.indices.allSatisfy({ spelling[start + $0] == bytes[$0] })
    else { return false }
    start += bytes.count
    return true
  }

  mutating func takeLast(_ bytes: [UInt8]) -> Bool {
    guard bytes.count <= end - start,
      bytes.indices.allSatisfy({ spelling[end - bytes.count + $0] == bytes[$0] })
    else { return false }
    end -= bytes.count
    return true
  }

  mutating func takeParentheses() -> Bool {
    guard end - start > 2, spelling[start] == 0x28, spelling[end - 1] == 0x29 else { return false }
    (start, end) = (start + 1, end - 1)
    return true
  }

  /// Removes a sign: true for a minus, false for a plus; nil when there is neither.
  mutating func takeSign() -> Bool? {
    guard start < end else { return nil }
    let first = spelling[start]
    if first == 0x2B || first == 0x2D {
      start += 1
      return first == 0x2D
    }
    return first == Self.minus[0] && take(Self.minus) ? true : nil
  }

  mutating func dropBlanks() {
    // Cheaper than comparing: every blank begins with one of these bytes.
    while start < end, [0x20, 0xC2, 0xE2].contains(spelling[start]),
      Self.blanks.contains(where: { take($0) })
    {}
  }

  mutating func dropLastBlanks() {
    while start < end, [0x20, 0xA0, 0xAF].contains(spelling[end - 1]),
      Self.blanks.contains(where: { takeLast($0) })
    {}
  }

  /// U+2212.
  private static let minus: [UInt8] = [0xE2, 0x88, 0x92]
  /// A blank, U+00A0 and U+202F.
  private static let blanks: [[UInt8]] = [[0x20], [0xC2, 0xA0], [0xE2, 0x80, 0xAF]]
}
