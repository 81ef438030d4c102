import TestSupport
import Testing

@testable import Engine

/// Whatever part of the unflushed operations survives a power cut, the file opens, is sound, and holds
/// exactly the last promised version or one that was on its way (for `group` and `none`: a prefix of
/// the commits that reaches at least to the last promise).
@Suite("Power cuts")
struct PowerCutTests {
  private func verify(
    _ journal: Journal, seed: UInt64, states: Int, exhaustive: Int = 4, from start: Int = 0
  ) throws {
    try journal.verifyCuts(seed: seed, states: states, exhaustive: exhaustive, from: start)
  }

  // MARK: Workloads

  @Test("Bulk import: clusters appended, a batch a transaction", arguments: [1, 2] as [UInt64])
  func bulkImport(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
    }
    for _ in 0..<14 {
      try journal.commit(.full) {
        try changes.append(8, to: "apps", $0, &$1)
        try changes.append(5, to: "apps", $0, &$1)
        try changes.setNote("apps", $0, &$1)
      }
    }
    try journal.close()
    try verify(journal, seed: seed, states: 500)
  }

  @Test("Many row inserts in one transaction")
  func rowInserts() throws {
    var changes = RandomChanges(seed: 3)
    let journal = try Journal()
    try journal.commit(.full) { try changes.createTable("all", RandomChanges.columns, $0, &$1) }
    for _ in 0..<6 { try journal.commit(.full) { try changes.insert(40, into: "all", $0, &$1) } }
    try verify(journal, seed: 3, states: 500)
  }

  @Test("Single inserts, each durable", arguments: [4, 5] as [UInt64])
  func singleInserts(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
    }
    for _ in 0..<40 { try journal.commit(.full) { try changes.insert(1, into: "apps", $0, &$1) } }
    try verify(journal, seed: seed, states: 600, exhaustive: 6)
  }

  @Test("Updates, deletions and everything else", arguments: [6, 7] as [UInt64])
  func updatesAndDeletes(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
      try changes.createTable("all", RandomChanges.columns, $0, &$1)
      try changes.createTable("keyed", RandomChanges.keyedColumns, $0, &$1)
      try changes.insert(20, into: "apps", $0, &$1)
    }
    for round in 0..<30 {
      try journal.commit(.full) { transaction, model in
        for _ in 0..<3 { try changes.any(transaction, &model) }
      }
      if round % 11 == 10 { try journal.reopen() }
    }
    try journal.close()
    try verify(journal, seed: seed, states: 700)
  }

  @Test("Growth of the file, and cutting it")
  func growth() throws {
    var changes = RandomChanges(seed: 9)
    let columns = [Column("blob", .data)]
    let journal = try Journal()
    try journal.commit(.full) { try changes.createTable("blobs", columns, $0, &$1) }
    for round in 0..<10 {
      try journal.commit(.full) { transaction, model in
        let table = try transaction.table("blobs")
        for index in 0..<3 {
          let blob = [UInt8](repeating: UInt8(round * 8 + index), count: 30_000)
          try table.insert([.data(blob)])
          model.tables["blobs"]?.insert([.data(blob)])
        }
      }
      if round % 4 == 3 {
        try journal.commit(.full) { try changes.deleteAll(in: "blobs", $0, &$1) }
        try journal.commit(.full) { try changes.insert(1, into: "blobs", $0, &$1) }
        try journal.trim()
      }
    }
    try journal.close()
    try verify(journal, seed: 9, states: 300)
  }

  @Test(
    "Group durability: promises come in order, after the flush", arguments: [10, 11] as [UInt64])
  func group(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    // Flushes that take time let the writer run ahead.
    let journal = try Journal(RecordingStorage(flushMilliseconds: 1))
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
    }
    for round in 0..<60 {
      try journal.commit(.group) { transaction, model in
        try changes.any(transaction, &model)
        try changes.insert(1, into: "apps", transaction, &model)
      }
      if round % 25 == 24 { try journal.flush() }
    }
    try journal.close()
    #expect(journal.completed.numbers == Array(2...61), "completions come in order, each once")
    try verify(journal, seed: seed, states: 800)
  }

  @Test("No durability until asked: a prefix of the commits", arguments: [12, 13] as [UInt64])
  func none(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
    }
    for round in 0..<50 {
      try journal.commit(.none) { transaction, model in
        for _ in 0..<2 { try changes.any(transaction, &model) }
      }
      if round % 8 == 7 { try journal.flush() }
    }
    try journal.close()
    try verify(journal, seed: seed, states: 600)
  }

  @Test("All durabilities mixed")
  func mixed() throws {
    var changes = RandomChanges(seed: 14)
    let journal = try Journal(RecordingStorage(flushMilliseconds: 1))
    try journal.commit(.full) {
      try changes.createTable("apps", RandomChanges.fewColumns, $0, &$1)
    }
    for _ in 0..<60 {
      let durability = Durability.allCases.randomElement(using: &changes.random) ?? .full
      try journal.commit(durability) { try changes.any($0, &$1) }
    }
    try journal.close()
    try verify(journal, seed: 14, states: 700)
  }

  @Test("Compactions in use between changes", arguments: [17, 18] as [UInt64])
  func compactionInUse(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) { transaction, model in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      try changes.insert(40, into: "all", transaction, &model)
    }
    for round in 0..<20 {
      let durability = Durability.allCases.randomElement(using: &changes.random) ?? .full
      try journal.commit(durability) { transaction, model in
        for _ in 0..<3 { try changes.any(transaction, &model) }
      }
      if round % 5 == 4 { try journal.compactInUse() }
    }
    try journal.close()
    try verify(journal, seed: seed, states: 500)
  }

  /// A copy's file gets its name when all is flushed. Until then a power cut may leave it in any state,
  /// except one that opens with other contents.
  @Test("A compact copy while it is being written")
  func compaction() throws {
    var changes = RandomChanges(seed: 16)
    let journal = try Journal()
    try journal.commit(.full) { transaction, model in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      try changes.insert(60, into: "all", transaction, &model)
      try changes.insert(200, into: "apps", transaction, &model)
      try changes.insert(200, into: "keyed", transaction, &model)
    }
    for _ in 0..<10 { try journal.commit(.full) { try changes.any($0, &$1) } }
    let snapshot = try journal.database.snapshot()
    let target = RecordingStorage()
    _ = try Compactor.copy(snapshot.record, snapshot.blocks, to: target, identity: .random())
    // No slot may name blocks that may not be on the disk.
    var isFlushed = false
    for entry in target.log {
      switch entry {
      case .write(let offset, _) where offset < Layout.firstBlockOffset: #expect(isFlushed)
      case .write: isFlushed = false
      case .flushEnded: isFlushed = true
      default: break
      }
    }
    let wanted = journal.model.digest
    var (refused, complete) = (0, 0)
    var cut = PowerCut(target.log, seed: 16)
    try cut.forEachState(each: Effort.rounds(100, long: 2000), exhaustive: 6) { state in
      let storage = RecordingStorage(state.image, isRecording: false)
      var options = Database.Options.tiny
      options.access = .existing
      do {
        let copy = try Database.open(storage: storage, options: options)
        #expect(try Model.digest(copy.snapshot()) == wanted, "\(state.description)")
        complete += 1
      } catch is EngineError {
        refused += 1
      }
    }
    #expect(refused > 0 && complete > 0)
    guard case .flushEnded = target.log.last else {
      Issue.record("the copy is not flushed at its end")
      return
    }
    let copy = try Database.open(storage: RecordingStorage(target.content), options: .tiny)
    #expect(try copy.check().problems == [])
    #expect(try journal.model.difference(copy.snapshot()) == nil)
  }

  @Test("A commit writes the slot that does not hold the durable version")
  func slotsAlternate() throws {
    let storage = RecordingStorage()
    let database = try Database.open(storage: storage)
    for number in 0..<5 {
      try database.write { try $0.createTable("t\(number)", columns: [Column("a", .int)]) }
    }
    let slots = storage.log.compactMap { entry -> Int? in
      guard case .write(let offset, _) = entry, offset < Layout.firstBlockOffset else { return nil }
      return offset / Layout.pageBytes
    }
    #expect(slots.suffix(5) == [1, 0, 1, 0, 1])
    try database.close()
  }

  /// A killed process's slot is in the system's memory, not yet on the disk. The next process continues
  /// from that slot and must not lose it in a power cut.
  @Test("A process killed at any moment, then a power cut during the next one's commits")
  func killedThenCut() throws {
    var changes = RandomChanges(seed: 15)
    let journal = try Journal()
    for round in 0..<8 {
      try journal.commit(.full) { transaction, model in
        if round == 0 {
          try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
          try changes.insert(20, into: "apps", transaction, &model)
        } else {
          try changes.update(6, in: "apps", transaction, &model)
          try changes.insert(2, into: "apps", transaction, &model)
        }
      }
    }
    let log = journal.storage.log
    for moment in stride(from: 4, through: log.count, by: Effort.step(1)) {
      let storage = try RecordingStorage(afterDeath: log[..<moment])
      let next = try Journal(reopening: storage, contents: journal.contents)
      for _ in 0..<2 {
        try next.commit(.full) { transaction, model in
          if model.tables.isEmpty {
            try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
          }
          try changes.insert(3, into: "apps", transaction, &model)
          try changes.update(6, in: "apps", transaction, &model)
        }
      }
      try verify(next, seed: 15 + UInt64(moment), states: 24, exhaustive: 2, from: moment)
    }
  }
}
