import Base
import TestSupport
import Testing

/// The common beginning of two buffers, beside a look at each byte.
@Suite struct CommonPrefixTests {
  @Test(
    "As many bytes are common as a look at each of them finds", arguments: 0..<3 as Range<UInt64>)
  func agreement(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<2000 {
      let first = (0..<Int.random(in: 0..<40, using: &random)).map { _ in random.next() as UInt64 }
        .map { UInt8(truncatingIfNeeded: $0) }
      var second = Array(first.prefix(.random(in: 0...first.count, using: &random)))
      if let place = second.indices.randomElement(using: &random), Bool.random(using: &random) {
        second[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
      let expected = zip(first, second).prefix { $0 == $1 }.count
      // At any address.
      let shift = Int.random(in: 0..<8, using: &random)
      let moved = [UInt8](repeating: 0, count: shift) + second
      let found = first.withUnsafeBytes { first in
        moved.withUnsafeBytes {
          let second = UnsafeRawBufferPointer(rebasing: $0[shift...])
          return (first.commonPrefixLength(with: second), second.commonPrefixLength(with: first))
        }
      }
      #expect(found == (expected, expected), "seed \(seed): \(first), \(second)")
    }
  }
}
