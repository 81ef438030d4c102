import Base
import TestSupport
import Testing

@testable import Engine

/// Random changes, keeping, letting go, tags, restoring, compactions and new handles, beside a twin
/// with whole copies. After each step all kept versions are unchanged, and the pages in use are exactly
/// those that they and the newest version reach.
@Suite("Kept versions against a model")
struct KeptVersionModelTests {
  private struct Kept {
    let number: UInt64
    let model: Model
    var tags: [String] = []
    var isAutomatic = true
  }

  private struct Twin {
    var model = Model()
    var kept: [Kept] = []
    var limit = 0

    mutating func letGo(beyond most: Int) {
      let automatic = kept.filter { $0.isAutomatic && $0.tags.isEmpty }
      let gone = Set(automatic.dropLast(most).map(\.number))
      kept.removeAll { gone.contains($0.number) }
    }

    mutating func keep(_ number: UInt64, most: Int) {
      if !kept.contains(where: { $0.number == number }) {
        kept.append(Kept(number: number, model: model))
      }
      letGo(beyond: most)
    }

    /// Restores tables; keys that were given are not given again.
    mutating func restore(_ old: Model, _ names: Set<String>) {
      for name in names {
        guard var table = old.tables[name] else {
          model.tables[name] = nil
          continue
        }
        if let now = model.tables[name] {
          table.nextKey = max(table.nextKey, now.nextKey)
          table.nextGivenKey = max(table.nextGivenKey, now.nextGivenKey)
        }
        model.tables[name] = table
      }
    }
  }

  @Test("On a file", arguments: Effort.seeds(1..<9))
  func onFile(seed: UInt64) throws {
    let folder = TemporaryFolder()
    try run(seed, steps: Effort.rounds(70, long: 400)) {
      try Database.open(folder.path("a.sheaf"), options: .tiny)
    }
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("In memory", arguments: Effort.seeds(20..<24))
  func inMemory(seed: UInt64) throws {
    let storage = RecordingStorage(isRecording: false)
    try run(seed, steps: Effort.rounds(60, long: 400), isFile: false) {
      try Database.open(storage: storage, options: .tiny)
    }
    #expect(storage.viewsOutside == [])
  }

  private func run(
    _ seed: UInt64, steps: Int, isFile: Bool = true, open: () throws -> Database
  ) throws {
    var changes = RandomChanges(seed: seed)
    var twin = Twin()
    var database = try open()
    do {
      try database.write { transaction in
        try changes.createTable("all", RandomChanges.columns, transaction, &twin.model)
        try changes.createTable("few", RandomChanges.fewColumns, transaction, &twin.model)
        try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &twin.model)
      }
      for round in 0..<steps {
        switch Int.random(in: 0..<20, using: &changes.random) {
        case 0: try tag(round, database, &changes, &twin)
        case 1: try dropTag(database, &changes, &twin)
        case 2: try setLimit(database, &changes, &twin)
        case 3, 4, 5: try undo(database, &changes, &twin)
        case 6 where isFile: try compact(database, &changes, &twin)
        case 9, 10:
          let result = try database.compactInUse(.tiny, waiting: Waiting(seconds: 0))
          try expect(result.decision == .compacted, "\(result)")
        case 7, 8:
          try database.close()
          database = try open()
          try twin.model.learnNextKeys(database)
        default: try change(database, &changes, &twin)
        }
        try compare(database, twin, isDeep: round % 9 == 8)
        try checkSpace(database)
      }
      try database.close()
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if !isRight { throw EngineError.invalidArgument(what()) }
  }

  // MARK: Steps

  private func change(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let keeps = Int.random(in: 0..<3, using: &changes.random) > 0
    let most = twin.limit > 0 ? twin.limit : Int.random(in: 1...4, using: &changes.random)
    var next = twin.model
    var base: UInt64 = 0
    let durability = Durability.allCases.randomElement(using: &changes.random) ?? .full
    try database.write(durability: durability) { transaction in
      base = transaction.baseVersion
      if keeps { try transaction.keepBase(most: most) }
      for _ in 0..<Int.random(in: 1...5, using: &changes.random) {
        try changes.any(transaction, &next)
      }
    }
    try database.flush()
    if keeps { twin.keep(base, most: most) }
    twin.model = next
  }

  private func tag(
    _ round: Int, _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let place = Int.random(in: -1..<max(twin.kept.count, 1), using: &changes.random)
    let old = twin.kept.indices.contains(place) ? twin.kept[place].number : nil
    let number = try database.write { try $0.tag("tag \(round)", version: old) }
    if let old {
      try expect(old == number, "another version was tagged")
      twin.kept[place].tags.append("tag \(round)")
    } else {
      twin.kept.append(
        Kept(number: number, model: twin.model, tags: ["tag \(round)"], isAutomatic: false))
    }
  }

  private func dropTag(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    guard let tag = twin.kept.flatMap(\.tags).randomElement(using: &changes.random) else { return }
    try database.write { try $0.dropTag(tag) }
    for place in twin.kept.indices { twin.kept[place].tags.removeAll { $0 == tag } }
    twin.kept.removeAll { $0.tags.isEmpty && !$0.isAutomatic }
  }

  private func setLimit(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let limit = Int.random(in: 0...5, using: &changes.random)
    try database.write { try $0.keepVersions(limit) }
    twin.limit = limit
    twin.letGo(beyond: limit)
  }

  private func undo(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    guard let kept = twin.kept.randomElement(using: &changes.random) else { return }
    let name = twin.model.tables.keys.sorted().randomElement(using: &changes.random) ?? ""
    let isAll = Bool.random(using: &changes.random)
    let result: RestoreResult
    do {
      result = try database.restore(.number(kept.number), isAll ? .all : .table(name))
    } catch EngineError.unchanged {
      // Blocks may differ where contents do not, never the other way round.
      let names = isAll ? Set(twin.model.tables.keys) : [name]
      let isSame = names.allSatisfy {
        twin.model.tables[$0]?.rows == kept.model.tables[$0]?.rows
          && twin.model.tables[$0]?.note == kept.model.tables[$0]?.note
      }
      return try expect(isSame, "version \(kept.number) is taken for the same as the newest")
    }
    // The current version is kept before the tables are restored.
    twin.keep(result.before, most: .max)
    twin.restore(kept.model, isAll ? Set(twin.model.tables.keys) : [name])
    if twin.limit > 0 { twin.letGo(beyond: twin.limit) }
  }

  private func compact(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let keeps = Int.random(in: 0..<4, using: &changes.random) > 0
    let result = try database.compact(keepsVersions: keeps)
    try expect(result.decision == .compacted, "\(result)")
    if !keeps { twin.kept = [] }
  }

  // MARK: Comparing

  private func compare(_ database: Database, _ twin: Twin, isDeep: Bool) throws {
    let report = try database.check(deep: isDeep)
    try expect(report.isSound, "check: \(report.problems)")
    try expect(
      report.keptVersions.reversed().elementsEqual(twin.kept.map(\.number)), "kept: checked")
    let snapshot = try database.snapshot()
    let list = try snapshot.keptVersions
    try expect(list.map(\.number) == twin.kept.map(\.number), "kept: \(list.map(\.number))")
    try expect(list.map(\.tags) == twin.kept.map(\.tags), "tags: \(list.map(\.tags))")
    try expect(try snapshot.keptVersionsLimit == twin.limit, "the limit")
    let found = try twin.model.difference(snapshot)
    try expect(found == nil, "newest: \(found ?? "")")
    for kept in twin.kept {
      let found = try kept.model.difference(database.snapshot(at: .number(kept.number)))
      try expect(found == nil, "version \(kept.number): \(found ?? "")")
      for tag in kept.tags {
        try expect(try database.snapshot(at: .tag(tag)).version == kept.number, "tag \(tag)")
      }
    }
  }

  /// The pages in use by the writer's map are those that the newest version and kept ones reach.
  private func checkSpace(_ database: Database) throws {
    let transaction = try database.beginWrite()
    let space = try #require(database.memory.space)
    let parts = try database.parts
    let base = transaction.state.base
    var reached = PageSet()
    reached.insert(0..<Layout.slotCount)
    for record in [base] + (try transaction.state.history().kept.map(\.record)) {
      try VersionRoots(record, parts.blocks).forEachBlock(parts.blocks) { reference, _, _ in
        if let pages = reference.pages(within: record.end) { reached.insert(pages) }
      }
    }
    for page in 0..<space.pageCount {
      let isFree = space.use(of: page).isFree
      try expect(
        isFree != reached.contains(page),
        "page \(page) is \(isFree ? "free, and reached" : "not free, and nobody reaches it")")
    }
    // A new handle finds the same by walking the file.
    let walked = try database.freshSpace(base, parts)
    walked.reclaim(try database.versionsToKeep(parts).versions)
    for page in 0..<min(space.pageCount, walked.pageCount) {
      try expect(walked.use(of: page).isFree == space.use(of: page).isFree, "page \(page), walked")
    }
  }
}
