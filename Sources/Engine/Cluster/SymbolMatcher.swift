/// One to eight bytes that a symbol table may hold, the first one lowest, zeros above the last.
struct Symbol: Equatable, BitwiseCopyable {
  var bytes: UInt64
  var length: Int

  init(bytes: UInt64, length: Int) {
    self.bytes = bytes
    self.length = length
  }

  init(byte: Int) { self.init(bytes: UInt64(truncatingIfNeeded: byte), length: 1) }

  /// Both, one after the other, cut to eight bytes.
  @inline(__always)
  func followed(by next: Symbol) -> Symbol {
    let joined = length == 8 ? bytes : bytes | next.bytes &<< UInt64(length &* 8)
    return Symbol(bytes: joined, length: min(8, length &+ next.length))
  }
}

/// Finds the longest symbol that a text begins with.
///
/// Symbols of three bytes and more are found through a hash of their first three, those with the same
/// hash chained with the longest first; shorter ones through a table of all pairs of bytes.
struct SymbolMatcher: ~Copyable {
  struct Match {
    /// The code; 256 + the byte where no symbol fits.
    let code: Int
    let length: Int
  }

  struct Slot: BitwiseCopyable {
    var value: UInt64
    var mask: UInt64
    var code: UInt16
    var length: UInt16
    /// The next slot of the chain; 0 at its end.
    var next: UInt32

    /// Matches nothing: no masked word is 1.
    static let empty = Slot(value: 1, mask: 0, code: 0, length: 0, next: 0)
  }

  private static let hashBits = 10
  private static let headCount = 1 << hashBits

  private var slots = Scratch<Slot>(capacity: headCount + SymbolTable.maximumCount)
  /// For each two bytes, first one low: `code | length << 12`.
  private var pairs = Scratch<UInt16>(capacity: 1 << 16)
  private var symbols = Scratch<Symbol>(capacity: SymbolTable.maximumCount)
  private(set) var count = 0

  init() { load([]) }

  subscript(code: Int) -> Symbol { symbols.pointer[code] }

  /// Takes symbols in; their codes are their positions.
  ///
  /// - Precondition: at most 255, all different, ascending in length.
  mutating func load(_ list: borrowing [Symbol]) {
    count = list.count
    for code in 0..<count { symbols.pointer[code] = list[code] }
    slots.pointer.update(repeating: .empty, count: Self.headCount)
    loadPairs()
    var free = Self.headCount
    // The longest first, so that chains begin with them.
    for code in stride(from: count - 1, through: 0, by: -1) {
      let symbol = symbols.pointer[code]
      if symbol.length < 3 { break }
      let slot = Slot(
        value: symbol.bytes, mask: UInt64.max >> UInt64(64 - symbol.length * 8),
        code: UInt16(truncatingIfNeeded: code), length: UInt16(truncatingIfNeeded: symbol.length),
        next: 0)
      var place = Self.hash(symbol.bytes)
      if slots.pointer[place].length == 0 {
        slots.pointer[place] = slot
        continue
      }
      while slots.pointer[place].next != 0 { place = Int(slots.pointer[place].next) }
      slots.pointer[place].next = UInt32(truncatingIfNeeded: free)
      slots.pointer[free] = slot
      free += 1
    }
  }

  private mutating func loadPairs() {
    let pairs = pairs.pointer
    for byte in 0..<256 { pairs[byte] = UInt16(truncatingIfNeeded: 256 + byte | 1 << 12) }
    for code in 0..<count where symbols.pointer[code].length == 1 {
      let byte = Int(symbols.pointer[code].bytes)
      pairs[byte] = UInt16(truncatingIfNeeded: code | 1 << 12)
    }
    for second in 1..<256 { (pairs + second * 256).update(from: pairs, count: 256) }
    for code in 0..<count where symbols.pointer[code].length == 2 {
      let bytes = Int(symbols.pointer[code].bytes)
      pairs[bytes] = UInt16(truncatingIfNeeded: code | 2 << 12)
    }
  }

  @inline(__always)
  private static func hash(_ word: UInt64) -> Int {
    let mixed = (word & 0xFF_FFFF) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed &>> UInt64(64 - hashBits))
  }

  /// The longest symbol at the beginning of eight bytes of text.
  @inline(__always)
  borrowing func match(_ word: UInt64) -> Match {
    let slots = slots.pointer
    var place = Self.hash(word)
    repeat {
      let slot = slots[place]
      if word & slot.mask == slot.value {
        return Match(code: Int(slot.code), length: Int(slot.length))
      }
      place = Int(slot.next)
    } while place != 0
    let short = Int(pairs.pointer[Int(truncatingIfNeeded: word & 0xFFFF)])
    return Match(code: short & 0xFFF, length: short &>> 12)
  }

  /// The longest symbol at the beginning of 1 to 7 bytes of text, zeros above them.
  @inline(__always)
  borrowing func match(_ word: UInt64, remaining: Int) -> Match {
    let slots = slots.pointer
    var place = Self.hash(word)
    repeat {
      let slot = slots[place]
      if word & slot.mask == slot.value, Int(slot.length) <= remaining {
        return Match(code: Int(slot.code), length: Int(slot.length))
      }
      place = Int(slot.next)
    } while place != 0
    var short = Int(pairs.pointer[Int(truncatingIfNeeded: word & 0xFFFF)])
    // A symbol whose second byte is 0 seems to fit where the text has ended: take the first alone.
    if short &>> 12 > remaining { short = single(Int(word & 0xFF)) }
    return Match(code: short & 0xFFF, length: short &>> 12)
  }

  private borrowing func single(_ byte: Int) -> Int {
    for code in 0..<count where symbols.pointer[code] == Symbol(byte: byte) {
      return code | 1 << 12
    }
    return 256 + byte | 1 << 12
  }

  // MARK: Compressing

  /// Compresses a string to `target` and returns the length.
  ///
  /// - Precondition: `target` has room for 2 bytes for each of the string, and 8 more.
  @inline(__always)
  borrowing func compress(_ text: SpellingView, to target: UnsafeMutableRawPointer) -> Int {
    var output = target
    var offset = 0
    let count = text.count
    while offset &+ 8 <= count {
      let match = match(text.fullWord(at: offset))
      offset &+= match.length
      output = Self.append(match.code, to: output)
    }
    while offset < count {
      let match = match(text.word(at: offset), remaining: count &- offset)
      offset &+= match.length
      output = Self.append(match.code, to: output)
    }
    return output - target
  }

  /// A code, or the escape and the byte, without a branch.
  @inline(__always)
  private static func append(
    _ code: Int, to target: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let isEscaped = code &>> 8
    let both = isEscaped == 0 ? code : (code & 0xFF) &<< 8 | Int(SymbolTable.escape)
    target.storeBytes(of: UInt16(truncatingIfNeeded: both).littleEndian, as: UInt16.self)
    return target + 1 + isEscaped
  }

  /// Bytes of the table in the file.
  var tableSize: Int {
    var size = SymbolTable.maximumLength
    for code in 0..<count { size += symbols.pointer[code].length }
    return size
  }

  /// Writes the table, see `SymbolTable`.
  func writeTable(into output: inout OutputBuffer) {
    for length in 1...SymbolTable.maximumLength {
      var symbolsOfLength: UInt8 = 0
      for code in 0..<count where symbols.pointer[code].length == length { symbolsOfLength &+= 1 }
      output.append(symbolsOfLength)
    }
    for code in 0..<count {
      let symbol = symbols.pointer[code]
      output.reserve(8).storeBytes(of: symbol.bytes.littleEndian, as: UInt64.self)
      output.advance(symbol.length)
    }
  }
}
