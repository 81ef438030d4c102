import Base

/// Symbols of one to sixteen bytes with prefix codes: a symbol that occurs often has a short one.
///
///     u8   16                tells it from tables with codes of one length
///     u8   longest           bits of the longest code, 8 to 20
///     (longest - 3) * 16 * u16   of the codes of 4, 5, ... bits: how many are of symbols of 1, 2, ... bytes
///     bytes                  the symbols: those with short codes first, among them the short ones
///
/// The codes follow from their lengths and this order, as in `CanonicalCode`. A compressed string has its
/// codes, the highest bit first, and then ones up to the end of a byte: these are too few for a code.
///
/// Files of earlier versions have tables that begin with 0, and count symbols of 1 to 8 bytes; these are only
/// read.
struct CodedSymbols {
  /// The most bytes of a symbol.
  static let longestSymbol = 16
  static let shortest = 4
  static let lengths = 8...CanonicalCode.longest
  static let mostSymbols = 1 << 16

  let count: Int
  let longest: Int
  private let counts: Counts
  /// The first symbol; 16 bytes may be read from the beginning of each: the head of the strings follows the
  /// last one, and 8 bytes the segment.
  let bytes: UnsafeRawPointer

  /// The first byte of tables of earlier versions, and the most bytes of their symbols.
  private static let earlierForm: UInt8 = 0
  private static let earlierLongestSymbol = 8

  /// The most bytes of a symbol in a table that begins with that byte; nil when it is no such table.
  static func sizes(form: UInt8) -> Int? {
    if form == earlierForm { return earlierLongestSymbol }
    return form == SymbolTable.Width.coded.rawValue ? longestSymbol : nil
  }

  /// - Parameters:
  ///   - reader: behind the form.
  ///   - sizes: see `sizes(form:)`.
  init(_ reader: inout ByteReader, sizes: Int) throws(DecodingFailure) {
    let start = reader.offset
    longest = Int(try reader.read(UInt8.self, "the longest code"))
    guard Self.lengths.contains(longest) else {
      throw DecodingFailure(what: "the longest code", offset: start)
    }
    let table = try reader.readBytes(
      Self.countBytes(longest: longest, sizes: sizes), "the code counts")
    guard let base = table.baseAddress else {
      throw DecodingFailure(what: "the code counts", offset: reader.offset)
    }
    let counts = Counts(base: base, sizes: sizes)
    var (symbols, length) = (0, 0)
    // The codes that are still free, counted in codes of the longest length. No prefix code has more.
    var room = 1 << longest
    var before = 0
    for bits in Self.shortest...longest {
      before = symbols
      let found = counts.sums(bits)
      symbols &+= found.symbols
      length &+= found.bytes
      room &-= found.symbols &<< (longest &- bits)
    }
    // With a code of the longest length, none of seven bits or fewer has only ones: see `isPadding`.
    guard room >= 0, symbols > before, symbols <= Self.mostSymbols else {
      throw DecodingFailure(what: "the code", offset: start)
    }
    guard let bytes = try reader.readBytes(length, "the symbols").baseAddress else {
      throw DecodingFailure(what: "the symbols", offset: reader.offset)
    }
    self.counts = counts
    self.bytes = bytes
    count = symbols
  }

  static func countBytes(longest: Int, sizes: Int) -> Int {
    2 &* sizes &* (longest &- shortest &+ 1)
  }

  /// How many symbols of each length have codes of each length.
  private struct Counts {
    let base: UnsafeRawPointer
    /// The most bytes of a symbol.
    let sizes: Int

    /// How many codes of `bits` bits are of symbols of `size` bytes.
    @inline(__always)
    subscript(bits: Int, size: Int) -> Int {
      let index = (bits &- shortest) &* sizes &+ size &- 1
      return Int(
        UInt16(littleEndian: base.loadUnaligned(fromByteOffset: 2 &* index, as: UInt16.self)))
    }

    /// How many codes of `bits` bits there are, and how many bytes their symbols have. Every string that is
    /// read by itself needs all of these, so four counts are added at a time.
    @inline(__always)
    func sums(_ bits: Int) -> (symbols: Int, bytes: Int) {
      let row = base + 2 &* (bits &- shortest) &* sizes
      var (symbols, bytes, first) = (0, 0, 0)
      while first < sizes {
        let word = UInt64(
          littleEndian: row.loadUnaligned(fromByteOffset: 2 &* first, as: UInt64.self))
        let odd = word &>> 16 & Self.every
        let pairs = (word & Self.every) &+ odd
        let second = Int(truncatingIfNeeded: pairs &>> 32)
        let all = Int(truncatingIfNeeded: pairs & UInt64(UInt32.max)) &+ second
        symbols &+= all
        // The first of the four once for each, and what the others are longer.
        let oddCount = Int(truncatingIfNeeded: (odd &>> 32) &+ (odd & UInt64(UInt32.max)))
        bytes &+= (first &+ 1) &* all &+ oddCount &+ 2 &* second
        first &+= 4
      }
      return (symbols, bytes)
    }

    /// The first and the third of four counts.
    private static let every: UInt64 = 0x0000_FFFF_0000_FFFF
  }

  /// Calls `body` with each symbol in the order of codes: its bytes in the low bytes of a word, with other
  /// bytes above them, and its length.
  func forEach(_ body: (_ word: UInt128, _ length: Int) -> Void) {
    var symbol = bytes
    for bits in Self.shortest...longest {
      for size in 1...counts.sizes {
        for _ in 0..<counts[bits, size] {
          body(UInt128(littleEndian: symbol.loadUnaligned(as: UInt128.self)), size)
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
      let (symbols, bytes) = counts.sums(bits)
      code &+= symbols
      rank &+= symbols
      offset &+= bytes
      found.end = UInt64(truncatingIfNeeded: code) &<< UInt64(truncatingIfNeeded: 32 &- bits)
      classes[bits &- Self.shortest] = found
      code &<<= 1
    }
  }

  /// A symbol by its place among those whose codes have that many bits, the first of which lies at `offset`.
  @inline(__always)
  private func symbol(_ place: Int, _ bits: Int, _ offset: Int) -> (word: UInt128, length: Int) {
    var (left, offset, size) = (place, offset, 1)
    while size < counts.sizes {
      let number = counts[bits, size]
      if left < number { break }
      left &-= number
      offset &+= number &* size
      size &+= 1
    }
    let word = bytes.loadUnaligned(fromByteOffset: offset &+ left &* size, as: UInt128.self)
    return (UInt128(littleEndian: word), size)
  }

  /// Calls `body` with the symbols of a compressed string.
  ///
  /// - Precondition: 8 bytes may be read behind the codes.
  /// - Returns: how many bits at the end are no code.
  @inline(__always)
  func forEachSymbol(
    _ codes: UnsafeRawBufferPointer, _ body: (_ word: UInt128, _ length: Int) -> Void
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
