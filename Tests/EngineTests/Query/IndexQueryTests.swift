import Testing
import TestSupport

@testable import Engine

/// Queries find the same with secondary indexes, without them, and by their slow twin, whatever has
/// happened to the table.
@Suite("Queries by index")
struct IndexQueryTests {
  private static func options(_ seed: UInt64) -> Database.Options {
    var options = Database.Options.tiny
    options.indexLimits.leafEntries = [1, 3, 16, 1024][Int(seed % 4)]
    options.indexLimits.nodeCapacity = [2, 3, 8][Int(seed % 3)]
    options.indexLimits.recentEntries = [4, 60, 65_536][Int(seed % 3)]
    options.indexLimits.smallestRun = [1, 16][Int(seed % 2)]
    options.indexLimits.smallFanout = 3
    options.indexLimits.largeFanout = 2
    return options
  }

  @Test("Random histories", arguments: Effort.seeds(1..<9))
  func histories(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 80 : seed + 1) { try Self.history(seed) }
  }

  private static func history(_ seed: UInt64) throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    var changes = RandomChanges(seed: seed)
    var database = try Database.open(path, options: options(seed))
    try database.write {
      try $0.createTable(
        "t", columns: RandomTable.columns,
        indexes: ["int", "word", "date", "clock", "amount", "id"])
    }
    for round in 0..<Effort.rounds(16, long: 16) {
      let note = "seed \(seed), round \(round)"
      let isCancelled = Int.random(in: 0..<8, using: &changes.random) == 0
      try? database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("t")
        for _ in 0..<Int.random(in: 1...4, using: &changes.random) {
          do {
            try change(table, &changes)
          } catch {
            Issue.record("\(note): \(error)")
          }
        }
        let rows = try (0..<table.count).compactMap { try table.row(at: $0) }
        var generator = PredicateGenerator(random: changes.random, rows: rows)
        try compare(table.editor, rows, &generator, note + ", in the transaction")
        changes.random = generator.random
        if isCancelled { throw Cancelled() }
      }
      switch Int.random(in: 0..<6, using: &changes.random) {
      case 0: #expect(try database.compact().decision == .compacted)
      case 1:
        try database.close()
        database = try Database.open(path, options: options(seed))
      default: break
      }
      let table = try database.snapshot().table("t")
      var rows: [Row] = []
      try table.forEachRow { rows.append($0) }
      var generator = PredicateGenerator(random: changes.random, rows: rows)
      try compare(table, rows, &generator, note)
      changes.random = generator.random
      if round % 4 == 3 { #expect(try database.check().problems == [], "\(note)") }
    }
    try database.close()
  }

  private struct Cancelled: Error {}

  private static func change(_ table: WritableTable, _ changes: inout RandomChanges) throws {
    let columns = RandomTable.columns
    func row() -> [Value] { columns.map { value($0, &changes) } }
    func anyKey() throws -> Int64? {
      let count = try table.count
      if count == 0 { return nil }
      return try table.row(at: Int.random(in: 0..<count, using: &changes.random))?.key
    }
    switch Int.random(in: 0..<20, using: &changes.random) {
    case ..<5:
      for _ in 0..<Int.random(in: 1...20, using: &changes.random) { try table.insert(row()) }
    case ..<9:
      var rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
      for key in 0..<Int64.random(in: 1...40, using: &changes.random) {
        try rows.append(key: key, values: row())
      }
      try table.editor.append(try rows.encode(with: ClusterBuilder()))
    case ..<14:
      for _ in 0..<Int.random(in: 1...10, using: &changes.random) {
        guard let key = try anyKey(), let column = columns.randomElement(using: &changes.random)
        else { return }
        try table.update(key, [column.name: value(column, &changes)])
      }
    case ..<17:
      for _ in 0..<Int.random(in: 1...10, using: &changes.random) {
        if let key = try anyKey() { try table.delete(key) }
      }
    case 17 where Int.random(in: 0..<4, using: &changes.random) == 0: try table.deleteAll()
    default:
      for column in columns.shuffled(using: &changes.random).prefix(2) {
        if table.indexedColumns.contains(column.name) {
          try table.removeIndex(column.name)
        } else {
          try table.addIndex(column.name)
        }
      }
    }
  }

  /// Values, many of which are equal.
  private static func value(_ column: Column, _ changes: inout RandomChanges) -> Value {
    let number = Int.random(in: 0..<40, using: &changes.random)
    if number < 25 { return changes.value(column) }
    switch column.type {
    case .int: return .int(Int64(number % 5))
    case .double: return number == 25 ? .double(.nan) : .double(Double(number % 5) / 2)
    case .date: return CalendarDate(daysSince1970: number % 5).map { .date($0) } ?? .null
    case .text: return .text(["GAME", "GAMES", "GA", "game", ""][number % 5])
    default: return changes.value(column)
    }
  }

  private static func compare(
    _ source: any LeafSource, _ rows: [Row], _ generator: inout PredicateGenerator, _ note: String
  ) throws {
    if rows.isEmpty { return }
    for _ in 0..<5 {
      let predicate = generator.predicate()
      let expected = rows.filter { SlowQuery.matches(predicate, $0) == true }.map(\.key)
      for use in IndexPolicy.allCases {
        let reader = try ResultReader(
          Query(predicate), source, readsColumns: false, indexUse: use)
        var keys: [Int64] = []
        try reader.forEachWindow(withKeys: true) { keys += $0.keys }
        #expect(keys == expected, "\(note), \(use): \(predicate)")
      }
      try compareAll(source, predicate, &generator, note)
    }
  }

  /// Sorted, distinct, limited and counted, with indexes and without.
  private static func compareAll(
    _ source: any LeafSource, _ predicate: Predicate, _ generator: inout PredicateGenerator,
    _ note: String
  ) throws {
    var query = Query(predicate)
    query.columns = ["word", "int"]
    query.sort = [[], [.descending("word")]].randomElement(using: &generator.random) ?? []
    query.isDistinct = Bool.random(using: &generator.random)
    query.limit = [nil, 0, 1, 7].randomElement(using: &generator.random) ?? nil
    query.offset = Int.random(in: 0...2, using: &generator.random)
    var answers: [(keys: [Int64], count: Int)] = []
    for use in IndexPolicy.allCases {
      let reader = try ResultReader(query, source, indexUse: use)
      var keys: [Int64] = []
      try reader.forEachWindow(withKeys: true) { keys += $0.keys }
      answers.append((keys, try ResultReader(query, source, indexUse: use).count()))
    }
    for answer in answers.dropFirst() {
      #expect(answer == answers[0], "\(note): \(query)")
    }
  }

  // MARK: Plans

  private static func apps(_ rows: Int) throws -> Database {
    var options = Database.Options()
    // With another secret, one of 10,000 texts may have the code of one that is looked for, and be a
    // candidate: one run in 400.
    options.indexLimits.keyCode = KeyCode(low: 1, high: 2, bits: 60)
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable(
        "apps",
        columns: [
          Column("App", .text), Column("Category", .text), Column("Rating", .double),
          Column("Updated", .date), Column("Reviews", .int),
        ], indexes: ["App", "Category", "Rating", "Updated"])
      let table = try transaction.table("apps")
      for row in 0..<rows {
        let number = row % 501 == 0 ? Double.nan : Double(row % 50) / 10
        let rating: Value = row % 500 == 0 ? .null : .double(number)
        let updated = CalendarDate(daysSince1970: row * 7919 % rows).map(Value.date)
        try table.insert([
          .text("App \(row)"), .text(row % 1000 == 7 ? "COMICS" : "GAME"), rating, updated ?? .null,
          .int(Int64(row)),
        ])
      }
    }
    return database
  }

  private static func explain(_ text: String, in table: Table, limit: Int? = nil) throws -> String {
    var query = Query(try Predicate(text))
    query.limit = limit
    return try query.explain(in: table)
  }

  @Test("Explanations say which index is used, or why none is")
  func explanations() throws {
    let table = try Self.apps(10_000).snapshot().table("apps")
    let explain = { (text: String) in try Self.explain(text, in: table) }
    #expect(
      try explain("Category == 'COMICS'").hasPrefix(
        "index on 'Category': 10 candidates in "))
    #expect(try explain("App == 'App 77'").hasPrefix("index on 'App': 1 candidate in 1 of "))
    #expect(try explain("Rating is null").hasPrefix("index on 'Rating': 20 candidates in"))
    #expect(try explain("Rating is nan").hasPrefix("index on 'Rating': "))
    #expect(
      try explain("Updated between '1970-02-01' and '1970-02-10' and Reviews > 5")
        .hasPrefix("index on 'Updated': 10 candidates in"))
    #expect(
      try explain("App in ('App 5', 'App 9000') or Category begins with 'COM'")
        .hasPrefix("indexes on 'App', 'Category': 12 candidates in"))
    #expect(
      try explain("Category == 'GAME' and App == 'App 9'")
        .hasPrefix("index on 'App': 1 candidate in 1 of "))
    #expect(try explain("Category like 'COM%'").hasPrefix("index on 'Category': 10 candidates"))
    #expect(
      try explain("Category == 'GAME'")
        == "scan: the index on 'Category' would find 9,990 of 10,000 objects")
    for text in [
      "Reviews == 5", "Category != 'GAME'", "not App == 'App 5'", "App ends with '7'",
      "App ==[c] 'app 5'", "Reviews == 5 or App == 'App 5'",
    ] {
      #expect(try explain(text) == "scan: no index helps with the filter", "\(text)")
    }
    #expect(try Query().explain(in: table) == "scan: there is no filter")
    // Reading on soon finds the first matches.
    #expect(try Self.explain("Rating < 0.2", in: table, limit: 3).hasPrefix("scan: "))
    #expect(throws: QueryError.self) { try explain("Nope == 5") }
  }

  @Test("Inside a transaction, what it has added is found by the index")
  func transaction() throws {
    let database = try Self.apps(5000)
    try database.write { transaction in
      let table = try transaction.table("apps")
      let key = try table.insert(["App": .text("New"), "Category": .text("COMICS")])
      try table.update(8, ["Category": .text("GAME")])
      let query = Query(column("Category") == "COMICS")
      #expect(try query.explain(in: table).hasPrefix("index on 'Category': 6 candidates in"))
      #expect(try query.keys(in: table) == [1008, 2008, 3008, 4008, key])
      #expect(throws: EngineError.self) {
        try query.forEachRow(in: table) { try table.delete($0.key) }
      }
      #expect(try Query(column("App") == "New").count(in: table) == 1)
    }
  }
}
