import TestSupport
import Testing

@testable import Engine

/// Filters and scans of columns of which changed rows are stored column by column say the same as their slow
/// twins, whatever the values are like, and however many blocks lie over each other.
@Suite("Queries over changed rows") struct ChangedColumnTests {
  /// Overlays for every change, none of which is merged into its cluster, column by column where possible.
  private static var options: Database.Options {
    var options = Database.Options()
    options.limits.overlayFrom = 0
    options.limits.overlayBytes = (1 << 20)...(1 << 20)
    options.limits.columnsPercent = 5000
    return options
  }

  /// Replaces rows of a random table all over by others; those without a new spelling keep theirs.
  private static func replace(
    _ count: Int, _ database: Database, _ generator: inout ColumnGenerator
  ) throws {
    try database.write { transaction in
      let table = try transaction.table("t")
      var keys: [Int64] = []
      try transaction.table("t").forEachRow { keys.append($0.key) }
      let chosen = keys.shuffled(using: &generator.random).prefix(count).sorted()
      let columns = RandomTable.columns.map {
        RandomTable.spellings($0, rows: chosen.count, &generator)
      }
      try withMatrix(columns) { arena, spans, _ in
        guard let base = arena.baseAddress else { return }
        for (place, key) in chosen.enumerated() {
          try table.editor.replace(key, base: base, row: spans + place * columns.count)
        }
      }
      for key in keys where Int.random(in: 0..<150, using: &generator.random) == 0 {
        _ = try table.delete(key)
      }
    }
  }

  @Test("Random predicates and scans", arguments: Effort.seeds(1..<13))
  func twin(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let made = try RandomTable(&random, Self.options)
    var generator = ColumnGenerator(random: random)
    var most = 0
    for (round, count) in [400, 150, 40, 8, 60, 2].enumerated() {
      try Self.replace(count, made.database, &generator)
      let table = try made.database.snapshot().table("t")
      try table.forEachLeaf { leaf in
        most = max(most, leaf.overlay?.blocks.count { $0.cluster != nil } ?? 0)
      }
      let slow = try ReadingTests.slowRows(table)
      var rows: [Row] = []
      try table.forEachRow { rows.append($0) }
      #expect(rows.map(\.key) == slow.map(\.key), "seed \(seed), round \(round)")
      for (row, twin) in zip(rows, slow) where row.values != twin.values {
        // NaN is not itself.
        #expect("\(row.values)" == "\(twin.values)", "seed \(seed), round \(round), key \(row.key)")
      }
      var predicates = PredicateGenerator(random: generator.random, rows: rows)
      for number in 0..<20 {
        let predicate = predicates.predicate()
        let expected = rows.filter { SlowQuery.matches(predicate, $0) == true }.map(\.key)
        let what = "seed \(seed), round \(round), \(number): \(predicate)"
        #expect(try Query(predicate).keys(in: table) == expected, "\(what)")
        #expect(try QueryTwinTests.spelled(predicate, table) == expected, "spellings, \(what)")
      }
      generator.random = predicates.random
    }
    #expect(most > 0, "seed \(seed)")
    #expect(try made.database.check(deep: true).problems == [], "seed \(seed)")
  }

  @Test("The changed rows have every encoding, in several blocks over each other")
  func encodings() throws {
    var seen: Set<ColumnEncoding> = []
    var most = 0
    for seed in 1...25 as ClosedRange<UInt64>
    where seen.count < ColumnEncoding.allCases.count || most < 2 {
      var random = SplitMix64(seed: seed)
      let made = try RandomTable(&random, Self.options)
      var generator = ColumnGenerator(random: random)
      for count in [400, 100, 20] { try Self.replace(count, made.database, &generator) }
      try made.database.snapshot().table("t").forEachLeaf { leaf in
        let clusters = leaf.overlay?.blocks.compactMap(\.cluster) ?? []
        most = max(most, clusters.count)
        for cluster in clusters {
          for place in 0..<cluster.columnCount {
            seen.insert(try cluster.column(at: place).encoding)
          }
        }
      }
    }
    #expect(ColumnEncoding.allCases.filter { !seen.contains($0) } == [])
    #expect(most > 1)
  }

  /// A table of text that has numbers, of which those of some keys are something else.
  private func numbers(
    _ database: Database, others: Set<Int64>, rounds: [[Int64: String]]
  ) throws -> Table {
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .text)])
      let table = try transaction.table("t")
      for key in 1...900 as ClosedRange<Int64> {
        try table.insert([.text(others.contains(key) ? "none" : "\(key % 90)")])
      }
    }
    for changes in rounds {
      try database.write { transaction in
        for (key, text) in changes { try transaction.table("t").update(key, ["a": .text(text)]) }
      }
    }
    return try database.snapshot().table("t")
  }

  /// Many changes, as numbers that get a block of their own.
  private static func many(_ number: Int, but others: [Int64: String] = [:]) -> [Int64: String] {
    var changes = others
    for key in stride(from: 2, through: 900, by: 3) as StrideThrough<Int64>
    where changes[key] == nil {
      changes[key] = "\(number + Int(key) * 7)"
    }
    return changes
  }

  @Test(
    "Values that were changed since need not be of the type, neither in the cluster nor in a block",
    arguments: [false, true])
  func misfits(inBlock: Bool) throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Self.options)
    let rounds =
      inBlock
      ? [Self.many(1000, but: [302: "none"]), [302: "77", 5: "78"]] : [Self.many(1000), [5: "78"]]
    _ = try numbers(database, others: inBlock ? [] : [302], rounds: rounds)
    try database.write { try $0.table("t").setType("a", to: .int) }
    let table = try database.snapshot().table("t")
    try table.forEachLeaf { leaf in
      let blocks = leaf.overlay?.blocks ?? []
      #expect(blocks.count == 2 && blocks.last?.cluster != nil)
    }
    let slow = try ReadingTests.slowRows(table)
    var rows: [Row] = []
    try table.forEachRow { rows.append($0) }
    #expect(rows.map(\.values) == slow.map(\.values))
    for limit in [0, 50, 77, 78, 1500, 9000] as [Int64] {
      for predicate in [column("a") < Value.int(limit), column("a") == Value.int(limit)] {
        let expected = rows.filter { SlowQuery.matches(predicate, $0) == true }.map(\.key)
        #expect(try Query(predicate).keys(in: table) == expected, "\(predicate)")
      }
    }
    try database.close()
  }

  @Test("A value that is not of the type is told of, wherever it is", arguments: [1, 302])
  func misfit(key: Int64) throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Self.options)
    let table = try numbers(
      database, others: [1], rounds: [Self.many(1000, but: key == 1 ? [:] : [302: "none", 1: "1"])])
    var schema = table.schema
    schema.columns[0] = Column("a", .int)
    let compiled = try CompiledPredicate(column("a") < Value.int(50), schema)
    let id = schema.columnIDs[0]
    try table.forEachLeaf { leaf in
      #expect(leaf.overlay?.blocks.first?.cluster != nil)
      let expected = ClusterError.misfit(column: id, row: Int(key) - 1, type: .int)
      for usesStored in [false, true] {
        #expect(throws: expected) {
          try LeafScan(usesStoredColumns: usesStored).rows(leaf, compiled)
        }
      }
      let values = try leaf.column(id: id)
      let window = ColumnWindow(.int, makesValues: false)
      try values.open(window)
      #expect(throws: ClusterError.self) {
        try values.decode(rows: 0..<leaf.rowCount, into: window)
      }
    }
    try database.close()
  }

  /// Filters, and decodes as numbers, a column of changes to one without values.
  static func ask(_ changes: OverlayColumn, _ id: UInt32) -> Int {
    let reader = ColumnReader(allNull: id, rowCount: changes.overlay.baseRowCount)
    let column = LeafColumn(reader: reader, changes: changes)
    var sum = 0
    for type in [ColumnType.int, .double, .date, .text] {
      let literal = Value.text(type == .date ? "2018-08-03" : "5")
      let test = try? CompiledPredicate(
        .test(
          ColumnTest("a", .compare(.less, type == .int || type == .double ? .int(5) : literal))),
        TableSchema([Column("a", type)], table: "t"))
      if case .test(let test) = test {
        sum &+= (try? LeafScan().rows(column, changes, test))??.population ?? 0
      }
      let window = ColumnWindow(Reading(type), makesValues: false)
      guard type != .text, (try? window.open(reader)) != nil,
        (try? window.decode(reader, rows: 0..<reader.rowCount)) != nil,
        (try? changes.replaceNumbers(0..<reader.rowCount, in: window)) != nil
      else { continue }
      for row in 0..<window.count { sum &+= Int(truncatingIfNeeded: window.number(row) ?? 0) }
    }
    return sum
  }
}
