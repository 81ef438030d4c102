/// The doubles of decimal numbers.
extension NumberSpelling {
  /// The double that is nearest to `mantissa` * 10^`exponent`, and even if there are two; nil where the
  /// exponent is too large for 64 bits.
  @inline(__always)
  static func nearestDouble(_ mantissa: UInt64, exponent: Int) -> Double? {
    exactDouble(mantissa, exponent: exponent) ?? roundedDouble(mantissa, exponent: exponent)
  }

  /// `mantissa` * 10^`exponent`, where both sides are exact doubles, so that one multiplication or division
  /// gives the correctly rounded result; see William Clinger, "How to read floating point numbers
  /// accurately".
  @inline(__always)
  static func exactDouble(_ mantissa: UInt64, exponent: Int) -> Double? {
    guard mantissa <= 1 << 53 else { return nil }
    return approximateDouble(mantissa, exponent: exponent)
  }

  /// `mantissa` * 10^`exponent`, wrong by less than one part in 2^51; nil when the power is not an exact
  /// double.
  @inline(__always)
  static func approximateDouble(_ mantissa: UInt64, exponent: Int) -> Double? {
    guard exponent >= -22, exponent <= 22 else { return nil }
    let value = Double(mantissa)
    return exponent < 0 ? value / powerOfTen(0 &- exponent) : value * powerOfTen(exponent)
  }

  /// The powers of five that fit into 63 bits.
  private static let largestExponent = 27

  /// The nearest double, from an exact product of 128 bits, or a quotient of 64 bits and its remainder.
  @inline(never)
  static func roundedDouble(_ mantissa: UInt64, exponent: Int) -> Double? {
    guard mantissa > 0, exponent >= -largestExponent, exponent <= largestExponent else {
      return nil
    }
    let shift = mantissa.leadingZeroBitCount
    let normal = mantissa &<< UInt64(truncatingIfNeeded: shift)
    let power = powerOfFive(exponent < 0 ? 0 &- exponent : exponent)
    // The number is `bits` * 2^`scale`, and a bit more if `hasRest`.
    let (bits, hasRest): (UInt64, Bool)
    var scale = exponent &- shift
    if exponent < 0 {
      let divisorShift = power.leadingZeroBitCount
      let divisor = power &<< UInt64(truncatingIfNeeded: divisorShift)
      // The upper half is less than the divisor, which has the highest bit.
      let (quotient, rest) = divisor.dividingFullWidth((normal &>> 1, normal &<< 63))
      (bits, hasRest) = (quotient, rest > 0)
      scale &+= divisorShift &- 63
    } else {
      let product = UInt128(normal) &* UInt128(power)
      let zeros = product.leadingZeroBitCount
      let shifted = product &<< UInt128(zeros)
      (bits, hasRest) = (
        UInt64(truncatingIfNeeded: shifted &>> 64), UInt64(truncatingIfNeeded: shifted) > 0
      )
      scale &+= 64 &- zeros
    }
    // At least 62 bits, of which a double has 53.
    let surplus = UInt64(truncatingIfNeeded: 11 &- bits.leadingZeroBitCount)
    let kept = bits &>> surplus
    let dropped = bits & (1 &<< surplus &- 1)
    let half = 1 &<< (surplus &- 1) as UInt64
    let isAbove = dropped > half || (dropped == half && (hasRest || kept & 1 == 1))
    // Far from the smallest and the largest double: the power is exact, and so is the product.
    let exponentBits = UInt64(truncatingIfNeeded: 1023 &+ scale &+ Int(surplus)) &<< 52
    return Double(kept &+ (isAbove ? 1 : 0)) * Double(bitPattern: exponentBits)
  }

  /// 5^`exponent` for 0 to 27.
  @inline(__always)
  private static func powerOfFive(_ exponent: Int) -> UInt64 {
    var result: UInt64 = exponent & 1 != 0 ? 5 : 1
    if exponent & 2 != 0 { result = result &* 25 }
    if exponent & 4 != 0 { result = result &* 625 }
    if exponent & 8 != 0 { result = result &* 390_625 }
    if exponent & 16 != 0 { result = result &* 152_587_890_625 }
    return result
  }

  /// 10^`exponent`, exact for 0 to 22.
  @inline(__always)
  private static func powerOfTen(_ exponent: Int) -> Double {
    // Both factors and their product are exact doubles.
    let low = Double(integerPowerOfTen(exponent & 15))
    return exponent >= 16 ? low * 1e16 : low
  }
}
