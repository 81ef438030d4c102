/// A canonical decimal number: `mantissa` / 10^`scale`, with `scale` digits after the point.
struct ScaledNumber {
  var mantissa: Int64
  var scale: UInt8

  /// Marks a spelling that is not a canonical decimal number.
  static let misfit = ScaledNumber(mantissa: 0, scale: .max)
  @inline(__always) var isMisfit: Bool { scale == .max }
  static let maximumScale = 18
}

extension ScaledNumber {
  /// The number as Swift's `description` spells a double, with at least one digit behind the point; nil where
  /// it takes more than four of them, or more than 15 digits.
  ///
  /// A number of 15 digits and the power of ten are exact doubles, so their quotient is the double nearest to
  /// the number (see `exactDouble`). Different numbers of 15 digits give different doubles, so no spelling is
  /// shorter than the first that is found.
  @inline(__always)
  init?(shortest double: Double) {
    // Also for NaN; and there is no -0 among integers.
    guard double.magnitude < 1e14, double != 0 || double.sign == .plus else { return nil }
    var power = 10.0
    for scale in 1...4 as ClosedRange<UInt8> {
      let scaled = double * power
      guard scaled.magnitude < 1e15 else { return nil }
      let mantissa = Int64(scaled < 0 ? scaled - 0.5 : scaled + 0.5)
      if Double(mantissa) / power == double {
        self.init(mantissa: mantissa, scale: scale)
        return
      }
      power *= 10
    }
    return nil
  }
}

/// Reads numbers from their spellings, and writes canonical ones. Ignores the locale.
enum NumberSpelling {
  /// How many bytes every `write` of a number or date may use.
  static let capacity = 64

  /// A longer spelling is text in any case: the longest exact expansion of a double has 767 significant
  /// digits.
  static let maximumLength = 1024

  // MARK: Canonical decimals

  /// The number, when writing it gives the same bytes again: an optional `-`, digits without superfluous
  /// leading zeros, and optionally a point with 1 to 18 digits. No `-0`, `-0.0`.
  @inline(__always)
  static func parseCanonical(_ spelling: SpellingView) -> ScaledNumber {
    let count = spelling.count
    if count &- 1 < 8 { return count > 0 ? parseShort(spelling.firstWord, count) : .misfit }
    let first = spelling[0]
    guard first &- 0x30 < 10 || first == 0x2D, count <= 21 else { return .misfit }
    return parseMiddle(spelling) ?? parseLong(spelling)
  }

  /// Up to eight bytes at once, in one register; see Daniel Lemire, "Quickly parsing eight digits".
  @inline(__always)
  private static func parseShort(_ bytes: UInt64, _ length: Int) -> ScaledNumber {
    var word = bytes
    var count = length
    let isNegative = word & 0xFF == 0x2D
    if isNegative {
      word &>>= 8
      count &-= 1
    }
    var scale = 0
    let difference = word ^ 0x2E2E_2E2E_2E2E_2E2E
    let points = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    if points != 0 {
      // The lowest mark is exact; bytes past the end are zero and so are never points.
      let position = points.trailingZeroBitCount &>> 3
      let below = (1 as UInt64) &<< UInt64(truncatingIfNeeded: position &* 8) &- 1
      word = (word & below) | ((word &>> 8) & ~below)
      count &-= 1
      scale = count &- position
      if position == 0 || scale == 0 { return .misfit }
    }
    if count == 0 { return .misfit }
    if word & 0xFF == 0x30 && count &- scale > 1 { return .misfit }
    let aligned = (word << (64 &- count &* 8)) | (0x3030_3030_3030_3030 >> (count &* 8))
    guard areDigits(aligned) else { return .misfit }
    let magnitude = Int64(truncatingIfNeeded: eightDigits(aligned))
    if isNegative && magnitude == 0 { return .misfit }
    return ScaledNumber(
      mantissa: isNegative ? 0 &- magnitude : magnitude, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// Two registers of at most eight digits each: of a whole number, or before and behind the point. Most
  /// numbers of 9 to 17 bytes have this form; nil for all others.
  @inline(__always)
  private static func parseMiddle(_ spelling: SpellingView) -> ScaledNumber? {
    let isNegative = spelling[0] == 0x2D
    let start = isNegative ? 1 : 0
    let count = spelling.count &- start
    guard count >= 9, count <= 17 else { return nil }
    let head = spelling.fullWord(at: start)
    // Digits of the first register, of the second, and how many of them are behind the point.
    var (whole, rest, scale) = (8, count &- 8, 0)
    let difference = head ^ 0x2E2E_2E2E_2E2E_2E2E
    let points = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    if points != 0 {
      // The lowest mark is exact; a second point is not a digit of the second register.
      whole = points.trailingZeroBitCount &>> 3
      rest = count &- whole &- 1
      scale = rest
    } else if spelling[start &+ 8] == 0x2E {
      rest = count &- 9
      scale = rest
    }
    guard whole >= 1, rest >= 1, rest <= 8 else { return nil }
    let zeros: UInt64 = 0x3030_3030_3030_3030
    // Zeros precede the digits; a shift by all 64 bits leaves none.
    let high =
      head &<< UInt64(truncatingIfNeeded: (8 &- whole) &* 8)
      | zeros >> UInt64(truncatingIfNeeded: whole &* 8)
    let kept = UInt64.max &<< UInt64(truncatingIfNeeded: (8 &- rest) &* 8)
    let low = spelling.fullWord(at: spelling.count &- 8) & kept | zeros & ~kept
    guard areDigits(high), areDigits(low) else { return nil }
    if head & 0xFF == 0x30 && (whole > 1 || scale == 0) { return nil }
    // At most 16 digits.
    let magnitude = Int64(
      truncatingIfNeeded: eightDigits(high) &* integerPowerOfTen(rest) &+ eightDigits(low))
    if isNegative && magnitude == 0 { return nil }
    return ScaledNumber(
      mantissa: isNegative ? 0 &- magnitude : magnitude, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// At least nine bytes: digits with at most seven in front of a point, or without a point.
  @inline(never)
  private static func parseLong(_ spelling: SpellingView) -> ScaledNumber {
    let isNegative = spelling[0] == 0x2D
    let start = isNegative ? 1 : 0
    let count = spelling.count &- start
    let head = spelling.word(at: start)
    let difference = head ^ 0x2E2E_2E2E_2E2E_2E2E
    let points = (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    // The lowest mark is exact. Without a point, there may be one behind the first word.
    let whole = points == 0 ? count : points.trailingZeroBitCount &>> 3
    let scale = points == 0 ? 0 : count &- whole &- 1
    guard whole >= 1, points == 0 || scale >= 1, scale <= ScaledNumber.maximumScale,
      whole &+ scale <= 19, whole == 1 || spelling[start] != 0x30
    else { return parseBytes(spelling) }
    var magnitude: UInt64 = 0
    if points != 0 {
      let digits =
        head &<< UInt64(truncatingIfNeeded: (8 &- whole) &* 8)
        | 0x3030_3030_3030_3030 >> UInt64(truncatingIfNeeded: whole &* 8)
      guard areDigits(digits) else { return .misfit }
      magnitude = eightDigits(digits)
    }
    guard
      let sum = add(
        digits: points == 0 ? count : scale, atEndOf: spelling, to: magnitude)
    else { return parseBytes(spelling) }
    // 19 digits stay below 2^64, but not below 2^63.
    guard sum <= UInt64(Int64.max) &+ (isNegative ? 1 : 0), !isNegative || sum > 0 else {
      return .misfit
    }
    let positive = Int64(truncatingIfNeeded: sum)
    return ScaledNumber(
      mantissa: isNegative ? 0 &- positive : positive, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// The number that is spelled by `magnitude` and the last bytes of a spelling; nil unless these are digits.
  ///
  /// - Precondition: the spelling has eight bytes, and the number at most 19 digits.
  @inline(__always)
  private static func add(
    digits: Int, atEndOf spelling: SpellingView, to magnitude: UInt64
  ) -> UInt64? {
    var (sum, left) = (magnitude, digits)
    while left >= 8 {
      let word = spelling.fullWord(at: spelling.count &- left)
      guard areDigits(word) else { return nil }
      sum = sum &* 100_000_000 &+ eightDigits(word)
      left &-= 8
    }
    if left == 0 { return sum }
    let kept = UInt64.max &<< UInt64(truncatingIfNeeded: (8 &- left) &* 8)
    let word = spelling.fullWord(at: spelling.count &- 8) & kept | 0x3030_3030_3030_3030 & ~kept
    guard areDigits(word) else { return nil }
    return sum &* integerPowerOfTen(left) &+ eightDigits(word)
  }

  /// Byte after byte.
  @inline(never)
  private static func parseBytes(_ spelling: SpellingView) -> ScaledNumber {
    let isNegative = spelling[0] == 0x2D
    let start = isNegative ? 1 : 0
    var magnitude: UInt64 = 0
    var point = -1
    var index = start
    while index < spelling.count {
      let digit = spelling[index] &- 0x30
      if digit < 10 {
        // At most 20 digits: the count is checked below, a wrapped value is never used.
        magnitude = magnitude &* 10 &+ UInt64(digit)
      } else if digit == 0xFE && point < 0 {
        point = index
      } else {
        return .misfit
      }
      index &+= 1
    }
    let digits = spelling.count &- start &- (point < 0 ? 0 : 1)
    let scale = point < 0 ? 0 : spelling.count &- point &- 1
    let whole = digits &- scale
    guard whole >= 1, point < 0 || scale >= 1, scale <= ScaledNumber.maximumScale, digits <= 19
    else { return .misfit }
    if spelling[start] == 0x30 && whole > 1 { return .misfit }
    // 19 digits stay below 2^64, but not below 2^63.
    guard magnitude <= UInt64(Int64.max) &+ (isNegative ? 1 : 0) else { return .misfit }
    if isNegative && magnitude == 0 { return .misfit }
    let positive = Int64(truncatingIfNeeded: magnitude)
    return ScaledNumber(
      mantissa: isNegative ? 0 &- positive : positive, scale: UInt8(truncatingIfNeeded: scale))
  }

  /// True when all eight bytes are `0` to `9`.
  @inline(__always)
  static func areDigits(_ word: UInt64) -> Bool {
    (word & 0xF0F0_F0F0_F0F0_F0F0)
      | (((word &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0) &>> 4)
      == 0x3333_3333_3333_3333
  }

  /// The value of eight digits, the first one in the lowest byte.
  @inline(__always)
  static func eightDigits(_ word: UInt64) -> UInt64 {
    var value = word & 0x0F0F_0F0F_0F0F_0F0F
    value = value &* 10 &+ (value &>> 8)
    let even = (value & 0x0000_00FF_0000_00FF) &* 0x000F_4240_0000_0064
    let odd = ((value &>> 16) & 0x0000_00FF_0000_00FF) &* 0x0000_2710_0000_0001
    return (even &+ odd) &>> 32
  }

  // MARK: Values

  /// The parts of a number's spelling.
  struct Parts {
    var isNegative = false
    /// True when there is neither a point nor an exponent.
    var isWhole = true
    /// The first 19 significant digits.
    var mantissa: UInt64 = 0
    /// The number of digits from the first non-zero one on.
    var significantDigits = 0
    /// The value is `mantissa` * 10^`exponent`, when there are at most 19 digits.
    var exponent = 0

    /// The value as a 64-bit integer, when it is spelled as one and fits. Nil for `-0`: an integer would lose
    /// its sign.
    var int: Int64? {
      guard isWhole, significantDigits <= 19, !(isNegative && mantissa == 0) else { return nil }
      guard mantissa <= UInt64(Int64.max) &+ (isNegative ? 1 : 0) else { return nil }
      let positive = Int64(truncatingIfNeeded: mantissa)
      return isNegative ? 0 &- positive : positive
    }

    /// Takes the digits from an index on, and moves it behind them.
    @inline(__always)
    fileprivate mutating func takeDigits(
      _ spelling: SpellingView, _ index: inout Int, isFraction: Bool
    ) {
      while index < spelling.count {
        // Eight at once, behind the first digit that is not zero.
        if significantDigits > 0, significantDigits <= 11, index &+ 8 <= spelling.count,
          areDigits(spelling.fullWord(at: index))
        {
          mantissa = mantissa &* 100_000_000 &+ eightDigits(spelling.fullWord(at: index))
          significantDigits &+= 8
          if isFraction { exponent &-= 8 }
          index &+= 8
          continue
        }
        let digit = spelling[index] &- 0x30
        guard digit < 10 else { return }
        take(digit, isFraction: isFraction)
        index &+= 1
      }
    }

    @inline(__always)
    private mutating func take(_ digit: UInt8, isFraction: Bool) {
      if significantDigits > 0 || digit != 0 { significantDigits &+= 1 }
      if significantDigits <= 19 {
        mantissa = mantissa &* 10 &+ UInt64(digit)
        if isFraction { exponent &-= 1 }
      } else if !isFraction {
        exponent &+= 1
      }
    }
  }

  /// Splits a number: sign, digits without leading zeros, fraction, exponent; nil when the spelling is not a
  /// number. Its value may still be too large for a double.
  static func scan(_ spelling: SpellingView) -> Parts? {
    let count = spelling.count
    guard count > 0, count <= maximumLength else { return nil }
    var parts = Parts()
    var index = 0
    if spelling[0] == 0x2D || spelling[0] == 0x2B {
      parts.isNegative = spelling[0] == 0x2D
      index = 1
    }
    let start = index
    parts.takeDigits(spelling, &index, isFraction: false)
    let whole = index &- start
    if whole > 1 && spelling[start] == 0x30 { return nil }
    if index < count, spelling[index] == 0x2E {
      parts.isWhole = false
      index &+= 1
      let fraction = index
      parts.takeDigits(spelling, &index, isFraction: true)
      if index == fraction { return nil }
    } else if whole == 0 {
      return nil
    }
    if index < count {
      guard let exponent = scanExponent(spelling, from: index) else { return nil }
      parts.isWhole = false
      parts.exponent &+= exponent
    }
    return parts
  }

  private static func scanExponent(_ spelling: SpellingView, from start: Int) -> Int? {
    guard spelling[start] | 0x20 == 0x65 else { return nil }
    var index = start &+ 1
    var isNegative = false
    if index < spelling.count, spelling[index] == 0x2D || spelling[index] == 0x2B {
      isNegative = spelling[index] == 0x2D
      index &+= 1
    }
    guard index < spelling.count else { return nil }
    var exponent = 0
    while index < spelling.count {
      let digit = spelling[index] &- 0x30
      guard digit < 10 else { return nil }
      // Beyond this limit every number is zero or too large anyway.
      if exponent < 100_000 { exponent = exponent &* 10 &+ Int(digit) }
      index &+= 1
    }
    return isNegative ? 0 &- exponent : exponent
  }

  /// The integer a spelling stands for, see `Value.init(spelling:type:)`.
  static func parseInt(_ spelling: SpellingView) -> Int64? {
    let canonical = parseCanonical(spelling)
    if canonical.scale == 0 { return canonical.mantissa }
    return scan(spelling)?.int
  }

  /// The double a spelling stands for, see `Value.init(spelling:type:)`.
  static func parseDouble(_ spelling: SpellingView) -> Double? {
    guard let parts = scan(spelling) else { return special(spelling) ?? pointAtEnd(spelling) }
    return double(parts, spelling)
  }

  /// `NaN`, also as `nan`, and the infinities of C, R and Java, `inf`, `Inf` and `Infinity`, also behind a
  /// minus, in exactly these spellings.
  static func special(_ spelling: SpellingView) -> Double? {
    switch (spelling.count, spelling.firstWord) {
    case (3, 0x4E_614E), (3, 0x6E_616E): .nan
    case (3, 0x66_6E69), (3, 0x66_6E49), (8, 0x7974_696E_6966_6E49): .infinity
    case (4, 0x666E_692D), (4, 0x666E_492D): -.infinity
    case (9, 0x7469_6E69_666E_492D): spelling[8] == 0x79 ? -.infinity : nil
    default: nil
    }
  }

  /// A whole number with a point behind it, `50.`, as Fortran writes it.
  static func pointAtEnd(_ spelling: SpellingView) -> Double? {
    guard spelling.count > 1, spelling[spelling.count &- 1] == 0x2E else { return nil }
    let digits = spelling.part(0..<spelling.count &- 1)
    guard let parts = scan(digits), parts.isWhole else { return nil }
    return double(parts, digits)
  }

  static func double(_ parts: Parts, _ spelling: SpellingView) -> Double? {
    if parts.significantDigits == 0 { return parts.isNegative ? -0.0 : 0 }
    if parts.significantDigits <= 19,
      let nearest = nearestDouble(parts.mantissa, exponent: parts.exponent)
    {
      return parts.isNegative ? -nearest : nearest
    }
    // Rare: more digits, or a large exponent.
    let value = Double(String(decoding: spelling.bytes, as: UTF8.self))
    guard let value, value.isFinite else { return nil }
    return value
  }

  /// 10^`exponent` for 0 to 18.
  @inline(__always)
  static func integerPowerOfTen(_ exponent: Int) -> UInt64 {
    var result: UInt64 = exponent & 1 != 0 ? 10 : 1
    if exponent & 2 != 0 { result = result &* 100 }
    if exponent & 4 != 0 { result = result &* 10_000 }
    if exponent & 8 != 0 { result = result &* 100_000_000 }
    if exponent & 16 != 0 { result = result &* 10_000_000_000_000_000 }
    return result
  }
}
