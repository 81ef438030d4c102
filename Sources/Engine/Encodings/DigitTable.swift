import Base

/// A table of few symbols, one byte each, with codes of 1, 2 or 4 bits, and of bytes that are the same at one
/// place of every string: for identifiers, hashes and long numbers of decimal or hexadecimal digits, with the
/// dashes between them.
///
///     u8       codeBits      1, 2 or 4
///     u8       symbolCount   1 to 2^codeBits
///     bytes    the symbols, ascending; their codes are 0, 1, ...
///     u8       literalCount  0 to 64
///     literalCount * (u16 place, u8 byte), places ascending
///
/// `PackedStrings` of codes instead of bytes follow. A string without codes is empty. Any other string
/// contains the literal number i (from 0), at place p, if it has at least p - i codes: these come before the
/// literal.
struct DigitTable {
  static let mostLiterals = 64

  let bits: Int
  let symbolCount: Int
  let literalCount: Int
  private let symbols: UnsafeRawPointer
  private let literals: UnsafeRawPointer

  /// - Parameter bits: the first byte, which identifies this kind of table.
  static func isWidth(_ bits: UInt8) -> Bool { bits == 1 || bits == 2 || bits == 4 }

  init(_ reader: inout ByteReader) throws(DecodingFailure) {
    let start = reader.offset
    let bits = try reader.read(UInt8.self, "the width of codes")
    guard Self.isWidth(bits) else {
      throw DecodingFailure(what: "the width of codes", offset: start)
    }
    self.bits = Int(bits)
    symbolCount = Int(try reader.read(UInt8.self, "the number of symbols"))
    let symbolBytes = try reader.readBytes(symbolCount, "the symbols")
    literalCount = Int(try reader.read(UInt8.self, "the number of literals"))
    let literalBytes = try reader.readBytes(3 * literalCount, "the literals")
    guard let symbols = symbolBytes.baseAddress, let literals = literalBytes.baseAddress,
      symbolCount >= 1, symbolCount <= 1 << self.bits, literalCount <= Self.mostLiterals
    else {
      throw DecodingFailure(what: "the number of symbols", offset: start)
    }
    self.symbols = symbols
    self.literals = literals
    for index in 1..<max(1, symbolCount) where symbolBytes[index - 1] >= symbolBytes[index] {
      throw DecodingFailure(what: "the order of symbols", offset: start)
    }
    for index in 1..<max(1, literalCount) where literal(index - 1).place >= literal(index).place {
      throw DecodingFailure(what: "the order of literals", offset: start)
    }
  }

  /// A code's symbol; zero for codes without one.
  @inline(__always)
  func symbol(_ code: Int) -> UInt8 {
    code < symbolCount ? symbols.load(fromByteOffset: code, as: UInt8.self) : 0
  }

  @inline(__always)
  func literal(_ index: Int) -> (place: Int, byte: UInt8) {
    let place = literals.loadUnaligned(fromByteOffset: 3 &* index, as: UInt16.self)
    return (
      Int(UInt16(littleEndian: place)),
      literals.load(fromByteOffset: 3 &* index &+ 2, as: UInt8.self)
    )
  }

  /// How many codes precede a literal.
  @inline(__always)
  func codesBefore(_ index: Int) -> Int { literal(index).place &- index }

  /// How many bytes a string with this many codes has.
  func decodedCount(_ codes: Int) -> Int {
    if codes == 0 { return 0 }
    var index = 0
    while index < literalCount, codesBefore(index) <= codes { index &+= 1 }
    return codes &+ index
  }

  @inline(__always)
  func code(_ base: UnsafeRawPointer, _ index: Int) -> Int {
    let bit = index &* bits
    let byte = base.load(fromByteOffset: bit &>> 3, as: UInt8.self)
    return Int(byte &>> UInt8(truncatingIfNeeded: bit & 7)) & (1 &<< bits &- 1)
  }

  /// Writes the bytes of the string whose codes `span` names, and returns how many there are.
  /// `DigitDecoder` writes many strings for less.
  ///
  /// - Precondition: `target` has room for `decodedCount` bytes.
  func decode(
    _ base: UnsafeRawPointer, _ span: TextSpan, to target: UnsafeMutableRawPointer
  ) -> Int {
    let (first, count) = (Int(span.offset), Int(span.length))
    if count == 0 { return 0 }
    var (output, literal) = (0, 0)
    for index in 0...count {
      while literal < literalCount, codesBefore(literal) == index {
        target.storeBytes(of: self.literal(literal).byte, toByteOffset: output, as: UInt8.self)
        literal &+= 1
        output &+= 1
      }
      if index == count { break }
      let symbol = symbol(code(base, first &+ index))
      target.storeBytes(of: symbol, toByteOffset: output, as: UInt8.self)
      output &+= 1
    }
    return output
  }

  /// Calls `use` with the bytes of a string.
  @inline(__always)
  func withBytes<Result, Failure: Error>(
    _ base: UnsafeRawPointer, _ span: TextSpan,
    _ use: (UnsafeRawBufferPointer?) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let count = decodedCount(Int(span.length))
    var room: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
      (0, 0, 0, 0, 0, 0, 0, 0)
    if count <= MemoryLayout.size(ofValue: room) {
      return try withUnsafeMutableBytes(of: &room) { (bytes) throws(Failure) -> Result in
        guard let target = bytes.baseAddress else { return try use(nil) }
        let count = decode(base, span, to: target)
        return try use(UnsafeRawBufferPointer(start: target, count: count))
      }
    }
    let target = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
    defer { target.deallocate() }
    return try use(UnsafeRawBufferPointer(start: target, count: decode(base, span, to: target)))
  }

  /// True when each of the first `count` codes has a symbol.
  func areCodes(_ base: UnsafeRawPointer, count: Int) -> Bool {
    symbolCount == 1 &<< bits || (0..<count).allSatisfy { code(base, $0) < symbolCount }
  }
}

/// A table expanded for decoding many strings; reused for the next column.
struct DigitDecoder: ~Copyable {
  /// The symbols of all codes in a byte, the first one lowest.
  private var words = Scratch<UInt64>(capacity: 0)
  private var digits = Scratch<UInt8>(capacity: 0)
  private var bits = 0

  mutating func load(_ table: DigitTable) {
    bits = table.bits
    let words = words.reserve(256)
    for byte in 0..<256 {
      var word: UInt64 = 0
      for place in 0..<(8 / bits) {
        let code = byte &>> (place &* bits) & (1 &<< bits &- 1)
        word |= UInt64(table.symbol(code)) &<< UInt64(8 &* place)
      }
      words[byte] = word
    }
  }

  /// Like `DigitTable.decode`, with a load for each byte of codes.
  ///
  /// - Precondition: `load` was called with the table; `target` has room for `decodedCount` bytes
  ///   and 16 more; 8 bytes may be read behind the codes.
  @inline(__always)
  mutating func decode(
    _ table: DigitTable, _ base: UnsafeRawPointer, _ span: TextSpan,
    to target: UnsafeMutableRawPointer
  ) -> Int {
    let count = Int(span.length)
    if count == 0 { return 0 }
    if table.literalCount == 0 {
      unfold(base, Int(span.offset), count, to: target)
      return count
    }
    let room = UnsafeMutableRawPointer(digits.reserve(count &+ 32))
    unfold(base, Int(span.offset), count, to: room)
    var (source, output, literal) = (0, 0, 0)
    while literal < table.literalCount {
      let before = table.codesBefore(literal)
      if before > count { break }
      copy(room + source, before &- source, to: target + output)
      output &+= before &- source
      source = before
      target.storeBytes(of: table.literal(literal).byte, toByteOffset: output, as: UInt8.self)
      output &+= 1
      literal &+= 1
    }
    copy(room + source, count &- source, to: target + output)
    return output &+ count &- source
  }

  /// Copies in pieces of eight bytes; up to seven more are written.
  @inline(__always)
  private func copy(
    _ source: UnsafeMutableRawPointer, _ count: Int, to target: UnsafeMutableRawPointer
  ) {
    var offset = 0
    while offset < count {
      target.storeBytes(
        of: source.loadUnaligned(fromByteOffset: offset, as: UInt64.self), toByteOffset: offset,
        as: UInt64.self)
      offset &+= 8
    }
  }

  /// Writes the symbols of codes, and up to 15 bytes more.
  @inline(__always)
  private func unfold(
    _ base: UnsafeRawPointer, _ first: Int, _ count: Int, to target: UnsafeMutableRawPointer
  ) {
    let words = words.pointer
    let bit = first &* bits
    let shift = UInt64(truncatingIfNeeded: bit & 7)
    var source = base + bit &>> 3
    if bits == 4, shift == 0 {
      var output = 0
      while output < count {
        let codes = UInt64(littleEndian: source.loadUnaligned(as: UInt64.self))
        for byte in 0..<8 {
          let pair = words[Int(truncatingIfNeeded: codes &>> UInt64(8 &* byte) & 0xFF)]
          target.storeBytes(
            of: UInt16(truncatingIfNeeded: pair).littleEndian, toByteOffset: output &+ 2 &* byte,
            as: UInt16.self)
        }
        output &+= 16
        source += 8
      }
      return
    }
    let each = 8 / bits
    var output = 0
    while output < count {
      // Two bytes, since the codes may begin inside the first.
      let both = UInt64(UInt16(littleEndian: source.loadUnaligned(as: UInt16.self)))
      let word = words[Int(truncatingIfNeeded: both &>> shift & 0xFF)]
      target.storeBytes(of: word.littleEndian, toByteOffset: output, as: UInt64.self)
      output &+= each
      source += 1
    }
  }
}
