import Base
import Testing
import TestSupport

@testable import Engine

/// The parts of a secondary index, and its size.
@Suite("Secondary indexes")
struct ValueIndexTests {
  private static func code(_ text: String?, _ type: ColumnType) -> Int64? {
    let code = ValueCode(Reading(type), secret: KeyCode(low: 1, high: 2, bits: 0))
    guard let text else { return code.code(nil) }
    return Array(text.utf8).withUnsafeBytes { code.code($0) }
  }

  // MARK: Codes

  @Test("Codes keep the order of values, null and NaN below all")
  func order() throws {
    let ascending: [(ColumnType, [String])] = [
      (
        .int,
        [
          "-9223372036854775808", "-9223372036854775800", "-2305843009213693953",
          "-2305843009213693952", "-5", "0", "+7", "8", "2305843009213693951",
          "2305843009213693952", "2305843009213693960", "9223372036854775807",
        ]
      ),
      (
        .double,
        [
          "-inf", "-1e300", "-2.5", "-1e-300", "-0", "1e-300", "0.1", "5", "5.5", "1e17", "inf",
        ]
      ),
      (.bool, ["false", "TRUE"]),
      (.date, ["0000-01-01", "1969-12-31", "1970-01-01", "9999-12-31"]),
      (.dateTime, ["0001-01-01T00:00", "2018-08-03T12:00:00+05:00", "2018-08-03T12:00:00Z"]),
      (.text, ["", "a", "ab", "abc", "abd", "b", "zzzz", "日本", "🎉"]),
    ]
    for (type, spellings) in ascending {
      let codes = try spellings.map { try #require(Self.code($0, type), "\($0)") }
      for (one, other) in zip(codes, codes.dropFirst()) {
        #expect(one <= other, "\(type)")
      }
      #expect(codes.first ?? 0 < codes.last ?? 0)
      #expect(codes.allSatisfy { $0 > ValueCode.nan && $0 <= ValueCode.highest })
    }
    for type in ColumnType.allCases { #expect(Self.code(nil, type) == ValueCode.null) }
    #expect(Self.code("NaN", .double) == ValueCode.nan)
  }

  @Test("Values are equal whatever their spelling; what is none has no code")
  func equality() {
    #expect(Self.code("5", .double) == Self.code("5.0", .double))
    #expect(Self.code("-0", .double) == Self.code("0", .double))
    #expect(Self.code("+5", .int) == Self.code("5", .int))
    #expect(Self.code("True", .bool) == Self.code("true", .bool))
    #expect(Self.code("same start, this", .text) != Self.code("same start, that", .text))
    #expect(Self.code("x", .int) == nil)
    #expect(Self.code("2018-02-30", .date) == nil)
  }

  @Test("Random numbers and texts keep their order")
  func randomOrder() throws {
    var random = SplitMix64(seed: 31)
    for _ in 0..<3000 {
      let (one, other) = (
        Int64.random(in: .min ... .max, using: &random) >> Int64.random(in: 0..<64, using: &random),
        Int64.random(in: .min ... .max, using: &random)
      )
      let codes = (ValueCode.code(ofInteger: one), ValueCode.code(ofInteger: other))
      #expect(one < other ? codes.0 <= codes.1 : codes.0 >= codes.1, "\(one), \(other)")
      let doubles = (
        Double(bitPattern: random.next()), Double(bitPattern: random.next())
      )
      if !doubles.0.isNaN, !doubles.1.isNaN {
        let codes = (ValueCode.code(doubles.0), ValueCode.code(doubles.1))
        #expect(doubles.0 < doubles.1 ? codes.0 <= codes.1 : codes.0 >= codes.1, "\(doubles)")
      }
      let texts = [Self.bytes(&random), Self.bytes(&random)].sorted {
        $0.lexicographicallyPrecedes($1)
      }
      let code = ValueCode(.data, secret: KeyCode(low: 3, high: 4, bits: 0))
      let found = texts.map { $0.withUnsafeBytes { code.code(ofText: $0) } }
      let range = try #require(ValueCode.codes(ofTextsFrom: texts[0], to: texts[1]))
      #expect(found.allSatisfy(range.contains), "\(texts)")
      let prefix = Array(texts[0].prefix(Int.random(in: 0...6, using: &random)))
      #expect(ValueCode.codes(ofPrefix: prefix).contains(found[0]), "\(texts[0])")
    }
  }

  private static func bytes(_ random: inout SplitMix64) -> [UInt8] {
    (0..<Int.random(in: 0...7, using: &random)).map { _ in
      [0, 1, 97, 255].randomElement(using: &random) ?? 0
    }
  }

  // MARK: Runs

  /// An index of a table whose objects all exist.
  private static func index(
    _ database: Database, _ transaction: borrowing WriteTransaction
  ) throws -> ValueIndex {
    try #require(try transaction.table("a").editor.valueIndexes.first)
  }

  @Test("Entries of one code go on from leaf to leaf, and are counted and found", arguments: 0..<6)
  func sharedCodes(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed) &+ 40)
    var options = Database.Options.tiny
    options.indexLimits.leafEntries = [1, 2, 5][seed % 3]
    options.indexLimits.nodeCapacity = 2 + seed % 2
    options.indexLimits.recentEntries = [8, 40][seed % 2]
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write {
      try $0.createTable("a", columns: [Column("x", .int)], indexes: ["x"])
    }
    var twin: Set<[Int64]> = []
    for _ in 0..<12 {
      try database.write { transaction in
        let table = try transaction.table("a")
        for _ in 0..<Int.random(in: 1...30, using: &random) {
          let value = Int64.random(in: 0..<4, using: &random) * 3
          twin.insert([value, try table.insert([.int(value)])])
        }
        try Self.compare(Self.index(database, transaction).reader(), twin, &random)
      }
      let reader = try database.snapshot().table("a").valueIndexReader(ofColumn: 1)
      try Self.compare(try #require(reader).entries, twin, &random)
    }
    #expect(try database.check().problems == [])
  }

  private static func compare(
    _ reader: IndexReader, _ twin: Set<[Int64]>, _ random: inout SplitMix64
  ) throws {
    for _ in 0..<10 {
      let low = Int64.random(in: -1...10, using: &random)
      let codes = low...(low + Int64.random(in: 0...5, using: &random))
      let expected = twin.filter { codes.contains($0[0]) }.map { $0[1] }.sorted()
      var found: [Int64] = []
      try reader.forEachObject(codes) { found.append($0) }
      #expect(found.sorted() == expected, "\(codes)")
      #expect(try reader.count(codes) == UInt64(expected.count), "\(codes)")
    }
  }

  // MARK: Bounds

  @Test("An index stays proportional to the table under many updates")
  func updates() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .init())
    try database.write {
      try $0.createTable(
        "a", columns: [Column("x", .int), Column("y", .int)], indexes: ["x", "y"])
      for row in 0..<100 { try $0.table("a").insert([.int(Int64(row)), .int(5)]) }
    }
    for round in 0..<200 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for row in 0..<100 {
          try table.update(
            Int64(row + 1), ["x": .int(Int64(round * 1000 + row)), "y": .int(5)])
        }
      }
    }
    let use = try database.tableUse("a").secondaryIndexes
    #expect(use.map(\.column) == ["x", "y"])
    // Twice the objects, and the entries that gather before they are checked.
    #expect(use[0].entries <= 200 + 4 * 1024 + 100, "\(use)")
    // The values stay: no entry is added.
    #expect(use[1].entries == 100, "\(use)")
    #expect(try Query(column("x") == 199_042).keys(in: try database.snapshot().table("a")) == [43])
    #expect(try database.check().problems == [])
  }

  @Test("Values that many objects share take few bytes")
  func size() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .init())
    try database.write { transaction in
      try transaction.createTable(
        "a", columns: [Column("kind", .text), Column("name", .text)], indexes: ["kind", "name"])
      let table = try transaction.table("a")
      for row in 0..<20_000 {
        try table.insert([.text("kind \(row % 3)"), .text("name \(row &* 7919 % 20_000)")])
      }
    }
    let use = try database.tableUse("a").secondaryIndexes
    #expect(use[0].bytes < 20_000 * 2, "\(use)")
    #expect(use[1].bytes < 20_000 * 7, "\(use)")
  }

  // MARK: The set of indexes

  @Test("Indexes are added, dropped, and survive reopening; wrong columns are refused")
  func addAndRemove() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    #expect(throws: EngineError.self) {
      try database.write {
        try $0.createTable("b", columns: [Column("x", .int)], indexes: ["y"])
      }
    }
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("x", .int), Column("y", .text)])
      let table = try transaction.table("a")
      for row in 0..<50 { try table.insert([.int(Int64(row % 7)), .text("t\(row)")]) }
      #expect(table.indexedColumns == [])
      try table.addIndex("y")
      try table.addIndex("x")
      try table.addIndex("x")
      #expect(table.indexedColumns == ["x", "y"])
      #expect(throws: EngineError.self) { try table.addIndex("z") }
      #expect(throws: EngineError.self) { try table.removeIndex("z") }
    }
    #expect(try database.snapshot().table("a").indexedColumns == ["x", "y"])
    try database.write { try $0.table("a").removeIndex("x") }
    let again = try Database.open(
      storage: RecordingStorage(storage.content, isRecording: false), options: .tiny)
    #expect(try again.snapshot().table("a").indexedColumns == ["y"])
    #expect(try again.check().problems == [])
    try again.write { try $0.table("a").deleteAll() }
    #expect(try again.tableUse("a").secondaryIndexes.map(\.bytes) == [0])
    #expect(try again.check().problems == [])
  }

  @Test("A column that is widened has its index made anew, whatever came before")
  func widening() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    func append(_ spellings: [String], widen type: ColumnType?) throws {
      try database.write { transaction in
        let editor = try transaction.table("a").editor
        var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
        for (row, spelling) in spellings.enumerated() {
          try rows.append(key: Int64(row), spellings: [Array(spelling.utf8)])
        }
        // As in an import: the values that do not fit come first, then the type is widened.
        try editor.append(try rows.encode(with: ClusterBuilder()))
        if let type { try editor.widen([(0, Reading(type))]) }
      }
      #expect(try database.check().problems == [])
    }
    func keys(_ predicate: Predicate) throws -> [Int64] {
      let table = try database.snapshot().table("a")
      var query = Query(predicate)
      query.limit = 1000
      let found = try query.keys(in: table)
      #expect(found == (try unindexed(predicate, table)))
      return found
    }
    try database.write { try $0.createTable("a", columns: [Column("x", .int)], indexes: ["x"]) }
    try append(["3", "+5", "100"], widen: nil)
    #expect(try keys(column("x") >= 5) == [2, 3])
    try append(["5.0", "4.5"], widen: .double)
    #expect(try keys(column("x") == 5) == [2, 4])
    try append(["many", "5"], widen: .text)
    #expect(try keys(column("x") == "5") == [7])
    #expect(try keys(column("x").beginsWith("5")) == [4, 7])
    // The type is not widened: the commit fails and changes nothing.
    try database.write { try $0.createTable("b", columns: [Column("x", .int)], indexes: ["x"]) }
    #expect(throws: EngineError.self) {
      try database.write { transaction in
        let editor = try transaction.table("b").editor
        var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
        try rows.append(key: 0, spellings: [Array("x".utf8)])
        try editor.append(try rows.encode(with: ClusterBuilder()))
      }
    }
    #expect(try database.snapshot().table("b").count == 0)
  }

  private func unindexed(_ predicate: Predicate, _ table: Table) throws -> [Int64] {
    var keys: [Int64] = []
    let reader = try ResultReader(Query(predicate), table, readsColumns: false, indexUse: .never)
    try reader.forEachWindow(withKeys: true) { keys += $0.keys }
    return keys
  }

  // MARK: Damage

  /// A table of which a test may make the index wrong.
  private static func indexed(_ count: Int, _ given: Database.Options) throws -> Database {
    var options = given
    options.isWrongOnPurpose = true
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("x", .int)], indexes: ["x"])
      let table = try transaction.table("a")
      for row in 0..<count { try table.insert([.int(Int64(row))]) }
    }
    return database
  }

  @Test("Check finds the objects that are missing from an index, among few and many")
  func missing() throws {
    // The first and the last of those that are looked up together, and of all.
    let (count, gone) = (40_000, [0, 7, 32_767, 32_768, 39_999])
    let database = try Self.indexed(count, Database.Options())
    try database.write { transaction in
      let index = try transaction.table("a").editor.valueIndexes[0]
      try index.removeAll()
      for row in 0..<count where !gone.contains(row) { index.add(Int64(row), of: Int64(row) + 1) }
    }
    #expect(
      try database.check().problems
        == gone.map { "table 'a': object \($0 + 1) is not found by its value in column 'x'" })
  }

  @Test("Check finds an object that is missing from an index, and one that never was")
  func forgery() throws {
    let database = try Self.indexed(20, .tiny)
    try database.write { transaction in
      let editor = try transaction.table("a").editor
      let index = editor.valueIndexes[0]
      try index.removeAll()
      for row in 0..<20 as Range<Int64> where row != 7 { index.add(row, of: row + 1) }
    }
    let problems = try database.check().problems
    #expect(
      problems == ["table 'a': object 8 is not found by its value in column 'x'"], "\(problems)")
    let snapshot = try database.snapshot()
    #expect(throws: EngineError.self) {
      _ = try Compactor.copy(
        snapshot.record, snapshot.blocks, to: RecordingStorage(isRecording: false),
        identity: .random())
    }
    try database.write { try $0.table("a").editor.valueIndexes[0].add(3, of: 1000) }
    #expect(try database.check().problems.contains { $0.contains("never there") })
    // A wrong entry is a candidate that its object excludes.
    #expect(try Query(column("x") == 3).keys(in: try database.snapshot().table("a")) == [4])
  }

  @Test("An index of no column, or of another type, is damage")
  func wrongColumn() throws {
    var table = Catalogue.TableEntry(number: 1, name: "a")
    let schema = try TableSchema([Column("x", .int)], table: "a")
    let secret = KeyCode(low: 0, high: 0, bits: 0)
    table.valueIndexes = [Catalogue.Index(column: 1, ValueCode(.int, secret: secret))]
    try table.checkIndexes(schema)
    table.valueIndexes = [Catalogue.Index(column: 1, ValueCode(.text, secret: secret))]
    #expect(throws: DecodingFailure.self) { try table.checkIndexes(schema) }
    table.valueIndexes = [Catalogue.Index(column: 9, ValueCode(.int, secret: secret))]
    #expect(throws: DecodingFailure.self) { try table.checkIndexes(schema) }
  }
}
