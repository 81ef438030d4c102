import TestSupport
import Testing

@testable import Engine

/// Words of spellings against the bytes that they are made of. Guarded memory ends where a spelling does.
@Suite("Words of spellings")
struct SpellingViewTests {
  /// The word, byte by byte.
  private static func word(_ bytes: [UInt8], at offset: Int) -> UInt64 {
    var word: UInt64 = 0
    for (index, byte) in bytes.dropFirst(offset).prefix(8).enumerated() {
      word |= UInt64(byte) << UInt64(8 * index)
    }
    return word
  }

  @Test("Of every length, at every place, with and without bytes behind them")
  func words() throws {
    var random = SplitMix64(seed: 3)
    for length in 0...19 {
      for _ in 0..<20 {
        let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        let guarded = try GuardedBytes(bytes)
        let longer = try GuardedBytes(bytes + [1, 2, 3, 4, 5, 6, 7, 8])
        defer { withExtendedLifetime((guarded, longer)) {} }
        guard let behind = longer.readOnly.baseAddress else { continue }
        let views = [
          SpellingView(guarded.readOnly),
          SpellingView(behind, count: length, readable: length + 8),
        ]
        for view in views {
          for offset in 0...length {
            #expect(view.word(at: offset) == Self.word(bytes, at: offset))
          }
          #expect(view.ends.first == Self.word(bytes, at: 0))
          #expect(view.ends.last == Self.word(bytes, at: max(0, length - 8)))
          #expect(views.allSatisfy { view.equals($0) })
          for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            let different = try GuardedBytes(changed)
            #expect(!view.equals(SpellingView(different.readOnly)))
          }
        }
      }
    }
  }
}
