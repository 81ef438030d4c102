/// A UUID: 128 bits that anyone can generate; see RFC 9562.
///
/// Thread rule: a plain value, `Sendable`.
public struct UniqueIdentifier: Sendable, Hashable {
  /// The 16 bytes as a number, the first one highest.
  public let bits: UInt128

  /// The identifier with these bits.
  public init(bits: UInt128) { self.bits = bits }

  /// The identifier that a text spells: 32 hexadecimal digits in any case, with or without hyphens
  /// (`f81d4fae-7dec-11d0-a765-00a0c91e6bf6`), in braces, or behind `urn:uuid:`; nil for all other texts.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { Self.parse(SpellingView(UnsafeRawBufferPointer($0))) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// The 16 bytes, in their order.
  public var bytes: [UInt8] { withUnsafeBytes(of: bits.bigEndian, Array.init) }

  static func parse(_ spelling: SpellingView) -> UniqueIdentifier? {
    guard let words = digits(spelling) else { return nil }
    let high = eightDigits(words.0) &<< 32 | eightDigits(words.1)
    let low = eightDigits(words.2) &<< 32 | eightDigits(words.3)
    return UniqueIdentifier(bits: UInt128(high) &<< 64 | UInt128(low))
  }

  /// Whether the spelling is that of an identifier, without making it.
  static func isSpelled(_ spelling: SpellingView) -> Bool { digits(spelling) != nil }

  /// The 32 digits in four words; between them lie hyphens, or nothing. Nil for all other texts.
  @inline(__always)
  private static func digits(_ spelling: SpellingView) -> (UInt64, UInt64, UInt64, UInt64)? {
    var (start, end) = (0, spelling.count)
    if end == 45, spelling.part(0..<9).bytes.elementsEqual("urn:uuid:".utf8) { start = 9 }
    if end == 38 || end == 34, spelling[0] == 0x7B, spelling[end - 1] == 0x7D {
      (start, end) = (1, end - 1)
    }
    let words: (UInt64, UInt64, UInt64, UInt64)
    switch end - start {
    case hyphenatedLength:
      // Not `hyphens`: an array costs more here than all the rest.
      guard spelling[start + 8] == 0x2D, spelling[start + 13] == 0x2D,
        spelling[start + 18] == 0x2D, spelling[start + 23] == 0x2D
      else { return nil }
      words = (
        spelling.fullWord(at: start), halves(spelling, start + 9, start + 14),
        halves(spelling, start + 19, start + 24), spelling.fullWord(at: start + 28)
      )
    case 32:
      words = (
        spelling.fullWord(at: start), spelling.fullWord(at: start + 8),
        spelling.fullWord(at: start + 16), spelling.fullWord(at: start + 24)
      )
    default: return nil
    }
    return areDigits(words) ? words : nil
  }

  static let hyphenatedLength = 36
  private static let hyphens = [8, 13, 18, 23]

  /// Four bytes from each of two places, the first ones lowest.
  ///
  /// - Precondition: eight bytes from each place belong to the spelling.
  @inline(__always)
  private static func halves(_ spelling: SpellingView, _ first: Int, _ second: Int) -> UInt64 {
    spelling.fullWord(at: first) & 0xFFFF_FFFF | spelling.fullWord(at: second) &<< 32
  }

  /// True when all bytes are hexadecimal digits, in any case.
  @inline(__always)
  private static func areDigits(_ words: (UInt64, UInt64, UInt64, UInt64)) -> Bool {
    let first = HexBlock(unsafeBitCast(SIMD2(words.0, words.1), to: HexBlock.Bytes.self))
    let second = HexBlock(unsafeBitCast(SIMD2(words.2, words.3), to: HexBlock.Bytes.self))
    return HexBlock.areAll(first.areDigits & second.areDigits)
  }

  /// The value of eight hexadecimal digits, the first one in the lowest byte.
  @inline(__always)
  private static func eightDigits(_ word: UInt64) -> UInt64 {
    let letters = (word &>> 6) & 0x0101_0101_0101_0101
    var value = ((word & 0x0F0F_0F0F_0F0F_0F0F) &+ letters &* 9).byteSwapped
    value = (value | value &>> 4) & 0x00FF_00FF_00FF_00FF
    value = (value | value &>> 8) & 0x0000_FFFF_0000_FFFF
    return (value | value &>> 16) & 0xFFFF_FFFF
  }

  /// The bytes of the description.
  var spelling: [UInt8] {
    var spelling: [UInt8] = []
    for byte in bytes {
      for digit in [byte >> 4, byte & 15] {
        if Self.hyphens.contains(spelling.count) { spelling.append(0x2D) }
        spelling.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
      }
    }
    return spelling
  }
}

extension UniqueIdentifier: Comparable, CustomStringConvertible {
  /// True for the identifier whose bytes come first.
  public static func < (left: Self, right: Self) -> Bool { left.bits < right.bits }

  /// 32 lower-case hexadecimal digits in groups of 8, 4, 4, 4 and 12, with hyphens between them.
  public var description: String { String(decoding: spelling, as: UTF8.self) }
}
