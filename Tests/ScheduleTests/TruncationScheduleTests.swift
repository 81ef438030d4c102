import Base
import Testing

@testable import Engine

/// Cutting off the file's end beside its readers, in every order with few deviations.
@Suite("Schedules: truncation", .serialized)
struct TruncationScheduleTests {
  /// Repeatedly, a version with a long text at the file's end is followed by one without it, and the
  /// file is cut; two readers hold versions meanwhile. Closing makes the last cut.
  private static func scenario(
    _ readers: [ScheduledReader], rounds: Int, _ durability: Durability
  ) throws -> Exploration.Scenario {
    let storage = MemoryStorage()
    let database = try Database.open(storage: storage)
    try CountedFile.make(database)
    let problems = Problems()
    let threads = readers.map { reader in
      { @Sendable in
        problems.watch {
          for _ in 0..<2 {
            try CountedFile.read(reader.snapshot(database, storage), problems)
          }
        }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        let started = try threads.map { try Thread(name: "reader", $0) }
        for _ in 0..<rounds {
          try CountedFile.count(database, durability, pages: 3)
          Scheduling.idle()
          try CountedFile.count(database, durability)
          try database.trim()
        }
        for thread in started { thread.join() }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write]) {
      if let first = problems.first { return first }
      let database = try Database.open(storage: storage)
      let snapshot = try database.snapshot()
      if try CountedFile.count(in: snapshot) != Int64(2 * rounds) { return "a commit is lost" }
      return try CountedFile.problem(snapshot) ?? database.check().problems.first
    }
  }

  @Test(
    "What two readers hold is not cut off",
    arguments: zip([[ScheduledReader.own, .other], [.other, .other]], [Durability.none, .full]))
  func heldIsKept(readers: [ScheduledReader], durability: Durability) throws {
    let failure = try Exploration.failure(
      "Truncation (\(readers.map(String.init(describing:)).joined(separator: ", ")), \(durability))",
      random: 40
    ) { try Self.scenario(readers, rounds: 1, durability) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
