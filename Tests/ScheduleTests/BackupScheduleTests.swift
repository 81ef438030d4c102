import Base
import Testing

@testable import Engine

/// Backups beside writers of the database and readers of the copy, in every order with few deviations.
@Suite("Schedules: backups", .serialized)
struct BackupScheduleTests {
  private static func scenario() throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let (path, copy) = (folder.path("a.sheaf"), folder.path("copy.sheaf"))
    try CountedFile.make(path)
    let database = try CountedFile.open(path)
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        for pages in [2, 0, 1] { try CountedFile.count(database, .full, pages: pages) }
      }
    }
    let read: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          Scheduling.idle()
          let reader = try CountedFile.open(copy, .existing)
          try CountedFile.read(reader, problems)
          try reader.close()
        }
      }
    }
    let back: @Sendable () -> Void = {
      problems.watch {
        let writer = try Thread(name: "writer", write)
        var waiting = Waiting()
        waiting.seconds = 1e9
        _ = try database.backup(to: copy, waiting: waiting)
        let reader = try Thread(name: "reader", read)
        for _ in 0..<2 {
          Scheduling.idle()
          let before = try database.newestVersion
          let result = try database.backup(to: copy, waiting: waiting)
          if result.version < before {
            problems.note("version \(before) was there, and \(result.version) is backed up")
          }
        }
        for other in [writer, reader] { other.join() }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [back]) {
      try withExtendedLifetime(folder) {
        try CountedFile.problem(copy, problems, counts: 0...3)
          ?? CountedFile.problem(path, problems, counts: 3...3)
      }
    }
  }

  @Test("A copy is one of the versions, whole, whoever writes and reads meanwhile")
  func beside() throws {
    let failure = try Exploration.failure("Backups beside others", bound: 0, random: 40) {
      try Self.scenario()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
