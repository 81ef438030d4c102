import Base
import Testing

@testable import Engine

/// Compactions, which put another file in place, against readers and writers, in every order that
/// few deviations give.
@Suite("Schedules: compaction", .serialized)
struct CompactionScheduleTests {
  /// A compaction replaces the file, or says why it did not, while another handle opens it, reads and writes.
  private static func besideOthers() throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let problems = Problems()
    let compact: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        try CountedFile.count(database, .full)
        _ = try database.compact()
        try CountedFile.count(database, .full)
        try database.close()
      }
    }
    let use: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        try CountedFile.read(database, problems, compacted: 1)
        try CountedFile.count(database, .full)
        try CountedFile.read(database, problems, compacted: 1)
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [compact, use]) {
      try withExtendedLifetime(folder) {
        try CountedFile.problem(path, problems, counts: 3...3, compacted: 1)
      }
    }
  }

  @Test("A compaction beside others changes nothing that they see")
  func compactionBesideOthers() throws {
    let failure = try Exploration.failure("Compaction beside others", bound: 0, random: 40) {
      try Self.besideOthers()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// The same handle's readers and writers, who are there before and after.
  private static func withinHandle(_ durability: Durability) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let database = try CountedFile.open(path)
    let problems = Problems()
    let read: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          try CountedFile.read(database, problems, compacted: 2)
          Scheduling.idle()
        }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          let own = try CountedFile.count(database, durability)
          try CountedFile.read(database, problems, atLeast: own, compacted: 2)
        }
      }
    }
    let compact: @Sendable () -> Void = {
      problems.watch {
        let others = [
          try Thread(name: "reader", read), try Thread(name: "writer", write),
        ]
        for _ in 0..<2 {
          Scheduling.idle()
          _ = try database.compact()
        }
        for other in others { other.join() }
        // While this one is open.
        let later = try CountedFile.open(path)
        try CountedFile.count(later, .full)
        try later.close()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [compact]) {
      try withExtendedLifetime(folder) {
        try CountedFile.problem(path, problems, counts: 3...3, compacted: 2)
      }
    }
  }

  @Test(
    "A compaction beside readers and writers of its handle loses nothing",
    arguments: [Durability.full, .group])
  func compactionWithinHandle(durability: Durability) throws {
    let failure = try Exploration.failure(
      "Compaction within a handle (\(durability))", bound: 0, random: 40
    ) { try Self.withinHandle(durability) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
