import Base
import Testing

@testable import Engine

/// Observers that begin and end while others commit, in every order with few deviations.
@Suite("Schedules: observers", .serialized)
struct NotificationScheduleTests {
  private static func database() throws -> Database {
    let database = try Database.open(storage: MemoryStorage())
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("number", .int)])
      for number in 0..<3 as Range<Int64> { try transaction.table("t").insert([.int(number)]) }
    }
    return database
  }

  /// Deletes the oldest row, adds one, and changes one that stays.
  private static func change(_ database: Database, _ number: Int64) throws {
    try database.write(durability: .group) { transaction in
      let table = try transaction.table("t")
      try table.delete(number + 1)
      try table.insert([.int(number)])
      try table.update(number + 3, ["number": .int(-number)])
    }
  }

  /// Keeps a list of keys up to date by its change sets.
  private final class Follower: @unchecked Sendable {
    // @unchecked: `lock` guards `version`; the session's thread uses the rest.
    private let problems: Problems
    private var keys: [Int64]?
    private let lock = Lock()
    private var version: UInt64 = 0
    /// The observer lives as long as this.
    var token: NotificationToken?
    var mayBeTold = true

    init(_ problems: Problems) { self.problems = problems }

    func take(_ change: ResultsChange<Results>) throws {
      if !mayBeTold { problems.note("told after its end") }
      switch change {
      case .initial(let results):
        if keys != nil { problems.note("the first call comes twice") }
        keys = try results.keys()
        tell(try results.session.version)
      case .update(let results, let changes):
        guard var list = keys else { return problems.note("an update comes first") }
        if changes.isEmpty { problems.note("told of nothing") }
        for position in changes.deletions.reversed() { list.remove(at: position) }
        let present = try results.keys()
        for position in changes.insertions { list.insert(present[position], at: position) }
        if list != present { problems.note("\(list) is followed, \(present) is there") }
        keys = present
        tell(try results.session.version)
      case .deleted: problems.note("deleted")
      case .failed(let error): problems.note("failed: \(error)")
      }
    }

    private func tell(_ now: UInt64) {
      lock.withLock {
        if now <= version { problems.note("version \(now) after \(version)") }
        version = now
        lock.wakeAll()
      }
    }

    /// Waits for ever if it is not called.
    func wait(for wanted: UInt64) { lock.withLock { while version < wanted { lock.wait() } } }
  }

  private static func observe(
    _ session: Session, _ follower: Follower, _ problems: Problems,
    then: @escaping @Sendable (Session) throws -> Void
  ) throws {
    // Weak: the session holds the observer.
    follower.token = try session.objects("t").observe { [weak session] change in
      problems.watch {
        try follower.take(change)
        if let session { try then(session) }
      }
    }
  }

  private static func observe(
    _ worker: SessionThread, _ follower: Follower, _ problems: Problems,
    then: @escaping @Sendable (Session) throws -> Void = { _ in }
  ) throws {
    try worker.perform { try observe($0, follower, problems, then: then) }
  }

  /// Observers begin while others commit, and one ends in its own call; at the end the others know
  /// everything.
  private static func comingAndGoing() throws -> Exploration.Scenario {
    let database = try database()
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch { for number in 0..<2 as Range<Int64> { try change(database, number) } }
    }
    let observe: @Sendable () -> Void = {
      problems.watch {
        let writer = try Thread(name: "writer", write)
        let worker = try SessionThread(database)
        let (first, brief, last) = (Follower(problems), Follower(problems), Follower(problems))
        let inner = Follower(problems)
        try Self.observe(worker, first, problems)
        try Self.observe(worker, brief, problems) { session in
          try Self.observe(session, inner, problems) { _ in }
          // The only reference: the observer ends here.
          brief.token = nil
          brief.mayBeTold = false
        }
        try Self.observe(worker, last, problems)
        writer.join()
        let newest = try database.newestVersion
        for follower in [first, inner, last] { follower.wait(for: newest) }
        try worker.perform { _ in
          for follower in [first, inner, last] {
            follower.token = nil
            follower.mayBeTold = false
          }
        }
        try change(database, 2)
        worker.stop()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [observe]) { problems.first }
  }

  @Test("Observers that come and go are told of all, and of nothing twice")
  func observersComeAndGo() throws {
    let failure = try Exploration.failure("Observers that come and go", bound: 0, random: 80) {
      try Self.comingAndGoing()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// A session begins while others commit.
  private static func movingOn() throws -> Exploration.Scenario {
    let database = try database()
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch {
        // The session begins first.
        Scheduling.idle()
        try change(database, 0)
      }
    }
    let look: @Sendable () -> Void = {
      problems.watch {
        let writer = try Thread(name: "writer", write)
        let worker = try SessionThread(database)
        writer.join()
        // Work that it is given now runs after the work that it was woken for.
        let (version, newest) = (try worker.perform { try $0.version }, try database.newestVersion)
        if version != newest { problems.note("at version \(version), and \(newest) is there") }
        worker.stop()
        try database.close()
      }
    }
    return Exploration.Scenario(threads: [look]) { problems.first }
  }

  @Test("A session moves on to what was committed while it began")
  func sessionMovesOn() throws {
    let failure = try Exploration.failure("A session that begins", bound: 1, random: 40) {
      try Self.movingOn()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// A session's thread is stopped in a notification while others write, and the database is closed.
  private static func stoppedInside() throws -> Exploration.Scenario {
    let database = try database()
    let problems = Problems()
    let write: @Sendable () -> Void = {
      problems.watch { for number in 0..<2 as Range<Int64> { try change(database, number) } }
    }
    let observe: @Sendable () -> Void = {
      problems.watch {
        let writer = try Thread(name: "writer", write)
        let worker = try SessionThread(database)
        let follower = Follower(problems)
        // On the thread itself this returns at once; earlier work of the thread is still done.
        try Self.observe(worker, follower, problems) { _ in worker.stop() }
        follower.wait(for: 1)
        writer.join()
        worker.stop()
        do {
          try worker.perform { _ in problems.note("done after the end") }
        } catch EngineError.closed {}
        follower.mayBeTold = false
        try change(database, 2)
        try database.close()
        let rest = Scheduling.without { database.listeners.isEmpty }
        if !rest { problems.note("the session is told still") }
      }
    }
    return Exploration.Scenario(threads: [observe]) { problems.first }
  }

  @Test("A session that ends in its own notification is told of nothing more")
  func sessionEndsInside() throws {
    let failure = try Exploration.failure(
      "Ending a session in a notification", bound: 0, random: 60
    ) { try Self.stoppedInside() }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
