import Base
import Testing

@testable import Engine

/// Handles that share only the file and its lock file, like those of several processes, in every order
/// with few deviations.
@Suite("Schedules: handles on a file", .serialized)
struct FileScheduleTests {
  private static func writers(_ durability: Durability) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        for _ in 0..<2 { try CountedFile.count(database, durability) }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write, write]) {
      try withExtendedLifetime(folder) { try CountedFile.problem(path, problems, counts: 4...4) }
    }
  }

  @Test("Writers that open, count and close lose nothing", arguments: Durability.allCases)
  func writersCount(durability: Durability) throws {
    let failure = try Exploration.failure(
      "Writers that open and close (\(durability))", bound: 0, random: 120
    ) { try Self.writers(durability) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// Threads of one handle.
  private static func turns() throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let database = try CountedFile.open(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch { try CountedFile.count(database, .full) }
    }
    let both: @Sendable () -> Void = {
      problems.watch {
        let other = try Thread(name: "writer", write)
        write()
        other.join()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [both]) {
      try withExtendedLifetime(folder) { try CountedFile.problem(path, problems, counts: 2...2) }
    }
  }

  @Test("Threads of one handle write one after the other")
  func threadsTakeTurns() throws {
    let failure = try Exploration.failure("Threads of one handle", random: 20) { try Self.turns() }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  private static func readers(_ access: Database.Options.Access) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path)
        for _ in 0..<3 {
          try CountedFile.count(database, .group)
          Scheduling.idle()
        }
        try database.close()
      }
    }
    let read: @Sendable () -> Void = {
      problems.watch {
        let database = try CountedFile.open(path, access)
        for _ in 0..<2 { try CountedFile.read(database, problems) }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write, read]) {
      try withExtendedLifetime(folder) { try CountedFile.problem(path, problems, counts: 3...3) }
    }
  }

  @Test(
    "Readers that come and go see what was committed",
    arguments: [Database.Options.Access.readOnly, .existing])
  func readersRead(access: Database.Options.Access) throws {
    let failure = try Exploration.failure(
      "Readers that come and go (\(access))", bound: 0, random: 40
    ) { try Self.readers(access) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// What was promised: a count that is durable, or that this handle has committed.
  private final class Promise: Sendable {
    private let word = AtomicWord.allocate()
    deinit { word.deallocate() }
    func give(_ count: Int64) { word.raise(to: UInt64(count)) }
    var count: Int64 { Scheduling.without { Int64(word.load()) } }
  }

  /// Open handles: one closes while the other goes on, and two threads write through one. Each sees
  /// what was promised to all, and its own commits.
  static func takeOver(_ durability: Durability) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let (one, other) = (try CountedFile.open(path), try CountedFile.open(path))
    let problems = Problems()
    let promise = Promise()
    func use(
      _ database: Database, _ durability: Durability, isHelped: Bool = false
    ) -> @Sendable () -> Void {
      {
        let help: @Sendable () -> Void = {
          problems.watch { try CountedFile.count(database, durability) }
        }
        let helper = isHelped ? try? Thread(name: "helper", help) : nil
        problems.watch {
          let own = try CountedFile.count(database, durability)
          if durability == .full { promise.give(own) }
          try CountedFile.read(database, problems, atLeast: max(own, promise.count))
          promise.give(try CountedFile.count(database, .full))
          helper?.join()
          try database.close()
        }
      }
    }
    return Exploration.Scenario(threads: [use(one, durability, isHelped: true), use(other, .full)])
    {
      try withExtendedLifetime(folder) { try CountedFile.problem(path, problems, counts: 5...5) }
    }
  }

  @Test("A handle takes over from another and keeps what it finds", arguments: Durability.allCases)
  func takesOver(durability: Durability) throws {
    let failure = try Exploration.failure("Taking over (\(durability))", bound: 0, random: 40) {
      try Self.takeOver(durability)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
