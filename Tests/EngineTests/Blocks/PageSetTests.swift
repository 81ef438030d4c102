import TestSupport
import Testing

@testable import Engine

@Suite("Sets of pages")
struct PageSetTests {
  /// The slow, obvious twin.
  private static func firstRun(_ pages: [Bool], of length: Int) -> Int? {
    guard length > 0 else { return nil }
    var run = 0
    for (page, isMember) in pages.enumerated() {
      run = isMember ? run + 1 : 0
      if run == length { return page - length + 1 }
    }
    return nil
  }

  @Test("Random histories against a list", arguments: 0..<16 as Range<UInt64>)
  func random(seed: UInt64) {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 200 : 1) {
      var random = SplitMix64(seed: seed)
      var set = PageSet()
      // Less than one word, many words, and more than the initial tree covers.
      let limit = [50, 640, 9000][Int(seed % 3)]
      var twin = [Bool](repeating: false, count: limit)
      // Nearly full, nearly empty, or in between.
      let bias = Int.random(in: 0...10, using: &random)
      for _ in 0..<300 {
        let start = Int.random(in: 0..<limit, using: &random)
        let length = min(
          [1, 1, 3, 64, 200].randomElement(using: &random) ?? 1, limit - start)
        let isInserted = Int.random(in: 0..<10, using: &random) < bias
        if isInserted {
          set.insert(start..<start + length)
        } else {
          set.remove(start..<start + length)
        }
        for page in start..<start + length { twin[page] = isInserted }
        let page = Int.random(in: 0..<limit, using: &random)
        if Bool.random(using: &random) { set.insert(page) } else { set.remove(page) }
        twin[page] = set.contains(page)
        let wanted = Int.random(in: 0...[2, 8, 70, 300][page & 3], using: &random)
        let found = set.firstRun(of: wanted)
        #expect(found == Self.firstRun(twin, of: wanted), "seed \(seed), a run of \(wanted)")
        #expect(set.count == twin.count { $0 }, "seed \(seed)")
        if found != Self.firstRun(twin, of: wanted) { return }
      }
      for page in 0..<limit + 100 {
        #expect(set.contains(page) == (page < limit && twin[page]), "seed \(seed), page \(page)")
      }
      // Pages that were never members.
      set.remove(limit + 10_000..<limit + 20_000)
      #expect(set.count == twin.count { $0 })
    }
  }

  /// A search page by page would take minutes.
  @Test("A search does not grow with a file's fragments", .timeLimit(.minutes(60)))
  func fragments() {
    var set = PageSet()
    for page in stride(from: 0, to: 1_000_000, by: 2) { set.insert(page) }
    for round in 0..<20_000 {
      #expect(set.firstRun(of: 2 + round % 63) == nil)
    }
    // At the very end.
    set.insert(1_000_000..<1_000_064)
    for round in 0..<20_000 {
      #expect(set.firstRun(of: 2 + round % 63) == 1_000_000)
    }
    set.insert(500_001)
    #expect(set.firstRun(of: 3) == 500_000 && set.firstRun(of: 4) == 1_000_000)
    #expect(set.firstRun(of: 1) == 0)
  }
}
