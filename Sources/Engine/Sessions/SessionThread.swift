import Base

/// A thread that has a session and runs the work that others give it.
///
///     let worker = try SessionThread(database)
///     try worker.perform { session in
///       let pending = try session.objects("uploads").filter(column("State") == "new")
///       try session.keep(pending.observe { change in … })
///     }
///
/// The session refreshes automatically after every commit, and delivers notifications on the thread, between
/// two pieces of work. The thread ends with `stop`, or when the last reference is released.
///
/// Thread rule: `Sendable`; any thread.
public final class SessionThread: Sendable {
  private let loop: WorkLoop

  /// Starts the thread, which makes its session.
  ///
  /// - Parameters:
  ///   - database: the database of the session.
  ///   - name: the thread's name in the system.
  /// - Throws: `EngineError.closed`, `.busy`, `.damaged` when the session cannot be made; `.system` when the
  ///   thread cannot be started.
  public init(_ database: Database, name: String = "sheaf-session") throws {
    let loop = WorkLoop(database)
    self.loop = loop
    let thread = try translatingErrors(database.path) { try Thread(name: name) { loop.run() } }
    do {
      try loop.waitForSession()
      // It is not joined: it may end itself, and the last reference may be released on it.
      thread.detach()
    } catch {
      thread.join()
      throw error
    }
  }

  deinit { loop.stop() }

  /// Runs `body` on the thread and waits for it. On the thread itself it runs directly.
  ///
  /// - Throws: the errors of `body`, such as `EngineError.nestedTransaction` when the caller is inside a
  ///   write transaction and `body` begins another; `.nestedPerform` when this thread waits for the caller,
  ///   directly or through others, so that the caller would wait for itself; `.closed` after `stop`.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Session) throws -> Result
  ) throws -> Result {
    if let session = loop.sessionIfHere { return try body(session) }
    let answer = Answer<Result>()
    let files = NestingGuard.openFiles
    return try loop.waiting {
      try loop.add { session in
        answer.give(
          Swift.Result { try NestingGuard.working(forOneInside: files) { try body(session) } })
      }
      return try answer.wait()
    }
  }

  /// Runs `body` on the thread and awaits it without blocking a thread.
  ///
  /// - Throws: the errors of `body`; `EngineError.closed` after `stop`.
  @discardableResult
  public func perform<Result: Sendable>(
    _ body: @escaping @Sendable (Session) throws -> Result
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      do {
        try loop.add { session in
          continuation.resume(with: Swift.Result { try body(session) })
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Runs `body` on the thread after all earlier work.
  ///
  /// - Parameter body: must handle its errors, as no caller waits for them.
  /// - Throws: `EngineError.closed` after `stop`.
  public func async(_ body: @escaping @Sendable (Session) -> Void) throws { try loop.add(body) }

  /// Finishes all earlier work, releases the session with its observers, and ends the thread. A second call
  /// has no effect. On the thread itself, and when the thread waits for the caller, it returns at once and
  /// the thread ends later.
  public func stop() {
    loop.stop()
    loop.waitForEnd()
  }
}

/// The loop that a `SessionThread` runs.
private final class WorkLoop: @unchecked Sendable {
  // @unchecked: `lock` guards `state`; `session` belongs to the thread.
  private struct State {
    var isStopping = false
    var hasEnded = false
    var work: [@Sendable (Session) -> Void] = []
    var context: ExecutionContext?
    var failure: (any Error)?
  }

  private let database: Database
  private let lock = Lock()
  private var state = State()
  private var session: Session?

  init(_ database: Database) { self.database = database }

  // MARK: On the thread

  func run() {
    do {
      let session = try Session(
        database, .thread { [weak self] work in try? self?.add { _ in work() } })
      self.session = session
      lock.withLock {
        state.context = .thread
        lock.wakeAll()
      }
      while let work = next() {
        for step in work { step(session) }
      }
    } catch {
      lock.withLock { state.failure = error }
    }
    session?.end()
    session = nil
    lock.withLock {
      state.hasEnded = true
      lock.wakeAll()
    }
  }

  /// Waits for work and returns it; nil when the thread must end and all work is done.
  private func next() -> [@Sendable (Session) -> Void]? {
    lock.withLock {
      while state.work.isEmpty, !state.isStopping { lock.wait() }
      defer { state.work = [] }
      return state.work.isEmpty ? nil : state.work
    }
  }

  // MARK: On others

  func waitForSession() throws {
    try lock.withLock {
      while state.context == nil, !state.hasEnded { lock.wait() }
      if let failure = state.failure { throw failure }
    }
  }

  /// The session; nil on other threads.
  var sessionIfHere: Session? {
    lock.withLock { state.context == .thread ? session : nil }
  }

  func add(_ work: @escaping @Sendable (Session) -> Void) throws {
    try lock.withLock {
      if state.isStopping { throw EngineError.closed(path: database.path) }
      state.work.append(work)
      lock.wakeAll()
    }
  }

  func stop() {
    lock.withLock {
      state.isStopping = true
      lock.wakeAll()
    }
  }

  func waitForEnd() {
    let context = lock.withLock { state.context }
    guard let context, context != .thread, !ThreadWaits.isWaitingForCaller(context) else { return }
    lock.withLock { while !state.hasEnded { lock.wait() } }
  }

  /// Runs `body`, which waits for work that it gives to the thread.
  func waiting<Output>(_ body: () throws -> Output) throws -> Output {
    // The context is known from the start.
    guard let context = lock.withLock({ state.context }) else { return try body() }
    return try ThreadWaits.waiting(for: context, path: database.path, body)
  }
}

/// A result that one thread delivers and another waits for.
private final class Answer<Value: Sendable>: @unchecked Sendable {
  // @unchecked: `lock` guards the state.
  private let lock = Lock()
  private var result: Result<Value, any Error>?

  func give(_ result: Result<Value, any Error>) {
    lock.withLock {
      self.result = result
      lock.wakeAll()
    }
  }

  /// Waits for the result.
  func wait() throws -> Value {
    try lock.withLock {
      while true {
        if let result { return try result.get() }
        lock.wait()
      }
    }
  }
}
