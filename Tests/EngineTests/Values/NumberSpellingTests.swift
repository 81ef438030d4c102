import TestSupport
import Testing

@testable import Engine

/// Canonical numbers, read several digits at a time, against a reader of one byte after the other.
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
    // Behind it stand digits, which are none of its own.
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

  /// Whatever stands before it.
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
}
