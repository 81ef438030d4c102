/// Makes the number by which an index refers to a primary key: its *code*.
///
/// A key spelled as a short canonical integer has that integer as its code, so ascending identifiers fill an
/// index from left to right. Any other key has a hash of its bytes, keyed with random numbers of the table:
/// without these, keys that share a code cannot be constructed. Keys may still share one; a lookup compares
/// spellings.
///
/// Codes are between -2^62 and 2^60, so that the difference of any two fits into 63 bits.
package struct KeyCode: Sendable, Equatable {
  /// The lowest code of a hash; all integers are above the highest one.
  static let firstHash: Int64 = -(1 << 62)
  /// Longer integers are hashed: 18 digits stay below 2^60.
  static let integerDigits = 18
  /// Hashes of 40 bits give about one equal pair among a million and a half keys, and each further bit would
  /// lengthen every entry.
  package static let standardBits: UInt8 = 40
  package static let maximumBits: UInt8 = 60

  /// The secret of the hash.
  package let low: UInt64
  package let high: UInt64
  /// The number of bits of a hash.
  package let bits: UInt8

  /// - Precondition: 0 <= `bits` <= `maximumBits`.
  package init(low: UInt64, high: UInt64, bits: UInt8) {
    self.low = low
    self.high = high
    self.bits = min(bits, Self.maximumBits)
  }

  /// The codes of a table without a primary key.
  package static let none = KeyCode(low: 0, high: 0, bits: 0)

  package static func random(bits: UInt8 = standardBits) -> KeyCode {
    KeyCode(low: .random(in: 0 ... .max), high: .random(in: 0 ... .max), bits: bits)
  }

  /// The code of a spelling.
  ///
  /// - Complexity: O(length).
  @inline(__always)
  package func code(_ spelling: UnsafeRawBufferPointer) -> Int64 {
    if let integer = Self.integer(spelling) { return integer }
    let mask = (1 as UInt64) &<< UInt64(bits) &- 1
    return Self.firstHash &+ Int64(truncatingIfNeeded: hash(spelling) & mask)
  }

  /// The codes of integers, which are their own codes.
  static let integers: ClosedRange<Int64> = -999_999_999_999_999_999...999_999_999_999_999_999

  /// The codes of all other keys.
  var hashes: ClosedRange<Int64> {
    Self.firstHash...Self.firstHash + Int64((1 as UInt64) << UInt64(bits) - 1)
  }

  /// The integer spelled by up to 18 digits: no sign except a minus, no leading zeros, not `-0`.
  static func integer(_ spelling: UnsafeRawBufferPointer) -> Int64? {
    let isNegative = spelling.first == 0x2D
    let start = isNegative ? 1 : 0
    let digits = spelling.count - start
    guard digits >= 1, digits <= integerDigits else { return nil }
    if spelling[start] == 0x30, digits > 1 || isNegative { return nil }
    var value: Int64 = 0
    for index in start..<spelling.count {
      let digit = spelling[index] &- 0x30
      if digit > 9 { return nil }
      value = value &* 10 &+ Int64(digit)
    }
    return isNegative ? -value : value
  }

  /// SipHash-1-3 by Jean-Philippe Aumasson and Daniel J. Bernstein: without the secret, its 64 bits cannot be
  /// chosen.
  func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var state = SipState(low, high)
    var offset = 0
    while offset &+ 8 <= bytes.count {
      state.take(
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
      offset &+= 8
    }
    var last = UInt64(truncatingIfNeeded: bytes.count) &<< 56
    var shift: UInt64 = 0
    while offset < bytes.count {
      last |= UInt64(bytes[offset]) &<< shift
      shift &+= 8
      offset &+= 1
    }
    state.take(last)
    return state.finish()
  }
}

private struct SipState {
  private var v0: UInt64
  private var v1: UInt64
  private var v2: UInt64
  private var v3: UInt64

  @inline(__always)
  init(_ low: UInt64, _ high: UInt64) {
    v0 = 0x736F_6D65_7073_6575 ^ low
    v1 = 0x646F_7261_6E64_6F6D ^ high
    v2 = 0x6C79_6765_6E65_7261 ^ low
    v3 = 0x7465_6462_7974_6573 ^ high
  }

  @inline(__always)
  private static func rotate(_ value: UInt64, _ count: UInt64) -> UInt64 {
    (value &<< count) | (value &>> (64 &- count))
  }

  @inline(__always)
  private mutating func round() {
    v0 = v0 &+ v1
    v1 = Self.rotate(v1, 13) ^ v0
    v0 = Self.rotate(v0, 32)
    v2 = v2 &+ v3
    v3 = Self.rotate(v3, 16) ^ v2
    v0 = v0 &+ v3
    v3 = Self.rotate(v3, 21) ^ v0
    v2 = v2 &+ v1
    v1 = Self.rotate(v1, 17) ^ v2
    v2 = Self.rotate(v2, 32)
  }

  @inline(__always)
  mutating func take(_ word: UInt64) {
    v3 ^= word
    round()
    v0 ^= word
  }

  @inline(__always)
  mutating func finish() -> UInt64 {
    v2 ^= 0xFF
    round()
    round()
    round()
    return v0 ^ v1 ^ v2 ^ v3
  }
}
