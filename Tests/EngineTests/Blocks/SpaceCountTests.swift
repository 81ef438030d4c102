import TestSupport
import Testing

@testable import Engine

@Suite("Counting the blocks of a file")
struct SpaceCountTests {
  @Test("Pages are as full as their blocks are long", arguments: 0..<40 as Range<UInt64>)
  func counts(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    func block() -> Range<Int> {
      let start = Layout.firstBlockOffset + Int.random(in: 0..<200_000, using: &random)
      let longest = [1, 100, 4096, 9 * 4096].randomElement(using: &random) ?? 1
      let length = Int.random(in: 0...longest, using: &random)
      // Many ranges begin and end at pages.
      return Bool.random(using: &random)
        ? start..<start + length
        : start & ~4095..<(start & ~4095) + length & ~4095
    }
    let frozen = seed % 2 == 0 ? [] : (0..<10).map { _ in block() }
    let live = (0..<60).map { _ in block() }
    let space = SpaceMap(version: 7)
    space.countFrozen(frozen)
    space.countLive(live)
    let frozenPages = Set(frozen.flatMap(pages))
    for page in Layout.slotCount..<space.pageCount {
      let own = (frozenPages.contains(page) ? frozen : live).filter { pages($0).contains(page) }
      let filled = own.reduce(0) { $0 + $1.clamped(to: page * 4096..<(page + 1) * 4096).count }
      #expect(space.filled[page] == UInt32(filled), "seed \(seed), page \(page)")
      if !own.isEmpty { #expect(space.birth[page] == 7, "seed \(seed), page \(page)") }
    }
    let sum = space.filled.reduce(0) { $0 + min(Int($1), 4096) }
    #expect(space.filledBytes == sum)
  }

  @Test("Which kept versions reach a page", arguments: 0..<40 as Range<UInt64>)
  func reaching(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let kept = (1...40 as ClosedRange<UInt64>).filter { _ in
        Int.random(in: 0..<5, using: &random) == 0
      }
      var lives: [Range<UInt64>] = []
      var next: UInt64 = 0
      for _ in 0...Int.random(in: 0...3, using: &random) {
        let start = next + UInt64.random(in: 0...9, using: &random)
        next = start + UInt64.random(in: 0...9, using: &random)
        lives.append(start..<next)
      }
      let last = lives.removeLast()
      let page = SpaceMap.Retired(
        page: 9, birth: last.lowerBound, death: last.upperBound, earlier: lives)
      let slow = kept.filter { version in (lives + [last]).contains { $0.contains(version) } }
      let found = page.reaching(kept)
      #expect((found == nil) == slow.isEmpty, "\(kept) \(lives) \(last)")
      #expect(found?.isAlone != true || [found?.first] == slow, "\(kept) \(lives) \(last)")
      #expect(found?.isAlone != false || slow.count > 1, "\(kept) \(lives) \(last)")
    }
  }

  private func pages(_ bytes: Range<Int>) -> Range<Int> {
    bytes.lowerBound / 4096..<(bytes.upperBound + 4095) / 4096
  }
}
