import TestSupport
import Testing

@testable import Engine

/// The numbers of distinct byte strings, compared with those of a dictionary.
@Suite struct KeyTableTests {
  @Test(
    "Strings are numbered in the order of their first occurrence", arguments: Effort.seeds(1..<4))
  func numbers(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var table = KeyTable()
    var twin: [[UInt8]: Int] = [:]
    for _ in 0..<60_000 {
      // Few bytes, so that many strings occur again, are empty, or begin or end like others; long ones and
      // those that are as long as a short one may be.
      let length = Int.random(in: 0...7, using: &random)
      let filling = [0, 0, 8, 11, 16, 250][Int.random(in: 0..<6, using: &random)]
      let key =
        [UInt8](repeating: 0xFF, count: filling)
        + (0..<length).map { _ in UInt8.random(in: 0...3, using: &random) }
      let number = twin[key] ?? twin.count
      twin[key] = number
      #expect(table.number(of: key) == number, "seed \(seed): \(key)")
    }
    #expect(table.count == twin.count)
    // Where the strings lie is known to nobody.
    #expect(KeyTable().seed != KeyTable().seed)
    for (key, number) in twin { #expect(table.number(of: key) == number, "seed \(seed): \(key)") }
  }
}
