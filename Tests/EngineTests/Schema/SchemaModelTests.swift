import TestSupport
import Testing

@testable import Engine

/// After any sequence of changes to tables, columns and objects the database equals its twin: in every
/// held snapshot, after reopening, and after compacting.
@Suite("Random changes to tables and columns against a twin")
struct SchemaModelTests {
  private struct Oops: Error {}

  @Test("In memory, tiny clusters", arguments: Effort.seeds(500..<512))
  func tiny(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 400 : seed + 1) {
      let storage = RecordingStorage(isRecording: false)
      try run(
        seed * (Effort.isLong ? 7919 : 1), commits: Effort.rounds(40, long: 40), isFile: false
      ) {
        try Database.open(storage: storage, options: .tiny)
      }
    }
  }

  @Test("In a file, with compactions", arguments: Effort.seeds(600..<604))
  func file(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 100 : seed + 1) {
      let folder = TemporaryFolder()
      var options = Database.Options.tiny
      // Large clusters get overlays, as those of a compacted file do.
      if seed % 2 == 0 { options.limits.overlayBytes = 2000...4000 }
      try run(seed * (Effort.isLong ? 7919 : 1), commits: Effort.rounds(50, long: 50), isFile: true)
      { [options] in
        try Database.open(folder.path("a.sheaf"), options: options)
      }
    }
  }

  private func run(
    _ seed: UInt64, commits: Int, isFile: Bool, open: () throws -> Database
  ) throws {
    var history = SchemaHistory(seed: seed)
    var twin = SchemaTwin()
    var database = try open()
    var held: [(Snapshot, SchemaTwin)] = []
    var place = "at the beginning"
    do {
      for round in 0..<commits {
        place = "in round \(round)"
        var next = twin
        let isRolledBack = round > 2 && history.chance(9)
        do {
          try database.write(durability: history.chance(2) ? .full : Durability.none) {
            try history.step($0, &next)
            if isRolledBack { throw Oops() }
          }
          twin = next
          twin.deleted = []
        } catch is Oops {
          twin.cancel(next)
        }
        try expect(try database.check(deep: round % 8 == 7).problems.first, "check")
        do {
          let snapshot = try database.snapshot()
          try expect(try twin.difference(snapshot), "difference")
          try expect(try twin.queryDifference(snapshot, &history.changes), "query")
          for name in snapshot.tableNames { _ = try database.tableUse(name) }
          try expect(try Self.spaceDifference(database, snapshot), "space")
          if history.chance(5) { held.append((snapshot, twin)) }
        }
        if held.count > 4 {
          let (old, then) = held.removeFirst()
          try expect(try then.difference(old), "a snapshot of version \(old.version)")
        }
        guard history.chance(8) else { continue }
        for (old, then) in held { try expect(try then.difference(old), "a snapshot") }
        held = []
        if isFile, history.chance(2) {
          place = "after the compaction of round \(round)"
          try expect(
            try database.compact().decision == .compacted ? nil : "skipped", "compaction")
          try expect(try database.check(deep: true).problems.first, "check")
          try expect(try twin.difference(database.snapshot()), "difference")
          try expect(try Self.unknownColumn(database), "compaction")
        }
        if history.chance(2) {
          place = "reopened after round \(round)"
          try database.close()
          database = try open()
          try twin.learnNextKeys(database)
          try expect(try twin.difference(database.snapshot()), "difference")
        }
      }
      for (old, then) in held { try expect(try then.difference(old), "a snapshot at the end") }
      held = []
      try database.close()
    } catch {
      Issue.record("seed \(seed), \(place): \(error)")
    }
  }

  private func expect(_ problem: String?, _ what: String) throws {
    if let problem { throw EngineError.invalidArgument("\(what): \(problem)") }
  }

  /// Where the writer's map of pages, kept from commit to commit, differs from the pages that the file
  /// reaches.
  static func spaceDifference(_ database: Database, _ snapshot: Snapshot) throws -> String? {
    guard let space = database.memory.space, space.version == snapshot.version else { return nil }
    let believed = space.pageCount - space.freePageCount - space.pinnedPageCount
    var pages: Set<Int> = [0, 1]
    try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
      reference, _, _ in
      pages.formUnion(reference.pages(within: snapshot.record.end) ?? 0..<0)
    }
    return believed == pages.count ? nil : "\(believed) pages, not \(pages.count)"
  }

  /// A column that clusters have and the schema lacks; nil if there is none.
  static func unknownColumn(_ database: Database) throws -> String? {
    let snapshot = try database.snapshot()
    var found: String?
    for name in snapshot.tableNames {
      let table = try snapshot.table(name)
      try table.forEachLeaf { leaf in
        for place in 0..<leaf.cluster.columnCount {
          let id = try leaf.cluster.column(at: place).id
          if !table.schema.columnIDs.contains(id) { found = "table \(name) has column \(id)" }
        }
      }
    }
    return found
  }
}
