import TestSupport
import Testing

@testable import Engine

/// However small transactions are, and in whatever order they come, a file takes little more than its
/// contents.
@Suite("Pages used")
struct DensityTests {
  /// The pages of the newest version, and the blocks that it consists of.
  private struct Use: CustomStringConvertible {
    var pages = 0
    /// The bytes of all blocks, and of those outside indexes.
    var bytes = 0
    var ownBytes = 0
    var nodes = 0
    var runs = 0
    /// The leaves and nodes of indexes.
    var indexBlocks = 0

    init(_ database: Database) throws {
      let snapshot = try database.snapshot()
      pages = try database.fileUse().used / Layout.pageBytes
      let roots = try VersionRoots(snapshot.record, snapshot.blocks)
      try roots.forEachBlock(snapshot.blocks) { reference, kind, _ in
        bytes += Int(reference.length)
        if kind != .index { ownBytes += Int(reference.length) }
        if kind == .node { nodes += 1 }
        if kind == .index { indexBlocks += 1 }
      }
      runs = roots.catalogue.tables.reduce(0) { $0 + $1.allRuns.count }
    }

    /// The bound of `docs/design.md`.
    var mostPages: Int { 2 * Layout.pages(holding: bytes) + 3 * nodes + 2 * runs + 10 }

    var description: String {
      "\(pages) pages (at most \(mostPages)), \(bytes) bytes, \(nodes) nodes, \(runs) runs"
    }
  }

  private static let columns = [
    Column("k", .int, nullable: false), Column("a", .int), Column("b", .text),
  ]

  @Test("Objects added one by one", arguments: ["ascending", "descending", "random", "indexed"])
  func singleInserts(order: String) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write {
      try $0.createTable(
        "t", columns: Self.columns, key: order == "indexed" ? nil : "k",
        indexes: order == "indexed" ? ["k"] : [])
    }
    var random = SplitMix64(seed: 1)
    let count = Effort.rounds(2000, long: 20_000)
    for number in 0..<Int64(count) {
      let key =
        switch order {
        case "descending": -number
        case "random": Int64.random(in: 0...Int64.max, using: &random)
        default: number
        }
      try database.write(durability: Durability.none) {
        _ = try $0.table("t").insert([.int(key), .int(5), .text("some text")])
      }
    }
    let use = try Use(database)
    #expect(use.pages <= use.mostPages, "\(use)")
    #expect(use.pages < 120, "\(use)")
    if order == "ascending" {
      // As many as one transaction would make, and a few that are not full yet.
      let most = count / TreeEditor.Limits().clusterRows + 6
      #expect(try leafCount(database) <= most, "\(use)")
    }
    #expect(try database.check().problems == [])
  }

  /// A handle that has just been opened has no entries in memory and merges the runs of the file.
  @Test("Objects added one by one, each by another handle", arguments: [true, false])
  func manyHandles(hasKey: Bool) throws {
    let storage = RecordingStorage(isRecording: false)
    for number in -1..<600 as Range<Int64> {
      let database = try Database.open(storage: storage)
      try database.write(durability: Durability.none) { transaction in
        if number < 0 {
          try transaction.createTable(
            "t", columns: Self.columns, key: hasKey ? "k" : nil, indexes: hasKey ? [] : ["k"])
        } else {
          _ = try transaction.table("t").insert([.int(number), .int(5), .text("some text")])
        }
      }
      try database.close()
    }
    let database = try Database.open(storage: storage)
    let use = try Use(database)
    // Each leaf is at least a quarter full, except the last of a run; each run has a node.
    let most = 600 * 4 / IndexLimits().leafEntries + 2 * use.runs
    #expect(use.indexBlocks <= most, "\(use.indexBlocks) of an index: \(use)")
    #expect(try database.check().problems == [])
  }

  @Test("A few objects are left of each leaf, and these are put together")
  func fewLeft() throws {
    var options = Database.Options()
    (options.limits.clusterRows, options.limits.tailRows) = (64, 16)
    options.limits.smallRows = 16
    options.limits.newLeaves = 1
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns)
      for row in 0..<1280 as Range<Int64> {
        try transaction.table("t").insert([.int(row), .int(row % 7), .text("text \(row)")])
      }
    }
    #expect(try leafCount(database) == 20)
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in 1...1280 as ClosedRange<Int64> where key % 16 != 0 { try table.delete(key) }
    }
    // Each leaf has sixteen rows, except the last, which the next rows fill.
    #expect(try leafCount(database) <= 80 / 16 + 1)
    #expect(try database.check().problems == [])
    var keys: [Int64] = []
    try database.snapshot().table("t").forEachRow { keys.append($0.key) }
    #expect(keys == Array(stride(from: 16, through: 1280, by: 16)))
  }

  @Test(
    "Small transactions make leaves as large as one large transaction does",
    arguments: [1, 3, 10, 40, 63])
  func smallTransactions(size: Int) throws {
    var options = Database.Options()
    (options.limits.clusterRows, options.limits.tailRows) = (256, 4)
    options.limits.smallRows = 64
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { try $0.createTable("t", columns: Self.columns) }
    var rows: Int64 = 0
    while rows < 1500 {
      try database.write(durability: Durability.none) { transaction in
        for _ in 0..<size {
          rows += 1
          try transaction.table("t").insert([.int(rows), .int(rows % 7), .text("text \(rows)")])
        }
      }
    }
    // Leaves are three quarters full, and a few wait for others of their size.
    #expect(try leafCount(database) <= Int(rows) / 192 + 12)
    #expect(try database.check().problems == [])
    var keys: [Int64] = []
    try database.snapshot().table("t").forEachRow { keys.append($0.key) }
    #expect(keys == Array(1...rows))
  }

  @Test("One large transaction begins another leaf when one is full", arguments: [64, 256])
  func largeTransaction(limit: Int) throws {
    var options = Database.Options()
    (options.limits.clusterRows, options.limits.tailRows) = (limit, 4)
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("t", columns: Self.columns)
      for row in 0..<1000 as Range<Int64> {
        try transaction.table("t").insert([.int(row), .int(row % 7), .text("text \(row)")])
      }
    }
    #expect(try leafCount(database) == (1000 + limit - 1) / limit)
    #expect(try database.check().problems == [])
  }

  /// However few rows a cluster has: a reader of one of them decodes the column.
  @Test("Long rows that are added one by one fill clusters of a limited size")
  func longRows() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { try $0.createTable("t", columns: [Column("b", .text)]) }
    let limit = TreeEditor.Limits().clusterBytes
    let length = limit / 16
    var random = SplitMix64(seed: 3)
    try database.write(durability: Durability.none) { transaction in
      let table = try transaction.table("t")
      for _ in 0..<100 {
        let letters = (0..<length).map { _ in UInt8.random(in: 65...122, using: &random) }
        _ = try table.insert([.text(String(decoding: letters, as: UTF8.self))])
      }
    }
    let use = try Use(database)
    #expect(try leafCount(database) >= 100 * length / limit, "\(use)")
    #expect(try database.check().problems == [])
  }

  /// The clusters of a few batches are soon joined; the pages that they leave fit the next ones.
  @Test(
    "Batches leave few pages free between clusters", arguments: [100, 150, 200], [true, false])
  func freePages(size: Int, areClusters: Bool) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { try $0.createTable("t", columns: [Column("b", .text)]) }
    var random = SplitMix64(seed: 7)
    for _ in 0..<20_000 / size {
      // Two pages and more for a batch.
      let texts = (0..<size).map { _ in
        String(
          (0..<60).map { _ in Character(Unicode.Scalar(UInt8.random(in: 65...122, using: &random)))
          })
      }
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("t")
        var rows = RowBuffer(columnIDs: [1])
        for (row, text) in texts.enumerated() {
          guard areClusters else {
            _ = try table.insert([.text(text)])
            continue
          }
          try rows.append(key: Int64(row), values: [.text(text)])
        }
        if areClusters { try table.editor.append(try rows.encode(with: ClusterBuilder())) }
      }
    }
    let snapshot = try database.snapshot()
    var end = 0
    let roots = try VersionRoots(snapshot.record, snapshot.blocks)
    try roots.forEachBlock(snapshot.blocks) { reference, _, _ in
      end = max(end, reference.pages(within: .max)?.upperBound ?? 0)
    }
    let use = try Use(database)
    #expect(end - use.pages < 40, "\(end) pages, and of these are used \(use)")
    #expect(try database.check().problems == [])
  }

  private func leafCount(_ database: Database) throws -> Int {
    let snapshot = try database.snapshot()
    var count = 0
    try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) { _, kind, _ in
      if kind == .cluster { count += 1 }
    }
    return count
  }

  @Test("Many batches of few constant rows", arguments: [10, 300])
  func constantRows(size: Int) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { try $0.createTable("t", columns: Self.columns) }
    var rows = RowBuffer(columnIDs: [1, 2, 3])
    for row in 0..<size {
      try rows.append(key: Int64(row), values: [.int(1), .int(5), .text("some text")])
    }
    for _ in 0..<1500 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("t")
        if size < 256 {
          for _ in 0..<size { try table.insert([.int(1), .int(5), .text("some text")]) }
        } else {
          try table.editor.append(try rows.encode(with: ClusterBuilder()))
        }
      }
    }
    let use = try Use(database)
    #expect(use.pages <= use.mostPages, "\(use)")
    #expect(use.pages < 400, "\(use)")
    #expect(try database.check().problems == [])
  }

  @Test("Any history", arguments: 0..<6 as Range<UInt64>)
  func anyHistory(seed: UInt64) throws {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 30 : 1) { try history(seed) }
  }

  private func history(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write {
      try $0.createTable("t", columns: Self.columns, key: "k", indexes: ["a"])
    }
    var model: [Int64: [Value]] = [:]
    var next: Int64 = 0
    func row() -> [Value] {
      next += 1
      let key = seed % 2 == 0 ? next : Int64.random(in: 0...Int64.max, using: &random)
      return [
        .int(key), .int(.random(in: 0..<1000, using: &random)),
        .text(String(random.next(), radix: 36)),
      ]
    }
    for round in 0..<Effort.rounds(150, long: 400) {
      let kind = Int.random(in: 0..<8, using: &random)
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("t")
        switch kind {
        case 0..<2:
          for _ in 0..<Int.random(in: 1...6, using: &random) {
            let row = row()
            model[try table.insert(row)] = row
          }
        case 2:
          for _ in 0..<Int.random(in: 100...1500, using: &random) {
            let row = row()
            model[try table.insert(row)] = row
          }
        case 3..<6:
          let keys = model.keys.sorted()
          for _ in 0..<Int.random(in: 1...3, using: &random) {
            guard let key = keys.randomElement(using: &random) else { continue }
            let value = Value.int(.random(in: 0..<1000, using: &random))
            try table.update(key, ["a": value])
            model[key]?[1] = value
          }
        case 6:
          // All but a few objects of a range, as when old ones are deleted.
          let keys = model.keys.sorted()
          let start = Int.random(in: 0...keys.count, using: &random)
          for key in keys[start..<min(start + 700, keys.count)]
          where Int.random(in: 0..<50, using: &random) > 0 {
            try table.delete(key)
            model[key] = nil
          }
        default:
          guard let key = model.keys.min() else { return }
          try table.delete(key)
          model[key] = nil
        }
      }
      if round % 25 == 24 {
        let use = try Use(database)
        #expect(use.pages <= use.mostPages, "seed \(seed), round \(round): \(use)")
      }
    }
    try expectDense(database, model, seed)
  }

  /// The objects are those of the model, in about as little space as in a new file.
  private func expectDense(_ database: Database, _ model: [Int64: [Value]], _ seed: UInt64) throws {
    #expect(try database.check().problems == [], "seed \(seed)")
    let table = try database.snapshot().table("t")
    #expect(table.count == model.count)
    try table.forEachRow { row in
      #expect(Model.isSame(model[row.key], row.values), "seed \(seed), key \(row.key)")
    }
    let fresh = try Database.open(storage: RecordingStorage(isRecording: false))
    try fresh.write { transaction in
      try transaction.createTable("t", columns: Self.columns, key: "k", indexes: ["a"])
      let table = try transaction.table("t")
      for key in model.keys.sorted() { try table.insert(model[key] ?? []) }
    }
    let (use, least) = (try Use(database), try Use(fresh))
    #expect(
      use.ownBytes <= 2 * least.ownBytes + 40 * use.nodes + 8192, "seed \(seed): \(use), \(least)")
  }

  @Test("Any history of several tables, in batches of any size", arguments: 0..<6 as Range<UInt64>)
  func severalTables(seed: UInt64) throws {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 30 : 1) { try severalHistory(seed) }
  }

  /// Tables with and without a key, and with and without indexes.
  private func database(of names: [String]) throws -> Database {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write {
      for (number, name) in names.enumerated() {
        try $0.createTable(
          name, columns: Self.columns, key: number % 3 == 0 ? nil : "k",
          indexes: number % 2 == 0 ? ["a", "b"] : [])
      }
    }
    return database
  }

  private func severalHistory(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let names = (0..<Int.random(in: 2...9, using: &random)).map { "t\($0)" }
    let database = try database(of: names)
    var keys: [String: [Int64]] = [:]
    var next: Int64 = 0
    func values(_ number: Int) -> [Value] {
      next += 1
      let key =
        switch (number + Int(seed)) % 3 {
        case 0: next
        case 1: -next
        default: Int64.random(in: 0...Int64.max, using: &random)
        }
      // In some tables the values are constant.
      let few: Int64 = number % 4 == 1 ? 1 : 100_000
      return [
        .int(key), .int(.random(in: 0..<few, using: &random)),
        .text(number % 4 == 1 ? "same" : String(random.next(), radix: 36)),
      ]
    }
    for round in 0..<Effort.rounds(160, long: 500) {
      try database.write(durability: Durability.none) { transaction in
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let number = Int.random(in: names.indices, using: &random)
          let name = names[number]
          let table = try transaction.table(name)
          switch Int.random(in: 0..<12, using: &random) {
          case ..<6:
            let most = [1, 1, 8, 60, 400].randomElement(using: &random) ?? 1
            for _ in 0..<Int.random(in: 1...most, using: &random) {
              keys[name, default: []].append(try table.insert(values(number)))
            }
          case ..<9:
            for _ in 0..<Int.random(in: 1...30, using: &random) {
              guard let key = keys[name]?.randomElement(using: &random) else { break }
              try table.update(key, ["b": .text(String(random.next(), radix: 36))])
            }
          case 9:
            for _ in 0..<Int.random(in: 1...200, using: &random) {
              guard let all = keys[name], !all.isEmpty else { break }
              let place = Int.random(in: all.indices, using: &random)
              try table.delete(all[place])
              keys[name]?.remove(at: place)
            }
          case 10:
            guard let all = keys[name], Int.random(in: 0..<3, using: &random) == 0 else { break }
            for key in all.prefix(all.count / 2) { try table.delete(key) }
            keys[name]?.removeFirst(all.count / 2)
          default:
            if Int.random(in: 0..<8, using: &random) == 0 {
              try table.deleteAll()
              keys[name] = []
            }
          }
        }
      }
      if round % 16 == 15 {
        try expectNeeded(database, "seed \(seed), round \(round)")
      }
    }
    #expect(try database.check().problems == [], "seed \(seed)")
    for name in names {
      #expect(try database.snapshot().table(name).count == keys[name]?.count ?? 0, "seed \(seed)")
    }
  }

  /// The pages in use are few, and what a compaction would need of them is estimated right.
  private func expectNeeded(_ database: Database, _ note: String) throws {
    let use = try Use(database)
    #expect(use.pages <= use.mostPages, "\(note): \(use)")
    let file = try database.fileUse()
    #expect(file.needed <= file.used && file.gaps < file.used, "\(note): \(file)")
    // The estimate of the rule is at least the size of the blocks.
    #expect(file.needed >= min(file.used, use.bytes), "\(note): \(file), \(use)")
  }

  /// Files of earlier versions of the engine look like this: used pages that are nearly empty.
  @Test("A file of sparse pages is taken for one that a compaction helps, and a small one is not")
  func sparse() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let small = try database.fileUse()
    #expect(small.needed == small.used)
    try database.write {
      for number in 0..<300 { try $0.createTable("t\(number)", columns: Self.columns) }
    }
    for number in 0..<300 {
      try database.write(durability: Durability.none) {
        _ = try $0.table("t\(number)").insert([.int(1), .int(5), .text("some text")])
      }
    }
    try database.close()
    let asked = Shared<(total: Int, used: Int)>()
    var options = Database.Options()
    options.shouldCompact = { total, used in
      asked.append((total, used))
      return used * 2 < total
    }
    let again = try Database.open(folder.path("a.sheaf"), options: options)
    let result = try #require(again.compactionAtOpen)
    #expect(result.decision == .compacted && result.after * 2 < result.before, "\(result)")
    let use = try again.fileUse()
    #expect(use.needed * 2 > use.total, "\(use)")
    #expect(try again.check().problems == [])
    // The file is not compacted a second time.
    try again.close()
    let last = try Database.open(folder.path("a.sheaf"), options: options)
    #expect(last.compactionAtOpen == nil && asked.list.count == 2, "\(asked.list)")
    let first = try #require(asked.list.first)
    #expect(first.total == result.before && first.used < result.before / 2, "\(first)")
    try last.close()
  }
}
