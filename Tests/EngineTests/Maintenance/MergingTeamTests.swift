import TestSupport
import Testing

@testable import Engine

@Suite("Threads of a compaction")
struct MergingTeamTests {
  private struct Failure: Error, Equatable {
    let item: Int
  }

  @Test(
    "Results come in order, and no more items are taken than the window has",
    arguments: 0..<40 as Range<UInt64>)
  func order(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let team = MergingTeam(size: Int.random(in: 1...4, using: &random))
    let count = Int.random(in: 0...300, using: &random)
    let window = Int.random(in: 1...20, using: &random)
    let longest = Int.random(in: 1...4000, using: &random)
    var (given, consumed) = (0, [Int]())
    try team.forEach(window: window) {
      guard given < count else { return nil as Int? }
      given += 1
      return given - 1
    } _: { item, _ in
      var sum = item
      for step in 0..<(item &* 7919) % longest { sum = sum &* 31 &+ step }
      return (item, sum)
    } consume: { item, _ in
      // At most one cluster more was asked for than are being merged.
      #expect(given - consumed.count <= window + 1)
      consumed.append(item)
    }
    #expect(consumed == Array(0..<count), "seed \(seed)")
    #expect(try team.map(Array(0..<count)) { item, _ in item * 2 } == (0..<count).map { $0 * 2 })
  }

  @Test(
    "The first item that fails ends it, and nothing behind it is consumed", arguments: [1, 2, 4])
  func failures(threads: Int) throws {
    let team = MergingTeam(size: threads)
    for failing in [0, 1, 7, 63] {
      let begun = Guarded(0)
      var (given, consumed) = (0, 0)
      #expect(throws: Failure(item: failing)) {
        try team.forEach(window: 8) {
          given += 1
          return given <= 1000 ? given - 1 : nil
        } _: { item, _ in
          begun.withLock { $0 += 1 }
          if item == failing || item == failing + 1 { throw Failure(item: item) }
        } consume: {
          consumed += 1
        }
      }
      #expect(consumed == failing)
      #expect(begun.withLock { $0 } <= failing + 1 + 8)
    }
  }

  @Test("An error of the caller's ends it as well", arguments: [1, 2, 4])
  func ownFailures(threads: Int) throws {
    let team = MergingTeam(size: threads)
    var given = 0
    #expect(throws: Failure(item: 20)) {
      try team.forEach(window: 8) {
        given += 1
        if given > 20 { throw Failure(item: 20) }
        return given
      } _: { item, _ in
        item
      } consume: { _ in
      }
    }
    #expect(throws: Failure(item: 3)) {
      try team.forEach(window: 8) {
        given += 1
        return given
      } _: { item, _ in
        item
      } consume: { item in
        if item > 25 { throw Failure(item: 3) }
      }
    }
  }
}
