import Testing
import TestSupport

@testable import Engine

@Suite("Differences between lists of keys")
struct ListDifferenceTests {
  @Test("As few deletions as possible, and exact positions", arguments: 1...40)
  func random(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<40 {
      let size = Int64.random(in: 0...14, using: &random)
      var old = (0..<size).shuffled(using: &random)
      var new = old
      switch Int.random(in: 0..<4, using: &random) {
      case 0: new.shuffle(using: &random)
      case 1:
        for _ in 0..<2 where !new.isEmpty {
          let key = new.remove(at: .random(in: 0..<new.count, using: &random))
          new.insert(key, at: .random(in: 0...new.count, using: &random))
        }
      case 2: new.sort()
      default: break
      }
      old.removeAll { _ in Int.random(in: 0..<6, using: &random) == 0 }
      new.removeAll { _ in Int.random(in: 0..<6, using: &random) == 0 }
      let list = ListDifference(from: old, to: new)
      let stayed = old.indices.filter { list.newPosition(ofOld: $0) != nil }
      let changes = ChangeSet(
        deletions: list.deletions, insertions: list.insertions, modifications: stayed,
        newModifications: stayed.compactMap { list.newPosition(ofOld: $0) })
      let problem = SlowDifference.problem(changes, old, new) { _ in true }
      #expect(problem == nil, "seed \(seed): \(old) to \(new)")
    }
  }

  @Test("One key that came, went or moved")
  func one() {
    for count in 0...5 {
      let old = (0..<Int64(count)).map { $0 }
      for from in [nil] + (0..<count).map(Optional.some) {
        let rest = old.filter { $0 != from.map(Int64.init) }
        for to in [nil] + (0...rest.count).map(Optional.some) {
          var new = rest
          if let to { new.insert(from.map(Int64.init) ?? 99, at: to) }
          let list = ListDifference(moving: from, to: to, count: count)
          let stayed = old.indices.filter { list.newPosition(ofOld: $0) != nil }
          let changes = ChangeSet(
            deletions: list.deletions, insertions: list.insertions, modifications: stayed,
            newModifications: stayed.compactMap { list.newPosition(ofOld: $0) })
          let problem = SlowDifference.problem(changes, old, new) { _ in true }
          #expect(
            problem == nil, "\(String(describing: from)) to \(String(describing: to)) of \(count)")
        }
      }
    }
  }

  @Test("A key that stands twice in damaged lists is no end of the program")
  func twice() {
    let list = ListDifference(from: [1, 1, 2, 2], to: [2, 1, 1, 3, 3])
    #expect(list.deletions.count - list.insertions.count == -1)
  }
}
