import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// The estimated result of a compaction, compared with the real one; and interrupted compactions.
@Suite struct CompactionEstimateTests {
  private func filled(_ folder: TemporaryFolder, rows: Int) throws -> Database {
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int), Column("s", .text)])
      let table = try transaction.table("t")
      for row in 0..<rows {
        _ = try table.insert([.int(Int64(row)), .text("text number \(row % 97)")])
      }
    }
    return database
  }

  @Test("The estimate is near the size after compaction", arguments: [0, 1, 700, 5000])
  func isNearTheCompaction(rows: Int) throws {
    let folder = TemporaryFolder()
    let database = try filled(folder, rows: rows)
    let estimate = try database.compactionEstimate()
    #expect(estimate.objects == rows && estimate.sampledObjects == rows)
    #expect(try estimate.before == database.fileUse().total)
    let result = try database.compact()
    #expect(abs(estimate.after - result.after) <= result.after / 10 + 8192)
    try database.close()
  }

  enum Shape: CaseIterable {
    case uniform, sorted, halves, fewWide, changed

    /// The text of a row in a table of `rows`.
    func text(_ row: Int, of rows: Int, _ random: inout SplitMix64) -> String {
      switch self {
      case .uniform, .changed: String(random.next(), radix: 36)
      // Texts about more and more things, less and less of which is new.
      case .sorted: "event \(random.next() % UInt64(4 + row)) of \(row / 50)"
      case .halves:
        row < rows / 3 ? "the same few words \(row % 7)" : String(random.next(), radix: 36)
      case .fewWide:
        row % 701 == 0
          ? String(repeating: "wide \(random.next() % 1000) ", count: 600)
          : "\(random.next() % 100_000)"
      }
    }
  }

  /// A sample predicts the compaction of the whole table within its stated error, which is no larger
  /// than necessary.
  @Test(arguments: Shape.allCases) func aSampleIsWithinItsError(_ shape: Shape) throws {
    let folder = TemporaryFolder()
    // A small table of small leaves, from which small clusters are made.
    var options = Database.Options()
    options.limits.clusterRows = 100
    let database = try Database.open(folder.path("t.sheaf"), options: options)
    let rows = 24_000
    var random = SplitMix64(seed: 7)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int), Column("s", .text)])
      let table = try transaction.table("t")
      for row in 0..<rows {
        _ = try table.insert([.int(Int64(row % 1000)), .text(shape.text(row, of: rows, &random))])
      }
    }
    if shape == .changed {
      try database.write { transaction in
        let table = try transaction.table("t")
        for key in stride(from: 1, to: Int64(rows), by: 11) {
          try table.update(key, ["s": .text("changed \(key)")])
        }
      }
    }
    var limits = ClusterSampler.Limits()
    (limits.placeBytes, limits.wholeBytes, limits.clusterRows) = (4 << 10, 64 << 10, 3000)
    let snapshot = try database.snapshot()
    func measure() throws -> ClusterSampler.Result {
      let table = try snapshot.table("t")
      return try ClusterSampler(snapshot.blocks, end: snapshot.record.end, limits)
        .measure(table.tree, columns: table.schema.columnIDs)
    }
    let sampled = try measure()
    // The twin reads the whole table.
    limits.wholeBytes = .max
    let all = try measure()
    #expect(all.objects == rows && all.places == 0 && all.possibleError == 0)
    #expect(sampled.objects < rows && sampled.places >= 3 && sampled.before == all.before)
    #expect(abs(sampled.after - all.after) <= sampled.possibleError, "\(sampled), not \(all)")
    #expect(sampled.possibleError <= all.after * 2 / 5, "\(sampled), and \(all)")
    withExtendedLifetime(snapshot) {}
    try database.close()
  }

  /// In a large table some objects are sampled, and the compaction confirms the result.
  @Test func someStandForTheOthers() throws {
    let folder = TemporaryFolder()
    let rows = 2 * Compactor.clusterRows + 100
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("s", .text)])
      let table = try transaction.table("t")
      for row in 0..<rows {
        _ = try table.insert([.text("number \(row &* 7919 % 100_003), as it was found")])
      }
    }
    var limits = ClusterSampler.Limits(places: 4)
    limits.wholeBytes = 1 << 20
    let estimate = try database.compactionEstimate(limits)
    #expect(estimate.objects == rows && estimate.places == 4)
    #expect((1..<rows).contains(estimate.sampledObjects))
    let after = try database.compact().after
    #expect(abs(estimate.after - after) <= estimate.possibleError, "\(estimate) is not \(after)")
    #expect(estimate.possibleError < after / 4)
    try database.close()
  }

  @Test("A compaction or copy that is told to stop leaves the file as it was, and no other")
  func aCompactionThatIsToldToEnd() throws {
    let folder = TemporaryFolder()
    let database = try filled(folder, rows: 3000)
    let before = try Data(contentsOf: URL(fileURLWithPath: folder.path("t.sheaf")))
    #expect(throws: EngineError.cancelled) { try database.compact(shouldStop: { true }) }
    let copy = folder.path("copy.sheaf")
    #expect(throws: EngineError.cancelled) {
      try database.writeCopy(to: copy, shouldStop: { true })
    }
    #expect((try? System.status(path: copy)) == nil)
    #expect((try? System.status(path: folder.path("t.sheaf-temporary"))) == nil)
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path("t.sheaf"))) == before)
    // The interruption comes while the copy is read back.
    var asked = 0
    #expect(throws: EngineError.cancelled) {
      try database.compact(shouldStop: {
        asked += 1
        return asked == 2
      })
    }
    #expect(asked == 2)
    #expect((try? System.status(path: folder.path("t.sheaf-temporary"))) == nil)
    // The database remains usable.
    try database.write { _ = try $0.table("t").delete(1) }
    #expect(try database.compact().decision == .compacted)
    #expect(try database.check().problems == [])
    try database.close()
  }
}
