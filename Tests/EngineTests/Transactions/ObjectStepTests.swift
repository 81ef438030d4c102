import TestSupport
import Testing

@testable import Engine

/// What has become of each object between two kept versions is what a comparison of all rows says.
@Suite("Changes between kept versions")
struct ObjectStepTests {
  @Test("Random histories, every pair of kept versions", arguments: Effort.seeds(1..<7))
  func random(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    var model = Model()
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { transaction in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      try changes.insert(40, into: "keyed", transaction, &model)
    }
    for round in 0..<8 {
      try database.write { transaction in
        try transaction.keepBase(most: 20)
        for _ in 0..<4 { try changes.any(transaction, &model) }
      }
      // The model does not follow: nothing comes after it.
      if round == 7 { try database.restore(.number(database.keptVersions()[2].number), .all) }
    }
    var snapshots = try database.keptVersions().map {
      try database.snapshot(at: .number($0.number))
    }
    snapshots.append(try database.snapshot())
    for old in snapshots.dropFirst() {
      for new in snapshots.dropFirst() {
        let names = try new.changes(since: old).changed
        for name in new.tableNames {
          let (before, after) = (try FullTable(old.table(name)), try FullTable(new.table(name)))
          let what = "seed \(seed), \(name), from \(old.version) to \(new.version)"
          try compare(before, after, what)
          let isSame = before.keys == after.keys && before.fields == after.fields
          #expect(isSame || names.contains(name), "\(what)")
        }
      }
    }
  }

  private func compare(_ before: FullTable, _ after: FullTable, _ what: String) throws {
    var found: [String] = []
    try after.table.forEachChange(since: before.table) { change in
      found.append("\(change.kind) \(change.object.key) \(change.properties.map(\.name))")
      let rows = change.kind == .deleted ? before.rows : after.rows
      let row = try #require(rows.first { $0.key == change.object.key })
      #expect(Model.isSame(row.values, change.object.values), "\(what)")
    }
    let (then, now) = (Set(before.keys), Set(after.keys))
    let returned = returned(before, after)
    var expected: [String] = []
    for key in then.union(now).sorted() {
      if !now.contains(key) {
        if !returned.values.contains(key) { expected.append("deleted \(key) []") }
      } else if !then.contains(key), returned[key] == nil {
        expected.append("inserted \(key) []")
      } else {
        let (new, old) = (after.fields[key] ?? [:], before.fields[returned[key] ?? key] ?? [:])
        let ids = Set(new.keys).union(old.keys).filter { new[$0] != old[$0] }
        let schema = after.table.schema
        let names = zip(schema.columnIDs, schema.columns).filter { ids.contains($0.0) }
        if !ids.isEmpty { expected.append("changed \(key) \(names.map(\.1.name))") }
      }
    }
    #expect(found == expected, "\(what)")
    let counts = try after.table.changeCounts(since: before.table)
    #expect(counts.values.reduce(0, +) == expected.count, "\(what)")
  }

  /// In a table with a key: objects that were deleted and are there again, by their numbers now.
  private func returned(_ before: FullTable, _ after: FullTable) -> [Int64: Int64] {
    func key(_ full: FullTable) -> UInt32? {
      full.table.schema.keyColumn.map { full.table.schema.columnIDs[$0] }
    }
    guard let id = key(before), id == key(after) else { return [:] }
    let (then, now) = (Set(before.keys), Set(after.keys))
    var returned: [Int64: Int64] = [:]
    for old in then.subtracting(now) {
      let new = now.subtracting(then).first { after.fields[$0]?[id] == before.fields[old]?[id] }
      if let new { returned[new] = old }
    }
    return returned
  }

  @Test("A filter asks about both versions; the cost is that of what has changed")
  func filterAndCost() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int), Column("s", .text)])
      for row in 0..<4000 as Range<Int64> {
        try transaction.table("t").insert([.int(row), .text("row \(row)")])
      }
    }
    try database.write { transaction in
      try transaction.tag("before")
      let table = try transaction.table("t")
      try table.update(100, ["n": .int(-1)])
      try table.update(200, ["n": .int(-2)])
      try table.delete(300)
      try table.insert([.int(-3), .null])
    }
    let old = try database.snapshot(at: .tag("before")).table("t")
    let new = try database.snapshot().table("t")
    func keys(_ filter: Predicate?) throws -> [Int64] {
      var keys: [Int64] = []
      try new.forEachChange(since: old, where: filter) { keys.append($0.object.key) }
      return keys
    }
    #expect(try keys(nil) == [100, 200, 300, 4001])
    #expect(try keys(column("n") < 0) == [100, 200, 4001])
    // What it was counts too.
    #expect(try keys(column("n") == 99) == [100])
    #expect(try keys(column("n") == 299) == [300])
    #expect(
      try new.changeCounts(since: old, where: column("n") >= 0) == [
        .inserted: 0, .deleted: 1, .changed: 2,
      ])
    let difference = try TableDifference(from: old, to: new)
    #expect(difference.cost.leavesOpened <= 10 && difference.cost.nodesRead <= 60)
  }
}
