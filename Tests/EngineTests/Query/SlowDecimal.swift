/// Decimal numbers as texts, the slow and obvious way: digit by digit, of any length.
enum SlowDecimal {
  /// Sign, digits before the point and digits behind it, without zeros at either end.
  private static func parts(_ text: String) -> (isNegative: Bool, whole: [UInt8], fraction: [UInt8])
  {
    var number = text.trimmingPrefix { $0 == "+" || $0 == "-" }
    var exponent = 0
    if let mark = number.firstIndex(where: { $0 == "e" || $0 == "E" }) {
      exponent = Int(number[number.index(after: mark)...].trimmingPrefix("+")) ?? 0
      number = number[..<mark]
    }
    let sides = number.split(separator: ".", omittingEmptySubsequences: false).map {
      Array($0.utf8)
    }
    var (whole, fraction) = (sides[0], sides.count > 1 ? sides[1] : [])
    while exponent > 0 {
      whole.append(fraction.isEmpty ? 0x30 : fraction.removeFirst())
      exponent -= 1
    }
    while exponent < 0 {
      fraction.insert(whole.popLast() ?? 0x30, at: 0)
      exponent += 1
    }
    while fraction.last == 0x30 { fraction.removeLast() }
    whole = Array(whole.drop { $0 == 0x30 })
    return (text.first == "-" && !(whole + fraction).isEmpty, whole, fraction)
  }

  /// Less than 0 when the first number is smaller, 0 when they are equal.
  static func compare(_ one: String, _ other: String) -> Int {
    let (left, right) = (parts(one), parts(other))
    if left.isNegative != right.isNegative { return left.isNegative ? -1 : 1 }
    let order: Int
    if left.whole.count != right.whole.count {
      order = left.whole.count - right.whole.count
    } else {
      let (mine, its) = (left.whole + left.fraction, right.whole + right.fraction)
      order = mine == its ? 0 : mine.lexicographicallyPrecedes(its) ? -1 : 1
    }
    return left.isNegative ? -order : order
  }

  /// The number of digits before and behind the point, without zeros at the ends.
  static func digits(_ text: String) -> (Int, Int) {
    let parts = parts(text)
    return (parts.whole.count, parts.fraction.count)
  }

  /// The sum of numbers, exact.
  static func sum(_ numbers: [String]) -> String {
    let all = numbers.map(parts)
    let (width, scale) = (
      (all.map(\.whole.count).max() ?? 0) + 20, all.map(\.fraction.count).max() ?? 0
    )
    var columns = [Int](repeating: 0, count: width + scale)
    for number in all {
      let zeros = [UInt8](repeating: 0x30, count: width - number.whole.count)
      for (place, digit) in (zeros + number.whole + number.fraction).enumerated() {
        columns[place] += (Int(digit) - 0x30) * (number.isNegative ? -1 : 1)
      }
    }
    func carry() {
      for place in columns.indices.dropFirst().reversed() {
        let carried = Int((Double(columns[place]) / 10).rounded(.down))
        columns[place] -= carried * 10
        columns[place - 1] += carried
      }
    }
    carry()
    let isNegative = columns[0] < 0
    if isNegative {
      columns = columns.map { -$0 }
      carry()
    }
    let digits = columns.map(String.init)
    let whole = digits.prefix(width).joined().trimmingPrefix { $0 == "0" }
    return (isNegative ? "-" : "") + (whole.isEmpty ? "0" : whole) + "."
      + digits.suffix(scale).joined() + (scale == 0 ? "0" : "")
  }
}
