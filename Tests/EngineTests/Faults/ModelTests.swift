import TestSupport
import Testing

@testable import Engine

/// After any sequence of operations the database holds what a dictionary would: by key, by position, in
/// order, in every held snapshot (I1), after reopening and after compacting.
@Suite("Random operations against a model")
struct ModelTests {
  private struct Oops: Error {}

  /// Limits that make deep trees of a few rows, and less extreme ones.
  private static func options(_ variant: UInt64) -> Database.Options {
    var options = Database.Options.tiny
    switch variant % 4 {
    case 0: break
    case 1:
      options.limits.nodeCapacity = 2
      options.limits.clusterRows = 2
      options.limits.tailRows = 1
      options.limits.smallRows = 1
      options.limits.openClusters = 1
      options.limits.overlayFrom = 100_000
    case 2:
      options.limits.nodeCapacity = 12
      options.limits.clusterRows = 9
      options.limits.tailRows = 2
      options.limits.smallRows = 2
      options.limits.overlayBytes = 10_000...10_000
      options.limits.openOverlayBytes = 700
    default:
      options.limits.nodeCapacity = 3
      options.limits.clusterRows = 5
      options.limits.tailRows = 1
      options.limits.smallRows = 5
      options.limits.openClusters = 64
      options.limits.overlayFrom = 300
    }
    return options
  }

  @Test("Tiny trees in memory, checked after every commit", arguments: Effort.seeds(100..<112))
  func tiny(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 20_000 : seed + 1) where seed % 1000 < 900 {
      let storage = RecordingStorage(isRecording: false)
      try run(seed, commits: Effort.rounds(45, long: 45), options: Self.options(seed)) { options in
        try Database.open(storage: storage, options: options)
      }
      #expect(storage.viewsOutside == [], "seed \(seed)")
      if Effort.isLong, seed % 40 == 39 { break }
    }
  }

  @Test("A real file, with compaction in between", arguments: Effort.seeds(200..<203))
  func file(seed: UInt64) throws {
    let folder = TemporaryFolder()
    try run(seed, commits: Effort.rounds(60, long: 60), options: Self.options(seed), isFile: true) {
      options in
      try Database.open(folder.path("a.sheaf"), options: options)
    }
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Standard sizes, with thousands of rows", arguments: Effort.seeds(300..<302))
  func standard(seed: UInt64) throws {
    let folder = TemporaryFolder()
    try run(seed, commits: 14, options: .init(), bulk: 1500, isFile: true) { options in
      try Database.open(folder.path("a.sheaf"), options: options)
    }
  }

  private func run(
    _ seed: UInt64, commits: Int, options: Database.Options, bulk: Int = 12,
    isFile: Bool = false, open: (Database.Options) throws -> Database
  ) throws {
    var changes = RandomChanges(seed: seed)
    changes.bulk = bulk
    var model = Model()
    var database = try open(options)
    var held: [(Snapshot, Model)] = []
    do {
      for round in 0..<commits {
        try step(round, &changes, database, &model)
        try expect(
          try database.check(deep: round % 8 == 7).problems.first, "check, round \(round)")
        do {
          let snapshot = try database.snapshot()
          try expect(try model.difference(snapshot), "round \(round)")
          try expect(
            try model.sampleDifference(snapshot, &changes.random, count: 4), "round \(round)")
          if Int.random(in: 0..<4, using: &changes.random) == 0 { held.append((snapshot, model)) }
        }
        if held.count > 5 {
          let (old, then) = held.remove(at: .random(in: 0..<held.count, using: &changes.random))
          try expect(try then.difference(old), "a snapshot of version \(old.version)")
        }
        if Int.random(in: 0..<12, using: &changes.random) == 0 {
          if Bool.random(using: &changes.random) { try compactInUse(database) }
          if isFile, Bool.random(using: &changes.random) { try compact(database, &held) }
          for (old, then) in held { try expect(try then.difference(old), "before reopening") }
          // In memory, the next handle cannot know what this one's readers hold.
          if !isFile { held = [] }
          try database.close()
          database = try open(options)
          try model.learnNextKeys(database)
          try expect(try model.difference(database.snapshot()), "reopened in round \(round)")
        }
      }
      for (old, then) in held { try expect(try then.difference(old), "a snapshot at the end") }
      held = []
      try database.close()
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  private func compact(_ database: Database, _ held: inout [(Snapshot, Model)]) throws {
    if !held.isEmpty {
      try expect(
        try database.compact().decision == .skippedInUse ? nil : "compacted", "snapshots held")
      for (old, then) in held { try expect(try then.difference(old), "before compaction") }
      held = []
    }
    let result = try database.compact()
    try expect(result.decision == .compacted ? nil : "\(result)", "compaction")
    try expect(try database.check().problems.first, "check after compaction")
  }

  private func compactInUse(_ database: Database) throws {
    let result = try database.compactInUse(.tiny, waiting: Waiting(seconds: 0))
    try expect(result.isInUse ? nil : "\(result)", "compaction in use")
    try expect(try database.check(deep: true).problems.first, "check after compaction in use")
  }

  private func expect(_ problem: String?, _ what: String) throws {
    if let problem { throw EngineError.invalidArgument("\(what): \(problem)") }
  }

  /// One transaction, committed, or rolled back by an error of the closure or of a bad value.
  private func step(
    _ round: Int, _ changes: inout RandomChanges, _ database: Database, _ model: inout Model
  ) throws {
    var next = model
    let isRolledBack = round > 2 && Int.random(in: 0..<8, using: &changes.random) == 0
    let durability: Durability =
      [.full, .group, .none, .none].randomElement(using: &changes.random) ?? .full
    do {
      try database.write(durability: durability) { transaction in
        if round == 0 {
          try changes.createTable("all", RandomChanges.columns, transaction, &next)
          try changes.createTable("few", RandomChanges.fewColumns, transaction, &next)
          try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &next)
        }
        for _ in 0..<Int.random(in: 1...8, using: &changes.random) {
          try changes.any(transaction, &next)
        }
        if isRolledBack {
          if Bool.random(using: &changes.random) { throw Oops() }
          try transaction.table("few").insert([.text("x"), .null])
        }
        // The transaction sees its own changes.
        for (name, expected) in next.tables {
          let table = try transaction.table(name)
          try expect(try table.count == expected.rows.count ? nil : "count", "in round \(round)")
          let keys = expected.rows.keys.sorted()
          for position in [0, keys.count / 2, keys.count - 1] where position < keys.count {
            let row = try table.row(at: position)
            let isRight =
              position < 0 ? row == nil : Model.isSame(row?.values, expected.rows[keys[position]])
            try expect(isRight ? nil : "position \(position)", "in round \(round)")
          }
          if let key = keys.randomElement(using: &changes.random) {
            let row = try table.row(forKey: key)
            let isRight = Model.isSame(row?.values, expected.rows[key])
            try expect(isRight ? nil : "key \(key)", "in round \(round)")
          }
        }
      }
      try expect(isRolledBack ? "it was committed" : nil, "a bad transaction")
      if durability == .group { try database.flush() }
      model = next
    } catch is Oops where isRolledBack {
      model.cancel(next)
    } catch EngineError.invalidValue where isRolledBack {
      model.cancel(next)
    }
  }

  /// Changes by one handle make outdated what another handle remembers of the file.
  @Test("Two handles in turn, few different values", arguments: Effort.seeds(400..<404))
  func twoHandles(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let options = Self.options(seed)
    let handles = [
      try Database.open(folder.path("a.sheaf"), options: options),
      try Database.open(folder.path("a.sheaf"), options: options),
    ]
    var changes = RandomChanges(seed: seed)
    var model = Model()
    try handles[0].write { transaction in
      let columns = [Column("yes", .bool, nullable: false)]
      try changes.createTable("a", columns, transaction, &model)
    }
    for round in 0..<150 {
      let database = handles[Int.random(in: 0...1, using: &changes.random)]
      try database.write { transaction in
        let count = Int.random(in: 1...3, using: &changes.random)
        switch Int.random(in: 0..<5, using: &changes.random) {
        case ..<3: try changes.insert(count, into: "a", transaction, &model)
        case 3:
          let last = model.tables["a"]?.rows.keys.max() ?? 0
          #expect(try transaction.table("a").delete(last) == (last > 0))
          model.tables["a"]?.rows[last] = nil
        default: try changes.deleteStretch(from: "a", transaction, &model)
        }
      }
      let reader = handles[Int.random(in: 0...1, using: &changes.random)]
      let difference = try model.difference(reader.snapshot())
      #expect(difference == nil, "seed \(seed), round \(round)")
      if difference != nil { break }
    }
    #expect(try handles[0].check().problems == [])
    for handle in handles { try handle.close() }
  }

  @Test("The same values at the same place, with other keys, are other objects")
  func samePlace() throws {
    let folder = TemporaryFolder()
    let first = try Database.open(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let insert: (Database) throws -> Int64 = { database in
      try database.write { try $0.table("a").insert([.bool(true)]) }
    }
    try first.write { try $0.createTable("a", columns: [Column("yes", .bool)]) }
    var key = try insert(first)
    var tails = first.memory.tails
    let tail = tails.take(1)
    let remembered = try #require(tail).reference
    var isSamePlace = false
    for _ in 0..<40 where !isSamePlace {
      try second.write { try $0.table("a").delete(key) }
      key = try insert(second)
      try second.snapshot().table("a").forEachLeaf { leaf in
        isSamePlace = leaf.entry.reference == remembered
      }
    }
    #expect(isSamePlace, "pages are used again")
    let next = try insert(first)
    var keys: [Int64] = []
    try first.snapshot().table("a").forEachRow { keys.append($0.key) }
    #expect(keys == [key, next])
    #expect(try first.check().problems == [])
    try first.close()
    try second.close()
  }

  /// The last inner node becomes empty, and the transaction continues: the tree keeps its shape.
  @Test("Insertion after the end of a deep tree was deleted")
  func emptiedEnd() throws {
    for openClusters in [0, 1, 3, 64] {
      for kept in [0, 1, 7, 31] {
        var options = Database.Options.tiny
        options.limits.openClusters = openClusters
        let database = try Database.open(
          storage: RecordingStorage(isRecording: false), options: options)
        var changes = RandomChanges(seed: 1)
        var model = Model()
        try database.write { transaction in
          try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
          try changes.insert(200, into: "a", transaction, &model)
        }
        try database.write { transaction in
          let table = try transaction.table("a")
          for key in Int64(kept + 1)...200 {
            try table.delete(key)
            model.tables["a"]?.rows[key] = nil
          }
          try changes.insert(3, into: "a", transaction, &model)
          #expect(try table.row(at: kept + 2)?.key == 203)
          try changes.append(9, to: "a", transaction, &model)
        }
        #expect(try database.check().problems == [])
        #expect(try model.difference(database.snapshot()) == nil, "\(openClusters), \(kept)")
      }
    }
  }
}
