/// The symbols of a large table, found by all their bytes.
///
/// A bit for the hash of each symbol tells mostly which lengths have a symbol at a place of a text,
/// without a branch; so hardly any symbol is looked up in vain.
struct SymbolIndex: ~Copyable {
  private static let hashBits = 16

  /// For each hash, the lengths of the symbols that have it: bit 8 - n for n bytes.
  private var marks = Scratch<UInt8>(capacity: 0)
  /// The number of the symbol with a hash, in an open-addressed table that is at most a quarter full;
  /// `none` where there is none.
  private var places = Scratch<UInt16>(capacity: 0)
  /// The bytes of each symbol, zeros above them.
  private var words = Scratch<UInt64>(capacity: 0)
  /// The length of each symbol; 0 for `none`.
  private var lengths = Scratch<UInt8>(capacity: 0)
  /// The number behind the last symbol's.
  private var none = 0

  init() {}

  /// Loads symbols of 2 to 8 bytes, all different; their numbers are their positions.
  mutating func load(_ symbols: UnsafePointer<Symbol>, count: Int) {
    assert(count <= 1 << (Self.hashBits - 2))
    none = count
    let marks = marks.reserve(1 << Self.hashBits)
    let places = places.reserve(1 << Self.hashBits)
    marks.update(repeating: 0, count: 1 << Self.hashBits)
    places.update(
      repeating: UInt16(truncatingIfNeeded: count), count: 1 << Self.hashBits)
    let (words, lengths) = (words.reserve(count + 1), lengths.reserve(count + 1))
    (words[count], lengths[count]) = (0, 0)
    for index in 0..<count {
      let symbol = symbols[index]
      words[index] = symbol.bytes
      lengths[index] = UInt8(truncatingIfNeeded: symbol.length)
      var place = Self.hash(symbol.bytes)
      marks[place] |= Self.bit(symbol.length)
      while Int(places[place]) != count { place = Self.next(place) }
      places[place] = UInt16(truncatingIfNeeded: index)
    }
  }

  /// The first `length` bytes of a word, zeros above them.
  @inline(__always)
  private static func prefix(_ word: UInt64, _ length: Int) -> UInt64 {
    word & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- length &* 8))
  }

  /// Every byte changes all bits; only the eighth half of them.
  @inline(__always)
  private static func hash(_ prefix: UInt64) -> Int {
    let mixed = prefix &* 0x9E37_79B9_7F4A_7C15
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

  /// The number and the length of the longest symbol at the beginning of a text; nil when there is none.
  ///
  /// - Parameters:
  ///   - word: the next eight bytes of the text.
  ///   - most: how many of them there are, from 1 to 8.
  @inline(__always)
  borrowing func match(_ word: UInt64, most: Int) -> (number: Int, length: Int)? {
    let found =
      mark(word, 2) | mark(word, 3) | mark(word, 4) | mark(word, 5) | mark(word, 6)
      | mark(word, 7) | mark(word, 8)
    var left = UInt32(found) & (0xFF &<< UInt32(truncatingIfNeeded: 8 &- most))
    let (places, words, lengths) = (places.pointer, words.pointer, lengths.pointer)
    while left != 0 {
      let length = 8 &- left.trailingZeroBitCount
      left &= left &- 1
      let prefix = Self.prefix(word, length)
      var place = Self.hash(prefix)
      var number: Int
      repeat {
        number = Int(places[place])
        if words[number] == prefix, Int(lengths[number]) == length { return (number, length) }
        place = Self.next(place)
      } while number != none
    }
    return nil
  }
}
