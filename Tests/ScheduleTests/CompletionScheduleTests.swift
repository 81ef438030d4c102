import Base
import Synchronization
import Testing

@testable import Engine

/// Asynchronous writes and the end of their handle, in every order with few deviations: each completion
/// is called once and says what the file has.
@Suite("Schedules: completions", .serialized)
struct CompletionScheduleTests {
  /// How often each completion was called, and whether it reported success.
  private final class Outcomes: Sendable {
    private let told: Mutex<[[Bool]]>

    init(_ count: Int) { told = Mutex(Array(repeating: [], count: count)) }

    func note(_ number: Int, _ result: Result<Int64, any Error>) {
      let isMade = if case .success = result { true } else { false }
      told.withLock { $0[number].append(isMade) }
    }

    var made: Int { told.withLock { $0.count { $0.first == true } } }

    var problem: String? {
      told.withLock { told in
        told.firstIndex { $0.count != 1 }.map { "write \($0) was answered \(told[$0])" }
      }
    }
  }

  /// Holds the only reference to a handle.
  private final class Box: @unchecked Sendable {
    // @unchecked: one scheduled thread takes it.
    private var database: Database?
    init(_ database: Database) { self.database = database }
    func take() throws -> Database {
      defer { database = nil }
      guard let database else { throw EngineError.closed(path: "") }
      return database
    }
  }

  private static func ask(
    _ database: Database, _ number: Int, _ outcomes: Outcomes, allowsGrouping: Bool
  ) -> PendingWrite {
    database.asyncWrite(allowsGrouping: allowsGrouping) {
      try CountedFile.count($0)
    } completion: {
      outcomes.note(number, $0)
    }
  }

  /// The database is closed while writes are asked for, one of which is cancelled.
  private static func closing() throws -> Exploration.Scenario {
    let storage = MemoryStorage()
    let outcomes = Outcomes(4)
    let problems = Problems()
    let box = Box(try Database.open(storage: storage))
    let close: @Sendable () -> Void = {
      problems.watch {
        let database = try box.take()
        try CountedFile.make(database)
        let first = Self.ask(database, 0, outcomes, allowsGrouping: true)
        let other = try Thread(name: "asking") {
          for number in 1...3 {
            let pending = Self.ask(database, number, outcomes, allowsGrouping: number == 2)
            if number == 2 { pending.cancel() }
          }
        }
        try database.close()
        // A write that was asked for before the closing has been made.
        if outcomes.made == 0 { problems.note("the first write was not made") }
        first.cancel()
        other.join()
      }
    }
    return Exploration.Scenario(threads: [close]) {
      if let problem = problems.first ?? outcomes.problem { return problem }
      let database = try Database.open(storage: storage)
      let count = try CountedFile.count(in: database.snapshot())
      if count != Int64(outcomes.made) { return "\(outcomes.made) were made, \(count) are there" }
      return try database.check().problems.first
    }
  }

  @Test("Each completion comes once, whenever the database is closed")
  func closedMeanwhile() throws {
    let failure = try Exploration.failure("Asynchronous writes and closing", random: 80) {
      try Self.closing()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// Who releases the handle last.
  enum Last: CaseIterable {
    case job
    /// A job, while a thread watches others' commits.
    case watchedJob
    case completion
  }

  /// A handle is released without being closed, while its flusher, its writing thread and its watching
  /// thread run, and another handle writes. One of its snapshots is read for longer.
  private static func releasing(_ last: Last) throws -> Exploration.Scenario {
    let folder = try ScheduledFolder()
    let path = folder.path("a.sheaf")
    try CountedFile.make(path)
    let outcomes = Outcomes(2)
    let problems = Problems()
    let (box, other) = (Box(try CountedFile.open(path)), try CountedFile.open(path))
    let write: @Sendable () -> Void = {
      problems.watch {
        for _ in 0..<2 {
          let own = try CountedFile.count(other, .full)
          try CountedFile.read(other, problems, atLeast: own)
        }
        try other.close()
      }
    }
    let release: @Sendable () -> Void = {
      problems.watch {
        let writer = try Thread(name: "writer", write)
        let snapshot: Snapshot
        do {
          let database = try box.take()
          if last == .watchedJob { _ = database.listeners.add {} }
          try CountedFile.count(database, .full)
          snapshot = try database.snapshot()
          try CountedFile.read(database, problems)
          database.asyncWrite {
            try CountedFile.count($0, pages: 1)
          } completion: { [held = last == .completion ? database : nil] result in
            withExtendedLifetime(held) { outcomes.note(0, result) }
          }
          _ = Self.ask(database, 1, outcomes, allowsGrouping: last != .completion)
        }
        // A writer does not wait for readers of durable versions.
        writer.join()
        try CountedFile.read(snapshot, problems)
      }
    }
    return Exploration.Scenario(threads: [release]) {
      if let problem = outcomes.problem { return problem }
      let least = Int64(3 + outcomes.made)
      return try withExtendedLifetime(folder) {
        try CountedFile.problem(path, problems, counts: least...5)
      }
    }
  }

  @Test("A handle that is released in the middle leaves others in peace", arguments: Last.allCases)
  func releasedMeanwhile(last: Last) throws {
    let failure = try Exploration.failure(
      "Releasing a handle (last: \(last))", bound: 0, random: 40
    ) { try Self.releasing(last) }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// When it is released it returns to the queue whose job held it last, as a database does.
  private final class Returning: Sendable {
    private let queue: WorkQueue
    init(_ queue: WorkQueue) { self.queue = queue }
    deinit { _ = queue.add {} }
  }

  @Test("What a job holds last may come back to its queue")
  func jobsLastReference() throws {
    let failure = try Exploration.failure("What a job holds last", bound: 2, random: 20) {
      let work: @Sendable () -> Void = {
        let queue = WorkQueue(name: "queue", mostThreads: 1)
        for _ in 0..<2 {
          let held = Returning(queue)
          _ = queue.add { withExtendedLifetime(held) {} }
        }
        queue.finish()
      }
      return Exploration.Scenario(threads: [work]) { nil }
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
