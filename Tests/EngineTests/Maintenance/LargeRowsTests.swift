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
    var sizes: [Int] = []
    let roots = try VersionRoots(record, blocks)
    let tree = TreeReader(
      blocks: blocks, root: roots.catalogue.programTables[0].root, end: record.end)
    var leaves = tree.leaves()
    while let leaf = try leaves.next() { sizes.append(Int(leaf.entry.count)) }
    #expect(sizes == Array(repeating: Self.rows, count: Self.groups))
    try database.close()
  }
}
