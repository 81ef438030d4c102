/// The pattern of a column's strings that have few symbols: the symbols, and the bytes that are the same at
/// one place of all strings. See `DigitTable`.
struct DigitPattern {
  /// Ascending, at most 16.
  var symbols: [UInt8]
  /// Places ascending.
  var literals: [(place: Int, byte: UInt8)]

  static let mostSymbols = 16
  /// Literals are searched up to here.
  private static let mostPlaces = 96
  private static let sampleCount = 32
  /// How many other bytes unusual strings may have before the search ends.
  private static let strayBytes = 8

  /// Bits of a code.
  var bits: Int { symbols.count <= 2 ? 1 : symbols.count <= 4 ? 2 : 4 }

  /// Bytes of the table.
  var size: Int { 3 + symbols.count + 3 * literals.count }

  func write(into output: inout OutputBuffer) {
    output.append(UInt8(truncatingIfNeeded: bits))
    output.append(UInt8(truncatingIfNeeded: symbols.count))
    for symbol in symbols { output.append(symbol) }
    output.append(UInt8(truncatingIfNeeded: literals.count))
    for literal in literals {
      output.append(UInt16(truncatingIfNeeded: literal.place))
      output.append(literal.byte)
    }
  }

  /// Adds a symbol; false when there is no room for another.
  mutating func add(_ symbol: UInt8) -> Bool {
    guard !symbols.contains(symbol) else { return true }
    guard symbols.count < Self.mostSymbols else { return false }
    symbols.append(symbol)
    symbols.sort()
    return true
  }

  // MARK: Finding one

  /// The pattern of a few strings, spread over the column; nil when they have none. One in eight may differ.
  ///
  /// - Complexity: O(bytes of 32 strings); prose is recognized after a few places.
  init?(_ column: GatheredColumn, count: Int, span: (Int) -> TextSpan) {
    var sample: [SpellingView] = []
    sample.reserveCapacity(Self.sampleCount)
    let most = min(count, Self.sampleCount)
    for index in 0..<most {
      // Not in even steps, which may coincide with repetitions.
      let place = index &* 65_536 &+ (index &* 40_503 & 0xFFFF)
      let string = span(place &* count / (most &* 65_536))
      if string.length > 0 && !string.isNull { sample.append(column.spelling(string)) }
    }
    guard sample.count >= 2, let usual = Self.usualSymbols(sample) else { return nil }
    let strange = sample.count
    sample = sample.filter { usual.reads($0) }
    guard sample.count >= 2, (strange - sample.count) * 8 <= strange,
      let found = Self.exact(sample)
    else { return nil }
    self = found
  }

  /// The most frequent byte at a place, and the bytes that are found where most strings differ.
  private struct Usual {
    var literals: [UInt8?] = []
    var isSymbol: [Bool]

    func reads(_ text: SpellingView) -> Bool {
      for place in 0..<min(text.count, literals.count) {
        let byte = text[place]
        guard literals[place] == byte || isSymbol[Int(byte)] else { return false }
      }
      return true
    }
  }

  private static func usualSymbols(_ sample: [SpellingView]) -> Usual? {
    var counts = [Int](repeating: 0, count: 256)
    var uses = counts
    var different = 0
    var literals: [UInt8?] = []
    for place in 0..<mostPlaces {
      var (there, best) = (0, 0)
      for text in sample where place < text.count {
        let byte = Int(text[place])
        counts[byte] &+= 1
        there &+= 1
        if counts[byte] > counts[best] { best = byte }
      }
      if there == 0 { break }
      let isLiteral = counts[best] &* 8 >= there &* 7
      literals.append(isLiteral ? UInt8(best) : nil)
      for text in sample where place < text.count {
        let byte = Int(text[place])
        if counts[byte] > 0, !isLiteral {
          if uses[byte] == 0 { different &+= 1 }
          uses[byte] &+= counts[byte]
        }
        counts[byte] = 0
      }
      if different > mostSymbols + strayBytes { return nil }
    }
    let frequent = (0..<256).filter { uses[$0] > 0 }.sorted {
      (uses[$1], $0) < (uses[$0], $1)
    }
    var isSymbol = [Bool](repeating: false, count: 256)
    for byte in frequent.prefix(mostSymbols) { isSymbol[byte] = true }
    return Usual(literals: literals, isSymbol: isSymbol)
  }

  /// The pattern of all strings in the sample, as far as places are searched.
  private static func exact(_ sample: [SpellingView]) -> DigitPattern? {
    var pattern = DigitPattern(symbols: [], literals: [])
    var isSymbol = [Bool](repeating: false, count: 256)
    for place in 0..<mostPlaces {
      var first: UInt8?
      var isSame = true
      for text in sample where place < text.count {
        if let first { isSame = isSame && first == text[place] } else { first = text[place] }
      }
      guard let first else { break }
      if isSame, pattern.literals.count < DigitTable.mostLiterals {
        pattern.literals.append((place, first))
      } else {
        for text in sample where place < text.count { isSymbol[Int(text[place])] = true }
      }
    }
    pattern.symbols = (0..<256).filter { isSymbol[$0] }.map { UInt8($0) }
    return (1...mostSymbols).contains(pattern.symbols.count) ? pattern : nil
  }

  init(symbols: [UInt8], literals: [(place: Int, byte: UInt8)]) {
    self.symbols = symbols
    self.literals = literals
  }
}
