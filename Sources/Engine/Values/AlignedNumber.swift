#if arch(x86_64)
  internal import ByteMasks
#endif

/// Reads canonical decimals of up to 16 bytes, aligned to their ends.
///
/// Numbers of all lengths are read alike: bytes before the digits are masked, and a point is removed by
/// moving up the bytes before it. Most rows of a column then take the same branches. On x86-64, instructions
/// process all sixteen bytes at once (`ByteMasks`); elsewhere, two words of eight are read. The former takes
/// a quarter less time, measured on 20 columns of numbers.
enum AlignedNumber {
  static let mostBytes = 16
  private static let zeros: UInt64 = 0x3030_3030_3030_3030
  /// The value of a point after the step that turns `0` into zero.
  private static let point: UInt64 = 0x2E ^ 0x30

  /// Reads what `NumberSpelling.parseCanonical` reads.
  ///
  /// - Precondition: `count` is 1 to `mostBytes`, and `mostBytes` bytes before `end`, where the spelling
  ///   ends, may be read.
  @inline(__always)
  static func parse(_ end: UnsafeRawPointer, count: Int) -> ScaledNumber {
    #if arch(x86_64)
      parse(end, count) { end, length, magnitude in
        Int(sheaf_decimal_digits(end, Int64(length), &magnitude))
      }
    #else
      portableParse(end, count: count)
    #endif
  }

  /// `parse` without those instructions; the tests compare the two.
  @inline(__always)
  static func portableParse(_ end: UnsafeRawPointer, count: Int) -> ScaledNumber {
    parse(end, count, digits)
  }

  /// - Parameter digits: reads the bytes after the sign, as the function `digits` does.
  @inline(__always)
  private static func parse(
    _ end: UnsafeRawPointer, _ count: Int,
    _ digits: (_ end: UnsafeRawPointer, _ length: Int, _ magnitude: inout UInt64) -> Int
  ) -> ScaledNumber {
    let isNegative = byte(end, count) == 0x2D
    let length = isNegative ? count &- 1 : count
    if length == 0 { return .misfit }
    var magnitude: UInt64 = 0
    let scale = digits(end, length, &magnitude)
    var whole = length
    if scale != 0 {
      whole = length &- scale &- 1
      if scale < 0 || whole <= 0 { return .misfit }
    }
    if whole > 1, byte(end, length) == 0x30 { return .misfit }
    if magnitude == 0, isNegative { return .misfit }
    let mantissa = isNegative ? 0 &- magnitude : magnitude
    return ScaledNumber(
      mantissa: Int64(truncatingIfNeeded: mantissa), scale: UInt8(truncatingIfNeeded: scale))
  }

  /// Reads the last `length` bytes, digits with a point among them or none, into `magnitude`.
  ///
  /// - Returns: the number of digits behind the point; -1 when the bytes are anything else.
  @inline(__always)
  private static func digits(
    _ end: UnsafeRawPointer, _ length: Int, _ magnitude: inout UInt64
  ) -> Int {
    var low = word(end, 8) ^ zeros
    var high: UInt64 = 0
    if length > 8 {
      high = kept(word(end, 16) ^ zeros, length &- 8)
    } else {
      low = kept(low, length)
    }
    var scale = 0
    if marks(high) | marks(low) != 0 {
      scale = takePoint(&high, &low)
      if scale <= 0 { return -1 }
    }
    magnitude = value(low)
    if length > 8 { magnitude &+= value(high) &* 100_000_000 }
    return scale
  }

  /// Removes the point from the digits.
  ///
  /// - Returns: how many digits were behind it; -1 when there is another byte, or more than one.
  @inline(__always)
  private static func takePoint(_ high: inout UInt64, _ low: inout UInt64) -> Int {
    let inLow = marks(low)
    let place: UInt64
    if marks(high) == 0 {
      place = UInt64(truncatingIfNeeded: inLow.trailingZeroBitCount) & 0x38
      guard low &>> place & 0xFF == point else { return -1 }
      low = closed(low, place) | high &>> 56
      high &<<= 8
      return marks(low) == 0 ? 7 &- Int(truncatingIfNeeded: place &>> 3) : -1
    }
    place = UInt64(truncatingIfNeeded: marks(high).trailingZeroBitCount) & 0x38
    guard inLow == 0, high &>> place & 0xFF == point else { return -1 }
    high = closed(high, place)
    return marks(high) == 0 ? 15 &- Int(truncatingIfNeeded: place &>> 3) : -1
  }

  /// Removes the byte at a place: the bytes below it move up.
  @inline(__always)
  private static func closed(_ word: UInt64, _ place: UInt64) -> UInt64 {
    let above = UInt64.max &<< place
    return word & (above &<< 8) | (word & ~above) &<< 8
  }

  /// Marks each byte that is not a digit by its highest bit; above the first of them, digits may be marked,
  /// too.
  @inline(__always)
  private static func marks(_ word: UInt64) -> UInt64 {
    (word | (word &+ 0x7676_7676_7676_7676)) & 0x8080_8080_8080_8080
  }

  /// The last `count` bytes, with zeros before them.
  ///
  /// - Precondition: `count` is 1 to 8.
  @inline(__always)
  private static func kept(_ word: UInt64, _ count: Int) -> UInt64 {
    word & UInt64.max &<< UInt64(truncatingIfNeeded: 0 &- count &* 8)
  }

  /// The value of eight digits, the first one in the lowest byte.
  @inline(__always)
  private static func value(_ digits: UInt64) -> UInt64 {
    let pairs = (digits &* (10 &<< 8 | 1)) &>> 8 & 0x00FF_00FF_00FF_00FF
    let fours = (pairs &* (100 &<< 16 | 1)) &>> 16 & 0x0000_FFFF_0000_FFFF
    return (fours &* (10_000 &<< 32 | 1)) &>> 32
  }

  @inline(__always)
  private static func byte(_ end: UnsafeRawPointer, _ back: Int) -> UInt8 {
    (end - back).load(as: UInt8.self)
  }

  @inline(__always)
  private static func word(_ end: UnsafeRawPointer, _ back: Int) -> UInt64 {
    UInt64(littleEndian: (end - back).loadUnaligned(as: UInt64.self))
  }
}
