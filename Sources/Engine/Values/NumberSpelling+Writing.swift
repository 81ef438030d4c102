/// Writes canonical numbers, several digits at a time, without branches on their lengths where these differ
/// from row to row.
extension NumberSpelling {
  /// Writes a decimal integer and returns its length.
  ///
  /// - Precondition: `capacity` bytes may be written at `target`; those past the length are garbage.
  @inline(__always)
  static func write(_ value: Int64, to target: UnsafeMutableRawPointer) -> Int {
    var length = 0
    if value < 0 {
      target.storeBytes(of: 0x2D, as: UInt8.self)
      length = 1
    }
    return length &+ write(value.magnitude, to: target + length)
  }

  @inline(__always)
  private static func write(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
    if value < 100_000_000 { return writeUnpadded(value, to: target) }
    return writeLarge(value, to: target)
  }

  @inline(__always)
  private static func writeLarge(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
    let (high, low) = value.quotientAndRemainder(dividingBy: 100_000_000)
    let length =
      high < 100_000_000 ? writeUnpadded(high, to: target) : writeLargest(high, to: target)
    store(digits(low) | 0x3030_3030_3030_3030, to: target + length)
    return length &+ 8
  }

  /// The digits of a value of 17 to 20 digits without its last eight.
  @inline(never)
  private static func writeLargest(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
    let (high, low) = value.quotientAndRemainder(dividingBy: 100_000_000)
    let length = writeUnpadded(high, to: target)
    store(digits(low) | 0x3030_3030_3030_3030, to: target + length)
    return length &+ 8
  }

  @inline(__always)
  private static func writeUnpadded(_ value: UInt64, to target: UnsafeMutableRawPointer) -> Int {
    let digits = digits(value)
    let zeros = min(digits.trailingZeroBitCount, 56) & ~7
    store((digits | 0x3030_3030_3030_3030) &>> UInt64(truncatingIfNeeded: zeros), to: target)
    return 8 &- zeros &>> 3
  }

  @inline(__always)
  private static func store(_ word: UInt64, to target: UnsafeMutableRawPointer) {
    target.storeBytes(of: word.littleEndian, as: UInt64.self)
  }

  /// The eight digits (0 to 9 each) of a value below 10^8, the first one in the lowest byte.
  @inline(__always)
  private static func digits(_ value: UInt64) -> UInt64 {
    let (high, low) = value.quotientAndRemainder(dividingBy: 10_000)
    let halves = high | low &<< 32
    let hundreds = ((halves &* 10_486) &>> 20) & 0x0000_007F_0000_007F
    let pairs = ((halves &- hundreds &* 100) &<< 16) &+ hundreds
    let tens = ((pairs &* 103) &>> 10) & 0x000F_000F_000F_000F
    return tens &+ ((pairs &- tens &* 10) &<< 8)
  }

  /// Writes a number with exactly `scale` digits after the point (none and no point for 0) and
  /// returns its length.
  ///
  /// - Precondition: `capacity` bytes may be written at `target`.
  @inline(__always)
  static func write(_ number: ScaledNumber, to target: UnsafeMutableRawPointer) -> Int {
    if number.scale == 0 { return write(number.mantissa, to: target) }
    var length = 0
    if number.mantissa < 0 {
      target.storeBytes(of: 0x2D, as: UInt8.self)
      length = 1
    }
    // A file may contain a larger scale: it is limited, so that nothing is written past the reserved bytes.
    let scale = min(Int(number.scale), ScaledNumber.maximumScale)
    let magnitude = number.mantissa.magnitude
    if scale <= 8, magnitude < 10_000_000_000_000_000 {
      return length &+ write(magnitude, scale: scale, trims: false, to: target + length)
    }
    let (whole, fraction) = magnitude.quotientAndRemainder(dividingBy: integerPowerOfTen(scale))
    length &+= write(whole, to: target + length)
    target.storeBytes(of: 0x2E, toByteOffset: length, as: UInt8.self)
    length &+= 1
    writePadded(fraction, digits: scale, to: target + length)
    return length &+ scale
  }

  /// Writes `mantissa` / 10^`scale` without zeros at the end of the fraction, and without a point if there is
  /// no fraction, and returns its length.
  ///
  /// - Precondition: as for `write`; `scale` is at most `ScaledNumber.maximumScale`.
  @inline(__always)
  static func writeTrimmed(
    _ mantissa: Int64, scale: Int, to target: UnsafeMutableRawPointer
  ) -> Int {
    let magnitude = mantissa.magnitude
    guard scale >= 1, scale <= 8, magnitude < 10_000_000_000_000_000 else {
      return write(trimmed(mantissa, scale: scale), to: target)
    }
    // Overwritten when there is no sign.
    target.storeBytes(of: 0x2D, as: UInt8.self)
    let length = mantissa < 0 ? 1 : 0
    return length &+ write(magnitude, scale: scale, trims: true, to: target + length)
  }

  /// `mantissa` / 10^`scale` with the smallest scale.
  static func trimmed(_ mantissa: Int64, scale: Int) -> ScaledNumber {
    var (mantissa, scale) = (mantissa, scale)
    while scale > 0 {
      let (quotient, remainder) = mantissa.quotientAndRemainder(dividingBy: 10)
      if remainder != 0 { break }
      mantissa = quotient
      scale &-= 1
    }
    return ScaledNumber(mantissa: mantissa, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// Writes a number of at most sixteen digits, 1 to 8 of them behind the point: all of them as if there were
  /// no point, and those behind the point again, one byte further. Without branches but for the number of
  /// words, since lengths are as different as numbers.
  @inline(__always)
  private static func write(
    _ magnitude: UInt64, scale: Int, trims: Bool, to target: UnsafeMutableRawPointer
  ) -> Int {
    var (high, low): (UInt64, UInt64) = (0, magnitude)
    if magnitude >= 100_000_000 {
      (high, low) = magnitude.quotientAndRemainder(dividingBy: 100_000_000)
    }
    let last = digits(low)
    // Zeros at the beginning of eight digits, of which at least one before the point is written.
    var zeros = last.trailingZeroBitCount &>> 3
    let text = last | 0x3030_3030_3030_3030
    var whole = 0
    if high == 0, scale < 8 {
      zeros = min(zeros, 7 &- scale)
      store(text &>> UInt64(truncatingIfNeeded: zeros &* 8), to: target)
      whole = 8 &- zeros &- scale
    } else {
      let first = digits(high)
      zeros = min(first.trailingZeroBitCount &>> 3, 7)
      store(
        (first | 0x3030_3030_3030_3030) &>> UInt64(truncatingIfNeeded: zeros &* 8), to: target)
      store(text, to: target + (8 &- zeros))
      whole = 16 &- zeros &- scale
    }
    target.storeBytes(of: 0x2E, toByteOffset: whole, as: UInt8.self)
    store(text >> UInt64(truncatingIfNeeded: 64 &- scale &* 8), to: target + (whole &+ 1))
    if !trims { return whole &+ 1 &+ scale }
    let fraction = scale &- min(last.leadingZeroBitCount &>> 3, scale)
    return whole &+ (fraction == 0 ? 0 : 1 &+ fraction)
  }

  @inline(__always)
  private static func writePadded(
    _ value: UInt64, digits count: Int, to target: UnsafeMutableRawPointer
  ) {
    if count <= 8 {
      let word = digits(value) | 0x3030_3030_3030_3030
      store(word &>> UInt64(truncatingIfNeeded: 64 &- count &* 8), to: target)
      return
    }
    var rest = value
    var index = count
    while index > 0 {
      index &-= 1
      let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
      target.storeBytes(
        of: UInt8(truncatingIfNeeded: digit) &+ 0x30, toByteOffset: index, as: UInt8.self)
      rest = quotient
    }
  }
}
