import TestSupport
import Testing

@testable import Engine

/// What a deep check finds that no reader of the newest version would notice, or only some. It finds
/// nothing in sound files: `ModelTests`, `PowerCutTests` and the tests of imports run it after
/// everything they do.
@Suite("Deep checks", .timeLimit(.minutes(60)))
struct DeepCheckTests {
  private static func open(_ bytes: [UInt8]) throws -> Database {
    try Database.open(storage: RecordingStorage(bytes, isRecording: false), options: .tiny)
  }

  /// The file with another value in a field, and right checksums.
  private static func forged(
    _ bytes: [UInt8], _ value: UInt64, _ isMeant: (FieldMap.Field) -> Bool
  ) throws -> [UInt8] {
    let map = FieldMap(bytes)
    let field = map.fields.first(where: isMeant)
    return map.forged(try #require(field), value)
  }

  /// The closed file that `body` has written.
  private static func file(
    _ options: Database.Options = .tiny, _ bodies: ((borrowing WriteTransaction) throws -> Void)...
  ) throws -> [UInt8] {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: options)
    for body in bodies { try database.write { try body($0) } }
    try database.close()
    return storage.content
  }

  private static func expect(
    _ bytes: [UInt8], says words: String..., sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let database = try open(bytes)
    #expect(try database.check().problems == [], sourceLocation: sourceLocation)
    let problems = try database.check(deep: true).problems
    #expect(
      problems.contains { line in words.allSatisfy { line.contains($0) } }, "\(problems)",
      sourceLocation: sourceLocation)
  }

  // MARK: What is counted

  @Test("Counts what it compared, and the entries that updates have left")
  func counts() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .text), Column("n", .int)], key: "id", indexes: ["n"])
      for row in 1...10 as ClosedRange<Int64> {
        try transaction.table("t").insert([.text("k\(row)"), .int(row)])
      }
    }
    try database.write { transaction in
      for key in 1...3 as ClosedRange<Int64> {
        try transaction.table("t").update(key, ["n": .int(100 + key)])
      }
      try transaction.table("t").delete(10)
    }
    let plain = try database.check()
    #expect(!plain.isDeep && plain.values == 0 && plain.indexEntries == 0)
    #expect(plain.olderVersions == [] && plain.passedOver == [])
    let deep = try database.check(deep: true)
    #expect(deep.isDeep && deep.problems == [] && deep.values == 18)
    // Three changed numbers, and what both indexes still have of the deleted object.
    #expect(deep.indexEntries == 23 && deep.outdatedEntries == 5)
    #expect(deep.olderVersions == [2])
    #expect(deep.objects == plain.objects && deep.blocks == plain.blocks)
    #expect(deep.clusters == plain.clusters && deep.version == plain.version)
    try database.writeCopy(to: folder.path("b.sheaf"))
    try database.close()
    let copy = try Database.open(folder.path("b.sheaf"), options: .init(access: .readOnly))
    let clean = try copy.check(deep: true)
    #expect(clean.problems == [] && clean.indexEntries == 18 && clean.outdatedEntries == 0)
    try copy.close()
  }

  // MARK: Values

  @Test("A dictionary that has an entry twice")
  func dictionary() throws {
    var options = Database.Options.tiny
    options.limits.clusterRows = 100
    let bytes = try Self.file(options) { transaction in
      try transaction.createTable("t", columns: [Column("a", .text)])
      let editor = try transaction.table("t").editor
      var rows = RowBuffer(columnIDs: editor.schema.columnIDs)
      for row in 0..<60 {
        try rows.append(key: Int64(row), values: [.text(["aab", "aac", "aad"][row % 3])])
      }
      try editor.append(try rows.encode(with: ClusterBuilder()))
    }
    let entries = Array("aabaacaad".utf8)
    let start = try #require(
      bytes.indices.dropLast(9).first { bytes[$0..<$0 + 9].elementsEqual(entries) })
    let forged = try Self.forged(bytes, UInt64(UInt8(ascii: "b"))) {
      $0.offsets == [start + 5] && $0.size == 1
    }
    try Self.expect(forged, says: "table 't'", "leaf at offset", "column 'a'", "entries 0 and 1")
  }

  /// A new column with that number would read the overlay's values. The plain check finds it, too.
  @Test("An overlay with a column that there never was")
  func overlayColumn() throws {
    let bytes = try Self.file(
      .tiny,
      { transaction in
        try transaction.createTable("t", columns: [Column("a", .int), Column("b", .int)])
        for row in 1...6 as ClosedRange<Int64> {
          try transaction.table("t").insert([.int(row), .int(row)])
        }
      },
      { transaction in
        // Rows beyond those that are decoded at once.
        try transaction.table("t").update(2, ["a": .int(7), "b": .int(8)])
      })
    let forged = try Self.forged(bytes, 3) { $0.name.hasSuffix("overlay's number 1") }
    for deep in [false, true] {
      let problems = try Self.open(forged).check(deep: deep).problems
      #expect(problems.contains { $0.contains("it has column 3") }, "\(problems)")
    }
  }

  /// Filters would skip the changed rows. The plain check says so, too.
  @Test(
    "An overlay whose columns say other bounds than they have", arguments: ["minimum", "nulls"])
  func overlayBounds(name: String) throws {
    let bytes = try Self.file(
      .tiny,
      { transaction in
        try transaction.createTable("t", columns: [Column("a", .int)])
        for row in 1...8 as ClosedRange<Int64> { try transaction.table("t").insert([.int(row)]) }
      },
      { transaction in
        for row in 2...7 as ClosedRange<Int64> {
          try transaction.table("t").update(row, ["a": .int(100 + row)])
        }
      })
    let map = FieldMap(bytes)
    let form = map.fields.first { $0.name.hasSuffix("overlay's form of records") }
    #expect(try map.value(#require(form)) == 2)
    let field = map.fields.last { $0.name.hasSuffix("overlay's \(name) of 1") }
    let forged = map.forged(try #require(field), 3)
    for deep in [false, true] {
      let problems = try Self.open(forged).check(deep: deep).problems
      #expect(!problems.isEmpty)
    }
  }

  // MARK: Older versions

  /// Two tables, one of which has a maximum that is too high.
  private static func withWrongBounds() throws -> [UInt8] {
    let bytes = try file { transaction in
      for table in ["bad", "good"] {
        try transaction.createTable(table, columns: [Column("a", .int)])
        for row in [5, 90, 17, 33] as [Int64] { try transaction.table(table).insert([.int(row)]) }
      }
    }
    return try forged(bytes, 91) { $0.name == "tree 0's cluster's maximum of 1" }
  }

  @Test("A version that only the other slot names is checked while its pages are whole")
  func otherSlot() throws {
    let bytes = try Self.withWrongBounds()
    let storage = RecordingStorage(bytes, isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    let old = try database.snapshot().version
    #expect(try database.check().problems.count == 1)
    // The last byte of the cluster, which no checksum covers.
    var padding = 0
    do {
      let snapshot = try database.snapshot()
      try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
        block, kind, table in
        guard kind == .cluster, table?.name == "bad" else { return }
        padding = Int(block.offset) + Int(block.length) - 1
      }
    }
    try database.write { try $0.deleteTable("bad") }
    var image = storage.content
    try Self.expect(
      image, says: "version \(old), of the other slot,", "table 'bad'", "minimum or maximum")
    #expect(try Self.open(image).check(deep: true).olderVersions == [old])
    // The next writer may use its pages.
    let map = FieldMap(bytes)
    let field = try #require(
      map.fields.first { $0.name == "tree 0's cluster's maximum of 1" })
    for place in [field.offsets[0], padding] {
      image[place] ^= 1
      let report = try Self.open(image).check(deep: true)
      #expect(report.problems == [], "byte \(place)")
      #expect(report.olderVersions == [] && report.passedOver == [old], "byte \(place)")
      image[place] ^= 1
    }
    try database.close()
  }

  @Test("A version that somebody holds is checked, and no longer when it is released")
  func held() throws {
    let storage = RecordingStorage(try Self.withWrongBounds(), isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    var snapshot: Snapshot? = try database.snapshot()
    let old = try #require(snapshot).version
    try database.write { try $0.deleteTable("bad") }
    try database.write { try $0.table("good").update(1, ["a": .int(6)]) }
    #expect(try database.check().problems == [])
    let report = try database.check(deep: true)
    #expect(report.problems.count == 1 && report.olderVersions == [old, old + 1])
    let line = report.problems.first ?? ""
    #expect(
      line.hasPrefix("version \(old), which is held, table 'bad', the leaf of keys"), "\(line)")
    snapshot = nil
    let after = try database.check(deep: true)
    #expect(after.problems == [] && after.olderVersions == [old + 1])
    try database.close()
  }

  @Test("A version that is held by another process is checked")
  func heldElsewhere() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let writer = try Database.open(path)
    try writer.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .int)])
      for row in 1...9 as ClosedRange<Int64> { try transaction.table("t").insert([.int(row)]) }
    }
    let reader = try Database.open(path, options: .init(access: .readOnly))
    let snapshot = try reader.snapshot()
    for round in 0..<5 as Range<Int64> {
      try writer.write { try $0.table("t").update(3, ["a": .int(round)]) }
    }
    let checker = try Database.open(path, options: .init(access: .readOnly))
    let report = try checker.check(deep: true)
    #expect(report.problems == [])
    #expect(report.olderVersions == [snapshot.version, report.version - 1])
    withExtendedLifetime(snapshot) {}
    for database in [checker, reader, writer] { try database.close() }
  }

  // MARK: Space

  @Test("A map of free pages that misses a block, or has one too many")
  func space() throws {
    func problems(_ mapped: [Range<Int>], _ blocks: [Range<Int>]) -> [String] {
      let space = SpaceMap(version: 2)
      space.countLive(mapped)
      space.finishCounting()
      return Checker.spaceProblems(space, blocks)
    }
    let blocks = [8192..<8300, 8300..<20_000, 24_576..<24_600]
    #expect(problems(blocks, blocks) == [])
    #expect(problems([blocks[0], blocks[1]], blocks).count == 1)
    #expect(problems([blocks[0], blocks[2]], blocks).count == 3)
    let tooMany = problems(blocks, [blocks[0], blocks[1]])
    #expect(tooMany.count == 1 && tooMany[0].hasPrefix("page 6, at offset 24576"), "\(tooMany)")
  }

  // MARK: Notes

  @Test("A list of declared columns that are none")
  func declaredColumns() throws {
    for note in [[9, 0, 0, 0], [2, 0, 0, 0, 1, 0, 0, 0], [1, 0]] as [[UInt8]] {
      let bytes = try Self.file { transaction in
        try transaction.createTable("t", columns: [Column("a", .int), Column("b", .int)])
        try transaction.table("t").editor.setNote(DeclaredColumns.note, note)
      }
      try Self.expect(bytes, says: "table 't'", "'declared columns'")
    }
  }

  @Test("A companion whose table is not there")
  func companion() throws {
    let bytes = try Self.file { transaction in
      for name in ["a", "b"] { try transaction.createTable(name, columns: [Column("n", .int)]) }
      try transaction.deleteTable("b")
      _ = try transaction.companion(
        "notes", of: transaction.table("a"), columns: [Column("k", .text)])
    }
    let forged = try Self.forged(bytes, 2) { $0.name == "table 0's number" }
    try Self.expect(forged, says: "table 'notes of table 1'", "is not there")
  }
}
