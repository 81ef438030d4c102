import TestSupport
import Testing

@testable import Engine

/// Random changes to tables, columns and objects. The storage fails in one kind of operation at a
/// random moment of a transaction, and the program tries to continue.
@Suite("Histories in which the storage fails") struct FaultedHistoryTests {
  /// The contents of the versions since the last durable one.
  private struct Known {
    var twins = [SchemaTwin()]
    var newest: SchemaTwin { twins[twins.count - 1] }
    mutating func add(_ twin: SchemaTwin, isDurable: Bool) {
      if isDurable { twins = [] }
      twins.append(twin)
      twins[twins.count - 1].deleted = []
    }
  }

  @Test("Each kind of operation fails inside transactions", arguments: Effort.seeds(0..<12))
  func eachKind(seed: UInt64) throws {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 200 : 1) {
      var seen: Set<FailingStorage.Kind> = []
      try history(seed, &seen)
      // A part of the rounds may miss some kinds.
      #expect(Effort.isShort || seen == FailingStorage.Kind.all, "seed \(seed)")
    }
  }

  private func history(_ seed: UInt64, _ seen: inout Set<FailingStorage.Kind>) throws {
    var storage = FailingStorage(RecordingStorage(isRecording: false))
    var options = Database.Options.tiny
    if seed % 2 == 0 { options.limits.openClusters = 1 }
    var database = try Database.open(storage: storage, options: options)
    var history = SchemaHistory(seed: seed)
    var known = Known()
    var held: (Snapshot, SchemaTwin)?
    for round in 0..<Effort.rounds(60, long: 60) {
      // A file grows rarely, except in the beginning.
      let kind =
        seen.contains(.resize)
        ? FailingStorage.Kind.allCases[round % FailingStorage.Kind.allCases.count] : .resize
      let what = "seed \(seed), round \(round), \(kind)"
      let most =
        switch kind {
        case .write, .read, .view: 40
        case .flush, .length: 3
        case .resize: 1
        }
      var next = known.newest
      storage.fail(
        after: .random(in: 0..<most, using: &history.changes.random),
        code: history.chance(2) ? 28 : 5,
        kinds: [kind])
      let durability = Durability.allCases.randomElement(using: &history.changes.random) ?? .full
      do {
        if try transaction(database, storage, durability, &history, &next, what) {
          known.add(next, isDurable: durability == .full)
          // A flush now reports the failures of the flusher's thread.
          if durability == .group || durability == .none && history.chance(3) {
            try database.flush()
            known.add(next, isDurable: true)
          }
        }
      } catch EngineError.poisoned {
        // Commits that were not durable may be on the disk or not: reopening the file shows which.
        let content = (storage.inner as? RecordingStorage)?.content ?? []
        if let failure = storage.failure { seen.insert(failure) }
        held = nil
        storage = FailingStorage(RecordingStorage(content, isRecording: false))
        database = try Database.open(storage: storage, options: options)
        let snapshot = try database.snapshot()
        let candidates = known.twins + [next]
        let found = try candidates.last { try $0.difference(snapshot) == nil }
        known.add(try #require(found, "\(what): none of \(candidates.count)"), isDurable: true)
      } catch let error as EngineError {
        try #require(storage.failure != nil, "\(what): \(error)")
      }
      if let failure = storage.failure { seen.insert(failure) }
      storage.recover()
      var twin = known.newest
      try twin.learnNextKeys(database)
      known.twins[known.twins.count - 1] = twin
      try #require(try database.check(deep: round % 8 == 7).problems == [], "\(what)")
      try #require(try twin.difference(database.snapshot()) == nil, "\(what)")
      if let (snapshot, then) = held {
        try #require(try then.difference(snapshot) == nil, "\(what): a version that is held")
      }
      if round % 5 == 0 { held = (try database.snapshot(), twin) }
    }
  }

  /// A transaction of some steps, each of which may fail.
  ///
  /// - Returns: whether it was committed.
  private func transaction(
    _ database: Database, _ storage: FailingStorage, _ durability: Durability,
    _ history: inout SchemaHistory, _ next: inout SchemaTwin, _ what: String
  ) throws -> Bool {
    let transaction = try database.beginWrite()
    var hasFailed = false
    for _ in 0..<5 {
      var attempt = next
      do {
        try history.step(transaction, &attempt)
        if !hasFailed { next = attempt }
      } catch let error as EngineError {
        if hasFailed {
          guard case .transactionFailed = error else {
            Issue.record("\(what): going on gave \(error)")
            continue
          }
        }
        try #require(storage.failure != nil, "\(what): \(error)")
        hasFailed = true
        let isOver = Self.isOver(transaction)
        #expect(isOver, "\(what): after \(error)")
      }
    }
    if !hasFailed {
      try transaction.commit(durability: durability)
      return true
    }
    if history.chance(2) {
      transaction.rollBack()
      return false
    }
    do {
      try transaction.commit(durability: durability)
      Issue.record("\(what): a failed transaction was committed")
    } catch EngineError.transactionFailed {}
    return false
  }

  private static func isOver(_ transaction: borrowing WriteTransaction) -> Bool {
    do {
      _ = try transaction.createTable("x", columns: [Column("a", .int)])
      return false
    } catch EngineError.transactionFailed {
      return true
    } catch {
      return false
    }
  }
}
