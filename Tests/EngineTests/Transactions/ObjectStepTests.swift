import TestSupport
import Testing

@testable import Engine

/// The steps of objects between two kept versions equal a comparison of all rows.
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
      // The model does not follow a restoration, which comes last.
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
    var numbers: [Int64] = []
    try after.table.forEachChange(since: before.table) { change in
      found.append("\(change.kind) \(change.object.key) \(change.properties.map(\.name))")
      numbers.append(change.object.key)
      let rows = change.kind == .deleted ? before.rows : after.rows
      let row = try #require(rows.first { $0.key == change.object.key })
      #expect(Model.isSame(row.values, change.object.values), "\(what)")
    }
    let (then, now) = identities(before, after)
    var expected: [String] = []
    for identity in Set(then.keys).union(now.keys) {
      switch (then[identity], now[identity]) {
      case (let old?, nil): expected.append("deleted \(old) []")
      case (let old, let new?):
        guard let old else {
          expected.append("inserted \(new) []")
          continue
        }
        let (right, left) = (after.fields[new] ?? [:], before.fields[old] ?? [:])
        let ids = Set(right.keys).union(left.keys).filter { right[$0] != left[$0] }
        let schema = after.table.schema
        let names = zip(schema.columnIDs, schema.columns).filter { ids.contains($0.0) }
        if !ids.isEmpty { expected.append("changed \(new) \(names.map(\.1.name))") }
      case (nil, nil): break
      }
    }
    #expect(found.sorted() == expected.sorted(), "\(what)")
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 <= $1 }, "\(what)")
    let counts = try after.table.changeCounts(since: before.table)
    #expect(counts.values.reduce(0, +) == expected.count, "\(what)")
  }

  /// The numbers of objects by their identity: in a table with the same key in both versions an
  /// object's key, also if it was deleted and is there again or has another key now; otherwise its
  /// number.
  private func identities(
    _ before: FullTable, _ after: FullTable
  ) -> ([[UInt8]: Int64], [[UInt8]: Int64]) {
    func key(_ full: FullTable) -> [UInt32] {
      full.table.schema.keyColumns.map { full.table.schema.columnIDs[$0] }
    }
    let hasKey = !key(before).isEmpty && key(before) == key(after)
    func named(_ full: FullTable) -> [[UInt8]: Int64] {
      Dictionary(
        uniqueKeysWithValues: full.keys.map { number in
          let fields = full.fields[number] ?? [:]
          let parts = key(full).map { Array("\(fields[$0].map { "\($0)" } ?? "none");".utf8) }
          return (hasKey ? parts.flatMap(\.self) : Array("\(number)".utf8), number)
        })
    }
    return (named(before), named(after))
  }

  /// Keys that were changed in place: each key is reported once, so that a copy by keys becomes the
  /// same in any order.
  @Test("Another key for the same object", arguments: [["k"], ["k", "g"]])
  func changedKeys(keys: [String]) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    let columns = [Column("k", .text), Column("g", .text), Column("v", .int)]
    try database.write { transaction in
      try transaction.createTable("t", columns: columns, keys: keys)
      for (key, value) in [("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 6)] {
        try transaction.table("t").insert([.text(key), .text("g"), .int(Int64(value))])
      }
    }
    try database.write { transaction in
      try transaction.tag("before")
      let table = try transaction.table("t")
      // a becomes b, whose object is deleted; c and d are exchanged; e gets a new key, and a new object
      // gets e.
      try table.delete(2)
      try table.update(1, ["k": .text("b")])
      try table.update(3, ["k": .text("x")])
      try table.update(4, ["k": .text("c")])
      try table.update(3, ["k": .text("d")])
      try table.update(5, ["k": .text("y")])
      try table.insert([.text("e"), .text("g"), .int(5)])
      try table.update(6, ["v": .int(60)])
    }
    let old = try database.snapshot(at: .tag("before")).table("t")
    let new = try database.snapshot().table("t")
    var copy = ["a": 1, "b": 2, "c": 3, "d": 4, "e": 5, "f": 6] as [String: Int64]
    var kinds: [String: ObjectStep.Kind] = [:]
    try new.forEachChange(since: old) { change in
      guard case .text(let key)? = change.object["k"], case .int(let value)? = change.object["v"]
      else {
        Issue.record("other values")
        return
      }
      #expect(kinds.updateValue(change.kind, forKey: key) == nil, "\(key)")
      copy[key] = change.kind == .deleted ? nil : value
      if change.kind == .changed { #expect(change.properties.map(\.name) == ["v"], "\(key)") }
    }
    #expect(
      kinds == [
        "a": .deleted, "b": .changed, "c": .changed, "d": .changed, "y": .inserted, "f": .changed,
      ])
    #expect(copy == ["b": 1, "c": 4, "d": 3, "e": 5, "f": 60, "y": 5])
    #expect(
      try new.changeCounts(since: old) == [.inserted: 1, .deleted: 1, .changed: 4])
    #expect(
      try new.changeCounts(since: old, where: column("k") == "a") == [
        .inserted: 0, .deleted: 1, .changed: 0,
      ])
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
    // The former value counts, too.
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
