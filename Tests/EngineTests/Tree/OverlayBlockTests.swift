import Base
import TestSupport
import Testing

@testable import Engine

/// Overlays of several blocks, in both forms, and how much of them a change writes.
@Suite("Blocks of overlays")
struct OverlayBlockTests {
  private static let columns = [
    Column("x", .int), Column("y", .text), Column("z", .text),
  ]

  /// A database with forty rows in one leaf.
  private func database(_ storage: RecordingStorage) throws -> Database {
    var options = Database.Options()
    options.limits.overlayFrom = 0
    let database = try Database.open(storage: storage, options: options)
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns)
      for row in 0..<40 as Range<Int64> {
        try transaction.table("a").insert([.int(row), .text("text \(row)"), .null])
      }
    }
    return database
  }

  private func leaf(_ database: Database) throws -> (Leaf, Snapshot) {
    let snapshot = try database.snapshot()
    var found: Leaf?
    try snapshot.table("a").forEachLeaf { found = $0 }
    return (try #require(found), snapshot)
  }

  /// All spellings, row by row.
  private func rows(_ leaf: Leaf, _ ids: [UInt32]) throws -> [[String?]] {
    let columns = try ids.map { try leaf.column(id: $0) }
    return try (0..<leaf.rowCount).map { row in
      try columns.map { column in
        try column.withSpelling(row) { $0.map { String(decoding: $0, as: UTF8.self) } }
      }
    }
  }

  /// A block in the form of earlier versions of the engine: whole rows, over the cluster.
  private func oldBlock(
    _ base: NodeEntry, _ ids: [UInt32], deleted: [UInt32], _ records: [(UInt32, [String?])]
  ) -> [UInt8] {
    var writer = ByteWriter()
    for number in [0x4F, UInt32(ids.count)] { writer.append(number) }
    writer.append(UInt64(bitPattern: base.firstKey))
    for number in [Int(base.count), deleted.count, records.count] { writer.append(UInt32(number)) }
    base.reference.encode(into: &writer)
    for number in ids + deleted + records.map(\.0) { writer.append(number) }
    let encoded: [[UInt8]] = records.map { record in
      var bytes: [UInt8] = []
      for field in record.1 {
        bytes.append(field.map { UInt8($0.utf8.count + 1) } ?? 0)
        bytes += Array((field ?? "").utf8)
      }
      return bytes
    }
    var place = 0
    for record in encoded {
      writer.append(UInt32(place))
      place += record.count
    }
    for byte in encoded.joined() { writer.append(byte) }
    return writer.bytes
  }

  @Test("Blocks that earlier versions wrote are read, alone, below newer ones, and merged into one")
  func oldForm() throws {
    let database = try database(RecordingStorage(isRecording: false))
    let (leaf, snapshot) = try leaf(database)
    let ids = try snapshot.table("a").schema.columnIDs
    var expected = try rows(leaf, ids)
    // The block lacks the last column: changed rows are null there.
    let old = GuardedOverlay(
      oldBlock(
        leaf.entry, Array(ids[..<2]), deleted: [2, 30],
        [(5, ["-5", nil]), (9, [nil, ""]), (20, ["20", "text 20"])]))
    defer { withExtendedLifetime(old) {} }
    expected[5] = ["-5", nil, nil]
    expected[9] = [nil, "", nil]
    let below = try OverlayBlock(old.bytes)
    try below.validate()
    let lying = Leaf(base: leaf.cluster, try Overlay([below]))
    func without(_ rows: [[String?]], _ deleted: Set<Int>) -> [[String?]] {
      rows.indices.filter { !deleted.contains($0) }.map { rows[$0] }
    }
    #expect(try rows(lying, ids) == without(expected, [2, 30]))
    let open = try OpenOverlay(lying, columnIDs: ids)
    #expect(try open.update(6, [(column: 2, value: .text("new"))]))
    #expect(try open.update(21, [(column: 0, value: .int(7))]))
    #expect(
      try open.update(10, [(column: 0, value: .int(9)), (column: 1, value: .text("text 9"))]))
    #expect(open.delete(40) && !open.delete(3))
    expected[5][2] = "new"
    expected[20][0] = "7"
    expected[9] = ["9", "text 9", nil]
    for merged in 0...1 {
      var builder = try OverlayBuilder(open)
      let encoded = try builder.encode(merging: merged)
      let new = GuardedOverlay(try #require(encoded))
      defer { withExtendedLifetime(new) {} }
      let block = try OverlayBlock(new.bytes)
      try block.validate()
      let overlay = try Overlay(merged == 0 ? [block, below] : [block])
      #expect(
        try rows(Leaf(base: leaf.cluster, overlay), ids) == without(expected, [2, 30, 39]),
        "\(merged) merged")
      // A row that equals that of the cluster needs a record only if a block below has one.
      #expect(block.hasChanged(9) == (merged == 0))
    }
    try database.close()
  }

  @Test("A column that no block names is read as if there were no overlay")
  func untouched() throws {
    let database = try database(RecordingStorage(isRecording: false))
    try database.write { try $0.table("a").update(3, ["x": .int(-1)]) }
    let (leaf, snapshot) = try leaf(database)
    let ids = try snapshot.table("a").schema.columnIDs
    #expect(leaf.overlay != nil)
    #expect(try ids.map { try leaf.column(id: $0).unchanged == nil } == [true, false, false])
    try database.write { try $0.table("a").delete(1) }
    let (other, _) = try self.leaf(database)
    #expect(try ids.allSatisfy { try other.column(id: $0).unchanged == nil })
    try database.close()
  }

  @Test("What is as it was in the cluster leaves nothing behind")
  func back() throws {
    let database = try database(RecordingStorage(isRecording: false))
    let (before, _) = try leaf(database)
    try database.write { transaction in
      let table = try transaction.table("a")
      try table.update(3, ["x": .int(-1), "z": .text("z")])
      #expect(try table.row(forKey: 3)?.values == [.int(-1), .text("text 2"), .text("z")])
      try table.update(3, ["x": .int(2), "z": .null])
      #expect(try table.row(forKey: 3)?.values == [.int(2), .text("text 2"), .null])
    }
    let (after, _) = try leaf(database)
    #expect(after.entry == before.entry)
    #expect(try database.check().problems == [])
    try database.close()
  }

  // MARK: Columns

  /// A block of the changes to a leaf, and the leaf with it.
  private func block(
    _ open: OpenOverlay, _ leaf: Leaf, percent: Int, merging: Int = 0
  ) throws -> (GuardedOverlay, OverlayBlock) {
    var builder = try OverlayBuilder(open, columns: ClusterBuilder(), percent)
    let encoded = try builder.encode(merging: merging)
    let guarded = GuardedOverlay(try #require(encoded))
    let block = try OverlayBlock(guarded.bytes)
    try block.validate()
    return (guarded, block)
  }

  @Test("Changed rows are stored column by column where that takes less, and say the same")
  func columns() throws {
    let database = try database(RecordingStorage(isRecording: false))
    let (leaf, snapshot) = try leaf(database)
    let ids = try snapshot.table("a").schema.columnIDs
    let open = try OpenOverlay(leaf, columnIDs: ids)
    #expect(open.delete(2))
    for key in 5..<35 as Range<Int64> {
      #expect(try open.update(key, [(column: 0, value: key % 4 == 0 ? .null : .int(key * 900))]))
      // Every other row has the base's value in the other column.
      guard key % 2 == 0 else { continue }
      #expect(try open.update(key, [(column: 2, value: .text("z \(key % 3)"))]))
    }
    let (one, records) = try block(open, leaf, percent: 0)
    let (two, columns) = try block(open, leaf, percent: 100)
    defer { withExtendedLifetime((one, two)) {} }
    #expect(records.cluster == nil && columns.cluster != nil)
    #expect(columns.byteCount < records.byteCount)
    let lying = Leaf(base: leaf.cluster, try Overlay([columns]))
    let expected = try rows(Leaf(base: leaf.cluster, try Overlay([records])), ids)
    #expect(try rows(lying, ids) == expected)
    #expect(try lying.statistics(id: ids[0]).nullCount == 7)
    #expect(try lying.statistics(id: ids[0]).integers == 0...(34 * 900))
    #expect(try lying.statistics(id: ids[2]).nullCount == 39 - 15)
    // It is smaller than the block below it, and would not be as records.
    let few = try OpenOverlay(lying, columnIDs: ids)
    for key in stride(from: 5 as Int64, to: 35, by: 2) {
      #expect(try few.update(key, [(column: 0, value: .int(1_000_000_000 + key))]))
    }
    var small = try OverlayBuilder(few, columns: ClusterBuilder())
    var large = try OverlayBuilder(few)
    #expect(try small.mergedCount() == 0)
    #expect(try large.mergedCount() == 1)
    // A newer block with other columns, and one that takes the place of both.
    let next = try OpenOverlay(lying, columnIDs: ids)
    #expect(next.delete(6))
    for key in 10..<40 as Range<Int64> {
      #expect(try next.update(key, [(column: 1, value: .text("text \(key)"))]))
    }
    for percent in [0, 100] {
      for merged in 0...1 {
        let (kept, newer) = try block(next, lying, percent: percent, merging: merged)
        defer { withExtendedLifetime(kept) {} }
        let overlay = try Overlay(merged == 0 ? [newer, columns] : [newer])
        let found = try rows(Leaf(base: leaf.cluster, overlay), ids)
        for (row, key) in ([1, 3, 4, 5] + Array(7...40)).enumerated() {
          let before = expected[row + (key > 6 ? 1 : 0)]
          let text = (10..<40).contains(key) ? "text \(key)" : before[1]
          #expect(
            found[row] == [before[0], text, before[2]], "key \(key), \(percent) %, \(merged)")
        }
        #expect(found.count == 38)
      }
    }
    try database.close()
  }

  @Test("Rows that differ in one column of many each are stored as records")
  func sparse() throws {
    let database = try database(RecordingStorage(isRecording: false))
    let (leaf, snapshot) = try leaf(database)
    let ids = try snapshot.table("a").schema.columnIDs
    let open = try OpenOverlay(leaf, columnIDs: ids)
    for key in 1..<41 as Range<Int64> {
      let values: [Value] = [.int(-1), .text("y"), .text("z")]
      let column = Int(key % 3)
      #expect(try open.update(key, [(column: column, value: values[column])]))
    }
    let (kept, records) = try block(open, leaf, percent: 1000)
    #expect(records.cluster == nil)
    withExtendedLifetime(kept) {}
    try database.close()
  }

  // MARK: Damage

  @Test("The first changed row is the first one that the block's cluster has")
  func otherFirstRow() throws {
    let database = try database(RecordingStorage(isRecording: false))
    let (leaf, snapshot) = try leaf(database)
    let open = try OpenOverlay(leaf, columnIDs: snapshot.table("a").schema.columnIDs)
    for key in 5..<35 as Range<Int64> {
      #expect(try open.update(key, [(column: 0, value: .int(key * 900))]))
    }
    let (kept, block) = try block(open, leaf, percent: 100)
    let values = try #require(block.cluster)
    let columns = try (0..<values.columnCount).map {
      try #require(try values.encodedColumn(id: values.identifier($0)))
    }
    for shift in [0, 1] as [Int64] {
      // The same rows, all of them counted from a row that is not changed.
      let offsets = (0..<Int64(values.rowCount)).map { $0 + shift }
      let cluster = try ClusterBuilder().assemble(
        columns, rowCount: values.rowCount, keyOffsets: offsets)
      var writer = ByteWriter()
      writer.append(UInt32(block.changedRow(0)) - UInt32(shift))
      let other = GuardedOverlay(
        Array(kept.bytes[..<OverlayBlock.headerBytes]) + writer.bytes + cluster.bytes)
      let found = try OverlayBlock(other.bytes)
      #expect(found.changedRow(7) == block.changedRow(7))
      if shift == 0 {
        try found.validate()
      } else {
        #expect(throws: DecodingFailure.self) { try found.validate() }
      }
      withExtendedLifetime(other) {}
    }
    withExtendedLifetime(kept) {}
    try database.close()
  }

  @Test("Blocks that lie one over the other without an end, or do not belong together, are refused")
  func chains() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try database(storage)
    let (leaf, snapshot) = try leaf(database)
    var end = storage.length()
    /// Writes a block over the one that a reference leads to.
    func put(
      over below: BlockReference, firstKey: Int64? = nil, deleted: [UInt32] = [],
      changed: [UInt32] = []
    ) throws -> BlockReference {
      var writer = ByteWriter()
      for number in [0x014F, 0] as [UInt32] { writer.append(number) }
      writer.append(UInt64(bitPattern: firstKey ?? leaf.entry.firstKey))
      for number in [Int(leaf.entry.count), deleted.count, changed.count] {
        writer.append(UInt32(number))
      }
      below.encode(into: &writer)
      for number in deleted + changed { writer.append(number) }
      for _ in changed { writer.append(UInt32(0)) }
      var reference = BlockReference(
        offset: UInt64(end), length: UInt32(writer.bytes.count),
        checksum: Checksum.of(writer.bytes))
      reference.isOverlay = true
      try storage.resize(to: end + Layout.pageBytes)
      try writer.bytes.withUnsafeBytes { try storage.write($0, at: end) }
      end += Layout.pageBytes
      return reference
    }
    func read(_ reference: BlockReference, deleted: UInt64 = 0) throws -> Overlay {
      let entry = NodeEntry(
        firstKey: leaf.entry.firstKey, count: leaf.entry.count - deleted, reference: reference)
      return try BlockReader(storage: storage).overlay(entry, end: UInt64(end))
    }
    func refused(_ what: String, _ reference: BlockReference, deleted: UInt64 = 0) {
      #expect {
        try read(reference, deleted: deleted)
      } throws: {
        ($0 as? BlockError)?.what.contains(what) == true
      }
    }
    var top = leaf.entry.reference
    for _ in 0..<Overlay.mostBlocks { top = try put(over: top, changed: [4]) }
    #expect(try read(top).blocks.count == Overlay.mostBlocks)
    refused("more than 8 blocks", try put(over: top, changed: [4]))
    let gone = try put(over: leaf.entry.reference, deleted: [4])
    #expect(try read(gone, deleted: 1).deleted == [4])
    refused("deleted twice", try put(over: gone, deleted: [4]), deleted: 1)
    refused("changed after it was deleted", try put(over: gone, changed: [4]), deleted: 1)
    refused("different bases", try put(over: gone, firstKey: 77, changed: [3]), deleted: 1)
    refused("counts 40", gone)
    var cluster = leaf.entry.reference
    cluster.isOverlay = true
    refused("checksum", try put(over: cluster, changed: [4]))
    _ = snapshot
    try database.close()
  }

  // MARK: Nights

  /// On an average night one row of each cluster changes.
  @Test("A night of few changed rows writes little, the first one and any later one")
  func nights() throws {
    let folder = TemporaryFolder()
    var options = Database.Options()
    // A sixteenth of the usual limits, for speed.
    options.limits.clusterRows = 128
    options.limits.tailRows = 16
    options.limits.smallRows = 16
    options.limits.overlayFrom = 1024
    options.limits.overlayBytes = 512...65_536
    let database = try Database.open(folder.path("a.sheaf"), options: options)
    var random = SplitMix64(seed: 8)
    var numbers = [Int64](repeating: 0, count: 60 * 128)
    let names = numbers.indices.map { _ in String(random.next(), radix: 36) }
    try database.write { transaction in
      try transaction.createTable("a", columns: Self.columns)
      for row in numbers.indices {
        let name = names[row]
        try transaction.table("a").insert([.int(0), .text(name), .text(name + name)])
      }
    }
    let used = try database.fileUse().used
    let cluster = try database.tableUse("a").clusterBytes / 60
    var (most, sum, mostBlocks) = (0, 0, 0)
    let nights = 150
    for night in 0..<nights {
      let before = database.bytesWritten
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for _ in 0..<60 {
          let row = Int.random(in: numbers.indices, using: &random)
          numbers[row] = Int64.random(in: 0..<100_000, using: &random)
          try table.update(Int64(row + 1), ["x": .int(numbers[row])])
        }
      }
      let written = database.bytesWritten - before
      (most, sum) = (max(most, written), sum + written)
      if night % 30 == 29 {
        let snapshot = try database.snapshot()
        var row = 0
        try snapshot.table("a").forEachRow { found in
          #expect(
            found.values == [
              .int(numbers[row]), .text(names[row]), .text(names[row] + names[row]),
            ])
          row += 1
        }
        try snapshot.table("a").forEachLeaf {
          mostBlocks = max(mostBlocks, $0.overlay?.blocks.count ?? 0)
        }
      }
    }
    // Some clusters are encoded anew in a night; keeping all changes since then would take 40,000 bytes
    // more.
    #expect(most < 6 * cluster, "\(most)")
    #expect(sum / nights < 3 * cluster, "\(sum / nights)")
    let use = try database.fileUse()
    #expect(use.used < used * 2, "\(use)")
    #expect(mostBlocks > 1 && mostBlocks <= Overlay.mostBlocks)
    #expect(try database.check().problems == [])
    try database.close()
  }
}

/// Bytes at the end of which reading is trapped.
private struct GuardedOverlay {
  private let guarded: GuardedBytes?
  let bytes: UnsafeRawBufferPointer

  init(_ content: [UInt8]) {
    guarded = try? GuardedBytes(content)
    bytes = guarded.map { UnsafeRawBufferPointer($0.bytes) } ?? .init(start: nil, count: 0)
  }
}
