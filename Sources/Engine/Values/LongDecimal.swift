import Base

/// Tells whether a number with more digits than a double needs is a program's output of a double.
///
/// 17 significant digits identify every double, and zeros at the end add nothing. `numpy.savetxt` prints 19
/// digits, and `%.20f` more; the digits behind the 17th are then the double's own. An identifier with a point
/// in it, or an exactly computed amount, has other digits there.
enum LongDecimal {
  /// All further digits of a double are zeros.
  private static let mostDigits = 800

  /// True when the digits are those of the nearest double, rounded to their number.
  ///
  /// - Parameters:
  ///   - parts: the parts of the spelling, which has a point or an exponent, and a digit other than zero.
  /// - Complexity: O(digits), and O(digits²) beyond 19.
  static func isDouble(_ parts: NumberSpelling.Parts, _ spelling: SpellingView) -> Bool {
    if parts.significantDigits - zerosAtEnd(spelling) <= 17 { return true }
    guard parts.significantDigits <= mostDigits,
      let value = NumberSpelling.double(parts, spelling)?.magnitude, value > 0
    else { return false }
    if parts.significantDigits <= 19,
      let answer = isDouble(mantissa: parts.mantissa, exponent: parts.exponent, value)
    {
      return answer
    }
    return hasDigits(of: value, count: parts.significantDigits, spelling)
  }

  /// Like `isDouble` of a spelling, for a canonical decimal with a digit behind the point and 18 or 19 in
  /// all.
  static func isDouble(_ number: ScaledNumber) -> Bool {
    withUnsafeTemporaryAllocation(byteCount: NumberSpelling.capacity, alignment: 8) { room in
      guard let base = room.baseAddress else { return false }
      let count = NumberSpelling.write(number, to: base)
      let spelling = SpellingView(UnsafeRawBufferPointer(start: base, count: count))
      return NumberSpelling.scan(spelling).map { isDouble($0, spelling) } ?? false
    }
  }

  /// Whether `mantissa` * 10^`exponent` is a double to the last digit, computed in 128 bits; nil when these
  /// do not suffice.
  private static func isDouble(mantissa: UInt64, exponent: Int, _ value: Double) -> Bool? {
    // The double is `fraction` / 2^`shift`, and the mantissa should be that times 10^-`exponent`, rounded.
    let fraction = value.significandBitPattern | 1 << UInt64(Double.significandBitCount)
    let shift = Double.significandBitCount - Int(value.exponent)
    guard value.isNormal, exponent <= 0, exponent >= -22, shift > 0, shift < 127 else { return nil }
    var product = UInt128(fraction)
    for _ in 0..<(0 - exponent) { product *= 10 }
    let quotient = product >> UInt128(shift)
    let rest = product & (1 << UInt128(shift) - 1)
    let half = 1 << UInt128(shift - 1) as UInt128
    return UInt128(mantissa) == quotient && rest <= half
      || UInt128(mantissa) == quotient + 1 && rest >= half
  }

  /// Zeros at the end of the digits.
  private static func zerosAtEnd(_ spelling: SpellingView) -> Int {
    let digits = spelling.bytes.prefix { $0 | 0x20 != 0x65 }
    return digits.reversed().prefix { $0 == 0x30 || $0 == 0x2E }.count { $0 == 0x30 }
  }

  private static func hasDigits(of value: Double, count: Int, _ spelling: SpellingView) -> Bool {
    let printed = System.digits(of: value, count: count)
    var next = 0
    for byte in spelling.bytes {
      if byte | 0x20 == 0x65 { break }
      guard byte &- 0x30 < 10, next > 0 || byte != 0x30 else { continue }
      guard next < printed.count, printed[next] == byte else { return false }
      next += 1
    }
    return next == printed.count
  }
}
