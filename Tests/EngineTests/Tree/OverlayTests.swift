import Base
import Testing
import TestSupport

@testable import Engine

/// A leaf with an overlay answers as a dictionary of its rows, however it is asked; and whatever bytes
/// an overlay has, nothing outside it is read.
@Suite("Overlays")
struct OverlayTests {
  /// Overlays for every change, none of which is merged into its cluster.
  private static var options: Database.Options {
    var options = Database.Options()
    options.limits.overlayFrom = 0
    options.limits.overlayBytes = (1 << 20)...(1 << 20)
    return options
  }

  private static func open(_ options: Database.Options = options) throws -> Database {
    try Database.open(storage: RecordingStorage(isRecording: false), options: options)
  }

  // MARK: Reading

  @Test("Leaves say what a dictionary says", arguments: Effort.seeds(1..<9))
  func twin(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    var model = Model()
    var options = Self.options
    // Every other time column by column, wherever that is possible.
    options.limits.columnsPercent = seed % 4 < 2 ? 100 : 2000
    let database = try Self.open(options)
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.columns, transaction, &model)
      try changes.append(seed % 2 == 0 ? 300 : 40, to: "a", transaction, &model)
    }
    var (mostBlocks, byColumns) = (0, 0)
    for round in 0..<24 {
      try database.write { transaction in
        switch round % 4 {
        case 0:
          try changes.update(
            .random(in: 1...9, using: &changes.random), in: "a", transaction, &model)
        case 1:
          try changes.delete(
            .random(in: 1...9, using: &changes.random), from: "a", transaction, &model)
        case 2:
          try changes.replace(
            .random(in: 1...9, using: &changes.random), in: "a", transaction, &model)
        default:
          try changes.replace(2, in: "a", transaction, &model)
          try changes.delete(2, from: "a", transaction, &model)
          try changes.update(2, in: "a", transaction, &model)
        }
      }
      let snapshot = try database.snapshot()
      #expect(try model.difference(snapshot) == nil, "seed \(seed), round \(round)")
      #expect(try database.check(deep: true).problems == [], "seed \(seed), round \(round)")
      let expected = try #require(model.tables["a"])
      let table = try snapshot.table("a")
      var leaves = 0
      try table.forEachLeaf { leaf in
        leaves += 1
        mostBlocks = max(mostBlocks, leaf.overlay?.blocks.count ?? 0)
        byColumns += leaf.overlay?.blocks.count { $0.cluster != nil } ?? 0
        let problem = try difference(leaf, table.schema, expected, &changes.random)
        #expect(problem == nil, "seed \(seed), round \(round)")
      }
      #expect(leaves == 1)
    }
    #expect(mostBlocks > 1 && mostBlocks <= Overlay.mostBlocks, "seed \(seed)")
    #expect(seed % 4 < 2 || byColumns > 0, "seed \(seed)")
    try database.close()
  }

  /// Compares every answer of a leaf.
  private func difference(
    _ leaf: Leaf, _ schema: TableSchema, _ expected: Model.Table, _ random: inout SplitMix64
  ) throws -> String? {
    let keys = expected.rows.keys.sorted()
    guard leaf.rowCount == keys.count, leaf.entry.firstKey == keys.first else { return "its entry" }
    let found = try leaf.keys()
    for key in 0...expected.nextKey where found.row(ofKey: key) != keys.firstIndex(of: key) {
      return "the row of key \(key)"
    }
    for (row, key) in keys.enumerated() where found.key(row) != key {
      return "the key of row \(row)"
    }
    let decoded = DecodedColumn()
    for (index, id) in schema.columnIDs.enumerated() {
      let column = try leaf.column(id: id)
      let spellings = keys.map { key -> [UInt8]? in
        expected.rows[key].flatMap { $0[index] == .null ? nil : $0[index].spelling }
      }
      guard column.rowCount == keys.count else { return "a column" }
      let statistics = try leaf.statistics(id: id)
      guard statistics.nullCount == spellings.count(where: { $0 == nil }) else { return "nulls" }
      if schema.columns[index].type == .int, statistics.nullCount < keys.count {
        guard let bounds = statistics.integers else { return "no bounds" }
        for case .int(let int) in keys.compactMap({ expected.rows[$0]?[index] })
        where !bounds.contains(int) { return "bounds" }
      }
      for round in 0..<20 {
        let low = Int.random(in: 0...keys.count, using: &random)
        let range =
          round == 0 ? 0..<keys.count : low..<Int.random(in: low...keys.count, using: &random)
        column.decode(rows: range, into: decoded)
        guard decoded.count == range.count else { return "\(decoded.count) rows of \(range)" }
        for row in range where decoded[row - range.lowerBound].map({ Array($0) }) != spellings[row]
        {
          return "row \(row) of \(range) in column \(index)"
        }
      }
      for (row, spelling) in spellings.enumerated() {
        guard try column.withSpelling(row, { $0.map { Array($0) } }) == spelling else {
          return "row \(row) of column \(index) alone"
        }
      }
      guard try column.value(-1, as: .text) == .null,
        try column.value(keys.count, as: .text) == .null
      else { return "something beyond the ends" }
    }
    return nil
  }

  // MARK: Growing

  @Test("One change writes little, many make clusters of a middle size")
  func growth() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var changes = RandomChanges(seed: 3)
    var model = Model()
    var options = Database.Options()
    options.limits.rewrittenRows = 4096
    let database = try Database.open(path, options: options)
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
      for _ in 0..<9 { try changes.append(1000, to: "a", transaction, &model) }
    }
    #expect(try database.compact().decision == .compacted)
    #expect(try leafCounts(database) == [9000])
    let before = database.bytesWritten
    try database.write { try changes.replace(1, in: "a", $0, &model) }
    #expect(database.bytesWritten - before < 1000)
    #expect(try leafCounts(database) == [9000])
    #expect(try database.tableUse("a").overlayBytes > 0)
    for _ in 0..<60 where try leafCounts(database).count == 1 {
      try database.write { transaction in
        try changes.replace(40, in: "a", transaction, &model)
        try changes.delete(5, from: "a", transaction, &model)
      }
      #expect(try model.difference(database.snapshot()) == nil)
    }
    let counts = try leafCounts(database)
    #expect(counts.count == 3 && counts.allSatisfy { $0 <= 4096 }, "\(counts)")
    #expect(try database.tableUse("a").overlayBytes == 0)
    // And back to one block.
    try database.write { try changes.update(30, in: "a", $0, &model) }
    #expect(try database.compact().decision == .compacted)
    #expect(try leafCounts(database).count == 1)
    #expect(try model.difference(database.snapshot()) == nil)
    #expect(try database.check().problems == [])
    try database.close()
  }

  private func leafCounts(_ database: Database) throws -> [Int] {
    var counts: [Int] = []
    try database.snapshot().table("a").forEachLeaf { counts.append($0.rowCount) }
    return counts
  }

  @Test("Few rows that are left become a cluster, none leave nothing")
  func deletion() throws {
    var options = Self.options
    // Neighbours with few rows together would be joined.
    options.limits.tailRows = 1
    options.limits.smallRows = 1
    let database = try Self.open(options)
    var changes = RandomChanges(seed: 4)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
      for _ in 0..<3 { try changes.append(100, to: "a", transaction, &model) }
    }
    for (count, hasOverlay) in [(1, true), (49, true), (1, false), (1, true), (48, nil)] {
      try database.write { transaction in
        let table = try transaction.table("a")
        for _ in 0..<count {
          // From the first row of the middle leaf on.
          let key = try #require(model.tables["a"]?.rows.keys.filter { $0 > 100 }.min())
          #expect(try table.delete(key))
          model.tables["a"]?.rows[key] = nil
          #expect(try table.row(forKey: key) == nil)
        }
      }
      #expect(try model.difference(database.snapshot()) == nil)
      #expect(try database.check().problems == [])
      let use = try database.tableUse("a")
      if let hasOverlay { #expect((use.overlayBytes > 0) == hasOverlay) }
      #expect(use.clusters == (hasOverlay == nil ? 2 : 3))
    }
    try database.write { try changes.deleteAll(in: "a", $0, &model) }
    #expect(try model.difference(database.snapshot()) == nil)
    try database.close()
  }

  @Test("Nothing that overlays and their clusters took is lost", arguments: [1 << 20, 2000])
  func space(most: Int) throws {
    var options = Self.options
    options.limits.overlayBytes = most...most
    let database = try Self.open(options)
    var changes = RandomChanges(seed: 5)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
      try changes.append(900, to: "a", transaction, &model)
    }
    for round in 0..<30 {
      try database.write { transaction in
        // The leaf is dropped while its overlay is open, and while it is stored; or its rows are read
        // to add others.
        switch round % 10 {
        case 3: try changes.deleteAll(in: "a", transaction, &model)
        case 4: try changes.append(100, to: "a", transaction, &model)
        case 6: try changes.insert(3, into: "a", transaction, &model)
        case 9:
          try changes.replace(20, in: "a", transaction, &model)
          try changes.deleteAll(in: "a", transaction, &model)
          try changes.append(900, to: "a", transaction, &model)
        default: try changes.replace(20, in: "a", transaction, &model)
        }
      }
      // The writer's map after each commit; `fileUse` walks the file anew.
      let space = try #require(database.memory.space)
      let used = space.pageCount - space.freePageCount - space.pinnedPageCount
      let snapshot = try database.snapshot()
      var pages: Set<Int> = [0, 1]
      try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
        reference, _, _ in pages.formUnion(reference.pages(within: snapshot.record.end) ?? 0..<0)
      }
      #expect(used == pages.count, "round \(round)")
    }
    try database.close()
  }

  // MARK: Transactions

  @Test("A column that is added is null in rows that were changed before")
  func addedColumn() throws {
    let database = try Self.open()
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("x", .int)])
      let table = try transaction.table("a")
      for number in 1...60 { try table.insert([.int(Int64(number))]) }
    }
    try database.write { try $0.table("a").update(2, ["x": .int(-2)]) }
    try database.write { transaction in
      let table = try transaction.table("a")
      try table.update(3, ["x": .int(-3)])
      try table.editor.addColumn(Column("y", .text))
      #expect(try table.row(forKey: 3)?.values == [.int(-3), .null])
      try table.update(3, ["y": .text("three")])
      try table.update(4, ["y": .text("four")])
    }
    try database.write { try $0.table("a").delete(1) }
    let table = try database.snapshot().table("a")
    #expect(try table.row(forKey: 2)?.values == [.int(-2), .null])
    #expect(try table.row(forKey: 3)?.values == [.int(-3), .text("three")])
    #expect(try table.row(forKey: 4)?.values == [.int(4), .text("four")])
    #expect(try table.row(at: 4)?.values == [.int(6), .null])
    #expect(try database.tableUse("a").columns.map(\.nulls) == [0, 57])
    #expect(try database.tableUse("a").overlayBytes > 0)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Changes that fail leave the leaf as it was")
  func failures() throws {
    let database = try Self.open()
    var changes = RandomChanges(seed: 6)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
      try changes.append(50, to: "a", transaction, &model)
      try changes.delete(10, from: "a", transaction, &model)
    }
    let gone = try #require((1...50).first { model.tables["a"]?.rows[$0] == nil })
    let expected = EngineError.noSuchObject(table: "a", key: gone)
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(throws: EngineError.self) { try table.update(1, ["stars": .null]) }
      #expect(throws: expected) { try table.update(gone, ["stars": .int(1)]) }
      #expect(throws: expected) {
        let spans = [TextSpan.null, .null]
        try spans.withUnsafeBufferPointer { spans in
          guard let row = spans.baseAddress else { return }
          try table.editor.replace(gone, base: UnsafeRawPointer(row), row: row)
        }
      }
      #expect(try !table.delete(gone) && !table.delete(99) && !table.delete(-1))
    }
    #expect(try model.difference(database.snapshot()) == nil)
    try database.close()
  }

  @Test("Memory for open overlays is limited, and the rows are the same", arguments: [0, 3000])
  func limitedMemory(bytes: Int) throws {
    var options = Self.options
    options.limits.openOverlayBytes = bytes
    options.limits.nodeCapacity = 4
    let database = try Self.open(options)
    var changes = RandomChanges(seed: 7)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.columns, transaction, &model)
      for _ in 0..<20 { try changes.append(30, to: "a", transaction, &model) }
    }
    for _ in 0..<4 {
      try database.write { transaction in
        try changes.replace(60, in: "a", transaction, &model)
        try changes.delete(10, from: "a", transaction, &model)
        try changes.update(10, in: "a", transaction, &model)
      }
      #expect(try model.difference(database.snapshot()) == nil)
      #expect(try database.check().problems == [])
    }
    try database.close()
  }

  // MARK: Damage

  /// The bytes of an overlay's blocks, with deleted and changed rows.
  private func sample(seed: UInt64) throws -> [[UInt8]] {
    var changes = RandomChanges(seed: seed)
    var model = Model()
    var options = Self.options
    options.limits.columnsPercent = seed % 2 == 0 ? 0 : 2000
    let database = try Self.open(options)
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.columns, transaction, &model)
      try changes.append(60, to: "a", transaction, &model)
    }
    for count in [7, 3, 1] {
      try database.write { transaction in
        try changes.delete(count + 2, from: "a", transaction, &model)
        try changes.replace(count, in: "a", transaction, &model)
      }
    }
    let snapshot = try database.snapshot()
    var bytes: [[UInt8]] = []
    try snapshot.table("a").forEachLeaf { leaf in
      bytes = try (leaf.overlay?.references ?? []).map {
        Array(try snapshot.blocks.block($0, end: snapshot.record.end))
      }
    }
    try database.close()
    return bytes
  }

  @Test(
    "Hostile bytes are refused, or read without a look outside", arguments: Effort.seeds(1..<5))
  func hostile(seed: UInt64) throws {
    let blocks = try sample(seed: seed)
    #expect(blocks.count > 1)
    let bytes = try #require(blocks.last)
    #expect(bytes[1] == (seed % 2 == 0 ? 1 : 2))
    var random = SplitMix64(seed: seed)
    #expect(try isValid([bytes]) == true)
    #expect(try isValid(blocks) == true)
    for length in 0..<bytes.count { #expect(try isValid([Array(bytes[..<length])]) != true) }
    #expect(try isValid([bytes + [0]]) == false)
    var outcomes: [Bool?: Int] = [:]
    for round in 0..<Effort.rounds(3000, long: 3000) {
      var forged = round % 2 == 0 ? [bytes] : blocks
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let block = Int.random(in: forged.indices, using: &random)
        if forged[block].isEmpty { continue }
        // Most of the changes are in the header and the tables.
        let end =
          Bool.random(using: &random) ? min(160, forged[block].count) : forged[block].count
        let position = Int.random(in: 0..<end, using: &random)
        forged[block][position] =
          [0, 1, 127, 128, 255, .random(in: 0...255, using: &random)]
          .randomElement(using: &random) ?? 0
        if Int.random(in: 0..<8, using: &random) == 0 {
          forged[block].removeLast(.random(in: 0...forged[block].count, using: &random))
        }
      }
      outcomes[try isValid(forged), default: 0] += 1
    }
    #expect(outcomes[true] ?? 0 > 0 && outcomes[false] ?? 0 > 0 && outcomes[nil] ?? 0 > 0)
  }

  /// Asks an overlay everything. Returns nil if it is none, false if it is invalid.
  private func isValid(_ content: [[UInt8]]) throws -> Bool? {
    let guarded = try content.map { try GuardedBytes($0) }
    defer { withExtendedLifetime(guarded) {} }
    guard
      let blocks = try? guarded.map({ try OverlayBlock(UnsafeRawBufferPointer($0.bytes)) })
    else { return nil }
    let isValid = (try? blocks.forEach { try $0.validate() }) != nil
    guard let overlay = try? Overlay(blocks) else { return isValid ? nil : false }
    let fits = (try? overlay.validate()) != nil
    #expect(overlay.rowCount > 0 && overlay.rowCount <= ClusterFormat.maximumRows)
    for row in [-1, 0, 1, 5, overlay.rowCount, overlay.baseRowCount, Int(UInt32.max)] {
      #expect((0..<overlay.baseRowCount).contains(overlay.baseRow(row)))
      _ = overlay.isDeleted(row)
      _ = overlay.place(ofRow: row)
      _ = blocks.map { ($0.column(id: UInt32(truncatingIfNeeded: row)), $0.hasChanged(row)) }
    }
    var sum = 0
    for id in 0..<20 as Range<UInt32> {
      guard let column = try? OverlayColumn(overlay, id: id) else { continue }
      column.forEachChange(0..<overlay.baseRowCount) {
        sum &+= $0 &+ ($1?.reduce(0) { $0 &+ Int($1) } ?? 0)
      }
      if overlay.baseRowCount <= 1 << 12 { sum &+= ChangedColumnTests.ask(column, id) }
    }
    for index in 0..<min(overlay.changedCount, 100) {
      for id in 0..<20 as Range<UInt32> {
        try? overlay.withField(overlay.place(index), id: id) {
          guard case .spelling(let bytes?) = $0 else { return }
          for byte in bytes { sum &+= Int(byte) }
        }
      }
      let block = blocks[overlay.place(index).block]
      if block.cluster == nil {
        for byte in block.record(overlay.place(index).index) { sum &+= Int(byte) }
      }
      #expect(overlay.hasSameRecord(overlay.place(index), as: overlay, overlay.place(index)))
    }
    guard isValid, fits else { return false }
    let rows = (0..<overlay.rowCount).map(overlay.baseRow)
    #expect(rows == (0..<overlay.baseRowCount).filter { !overlay.isDeleted($0) })
    return true
  }

  @Test("An overlay is never taken for a cluster, nor a cluster for an overlay")
  func forms() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: Self.options)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("x", .int, nullable: false)])
      let table = try transaction.table("a")
      for number in 1...9 { try table.insert([.int(Int64(number))]) }
    }
    try database.write { try $0.table("a").update(5, ["x": .int(55)]) }
    let snapshot = try database.snapshot()
    var found: NodeEntry?
    try snapshot.table("a").forEachLeaf { found = $0.entry }
    let entry = try #require(found)
    // An overlay read as a cluster, or a cluster as an overlay, is refused.
    let end = snapshot.record.end
    var plain = entry
    plain.reference.isOverlay = false
    #expect(throws: BlockError.self) { try Leaf(plain, snapshot.blocks, end: end) }
    var base = try Leaf(entry, snapshot.blocks, end: end).overlay?.base ?? entry
    #expect(base.reference != entry.reference)
    base.reference.isOverlay = true
    #expect(throws: BlockError.self) { try Leaf(base, snapshot.blocks, end: end) }
    var other = entry
    other.count += 1
    #expect(throws: BlockError.self) { try Leaf(other, snapshot.blocks, end: end) }
    // Only a reference to a leaf may have the overlay's form.
    var writer = ByteWriter()
    entry.reference.encode(into: &writer)
    #expect(throws: DecodingFailure.self) {
      try writer.bytes.withUnsafeBytes { bytes in
        var reader = ByteReader(bytes)
        _ = try BlockReference(from: &reader)
      }
    }
    #expect(try readBack(entry, level: 1) == entry)
    #expect(throws: BlockError.self) { try readBack(entry, level: 2) }
    try database.close()
  }

  /// Writes an entry into a node and reads it back.
  private func readBack(_ entry: NodeEntry, level: Int) throws -> NodeEntry {
    try Node.encode(level: level, [entry][...]).withUnsafeBytes {
      try Node($0, of: entry, level: level, path: "").entry(0)
    }
  }
}
