import TestSupport
import Testing

@testable import Importer

/// Fields of CSV, compared with what is written byte by byte.
@Suite struct CSVFieldTests {
  private static let special: [UInt8] = [0x22, 0x2C, 0x0A, 0x0D]
  /// Like the special ones but for one bit, or for where they would be in arithmetic on words.
  private static let similar: [UInt8] = [
    0x23, 0x2D, 0x0B, 0x0C, 0xA2, 0xAC, 0x8A, 0x21, 0x2B, 0, 0xFF,
  ]

  private static func slowly(_ field: [UInt8]) -> [UInt8] {
    if field.isEmpty { return [0x22, 0x22] }
    guard field.contains(where: special.contains) else { return field }
    return [0x22] + field.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] } + [0x22]
  }

  private static func written(_ field: [UInt8], _ behind: UInt8, isPlain: Bool) -> [UInt8] {
    let source = field + [UInt8](repeating: behind, count: 8)
    var target = [UInt8](repeating: 0x22, count: CSVField.mostBytes(field.count) + 64)
    let count = source.withUnsafeBytes { source in
      target.withUnsafeMutableBytes { target -> Int in
        guard let source = source.baseAddress, let target = target.baseAddress else { return 0 }
        guard isPlain else { return CSVField.write(source, count: field.count, to: target) }
        CSVField.copy(source, count: field.count, to: target)
        return field.count
      }
    }
    return Array(target.prefix(count))
  }

  @Test("Fields of every length, with special bytes at every place and behind them")
  func fields() {
    var random = SplitMix64(seed: 1)
    for length in 0...150 {
      let plain = (0..<length).map { _ in Self.similar.randomElement(using: &random) ?? 0 }
      for behind in Self.special + [0x61] {
        #expect(Self.written(plain, behind, isPlain: false) == Self.slowly(plain), "\(length)")
        #expect(Self.written(plain, behind, isPlain: true) == plain, "\(length)")
      }
      for place in 0..<length {
        var field = plain
        field[place] = Self.special[place % 4]
        #expect(
          Self.written(field, 0x61, isPlain: false) == Self.slowly(field), "\(length), \(place)")
        field[.random(in: 0..<length, using: &random)] = 0x22
        field[.random(in: 0..<length, using: &random)] = 0x22
        #expect(
          Self.written(field, 0x22, isPlain: false) == Self.slowly(field), "\(length), \(place)")
      }
    }
  }

  @Test("Special bytes of two words are found, in both ways to find them")
  func marks() {
    var random = SplitMix64(seed: 2)
    let marks: CSVField.Marks = (0x22, 0x2C, 0x0A, 0x0D)
    for round in 0..<4000 {
      let bytes = (0..<16).map { place -> UInt8 in
        if round % 3 == 0, place == round % 16 { return Self.special[round % 4] }
        return Self.similar.randomElement(using: &random) ?? 0
      }
      let words = [0, 8].map { first in
        (0..<8).reduce(0 as UInt64) { $0 | UInt64(bytes[first + $1]) << UInt64($1 * 8) }
      }
      let isFound = bytes.contains(where: Self.special.contains)
      #expect(CSVField.haveMarks(words[0], words[1], marks) == isFound, "\(bytes)")
      #expect(CSVField.portableHaveMarks(words[0], words[1], marks) == isFound, "\(bytes)")
    }
  }
}
