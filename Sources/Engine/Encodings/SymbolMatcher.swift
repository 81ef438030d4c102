/// One to sixteen bytes that a symbol table may hold, the first one lowest, zeros above the last.
struct Symbol: Equatable, BitwiseCopyable {
  var bytes: UInt128
  var length: Int

  init(bytes: UInt128, length: Int) {
    self.bytes = bytes
    self.length = length
  }

  init(byte: Int) { self.init(bytes: UInt128(truncatingIfNeeded: byte), length: 1) }

  /// The first eight bytes, and the others.
  var low: UInt64 { UInt64(truncatingIfNeeded: bytes) }
  var high: UInt64 { UInt64(truncatingIfNeeded: bytes &>> 64) }

  /// Its first `count` bytes, or all if there are fewer.
  ///
  /// - Precondition: `count` is 1 to 16.
  func prefix(_ count: Int) -> Symbol {
    let mask = UInt128.max &>> UInt128(truncatingIfNeeded: 128 &- count &* 8)
    return Symbol(bytes: bytes & mask, length: min(length, count))
  }

  /// The two joined, cut to `most` bytes.
  ///
  /// - Precondition: it is shorter than `most`.
  @inline(__always)
  func followed(by next: Symbol, most: Int) -> Symbol {
    let joined = bytes | next.bytes &<< UInt128(truncatingIfNeeded: length &* 8)
    return Symbol(bytes: joined, length: length &+ next.length).prefix(most)
  }
}

/// Finds the longest symbol that a text begins with.
///
/// Symbols of three bytes and more are found by a hash of their first three bytes, with the longest first in
/// each chain. When a chain is long, a hash of all bytes is used instead (`ExactSymbols`). Shorter symbols
/// are found in a table of all pairs of bytes. The many symbols of prefix codes are found in a `SymbolIndex`.
struct SymbolMatcher: ~Copyable {
  struct Match {
    /// The symbol's code. Where no symbol fits, the byte's code: the byte plus 256 when codes are narrow,
    /// otherwise the byte itself.
    let code: Int
    let length: Int
  }

  // Not private: debug builds of the compiler fail for private elements of `Scratch`.
  struct Slot: BitwiseCopyable {
    var value: UInt64
    var mask: UInt64
    var code: UInt16
    var length: UInt16
    /// The next slot of the chain, 0 at its end. For a chain moved to `exact`, the lengths of its symbols
    /// with `lengthsMark`.
    var next: UInt32

    /// Matches nothing: no masked word is 1.
    static let empty = Slot(value: 1, mask: 0, code: 0, length: 0, next: 0)
  }

  /// The slots of a chain while symbols are loaded.
  struct Chain: BitwiseCopyable {
    var last: UInt32 = 0
    var count: UInt32 = 0
  }

  private static let hashBits = 12
  private static let headCount = 1 << hashBits
  /// Marks `Slot.next` as lengths: bit n for length n.
  private static let lengthsMark: UInt32 = 1 << 31
  /// Walking a longer chain takes more time than one lookup for each length of its symbols.
  private static let longestChain = 4

  // Without memory before the first symbols are loaded: small imports load none.
  private var slots = Scratch<Slot>(capacity: 0)
  private var chains = Scratch<Chain>(capacity: 0)
  private var exact = ExactSymbols()
  private var index = SymbolIndex()
  /// For each two bytes, first one low: `code | length << 12`.
  private var pairs = Scratch<UInt16>(capacity: 0)
  private var symbols = Scratch<Symbol>(capacity: 0)
  private(set) var count = 0
  private(set) var width = SymbolTable.Width.narrow

  /// A matcher that must be loaded before it is used.
  init() {}

  /// The code of byte 0 when it has no symbol.
  private var byteBase: Int { width == .narrow ? 256 : 0 }

  /// The code behind the last symbol's.
  var end: Int { width.base + count }

  /// The symbol of a code.
  func symbol(_ code: Int) -> Symbol {
    let isByte = width == .narrow ? code >= 256 : code < 256
    return isByte ? Symbol(byte: code & 0xFF) : symbols.pointer[code &- width.base]
  }

  /// Loads symbols; their codes are their positions, counted from `width.base`.
  ///
  /// - Precondition: at most `width.maximumCount`, all different; if codes are narrow, ascending in length,
  ///   otherwise none of one byte.
  mutating func load(_ list: borrowing [Symbol], width: SymbolTable.Width) {
    self.width = width
    count = list.count
    let most = width.maximumCount
    _ = symbols.reserve(most)
    for index in 0..<count { symbols.pointer[index] = list[index] }
    if width != .narrow { return index.load(symbols.pointer, count: count) }
    _ = slots.reserve(Self.headCount + most)
    _ = chains.reserve(Self.headCount)
    _ = pairs.reserve(1 << 16)
    slots.pointer.update(repeating: .empty, count: Self.headCount)
    loadPairs()
    chains.pointer.update(repeating: Chain(), count: Self.headCount)
    exact.removeAll()
    var free = Self.headCount
    // The longest first, so that chains begin with them.
    for index in stride(from: count - 1, through: 0, by: -1) {
      let symbol = symbols.pointer[index]
      if symbol.length < 3 { break }
      let slot = Slot(
        value: symbol.low, mask: UInt64.max >> UInt64(64 - symbol.length * 8),
        code: UInt16(truncatingIfNeeded: index + width.base),
        length: UInt16(truncatingIfNeeded: symbol.length), next: 0)
      let head = Self.hash(symbol.low)
      let chain = chains.pointer[head]
      var place = head
      if chain.count > 0 {
        place = free
        slots.pointer[Int(chain.last)].next = UInt32(truncatingIfNeeded: free)
        free += 1
      }
      slots.pointer[place] = slot
      chains.pointer[head] = Chain(
        last: UInt32(truncatingIfNeeded: place), count: chain.count &+ 1)
    }
    for head in 0..<Self.headCount where Int(chains.pointer[head].count) > Self.longestChain {
      replaceChain(head)
    }
  }

  /// Moves the symbols of a long chain into a table by all their bytes.
  private mutating func replaceChain(_ head: Int) {
    var lengths = Self.lengthsMark
    var place = head
    repeat {
      let slot = slots.pointer[place]
      exact.insert(slot.value, length: slot.length, code: slot.code)
      lengths |= 1 << UInt32(slot.length)
      place = Int(slot.next)
    } while place != 0
    slots.pointer[head].next = lengths
  }

  private mutating func loadPairs() {
    let pairs = pairs.pointer
    for byte in 0..<256 { pairs[byte] = UInt16(truncatingIfNeeded: byteBase + byte | 1 << 12) }
    for index in 0..<count where symbols.pointer[index].length == 1 {
      let byte = Int(symbols.pointer[index].low)
      pairs[byte] = UInt16(truncatingIfNeeded: index + width.base | 1 << 12)
    }
    for second in 1..<256 { (pairs + second * 256).update(from: pairs, count: 256) }
    for index in 0..<count where symbols.pointer[index].length == 2 {
      let bytes = Int(symbols.pointer[index].low)
      pairs[bytes] = UInt16(truncatingIfNeeded: index + width.base | 2 << 12)
    }
  }

  @inline(__always)
  private static func hash(_ word: UInt64) -> Int {
    let mixed = (word & 0xFF_FFFF) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: mixed &>> UInt64(64 - hashBits))
  }

  /// The longest symbol at the beginning of eight bytes of text, if codes are narrow.
  @inline(__always)
  private borrowing func match(_ word: UInt64) -> Match {
    let slots = slots.pointer
    var place = Self.hash(word)
    repeat {
      let slot = slots[place]
      if word & slot.mask == slot.value {
        return Match(code: Int(slot.code), length: Int(slot.length))
      }
      if slot.next >= Self.lengthsMark {
        if let match = exact.match(word, lengths: slot.next, most: 8) { return match }
        break
      }
      place = Int(slot.next)
    } while place != 0
    let short = Int(pairs.pointer[Int(truncatingIfNeeded: word & 0xFFFF)])
    return Match(code: short & 0xFFF, length: short &>> 12)
  }

  /// The longest symbol at the beginning of 1 to 7 bytes of text, with zeros above them, if codes are narrow.
  @inline(__always)
  private borrowing func match(_ word: UInt64, remaining: Int) -> Match {
    let slots = slots.pointer
    var place = Self.hash(word)
    repeat {
      let slot = slots[place]
      if word & slot.mask == slot.value, Int(slot.length) <= remaining {
        return Match(code: Int(slot.code), length: Int(slot.length))
      }
      if slot.next >= Self.lengthsMark {
        if let match = exact.match(word, lengths: slot.next, most: remaining) { return match }
        break
      }
      place = Int(slot.next)
    } while place != 0
    var short = Int(pairs.pointer[Int(truncatingIfNeeded: word & 0xFFFF)])
    // A symbol whose second byte is 0 seems to fit where the text has ended: take only the first byte.
    if short &>> 12 > remaining { short = single(Int(word & 0xFF)) }
    return Match(code: short & 0xFFF, length: short &>> 12)
  }

  /// The longest symbol at a place of a text, which does not end there.
  @inline(__always)
  borrowing func match(_ text: SpellingView, at place: Int) -> Match {
    if width != .narrow { return indexed(text, at: place) }
    let left = text.count &- place
    return left >= 8
      ? match(text.fullWord(at: place)) : match(text.word(at: place), remaining: left)
  }

  /// Like `match`, if codes are not narrow.
  @inline(__always)
  borrowing func indexed(_ text: SpellingView, at place: Int) -> Match {
    let left = text.count &- place
    let word = left >= 8 ? text.fullWord(at: place) : text.word(at: place)
    return indexed(word, most: left) { text.word(at: place &+ 8) }
  }

  /// The longest symbol that another one begins with, of at most `most` bytes, if codes are not narrow.
  borrowing func indexed(_ symbol: Symbol, most: Int) -> Match {
    let prefix = symbol.prefix(most)
    return indexed(prefix.low, most: most) { prefix.high }
  }

  @inline(__always)
  private borrowing func indexed(_ word: UInt64, most: Int, next: () -> UInt64) -> Match {
    guard let (number, length) = index.match(word, most: most, next: next) else {
      return Match(code: Int(word & 0xFF), length: 1)
    }
    return Match(code: number &+ SymbolTable.Width.coded.base, length: length)
  }

  private borrowing func single(_ byte: Int) -> Int {
    for index in 0..<count where symbols.pointer[index] == Symbol(byte: byte) {
      return index + width.base | 1 << 12
    }
    return byteBase + byte | 1 << 12
  }

  // MARK: Compressing

  /// Compresses a string to `target` and returns the compressed length. Codes must be narrow; `SymbolCoder`
  /// writes prefix codes.
  ///
  /// - Precondition: `target` has room for 2 bytes for each byte of the string, and 8 more.
  @inline(__always)
  borrowing func compress(_ text: SpellingView, to target: UnsafeMutableRawPointer) -> Int {
    var output = target
    forEachCode(text) { code in
      // A code, or the escape and the byte, without a branch.
      let isEscaped = code &>> 8
      let both = isEscaped == 0 ? code : (code & 0xFF) &<< 8 | Int(SymbolTable.escape)
      output.storeBytes(of: UInt16(truncatingIfNeeded: both).littleEndian, as: UInt16.self)
      output += 1 + isEscaped
    }
    return output - target
  }

  /// Splits the text into symbols, each the longest that fits.
  @inline(__always)
  borrowing func forEachCode(_ text: SpellingView, _ body: (Int) -> Void) {
    var offset = 0
    while offset < text.count {
      let match = match(text, at: offset)
      offset &+= match.length
      body(match.code)
    }
  }

  /// Bytes of the table in the file, if codes are narrow.
  var tableSize: Int {
    var size = SymbolTable.headerSize
    for index in 0..<count { size += symbols.pointer[index].length }
    return size
  }

  /// Writes the table, see `SymbolTable`.
  func writeTable(into output: inout OutputBuffer) {
    output.append(SymbolTable.Width.narrow.rawValue)
    for length in 1...SymbolTable.longestSymbol {
      var symbolsOfLength: UInt16 = 0
      for index in 0..<count where symbols.pointer[index].length == length {
        symbolsOfLength &+= 1
      }
      output.append(symbolsOfLength)
    }
    for index in 0..<count {
      let symbol = symbols.pointer[index]
      output.reserve(8).storeBytes(of: symbol.low.littleEndian, as: UInt64.self)
      output.advance(symbol.length)
    }
  }
}
