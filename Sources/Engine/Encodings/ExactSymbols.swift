/// Finds symbols by all their bytes, in an open-addressed hash table that is at most half full.
///
/// For tables in which many symbols begin alike, as in long hexadecimal numbers: a chain of them would have
/// to be walked at every few bytes of text.
struct ExactSymbols: ~Copyable {
  // Not private: debug builds of the compiler fail for private elements of `Scratch`.
  struct Entry: BitwiseCopyable {
    var value: UInt64
    var code: UInt16
    /// 0: nothing is here.
    var length: UInt16

    static let none = Entry(value: 0, code: 0, length: 0)
  }

  private static let bits = 9
  private static let capacity = 1 << bits

  private var entries = Scratch<Entry>(capacity: capacity)
  private var isCleared = false
  private var count = 0

  init() {
    assert(SymbolTable.Width.narrow.maximumCount <= Self.capacity / 2)
  }

  mutating func removeAll() {
    isCleared = isCleared && count == 0
    count = 0
  }

  /// - Precondition: the symbol is not there yet; at most as many as a symbol table holds are there.
  mutating func insert(_ value: UInt64, length: UInt16, code: UInt16) {
    if !isCleared {
      entries.pointer.update(repeating: .none, count: Self.capacity)
      isCleared = true
    }
    var place = Self.hash(value, Int(length))
    while entries.pointer[place].length != 0 { place = (place &+ 1) & (Self.capacity &- 1) }
    entries.pointer[place] = Entry(value: value, code: code, length: length)
    count &+= 1
  }

  @inline(__always)
  private static func hash(_ value: UInt64, _ length: Int) -> Int {
    let mixed = (value &+ UInt64(truncatingIfNeeded: length)) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: (mixed ^ (mixed &<< 29)) &>> UInt64(64 - bits))
  }

  /// The longest symbol at the beginning of eight bytes of text.
  ///
  /// - Parameters:
  ///   - lengths: the lengths to look for, bit n for length n; bits 9 and above mean nothing.
  ///   - most: the largest length, from 1 to 8.
  @inline(__always)
  borrowing func match(_ word: UInt64, lengths: UInt32, most: Int) -> SymbolMatcher.Match? {
    let entries = entries.pointer
    var left = lengths & ((2 &<< UInt32(truncatingIfNeeded: most)) &- 1)
    while left != 0 {
      let length = 31 &- left.leadingZeroBitCount
      left ^= 1 &<< UInt32(truncatingIfNeeded: length)
      let value = word & (UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- length &* 8))
      var place = Self.hash(value, length)
      while entries[place].length != 0 {
        if entries[place].value == value, Int(entries[place].length) == length {
          return SymbolMatcher.Match(code: Int(entries[place].code), length: length)
        }
        place = (place &+ 1) & (Self.capacity &- 1)
      }
    }
    return nil
  }
}
