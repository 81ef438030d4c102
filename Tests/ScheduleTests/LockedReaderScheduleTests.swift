import Base
import Testing

@testable import Engine

/// Readers that writers find only by their locks on the database file, in every order with few
/// deviations.
@Suite("Schedules: readers without the lock file", .serialized)
struct LockedReaderScheduleTests {
  enum Kind: CaseIterable {
    /// A reader without a lock file: another user's, or on a read-only medium.
    case withoutLockFile
    /// A reader by another name, beside which there is another lock file.
    case byHardLink
  }

  /// What `Database.open` does for a user who may not write in the folder.
  private static func openWithoutLockFile(_ path: String) throws -> Database {
    let storage = try FileStorage(path: path, mode: .readOnly)
    let locks = try FileLocks(storage, lockFile: nil)
    return try Database(
      path: path, options: .init(access: .readOnly), coordination: Coordination(privateFor: path),
      storage: storage, locks: locks, recovered: Recovery.runAmongWriters(storage))
  }

  /// Opens `a.sheaf` of the folder for reading.
  private static func open(_ kind: Kind, _ folder: ScheduledFolder) throws -> Database {
    switch kind {
    case .withoutLockFile: try openWithoutLockFile(folder.path("a.sheaf"))
    case .byHardLink: try CountedFile.open(folder.link("a.sheaf", as: "b.sheaf"), .readOnly)
    }
  }

  /// A writer uses pages again, cuts off the file's end, and compacts; a reader holds one version after
  /// the other.
  private static func scenario(_ kind: Kind) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let problems = Problems()
    let reader = try open(kind, folder)
    let database = try CountedFile.open(path)
    let read: @Sendable () -> Void = {
      problems.watch {
        var held: [Snapshot] = []
        for _ in 0..<3 {
          held.append(try reader.snapshot())
          Scheduling.idle()
        }
        // Versions are released one after the other, and the rest are read.
        while !held.isEmpty {
          for snapshot in held {
            if let problem = try CountedFile.problem(snapshot, compacted: 1) {
              problems.note(problem)
            }
          }
          held.removeFirst()
          Scheduling.idle()
        }
        try reader.close()
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          try CountedFile.count(database, .full, pages: 2)
          try CountedFile.count(database, .full)
        }
        try database.trim()
        _ = try database.compact()
        try CountedFile.count(database, .full)
        try CountedFile.count(database, .full, pages: 2)
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [write, read]) {
      try withExtendedLifetime(folder) {
        try CountedFile.problem(path, problems, counts: 6...6, compacted: 1)
      }
    }
  }

  /// A reader takes and holds one version while a writer goes on, also between choosing and locking it.
  private static func oneVersion(_ kind: Kind) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let problems = Problems()
    let reader = try open(kind, folder)
    let database = try CountedFile.open(path)
    // Until a version shares no page with the first one.
    for _ in 0..<3 { try CountedFile.count(database, .full, pages: 2) }
    let read: @Sendable () -> Void = {
      problems.watch {
        let snapshot = try reader.snapshot()
        if let problem = try CountedFile.problem(snapshot) { problems.note(problem) }
        try withExtendedLifetime(snapshot) { try reader.close() }
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<4 { try CountedFile.count(database, .full, pages: 2) }
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [read, write]) {
      try withExtendedLifetime(folder) { try CountedFile.problem(path, problems, counts: 7...7) }
    }
  }

  @Test("A version that is locked too late is not taken", arguments: Kind.allCases)
  func lockedTooLate(kind: Kind) throws {
    let failure = try Exploration.failure(
      "Locked too late (\(kind))", bound: 1, postpones: true, random: 0
    ) {
      try Self.oneVersion(kind)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  @Test("What such a reader holds keeps its values", arguments: Kind.allCases)
  func heldByLocks(kind: Kind) throws {
    let failure = try Exploration.failure(
      "Held by locks on the file (\(kind))", bound: 0, random: 120
    ) {
      try Self.scenario(kind)
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
