/// A UUID: 128 bits that anybody can generate; see RFC 9562.
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
    var (start, end) = (0, spelling.count)
    if end == 45, spelling.part(0..<9).bytes.elementsEqual("urn:uuid:".utf8) { start = 9 }
    if end == 38 || end == 34, spelling[0] == 0x7B, spelling[end - 1] == 0x7D {
      (start, end) = (1, end - 1)
    }
    let hasHyphens = end - start == hyphenatedLength
    guard hasHyphens || end - start == 32 else { return nil }
    var bits: UInt128 = 0
    for place in 0..<end - start {
      let byte = spelling[start + place]
      if hasHyphens, hyphens.contains(place) {
        guard byte == 0x2D else { return nil }
        continue
      }
      guard let digit = digit(byte) else { return nil }
      bits = bits << 4 | UInt128(digit)
    }
    return UniqueIdentifier(bits: bits)
  }

  static let hyphenatedLength = 36
  private static let hyphens = [8, 13, 18, 23]

  private static func digit(_ byte: UInt8) -> UInt8? {
    if byte &- 0x30 < 10 { return byte &- 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
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
