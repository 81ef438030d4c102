import Dispatch

/// A serial dispatch queue with a session of its own.
///
///     let background = SessionQueue(database, DispatchQueue(label: "statistics"))
///     background.async { session in
///       print(try? session.objects("apps").count ?? 0)
///     }
///
/// The session is made at the first use, refreshes by itself after every commit, and delivers its
/// notifications on the queue.
///
/// Thread rule: `Sendable`; any thread. The queue must be serial.
public final class SessionQueue: @unchecked Sendable {
  // @unchecked: `session` belongs to the queue.
  private let database: Database
  public let queue: DispatchQueue
  private var session: Session?

  /// - Parameter queue: serial.
  public init(_ database: Database, _ queue: DispatchQueue) {
    self.database = database
    self.queue = queue
  }

  deinit {
    // What belongs to the queue ends there.
    let remains = Remains(session: session)
    queue.async {
      remains.session?.end()
      remains.session = nil
    }
  }

  private final class Remains: @unchecked Sendable {
    // @unchecked: used on the queue only, after it was made.
    var session: Session?
    init(session: Session?) { self.session = session }
  }

  /// The session, on the queue.
  private func open() throws -> Session {
    if let session { return session }
    let made = try database.session(on: queue)
    session = made
    return made
  }

  /// Runs `body` on the queue and waits for it. On the queue itself it runs at once.
  ///
  /// - Throws: what `body` throws; what `Database.snapshot` throws.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @Sendable (Session) throws -> Result
  ) throws -> Result {
    if ExecutionContext.queue == .tag(queue) { return try body(open()) }
    return try queue.sync { try body(open()) }
  }

  /// Runs `body` on the queue; awaits it without blocking a thread.
  ///
  /// - Throws: as the other.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Session) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Swift.Result { try body(self.open()) }) }
    }
  }

  /// Runs `body` on the queue later.
  ///
  /// - Parameter body: gets the session, or why there is none.
  public func async(_ body: @escaping @Sendable (Result<Session, any Error>) -> Void) {
    queue.async { body(Result { try self.open() }) }
  }
}

extension Database {
  /// A live view that belongs to a serial queue: to be made on it, and used on it only. It refreshes by
  /// itself, and delivers notifications on the queue.
  ///
  /// - Throws: `EngineError.wrongThread` elsewhere; what `snapshot()` throws.
  public func session(on queue: DispatchQueue) throws -> Session {
    let confinement = Confinement.queue(queue)
    try confinement.check("a session of a queue")
    return try Session(self, confinement)
  }
}
