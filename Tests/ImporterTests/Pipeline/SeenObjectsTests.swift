import Testing
import TestSupport

@testable import Importer

@Suite struct SeenObjectsTests {
  @Test("They are what a set has, on whatever page they are")
  func twin() {
    var random = SplitMix64(seed: 11)
    let seen = SeenObjects()
    var twin: Set<Int64> = []
    let pages: [Int64] = [0, 1, 2, 700, Int64.max >> 16]
    func object() -> Int64 {
      (pages.randomElement(using: &random) ?? 0) << 16 | Int64.random(in: 0..<300, using: &random)
    }
    for _ in 0..<2_000 {
      let new = object()
      seen.insert(new)
      twin.insert(new)
      let other = object()
      #expect(seen.contains(new) && seen.contains(other) == twin.contains(other), "\(other)")
    }
    seen.insert(-1)
    #expect(!seen.contains(-1))
  }
}
