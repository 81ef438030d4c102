import Base
import Dispatch

/// A serial dispatch queue with a session of its own.
///
///     let background = SessionQueue(database, DispatchQueue(label: "statistics"))
///     background.async { session in
///       print((try? session.get().objects("apps").count) ?? 0)
///     }
///
/// The session is made at the first use, refreshes automatically after every commit, and delivers its
/// notifications on the queue.
///
/// Thread rule: `Sendable`; any thread. On a concurrent queue of the program's own, work runs as barriers; a
/// global queue is rejected.
public final class SessionQueue: @unchecked Sendable {
  // @unchecked: `session` belongs to the thread that is inside, which `lock` guards.
  private let database: Database
  /// The queue of the session.
  public let queue: DispatchQueue
  private var session: Session?
  private let lock = Lock()
  private var inside: ExecutionContext?
  /// Found on the queue, and on queues that have it as their target.
  private let mark = DispatchSpecificKey<Bool>()

  /// Makes no session yet; may be called on any thread.
  ///
  /// - Parameters:
  ///   - database: the database of the session.
  ///   - queue: a serial queue.
  public init(_ database: Database, _ queue: DispatchQueue) {
    self.database = database
    self.queue = queue
    if isOwn { queue.setSpecific(key: mark, value: true) }
  }

  /// False for a global queue, which must not be marked.
  private var isOwn: Bool { (try? Confinement.checkQueue(queue)) != nil }

  deinit {
    // The session must be released on its queue.
    let remains = Remains(session: session)
    if isOwn { queue.setSpecific(key: mark, value: nil) }
    queue.async(flags: .barrier) {
      remains.session?.end()
      remains.session = nil
    }
  }

  private final class Remains: @unchecked Sendable {
    // @unchecked: used on the queue only, after its creation.
    var session: Session?
    init(session: Session?) { self.session = session }
  }

  /// Runs `body` with the session, on the queue.
  private func use<Result>(_ body: (Session) throws -> Result) throws -> Result {
    let here = ExecutionContext.thread
    let outer = try lock.withLock {
      // Two blocks of a concurrent queue may want it at the same time.
      guard inside == nil || inside == here else {
        throw EngineError.wrongThread(what: "a session of the queue '\(queue.label)'")
      }
      defer { inside = here }
      return inside
    }
    defer { lock.withLock { inside = outer } }
    if let session { return try body(session) }
    let made = try database.session(on: queue)
    session = made
    return try body(made)
  }

  /// Runs `body`, which no thread waits for in `perform`, with the session, on the queue.
  private func useAlone<Result>(_ body: (Session) throws -> Result) throws -> Result {
    // A global queue is refused by `use`.
    guard isOwn else { return try use(body) }
    return try ThreadWaits.working(on: .tag(queue)) { try use(body) }
  }

  /// Runs `body` on the queue and waits for it. On the queue itself it runs directly. As with `sync` of a
  /// queue, Dispatch ends the process when the caller is on a plain queue that is the target of this one.
  ///
  /// - Throws: the errors of `body`, such as `EngineError.nestedTransaction` when the caller is inside a
  ///   write transaction and `body` begins another; `.nestedPerform` when the queue's work waits for the
  ///   caller, directly or through others, so that the caller would wait for itself; the errors of
  ///   `Database.snapshot`; `.invalidArgument` for a global queue; `.wrongThread` when another block of a
  ///   concurrent queue uses the session, and on the queue of another session that has this one as its
  ///   target.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @Sendable (Session) throws -> Result
  ) throws -> Result {
    try Confinement.checkQueue(queue)
    let tag = ExecutionContext.tag(queue)
    if DispatchQueue.getSpecific(key: mark) != nil { return try use(body) }
    let files = NestingGuard.openFiles
    return try ThreadWaits.waiting(for: tag, path: database.path) {
      try queue.sync(flags: .barrier) {
        try ThreadWaits.working(on: tag) {
          try NestingGuard.working(forOneInside: files) { try use(body) }
        }
      }
    }
  }

  /// Runs `body` on the queue and awaits it without blocking a thread.
  ///
  /// - Throws: the errors of the synchronous `perform`.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Session) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      queue.async(flags: .barrier) {
        continuation.resume(with: Swift.Result { try self.useAlone(body) })
      }
    }
  }

  /// Runs `body` on the queue later.
  ///
  /// - Parameter body: receives the session, or the error of making it.
  public func async(_ body: @escaping @Sendable (Result<Session, any Error>) -> Void) {
    queue.async(flags: .barrier) {
      do { try self.useAlone { body(.success($0)) } } catch { body(.failure(error)) }
    }
  }
}

extension Database {
  /// Makes a live view that is confined to a serial queue, on which this must be called. It refreshes
  /// automatically and delivers notifications on the queue.
  ///
  /// - Parameter queue: a serial queue. A concurrent queue of the program's own cannot be recognized: see
  ///   `SessionQueue`.
  /// - Throws: `EngineError.wrongThread` elsewhere; `.invalidArgument` for a global queue; the errors of
  ///   `snapshot()`.
  public func session(on queue: DispatchQueue) throws -> Session {
    try Confinement.checkQueue(queue)
    let confinement = Confinement.queue(queue)
    try confinement.check("a session of a queue")
    return try Session(self, confinement)
  }
}
