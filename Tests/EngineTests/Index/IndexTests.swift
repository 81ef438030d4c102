import Testing
import TestSupport

@testable import Engine

/// The parts of an index by themselves.
@Suite("Parts of an index")
struct IndexTests {
  private static func leaf(_ entries: [IndexEntry]) -> [UInt8] {
    var output = OutputBuffer()
    entries.withUnsafeBufferPointer { IndexLeaf.encode($0, into: &output) }
    return Array(output.bytes)
  }

  /// Entries like those of hashes, of integers, of repeated values, and of ranges of both.
  private static func entries(_ random: inout SplitMix64) -> [IndexEntry] {
    var entries: Set<[Int64]> = []
    let kind = Int.random(in: 0..<4, using: &random)
    let count = Int.random(in: 1...200, using: &random)
    for row in 0..<Int64(count) {
      let code: Int64 =
        switch kind {
        case 0: KeyCode.firstHash + Int64.random(in: 0..<1 << 40, using: &random)
        case 1: 1000 + row
        case 2: Int64.random(in: -5...5, using: &random)
        default: row % 3 == 0 ? KeyCode.firstHash : row % 3 == 1 ? 999_999_999_999_999_999 : row
        }
      let object = kind == 1 ? row + 7 : Int64.random(in: 0 ... .max, using: &random)
      entries.insert([code, object])
    }
    return entries.map { IndexEntry(code: $0[0], object: $0[1]) }.sorted()
  }

  @Test("A leaf gives back its entries, and finds codes as a search from its start does")
  func leaves() throws {
    var random = SplitMix64(seed: 21)
    for round in 0..<300 {
      let entries = Self.entries(&random)
      try Self.leaf(entries).withUnsafeBytes { bytes in
        let leaf = try IndexLeaf(bytes)
        #expect((0..<leaf.rowCount).map { leaf[$0] } == entries, "round \(round) of seed 21")
        #expect(leaf.inconsistency() == nil, "round \(round) of seed 21")
        for _ in 0..<30 {
          let near = entries[Int.random(in: entries.indices, using: &random)].code
          let code = near &+ Int64.random(in: -2...2, using: &random)
          let row = leaf.firstRow(notBelow: code)
          let expected = entries.firstIndex { $0.code >= code } ?? entries.count
          #expect(row == expected, "code \(code) in round \(round) of seed 21")
          let start = Int.random(in: 0...expected, using: &random)
          #expect(leaf.firstRow(notBelow: code, from: start) == expected)
        }
      }
    }
  }

  @Test("Ascending keys of new objects take no bits")
  func ascending() {
    let entries = (0..<1000).map { IndexEntry(code: 5000 + $0, object: 70 + $0) }
    #expect(Self.leaf(entries).count == 32)
  }

  @Test("Leaves of any bytes are refused or read, never beyond their end")
  func hostileLeaves() throws {
    var random = SplitMix64(seed: 22)
    for _ in 0..<3000 {
      var bytes = Self.leaf(Self.entries(&random))
      for _ in 0..<Int.random(in: 0...3, using: &random) {
        bytes[Int.random(in: 0..<min(bytes.count, 40), using: &random)] =
          [0, 1, 63, 64, 255, .random(in: 0...255, using: &random)].randomElement(using: &random)
          ?? 0
      }
      if Bool.random(using: &random) {
        bytes.removeLast(Int.random(in: 0...min(20, bytes.count), using: &random))
      }
      let guarded = try GuardedBytes(bytes)
      defer { withExtendedLifetime(guarded) {} }
      guard let leaf = try? IndexLeaf(guarded.readOnly) else { continue }
      for row in 0..<min(leaf.rowCount, 300) { _ = leaf[row] }
      _ = leaf.inconsistency()
      for code in [Int64.min, .max, 0, leaf.firstCode, leaf.firstCode &+ 3] {
        let row = leaf.firstRow(notBelow: code)
        #expect(row >= 0 && row <= leaf.rowCount)
      }
    }
  }

  @Test("Codes: short canonical integers are themselves, all else is hashed")
  func codes() {
    let code = KeyCode(low: 1, high: 2, bits: 40)
    func of(_ text: String) -> Int64 { Array(text.utf8).withUnsafeBytes { code.code($0) } }
    for number in [0, 7, -7, 10, 999_999_999_999_999_999, -999_999_999_999_999_999] as [Int64] {
      #expect(of("\(number)") == number)
    }
    for text in ["", "-", "-0", "007", "+5", "5.0", "1e3", "1000000000000000000", "٣", "5 ", "x"] {
      #expect(of(text) < KeyCode.firstHash + 1 << 40, "\(text)")
    }
    #expect(of("5.0") != of("5.00"))
    #expect(KeyCode(low: 1, high: 3, bits: 40) != code)
  }

  @Test("The hash is SipHash-1-3, by the published value of the empty input")
  func hash() {
    let code = KeyCode(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908, bits: 40)
    #expect([UInt8]().withUnsafeBytes { code.hash($0) } == 0xABAC_0158_050F_C4DC)
  }

  @Test("A filter lets every code pass that it was given, and few others")
  func filter() {
    for base in [0, KeyCode.firstHash] {
      var filter = KeyFilter(capacity: 10_000)
      let entries = (0..<10_000).map { IndexEntry(code: base + $0 * 3, object: $0) }
      entries.withUnsafeBufferPointer { filter.insert($0) }
      #expect((0..<10_000 as Range<Int64>).allSatisfy { filter.mayContain(base + $0 * 3) })
      let wrong = (0..<10_000 as Range<Int64>).count { filter.mayContain(base + $0 * 3 + 1) }
      #expect(wrong < 150, "\(wrong) of 10,000 others pass")
      #expect(filter.byteCount <= KeyFilter.byteCount(10_000))
    }
    #expect(!KeyFilter(capacity: 0).mayContain(5))
  }

  @Test("Entries are sorted as by comparing them, however their codes are spread")
  func sorting() {
    var random = SplitMix64(seed: 23)
    for round in 0..<200 {
      let count = Int.random(in: 0...3000, using: &random)
      let spread = Int.random(in: 0..<64, using: &random)
      let base = Int64(bitPattern: random.next())
      var object = Int64.random(in: 0..<1000, using: &random)
      var entries = (0..<count).map { _ in
        object += Int64.random(in: round % 5 == 0 ? 0...3 : 1...3, using: &random)
        let distance = Int64(bitPattern: random.next() >> UInt64(spread))
        return IndexEntry(code: base &+ distance, object: object)
      }
      if round % 3 == 0, count > 0 {
        // A few codes are far from all others.
        for _ in 0..<3 {
          entries[.random(in: 0..<count, using: &random)].code =
            [.min, .max, 0].randomElement(using: &random) ?? 0
        }
      }
      if round % 7 == 0 { entries.shuffle(using: &random) }
      let expected = entries.sorted()
      IndexEntry.sort(&entries)
      #expect(entries == expected, "round \(round) of seed 23")
    }
  }

  @Test("A run of another program's gets a filter, through which every key is still found")
  func laterFilters() throws {
    let storage = RecordingStorage(isRecording: false)
    var options = Database.Options()
    options.indexLimits.leafEntries = 16
    options.indexLimits.recentEntries = 64
    options.indexLimits.smallestRun = 4
    let first = try Database.open(storage: storage, options: options)
    try first.write { transaction in
      try transaction.createTable("t", columns: [Column("id", .text)], key: "id")
    }
    for batch in 0..<20 {
      try first.write { transaction in
        let table = try transaction.table("t")
        for number in 0..<100 { try table.insert([.text("key \(batch * 100 + number)")]) }
      }
    }
    try first.close()
    let database = try Database.open(storage: storage, options: options)
    for round in 0..<3 {
      try database.write { transaction in
        let table = try transaction.table("t")
        for number in 0..<2000 {
          let key = try table.editor.find(.text("key \(number)"))
          #expect(key == Int64(number + 1), "round \(round)")
          #expect(try table.editor.find(.text("no key \(number)")) == nil)
        }
        let kept = try #require(table.editor.index.kept)
        let large = table.editor.index.runs.filter { $0.count >= 64 }
        #expect(!large.isEmpty)
        #expect(large.allSatisfy { kept.filters[$0.root.entry.reference] != nil })
        if round == 1 { try table.insert([.text("key 2000")]) }
      }
    }
    try database.close()
  }

  @Test("Runs stay few, and an entry is written few times", arguments: [1, 30, 1000, 70_000])
  func policy(batch: Int) {
    let limits = IndexLimits()
    let policy = MergePolicy(limits)
    var counts: [UInt64] = []
    var written: UInt64 = 0
    var most = 0
    let batches = min(3000, 20_000_000 / batch)
    for _ in 0..<batches {
      let first = policy.firstMerged(counts, added: batch)
      let merged = counts[first...].reduce(UInt64(batch), +)
      counts.removeSubrange(first...)
      counts.append(merged)
      written += merged
      most = max(most, counts.count)
      let recent = counts.filter { $0 < UInt64(limits.recentEntries) }.reduce(0, +)
      #expect(recent < UInt64(limits.recentEntries))
    }
    #expect(most <= 45, "\(most) runs")
    let total = UInt64(batch * batches)
    // Batches of a single key are first merged up to 256 entries, each merge rewriting half of that.
    #expect(written <= total * (batch < 256 ? 140 : 8), "\(written) for \(total)")
  }

  @Test("An entry of an object that never was is damage")
  func objectOutOfRange() throws {
    let storage = RecordingStorage(isRecording: false)
    var options = Database.Options.tiny
    options.isWrongOnPurpose = true
    let database = try Database.open(storage: storage, options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("id", .text)], key: "id")
      let table = try transaction.table("a")
      try table.insert([.text("5")])
      // An entry like that of a hostile file.
      table.editor.index.add(IndexEntry(code: 6, object: 1000))
    }
    let problems = try database.check().problems
    #expect(problems.count == 1 && problems[0].contains("never there"), "\(problems)")
    let again = try Database.open(
      storage: RecordingStorage(storage.content, isRecording: false), options: .tiny)
    #expect(try again.snapshot().table("a").row(forPrimaryKey: .text("5"))?.key == 1)
    #expect(throws: EngineError.self) {
      try again.write { _ = try $0.table("a").row(forPrimaryKey: .text("6")) }
    }
  }

  /// Appends rows whose keys are wrongly said to be new.
  private static func append(
    _ rows: [String], keys: [String], to database: Database
  ) throws {
    try database.write { transaction in
      let editor = try transaction.table("a").editor
      var buffer = RowBuffer(columnIDs: editor.schema.columnIDs)
      for (row, key) in rows.enumerated() {
        try buffer.append(key: Int64(row), values: [.text(key)])
      }
      let bytes = Array(keys.joined().utf8)
      let spans = keys.indices.map { TextSpan(offset: UInt32($0 * 4), length: 4) }
      let cluster = try buffer.encode(with: ClusterBuilder())
      try bytes.withUnsafeBytes { bytes in
        let base = try #require(bytes.baseAddress)
        try spans.withUnsafeBufferPointer { try editor.append(cluster, base: base, newKeys: $0) }
      }
    }
  }

  @Test("Check finds an object without its entry, and two of one key; so does a merge")
  func brokenPromises() throws {
    var options = Database.Options()
    // The run of every commit stays by itself.
    options.indexLimits.smallestRun = 1
    options.isWrongOnPurpose = true
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: [Column("id", .text)], key: "id")
      try transaction.table("a").insert([.text("same")])
    }
    try Self.append(["same", "lost"], keys: ["same", "gone"], to: database)
    let problems = try database.check().problems
    #expect(problems.count == 2)
    #expect(problems.contains { $0.contains("object 3 is not found") }, "\(problems)")
    #expect(problems.contains { $0.contains("objects 1 and 2 have the same key") }, "\(problems)")
    let snapshot = try database.snapshot()
    #expect(throws: EngineError.self) {
      _ = try Compactor.copy(
        snapshot.record, snapshot.blocks, to: RecordingStorage(isRecording: false),
        identity: .random())
    }
    #expect(throws: EngineError.self) {
      try Self.append(["twin", "twin"], keys: ["twin", "twin"], to: database)
    }
    #expect(try database.snapshot().table("a").count == 3)
  }
}
