import Testing

@testable import Engine

/// Handles that know nothing of each other but the file and its lock file, as those of several processes, in every order
/// that few deviations give.
@Suite("Schedules: handles on a file", .serialized)
struct FileScheduleTests {
  /// Waits as long as it takes: any time may pass before a thread goes on.
  private static func open(
    _ path: String, _ access: Database.Options.Access = .create
  ) throws -> Database {
    var options = Database.Options(access: access)
    options.waiting.seconds = 1e9
    return try Database.open(path, options: options)
  }

  private static func make(_ path: String) throws {
    let database = try open(path)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("version", .int), Column("count", .int)])
      try transaction.table("t").insert([.int(Int64(transaction.baseVersion) + 1), .int(0)])
    }
    try database.close()
  }

  /// Counts one more, and notes the version that the commit makes.
  private static func count(_ database: Database, _ durability: Durability) throws {
    try database.write(durability: durability) { transaction in
      let table = try transaction.table("t")
      guard case .int(let count)? = try table.row(forKey: 1)?["count"] else {
        throw Unexpected(what: "no count in version \(transaction.baseVersion)")
      }
      try table.update(
        1, ["version": .int(Int64(transaction.baseVersion) + 1), "count": .int(count + 1)])
    }
  }

  private struct Unexpected: Error, CustomStringConvertible {
    let what: String
    var description: String { what }
  }

  /// What is wrong with the file when all have closed it.
  private static func problem(_ path: String, _ problems: Problems, counted: Int64) throws
    -> String?
  {
    if let first = problems.first { return first }
    let database = try open(path)
    let found = try database.check().problems
    let count = try database.snapshot().table("t").row(forKey: 1)?["count"]
    try database.close()
    if count != .int(counted) { return "\(String(describing: count)) instead of \(counted)" }
    return found.first
  }

  /// Reads a version that it holds, and once more after the others have gone on.
  ///
  /// - Parameter compacted: versions that a compaction may have made, which changes nothing.
  private static func read(
    _ database: Database, _ problems: Problems, compacted: Int64 = 0
  ) throws {
    let snapshot = try database.snapshot()
    let first = try snapshot.table("t").row(forKey: 1)
    Scheduling.idle()
    let row = try snapshot.table("t").row(forKey: 1)
    let version = Int64(snapshot.version)
    guard row == first, case .int(let noted)? = row?["version"],
      (version - compacted...version).contains(noted)
    else {
      return problems.note(
        "version \(version) reads \(String(describing: first)), \(String(describing: row))")
    }
  }

  private static func writers(_ durability: Durability) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        let database = try Self.open(path)
        for _ in 0..<2 { try Self.count(database, durability) }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write, write]) {
      try withExtendedLifetime(folder) { try Self.problem(path, problems, counted: 4) }
    }
  }

  @Test("Writers that open, count and close lose nothing", arguments: Durability.allCases)
  func writersCount(durability: Durability) throws {
    let failure = try Exploration.failure(bound: 0, random: 120, seed: 0) {
      try Self.writers(durability)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  private static func readers(_ access: Database.Options.Access) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        let database = try Self.open(path)
        for _ in 0..<3 {
          try Self.count(database, .group)
          Scheduling.idle()
        }
        try database.close()
      }
    }
    let read: @Sendable () -> Void = {
      problems.watch {
        let database = try Self.open(path, access)
        try Self.read(database, problems)
        try Self.read(database, problems)
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write, read]) {
      try withExtendedLifetime(folder) { try Self.problem(path, problems, counted: 3) }
    }
  }

  @Test(
    "Readers that come and go see what was committed",
    arguments: [Database.Options.Access.readOnly, .existing])
  func readersRead(access: Database.Options.Access) throws {
    let failure = try Exploration.failure(bound: 0, random: 40, seed: 0) {
      try Self.readers(access)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// A compaction replaces the file, or says why it did not, while another handle opens it, reads and writes.
  private static func compaction() throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try make(path)
    let problems = Problems()
    let compact: @Sendable () -> Void = {
      problems.watch {
        let database = try Self.open(path)
        try Self.count(database, .full)
        _ = try database.compact()
        try Self.count(database, .full)
        try database.close()
      }
    }
    let use: @Sendable () -> Void = {
      problems.watch {
        let database = try Self.open(path)
        try Self.read(database, problems, compacted: 1)
        try Self.count(database, .full)
        try Self.read(database, problems, compacted: 1)
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [compact, use]) {
      try withExtendedLifetime(folder) { try Self.problem(path, problems, counted: 3) }
    }
  }

  @Test("A compaction beside others changes nothing that they see")
  func compactionBesideOthers() throws {
    let failure = try Exploration.failure(bound: 0, random: 40, seed: 0) { try Self.compaction() }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
