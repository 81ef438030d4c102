import TestSupport
import Testing

@testable import Importer

@Suite struct SeenObjectsTests {
  @Test("Objects are seen as a set sees them, and to ask takes no memory")
  func likeASet() {
    var random = SplitMix64(seed: 8)
    let seen = SeenObjects()
    var set: Set<Int64> = []
    #expect(!seen.contains(5) && seen.pageCount == 0)
    for _ in 0..<4000 {
      let object = Int64.random(in: -2..<400_000, using: &random)
      seen.insert(object)
      if object >= 0 { set.insert(object) }
    }
    let pages = seen.pageCount
    for object in Int64(-2)..<500_000 where seen.contains(object) != set.contains(object) {
      Issue.record("\(object)")
    }
    for step in 0..<10_000 { #expect(!seen.contains(500_000 + Int64(step) << 16)) }
    #expect(seen.pageCount == pages && pages == 7)
  }
}
