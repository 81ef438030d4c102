import Base
import Foundation
import Testing
import TestSupport

@testable import Engine

/// Primary keys of several columns find what a dictionary of tuples finds.
@Suite struct CompoundKeyTests {
  private static let columns = [Column("store", .text), Column("n", .int), Column("sku", .text)]

  /// - Parameter isWrongOnPurpose: whether strict mode lets wrong versions pass.
  private static func database(
    bits: UInt8 = 40, isWrongOnPurpose: Bool = false
  ) throws -> Database {
    var options = Database.Options(access: .create)
    options.isWrongOnPurpose = isWrongOnPurpose
    options.indexLimits.keyCode = KeyCode(low: 3, high: 4, bits: bits)
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write {
      try $0.createTable("stock", columns: columns, keys: ["store", "sku"])
    }
    return database
  }

  // MARK: What a key is

  @Test func `Parts are not run together`() throws {
    let database = try Self.database()
    try database.write { transaction in
      let table = try transaction.table("stock")
      try table.insert([.text("a"), .int(1), .text("bc")])
      try table.insert([.text("ab"), .int(2), .text("c")])
      try table.insert([.text(""), .int(3), .text("abc")])
      try table.insert([.text("abc"), .int(4), .text("")])
      let error = try #require(throws: EngineError.self) {
        try table.insert([.text("ab"), .int(5), .text("c")])
      }
      #expect("\(error)".contains("store, sku") && "\(error)".contains("'ab, c'"), "\(error)")
      #expect(try table.row(forPrimaryKey: [.text("ab"), .text("c")])?["n"] == .int(2))
      #expect(try table.row(forPrimaryKey: [.text("abc"), .text("")])?["n"] == .int(4))
      #expect(try table.row(forPrimaryKey: [.text("c"), .text("ab")]) == nil)
      #expect(try table.row(forPrimaryKey: [.null, .text("ab")]) == nil)
      #expect(throws: EngineError.self) { try table.row(forPrimaryKey: .text("ab")) }
      #expect(throws: EngineError.self) {
        try table.row(forPrimaryKey: [.text("ab"), .text("c"), .text("")])
      }
    }
    let table = try database.snapshot().table("stock")
    #expect(table.keyColumns == ["store", "sku"] && table.keyColumn == nil)
    #expect(throws: EngineError.self) { try table.row(forPrimaryKey: .text("ab")) }
    #expect(try database.check(deep: true).isSound)
  }

  @Test func `A key is compared byte for byte`() {
    let key = KeyTuple.bytes([[1, 2], [3]])
    func isEqual(_ parts: [[UInt8]?]) -> Bool {
      let all = parts.flatMap { $0 ?? [] }
      return key.withUnsafeBytes { key in
        all.withUnsafeBytes { all in
          KeyTuple.areEqual(key, columns: max(2, parts.count)) { number in
            guard number < parts.count, let part = parts[number] else { return nil }
            let start = parts[..<number].reduce(0) { $0 + ($1?.count ?? 0) }
            return UnsafeRawBufferPointer(rebasing: all[start..<start + part.count])
          }
        }
      }
    }
    #expect(isEqual([[1, 2], [3]]))
    for other in [
      [[1, 9], [3]], [[9, 2], [3]], [[1, 2], [9]], [[1], [2, 3]], [[1, 2, 3], []],
      [[], [1, 2, 3]],
      [[1, 2], nil], [nil, [3]], [[1, 2], [3], []], [[1, 2]], [],
    ] as [[[UInt8]?]] {
      #expect(!isEqual(other), "\(other)")
    }
  }

  @Test func `No part is null`() throws {
    let database = try Self.database()
    try database.write { transaction in
      let table = try transaction.table("stock")
      #expect(throws: EngineError.self) { try table.insert([.null, .int(1), .text("x")]) }
      #expect(throws: EngineError.self) { try table.insert([.text("x"), .int(1), .null]) }
      try table.insert([.text("x"), .int(1), .text("y")])
      #expect(throws: EngineError.self) { try table.update(1, ["sku": .null]) }
      #expect(throws: EngineError.self) { try table.setNullable("store", true) }
      #expect(throws: EngineError.self) { try table.removeColumn("sku") }
      try table.removeColumn("n")
      #expect(try table.row(forPrimaryKey: [.text("x"), .text("y")]) != nil)
    }
  }

  @Test(arguments: [
    (["a", "a"], "twice"), (["a", "c"], "'c' is none"), (["a", "b", "a"], "twice"),
  ])
  func `Keys that are none say why`(keys: [String], why: String) throws {
    let database = try Self.database()
    let columns = [Column("a", .text), Column("b", .text)]
    let error = try #require(throws: EngineError.self) {
      try database.write { try $0.createTable("t", columns: columns, keys: keys) }
    }
    #expect("\(error)".contains(why), "\(error)")
    let definition = TableDefinition("t", columns: columns, keys: keys)
    #expect(throws: EngineError.self) { try database.write { try $0.createTable(definition) } }
  }

  /// Values of all types whose spellings are alike, some with NUL bytes, some long.
  @Test func `Parts of every type`() throws {
    let database = try Self.database()
    let types = ColumnType.allCases
    let columns = types.map { Column($0.name, $0) }
    var random = RandomChanges(seed: 0)
    try database.write { transaction in
      try transaction.createTable("all", columns: columns, keys: columns.map(\.name).reversed())
      let table = try transaction.table("all")
      var keys: [[[UInt8]]: Int64] = [:]
      for _ in 0..<60 {
        var row = columns.map { column in
          var value = Value.null
          while value == .null { value = random.value(column) }
          return value
        }
        if let text = types.firstIndex(of: .text), Bool.random(using: &random.random) {
          let texts = ["\0", "", "\0\u{1}\0\0\0", String(repeating: "long\0", count: 9000)]
          row[text] = .text(texts.randomElement(using: &random.random) ?? "")
        }
        let isThere = keys[row.map(\.spelling)] != nil
        if isThere { continue }
        keys[row.map(\.spelling)] = try table.insert(row)
        #expect(throws: EngineError.self) { try table.insert(row) }
      }
      for (key, object) in keys {
        let found = try table.row(forKey: object)?.values ?? []
        #expect(found.map(\.spelling) == key)
        #expect(try table.row(forPrimaryKey: found.reversed())?.key == object)
      }
    }
    #expect(try database.check(deep: true).isSound)
  }

  /// With codes of no bits all keys share one, with few bits some do: their bytes tell them apart.
  @Test(arguments: [0, 3, 40])
  func `A dictionary by tuples`(bits: UInt8) throws {
    let database = try Self.database(bits: bits)
    var random = SplitMix64(seed: UInt64(bits))
    var twin: [[String]: (object: Int64, n: Int64)] = [:]
    func part() -> String {
      ["", "a", "ab", "b", "1", "01", "a\0", "\u{1}\0\0\0a"].randomElement(using: &random) ?? ""
    }
    for round in 0..<12 as Range<Int64> {
      try database.write { transaction in
        let table = try transaction.table("stock")
        for step in 0..<12 as Range<Int64> {
          let key = [part(), part()]
          let values: [String: Value] = [
            "store": .text(key[0]), "sku": .text(key[1]), "n": .int(round * 100 + step),
          ]
          switch Int.random(in: 0..<4, using: &random) {
          case 0:
            if let (object, _) = twin[key] {
              #expect(try table.delete(object))
              twin[key] = nil
            }
          case 1:
            // A change to another key, which another object may have.
            guard let (old, known) = twin.min(by: { $0.value.object < $1.value.object }) else {
              continue
            }
            if let other = twin[key], other.object != known.object {
              #expect(throws: EngineError.self) { try table.update(known.object, values) }
            } else {
              try table.update(known.object, values)
              twin[old] = nil
              twin[key] = (known.object, round * 100 + step)
            }
          default:
            let (object, isNew) = try table.upsert(values)
            #expect(isNew == (twin[key] == nil))
            twin[key] = (object, round * 100 + step)
          }
        }
      }
      let table = try database.snapshot().table("stock")
      #expect(table.count == twin.count)
      for (key, (object, n)) in twin {
        let row = try table.row(forPrimaryKey: key.map { .text($0) })
        #expect(row?.key == object && row?["n"] == .int(n))
      }
    }
    let report = try database.check(deep: true)
    #expect(report.isSound, "\(report.problems)")
  }

  // MARK: Changing the key

  @Test func `A key is given, changed and given up`() throws {
    let database = try Self.database()
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns)
      let table = try transaction.table("t")
      for row in 0..<300 {
        try table.insert([.text("s\(row % 10)"), .int(Int64(row % 3)), .text("k\(row / 10)")])
      }
      for (keys, why) in [
        (["n", "store"], "both have '"), (["sku", "none"], "none"), (["sku", "sku"], "twice"),
      ] {
        let error = try #require(throws: EngineError.self) { try table.setKey(keys) }
        #expect("\(error)".contains(why), "\(error)")
        #expect(table.keyColumns.isEmpty)
      }
      try table.setKey(["store", "sku"])
      #expect(try table.row(forPrimaryKey: [.text("s3"), .text("k7")])?.key == 74)
      try table.setKey(["sku", "store"])
      #expect(try table.row(forPrimaryKey: [.text("k7"), .text("s3")])?.key == 74)
      #expect(try table.row(forPrimaryKey: [.text("s3"), .text("k7")]) == nil)
      try table.renameColumn("sku", to: "unit")
      #expect(table.keyColumns == ["unit", "store"])
      #expect(throws: EngineError.self) {
        try table.insert([.text("s3"), .int(9), .text("k7")])
      }
      try table.removeKey()
      try table.insert([.text("s3"), .int(9), .text("k7")])
    }
    #expect(try database.check(deep: true).isSound)
  }

  @Test func `Declared schemas tell what differs`() throws {
    let storage = RecordingStorage(isRecording: false)
    func open(_ keys: [String]) throws {
      var options = Database.Options(access: .create)
      options.schema = Schema(
        version: 1, tables: [TableDefinition("t", columns: Self.columns, keys: keys)])
      try Database.open(storage: storage, options: options).close()
    }
    try open(["store", "sku"])
    try open(["store", "sku"])
    for keys in [["sku", "store"], ["store"], []] {
      let error = try #require(throws: EngineError.self) { try open(keys) }
      #expect("\(error)".contains("the file has the key 'store', 'sku'"), "\(error)")
    }
  }

  // MARK: Queries

  @Test func `A filter that fixes every part uses the index, one that fixes some does not`() throws
  {
    let database = try Self.database()
    let day = try #require(CalendarDate(year: 2026, month: 11, day: 24))
    try database.write { transaction in
      let table = try transaction.table("stock")
      for number in 0..<2000 {
        try table.insert([
          .text("s\(number % 10)"), .int(Int64(number)), .text("k\(number / 10)"),
        ])
      }
      try transaction.createTable(
        "days", columns: [Column("day", .date), Column("n", .int), Column("x", .double)],
        keys: ["n", "day"])
      let days = try transaction.table("days")
      for number in 0..<2000 {
        let date = CalendarDate(daysSince1970: Int(day.daysSince1970) + number % 50)
        try days.insert([
          date.map { .date($0) } ?? .null, .int(Int64(number / 50)), .double(Double(number)),
        ])
      }
    }
    let snapshot = try database.snapshot()
    for (name, filter, uses, count) in [
      ("stock", "n >= 0 and sku == 'k7' and store == 's3'", true, 1),
      ("stock", "sku == 'k7' and store in ('s3', 's4', 'none')", true, 2),
      ("stock", "sku == 'k7' and store == 's3' and n == 0", true, 0),
      ("stock", "(sku == 'k7' and store == 's3') or (sku == 'k8' and store == 's3')", true, 2),
      ("stock", "store == 's3'", false, 200), ("stock", "store == 's3' or sku == 'k7'", false, 209),
      ("stock", "store == 's3' and sku != 'k7'", false, 199),
      ("days", "n == 7 and day == '2026-11-25'", true, 1),
      ("days", "n in (7, 8) and day in ('2026-11-24', '2026-11-25', '1999-01-01')", true, 4),
      ("days", "n == 7 and day >= '2026-11-24' and day < '2026-11-26'", false, 2),
      ("days", "n == 7 and x >= 0", false, 50),
    ] {
      let table = try snapshot.table(name)
      let query = Query(try Predicate(filter))
      let plan = try query.explain(in: table)
      #expect(plan.hasPrefix(uses ? "indexes on '" : "scan"), "\(filter): \(plan)")
      #expect(try query.count(in: table) == count, "\(filter)")
      #expect(try ResultReader(query, table, indexUse: .never).count() == count, "\(filter)")
    }
  }

  // MARK: The file

  private func format(_ path: String, _ change: (Database) throws -> Void) throws -> UInt8 {
    let database = try Database.open(path)
    try change(database)
    #expect(try database.check(deep: true).isSound)
    try database.close()
    let slots = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    #expect(slots[8] == slots[Layout.pageBytes + 8])
    return slots[8]
  }

  @Test func `A file has a format of its own as long as it has such keys`() throws {
    let folder = TemporaryFolder()
    let storage = folder.path("file")
    #expect(
      try format(storage) {
        try $0.write { try $0.createTable("one", columns: Self.columns, key: "sku") }
      } == 1)
    #expect(
      try format(storage) {
        try $0.write { try $0.createTable("t", columns: Self.columns, keys: ["sku", "n"]) }
      } == 4)
    #expect(try format(storage) { try $0.write { _ = try $0.tag("kept") } } == 5)
    #expect(try format(storage) { try $0.write { _ = try $0.beginPending("t") } } == 6)
    #expect(try format(storage) { _ = try $0.abandonPending("t") } == 5)
    // The kept version still has such a key.
    #expect(try format(storage) { try $0.write { try $0.deleteTable("t") } } == 5)
    #expect(try format(storage) { _ = try $0.compact() } == 5)
    #expect(try format(storage) { _ = try $0.restore(.tag("kept"), .all) } == 5)
    #expect(try format(storage) { _ = try $0.compact(keepsVersions: false) } == 4)
    #expect(try format(storage) { try $0.write { try $0.table("t").setKey("n") } } == 1)
    // One that is to come.
    #expect(
      try format(storage) {
        try $0.write {
          _ = try $0.beginPending("new", creating: Self.columns, keys: ["sku", "n"])
        }
      } == 6)
    #expect(try format(storage) { try $0.write { try $0.publishPending("new") } } == 4)
    #expect(try format(storage) { try $0.write { try $0.table("new").removeKey() } } == 1)
  }

  @Test func `A copy says so, too, also of what it keeps`() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("own"))
    func copiedFormat(_ name: String) throws -> UInt8 {
      _ = try database.backup(to: folder.path(name))
      let copy = try Database.open(folder.path(name), options: .init(access: .readOnly))
      #expect(try copy.check(deep: true).isSound)
      let format = try UInt8(copy.snapshot().record.format)
      try copy.close()
      return format
    }
    try database.write { try $0.createTable("one", columns: Self.columns, key: "sku") }
    #expect(try copiedFormat("old") < 4)
    try database.write { try $0.createTable("t", columns: Self.columns, keys: ["sku", "n"]) }
    try database.write { transaction in
      try transaction.keepBase(most: 3)
      try transaction.deleteTable("t")
    }
    #expect(try copiedFormat("new") == 5)
    #expect(try copiedFormat("old") == 5)
    try database.close()
  }

  @Test func `A schema that names its key wrongly is refused`() throws {
    let schema = try TableSchema(Self.columns, table: "t", keys: ["sku", "store"])
    let bytes = schema.encode()
    func decode(_ bytes: [UInt8]) throws -> TableSchema {
      try bytes.withUnsafeBytes { try TableSchema(decoding: $0) }
    }
    #expect(try decode(bytes).keyNames == ["sku", "store"])
    let count = bytes.count - 12
    #expect(Array(bytes[count...]) == [2, 0, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0])
    for (place, value) in [
      (count, 0), (count, 1), (count, 3), (count + 3, 255), (count + 4, 1), (count + 8, 3),
      (count + 4, 9), (count + 8, 0), (count + 7, 255), (12, 0), (12, 1),
    ] as [(Int, UInt8)] {
      var forged = bytes
      forged[place] = value
      #expect(throws: DecodingFailure.self, "\(place): \(value)") { try decode(forged) }
    }
    for length in 0..<bytes.count {
      #expect(throws: DecodingFailure.self) { try decode(Array(bytes[..<length])) }
    }
    #expect(throws: DecodingFailure.self) { try decode(bytes + [0]) }
  }

  @Test func `A catalogue that says otherwise is refused`() throws {
    var entry = Catalogue.TableEntry(number: 1, name: "t")
    entry.hasCompoundKey = true
    var catalogue = Catalogue()
    catalogue.nextTableNumber = 2
    catalogue.add(entry)
    let bytes = catalogue.encode()
    func decode(_ bytes: [UInt8]) throws -> Catalogue {
      try bytes.withUnsafeBytes { try Catalogue(decoding: $0) }
    }
    #expect(try decode(bytes) == catalogue)
    #expect(bytes[1] == 2 && bytes.last == 1)
    for (place, value) in [
      (1, 0), (1, 1), (1, 3), (1, 4), (bytes.count - 1, 0), (bytes.count - 1, 2),
    ]
      as [(Int, UInt8)]
    {
      var forged = bytes
      forged[place] = value
      #expect(throws: DecodingFailure.self, "\(place): \(value)") { try decode(forged) }
    }
    let one = try TableSchema(Self.columns, table: "t", keys: ["sku"])
    #expect(throws: DecodingFailure.self) { try entry.checkIndexes(one) }
    let two = try TableSchema(Self.columns, table: "t", keys: ["sku", "n"])
    try entry.checkIndexes(two)
    entry.hasCompoundKey = false
    #expect(throws: DecodingFailure.self) { try entry.checkIndexes(two) }
  }

  /// Entries that no program can make, written without the index's checks.
  @Test func `The check tells keys that are not found, and a merge two objects of one key`() throws
  {
    let database = try Self.database(isWrongOnPurpose: true)
    let entries = try database.write { transaction in
      let table = try transaction.table("stock")
      for row in 0..<20 {
        try table.insert([.text("s\(row % 2)"), .int(Int64(row)), .text("k\(row / 2)")])
      }
      let editor = table.editor
      _ = try editor.tree.update(3, [(column: 2, value: .text("k5"))])
      _ = try editor.tree.update(5, [(column: 2, value: .text("lost"))])
      let key = KeyTuple.bytes([Array("s0".utf8), Array("k5".utf8)])
      return [
        IndexEntry(code: key.withUnsafeBytes(editor.schema.keyCode.code), object: 3)
      ]
    }
    let problems = try database.check(deep: true).problems
    #expect(problems.count == 2 && problems[0].contains("object 3 is not found"), "\(problems)")
    let error = try #require(throws: EngineError.self) {
      try database.write { transaction in
        let editor = try transaction.table("stock").editor
        for entry in entries { editor.index.add(entry) }
      }
    }
    #expect("\(error)".contains("3 and 11 both have 's0, k5'"), "\(error)")
  }
}
