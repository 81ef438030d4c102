import Base

/// Strings of one to eight bytes, each with a code. After Peter Boncz, Thomas Neumann and Viktor Leis, "FSST:
/// Fast Random Access String Compression" (VLDB 2020).
///
///     u8       codeBits   8 or 12
///     8 * u16  how many symbols have 1, 2, ... 8 bytes
///     bytes    the symbols, the short ones first; their codes ascend in this order
///
/// Codes of 8 bits, as in the paper, count from 0 to 254 at most; 255 is an escape: the byte behind it stands
/// for itself. Codes of 12 bits, for long columns: those below 256 are bytes that stand for themselves,
/// symbols follow up to 4095; two codes lie in three bytes, the first one in the low bits, and a last one
/// without a neighbour in two.
///
/// Prefix codes took the place of those of 12 bits, which are only read; symbols with prefix codes have up to
/// 16 bytes: see `CodedSymbols`.
///
/// Each compressed string can be read without the others.
struct SymbolTable {
  enum Width: UInt8, Sendable {
    case narrow = 8
    case wide = 12
    case coded = 16

    var maximumCount: Int {
      switch self {
      case .narrow: 255
      case .wide: 4096 - 256
      case .coded: 16_384 - 256
      }
    }
    /// The first symbol's code; with prefix codes, its number in a matcher.
    var base: Int { self == .narrow ? 0 : 256 }
    /// The most bytes of a symbol.
    var longestSymbol: Int {
      self == .coded ? CodedSymbols.longestSymbol : SymbolTable.longestSymbol
    }
  }

  static let escape: UInt8 = 255
  /// The most bytes of a symbol whose code has as many bits as all.
  static let longestSymbol = 8

  let width: Width
  /// The first symbol; eight bytes may be read from the beginning of each.
  private let bytes: UnsafeRawPointer
  /// For lengths 1 to 8: the code after the last symbol of that length, and where the next length begins.
  private let ends: SIMD8<UInt32>
  private let offsets: SIMD8<UInt32>
  /// The table, if its codes are prefix codes.
  let coded: CodedSymbols?

  init(_ reader: inout ByteReader) throws(DecodingFailure) {
    let start = reader.offset
    let form = try reader.read(UInt8.self, "the width of codes")
    if let sizes = CodedSymbols.sizes(form: form) {
      let coded = try CodedSymbols(&reader, sizes: sizes)
      (width, self.coded) = (.coded, coded)
      (bytes, ends, offsets) = (UnsafeRawPointer(coded.bytes), SIMD8(), SIMD8())
      return
    }
    guard let width = Width(rawValue: form) else {
      throw DecodingFailure(what: "the width of codes", offset: start)
    }
    coded = nil
    var ends = SIMD8<UInt32>()
    var offsets = SIMD8<UInt32>()
    var count: UInt32 = 0
    var length: UInt32 = 0
    for index in 0..<Self.longestSymbol {
      let symbols = UInt32(try reader.read(UInt16.self, "the number of symbols"))
      count &+= symbols
      length &+= symbols &* UInt32(index + 1)
      ends[index] = count &+ UInt32(width.base)
      offsets[index] = length
    }
    guard Int(count) <= width.maximumCount else {
      throw DecodingFailure(what: "the number of symbols", offset: reader.offset)
    }
    guard let bytes = try reader.readBytes(Int(length), "the symbols").baseAddress else {
      throw DecodingFailure(what: "the symbols", offset: reader.offset)
    }
    self.width = width
    self.bytes = bytes
    self.ends = ends
    self.offsets = offsets
  }

  static let headerSize = 1 + 2 * longestSymbol

  /// The code behind the last symbol's.
  var end: Int { Int(ends[7]) }

  /// A code's symbol in the low bytes of a word, with other bytes above it; of length 0 for codes without a
  /// symbol, such as an escape.
  @inline(__always)
  func symbol(_ code: Int) -> (word: UInt64, length: Int) {
    if code < width.base { return (UInt64(truncatingIfNeeded: code), 1) }
    var index = 0
    while index < Self.longestSymbol, Int(ends[index]) <= code { index &+= 1 }
    guard index < Self.longestSymbol else { return (0, 0) }
    let firstCode = index == 0 ? width.base : Int(ends[index &- 1])
    let start = index == 0 ? 0 : Int(offsets[index &- 1])
    let offset = start &+ (code &- firstCode) &* (index &+ 1)
    let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    return (UInt64(littleEndian: word), index &+ 1)
  }

  /// The code of 12 bits at a position of a compressed string.
  @inline(__always)
  static func wideCode(_ codes: UnsafeRawBufferPointer, _ position: Int) -> Int {
    let byte = (position &* 3) &>> 1
    let low = Int(codes[byte])
    let high = Int(codes[byte &+ 1])
    return position & 1 == 0 ? low | (high & 15) &<< 8 : low &>> 4 | high &<< 4
  }

  /// How many codes of 12 bits lie in that many bytes.
  @inline(__always)
  static func wideCount(_ bytes: Int) -> Int { bytes &* 2 / 3 }

  /// No byte of codes stands for more bytes of text.
  var mostBytesOfByte: Int { width == .coded ? 2 * width.longestSymbol : Self.longestSymbol }

  /// At least the length of a compressed string's text in bytes: of a long one exactly that, which takes
  /// longer to find, but no damaged one asks for much memory then.
  func room(_ codes: UnsafeRawBufferPointer) -> Int {
    hasRoughRoom(codes) ? codes.count &* mostBytesOfByte : decodedCount(codes)
  }

  /// True when `room` is only an upper bound.
  @inline(__always)
  func hasRoughRoom(_ codes: UnsafeRawBufferPointer) -> Bool { codes.count <= 1 << 16 }

  /// The length of a compressed string's text in bytes.
  func decodedCount(_ codes: UnsafeRawBufferPointer) -> Int {
    var total = 0
    forEachSymbol(codes) { _, length in total &+= length }
    return total
  }

  /// Writes the text of a compressed string, and returns its length.
  ///
  /// - Precondition: `target` has room for `decodedCount` bytes and 16 more.
  func decode(_ codes: UnsafeRawBufferPointer, to target: UnsafeMutableRawPointer) -> Int {
    var total = 0
    forEachSymbol(codes) { word, length in
      target.storeBytes(of: word.littleEndian, toByteOffset: total, as: UInt128.self)
      total &+= length
    }
    return total
  }

  /// Damaged strings may end with an escape, which is ignored.
  @inline(__always)
  private func forEachSymbol(
    _ codes: UnsafeRawBufferPointer, _ body: (_ word: UInt128, _ length: Int) -> Void
  ) {
    if let coded {
      _ = coded.forEachSymbol(codes, body)
      return
    }
    if width == .wide {
      for position in 0..<Self.wideCount(codes.count) {
        let (word, length) = symbol(Self.wideCode(codes, position))
        body(UInt128(word), length)
      }
      return
    }
    var index = 0
    while index < codes.count {
      if codes[index] == Self.escape {
        index &+= 1
        if index < codes.count { body(UInt128(codes[index]), 1) }
      } else {
        let (word, length) = symbol(Int(codes[index]))
        body(UInt128(word), length)
      }
      index &+= 1
    }
  }

  /// True when every code has a symbol, every escape a byte, and no bits are left over.
  func areCodes(_ codes: UnsafeRawBufferPointer) -> Bool {
    if let coded { return coded.areCodes(codes) }
    if width == .wide {
      let isLeftOver = codes.count % 3 == 1 || (codes.count % 3 == 2 && (codes.last ?? 0) > 15)
      return !isLeftOver
        && (0..<Self.wideCount(codes.count)).allSatisfy { Self.wideCode(codes, $0) < end }
    }
    var index = 0
    while index < codes.count {
      if codes[index] == Self.escape {
        index &+= 1
        if index == codes.count { return false }
      } else if Int(codes[index]) >= end {
        return false
      }
      index &+= 1
    }
    return true
  }
}
