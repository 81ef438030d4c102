/// Makes the number by which a secondary index refers to a value: its *code*.
///
/// Codes keep the order of values, so that a range of values is a range of codes. They are shorter than
/// values, so several values may share one, and a lookup compares values.
///
/// - Nulls have the lowest code, NaN the next.
/// - Integers, booleans (0 and 1), days and microseconds (of times of day since midnight): the number itself
///   between -2^61 and 2^61; beyond these bounds, the distance from the bound, divided by four, is added to
///   it.
/// - Doubles: the bits of the number, made sortable (inverted for negative numbers, otherwise with the first
///   bit set), without the last two. -0 is 0.
/// - Decimals: the 62 highest bits of their comparison key (`WideNumber`).
/// - Text and bytes, and UUIDs as their 16 bytes: the first four as a number, with zeros behind short ones,
///   then 24 bits of a hash of all bytes. The hash is keyed with the index's own random numbers, so that
///   nobody can construct many texts that share a code.
///
/// Codes lie between -2^62 and 2^62 - 1, so that the difference of any two fits 63 bits.
package struct ValueCode: Sendable, Equatable {
  /// The code of nulls, below all others.
  package static let null: Int64 = KeyCode.firstHash
  package static let nan: Int64 = null + 1
  package static let highest: Int64 = -(KeyCode.firstHash + 1)
  /// Bits of a text's hash. Each further bit would lengthen every entry.
  package static let hashBits: UInt8 = 24
  static let prefixBytes = 4
  /// Integers up to here are their own codes.
  private static let plain: Int64 = 1 << 61

  /// The type and rules by which the column's values are read.
  package let reading: Reading
  package var type: ColumnType { reading.type }
  /// The secret of the hash.
  package let secret: KeyCode

  /// - Parameter secret: its two numbers are the secret.
  package init(_ reading: Reading, secret: KeyCode) {
    self.reading = reading
    self.secret = KeyCode(low: secret.low, high: secret.high, bits: Self.hashBits)
  }

  /// The code of a spelling or of null; nil when the spelling does not fit the type.
  ///
  /// - Complexity: O(length).
  package func code(_ spelling: UnsafeRawBufferPointer?) -> Int64? {
    guard let spelling else { return Self.null }
    switch type {
    case .text, .data: return code(ofText: spelling)
    case .double: return reading.double(spelling).map(Self.code)
    case .decimal, .uuid: return reading.wide(spelling).map { code($0) }
    case .int, .bool, .date, .dateTime, .time:
      return reading.integer(spelling).map { Self.code(ofInteger: $0) }
    }
  }

  package static func code(ofInteger number: Int64) -> Int64 {
    if number >= plain { return plain &+ (number &- plain) >> 2 }
    if number < -plain { return -plain &+ (number &+ plain) >> 2 }
    return number
  }

  package static func code(_ double: Double) -> Int64 {
    if double.isNaN { return nan }
    let bits = (double == 0 ? 0 : double).bitPattern
    let ordered = bits >> 63 == 0 ? bits | 1 << 63 : ~bits
    return Int64(truncatingIfNeeded: ordered >> 2)
  }

  /// The code of a decimal or a UUID, depending on the column's type.
  package func code(_ wide: WideNumber) -> Int64 {
    if type == .uuid { return wide.bytes.withUnsafeBytes(code(ofText:)) }
    // The digits of a decimal take 127 bits, of which 54 are kept; bounds of ranges may have more.
    let digits = min(wide.body >> 73, 1 << 54 - 1)
    return Int64(wide.head) << 54 | Int64(truncatingIfNeeded: digits)
  }

  /// The codes of decimals or UUIDs between two bounds, inclusive.
  package func codes(_ range: ClosedRange<WideNumber>) -> ClosedRange<Int64>? {
    if range.lowerBound == range.upperBound {
      let code = code(range.lowerBound)
      return code...code
    }
    if type == .uuid {
      // A bound whose `head` is not 0 is above all UUIDs.
      let high = range.upperBound.head == 0 ? range.upperBound.bytes : nil
      return Self.codes(ofTextsFrom: range.lowerBound.bytes, to: high)
    }
    return code(range.lowerBound)...code(range.upperBound)
  }

  package func code(ofText text: UnsafeRawBufferPointer) -> Int64 {
    let mask = (1 as UInt64) << UInt64(Self.hashBits) - 1
    return Self.first(text, filler: 0) | Int64(truncatingIfNeeded: secret.hash(text) & mask)
  }

  /// The codes of texts between two bounds, inclusive; nil when there are none.
  package static func codes(ofTextsFrom low: [UInt8]?, to high: [UInt8]?) -> ClosedRange<Int64>? {
    let first = low.map { Self.first($0, filler: 0) } ?? 0
    let last = high.map { Self.last($0, filler: 0) } ?? highest
    return first <= last ? first...last : nil
  }

  /// The codes that texts with a given prefix may have.
  package static func codes(ofPrefix prefix: [UInt8]) -> ClosedRange<Int64> {
    first(prefix, filler: 0)...last(prefix, filler: .max)
  }

  /// The lowest code of texts that begin with the same bytes.
  @inline(__always)
  private static func first(_ text: some Collection<UInt8>, filler: UInt8) -> Int64 {
    var (prefix, missing) = (0 as Int64, prefixBytes)
    for byte in text.prefix(prefixBytes) {
      prefix = prefix << 8 | Int64(byte)
      missing -= 1
    }
    while missing > 0 {
      prefix = prefix << 8 | Int64(filler)
      missing -= 1
    }
    return prefix << Int64(hashBits)
  }

  private static func last(_ text: some Collection<UInt8>, filler: UInt8) -> Int64 {
    first(text, filler: filler) | ((1 as Int64) << Int64(hashBits) - 1)
  }
}
