import TestSupport
import Testing

@testable import Engine

/// A writer is killed, others continue, and then the power is cut: everything that either promised is
/// there, and nothing else of the killed one, whole or half.
@Suite("Killed, taken over, then cut off") struct TakeoverTests {
  /// Some commits of any kind and durability, with other work between them.
  private func work(_ journal: Journal, _ count: Int, _ changes: inout RandomChanges) throws {
    for _ in 0..<count {
      let durability = Durability.allCases.randomElement(using: &changes.random) ?? .full
      try journal.commit(durability) { transaction, model in
        if model.tables.isEmpty {
          try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
          try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
          try changes.insert(20, into: "apps", transaction, &model)
        }
        for _ in 0..<2 { try changes.any(transaction, &model) }
        try changes.insert(1, into: "apps", transaction, &model)
      }
      switch Int.random(in: 0..<8, using: &changes.random) {
      case 0: try journal.flush()
      case 1: try journal.trim()
      case 2: try journal.reopen()
      default: break
      }
    }
  }

  /// The file that a compaction has put in place of a journal's.
  private func compacted(_ journal: Journal) throws -> [UInt8] {
    try journal.flush()
    let snapshot = try journal.database.snapshot()
    let target = RecordingStorage()
    _ = try Compactor.copy(snapshot.record, snapshot.blocks, to: target, identity: .random())
    guard case .flushEnded? = target.log.last else {
      throw EngineError.invalidArgument("the copy is not flushed at its end")
    }
    return target.content
  }

  /// Each process opens the file anew and is killed at a random moment, sometimes right after the
  /// rename of a compaction, before the folder was flushed.
  @Test("Processes that are killed by turns, some of them while they compact", arguments: 0..<6)
  func byTurns(seed: UInt64) throws {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 20 : 1) {
      var changes = RandomChanges(seed: seed)
      var journal = try Journal()
      var start = 0
      for turn in 0..<4 {
        try work(journal, Int.random(in: 2...6, using: &changes.random), &changes)
        let compacts = turn > 0 && Int.random(in: 0..<3, using: &changes.random) == 0
        let content = compacts ? try compacted(journal) : nil
        try journal.verifyCuts(seed: seed, states: 60, exhaustive: 3, from: start)
        var log = journal.storage.log[...]
        if let content {
          log.append(.replaced(content))
        } else if turn < 3 {
          log = log[..<Int.random(in: max(start, 4)...log.count, using: &changes.random)]
        }
        start = log.count
        journal = try Journal(
          reopening: RecordingStorage(afterDeath: log), contents: journal.contents)
      }
      try work(journal, 2, &changes)
      try journal.verifyCuts(seed: seed, states: 60, exhaustive: 3, from: start)
    }
  }

  /// Two handles have the file open and have written. One dies in the middle of a commit, at each of
  /// its operations in turn; the other continues.
  @Test(
    "A handle that was there all the time takes over from one that died",
    arguments: Durability.allCases)
  func openAllTheTime(durability: Durability) throws {
    var hasEnded = false
    var moment = 0
    while !hasEnded {
      let seed = UInt64(moment)
      var changes = RandomChanges(seed: seed)
      let journal = try Journal()
      try journal.commit(.full) { transaction, model in
        try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
        try changes.insert(20, into: "apps", transaction, &model)
      }
      let mortal = FailingStorage(journal.storage)
      let other = try Journal(
        through: mortal, recorded: journal.storage, contents: journal.contents)
      func turn(_ journal: Journal, _ changes: inout RandomChanges, _ durability: Durability) throws
      {
        try journal.commit(durability) { transaction, model in
          try changes.update(6, in: "apps", transaction, &model)
          try changes.insert(2, into: "apps", transaction, &model)
        }
      }
      for _ in 0..<2 {
        try turn(other, &changes, .full)
        try journal.takeOver(other.contents)
        try turn(journal, &changes, .full)
        try other.takeOver(journal.contents)
      }
      let start = journal.storage.log.count
      mortal.die(after: moment)
      do {
        for _ in 0..<3 { try turn(other, &changes, durability) }
        try other.flush()
      } catch is EngineError {}
      hasEnded = mortal.failure == nil
      moment += 1
      try journal.takeOver(other.contents)
      for _ in 0..<3 { try turn(journal, &changes, .full) }
      try journal.verifyCuts(seed: seed, states: 30, exhaustive: 2, from: start)
      mortal.die(after: 0)
    }
    #expect(moment > 6)
  }
}
