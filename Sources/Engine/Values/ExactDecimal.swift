import Base

/// A decimal number that is never rounded: up to 38 digits, any of them after the point.
///
/// Equal numbers are equal whatever their spelling: `1.10` is `1.1`, and `-0` is `0`.
///
/// Thread rule: a plain value, `Sendable`.
public struct ExactDecimal: Sendable, Hashable {
  /// All digits as a whole number: the value is this divided by 10 to the power of `scale`.
  public let coefficient: Int128
  /// The number of digits after the point, 0 to 38; the last of them is not zero.
  public let scale: Int

  /// The maximum number of digits, altogether or after the point.
  public static let maximumDigits = 38
  /// The number 0.
  public static let zero = ExactDecimal(known: 0, scale: 0)

  private init(known coefficient: Int128, scale: Int) {
    self.coefficient = coefficient
    self.scale = scale
  }

  /// `coefficient` / 10^`scale`; nil when that needs more than 38 digits, or more than 38 after the point.
  public init?(coefficient: Int128, scale: Int) {
    self.init(magnitude: coefficient.magnitude, isNegative: coefficient < 0, exponent: 0 &- scale)
  }

  /// The greatest whole number that is not above it.
  var wholeBelow: Int128 {
    let (whole, rest) = coefficient.quotientAndRemainder(dividingBy: power)
    return rest < 0 ? whole - 1 : whole
  }

  /// The least whole number that is not below it.
  var wholeAbove: Int128 {
    let (whole, rest) = coefficient.quotientAndRemainder(dividingBy: power)
    return rest > 0 ? whole + 1 : whole
  }

  private var power: Int128 { Int128(truncatingIfNeeded: Self.powers[scale]) }

  /// The whole number.
  public init(_ int: Int64) { self.init(known: Int128(int), scale: 0) }

  /// The number that a text such as `-12.50` or `1e3` spells; nil when the text is not a number, or the
  /// number does not fit.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { Self.parse(SpellingView(UnsafeRawBufferPointer($0))) }
    guard let parsed else { return nil }
    self = parsed
  }

  /// `magnitude` * 10^`exponent`, with the given sign.
  init?(magnitude: UInt128, isNegative: Bool, exponent: Int) {
    var (magnitude, exponent) = (magnitude, exponent)
    if magnitude == 0 {
      self = .zero
      return
    }
    while exponent < 0, let tenth = Self.tenth(of: magnitude) {
      (magnitude, exponent) = (tenth, exponent + 1)
    }
    guard exponent >= 0 - Self.maximumDigits, exponent <= Self.maximumDigits else { return nil }
    if exponent > 0 {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: Self.powers[exponent])
      if overflow { return nil }
      (magnitude, exponent) = (product, 0)
    }
    guard magnitude < Self.powers[Self.maximumDigits] else { return nil }
    let positive = Int128(truncatingIfNeeded: magnitude)
    self.init(known: isNegative ? 0 - positive : positive, scale: 0 - exponent)
  }

  /// A tenth of a number, when that is a whole number.
  private static func tenth(of magnitude: UInt128) -> UInt128? {
    // Most numbers are short, and a division of 64 bits is several times faster.
    if let short = UInt64(exactly: magnitude) {
      let (quotient, rest) = short.quotientAndRemainder(dividingBy: 10)
      return rest == 0 ? UInt128(quotient) : nil
    }
    let (quotient, rest) = magnitude.quotientAndRemainder(dividingBy: 10)
    return rest == 0 ? quotient : nil
  }

  /// 10^0 to 10^38.
  static let powers: [UInt128] = (0...maximumDigits).map { count in
    (0..<count).reduce(1 as UInt128) { product, _ in product * 10 }
  }

  /// How many digits a number has: 1 to 38.
  static func digits(of magnitude: UInt128) -> Int {
    max(1, partitionPoint(powers.indices) { powers[$0] > magnitude })
  }

  /// The nearest double.
  public var double: Double { Double(description) ?? 0 }
}

extension ExactDecimal {
  /// Reads every spelling of a double except `NaN` and infinities: an optional sign, digits without
  /// superfluous leading zeros, an optional fraction and exponent.
  ///
  /// - Parameter shift: the result is multiplied by 10 to the power of this.
  /// - Returns: nil for all other spellings, and for numbers that do not fit.
  static func parse(_ spelling: SpellingView, shift: Int = 0) -> ExactDecimal? {
    guard let parts = NumberSpelling.scan(spelling) else { return nil }
    if parts.significantDigits <= 19 {
      return ExactDecimal(
        magnitude: UInt128(parts.mantissa), isNegative: parts.isNegative,
        exponent: parts.exponent + shift)
    }
    return parseLong(spelling, parts, shift)
  }

  /// Reads a number of more than 19 digits, the last of which may be zeros.
  private static func parseLong(
    _ spelling: SpellingView, _ parts: NumberSpelling.Parts, _ shift: Int
  ) -> ExactDecimal? {
    var magnitude: UInt128 = 0
    // How many digits were taken; zeros count once another digit follows them.
    var (digits, zeros, dropped) = (0, 0, 0)
    for byte in spelling.bytes {
      if byte | 0x20 == 0x65 { break }
      let digit = byte &- 0x30
      guard digit < 10 else { continue }
      if digit == 0 {
        if digits > 0 { zeros += 1 }
        continue
      }
      digits += zeros + 1
      guard digits <= maximumDigits else { return nil }
      magnitude = magnitude * powers[zeros + 1] + UInt128(digit)
      zeros = 0
    }
    dropped = parts.significantDigits - digits
    // `parts.exponent` belongs to the 19th digit.
    return ExactDecimal(
      magnitude: magnitude, isNegative: parts.isNegative,
      exponent: parts.exponent - (parts.significantDigits - 19) + dropped + shift)
  }
}

extension ExactDecimal: Comparable, CustomStringConvertible {
  /// True for a smaller number.
  public static func < (left: Self, right: Self) -> Bool { WideNumber(left) < WideNumber(right) }

  /// Digits, with a point where there is a fraction: `-12.5`.
  public var description: String {
    let digits = String(coefficient.magnitude)
    let sign = coefficient < 0 ? "-" : ""
    if scale == 0 { return sign + digits }
    let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
    return sign + padded.dropLast(scale) + "." + padded.suffix(scale)
  }
}
