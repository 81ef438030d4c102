import Testing
import TestSupport

@testable import Engine

/// A primary key identifies an object, whatever has happened to the objects: `find` returns what a
/// dictionary would.
@Suite("Primary keys")
struct KeyTests {
  private static let columns = [Column("id", .text), Column("x", .int)]

  /// Limits that cause many merges; all keys have the same code, a few do, or hardly any.
  private static func options(_ variant: UInt64) -> Database.Options {
    var options = Database.Options.tiny
    options.indexLimits.keyCode = KeyCode(
      low: variant, high: 1, bits: [0, 2, 6, 40][Int(variant % 4)])
    switch variant / 4 % 3 {
    case 0: break
    case 1:
      options.indexLimits.leafEntries = 16
      options.indexLimits.recentEntries = 64
      options.indexLimits.smallestRun = 8
      options.indexLimits.smallFanout = 3
      options.indexLimits.largeFanout = 3
    default:
      options.indexLimits.leafEntries = 1
      options.indexLimits.nodeCapacity = 2
      options.indexLimits.recentEntries = 4
      options.indexLimits.smallestRun = 1
    }
    return options
  }

  private static func find(_ editor: TableEditor, _ keys: [[UInt8]?]) throws -> [Int64] {
    var arena: [UInt8] = [0]
    let spans = keys.map { key in
      guard let key else { return TextSpan.null }
      defer { arena += key }
      return TextSpan(offset: UInt32(arena.count), length: UInt32(key.count))
    }
    var found = [Int64](repeating: 7, count: keys.count)
    try arena.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      try spans.withUnsafeBufferPointer { spans in
        try found.withUnsafeMutableBufferPointer {
          try editor.find(base: base, keys: spans, into: $0)
        }
      }
    }
    return found
  }

  // MARK: A model

  private struct Twin {
    var objects: [Int64: String] = [:]
    var owners: [String: Int64] = [:]

    mutating func set(_ object: Int64, _ key: String?) {
      if let old = objects.removeValue(forKey: object) { owners[old] = nil }
      guard let key else { return }
      objects[object] = key
      owners[key] = object
    }
  }

  private struct Oops: Error {}

  private static func key(_ random: inout SplitMix64) -> String {
    switch Int.random(in: 0..<4, using: &random) {
    case 0: "\(Int.random(in: -20..<200, using: &random))"
    case 1:
      ["", "007", "+5", "-0", "5.0", "naïve", "999999999999999999", "1000000000000000000"]
        .randomElement(using: &random) ?? ""
    case 2: "k\(Int.random(in: 0..<100, using: &random))"
    default: String(repeating: "long ", count: Int.random(in: 0..<40, using: &random))
    }
  }

  @Test("Random changes against a dictionary", arguments: Effort.seeds(0..<12))
  func model(seed: UInt64) throws {
    for seed in seed..<(Effort.isLong ? seed + 60 : seed + 1) {
      let storage = RecordingStorage(isRecording: false)
      var random = SplitMix64(seed: seed)
      var twin = Twin()
      var database = try Database.open(storage: storage, options: Self.options(seed))
      try database.write { try $0.createTable("a", columns: Self.columns, key: "id") }
      for round in 0..<30 {
        var next = twin
        let isRolledBack = Int.random(in: 0..<8, using: &random) == 0
        do {
          try database.write(durability: Durability.none) { transaction in
            let table = try transaction.table("a")
            for _ in 0..<Int.random(in: 1...12, using: &random) {
              try Self.change(table, &next, &random)
            }
            try Self.compare(table, next, &random)
            if isRolledBack { throw Oops() }
          }
          twin = next
        } catch is Oops {}
        let problems = round % 3 == 2 ? try database.check().problems : []
        #expect(problems == [], "seed \(seed), round \(round)")
        let table = try database.snapshot().table("a")
        for (object, key) in twin.objects {
          #expect(
            try table.row(forPrimaryKey: .text(key))?.key == object,
            "seed \(seed), round \(round): '\(key)'")
        }
        for _ in 0..<5 {
          let key = Self.key(&random)
          #expect(
            try table.row(forPrimaryKey: .text(key))?.key == twin.owners[key],
            "seed \(seed), round \(round): '\(key)'")
        }
        if !problems.isEmpty { return }
        if round % 10 == 9 {
          try database.close()
          database = try Database.open(storage: storage, options: Self.options(seed))
        }
      }
      let snapshot = try database.snapshot()
      let copy = RecordingStorage(isRecording: false)
      let record = try Compactor.copy(
        snapshot.record, snapshot.blocks, to: copy, identity: .random())
      let copied = try Database.open(storage: copy, options: Self.options(seed))
      #expect(try copied.check().problems == [], "seed \(seed), version \(record.version)")
      let runs = try VersionRoots(record, BlockReader(storage: copy)).catalogue.tables[0].index
      #expect(runs.count <= 1)
      #expect(runs.first?.count ?? 0 == UInt64(twin.objects.count), "seed \(seed)")
      try copied.write { try Self.compare($0.table("a"), twin, &random) }
    }
  }

  private static func change(
    _ table: WritableTable, _ twin: inout Twin, _ random: inout SplitMix64
  ) throws {
    let key = key(&random)
    let object = twin.objects.keys.sorted().randomElement(using: &random) ?? 0
    switch Int.random(in: 0..<20, using: &random) {
    case ..<8:
      let isThere = twin.owners[key] != nil
      do {
        let new = try table.insert([.text(key), .int(1)])
        try #require(!isThere, "'\(key)' was inserted twice")
        twin.set(new, key)
      } catch EngineError.duplicateKey(_, _, let value) {
        try #require(isThere && value == key, "'\(key)' is not there")
      }
    case ..<11:
      #expect(try table.delete(object) == (twin.objects[object] != nil)); twin.set(object, nil)
    case ..<15 where object > 0:
      let owner = twin.owners[key]
      do {
        try table.update(object, ["id": .text(key)])
        try #require(owner == nil || owner == object, "'\(key)' was set twice")
        twin.set(object, key)
      } catch EngineError.duplicateKey {
        try #require(owner != nil && owner != object, "'\(key)' is not there")
      }
    case ..<18:
      let (object, isNew) = try table.upsert(["id": .text(key), "x": .int(2)])
      try #require(isNew == (twin.owners[key] == nil))
      if !isNew { try #require(object == twin.owners[key]) }
      twin.set(object, key)
    case 18: try append(table.editor, &twin, &random)
    default:
      if Int.random(in: 0..<4, using: &random) == 0 {
        try table.deleteAll()
        twin = Twin()
      }
    }
  }

  /// Appends rows as an import does, whose keys are known to be new.
  private static func append(
    _ editor: TableEditor, _ twin: inout Twin, _ random: inout SplitMix64
  ) throws {
    var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
    var arena: [UInt8] = [0]
    var spans: [TextSpan] = []
    var keys: [String] = []
    for _ in 0..<Int.random(in: 1...30, using: &random) {
      let key = "\(key(&random))/\(Int.random(in: 0..<50, using: &random))"
      if twin.owners[key] != nil || keys.contains(key) { continue }
      try rows.append(key: Int64(keys.count), values: [.text(key), .int(3)])
      spans.append(TextSpan(offset: UInt32(arena.count), length: UInt32(key.utf8.count)))
      arena += Array(key.utf8)
      keys.append(key)
    }
    let cluster = try rows.encode(with: ClusterBuilder())
    try arena.withUnsafeBytes { bytes in
      let base = try #require(bytes.baseAddress)
      try spans.withUnsafeBufferPointer { try editor.append(cluster, base: base, newKeys: $0) }
    }
    for (index, key) in keys.enumerated() {
      let row = try #require(try editor.row(at: editor.count() - keys.count + index))
      #expect(row.values[0] == .text(key))
      twin.set(row.key, key)
    }
  }

  /// One `find` for all existing keys, and for some others.
  private static func compare(
    _ table: WritableTable, _ twin: Twin, _ random: inout SplitMix64
  ) throws {
    var keys: [String] = Array(twin.owners.keys.sorted().shuffled(using: &random).prefix(40))
    for _ in 0..<10 { keys.append(key(&random)) }
    var asked: [[UInt8]?] = keys.map { Array($0.utf8) }
    asked.append(nil)
    let found = try find(table.editor, asked)
    for (key, object) in zip(keys, found) {
      #expect(object == twin.owners[key] ?? -1, "'\(key)'")
    }
    #expect(found.last == -1)
  }

  // MARK: Keys of existing tables

  @Test("A key for a table that is there, and another one later")
  func setKey() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: Self.options(6))
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns)
      let table = try transaction.table("a")
      for number in 0..<100 {
        try table.insert([.text("k\(number * 7)"), .int(Int64(number % 99))])
      }
    }
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(table.keyColumn == nil)
      #expect(throws: EngineError.self) { try table.row(forPrimaryKey: .text("k7")) }
      // Objects of the open transaction count.
      try table.insert([.text("new"), .int(99)])
      do {
        try table.setKey("x")
        Issue.record("0 stands twice")
      } catch EngineError.invalidKey(_, let column, let reason) {
        #expect(column == "x")
        #expect(reason.contains("the objects 1 and 100 both have '0'"), "\(reason)")
      }
      #expect(table.keyColumn == nil)
      try table.setKey("id")
      #expect(table.keyColumn == "id")
      #expect(table.columns[0].isNullable == false)
      #expect(try table.row(forPrimaryKey: .text("new"))?.key == 101)
      #expect(throws: EngineError.self) { try table.insert([.text("k7"), .int(1)]) }
      #expect(throws: EngineError.self) { try table.insert([.null, .int(1)]) }
    }
    #expect(try database.check().problems == [])
    try database.write { transaction in
      let table = try transaction.table("a")
      try table.delete(100)
      try table.setKey("x")
      #expect(try table.row(forPrimaryKey: .int(50))?.key == 51)
      try table.insert([.text("k7"), .int(1000)])
    }
    #expect(try database.check().problems == [])
    #expect(try database.snapshot().table("a").row(forPrimaryKey: .int(1000)) != nil)
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(throws: EngineError.self) { try table.setKey("id") }
      #expect(throws: EngineError.self) { try table.setKey("nothing") }
      try transaction.createTable("b", columns: Self.columns)
      let other = try transaction.table("b")
      try other.insert([.text("one"), .int(1)])
      try other.insert(["x": .int(2)])
      do {
        try other.setKey("id")
        Issue.record("null is no key")
      } catch EngineError.invalidKey(_, _, let reason) {
        #expect(reason.contains("object 2"), "\(reason)")
      }
      #expect(other.columns[0].isNullable)
    }
    #expect(try database.check().problems == [])
  }

  @Test("Integers and dates with blanks around them are no keys")
  func hiddenKeys() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    let columns = [
      Column("n", .int), Column("day", .date), Column("t", .text),
    ]
    func spelled(_ texts: [String]) -> [Spelling] { texts.map { Array($0.utf8) } }
    let cluster = try encode([
      spelled([" 5", "6"]), spelled(["2018-01-02", "2018-01-03\t"]), spelled([" 5", "6"]),
    ])
    try database.write { transaction in
      try transaction.createTable("a", columns: columns)
      try transaction.table("a").editor.append(cluster)
    }
    try database.write { transaction in
      let table = try transaction.table("a")
      for (key, object) in [("n", 1), ("day", 2)] {
        let error = #expect(throws: EngineError.self) { try table.setKey(key) }
        guard case .invalidKey(_, key, let reason) = error else {
          Issue.record("\(String(describing: error))")
          continue
        }
        #expect(reason.contains("object \(object) is spelled '"), "\(reason)")
        #expect(throws: EngineError.self) {
          try table.editor.setKey(columns: [2, columns.firstIndex { $0.name == key } ?? 0])
        }
        #expect(table.keyColumn == nil)
      }
      // Every text is a key of its own, as long as it is one.
      try table.setKey("t")
      #expect(try table.row(forPrimaryKey: .text(" 5"))?.key == 1)
      #expect(throws: EngineError.self) { try table.setType("t", to: .int) }
      #expect(table.columns[2].type == .text)
      // Given again, it is spelled as it should be.
      try table.update(1, ["n": .int(5)])
      try table.setKey("n")
      #expect(try table.row(forPrimaryKey: .int(5))?.key == 1)
    }
    #expect(try database.check().problems == [])
    let table = try database.snapshot().table("a")
    for policy in IndexPolicy.allCases {
      let reader = try ResultReader(Query(column("n") == 5), table, indexUse: policy)
      #expect(try reader.count() == 1, "\(policy)")
    }
    try database.close()
  }

  @Test("Null, unknown columns and duplicates within a batch are refused")
  func refusals() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    #expect(throws: EngineError.self) {
      try database.write { try $0.createTable("a", columns: Self.columns, key: "y") }
    }
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      let table = try transaction.table("a")
      #expect(throws: EngineError.self) { try table.insert(["x": .int(1)]) }
      #expect(throws: EngineError.self) { try table.upsert(["x": .int(1)]) }
      for bad in [["a", "b", "a"], ["a", nil]] as [[String?]] {
        var rows = RowBuffer(columnIDs: table.editor.schema.columnIDs)
        for (index, key) in bad.enumerated() {
          try rows.append(key: Int64(index), values: [key.map { .text($0) } ?? .null, .int(1)])
        }
        let cluster = try rows.encode(with: ClusterBuilder())
        #expect(throws: EngineError.self) { try table.editor.append(cluster) }
        #expect(try table.count == 0)
      }
      try table.insert([.text("a"), .int(1)])
      #expect(throws: EngineError.self) { try table.update(1, ["id": .null]) }
      try table.update(1, ["id": .text("a"), "x": .int(5)])
      #expect(try table.row(forPrimaryKey: .text("a"))?["x"] == .int(5))
    }
    #expect(try database.check().problems == [])
  }

  // MARK: Size

  @Test("Deleting and inserting again and again does not let the index grow")
  func bounded() throws {
    var options = Self.options(7)
    options.indexLimits.keyCode = nil
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { try $0.createTable("a", columns: Self.columns, key: "id") }
    for round in 0..<400 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for (place, key) in ["same", "new \(round)", "\(round)"].enumerated() {
          if round > 0 { try table.delete(Int64(round * 3 - 2 + place)) }
          try table.insert([.text(key), .int(1)])
        }
      }
    }
    let table = try #require(try database.snapshot().catalogue.tables.first)
    let entries = table.index.reduce(0) { $0 + $1.count }
    #expect(entries <= 2 * 3 + UInt64(options.indexLimits.recentEntries) + 64, "\(entries)")
    #expect(try database.check().problems == [])
  }

  @Test("Ascending integers fill an index without rewriting it")
  func ascending() throws {
    var options = Database.Options()
    options.indexLimits.recentEntries = 1000
    options.indexLimits.leafEntries = 100
    options.indexLimits.smallestRun = 50
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { try $0.createTable("a", columns: Self.columns, key: "id") }
    for batch in 0..<60 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for row in 0..<100 { try table.insert([.text("\(batch * 100 + row)"), .int(0)]) }
      }
    }
    let use = try database.tableUse("a")
    #expect(use.keyColumn == "id")
    #expect(use.indexBytes < 6000 * 2, "\(use.indexBytes) bytes")
    #expect(try database.check().problems == [])
    let table = try database.snapshot().table("a")
    #expect(try table.row(forPrimaryKey: .text("4321"))?.key == 4322)
    #expect(try table.row(forPrimaryKey: .text("6000")) == nil)
  }

  @Test("A transaction that adds more keys than fit in memory")
  func largeTransaction() throws {
    var options = Database.Options()
    options.indexLimits.recentEntries = 300
    options.indexLimits.leafEntries = 32
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns, key: "id")
      let table = try transaction.table("a")
      for row in 0..<4000 { try table.insert([.text("key \(row)"), .int(0)]) }
      let found = try Self.find(table.editor, (0..<4001).map { Array("key \($0)".utf8) })
      #expect(found == (1...4000).map { Int64($0) } + [-1])
    }
    #expect(try database.check().problems == [])
  }

  @Test("A few keys are looked up in small runs without reading them, many are not")
  func fewKeys() throws {
    let storage = RecordingStorage(isRecording: false)
    let first = try Database.open(storage: storage)
    try first.write { try $0.createTable("a", columns: Self.columns, key: "id") }
    for run in 0..<3 {
      try first.write { transaction in
        let table = try transaction.table("a")
        for row in 0..<300 { try table.insert([.text("key \(run * 300 + row)"), .int(0)]) }
      }
    }
    try first.close()
    let database = try Database.open(storage: storage)
    for round in 0..<4 {
      let names = (0..<5).map { "key \($0 * 170 + round)" }
      try database.write { transaction in
        let table = try transaction.table("a")
        func found(_ names: [String]) throws -> [Int64] {
          try Self.find(table.editor, names.map { Array($0.utf8) })
        }
        let expected = (0..<5).map { Int64($0 * 170 + round + 1) }
        for (name, object) in zip(names, expected) { #expect(try found([name]) == [object]) }
        #expect(try found([names[3], "none", names[0]]) == [expected[3], -1, expected[0]])
        // 900 entries in three runs: reading them costs as much as 19 lookups.
        let count = try #require(table.editor.index.kept).count
        if round != 1 { #expect(count == (round == 0 ? 0 : 900 + round)) }
        let object = try table.insert([.text("new \(round)"), .int(1)])
        #expect(try found(["new \(round)"]) == [object])
        #expect(try found(["key 899", "new \(round)", "key 0"]) == [900, object, 1])
        #expect(throws: EngineError.self) { try table.insert([.text("new \(round)"), .int(1)]) }
        #expect(throws: EngineError.self) { try table.insert([.text("key 300"), .int(1)]) }
      }
    }
    #expect(try database.check(deep: true).problems == [])
  }

  // MARK: Snapshots

  @Test("A held snapshot finds what it held")
  func snapshots() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: Self.options(2))
    try database.write { try $0.createTable("a", columns: Self.columns, key: "id") }
    var held: [(Snapshot, [String: Int64])] = []
    var owners: [String: Int64] = [:]
    for round in 0..<60 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for number in 0..<5 {
          let key = "k\((round * 5 + number) % 70)"
          if let old = owners[key] { try table.delete(old) }
          owners[key] = try table.insert([.text(key), .int(0)])
        }
      }
      if round % 10 == 0 { held.append((try database.snapshot(), owners)) }
    }
    for (snapshot, then) in held {
      for number in 0..<70 {
        let key = "k\(number)"
        #expect(
          try snapshot.table("a").row(forPrimaryKey: .text(key))?.key == then[key],
          "\(key) in version \(snapshot.version)")
      }
    }
    held = []
    try database.write { try $0.table("a").deleteAll() }
    try database.write { try $0.table("a").insert([.text("one"), .int(0)]) }
    #expect(try database.fileUse().pinned == 0)
    #expect(try database.check().problems == [])
  }
}
