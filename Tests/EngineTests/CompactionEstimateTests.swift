import Foundation
import Testing

@testable import Engine

/// What a compaction is expected to give, beside what it gives, and compactions that are told to end.
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

  @Test(arguments: [0, 1, 700, 5000])
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

  /// Of a table with more clusters than are sampled, some stand for the others.
  @Test func someStandForTheOthers() throws {
    let folder = TemporaryFolder()
    let rows = 3 * Compactor.clusterRows + 100
    let database = try Database.open(folder.path("t.sheaf"))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("n", .int)])
      let table = try transaction.table("t")
      for row in 0..<rows { _ = try table.insert([.int(Int64(row % 1000))]) }
    }
    let estimate = try database.compactionEstimate(samples: 2)
    #expect(estimate.objects == rows)
    #expect((1..<rows).contains(estimate.sampledObjects))
    let after = try database.compact().after
    #expect(abs(estimate.after - after) <= after / 5 + 8192, "\(estimate.after) is not \(after)")
    try database.close()
  }

  @Test func aCompactionThatIsToldToEnd() throws {
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
    // Asked again while it is read back.
    var asked = 0
    #expect(throws: EngineError.cancelled) {
      try database.compact(shouldStop: {
        asked += 1
        return asked == 2
      })
    }
    #expect(asked == 2)
    #expect((try? System.status(path: folder.path("t.sheaf-temporary"))) == nil)
    // And the database goes on.
    try database.write { _ = try $0.table("t").delete(1) }
    #expect(try database.compact().decision == .compacted)
    #expect(try database.check().problems == [])
    try database.close()
  }
}
