import Foundation
import TestSupport
import Testing

@testable import Engine

/// Numbers with more digits than a double needs, compared with Foundation's printing.
@Suite struct LongDecimalTests {
  private func type(_ text: String) -> TypeSet {
    Array(text.utf8).withUnsafeBytes(TypeSet.of)
  }

  @Test("Doubles as programs print them are doubles", arguments: 0..<4 as Range<UInt64>)
  func whatProgramsPrint(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      let bits = UInt64.random(in: 0...UInt64.max, using: &random)
      let value =
        switch random.next() % 3 {
        case 0: Double(bitPattern: bits)
        case 1: Double.random(in: -2...2, using: &random)
        default: Double(Int64(bitPattern: bits) >> 20) / 1000
        }
      guard value.isFinite, value != 0 else { continue }
      let digits = Int.random(in: 17...30, using: &random)
      let printed = String(format: "%.\(digits)e", value)
      #expect(type(printed) == .double, "seed \(seed): \(printed)")
      // With another last digit it is another number than the double.
      guard let mark = printed.firstIndex(of: "e") else { continue }
      var letters = Array(printed[..<mark])
      let last = Int(String(letters[letters.count - 1])) ?? 0
      letters[letters.count - 1] = Character("\((last + 4) % 9 + 1)")
      let other = String(letters) + printed[mark...]
      #expect(type(other) == SlowClassifier.classify(Array(other.utf8)), "seed \(seed): \(other)")
    }
  }

  @Test("Long decimals are doubles only if they say no more than one")
  func cases() {
    for text in [
      "1.000000000000000000e+00", "-2.250000000000000000e-03",
      "0.1000000000000000055511151231257827",
      "0.10000000000000000555", "1.100000000000000088818", "0.00000000000000000000", "5e-324",
      "4.940656458412465441766e-324", "100000000000000000000.0", "1e22",
    ] {
      #expect(type(text) == .double, "\(text)")
    }
    for text in [
      "0.1000000000000000000001", "0.12345678901234567890", "1.23456789012345678901",
      "123456789012345678901",
      "1.100000000000000088819", "9.999999999999999999e-01",
    ] {
      #expect(type(text) == .longDecimal, "\(text)")
    }
    // Of a canonical decimal only the number counts.
    for text in [
      "0.100000000000000006", "0.100000000000000007", "1.234567890123456789",
      "1.250000000000000000",
    ] {
      let isDouble = Array(text.utf8).withUnsafeBytes {
        LongDecimal.isDouble(NumberSpelling.parseCanonical(SpellingView($0)))
      }
      #expect((type(text) == .double) == isDouble, "\(text)")
    }
  }
}
