import Base

/// The numbers that a comparison accepts: closed ranges, ascending, with gaps between them.
///
/// Every comparison of a column of numbers is converted to such ranges once, exactly, so that the loop over
/// the rows compares only numbers of the column's type.
struct NumberSet<Number: Comparable & Sendable>: Sendable {
  private(set) var ranges: [ClosedRange<Number>]

  /// - Parameter ranges: in any order, overlapping or not.
  init(_ ranges: [ClosedRange<Number>]) {
    var merged: [ClosedRange<Number>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    self.ranges = merged
  }

  /// - Complexity: O(log ranges).
  @inline(__always)
  func contains(_ number: Number) -> Bool {
    if ranges.count == 1 { return ranges[0].contains(number) }
    let place = partitionPoint(ranges.indices) { ranges[$0].upperBound >= number }
    return place < ranges.count && ranges[place].lowerBound <= number
  }

  /// Returns whether a number within these bounds may be in the set.
  func intersects(_ bounds: ClosedRange<Number>) -> Bool {
    ranges.contains { $0.overlaps(bounds) }
  }

  /// Returns whether all numbers within these bounds are in the set.
  func covers(_ bounds: ClosedRange<Number>) -> Bool {
    ranges.contains { $0.lowerBound <= bounds.lowerBound && bounds.upperBound <= $0.upperBound }
  }

  /// The set with each range converted to other numbers, or omitted.
  func map<Other>(
    _ transform: (ClosedRange<Number>) -> ClosedRange<Other>?
  ) -> NumberSet<Other> {
    NumberSet<Other>(ranges.compactMap(transform))
  }
}

/// How a value is compared with a literal.
enum Ordering: Sendable {
  case equal, less, lessOrEqual, greater, greaterOrEqual
}

/// A number in an expression.
enum NumberLiteral: Sendable, Equatable {
  case int(Int64)
  /// Not NaN.
  case double(Double)
  /// By the greatest whole number that is not above it, and the least one that is not below it.
  case between(Int128, Int128)

  /// 2^63, the first double that is greater than every Int64.
  private static let limit = 9_223_372_036_854_775_808.0

  /// The integers for which the comparison is true; nil when there are none. Exact, without rounding.
  func integers(_ ordering: Ordering) -> ClosedRange<Int64>? {
    switch self {
    case .int(let int):
      switch ordering {
      case .equal: return int...int
      case .lessOrEqual: return .min...int
      case .greaterOrEqual: return int ... .max
      case .less: return int == .min ? nil : .min...(int - 1)
      case .greater: return int == .max ? nil : (int + 1) ... .max
      }
    case .double(let double):
      switch ordering {
      case .equal: return Int64(exactly: double).map { $0...$0 }
      case .less:
        let bound = double.rounded(.up)
        if bound >= Self.limit { return .min ... .max }
        return bound <= -Self.limit ? nil : .min...(Int64(bound) - 1)
      case .lessOrEqual:
        let bound = double.rounded(.down)
        if bound >= Self.limit { return .min ... .max }
        return bound < -Self.limit ? nil : .min...Int64(bound)
      case .greater:
        let bound = double.rounded(.down)
        if bound < -Self.limit { return .min ... .max }
        // The largest double below 2^63 is 2^63 - 1024: adding 1 cannot overflow.
        return bound >= Self.limit ? nil : (Int64(bound) + 1) ... .max
      case .greaterOrEqual:
        let bound = double.rounded(.up)
        if bound <= -Self.limit { return .min ... .max }
        return bound >= Self.limit ? nil : Int64(bound) ... .max
      }
    case .between(let below, let above):
      let isWhole = below == above
      switch ordering {
      case .equal: return isWhole ? Int64(exactly: below).map { $0...$0 } : nil
      case .less: return Self.integers(.min, isWhole ? below - 1 : below)
      case .lessOrEqual: return Self.integers(.min, below)
      case .greater: return Self.integers(isWhole ? above + 1 : above, .max)
      case .greaterOrEqual: return Self.integers(above, .max)
      }
    }
  }

  /// The integers of a range, which is empty when its bounds are not in order.
  private static func integers(_ low: Int128, _ high: Int128) -> ClosedRange<Int64>? {
    guard low <= high, low <= Int128(Int64.max), high >= Int128(Int64.min) else { return nil }
    return Int64(clamping: low)...Int64(clamping: high)
  }

  /// The doubles for which the comparison is true; nil when there are none. Exact, without rounding.
  func doubles(_ ordering: Ordering) -> ClosedRange<Double>? {
    let (below, above) = neighbours
    switch ordering {
    case .equal: return below == above ? below...above : nil
    case .lessOrEqual: return -Double.infinity...below
    case .greaterOrEqual: return above...Double.infinity
    case .less:
      let bound = below == above ? below.nextDown : below
      return below == -.infinity ? nil : -Double.infinity...bound
    case .greater:
      let bound = below == above ? above.nextUp : above
      return above == .infinity ? nil : bound...Double.infinity
    }
  }

  /// The greatest double that is not above the number, and the least one that is not below it.
  private var neighbours: (below: Double, above: Double) {
    switch self {
    case .double(let double): return (double, double)
    case .int(let int): return Self.neighbours(Int128(int))
    case .between(let below, let above):
      return (Self.neighbours(below).below, Self.neighbours(above).above)
    }
  }

  private static func neighbours(_ whole: Int128) -> (below: Double, above: Double) {
    // Less than 10^38 in magnitude, so that the nearest double is in range.
    let nearest = Double(whole)
    let back = Int128(nearest)
    if back == whole { return (nearest, nearest) }
    return back < whole ? (nearest, nearest.nextUp) : (nearest.nextDown, nearest)
  }
}

/// Converts bounds of doubles to mantissas of decimals.
enum DecimalRange {
  /// The range of mantissas m for which m / 10^`scale`, rounded to the nearest double, is in the range of
  /// doubles; nil when there are none. Rounding keeps the order, so it is one range.
  ///
  /// - Complexity: 128 divisions.
  static func mantissas(_ range: ClosedRange<Double>, scale: Int) -> ClosedRange<Int64>? {
    let first = firstMantissa { double($0, scale: scale) >= range.lowerBound }
    let behind = firstMantissa { double($0, scale: scale) > range.upperBound }
    guard let first else { return nil }
    guard let behind else { return first ... .max }
    return first < behind ? first...(behind - 1) : nil
  }

  /// The first mantissa for which the test is true; it must be true for all later ones.
  private static func firstMantissa(_ test: (Int64) -> Bool) -> Int64? {
    // Shifted so that the unsigned order applies.
    let sign = (1 as UInt64) << 63
    let place = partitionPoint(0..<UInt64.max) { test(Int64(bitPattern: $0 ^ sign)) }
    let found = Int64(bitPattern: place ^ sign)
    return test(found) ? found : nil
  }

  /// The double for a mantissa with `scale` digits after the point.
  private static func double(_ mantissa: Int64, scale: Int) -> Double {
    if let nearest = NumberSpelling.nearestDouble(mantissa.magnitude, exponent: 0 - scale) {
      return mantissa < 0 ? -nearest : nearest
    }
    return Double("\(mantissa)e-\(scale)") ?? 0
  }
}
