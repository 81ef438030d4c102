/// The symbols of a large table, found by all their bytes.
///
/// A bit for the hash of each symbol tells mostly which lengths have a symbol at a place of a text,
/// without a branch; so hardly any symbol is looked up in vain.
struct SymbolIndex: ~Copyable {
  private static let hashBits = 16
  /// In `marks`: longer symbols may begin with these eight bytes.
  private static let longer: UInt8 = 1 << 7

  /// For each hash, the lengths of the symbols of up to eight bytes that have it: bit 8 - n for n bytes.
  /// Besides, `longer` for the hash of the first eight bytes of longer symbols.
  private var marks = Scratch<UInt8>(capacity: 0)
  /// For each hash, the lengths of the longer symbols that have it: bit 16 - n for n bytes.
  private var longMarks = Scratch<UInt8>(capacity: 0)
  /// The number of the symbol with a hash, in an open-addressed table that is at most a quarter full;
  /// `none` where there is none.
  private var places = Scratch<UInt16>(capacity: 0)
  /// The first eight bytes of each symbol, and the others; zeros above them.
  private var lows = Scratch<UInt64>(capacity: 0)
  private var highs = Scratch<UInt64>(capacity: 0)
  /// The length of each symbol; 0 for `none`.
  private var lengths = Scratch<UInt8>(capacity: 0)
  /// The number behind the last symbol's.
  private var none = 0

  init() {}

  /// Loads symbols of 2 to 16 bytes, all different; their numbers are their positions.
  mutating func load(_ symbols: UnsafePointer<Symbol>, count: Int) {
    assert(count <= 1 << (Self.hashBits - 2))
    none = count
    let (marks, longMarks) = (
      marks.reserve(1 << Self.hashBits), longMarks.reserve(1 << Self.hashBits)
    )
    let places = places.reserve(1 << Self.hashBits)
    marks.update(repeating: 0, count: 1 << Self.hashBits)
    longMarks.update(repeating: 0, count: 1 << Self.hashBits)
    places.update(
      repeating: UInt16(truncatingIfNeeded: count), count: 1 << Self.hashBits)
    let (lows, highs) = (lows.reserve(count + 1), highs.reserve(count + 1))
    let lengths = lengths.reserve(count + 1)
    (lows[count], highs[count], lengths[count]) = (0, 0, 0)
    for index in 0..<count {
      let symbol = symbols[index]
      (lows[index], highs[index]) = (symbol.low, symbol.high)
      lengths[index] = UInt8(truncatingIfNeeded: symbol.length)
      var place = Self.hash(symbol.low, symbol.high)
      if symbol.length > 8 {
        marks[Self.hash(symbol.low)] |= Self.longer
        longMarks[place] |= Self.bit(symbol.length &- 8)
      } else {
        marks[place] |= Self.bit(symbol.length)
      }
      while Int(places[place]) != count { place = Self.next(place) }
      places[place] = UInt16(truncatingIfNeeded: index)
    }
  }

  /// The first `length` bytes of a word, zeros above them.
  @inline(__always)
  private static func prefix(_ word: UInt64, _ length: Int) -> UInt64 {
    word & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- length &* 8))
  }

  /// Every byte changes all bits; only the eighth and the sixteenth half of them.
  @inline(__always)
  private static func hash(_ low: UInt64, _ high: UInt64 = 0) -> Int {
    let mixed = low &* 0x9E37_79B9_7F4A_7C15 ^ high &* 0xD6E8_FEB8_6659_FD93
    return Int(truncatingIfNeeded: mixed &>> UInt64(64 - hashBits))
  }

  @inline(__always)
  private static func next(_ place: Int) -> Int { (place &+ 1) & (1 << hashBits &- 1) }

  @inline(__always)
  private static func bit(_ length: Int) -> UInt8 {
    1 &<< UInt8(truncatingIfNeeded: 8 &- length)
  }

  @inline(__always)
  private borrowing func mark(_ word: UInt64, _ length: Int) -> UInt8 {
    marks.pointer[Self.hash(Self.prefix(word, length))] & Self.bit(length)
  }

  @inline(__always)
  private borrowing func longMark(_ low: UInt64, _ high: UInt64, _ length: Int) -> UInt8 {
    longMarks.pointer[Self.hash(low, Self.prefix(high, length))] & Self.bit(length)
  }

  /// The number and the length of the longest symbol at the beginning of a text; nil when there is none.
  ///
  /// - Parameters:
  ///   - word: the next eight bytes of the text.
  ///   - most: how many bytes it has, at least 1.
  ///   - next: gives the eight bytes behind these; called when a symbol may be that long.
  @inline(__always)
  borrowing func match(
    _ word: UInt64, most: Int, next: () -> UInt64
  ) -> (number: Int, length: Int)? {
    let whole = marks.pointer[Self.hash(word)]
    if whole >= Self.longer, most > 8,
      let match = longMatch(word, next(), most: min(most &- 8, 8))
    {
      return match
    }
    let found =
      mark(word, 2) | mark(word, 3) | mark(word, 4) | mark(word, 5) | mark(word, 6)
      | mark(word, 7) | whole & Self.bit(8)
    var left = UInt32(found) & (0xFF &<< UInt32(truncatingIfNeeded: max(8 &- most, 0)))
    let (places, lows, lengths) = (places.pointer, lows.pointer, lengths.pointer)
    while left != 0 {
      let length = 8 &- left.trailingZeroBitCount
      left &= left &- 1
      let prefix = Self.prefix(word, length)
      var place = Self.hash(prefix)
      var number: Int
      repeat {
        number = Int(places[place])
        if lows[number] == prefix, Int(lengths[number]) == length { return (number, length) }
        place = Self.next(place)
      } while number != none
    }
    return nil
  }

  /// A symbol of more than eight bytes: `low` and the first bytes of `high`, of which there are `most`.
  @inline(__always)
  private borrowing func longMatch(
    _ low: UInt64, _ high: UInt64, most: Int
  ) -> (number: Int, length: Int)? {
    let found =
      longMark(low, high, 1) | longMark(low, high, 2) | longMark(low, high, 3)
      | longMark(low, high, 4) | longMark(low, high, 5) | longMark(low, high, 6)
      | longMark(low, high, 7) | longMark(low, high, 8)
    var left = UInt32(found) & (0xFF &<< UInt32(truncatingIfNeeded: 8 &- most))
    let (places, lows, highs) = (places.pointer, lows.pointer, highs.pointer)
    while left != 0 {
      let length = 8 &- left.trailingZeroBitCount
      left &= left &- 1
      let prefix = Self.prefix(high, length)
      var place = Self.hash(low, prefix)
      var number: Int
      repeat {
        number = Int(places[place])
        if lows[number] == low, highs[number] == prefix,
          Int(lengths.pointer[number]) == length &+ 8
        {
          return (number, length &+ 8)
        }
        place = Self.next(place)
      } while number != none
    }
    return nil
  }
}
