/// Sixteen bytes, and which of them are digits: hexadecimal ones, or decimal ones up to some digit.
///
/// Only compares vectors, which all processors can.
struct HexBlock {
  typealias Bytes = SIMD16<UInt8>

  /// The value of each byte that is a digit; anything for the others.
  let values: Bytes
  /// 0xFF for each byte that is a digit, 0 for the others.
  let areDigits: Bytes

  /// - Parameter letter: the letter of the digit 10, in the only case that counts: `a` or `A`.
  @inline(__always)
  init(_ bytes: Bytes, letter: UInt8) {
    self.init(numerals: bytes, letters: bytes, letter)
  }

  /// Takes letters of both cases.
  @inline(__always)
  init(_ bytes: Bytes) {
    self.init(numerals: bytes, letters: bytes | Bytes(repeating: 0x20), 0x61)
  }

  /// Takes the first decimal digits.
  ///
  /// - Parameter count: how many of them, from 0 on.
  @inline(__always)
  init(_ bytes: Bytes, decimals count: UInt8) {
    values = bytes &- Bytes(repeating: 0x30)
    areDigits = Self.ones(values .< Bytes(repeating: count))
  }

  @inline(__always)
  private init(numerals: Bytes, letters: Bytes, _ letter: UInt8) {
    let numeral = numerals &- Bytes(repeating: 0x30)
    let rank = letters &- Bytes(repeating: letter)
    let isLetter = rank .< Bytes(repeating: 6)
    values = numeral.replacing(with: rank &+ Bytes(repeating: 10), where: isLetter)
    areDigits = Self.ones((numeral .< Bytes(repeating: 10)) .| isLetter)
  }

  /// The sixteen values, 4 bits each, the first one lowest.
  @inline(__always)
  var packed: UInt64 {
    let words = unsafeBitCast(values, to: SIMD2<UInt64>.self)
    return Self.packed(UInt64(littleEndian: words[0]))
      | Self.packed(UInt64(littleEndian: words[1])) &<< 32
  }

  @inline(__always)
  private static func packed(_ eight: UInt64) -> UInt64 {
    let pairs = (eight | eight &>> 4) & 0x00FF_00FF_00FF_00FF
    let fours = (pairs | pairs &>> 8) & 0x0000_FFFF_0000_FFFF
    return (fours | fours &>> 16) & 0xFFFF_FFFF
  }

  /// A mask of SIMD16 is sixteen bytes of 0x00 or 0xFF: the cast only reinterprets them.
  @inline(__always)
  static func ones(_ mask: SIMDMask<SIMD16<Int8>>) -> Bytes { unsafeBitCast(mask, to: Bytes.self) }

  /// True when all sixteen bytes are 0xFF.
  @inline(__always)
  static func areAll(_ marks: Bytes) -> Bool {
    let words = unsafeBitCast(marks, to: SIMD2<UInt64>.self)
    return words[0] & words[1] == .max
  }
}
