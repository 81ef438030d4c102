import TestSupport
import Testing

@testable import Engine

/// Rows that are large in an import's clusters, and small in those of a compaction.
@Suite("Large rows that become small", .timeLimit(.minutes(60)))
struct LargeRowsTests {
  private static let rows = 128
  private static let groups = 40

  /// Clusters of a hundred rows, each as large as several may be that are merged.
  private static func fill(_ database: Database) throws {
    var random = SplitMix64(seed: 11)
    let words = ["information-001", "transaction-002", "versioned-db-03", "sheafimporter04"]
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("text", .text)])
      let table = try transaction.table("t")
      for _ in 0..<groups * rows {
        let text = (0..<10).map { _ in words[Int.random(in: 0..<4, using: &random)] }.joined()
        _ = try table.insert([.text(text)])
      }
    }
  }

  @Test("A compaction reads its copy back, and does not join what it has encoded")
  func compaction() throws {
    var options = Database.Options()
    options.limits.clusterRows = Self.rows
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: options)
    try Self.fill(database)
    let snapshot = try database.snapshot()
    let target = RecordingStorage(isRecording: false)
    let record = try Compactor.copy(
      snapshot.record, snapshot.blocks, to: target, identity: .random(),
      clusterBytes: 10_000)
    let blocks = try BlockReader(storage: target)
    #expect(Checker.run(record, blocks).problems == [])
    #expect(try Self.sizes(record, blocks) == Array(repeating: Self.rows, count: Self.groups))
    // What was encoded thoroughly is a fraction of its text: it is not joined either, here or in use.
    let again = RecordingStorage(isRecording: false)
    let second = try Compactor.copy(
      record, blocks, to: again, identity: .random(), clusterBytes: 10_000)
    #expect(
      try Self.sizes(second, BlockReader(storage: again))
        == Array(repeating: Self.rows, count: Self.groups))
    var limits = OnlineLimits()
    limits.clusterBytes = 10_000
    let (tree, columns) = try Self.tree(record, blocks)
    var groups = LeafGroups(tree, of: columns, from: .min, limits) { _ in false }
    var (found, bytes) = (0, 0)
    while let group = try groups.next() {
      #expect(group.group.count == 1)
      (found, bytes) = (found + 1, bytes + group.bytes)
    }
    #expect(found == Self.groups && bytes / found < 5000)
    try database.close()
  }

  private static func tree(
    _ record: VersionRecord, _ blocks: BlockReader
  ) throws -> (TreeReader, [UInt32]) {
    let table = try VersionRoots(record, blocks).catalogue.programTables[0]
    let schema = try TableSchema(decoding: blocks.block(table.schema, end: record.end))
    return (TreeReader(blocks: blocks, root: table.root, end: record.end), schema.columnIDs)
  }

  private static func sizes(_ record: VersionRecord, _ blocks: BlockReader) throws -> [Int] {
    var sizes: [Int] = []
    var leaves = try tree(record, blocks).0.leaves()
    while let leaf = try leaves.next() { sizes.append(Int(leaf.entry.count)) }
    return sizes
  }

  @Test("The text of a leaf is known roughly, whatever it is stored as")
  func decodedText() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .init())
    var random = SplitMix64(seed: 5)
    var bytes = [0, 0, 0]
    let few = (0..<40).map { "a longer text that is repeated \($0)" }
    try database.write { transaction in
      try transaction.createTable(
        "t",
        columns: [
          Column("a", .text), Column("few", .text), Column("digits", .text), Column("n", .int),
        ])
      let table = try transaction.table("t")
      for row in 0..<20_000 {
        let text = (0..<Int.random(in: 0..<30, using: &random)).map { _ in
          ["some ", "words ", "again ", "\(row)"].randomElement(using: &random) ?? ""
        }.joined()
        let digits = "\(UInt64.random(in: 0...(.max), using: &random))"
        try table.insert([.text(text), .text(few[row % 40]), .text(digits), .int(Int64(row))])
        bytes[0] += text.utf8.count
        bytes[2] += digits.utf8.count
      }
    }
    bytes[1] = few.reduce(0) { $0 + $1.utf8.count }
    #expect(try database.compact().decision == .compacted)
    let snapshot = try database.snapshot()
    let (tree, columns) = try Self.tree(snapshot.record, snapshot.blocks)
    let text = DecodedText(of: columns, most: 0)
    var leaves = tree.leaves()
    var sums = [0, 0, 0, 0]
    while let leaf = try leaves.next() {
      let found = try text.measure(leaf.entry, tree.blocks, end: tree.end)
      for place in sums.indices { sums[place] += found[place] }
    }
    #expect(sums[3] == 0)
    for place in 0..<3 {
      #expect(abs(sums[place] - bytes[place]) <= bytes[place] / 4, "\(sums) \(bytes)")
    }
    try database.close()
  }
}
