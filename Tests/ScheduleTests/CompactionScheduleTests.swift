import Base
import Testing

@testable import Engine

/// Compactions, which put another file in place, beside readers and writers, in every order with few
/// deviations.
@Suite("Schedules: compaction", .serialized)
struct CompactionScheduleTests {
  /// The kind of compaction.
  enum Kind: CaseIterable {
    /// A copy replaces the file.
    case whole
    /// In use, in transactions so small that it needs several.
    case inUse

    /// The most versions that one compaction makes.
    var versions: Int64 { self == .whole ? 1 : 20 }

    /// Makes a file that compaction makes smaller.
    func make(_ path: String) throws {
      try CountedFile.make(path)
      if self == .whole { return }
      let database = try CountedFile.open(path)
      try database.write { transaction in
        try transaction.createTable("rows", columns: [Column("number", .int)])
      }
      for number in 0..<4 {
        try database.write { transaction in
          for row in 0..<3 { try transaction.table("rows").insert([.int(Int64(number * 3 + row))]) }
        }
      }
      try CountedFile.count(database, .full, pages: 3)
      try CountedFile.count(database, .full)
      try database.close()
    }

    /// How often the file was counted up before.
    var counts: Int64 { self == .whole ? 0 : 2 }

    func run(_ database: Database) throws {
      switch self {
      case .whole: _ = try database.compact()
      case .inUse:
        var limits = OnlineLimits()
        (limits.transactionBytes, limits.clusterRows, limits.wellEncodedRows) = (3000, 14, 5)
        _ = try database.compactInUse(limits, waiting: Waiting(seconds: 0))
      }
    }
  }

  /// A compaction replaces the file, says why it did not, or goes on in its transactions, while another
  /// handle opens it, reads and writes.
  private static func besideOthers(_ kind: Kind) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try kind.make(path)
    let problems = Problems()
    let compact: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        try CountedFile.count(database, .full)
        try kind.run(database)
        try CountedFile.count(database, .full)
        try database.close()
      }
    }
    let use: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        try CountedFile.read(database, problems, compacted: kind.versions)
        try CountedFile.count(database, .full)
        try CountedFile.read(database, problems, compacted: kind.versions)
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [compact, use]) {
      try withExtendedLifetime(folder) {
        let count = kind.counts + 3
        return try CountedFile.problem(
          path, problems, counts: count...count, compacted: kind.versions)
      }
    }
  }

  @Test("A compaction beside others changes nothing that they see", arguments: Kind.allCases)
  func compactionBesideOthers(kind: Kind) throws {
    let failure = try Exploration.failure(
      "Compaction beside others (\(kind))", bound: 0, random: 40
    ) {
      try Self.besideOthers(kind)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// Readers and writers of the compacting handle, before and after.
  private static func withinHandle(
    _ kind: Kind, _ durability: Durability
  ) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try kind.make(path)
    let database = try CountedFile.open(path)
    let problems = Problems()
    let read: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          try CountedFile.read(database, problems, compacted: 2 * kind.versions)
          Scheduling.idle()
        }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          let own = try CountedFile.count(database, durability)
          try CountedFile.read(
            database, problems, atLeast: own, compacted: 2 * kind.versions)
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
          try kind.run(database)
        }
        for other in others { other.join() }
        // This handle is still open.
        let later = try CountedFile.open(path)
        try CountedFile.count(later, .full)
        try later.close()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [compact]) {
      try withExtendedLifetime(folder) {
        let count = kind.counts + 3
        return try CountedFile.problem(
          path, problems, counts: count...count, compacted: 2 * kind.versions)
      }
    }
  }

  @Test(
    "A compaction beside readers and writers of its handle loses nothing",
    arguments: Kind.allCases, [Durability.full, .group])
  func compactionWithinHandle(kind: Kind, durability: Durability) throws {
    let failure = try Exploration.failure(
      "Compaction within a handle (\(kind), \(durability))", bound: 0, random: 40
    ) { try Self.withinHandle(kind, durability) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
