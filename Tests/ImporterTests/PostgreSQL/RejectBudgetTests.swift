import TestSupport
import Testing

@testable import Importer

/// Rejects of parsers and of the server, counted together.
@Suite struct RejectBudgetTests {
  private static func rejects(_ count: Int) -> [Reject] {
    (0..<count).map {
      Reject(
        record: $0 + 1, position: SourcePosition(file: "a.csv", line: 1, column: 1, byteOffset: 0),
        column: nil, value: nil, reason: "", original: [])
    }
  }

  @Test("The count is that of the last try of each range, and of all parsers' rejects")
  func model() {
    var random = SplitMix64(seed: UInt64.random(in: 0..<1000))
    let seed = random
    for _ in 0..<Effort.rounds(50, long: 2000) {
      let before = Int.random(in: 0...2, using: &random)
      let most = Int.random(in: 0...20, using: &random)
      let budget = RejectBudget(.count(most), rejected: before)
      var own = before
      var refused: [Int: Int] = [:]
      for _ in 0..<40 {
        let count = max(0, Int.random(in: -3...3, using: &random))
        let isOver: Bool
        if Bool.random(using: &random) {
          isOver = budget.add(Self.rejects(count))
          own += count
        } else {
          let range = Int.random(in: 0..<6, using: &random)
          isOver = budget.set(Self.rejects(count), ofRange: range)
          refused[range] = count
        }
        let expected = own + refused.values.reduce(0, +)
        #expect(budget.total == expected && isOver == (expected > most), "\(seed)")
      }
    }
  }

  @Test("Ranges without rejects leave nothing behind, however many there are")
  func noZeros() throws {
    let budget = RejectBudget(.count(0), rejected: 0)
    for range in 0..<1000 { #expect(!budget.set([], ofRange: range)) }
    #expect(budget.set(Self.rejects(1), ofRange: 7))
    #expect(!budget.set([], ofRange: 7))
    let kept = Mirror(reflecting: budget).children.compactMap { $0.value as? [Int: Int] }
    #expect(kept.map(\.count) == [0])
  }
}
