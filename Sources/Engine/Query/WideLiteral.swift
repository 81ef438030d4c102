/// A decimal or a UUID in an expression, by its neighbouring values.
struct WideLiteral: Sendable, Equatable {
  /// The greatest value that is not above the literal, and the least one that is not below it; equal when the
  /// literal is a value. Nil when there is none.
  private let below: WideNumber?
  private let above: WideNumber?

  private init(_ below: WideNumber?, _ above: WideNumber?) {
    self.below = below
    self.above = above
  }

  init(_ wide: WideNumber) { self.init(wide, wide) }

  /// A double is the number that its shortest digits spell: 0.1 is a tenth.
  ///
  /// - Precondition: it is not NaN.
  init(_ double: Double) {
    if let decimal = ExactDecimal(double.description) {
      self.init(WideNumber(decimal))
      return
    }
    if double.magnitude >= 1e38 {
      self = double > 0 ? WideLiteral(.highest, nil) : WideLiteral(nil, .lowest)
      return
    }
    // It has more digits after the point than decimals have.
    let cut = WideNumber(Self.cut(double))
    self = double > 0 ? WideLiteral(cut, cut.next) : WideLiteral(cut.previous, cut)
  }

  /// The number without the digits that a decimal cannot have.
  private static func cut(_ double: Double) -> ExactDecimal {
    var text = double.description
    let parts = text.withUTF8 { NumberSpelling.scan(SpellingView(UnsafeRawBufferPointer($0))) }
    guard let parts else { return .zero }
    let surplus = 0 - ExactDecimal.maximumDigits - parts.exponent
    guard surplus >= 0, surplus < 19 else { return .zero }
    let magnitude = parts.mantissa / NumberSpelling.integerPowerOfTen(surplus)
    return ExactDecimal(
      magnitude: UInt128(magnitude), isNegative: parts.isNegative,
      exponent: 0 - ExactDecimal.maximumDigits) ?? .zero
  }

  /// The values for which the comparison is true; nil when there are none. Exact, without rounding.
  func range(_ ordering: Ordering) -> ClosedRange<WideNumber>? {
    let isValue = below == above
    let first: WideNumber?
    let last: WideNumber?
    switch ordering {
    case .equal: (first, last) = isValue ? (above, below) : (nil, nil)
    case .less: (first, last) = (.lowest, isValue ? below?.previous : below)
    case .lessOrEqual: (first, last) = (.lowest, below)
    case .greater: (first, last) = (isValue ? above?.next : above, .highest)
    case .greaterOrEqual: (first, last) = (above, .highest)
    }
    guard let first, let last, first <= last else { return nil }
    return first...last
  }
}
