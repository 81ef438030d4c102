/// The symbols of a large table, found by all their bytes.
///
/// A bit for the hash of each symbol tells nearly always which lengths have a symbol at a place of a text,
/// without a branch; so hardly any symbol is looked up in vain.
struct SymbolIndex: ~Copyable {
  private static let markBits = 19
  private static let placeBits = 15
  private static let none = UInt16.max

  /// A bit for each hash.
  private var marks = Scratch<UInt64>(capacity: 0)
  /// The number of the symbol with a hash, in an open-addressed table that is at most half full.
  private var places = Scratch<UInt16>(capacity: 0)
  private var words = Scratch<UInt64>(capacity: 0)
  private var lengths = Scratch<UInt8>(capacity: 0)

  init() {}

  /// Loads symbols of 2 to 8 bytes, all different; their numbers are their positions.
  mutating func load(_ symbols: UnsafePointer<Symbol>, count: Int) {
    assert(count <= 1 << (Self.placeBits - 1))
    let marks = marks.reserve(1 << (Self.markBits - 6))
    let places = places.reserve(1 << Self.placeBits)
    marks.update(repeating: 0, count: 1 << (Self.markBits - 6))
    places.update(repeating: Self.none, count: 1 << Self.placeBits)
    let (words, lengths) = (words.reserve(count), lengths.reserve(count))
    for index in 0..<count {
      let symbol = symbols[index]
      words[index] = symbol.bytes
      lengths[index] = UInt8(truncatingIfNeeded: symbol.length)
      let hash = Self.hash(symbol.bytes, symbol.length)
      marks[hash &>> 6] |= 1 &<< UInt64(truncatingIfNeeded: hash & 63)
      var place = Self.place(hash)
      while places[place] != Self.none { place = Self.next(place) }
      places[place] = UInt16(truncatingIfNeeded: index)
    }
  }

  /// Of the first `length` bytes of a word.
  @inline(__always)
  private static func hash(_ word: UInt64, _ length: Int) -> Int {
    let bytes = word &<< UInt64(truncatingIfNeeded: 64 &- length &* 8)
    let mixed = (bytes ^ bytes &>> 29) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed &>> UInt64(64 - markBits))
  }

  @inline(__always)
  private static func place(_ hash: Int) -> Int { hash &>> (markBits - placeBits) }

  @inline(__always)
  private static func next(_ place: Int) -> Int { (place &+ 1) & (1 << placeBits &- 1) }

  @inline(__always)
  private borrowing func mark(_ word: UInt64, _ length: Int) -> UInt32 {
    let hash = Self.hash(word, length)
    let bit = marks.pointer[hash &>> 6] &>> UInt64(truncatingIfNeeded: hash & 63) & 1
    return UInt32(truncatingIfNeeded: bit) &<< UInt32(truncatingIfNeeded: length)
  }

  /// The number and the length of the longest symbol at the beginning of a text; nil when there is none.
  ///
  /// - Parameters:
  ///   - word: the next eight bytes of the text.
  ///   - most: how many of them there are, from 1 to 8.
  @inline(__always)
  borrowing func match(_ word: UInt64, most: Int) -> (number: Int, length: Int)? {
    var left =
      mark(word, 2) | mark(word, 3) | mark(word, 4) | mark(word, 5) | mark(word, 6)
      | mark(word, 7) | mark(word, 8)
    left &= (2 &<< UInt32(truncatingIfNeeded: most)) &- 1
    let (places, words, lengths) = (places.pointer, words.pointer, lengths.pointer)
    while left != 0 {
      let length = 31 &- left.leadingZeroBitCount
      left ^= 1 &<< UInt32(truncatingIfNeeded: length)
      let value = word & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- length &* 8))
      var place = Self.place(Self.hash(word, length))
      while places[place] != Self.none {
        let number = Int(places[place])
        if words[number] == value, Int(lengths[number]) == length { return (number, length) }
        place = Self.next(place)
      }
    }
    return nil
  }
}
