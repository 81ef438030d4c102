import Testing
import TestSupport

@testable import Engine

@Suite("Results followed from version to version")
struct ChangeSetTrackerTests {
  /// A query that is followed, and its expected results.
  private final class Followed {
    let table: String
    let tracker: ChangeSetTracker
    var keys: [Int64] = []
    var full: FullTable

    init(_ table: String, _ query: Query, _ full: FullTable) throws {
      self.table = table
      self.full = full
      tracker = ChangeSetTracker(query, tableNumber: full.table.number)
      guard case .initial = try tracker.advance(to: full.table) else {
        throw EngineError.invalidArgument("the first version is no initial one")
      }
      keys = full.results(query)
    }

    /// What is wrong after moving to another version; nil if nothing is.
    func advance(
      to next: FullTable, _ cache: DifferenceCache, _ random: inout SplitMix64
    ) throws -> String? {
      let expected = next.results(tracker.query)
      let old = full
      var update: ResultsUpdate?
      switch try tracker.advance(to: next.table, sharing: cache) {
      case .unchanged: break
      case .update(let found): update = found
      case .initial, .deleted: return "not an update"
      }
      let changes = update?.changes() ?? ChangeSet()
      if update != nil, changes.isEmpty { return "an empty update" }
      let problem = SlowDifference.problem(changes, keys, expected) {
        !old.changedColumns($0, next).isEmpty
      }
      if let problem { return problem }
      let schemas = [old.table.schema, next.table.schema]
      let known = Set(schemas.flatMap { $0.columns.map(\.name) }).sorted()
      let names = Set(known.shuffled(using: &random).prefix(2))
      let ids = schemas.flatMap { schema in
        zip(schema.columnIDs, schema.columns).filter { names.contains($0.1.name) }.map(\.0)
      }
      let some = update?.changes(ofColumns: Set(ids)) ?? ChangeSet()
      let wrong = SlowDifference.problem(some, keys, expected) {
        !old.changedColumns($0, next).filter(ids.contains).isEmpty
      }
      if let wrong { return "with key paths \(names): \(wrong)" }
      if tracker.count != expected.count { return "count \(tracker.count)" }
      if let keys = tracker.keys, keys != expected { return "keys" }
      (keys, full) = (expected, next)
      return nil
    }
  }

  @Test("Random queries over random histories", arguments: Effort.seeds(1..<17))
  func random(seed: UInt64) throws {
    var history = try RandomHistory(seed: seed &+ 500)
    var followed: [Followed] = []
    let cache = DifferenceCache()
    for round in 0..<30 {
      if round > 0 { try history.step() }
      let snapshot = try history.database.snapshot()
      let tables = try DifferenceTests.tables(snapshot)
      if followed.count < 14 {
        for name in RandomHistory.tables {
          let full = try #require(tables[name])
          let query = Self.query(full, &history.changes.random)
          followed.append(try Followed(name, query, full))
          // Lists as short as these would always be sorted anew.
          if Bool.random(using: &history.changes.random) { followed.last?.tracker.fewChanges = 1 }
        }
      }
      for one in followed where Int.random(in: 0..<3, using: &history.changes.random) > 0 {
        let next = try #require(tables[one.table])
        let problem = try one.advance(to: next, cache, &history.changes.random)
        #expect(
          problem == nil, "seed \(seed), round \(round), \(one.table): \(one.tracker.query)")
        if problem != nil { return }
      }
    }
  }

  private static func query(_ full: FullTable, _ random: inout SplitMix64) -> Query {
    var query = Query()
    // Columns that are not removed again.
    let names = full.table.columns.map(\.name).filter { !$0.hasPrefix("late") }
    if Int.random(in: 0..<4, using: &random) > 0 { query.filter = filter(names, &random) }
    if Int.random(in: 0..<3, using: &random) == 0 {
      query.isDistinct = true
      query.columns = Array(names.shuffled(using: &random).prefix(2))
    }
    if Bool.random(using: &random) {
      query.sort = (query.columns ?? names).shuffled(using: &random).prefix(2).map {
        SortOrder($0, descending: .random(using: &random))
      }
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      query.limit = Int.random(in: 0...20, using: &random)
    }
    if Int.random(in: 0..<4, using: &random) == 0 {
      query.offset = Int.random(in: 0...9, using: &random)
    }
    return query
  }

  private static func filter(_ names: [String], _ random: inout SplitMix64) -> Predicate {
    let number = Int.random(in: 0..<20, using: &random)
    let choices: [(String, Predicate)] = [
      ("stars", column("stars") < number), ("stars", column("stars") >= number * 20),
      ("stars", !column("stars").isIn([1, 2, 3, number])), ("name", column("name").contains("app")),
      ("name", column("name").isNull || column("name") >= "a"),
      ("id", column("id").beginsWith("key")), ("a int", column("a int") < number),
      ("a bool", column("a bool").isTrue), ("a double", column("a double") > 1.5),
      ("a text", !column("a text").contains("long")), ("number", column("number") > number),
    ]
    let fitting = choices.filter { names.contains($0.0) }.map(\.1)
    let first = fitting.randomElement(using: &random) ?? .everything
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return first && (fitting.randomElement(using: &random) ?? .everything)
    case 1: return first || (fitting.randomElement(using: &random) ?? .everything)
    case 2: return .everything
    default: return first
    }
  }

  // MARK: By hand

  private static func database() throws -> Database {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      try transaction.createTable(
        "apps", columns: [Column("name", .text), Column("stars", .int)])
      for (index, name) in ["a", "b", "c", "d", "e"].enumerated() {
        try transaction.table("apps").insert([.text(name), .int(Int64(index))])
      }
    }
    return database
  }

  private static func changes(
    _ query: Query, keyPaths: Set<String>? = nil,
    _ body: (borrowing WriteTransaction) throws -> Void
  ) throws -> ChangeSet {
    let database = try database()
    let table = try database.snapshot().table("apps")
    let tracker = ChangeSetTracker(query, tableNumber: table.number)
    _ = try tracker.advance(to: table)
    try database.write(body)
    switch try tracker.advance(to: database.snapshot().table("apps")) {
    case .update(let update):
      let columns = keyPaths.map { names in
        Set(names.compactMap { table.schema.index(of: $0).map { table.schema.columnIDs[$0] } })
      }
      return update.changes(ofColumns: columns)
    default: return ChangeSet()
    }
  }

  @Test("Objects that begin and cease to match a filter")
  func filtered() throws {
    let query = Query(column("stars") >= 2)
    let changes = try Self.changes(query) { transaction in
      let table = try transaction.table("apps")
      try table.update(1, ["stars": .int(7)])  // enters at 0
      try table.update(3, ["stars": .int(1)])  // leaves
      try table.update(4, ["name": .text("x")])  // stays, changed
      try table.insert([.null, .int(9)])
      try table.insert([.null, .int(0)])
    }
    #expect(
      changes
        == ChangeSet(
          deletions: [0], insertions: [0, 3], modifications: [1], newModifications: [1]))
  }

  @Test("A move is a deletion and an insertion, of one object")
  func moved() throws {
    var query = Query()
    query.sort = [.descending("stars")]
    // e d c b a, then a e d c b
    let changes = try Self.changes(query) { try $0.table("apps").update(1, ["stars": .int(9)]) }
    #expect(changes == ChangeSet(deletions: [4], insertions: [0]))
    let renamed = try Self.changes(query) { try $0.table("apps").update(1, ["name": .null]) }
    #expect(renamed == ChangeSet(modifications: [4], newModifications: [4]))
  }

  @Test("What comes into the window of a limit is inserted")
  func limited() throws {
    var query = Query()
    query.limit = 2
    query.offset = 1
    // b c, then c d
    let changes = try Self.changes(query) { try $0.table("apps").delete(1) }
    #expect(changes == ChangeSet(deletions: [0], insertions: [1]))
  }

  @Test("Key paths: only their columns make a modification")
  func keyPaths() throws {
    for query in [Query(), Query(column("stars") >= 0)] {
      let update: (borrowing WriteTransaction) throws -> Void = {
        let table = try $0.table("apps")
        try table.update(1, ["name": .text("x")])
        try table.update(2, ["stars": .int(8)])
      }
      #expect(try Self.changes(query, keyPaths: ["name"], update).modifications == [0])
      #expect(try Self.changes(query, keyPaths: ["stars"], update).modifications == [1])
      #expect(try Self.changes(query, keyPaths: [], update).isEmpty)
      let deletion = try Self.changes(query, keyPaths: []) { try $0.table("apps").delete(5) }
      #expect(deletion == ChangeSet(deletions: [4]))
    }
  }

  @Test("A table that is gone is told of once")
  func deleted() throws {
    let database = try Self.database()
    let table = try database.snapshot().table("apps")
    let tracker = ChangeSetTracker(Query(), tableNumber: table.number)
    _ = try tracker.advance(to: table)
    guard case .deleted = try tracker.advance(to: nil) else {
      Issue.record("not deleted")
      return
    }
    guard case .unchanged = try tracker.advance(to: nil) else {
      Issue.record("deleted twice")
      return
    }
    #expect(tracker.count == 0)
    #expect(tracker.keys == nil)
  }

  @Test("After an error the tracker is where it was")
  func failing() throws {
    let database = try Self.database()
    let table = try database.snapshot().table("apps")
    #expect(throws: QueryError.self) {
      try ChangeSetTracker(Query(column("nothing") > 1), tableNumber: table.number)
        .advance(to: table)
    }
    let tracker = ChangeSetTracker(Query(column("stars") > 1), tableNumber: table.number)
    _ = try tracker.advance(to: table)
    try database.write { transaction in
      let editor = try transaction.table("apps").editor
      try editor.widen([(1, .text)])
      _ = try transaction.table("apps").insert([.null, .text("5")])
    }
    let next = try database.snapshot().table("apps")
    #expect(throws: QueryError.self) { try tracker.advance(to: next) }
    #expect(tracker.keys == [3, 4, 5])
    #expect(tracker.table?.version == table.version)
    try database.write { try $0.createTable("b", columns: [Column("x", .int)]) }
    let other = try database.snapshot().table("b")
    #expect(throws: EngineError.self) { try tracker.advance(to: other) }
  }
}
