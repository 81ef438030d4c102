import Base
import TestSupport
import Testing

@testable import Engine

/// Rounds of one handle beside the commits of another.
@Suite("Rounds beside others' commits")
struct RoundTests {
  private static func count(_ database: Database) throws {
    try database.write(durability: .group) { transaction in
      let table = try transaction.table("t")
      guard case .int(let count)? = try table.row(forKey: 1)?["count"] else {
        Issue.record("no count in version \(transaction.baseVersion)")
        return
      }
      try table.update(1, ["count": .int(count + 1)])
    }
  }

  private func made(_ folder: TemporaryFolder) throws -> String {
    let path = folder.path("a.sheaf")
    let database = try Database.open(path)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("count", .int)])
      try transaction.table("t").insert([.int(0)])
    }
    try database.close()
    return path
  }

  @Test("A handle with nothing to flush writes nothing over another's commits")
  func nothingToFlush() throws {
    let folder = TemporaryFolder()
    let path = try made(folder)
    let (one, other) = (try Database.open(path), try Database.open(path))
    for round in 0..<4 {
      try Self.count(one)
      try one.flush()
      try Self.count(other)
      try other.flush()
      try one.parts.pipeline.makeDurable()
      let newest = try Recovery.run(one.parts.storage).record.version
      #expect(try newest == other.newestVersion, "round \(round)")
    }
    try one.close()
    try other.close()
    let again = try Database.open(path)
    #expect(try again.snapshot().table("t").row(forKey: 1)?["count"] == .int(8))
    try again.close()
  }

  /// The order in which an update was lost: a flusher looked for due work just when its handle took
  /// over the other's commits. The schedules of `FileScheduleTests` find it; here threads run freely.
  @Test("Two handles that write by turns, with their flushers, lose no update")
  func byTurns() throws {
    let folder = TemporaryFolder()
    let path = try made(folder)
    let rounds = Effort.rounds(300, long: 20_000)
    let threads = try (0..<2).map { _ in
      try Thread(name: "counter") {
        do {
          let database = try Database.open(path)
          for round in 0..<rounds {
            try Self.count(database)
            if round % 7 == 0 { try database.parts.pipeline.requestDurability() }
          }
          try database.close()
        } catch {
          Issue.record("\(error)")
        }
      }
    }
    for thread in threads { thread.join() }
    let database = try Database.open(path)
    let count = try database.snapshot().table("t").row(forKey: 1)?["count"]
    #expect(count == .int(Int64(2 * rounds)))
    #expect(try database.check().problems == [])
    try database.close()
  }
}
