import Base
import Testing
import TestSupport

@testable import Engine

@Suite("Differences between versions")
struct DifferenceTests {
  @Test("Random histories: tables, objects and names against all rows", arguments: 1...16)
  func random(seed: UInt64) throws {
    var history = try RandomHistory(seed: seed)
    var held: [(Snapshot, [String: FullTable])] = []
    for round in 0..<30 {
      if round > 0 { try history.step() }
      let snapshot = try history.database.snapshot()
      held.append((snapshot, try Self.tables(snapshot)))
      for _ in 0..<3 {
        let old = held[Int.random(in: 0..<held.count, using: &history.changes.random)]
        let new = held[
          Int.random(in: max(0, held.count - 3)..<held.count, using: &history.changes.random)]
        let problem = try Self.problem(old, new, &history.changes.random)
        #expect(problem == nil, "seed \(seed), round \(round)")
        if problem != nil { return }
      }
    }
  }

  static func tables(_ snapshot: Snapshot) throws -> [String: FullTable] {
    var tables: [String: FullTable] = [:]
    for name in snapshot.tableNames { tables[name] = try FullTable(snapshot.table(name)) }
    return tables
  }

  /// Compares two versions in every way, in both directions.
  private static func problem(
    _ old: (Snapshot, [String: FullTable]), _ new: (Snapshot, [String: FullTable]),
    _ random: inout SplitMix64
  ) throws -> String? {
    var changed: [String] = []
    for name in RandomHistory.tables {
      guard let before = old.1[name], let after = new.1[name] else { return "no table \(name)" }
      let difference = try TableDifference(from: before.table, to: after.table)
      let pair = "\(name), \(old.0.version) to \(new.0.version): "
      if let problem = SlowDifference.problem(difference, before, after) { return pair + problem }
      let isSame = try TableDifference.areEqual(before.table, after.table)
      if isSame != difference.isEmpty { return pair + "areEqual" }
      if !isSame || before.table.schema != after.table.schema { changed.append(name) }
      for key in before.keys.shuffled(using: &random).prefix(3) {
        let change = try ObjectDifference(ofKey: key, from: before.table, to: after.table)
        if change != expectedChange(key, before, after) { return pair + "object \(key): \(change)" }
      }
    }
    let tables = try TableChanges(from: old.0, to: new.0)
    // If the same objects are in other leaves, the table counts as changed, too.
    guard tables.created.isEmpty, tables.deleted.isEmpty,
      Set(changed).isSubset(of: tables.changed)
    else { return "tables \(tables), not \(changed)" }
    return nil
  }

  private static func expectedChange(
    _ key: Int64, _ old: FullTable, _ new: FullTable
  ) -> ObjectDifference {
    guard new.keys.contains(key) else { return .deleted }
    let ids = old.changedColumns(key, new)
    var changes: [PropertyChange] = []
    for (index, schema) in [new.table.schema, old.table.schema].enumerated() {
      for (id, column) in zip(schema.columnIDs, schema.columns) where ids.contains(id) {
        if index == 1, new.table.schema.columnIDs.contains(id) { continue }
        changes.append(
          PropertyChange(name: column.name, old: old.value(key, id), new: new.value(key, id)))
      }
    }
    return changes.isEmpty ? .unchanged : .changed(changes)
  }

  @Test("A compacted copy, which shares nothing, is compared by value", arguments: 1...4)
  func compacted(seed: UInt64) throws {
    var history = try RandomHistory(seed: seed)
    for _ in 0..<12 { try history.step() }
    let before = try history.database.snapshot()
    let old = try Self.tables(before)
    let folder = TemporaryFolder()
    try history.database.writeCopy(to: folder.path("copy.sheaf"))
    let copy = try Database.open(folder.path("copy.sheaf"))
    let same = try copy.snapshot()
    #expect(try TableChanges(from: before, to: same).isEmpty, "seed \(seed)")
    for _ in 0..<6 { try history.step() }
    let later = try history.database.snapshot()
    let new = try Self.tables(later)
    for (name, table) in try Self.tables(same) {
      let earlier = try #require(old[name])
      let after = try #require(new[name])
      #expect(try TableDifference(from: earlier.table, to: table.table).isEmpty, "seed \(seed)")
      let difference = try TableDifference(from: table.table, to: after.table)
      #expect(SlowDifference.problem(difference, table, after) == nil, "seed \(seed), \(name)")
      #expect(
        try TableChanges(from: same, to: later).changed.contains(name) == !difference.isEmpty
          || table.table.schema != after.table.schema)
    }
    try copy.close()
  }

  // MARK: By hand

  private static let columns = [Column("name", .text), Column("stars", .int)]

  /// A database with a table of as many objects, in clusters of 100.
  private static func database(_ rows: Int, storage: any Storage) throws -> Database {
    let database = try Database.open(storage: storage)
    try database.write { transaction in
      try transaction.createTable("apps", columns: columns)
      let editor = try transaction.table("apps").editor
      for start in stride(from: 0, to: rows, by: 100) {
        var buffer = RowBuffer(columnIDs: editor.schema.columnIDs)
        for row in start..<min(start + 100, rows) {
          try buffer.append(
            key: Int64(row - start), values: [.text("an app, number \(row)"), .int(Int64(row % 7))])
        }
        try editor.append(try buffer.encode(with: ClusterBuilder()))
      }
    }
    return database
  }

  private static func memory(_ rows: Int) throws -> Database {
    try database(rows, storage: RecordingStorage(isRecording: false))
  }

  @Test("Values that are the same are no modification, other spellings are")
  func spellings() throws {
    let database = try Self.memory(10)
    let old = try database.snapshot().table("apps")
    try database.write { transaction in
      let table = try transaction.table("apps")
      try table.update(3, ["stars": .int(2)])
      try table.update(4, ["stars": .int(9), "name": .null])
      try table.editor.widen([(1, .double)])
    }
    let new = try database.snapshot().table("apps")
    let difference = try TableDifference(from: old, to: new)
    #expect(difference.deleted.isEmpty && difference.inserted.isEmpty)
    #expect(difference.modified.map(\.key) == [4])
    #expect(difference.modified.map(\.oldPosition) == [3])
    #expect(difference.columnSets == [[1, 2]])
    let change = try ObjectDifference(ofKey: 4, from: old, to: new)
    #expect(
      change
        == .changed([
          PropertyChange(name: "name", old: .text("an app, number 3"), new: .null),
          PropertyChange(name: "stars", old: .int(3), new: .double(9)),
        ]))
    #expect(
      try ObjectDifference(ofKey: 4, from: old, to: new, columns: [2])
        == .changed([PropertyChange(name: "stars", old: .int(3), new: .double(9))]))
    #expect(try ObjectDifference(ofKey: 3, from: old, to: new) == .unchanged)
    #expect(try ObjectDifference(ofKey: 4, from: old, to: nil) == .deleted)
    #expect(throws: EngineError.noSuchObject(table: "apps", key: 99)) {
      try ObjectDifference(ofKey: 99, from: old, to: new)
    }
  }

  @Test("Everything deleted, and other objects in its place")
  func replaced() throws {
    let database = try Self.memory(250)
    let old = try FullTable(database.snapshot().table("apps"))
    try database.write { try $0.table("apps").deleteAll() }
    let empty = try FullTable(database.snapshot().table("apps"))
    try database.write { transaction in
      for number in 0..<5 { try transaction.table("apps").insert([.null, .int(Int64(number))]) }
    }
    let new = try FullTable(database.snapshot().table("apps"))
    for (one, other) in [(old, empty), (empty, new), (old, new), (new, old), (empty, empty)] {
      let difference = try TableDifference(from: one.table, to: other.table)
      #expect(SlowDifference.problem(difference, one, other) == nil)
    }
  }

  @Test("Two tables are not two versions of one")
  func otherTable() throws {
    let database = try Self.memory(3)
    try database.write { try $0.createTable("b", columns: Self.columns) }
    let snapshot = try database.snapshot()
    #expect(throws: EngineError.self) {
      try TableDifference(from: snapshot.table("apps"), to: snapshot.table("b"))
    }
    #expect(throws: EngineError.self) {
      try ObjectDifference(ofKey: 1, from: snapshot.table("apps"), to: snapshot.table("b"))
    }
  }

  @Test("Tables that were created and changed")
  func names() throws {
    let database = try Self.memory(3)
    let first = try database.snapshot()
    try database.write { try $0.createTable("b", columns: Self.columns) }
    let second = try database.snapshot()
    try database.write { try $0.table("apps").insert([.null, .null]) }
    let third = try database.snapshot()
    #expect(
      try TableChanges(from: first, to: third) == TableChanges(created: ["b"], changed: ["apps"]))
    #expect(
      try TableChanges(from: third, to: first) == TableChanges(deleted: ["b"], changed: ["apps"]))
    #expect(try TableChanges(from: second, to: third) == TableChanges(changed: ["apps"]))
    #expect(try TableChanges(from: third, to: third).isEmpty)
  }

  @Test("A removed column was a field of the objects that nobody wrote to either")
  func removedColumn() throws {
    let database = try Self.memory(250)
    let old = try FullTable(database.snapshot().table("apps"))
    try database.write { transaction in
      let table = try transaction.table("apps")
      try table.update(120, ["stars": .null])
      try table.renameColumn("name", to: "title")
      try table.removeColumn("stars")
      try table.delete(7)
    }
    let new = try FullTable(database.snapshot().table("apps"))
    try database.write { transaction in
      let table = try transaction.table("apps")
      try table.addColumn(Column("stars", .int, nullable: false, default: .int(1)))
      try table.update(9, ["title": .null])
    }
    let last = try FullTable(database.snapshot().table("apps"))
    for (one, other) in [(old, new), (new, old), (new, last), (last, new), (old, last)] {
      let difference = try TableDifference(from: one.table, to: other.table)
      #expect(SlowDifference.problem(difference, one, other) == nil)
      #expect(difference.modified.count == 249)
    }
    let tracker = ChangeSetTracker(Query(), tableNumber: old.table.number)
    _ = try tracker.advance(to: old.table)
    guard case .update(let update) = try tracker.advance(to: new.table) else {
      Issue.record("no update")
      return
    }
    #expect(update.changes(ofColumns: [2]).modifications.count == 249)
    #expect(update.changes(ofColumns: [1]).modifications.isEmpty)
  }

  @Test("A table that was deleted and made again is another one")
  func madeAgain() throws {
    let database = try Self.memory(3)
    let first = try database.snapshot()
    let table = try first.table("apps")
    try database.write { try $0.renameTable("apps", to: "programs") }
    let second = try database.snapshot()
    try database.write { transaction in
      try transaction.deleteTable("programs")
      try transaction.createTable("apps", columns: Self.columns)
    }
    let third = try database.snapshot()
    #expect(try TableChanges(from: first, to: second) == TableChanges(changed: ["programs"]))
    #expect(
      try TableChanges(from: first, to: third) == TableChanges(created: ["apps"], deleted: ["apps"])
    )
    let tracker = ChangeSetTracker(Query(), tableNumber: table.number)
    _ = try tracker.advance(to: table)
    guard case .unchanged = try tracker.advance(to: second.table(number: table.number)) else {
      Issue.record("another name is no change of objects")
      return
    }
    guard case .deleted = try tracker.advance(to: third.table(number: table.number)) else {
      Issue.record("not deleted")
      return
    }
  }

  // MARK: Cost

  /// Counts the views of a storage.
  private final class CountingStorage: Storage, @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let storage = RecordingStorage(isRecording: false)
    private let lock = Lock()
    private var count = 0
    var views: Int { lock.withLock { count } }
    var path: String { storage.path }
    func length() -> Int { storage.length() }
    func resize(to length: Int) throws(SystemError) { try storage.resize(to: length) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try storage.write(bytes, at: offset)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
      storage.read(into: buffer, at: offset)
    }
    func flush() { storage.flush() }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      lock.withLock { self.count += 1 }
      return storage.view(at: offset, count: count)
    }
  }

  @Test("One change among 100,000 objects costs a way down the tree")
  func cost() throws {
    let storage = CountingStorage()
    let database = try Self.database(100_000, storage: storage)
    let old = try database.snapshot().table("apps")
    try database.write { try $0.table("apps").update(54_321, ["stars": .int(100)]) }
    let new = try database.snapshot().table("apps")
    let before = storage.views
    let difference = try TableDifference(from: old, to: new)
    #expect(difference.modified.map(\.oldPosition) == [54_320])
    #expect(difference.cost.leavesOpened == 2)
    #expect(difference.cost.nodesRead == 2 * old.tree.root.level)
    // An overlay and its cluster take a view each.
    #expect(storage.views - before <= difference.cost.nodesRead + 4)

    let tracker = ChangeSetTracker(Query(column("stars") > 50), tableNumber: old.number)
    _ = try tracker.advance(to: old)
    let start = storage.views
    _ = try tracker.advance(to: new)
    #expect(tracker.keys == [54_321])
    #expect(storage.views - start <= difference.cost.nodesRead + 4 + old.tree.root.level + 2)

    // Equal values are written again, and one object is added.
    try database.write { transaction in
      let table = try transaction.table("apps")
      try table.update(54_321, ["stars": .int(100)])
      try table.insert([.null, .null])
    }
    let last = try database.snapshot().table("apps")
    let grown = try TableDifference(from: new, to: last)
    #expect(grown.modified.isEmpty)
    #expect(grown.inserted.map(\.position) == [100_000])
    // The changed leaf, old and new; and, if the last leaves of the old version were joined, up to four
    // of each of three sizes, the leaf that they became, and the new last one.
    #expect(grown.cost.leavesOpened <= 16)
  }
}
