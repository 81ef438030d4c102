/// Finds the smallest class of a spelling.
enum SpellingClass {
  /// The class, as a set with one member. The first byte decides for most text.
  ///
  /// - Complexity: O(1) for text that does not begin like a number, otherwise O(n).
  @inline(__always)
  static func classify(_ spelling: SpellingView) -> TypeSet {
    guard spelling.count > 0 else { return .text }
    let first = spelling[0]
    let found = classifyBare(spelling, first)
    // Most texts neither begin nor end with blanks, which are not part of a value.
    guard found == .text, spelling.hasBlanksAround else { return found }
    return classifyPadded(spelling)
  }

  @inline(never)
  private static func classifyPadded(_ spelling: SpellingView) -> TypeSet {
    spelling.withoutBlanks.map { classifyBare($0, $0[0]) } ?? .text
  }

  @inline(__always)
  private static func classifyBare(_ spelling: SpellingView, _ first: UInt8) -> TypeSet {
    if mayBeginNumber(first) {
      var value = Value.unread
      return classifyNumberOrDate(spelling, &value)
    }
    let letter = first | 0x20
    if letter == 0x74 || letter == 0x66, parseBool(spelling) != nil { return .bool }
    // Numeric columns write NaN for a missing number; an infinity counts as a number only in a column that
    // was declared as double.
    if letter == 0x6E || letter == 0x69, let number = NumberSpelling.special(spelling) {
      return number.isNaN ? .double : .longDecimal
    }
    return .text
  }

  /// True for the first byte of a number or date: signs, the point and digits lie between 0x2B and 0x39.
  @inline(__always)
  static func mayBeginNumber(_ first: UInt8) -> Bool { first &- 0x2B <= 0x0E }

  /// What was read of a spelling to find its class.
  enum Value {
    case unread
    case number(NumberSpelling.Parts)
    /// Days since 1970.
    case days(Int64)
    /// Microseconds since 1970.
    case moment(Int64)
  }

  /// The class of a spelling without blanks around it.
  ///
  /// - Precondition: `mayBeginNumber`.
  @inline(never)
  static func classifyNumberOrDate(_ spelling: SpellingView, _ value: inout Value) -> TypeSet {
    if spelling.count >= 10, spelling[4] == 0x2D, spelling[7] == 0x2D {
      if let days = DateSpelling.parseDate(spelling) {
        value = .days(Int64(days))
        return .date
      }
      guard let parsed = DateSpelling.parseDateTime(spelling) else { return .text }
      value = .moment(parsed.microseconds)
      return .dateTime
    }
    // UUIDs: behind its first byte, a number has one sign at most.
    if spelling.count > 13, spelling[8] == 0x2D, spelling[13] == 0x2D { return .text }
    // Every number ends with a digit, unless it has a point there.
    let mayBeNumber = spelling[spelling.count &- 1] &- 0x30 < 10
    guard mayBeNumber, let parts = NumberSpelling.scan(spelling) else {
      let value = NumberSpelling.special(spelling) ?? NumberSpelling.pointAtEnd(spelling)
      return value == nil ? .text : .longDecimal
    }
    value = .number(parts)
    if let int = parts.int { return int.magnitude <= 1 << 53 ? .int : .bigInt }
    // For most numbers the scale alone proves that they are finite; only huge exponents need a closer look.
    let isFinite =
      parts.exponent &+ parts.significantDigits < 300
      || NumberSpelling.double(parts, spelling) != nil
    guard isFinite else { return .text }
    if parts.significantDigits <= 17 { return .double }
    return !parts.isWhole && LongDecimal.isDouble(parts, spelling) ? .double : .longDecimal
  }

  /// `true` or `false` in lower, Title or UPPER case.
  static func parseBool(_ spelling: SpellingView) -> Bool? {
    switch (spelling.count, spelling.firstWord) {
    case (4, 0x6575_7274), (4, 0x6575_7254), (4, 0x4555_5254): true
    case (5, 0x65_736C_6166), (5, 0x65_736C_6146), (5, 0x45_534C_4146): false
    default: nil
    }
  }
}
