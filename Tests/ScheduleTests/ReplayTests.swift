import Testing

@testable import Engine

/// A printed failure runs the same schedule again, whatever the process's hash seed and addresses.
@Suite("Schedules: run again")
struct ReplayTests {
  @Test("A schedule that goes wrong goes wrong in the same way when it is run again")
  func sameFailure() throws {
    var exploration = Exploration {
      try SnapshotScheduleTests.scenario(.careless, commits: 3, .full)
    }
    var found: Exploration.Failure?
    for seed in 0..<200 as Range<UInt64> where found == nil {
      found = try exploration.scattered(seed: seed, interruptions: 3)
    }
    let failure = try #require(found)
    let schedule = try #require(Schedule(failure.schedule.description))
    for _ in 0..<3 {
      #expect(try exploration.replay(schedule)?.problem == failure.problem)
    }
  }

  @Test("A schedule is the same run each time", arguments: Durability.allCases)
  func sameRun(durability: Durability) throws {
    var inMemory = Exploration { try SnapshotScheduleTests.scenario(.own, commits: 3, durability) }
    var onFile = Exploration { try FileScheduleTests.takeOver(durability) }
    for seed in 0..<4 as Range<UInt64> {
      let differences = [try inMemory.difference(seed: seed), try onFile.difference(seed: seed)]
      #expect(differences == [nil, nil], "seed \(seed): \(differences)")
    }
  }

  @Test("A schedule of another scenario is told from one that goes well")
  func anotherScenario() throws {
    var exploration = Exploration {
      try SnapshotScheduleTests.scenario(.own, commits: 1, .full)
    }
    let schedule = try #require(Schedule("1:1/1000000"))
    #expect(try exploration.replay(schedule)?.problem.contains("another scenario") == true)
    #expect(Schedule("1:1/") == nil && Schedule("1/2/3") == nil)
  }
}
