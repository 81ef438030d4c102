import Base

/// Symbols of one to eight bytes with prefix codes: a symbol that occurs often has a short one.
///
///     u8   0                 tells it from tables with codes of one length
///     u8   longest           bits of the longest code, 8 to 20
///     (longest - 3) * 8 * u16   of the codes of 4, 5, ... bits: how many are of symbols of 1, 2, ... 8 bytes
///     bytes                  the symbols: those with short codes first, among them the short ones
///
/// The codes follow from their lengths and this order, as in `CanonicalCode`. A compressed string has its
/// codes, the highest bit first, and then ones up to the end of a byte: these are too few for a code.
struct CodedSymbols {
  static let shortest = 4
  static let lengths = 8...CanonicalCode.longest
  static let mostSymbols = 1 << 16

  let count: Int
  let longest: Int
  private let counts: UnsafeRawPointer
  /// The first symbol; eight bytes may be read from the beginning of each.
  let bytes: UnsafeRawPointer

  /// - Parameter reader: behind the form.
  init(_ reader: inout ByteReader) throws(DecodingFailure) {
    let start = reader.offset
    longest = Int(try reader.read(UInt8.self, "the longest code"))
    guard Self.lengths.contains(longest) else {
      throw DecodingFailure(what: "the longest code", offset: start)
    }
    let table = try reader.readBytes(Self.countBytes(longest: longest), "the code counts")
    guard let counts = table.baseAddress else {
      throw DecodingFailure(what: "the code counts", offset: reader.offset)
    }
    self.counts = counts
    var (symbols, length) = (0, 0)
    // The codes that are still free, counted in codes of the longest length. No prefix code has more.
    var room = 1 << longest
    var before = 0
    for bits in Self.shortest...longest {
      before = symbols
      for size in 1...SymbolTable.maximumLength {
        let number = Self.number(counts, bits, size)
        symbols &+= number
        length &+= number &* size
        room &-= number &<< (longest &- bits)
      }
    }
    // With a code of the longest length, none of seven bits or fewer has only ones: see `isPadding`.
    guard room >= 0, symbols > before, symbols <= Self.mostSymbols else {
      throw DecodingFailure(what: "the code", offset: start)
    }
    guard let bytes = try reader.readBytes(length, "the symbols").baseAddress else {
      throw DecodingFailure(what: "the symbols", offset: reader.offset)
    }
    self.bytes = bytes
    count = symbols
  }

  static func countBytes(longest: Int) -> Int {
    2 &* SymbolTable.maximumLength &* (longest &- shortest &+ 1)
  }

  /// How many codes of `bits` bits are of symbols of `size` bytes.
  @inline(__always)
  private static func number(_ counts: UnsafeRawPointer, _ bits: Int, _ size: Int) -> Int {
    let index = (bits &- shortest) &* SymbolTable.maximumLength &+ size &- 1
    return Int(
      UInt16(littleEndian: counts.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)))
  }

  /// Calls `body` with each symbol in the order of codes: its bytes in the low bytes of a word, with other
  /// bytes above them, and its length.
  func forEach(_ body: (_ word: UInt64, _ length: Int) -> Void) {
    var symbol = bytes
    for bits in Self.shortest...longest {
      for size in 1...SymbolTable.maximumLength {
        for _ in 0..<Self.number(counts, bits, size) {
          body(UInt64(littleEndian: symbol.loadUnaligned(as: UInt64.self)), size)
          symbol += size
        }
      }
    }
  }

  /// The codes of one length.
  struct CodeClass: BitwiseCopyable {
    /// The first code.
    var first: Int
    /// The code behind the last one, as the top of 32 bits.
    var end: UInt64
    /// How many symbols come before, and their bytes.
    var rank: Int
    var offset: Int
  }

  var classCount: Int { longest &- Self.shortest &+ 1 }

  /// Makes the classes of codes, from the shortest to the longest.
  func fill(_ classes: UnsafeMutablePointer<CodeClass>) {
    var (code, rank, offset) = (0, 0, 0)
    for bits in Self.shortest...longest {
      var found = CodeClass(first: code, end: 0, rank: rank, offset: offset)
      for size in 1...SymbolTable.maximumLength {
        let number = Self.number(counts, bits, size)
        code &+= number
        rank &+= number
        offset &+= number &* size
      }
      found.end = UInt64(truncatingIfNeeded: code) &<< UInt64(truncatingIfNeeded: 32 &- bits)
      classes[bits &- Self.shortest] = found
      code &<<= 1
    }
  }

  /// A symbol by its place among those whose codes have that many bits, the first of which lies at `offset`.
  @inline(__always)
  private func symbol(_ place: Int, _ bits: Int, _ offset: Int) -> (word: UInt64, length: Int) {
    var (left, offset, size) = (place, offset, 1)
    while size < SymbolTable.maximumLength {
      let number = Self.number(counts, bits, size)
      if left < number { break }
      left &-= number
      offset &+= number &* size
      size &+= 1
    }
    let word = bytes.loadUnaligned(fromByteOffset: offset &+ left &* size, as: UInt64.self)
    return (UInt64(littleEndian: word), size)
  }

  /// Calls `body` with the symbols of a compressed string.
  ///
  /// - Precondition: 8 bytes may be read behind the codes.
  /// - Returns: how many bits at the end are no code.
  @inline(__always)
  func forEachSymbol(
    _ codes: UnsafeRawBufferPointer, _ body: (_ word: UInt64, _ length: Int) -> Void
  ) -> Int {
    guard let base = codes.baseAddress else { return 0 }
    let most = classCount
    return withUnsafeTemporaryAllocation(of: CodeClass.self, capacity: most) { room in
      guard let classes = room.baseAddress else { return 0 }
      fill(classes)
      var left = codes.count &* 8
      var cursor = BitCursor(base, position: 0, limit: left)
      while left > 0 {
        let top = cursor.window &>> 32
        var index = 0
        while index < most, top >= classes[index].end { index &+= 1 }
        let bits = index &+ Self.shortest
        guard index < most, bits <= left else { break }
        let found = classes[index]
        let code = Int(truncatingIfNeeded: top &>> UInt64(truncatingIfNeeded: 32 &- bits))
        let (word, length) = symbol(code &- found.first, bits, found.offset)
        body(word, length)
        cursor.skip(bits)
        left &-= bits
      }
      return left
    }
  }

  /// True when nothing follows the last code but ones up to the end of its byte.
  ///
  /// - Precondition: 8 bytes may be read behind the codes.
  func areCodes(_ codes: UnsafeRawBufferPointer) -> Bool {
    Self.isPadding(forEachSymbol(codes) { _, _ in }, of: codes)
  }

  /// True when the last bits of a string, which are no code, fill its last byte with ones.
  static func isPadding(_ bits: Int, of codes: UnsafeRawBufferPointer) -> Bool {
    guard bits > 0 else { return true }
    guard bits < 8, let last = codes.last else { return false }
    return last | UInt8.max &<< UInt8(truncatingIfNeeded: bits) == .max
  }
}
