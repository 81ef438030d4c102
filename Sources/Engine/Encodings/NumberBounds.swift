/// The lowest and the highest of numbers, most of which need not be read to the last digit.
///
/// The double that is nearest to a number of 17 digits takes long to find. A number that lies between the
/// bounds so far, by more than an approximation may be wrong, cannot change them; most numbers do, unless
/// they are sorted.
struct NumberBounds {
  private(set) var low = Double.infinity
  private(set) var high = -Double.infinity
  /// Approximations between these two, exclusively, are those of numbers between the bounds.
  private var innerLow = Double.infinity
  private var innerHigh = -Double.infinity

  /// Much more than the error of `NumberSpelling.approximateDouble`, relative to the number.
  private static let margin = 0x1p-40

  /// Adds a number; NaN is none.
  @inline(__always)
  mutating func add(_ value: Double) {
    if value < low {
      low = value
      innerLow = value + value.magnitude * Self.margin
    }
    if value > high {
      high = value
      innerHigh = value - value.magnitude * Self.margin
    }
  }

  /// - Parameter exact: the nearest double; called only if the bounds may change.
  @inline(__always)
  mutating func add(_ number: ScaledNumber, exact: () -> Double?) {
    let value = NumberSpelling.approximateDouble(
      number.mantissa.magnitude, exponent: 0 &- Int(number.scale))
    add(approximate: value.map { number.mantissa < 0 ? -$0 : $0 }, exact: exact)
  }

  /// - Parameters:
  ///   - value: from `NumberSpelling.approximateDouble`; nil: not known.
  ///   - exact: the nearest double; called only if the bounds may change.
  @inline(__always)
  mutating func add(approximate value: Double?, exact: () -> Double?) {
    if let value, value > innerLow, value < innerHigh { return }
    if let value = exact() { add(value) }
  }
}
