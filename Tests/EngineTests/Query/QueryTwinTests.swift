import Testing
import TestSupport

@testable import Engine

@Suite("Queries against their slow twin")
struct QueryTwinTests {
  @Test("Random predicates select the same rows", arguments: Effort.seeds(1..<11))
  func filters(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let random1 = try RandomTable(&random)
    let table = random1.table
    var rows: [Row] = []
    try table.forEachRow { rows.append($0) }
    var generator = PredicateGenerator(random: random, rows: rows)
    for number in 0..<30 {
      let predicate = generator.predicate()
      let expected = rows.filter { SlowQuery.matches(predicate, $0) == true }.map(\.key)
      let query = Query(predicate)
      #expect(try query.keys(in: table) == expected, "seed \(seed), \(number): \(predicate)")
      #expect(try query.count(in: table) == expected.count, "seed \(seed), \(number)")
      #expect(
        try Self.spelled(predicate, table) == expected,
        "spellings, seed \(seed), \(number): \(predicate)")
    }
  }

  /// The keys of the rows that match, all of which are read spelling by spelling.
  static func spelled(_ predicate: Predicate, _ table: Table) throws -> [Int64] {
    let compiled = try CompiledPredicate(predicate, table.schema)
    let scan = LeafScan(usesStoredColumns: false)
    var found: [Int64] = []
    try table.forEachLeaf { leaf in
      let keys = try leaf.keys()
      let rows = try scan.rows(leaf, compiled)
      #expect(rows.count == leaf.rowCount)
      found += (0..<leaf.rowCount).filter { rows[$0] }.map(keys.key)
    }
    return found
  }

  @Test("The random tables have every encoding")
  func encodings() throws {
    var seen: Set<ColumnEncoding> = []
    for seed in 1...20 as ClosedRange<UInt64> where seen.count < ColumnEncoding.allCases.count {
      var random = SplitMix64(seed: seed)
      let made = try RandomTable(&random)
      try made.table.forEachLeaf { leaf in
        for id in made.table.schema.columnIDs {
          if let stored = try leaf.column(id: id).unchanged { seen.insert(stored.encoding) }
        }
      }
    }
    let missing = ColumnEncoding.allCases.filter { !seen.contains($0) }
    #expect(missing.isEmpty)
  }

  @Test("Sort, offset, limit, distinct and columns", arguments: Effort.seeds(1..<6))
  func order(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 1000)
    let made = try RandomTable(&random)
    let table = made.table
    var all: [Row] = []
    try table.forEachRow { all.append($0) }
    var generator = PredicateGenerator(random: random, rows: all)
    for number in 0..<10 {
      var query = Query(generator.predicate(depth: 2))
      let names = RandomTable.columns.map(\.name).shuffled(using: &generator.random)
      let columns = Array(names.prefix(Int.random(in: 1...4, using: &generator.random)))
      query.columns = columns
      query.isDistinct = Bool.random(using: &generator.random)
      let sortable = query.isDistinct ? columns : names
      query.sort = sortable.prefix(Int.random(in: 0...2, using: &generator.random)).map {
        SortOrder($0, descending: Bool.random(using: &generator.random))
      }
      query.offset = [0, 0, 1, 7, 5000].randomElement(using: &generator.random) ?? 0
      query.limit = [nil, nil, 0, 1, 30, 9000].randomElement(using: &generator.random) ?? nil
      let filter = try #require(query.filter)
      var expected = all.filter { SlowQuery.matches(filter, $0) == true }
      if query.isDistinct { expected = distinct(expected, columns) }
      // The standard sort is stable.
      expected.sort { SlowQuery.compare($0, $1, query.sort) < 0 }
      expected = Array(expected.dropFirst(query.offset).prefix(query.limit ?? .max))
      let rows = try query.rows(in: table)
      let note = Comment(rawValue: "seed \(seed), \(number): \(query)")
      #expect(rows.map(\.key) == expected.map(\.key), note)
      #expect(rows.map(\.values) == expected.map { row in columns.map { row[$0] } }, note)
      #expect(try query.count(in: table) == expected.count, note)
      #expect(try query.keys(in: table) == expected.map(\.key), note)
    }
  }

  private func distinct(_ rows: [Row], _ columns: [String]) -> [Row] {
    var kept: [Row] = []
    for row in rows where !kept.contains(where: { SlowQuery.areEqual($0, row, columns) }) {
      kept.append(row)
    }
    return kept
  }

  @Test("Groups and aggregates", arguments: Effort.seeds(1..<6))
  func groups(seed: UInt64) throws {
    var random = SplitMix64(seed: seed &+ 2000)
    let made = try RandomTable(&random)
    let table = made.table
    var all: [Row] = []
    try table.forEachRow { all.append($0) }
    var generator = PredicateGenerator(random: random, rows: all)
    for number in 0..<6 {
      let filter = generator.predicate(depth: 2)
      let columns = Array(
        ["word", "bool", "late"].shuffled(using: &generator.random)
          .prefix(Int.random(in: 0...2, using: &generator.random)))
      let aggregates: [Aggregate] = [
        .count("double"), .sum("int"), .average("int"), .minimum("text"), .maximum("date"),
        .maximum("double"), .minimum("int"), .sum("amount"), .average("amount"), .minimum("amount"),
        .maximum("amount"), .maximum("id"),
      ]
      let groups = try Query(filter).groups(by: columns, aggregates, in: table)
      let rows = all.filter { SlowQuery.matches(filter, $0) == true }
      var firsts = distinct(rows, columns)
      if columns.isEmpty { firsts = [all[0]] }
      #expect(groups.count == firsts.count, "seed \(seed), \(number)")
      for (group, first) in zip(groups, firsts) {
        let members = rows.filter { SlowQuery.areEqual($0, first, columns) }
        #expect(group.count == members.count)
        let expected = aggregates.map { slow($0, members) }
        #expect(
          group.aggregates == expected, "seed \(seed), \(number): \(filter) by \(columns)")
      }
    }
  }

  private func slow(_ aggregate: Aggregate, _ rows: [Row]) -> Value {
    let present = rows.filter { row in
      if case .double(let double) = row[aggregate.column] { return !double.isNaN }
      return row[aggregate.column] != .null
    }
    let ints = present.compactMap { row -> Int128? in
      if case .int(let int) = row[aggregate.column] { return Int128(int) }
      return nil
    }
    let sum = ints.reduce(0, +)
    let sorted = present.sorted {
      SlowQuery.compare($0, $1, [.ascending(aggregate.column)]) < 0
    }
    let decimals = present.compactMap { row -> String? in
      if case .decimal(let decimal) = row[aggregate.column] { return decimal.description }
      return nil
    }
    if !decimals.isEmpty, aggregate.function == .sum || aggregate.function == .average {
      let exact = SlowDecimal.sum(decimals)
      let double = Double(exact) ?? 0
      if aggregate.function == .average { return .double(double / Double(decimals.count)) }
      let (whole, fraction) = SlowDecimal.digits(exact)
      guard whole + fraction <= 38 else { return .double(double) }
      return ExactDecimal(exact).map { .decimal($0) } ?? .null
    }
    switch aggregate.function {
    case .count: return .int(Int64(present.count))
    case .sum:
      if ints.isEmpty { return .null }
      return Int64(exactly: sum).map { .int($0) } ?? .double(Double(sum))
    case .average: return ints.isEmpty ? .null : .double(Double(sum) / Double(ints.count))
    case .minimum: return sorted.first?[aggregate.column] ?? .null
    case .maximum: return sorted.last?[aggregate.column] ?? .null
    }
  }
}
