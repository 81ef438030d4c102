import Testing

@testable import Engine

/// Snapshots, commits, flushes and the reuse of pages, in every order that few deviations give.
@Suite("Schedules: snapshots", .serialized)
struct SnapshotScheduleTests {
  /// A writer changes one row to the version that it makes; a reader holds version after version, and reads all of them
  /// while the writer goes on.
  private static func scenario(
    _ reader: ScheduledReader, commits: Int, _ durability: Durability
  ) throws -> Exploration.Scenario {
    let storage = MemoryStorage()
    let database = try Database.open(storage: storage, options: .init())
    try database.write(durability: .full) { transaction in
      try transaction.createTable("t", columns: [Column("version", .int)])
      let table = try transaction.table("t")
      try table.insert([.int(Int64(transaction.baseVersion) + 1)])
    }
    let problems = Problems()
    let read: @Sendable () -> Void = {
      problems.watch {
        var held: [Snapshot] = []
        for _ in 0..<commits {
          Scheduling.idle()
          held.append(try reader.snapshot(database, storage))
        }
        for _ in 0..<2 {
          Scheduling.idle()
          for snapshot in held {
            let row = try snapshot.table("t").row(forKey: 1)
            if row?["version"] != .int(Int64(snapshot.version)) {
              problems.note("version \(snapshot.version) reads \(String(describing: row))")
            }
          }
        }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        let thread = try Thread(name: "reader", read)
        for _ in 0..<commits {
          try database.write(durability: durability) { transaction in
            try transaction.table("t").update(
              1, ["version": .int(Int64(transaction.baseVersion) + 1)])
          }
          Scheduling.idle()
        }
        thread.join()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write]) { problems.first }
  }

  @Test(
    "A version that is held keeps its values", arguments: ScheduledReader.allCases,
    Durability.allCases)
  func held(reader: ScheduledReader, durability: Durability) throws {
    let failure = try Exploration.failure("A held version (\(reader), \(durability))", random: 80) {
      try Self.scenario(reader, commits: 3, durability)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// What is freed too early has to be written over before it is read: that takes some commits more.
  @Test("The flusher publishes versions while a writer looks for those that are held")
  func publishedMeanwhile() throws {
    let failure = try Exploration.failure("Versions published meanwhile", bound: 0, random: 700) {
      try Self.scenario(.other, commits: 8, .group)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
