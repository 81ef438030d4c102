import Base
import TestSupport
import Testing

@testable import Engine

/// Random histories of pending tables that are begun, published, dropped, or given up because the
/// visible table has changed, beside a twin with whole copies. After each step visible and pending
/// tables and all held or kept versions are unchanged, and no page that any of them reaches is free.
@Suite("Pending tables against a model")
struct PendingModelTests {
  private struct Pending {
    var table: Model.Table
    /// The visible table when the pending one was begun; nil: there was none.
    let base: Model.Table?
    /// Whether the visible table was changed since.
    var isOutdated = false
  }

  private struct Twin {
    var model = Model()
    var pending: [String: Pending] = [:]
    var kept: [UInt64: Model] = [:]
  }

  @Test("On a file", arguments: Effort.seeds(1..<5))
  func onFile(seed: UInt64) throws {
    let folder = TemporaryFolder()
    try run(seed, steps: Effort.rounds(40, long: 400), isFile: true) {
      try Database.open(folder.path("a.sheaf"), options: .tiny)
    }
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("In memory", arguments: Effort.seeds(20..<23))
  func inMemory(seed: UInt64) throws {
    let storage = RecordingStorage(isRecording: false)
    try run(seed, steps: Effort.rounds(40, long: 400), isFile: false) {
      try Database.open(storage: storage, options: .tiny)
    }
    #expect(storage.viewsOutside == [])
  }

  private func run(
    _ seed: UInt64, steps: Int, isFile: Bool, open: () throws -> Database
  ) throws {
    var changes = RandomChanges(seed: seed)
    var twin = Twin()
    var database = try open()
    var held: [(visible: Snapshot, model: Model, pending: [String: (Snapshot, Model.Table)])] = []
    do {
      try database.write { transaction in
        try changes.createTable("all", RandomChanges.columns, transaction, &twin.model)
        try changes.createTable("few", RandomChanges.fewColumns, transaction, &twin.model)
        try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &twin.model)
      }
      for round in 0..<steps {
        switch Int.random(in: 0..<24, using: &changes.random) {
        case 0, 1, 2: try begin(database, &changes, &twin)
        case 3, 4, 5: try end(database, &changes, &twin)
        case 6, 7, 8: try changeVisible(database, &changes, &twin)
        case 9 where isFile:
          held = []
          let keeps = Bool.random(using: &changes.random)
          try expect(try database.compact(keepsVersions: keeps).decision == .compacted, "compacted")
          if !keeps { twin.kept = [:] }
        case 10, 11:
          held = []
          try database.close()
          database = try open()
          try twin.model.learnNextKeys(database)
          for name in twin.pending.keys { try learn(name, database, &twin) }
        case 12: try undo(database, &changes, &twin)
        default: try changePending(database, &changes, &twin)
        }
        try compare(database, twin, isDeep: round % 7 == 6)
        for entry in held {
          try expect(try entry.model.difference(entry.visible) == nil, "a held version")
          for (name, (snapshot, table)) in entry.pending {
            try expect(
              try Model.only(name, table).difference(snapshot) == nil, "held, pending \(name)")
          }
        }
        if Int.random(in: 0..<5, using: &changes.random) == 0 {
          var pending: [String: (Snapshot, Model.Table)] = [:]
          for (name, own) in twin.pending {
            if let snapshot = try database.pendingSnapshot(of: name) {
              pending[name] = (snapshot, own.table)
            }
          }
          held.append((try database.snapshot(), twin.model, pending))
        }
        if held.count > 3 { held.remove(at: .random(in: 0..<held.count, using: &changes.random)) }
        try checkSpace(database, twin)
      }
      held = []
      try database.close()
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  private func expect(_ isRight: Bool, _ what: @autoclosure () -> String) throws {
    if !isRight { throw EngineError.invalidArgument(what()) }
  }

  // MARK: Steps

  /// Begins a pending table beside a table or for a new one; an earlier pending one is dropped.
  private func begin(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let names = ["all", "few", "keyed", "new one", "new two"]
    let name = names.randomElement(using: &changes.random) ?? "few"
    let columns = name.hasPrefix("new") ? changes.keyed(RandomChanges.keyedColumns) : nil
    let visible = twin.model.tables[name]
    let isRolledBack = Int.random(in: 0..<4, using: &changes.random) == 0
    let transaction = try database.beginWrite()
    try expect(
      try transaction.abandonPending(name) == (twin.pending[name] != nil), "\(name) was pending")
    _ = try transaction.beginPending(
      name, creating: visible == nil ? columns : nil,
      keys: visible == nil ? Model.Table(columns: columns ?? []).keyNames : [],
      describedAs: "begun")
    changes.pending = [name]
    var model = Model.only(name, visible ?? Model.Table(columns: columns ?? []))
    for _ in 0..<3 { try changes.any(transaction, &model) }
    changes.pending = []
    if isRolledBack { return transaction.rollBack() }
    try transaction.commit()
    guard let table = model.tables[name] else { return }
    twin.pending[name] = Pending(table: table, base: visible)
  }

  private func changePending(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    guard let name = twin.pending.keys.sorted().randomElement(using: &changes.random),
      var pending = twin.pending[name]
    else { return }
    let durability = Durability.allCases.randomElement(using: &changes.random) ?? .full
    let isRolledBack = Int.random(in: 0..<5, using: &changes.random) == 0
    var model = Model.only(name, pending.table)
    let transaction = try database.beginWrite()
    changes.pending = [name]
    for _ in 0..<4 { try changes.any(transaction, &model) }
    changes.pending = []
    if isRolledBack { return transaction.rollBack() }
    try transaction.commit(durability: durability)
    try database.flush()
    guard let table = model.tables[name] else { return }
    pending.table = table
    twin.pending[name] = pending
  }

  private func changeVisible(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    let keeps = Bool.random(using: &changes.random)
    var next = twin.model
    var base: UInt64 = 0
    // Only of one table, so that the pending ones of others stay valid.
    let name = next.tables.keys.sorted().randomElement(using: &changes.random) ?? "few"
    var one = Model.only(name, next.tables[name] ?? Model.Table(columns: []))
    try database.write { transaction in
      base = transaction.baseVersion
      if keeps { try transaction.keepBase(most: 3) }
      for _ in 0..<3 { try changes.any(transaction, &one) }
    }
    if keeps {
      twin.kept[base] = twin.model
      for old in twin.kept.keys.sorted().dropLast(3) { twin.kept[old] = nil }
    }
    next.tables[name] = one.tables[name]
    twin.model = next
    // The step may have changed nothing of importance: only a difference has to be found.
    if let pending = twin.pending[name], pending.base?.rows != next.tables[name]?.rows {
      twin.pending[name]?.isOutdated = true
    }
  }

  private func undo(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    guard let number = twin.kept.keys.sorted().randomElement(using: &changes.random),
      let old = twin.kept[number]
    else { return }
    let before: UInt64
    do {
      before = try database.restore(.number(number), .all).before
    } catch EngineError.unchanged {
      return
    }
    twin.kept[before] = twin.model
    let now = twin.model
    twin.model = Model()
    for (name, var table) in old.tables {
      if let present = now.tables[name] {
        table.nextKey = max(table.nextKey, present.nextKey)
        table.nextGivenKey = max(table.nextGivenKey, present.nextGivenKey)
      }
      twin.model.tables[name] = table
    }
    for (name, pending) in twin.pending
    where pending.base?.rows != twin.model.tables[name]?.rows {
      twin.pending[name]?.isOutdated = true
    }
  }

  /// Publishes a pending table, or drops it.
  private func end(
    _ database: Database, _ changes: inout RandomChanges, _ twin: inout Twin
  ) throws {
    guard let name = twin.pending.keys.sorted().randomElement(using: &changes.random),
      let pending = twin.pending[name]
    else { return }
    let before = try database.snapshot().version
    if Int.random(in: 0..<4, using: &changes.random) == 0 {
      try expect(try database.write { try $0.abandonPending(name) }, "abandoned")
      twin.pending[name] = nil
      return
    }
    let isKept = Bool.random(using: &changes.random)
    do {
      try database.write { transaction in
        if isKept { try transaction.keepBase(most: 3) }
        try transaction.publishPending(name)
      }
    } catch EngineError.busy(_, let reason) {
      try expect(reason.contains("'\(name)' was"), reason)
      // A table that was changed and changed back may be refused; an unchanged one may not.
      let isTouched =
        pending.isOutdated
        || pending.base?.nextKey != twin.model.tables[name]?.nextKey
        || (pending.base == nil) != (twin.model.tables[name] == nil) || pending.base != nil
      try expect(isTouched, "refused: \(reason)")
      try expect(try database.snapshot().version == before, "a refused one made a version")
      try database.write { try $0.abandonPending(name) }
      twin.pending[name] = nil
      return
    }
    try expect(!pending.isOutdated, "'\(name)' was changed by somebody else, and was put in place")
    if isKept {
      twin.kept[before] = twin.model
      for old in twin.kept.keys.sorted().dropLast(3) { twin.kept[old] = nil }
    }
    twin.model.tables[name] = pending.table
    twin.pending[name] = nil
  }

  // MARK: Comparing

  /// Keys that were given in vain are forgotten when the last handle closes.
  private func learn(_ name: String, _ database: Database, _ twin: inout Twin) throws {
    guard let snapshot = try database.pendingSnapshot(of: name), var own = twin.pending[name] else {
      throw EngineError.invalidArgument("'\(name)' is not pending any more")
    }
    own.table.nextGivenKey = own.table.nextKey
    _ = snapshot
    twin.pending[name] = own
  }

  private func compare(_ database: Database, _ twin: Twin, isDeep: Bool) throws {
    let report = try database.check(deep: isDeep)
    try expect(report.isSound, "check: \(report.problems)")
    try expect(Set(report.pendingTables) == Set(twin.pending.keys), "pending: checked")
    let snapshot = try database.snapshot()
    let found = try twin.model.difference(snapshot)
    try expect(found == nil, "newest: \(found ?? "")")
    let plain = twin.pending.isEmpty ? snapshot.record.hasHistory ? 2 : 1 : 3 as UInt32
    let tables = Array(twin.model.tables.values) + twin.pending.values.map(\.table)
    let format = plain + (tables.contains { $0.keys.count > 1 } ? 3 : 0)
    // The slot may still claim such a key.
    try expect(
      [format, snapshot.record.hasHistory ? plain + 3 : format].contains(snapshot.record.format),
      "format \(snapshot.record.format)")
    let list = try snapshot.pendingTables
    try expect(Set(list.map(\.name)) == Set(twin.pending.keys), "pending: \(list.map(\.name))")
    for (name, pending) in twin.pending {
      let own = try database.pendingSnapshot(of: name)
      let found = try own.flatMap { try Model.only(name, pending.table).difference($0) }
      try expect(own != nil && found == nil, "pending '\(name)': \(found ?? "")")
      let count = list.first { $0.name == name }?.objects
      try expect(count == pending.table.rows.count, "objects of '\(name)'")
    }
    try expect(
      try snapshot.keptVersions.map(\.number) == twin.kept.keys.sorted(), "kept versions")
    for (number, model) in twin.kept {
      let found = try model.difference(database.snapshot(at: .number(number)))
      try expect(found == nil, "version \(number): \(found ?? "")")
    }
  }

  /// No page is free that the newest version, a kept version or a pending table reaches; without
  /// pending tables all other pages are free.
  private func checkSpace(_ database: Database, _ twin: Twin) throws {
    let transaction = try database.beginWrite()
    let space = try #require(database.memory.space)
    let parts = try database.parts
    let base = transaction.state.base
    var reached = PageSet()
    reached.insert(0..<Layout.slotCount)
    let others = try transaction.state.history().records(in: base)
    let held = try database.coordination.heldVersions().map(\.record)
    for record in [base] + others + held {
      try VersionRoots(record, parts.blocks).forEachBlock(parts.blocks) { reference, _, _ in
        if let pages = reference.pages(within: record.end) { reached.insert(pages) }
      }
    }
    let walked = try database.freshSpace(base, parts)
    walked.reclaim(try database.versionsToKeep(parts).versions)
    for page in 0..<space.pageCount {
      let isFree = space.use(of: page).isFree
      try expect(!(isFree && reached.contains(page)), "page \(page) is free, and reached")
      guard page < walked.pageCount else { continue }
      let isWalkedFree = walked.use(of: page).isFree
      try expect(!(isWalkedFree && reached.contains(page)), "page \(page), walked")
      // Frozen pages may be free by a walk, never the other way round.
      try expect(!isFree || isWalkedFree || !twin.pending.isEmpty, "page \(page), only walked")
      if held.isEmpty {
        try expect(
          isWalkedFree != reached.contains(page), "page \(page), walked, is kept for nobody")
      }
    }
  }
}

extension Model {
  /// A model of one table.
  fileprivate static func only(_ name: String, _ table: Table) -> Model {
    var model = Model()
    model.tables[name] = table
    return model
  }
}
