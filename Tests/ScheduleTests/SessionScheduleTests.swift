import Base
import Testing

@testable import Engine

/// Sessions that commits wake, their observers, and their ends, in every order with few deviations.
@Suite("Schedules: sessions", .serialized)
struct SessionScheduleTests {
  private static func database() throws -> Database {
    let database = try Database.open(storage: MemoryStorage())
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("number", .int)])
      try transaction.table("t").insert([.int(0)])
    }
    return database
  }

  private static func write(_ number: Int64, _ database: Database) throws {
    try database.write(durability: .group) { try $0.table("t").update(1, ["number": .int(number)]) }
  }

  /// The last number that an observer was told, and the threads that wait for it.
  private final class Told: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var last: Int64 = 0
    private var isOver = false

    func tell(_ number: Int64) -> Bool {
      lock.withLock {
        if isOver { return false }
        last = max(last, number)
        lock.wakeAll()
        return true
      }
    }

    /// Waits for ever if the observer is not called.
    func wait(for number: Int64) { lock.withLock { while last < number { lock.wait() } } }

    func end() { lock.withLock { isOver = true } }
  }

  private static func number(_ results: Results) throws -> Int64 {
    guard case .int(let number)? = try results.first?["number"] else { return -1 }
    return number
  }

  /// The observer is told of the last commit, however the threads are woken, and of nothing after
  /// `stop`.
  private static func observing() throws -> Exploration.Scenario {
    let database = try database()
    let problems = Problems()
    let told = Told()
    let observe: @Sendable () -> Void = {
      problems.watch {
        let worker = try SessionThread(database)

        try worker.perform { session in
          let results = try session.objects("t")
          let token = try results.observe { change in
            switch change {
            case .initial(let results), .update(let results, _):
              problems.watch {
                if try !told.tell(Self.number(results)) { problems.note("told after stop") }
              }
            case .failed(let error): problems.note("failed: \(error)")
            case .deleted: problems.note("deleted")
            }
          }
          try session.keep(token, as: "numbers")
        }
        told.wait(for: 2)
        try worker.perform { session in
          try session.token(keptAs: "numbers")?.stop()
          told.end()
        }
        try Self.write(3, database)
        worker.stop()
        try database.close()
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        for number in 1...2 as ClosedRange<Int64> { try Self.write(number, database) }
      }
    }
    return Exploration.Scenario(threads: [observe, write]) { problems.first }
  }

  @Test("An observer is told of the last commit, and of nothing after its end")
  func lastCommit() throws {
    let failure = try Exploration.failure("An observer of commits", bound: 0, random: 60) {
      try Self.observing()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }

  /// The observer closes the database when it is called; a writer finds it open or closed.
  private static func closing() throws -> Exploration.Scenario {
    let database = try database()
    let problems = Problems()
    let told = Told()
    let observe: @Sendable () -> Void = {
      problems.watch {
        let worker = try SessionThread(database)
        try worker.perform { session in
          try session.keep(
            session.objects("t").observe { change in
              problems.watch {
                switch change {
                case .initial(let results):
                  if try Self.number(results) == 0 { return }
                case .update: break
                default: return problems.note("\(change)")
                }
                try database.close()
                _ = told.tell(1)
              }
            })
        }
        // Another thread may have closed it, or this change closes it.
        do { try Self.write(1, database) } catch EngineError.closed {}
        told.wait(for: 1)
        worker.stop()
      }
    }
    let write: @Sendable () -> Void = {
      problems.watch {
        do {
          for number in 2...3 as ClosedRange<Int64> { try Self.write(number, database) }
        } catch EngineError.closed {}
      }
    }
    return Exploration.Scenario(threads: [observe, write]) { problems.first }
  }

  @Test("A database is closed inside a notification while others write")
  func closedInside() throws {
    let failure = try Exploration.failure("Closing in a notification", bound: 0, random: 60) {
      try Self.closing()
    }
    #expect(failure == nil, "\(failure?.description ?? "")")
  }
}
