import Foundation
import TestSupport
import Testing

@testable import Engine

/// Every way to read objects, compared with the slow and obvious one: each value by itself, through a
/// column opened for it.
@Suite("Reading objects")
struct ReadingTests {
  /// All rows of a table, value by value.
  static func slowRows(_ table: Table) throws -> [(key: Int64, values: [Value])] {
    var rows: [(Int64, [Value])] = []
    try table.forEachLeaf { leaf in
      let keys = try leaf.keys()
      for row in 0..<leaf.rowCount {
        var values: [Value] = []
        for (id, column) in zip(table.schema.columnIDs, table.columns) {
          values.append(try leaf.column(id: id).value(row, as: column.reading))
        }
        rows.append((keys.key(row), values))
      }
    }
    return rows
  }

  /// Overlays for every change, or only for changes to large clusters.
  private static func options(overlays: Bool) -> Database.Options {
    var options = Database.Options()
    if overlays { options.limits.overlayFrom = 0 }
    return options
  }

  @Test(
    "A column that is read in another way from some version on, by one handle", arguments: [2, 60])
  func anotherNotation(rows: Int) throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let (dayFirst, monthFirst) = (
      Reading(.date, try Notation(.date, ["%d/%m/%Y"])),
      Reading(.date, try Notation(.date, ["%m/%d/%Y"]))
    )
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("x", .text)])
      let table = try transaction.table("t")
      for row in 0..<rows { try table.insert([.text("0\(row % 9 + 1)/1\(row % 3)/2020")]) }
      try table.setReading("x", to: dayFirst)
    }
    let old = try database.snapshot().table("t")
    let keys = Array(1...Int64(rows)).shuffled()
    let before = try keys.map { try old.row(forKey: $0)?["x"] }
    try database.write { try $0.table("t").setReading("x", to: monthFirst) }
    let new = try database.snapshot().table("t")
    let other = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    let fresh = try other.snapshot().table("t")
    for (key, was) in zip(keys, before) {
      let now = try fresh.row(forKey: key)?["x"]
      #expect(now != was)
      #expect(try new.row(forKey: key)?["x"] == now)
      #expect(try new.value(forKey: key, column: "x") == now)
      // Through the older version again: its leaves are the same blocks.
      #expect(try old.row(forKey: key)?["x"] == was)
      #expect(try old.value(forKey: key, column: "x") == was)
    }
    try other.close()
    try database.close()
  }

  @Test("Lookups and scans say what the slow twin says", arguments: Effort.seeds(1..<13))
  func twin(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let made = try RandomTable(&random, Self.options(overlays: seed % 2 == 0))
    try compare(made.table, &random, "seed \(seed)")
    let path = made.folder.path("copy.sheaf")
    try made.database.writeCopy(to: path)
    let copy = try Database.open(path)
    try compare(try copy.snapshot().table("t"), &random, "seed \(seed), compacted")
    try copy.close()
  }

  private func compare(_ table: Table, _ random: inout SplitMix64, _ what: String) throws {
    let expected = try Self.slowRows(table)
    try compareScans(table, expected, what)
    // Twice in random order, so that records are made for leaves with many lookups.
    for round in 0..<3 {
      let order = round == 2 ? Array(expected.indices) : expected.indices.shuffled(using: &random)
      for index in order {
        let (key, values) = expected[index]
        #expect(try table.row(forKey: key)?.values == values, "\(what), key \(key)")
      }
    }
    for index in 0..<40 {
      let position = Int.random(in: expected.indices, using: &random)
      let (key, values) = expected[position]
      #expect(try table.row(at: position)?.values == values, "\(what), position \(position)")
      #expect(try table.key(at: position) == key, "\(what)")
      #expect(try table.position(ofKey: key) == position, "\(what)")
      let column = index % table.columns.count
      #expect(
        try table.value(forKey: key, column: table.columns[column].name) == values[column],
        "\(what)")
    }
    let keys = Set(expected.map(\.key))
    for key in [.min, -1, 0, (keys.max() ?? 0) + 1, .max] + (1...(keys.max() ?? 1))
    where !keys.contains(key) {
      #expect(try table.row(forKey: key) == nil, "\(what), key \(key)")
      #expect(try table.position(ofKey: key) == nil, "\(what), key \(key)")
      #expect(try table.value(forKey: key, column: "int") == nil, "\(what), key \(key)")
    }
    #expect(try table.key(at: -1) == nil)
    #expect(try table.key(at: expected.count) == nil, "\(what)")
    #expect(throws: EngineError.self) { _ = try table.value(forKey: 1, column: "none") }
  }

  private func compareScans(
    _ table: Table, _ expected: [(key: Int64, values: [Value])], _ what: String
  ) throws {
    var kept: [Row] = []
    try table.forEachRow { kept.append($0) }
    #expect(kept.map(\.key) == expected.map(\.key), "\(what)")
    #expect(kept.map(\.values) == expected.map(\.values), "\(what)")
    var next = 0
    try table.forEachRow { row in
      #expect(row.values == expected[next].values, "\(what), row \(next), not kept")
      next += 1
    }
    next = 0
    try table.forEachView { view in
      let (key, values) = expected[next]
      #expect(view.key == key && view.count == values.count, "\(what), row \(next)")
      for (column, value) in values.enumerated() {
        let found = try view.value(column)
        #expect(found == value, "\(what), row \(next), column \(column)")
        #expect(view.isNull(column) == (value == .null), "\(what), row \(next), column \(column)")
        let inPlace = try Self.inPlace(view, column, table.columns[column].type)
        #expect(inPlace == value, "\(what)")
      }
      let (before, behind) = (try view.value(-1), try view.value(view.count))
      #expect(before == .null && behind == .null)
      next += 1
    }
    #expect(next == expected.count, "\(what)")
  }

  private static func inPlace(_ view: RowView, _ column: Int, _ type: ColumnType) throws -> Value {
    switch type {
    case .int: view.int(column).map { .int($0) } ?? .null
    case .double: view.double(column).map { .double($0) } ?? .null
    case .bool: view.bool(column).map { .bool($0) } ?? .null
    case .date: view.date(column).map { .date($0) } ?? .null
    case .dateTime: view.dateTime(column).map { .dateTime($0) } ?? .null
    case .time: view.time(column).map { .time($0) } ?? .null
    case .decimal: try view.decimal(column).map { .decimal($0) } ?? .null
    case .uuid: try view.uuid(column).map { .uuid($0) } ?? .null
    case .text: view.bytes(column).map { .text(String(decoding: $0, as: UTF8.self)) } ?? .null
    case .data: view.bytes(column).map { .data(Array($0)) } ?? .null
    }
  }

  /// Moves back and forth, in steps and in jumps.
  private func compareReader(
    _ reading: ObjectReader, _ expected: [(key: Int64, values: [Value])],
    _ random: inout SplitMix64, _ what: String
  ) throws {
    var reading = reading
    var position = 0
    for step in 0..<300 {
      position =
        Int.random(in: 0..<10, using: &random) == 0
        ? Int.random(in: expected.indices, using: &random) : (position + 1) % expected.count
      let (key, values) = expected[position]
      let isThere =
        try step % 2 == 0 ? reading.go(to: key) : reading.go(toPosition: position)
      #expect(isThere && reading.key == key, "\(what), step \(step)")
      for _ in 0..<3 {
        let column = Int.random(in: values.indices, using: &random)
        let value = try reading.value(column)
        #expect(value == values[column], "\(what), step \(step), \(column)")
        let type = reading.shape.columns[column].type
        let read = try reading.withSpelling(column) { spelling in
          spelling.map { Value(spelling: $0, type: type) } ?? .null
        }
        #expect(read == values[column], "\(what), step \(step), column \(column)")
      }
      let row = step % 5 == 0 ? try reading.row()?.values : values
      #expect(row == values, "\(what), step \(step)")
    }
    for missing in [-1, expected.count] {
      let isThere = try reading.go(toPosition: missing)
      let (row, value) = (try reading.row(), try reading.value(0))
      #expect(!isThere && reading.key == nil && row == nil && value == .null, "\(what)")
    }
    let isThere = try reading.go(to: (expected.last?.key ?? 0) + 1)
    #expect(!isThere, "\(what)")
  }

  // MARK: Transactions

  @Test("In a transaction, its own changes are read", arguments: Effort.seeds(1..<9))
  func transaction(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let made = try RandomTable(&random, Self.options(overlays: seed % 2 == 0))
    var expected = try Self.slowRows(made.table)
    try made.database.write { transaction in
      let table = try transaction.table("t")
      for round in 0..<4 {
        try compareReader(
          ObjectReader(table.editor), expected, &random, "seed \(seed), round \(round)")
        for _ in 0..<5 where expected.count > 2 {
          let index = Int.random(in: expected.indices, using: &random)
          if Bool.random(using: &random) {
            try table.delete(expected.remove(at: index).key)
          } else {
            try table.update(expected[index].key, ["text": .text("new"), "int": .null])
            expected[index].values[0] = .null
            expected[index].values[5] = .text("new")
          }
        }
        if round == 2 { try table.editor.tree.closeAll() }
      }
    }
    let found = try Self.slowRows(made.database.snapshot().table("t"))
    #expect(found.map(\.values) == expected.map(\.values), "seed \(seed)")
  }

  // MARK: What is kept

  @Test("What is kept open from another version does not show in this one")
  func versions() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("a", .int), Column("b", .text)])
      let table = try transaction.table("t")
      for row in 0..<400 {
        try table.insert(["a": .int(Int64(row % 7)), "b": .text("value \(row % 5)")])
      }
    }
    var old: [Table] = []
    for round in 0..<3 {
      let table = try database.snapshot().table("t")
      for key in (1...400 as ClosedRange<Int64>).reversed() {
        let value = try #require(try table.row(forKey: key)).values[0]
        let int = (key - 1) % 7
        #expect(value == (round == 0 ? .int(int) : .double(Double(int))), "key \(key)")
      }
      #expect(try table.row(forKey: 5)?.values.count == table.columns.count)
      for (index, earlier) in old.enumerated() {
        let row = try #require(try earlier.row(forKey: 8))
        #expect(row.values[0] == (index == 0 ? .int(0) : .double(0)), "version \(index)")
        #expect(row.values[1] == .text(index == 0 ? "value 2" : "changed"), "version \(index)")
      }
      old.append(table)
      try database.write { transaction in
        let editor = try transaction.table("t").editor
        if round == 0 { try editor.widen([(0, .double)]) }
        if round == 1 { try editor.addColumn(Column("late", .text)) }
        try transaction.table("t").update(8, ["b": .text("changed")])
      }
    }
    let row = try #require(try database.snapshot().table("t").row(forKey: 8))
    #expect(row.values == [.double(0), .text("changed"), .null])
    try database.close()
  }

  @Test("A scan does not look at what stands under changed rows")
  func underneath() throws {
    let folder = TemporaryFolder()
    let options = Self.options(overlays: true)
    let database = try Database.open(folder.path("t.sheaf"), options: options)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .text)])
      let table = try transaction.table("t")
      for row in 0..<2000 { try table.insert(["a": .text(row == 70 ? "none" : "\(row % 9)")]) }
    }
    _ = try database.compact()
    try database.write { transaction in
      try transaction.table("t").update(71, ["a": .text("5")])
      // Every remaining spelling reads as an integer.
      try transaction.table("t").editor.widen([(0, .int)])
    }
    let table = try database.snapshot().table("t")
    var overlays = 0
    try table.forEachLeaf { overlays += $0.overlay == nil ? 0 : 1 }
    #expect(overlays > 0)
    var sum: Int64 = 0
    try table.forEachView { sum += $0.int(0) ?? 1_000_000 }
    var copied: Int64 = 0
    try table.forEachRow { if case .int(let int) = $0.values[0] { copied += int } }
    var single: Int64 = 0
    for key in (1...2000 as ClosedRange<Int64>).reversed() {
      if case .int(let int)? = try table.row(forKey: key)?.values[0] { single += int }
    }
    #expect(sum == copied && sum == single && sum < 2000 * 9)
    try database.close()
  }

  @Test("Threads look up in one table at once")
  func threads() async throws {
    var random = SplitMix64(seed: 7)
    let made = try RandomTable(&random)
    let table = made.table
    let expected = try Self.slowRows(table)
    await withTaskGroup(of: Int.self) { group in
      for task in 0..<12 {
        group.addTask {
          var random = SplitMix64(seed: UInt64(task))
          return (0..<400).count { _ in
            let position = Int.random(in: expected.indices, using: &random)
            let row = try? table.row(forKey: expected[position].key)
            return row?.values != expected[position].values
          }
        }
      }
      for await wrong in group { #expect(wrong == 0) }
    }
  }

  @Test("Leaves that are kept open take bounded memory")
  func bounded() throws {
    var random = SplitMix64(seed: 11)
    let made = try RandomTable(&random)
    let table = made.table
    let expected = try Self.slowRows(table)
    let cache = LeafCache(maximumBytes: 4000)
    var most = 0
    for _ in 0..<2000 {
      let (key, values) = expected[Int.random(in: expected.indices, using: &random)]
      let entry = try #require(try table.tree.leaf(ofKey: key))
      let reader = try table.leaf(entry, cache)
      let row = try #require(reader.row(ofKey: key))
      #expect(try reader.values(row) == values)
      most = max(most, cache.count)
    }
    #expect(most <= 4)
  }
}
