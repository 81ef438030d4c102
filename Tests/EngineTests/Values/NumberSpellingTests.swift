import TestSupport
import Testing

@testable import Engine

/// Canonical numbers, read several digits at a time, compared with a reader of one byte at a time.
@Suite struct NumberSpellingTests {
  /// `-?(0|[1-9][0-9]*)(\.[0-9]{1,18})?`, at most 19 digits, within 64 bits, and no negative zero.
  private static func slowly(_ text: [UInt8]) -> (mantissa: Int64, scale: Int)? {
    var bytes = text[...]
    let isNegative = bytes.first == UInt8(ascii: "-")
    if isNegative { bytes.removeFirst() }
    let parts = bytes.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard (1...2).contains(parts.count), parts.allSatisfy({ !$0.isEmpty }) else { return nil }
    guard parts.joined().allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    if parts[0].count > 1, parts[0].first == UInt8(ascii: "0") { return nil }
    let scale = parts.count == 2 ? parts[1].count : 0
    let digits = parts[0].count + scale
    guard scale <= 18, digits <= 19 else { return nil }
    var mantissa: Int64 = 0
    for digit in parts.joined() {
      let value = Int64(digit - UInt8(ascii: "0"))
      let (tens, tooMany) = mantissa.multipliedReportingOverflow(by: 10)
      let (sum, tooLarge) =
        isNegative
        ? tens.subtractingReportingOverflow(value) : tens.addingReportingOverflow(value)
      if tooMany || tooLarge { return nil }
      mantissa = sum
    }
    if isNegative && mantissa == 0 { return nil }
    return (mantissa, scale)
  }

  private static func expectEqual(_ text: [UInt8], readable: Int) {
    // Digits follow the number that do not belong to it.
    let room = text + [UInt8](repeating: UInt8(ascii: "7"), count: readable)
    let found = room.withUnsafeBytes { bytes -> ScaledNumber in
      guard let base = bytes.baseAddress else { return .misfit }
      return NumberSpelling.parseCanonical(
        SpellingView(base, count: text.count, readable: room.count))
    }
    let slow = slowly(text)
    expect(found, slow, text)
    if (1...AlignedNumber.mostBytes).contains(text.count) { expectAligned(text, slow) }
  }

  private static func expect(
    _ found: ScaledNumber, _ slow: (mantissa: Int64, scale: Int)?, _ text: [UInt8]
  ) {
    #expect(
      found.isMisfit == (slow == nil)
        && (found.isMisfit
          || (found.mantissa == slow?.mantissa && Int(found.scale) == slow?.scale)),
      "\(String(decoding: text, as: UTF8.self)): \(found)")
  }

  /// With any bytes before the number.
  private static func expectAligned(_ text: [UInt8], _ slow: (mantissa: Int64, scale: Int)?) {
    for before in [0x37, 0x2E, 0x2D, 0x00, 0xFF] as [UInt8] {
      let room = [UInt8](repeating: before, count: AlignedNumber.mostBytes) + text
      room.withUnsafeBytes { bytes in
        guard let base = bytes.baseAddress else { return }
        expect(AlignedNumber.parse(base + room.count, count: text.count), slow, text)
        expect(AlignedNumber.portableParse(base + room.count, count: text.count), slow, text)
      }
    }
  }

  @Test("Numbers of every length, with a point at every place, and with a byte that is none")
  func places() {
    var random = SplitMix64(seed: 1)
    for length in 1...24 {
      for point in -1..<length {
        for round in 0..<12 {
          var text = (0..<length).map { _ in
            UInt8.random(in: UInt8(ascii: "0")...UInt8(ascii: "9"), using: &random)
          }
          if round % 3 != 0, text[0] == UInt8(ascii: "0") { text[0] = UInt8(ascii: "5") }
          if round % 4 == 1 { text = text.map { _ in UInt8(ascii: "0") } }
          if point >= 0 { text[point] = UInt8(ascii: ".") }
          if round % 6 == 5 { text[.random(in: 0..<length, using: &random)] = UInt8(ascii: ".") }
          if round % 2 == 1 { text[0] = UInt8(ascii: "-") }
          Self.expectEqual(text, readable: round % 3 == 0 ? 0 : 16)
          let wrong = Int.random(in: 0..<length, using: &random)
          for byte in [0, 0x2F, 0x3A, 0x20, 0x2C, 0x2D, 0x80, 0xB0, 0xFF] as [UInt8] {
            var other = text
            other[wrong] = byte
            Self.expectEqual(other, readable: 16)
          }
        }
      }
    }
    for text in ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "-0", "0.0"]
    {
      Self.expectEqual(Array(text.utf8), readable: 0)
    }
  }

  /// A number's digits one by one, with a point before the last `scale`.
  private static func spelledSlowly(_ mantissa: Int64, scale: Int) -> String {
    var digits = String(mantissa.magnitude)
    while digits.count <= scale { digits = "0" + digits }
    let whole = digits.dropLast(scale)
    let sign = mantissa < 0 ? "-" : ""
    return sign + (scale == 0 ? digits : whole + "." + digits.suffix(scale))
  }

  /// The same without zeros at the end of the fraction.
  private static func trimmedSlowly(_ mantissa: Int64, scale: Int) -> String {
    var text = spelledSlowly(mantissa, scale: scale)
    if scale == 0 { return text }
    while text.last == "0" { text.removeLast() }
    if text.last == "." { text.removeLast() }
    return text
  }

  private static func written(_ write: (UnsafeMutableRawPointer) -> Int) -> String {
    // What is written behind the number does not matter.
    var room = [UInt8](repeating: 0x39, count: NumberSpelling.capacity)
    let length = room.withUnsafeMutableBytes { $0.baseAddress.map(write) ?? 0 }
    return String(decoding: room.prefix(length), as: UTF8.self)
  }

  @Test(
    "Numbers of every length are written with a point at every place, and without zeros at the end")
  func writing() {
    var random = SplitMix64(seed: 3)
    var mantissas: [Int64] = [0, 1, -1, 9, 10, .max, .min, .min + 1]
    var power: Int64 = 1
    for length in 1...18 {
      mantissas += [power, power - 1, power + 1, -power, 5 * power]
      // Zeros at the end, in the middle and at the beginning of each half of the digits.
      for _ in 0..<Effort.rounds(20, long: 20_000) {
        let number = Int64.random(in: 0...power, using: &random)
        let zeros = Int.random(in: 0..<length, using: &random)
        let cut = (0..<zeros).reduce(Int64(1)) { part, _ in part * 10 }
        mantissas += [number, -number, number / cut * cut, -(number / cut * cut)]
      }
      power *= 10
    }
    for mantissa in mantissas {
      for scale in 0...ScaledNumber.maximumScale {
        let number = ScaledNumber(mantissa: mantissa, scale: UInt8(scale))
        let found = Self.written { NumberSpelling.write(number, to: $0) }
        let trimmed = Self.written { NumberSpelling.writeTrimmed(mantissa, scale: scale, to: $0) }
        #expect(found == Self.spelledSlowly(mantissa, scale: scale), "\(mantissa), \(scale)")
        #expect(trimmed == Self.trimmedSlowly(mantissa, scale: scale), "\(mantissa), \(scale)")
      }
    }
  }

  /// The spelling of a double is that of Swift, also where it is computed otherwise.
  private static func expectDescribed(_ double: Double) {
    let spelled = String(decoding: Value.double(double).spelling, as: UTF8.self)
    if spelled != (double.isNaN ? "NaN" : double.description) {
      Issue.record("\(double) is spelled \(spelled)")
    }
  }

  @Test("Doubles are spelled as Swift describes them, the shortest way that reads back")
  func doubles() {
    let edges: [Double] = [
      0, -0.0, 1, -1, 0.1, 0.5, 0.25, 0.0001, 0.00012, 0.00009, 1e14, 99_999_999_999_999,
      99_999_999_999_999.9, 12_345_678_901_234.5, 1e15, 1e16, 9_007_199_254_740_992, 1e22, 1e300,
      0.1 + 0.2, 1.0 / 3, 4.35, 1.005, 2.675, 72.99, .nan, .infinity, -.infinity,
      .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude,
    ]
    var random = SplitMix64(seed: 2)
    var made = 0
    for round in 0..<Effort.rounds(20_000, long: 20_000_000) {
      let bits = UInt64.random(in: 0 ... .max, using: &random)
      let digits = Double(bits >> UInt64(round % 60 + 4))
      var scale = 1.0
      for _ in 0..<round % 8 { scale *= 10 }
      let decimal = digits / scale
      for double in [decimal, -decimal, decimal.nextUp, decimal.nextDown, Double(bitPattern: bits)]
      {
        Self.expectDescribed(double)
      }
      if ScaledNumber(shortest: decimal) != nil { made += 1 }
    }
    for edge in edges {
      for double in [edge, -edge, edge.nextUp, edge.nextDown] { Self.expectDescribed(double) }
    }
    #expect(made > 1000)
  }
}
