/// The exact sum of decimals: the digits before and after the point, each in two numbers of 19 digits.
///
/// Each of the four numbers is summed separately, with space for 2^63 values; carries are resolved at the
/// end.
struct DecimalSum {
  /// In units of 10^19, 1, 10^-19 and 10^-38.
  private var parts = (Int128(0), Int128(0), Int128(0), Int128(0))

  private static let unit: UInt128 = 10_000_000_000_000_000_000

  mutating func add(_ decimal: ExactDecimal) {
    let magnitude = decimal.coefficient.magnitude
    let (whole, rest) = magnitude.quotientAndRemainder(
      dividingBy: ExactDecimal.powers[decimal.scale])
    let fraction = rest * ExactDecimal.powers[ExactDecimal.maximumDigits - decimal.scale]
    let sign: Int128 = decimal.coefficient < 0 ? -1 : 1
    parts.0 += sign * Int128(whole / Self.unit)
    parts.1 += sign * Int128(whole % Self.unit)
    parts.2 += sign * Int128(fraction / Self.unit)
    parts.3 += sign * Int128(fraction % Self.unit)
  }

  /// The parts with carries resolved: all of one sign, each but the first below 10^19.
  private var settled: (isNegative: Bool, parts: [UInt128]) {
    let unit = Int128(Self.unit)
    var digits = [parts.0, parts.1, parts.2, parts.3]
    func carry() {
      for index in [3, 2, 1] {
        var (carried, rest) = digits[index].quotientAndRemainder(dividingBy: unit)
        if rest < 0 { (carried, rest) = (carried - 1, rest + unit) }
        digits[index] = rest
        digits[index - 1] += carried
      }
    }
    carry()
    let isNegative = digits[0] < 0
    if isNegative {
      for index in digits.indices { digits[index] = 0 - digits[index] }
      carry()
    }
    return (isNegative, digits.map { $0.magnitude })
  }

  /// The sum, with 38 digits after the point.
  private var text: String {
    let (isNegative, parts) = settled
    let digits = parts.map { part in
      let digits = String(part)
      return String(repeating: "0", count: max(0, 19 - digits.count)) + digits
    }
    let whole = (digits[0] + digits[1]).drop { $0 == "0" }
    return (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole) + "." + digits[2] + digits[3]
  }

  /// The sum; nil when it needs more than 38 digits.
  var value: ExactDecimal? { ExactDecimal(text) }

  /// The nearest double.
  var double: Double { Double(text) ?? 0 }
}
