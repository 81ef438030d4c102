import Base

/// A queue of reads and writes, which run one at a time, in the order in which they were requested.
///
/// Each sees the writes before it, durable or not. `beginLongLivedRead` keeps the connection's reads on one
/// version. Connections of one database do not wait for each other, except that there is one writer at a
/// time.
///
/// Thread rule: `Sendable`; every method may be called from any thread. Inside a closure of this connection,
/// and inside any write transaction on the file, `read`, `write` and the long-lived reads throw, since they
/// would wait for themselves; asynchronous reads and writes run after it. A closure must not wait for another
/// thread that uses the same connection.
public final class Connection: Sendable {
  /// The database that the connection reads and writes.
  public let database: Database
  private let line = TurnLine()
  private let pinned = Pin()

  init(_ database: Database) { self.database = database }

  /// The snapshot that a long-lived read stays on.
  private final class Pin: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var held: Snapshot?
    var snapshot: Snapshot? { lock.withLock { held } }

    /// - Returns: the previous snapshot, which the caller releases outside the lock.
    func exchange(_ snapshot: Snapshot?) -> Snapshot? {
      lock.withLock {
        defer { held = snapshot }
        return held
      }
    }
  }

  // MARK: At once

  /// Waits for the connection's earlier reads and writes, then runs `body` with a snapshot: of the long-lived
  /// read's version, or of the newest one.
  ///
  /// - Throws: the errors of `body`; `EngineError.nestedConnection` or `.nestedTransaction` inside a closure
  ///   or transaction that it would wait for; `.closed`, `.busy`, `.damaged`.
  public func read<Output>(_ body: (Snapshot) throws -> Output) throws -> Output {
    try inTurn { try body(try snapshot()) }
  }

  /// Waits for the connection's earlier reads and writes, then runs `body` in a write transaction and commits
  /// it. If `body` throws, everything is rolled back and the error is rethrown.
  ///
  /// The transaction sees the newest version, also during a long-lived read, which stays on its own version.
  ///
  /// - Parameters:
  ///   - durability: when the changes survive a power cut; the database's choice by default.
  ///   - body: gets the transaction; its result is returned.
  /// - Throws: the errors of `Database.write` and `body`; `EngineError.nestedConnection` or
  ///   `.nestedTransaction` inside a closure or transaction that it would wait for.
  @discardableResult
  public func write<Output>(
    durability: Durability? = nil, _ body: (borrowing WriteTransaction) throws -> Output
  ) throws -> Output {
    try inTurn { try database.write(durability: durability, body) }
  }

  // MARK: Later

  /// Runs `body` on a background thread of the database, after the connection's earlier reads and writes.
  ///
  /// - Parameters:
  ///   - body: receives the snapshot, during the connection's turn.
  ///   - completion: receives the result or error of `body`, or the error of taking the snapshot, on the same
  ///     thread, after the turn.
  public func asyncRead<Output: Sendable>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output,
    completion: @escaping @Sendable (Result<Output, any Error>) -> Void
  ) {
    line.add(isWrite: false) { [self] in
      database.onReadingThread { [self] in
        line.take()
        database.enterTurn()
        let result = Result { try body(try snapshot()) }
        database.leaveTurn()
        line.leave()
        completion(result)
      }
      return true
    }
  }

  /// Runs `body` on a background thread of the database, after the connection's earlier reads and writes, and
  /// returns its result.
  ///
  /// - Throws: the errors of `body` and of `Database.snapshot`; `CancellationError` when the task was
  ///   cancelled before `body` began.
  public func asyncRead<Output: Sendable>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output
  ) async throws -> Output {
    let pending = PendingWrite()
    return try await pending.awaited { completion in
      asyncRead(pending.unlessCancelled(body), completion: completion)
    }
  }

  /// Runs `body` in a write transaction of its own on the database's writing thread, after the connection's
  /// earlier reads and writes.
  ///
  /// Otherwise like `Database.asyncWrite`. The connection continues once the write is made; `completion` is
  /// called once it is durable.
  ///
  /// - Returns: a handle that cancels the write before it begins.
  @discardableResult
  public func asyncWrite<Output: Sendable>(
    allowsGrouping: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output,
    completion: @escaping @Sendable (Result<Output, any Error>) -> Void = { _ in }
  ) -> PendingWrite {
    let pending = PendingWrite()
    add(AsyncWrite(database, pending, allowsGrouping: allowsGrouping, body, completion))
    return pending
  }

  /// Runs `body` in a write transaction of its own on the database's writing thread, after the connection's
  /// earlier reads and writes, and returns once its changes are durable and visible.
  ///
  /// - Throws: the errors of `Database.asyncWrite`.
  public func asyncWrite<Output: Sendable>(
    allowsGrouping: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output
  ) async throws -> Output {
    let pending = PendingWrite()
    return try await pending.awaited {
      add(AsyncWrite(database, pending, allowsGrouping: allowsGrouping, body, $0))
    }
  }

  private func add<Output>(_ write: AsyncWrite<Output>) {
    guard write.isCalledFor else { return }
    line.add(isWrite: true) { [self] in
      let isAdded = database.asyncWrites.add { [self] in
        line.take()
        database.enterTurn()
        write.run(isLast: !database.asyncWrites.hasWaiting && !line.nextIsWrite)
        database.leaveTurn()
        line.leave()
      }
      if !isAdded { write.giveUp() }
      return isAdded
    }
  }

  // MARK: Staying on a version

  /// Moves the connection to the newest version and keeps its reads there until the next call or
  /// `endLongLivedRead`. The pages of that version are not reused meanwhile.
  ///
  /// Waits for its turn among the connection's reads and writes.
  ///
  /// - Returns: true when the reads that follow see another version than before, or when there was no
  ///   long-lived read.
  /// - Throws: the errors of `read`.
  @discardableResult
  public func beginLongLivedRead() throws -> Bool {
    try inTurn {
      let snapshot = try database.snapshot()
      let before = pinned.exchange(snapshot)
      return before?.version != snapshot.version
    }
  }

  /// Ends a long-lived read: the connection's reads see the newest version again. Without a long-lived read
  /// it does nothing.
  ///
  /// Waits for its turn among the connection's reads and writes.
  ///
  /// - Throws: `EngineError.nestedConnection` or `.nestedTransaction`, as `read` does.
  public func endLongLivedRead() throws {
    try inTurn { _ = pinned.exchange(nil) }
  }

  /// The version of the long-lived read; nil when there is none.
  public var longLivedVersion: UInt64? { pinned.snapshot?.version }

  private func snapshot() throws -> Snapshot {
    try pinned.snapshot ?? database.snapshot()
  }

  private func inTurn<Output>(_ body: () throws -> Output) throws -> Output {
    if line.isMine { throw EngineError.nestedConnection(path: database.path) }
    // The thread that has the turn may be waiting for this thread's own transaction.
    try NestingGuard.check(database.coordination.identity, path: database.path)
    line.enter()
    database.enterTurn()
    defer {
      database.leaveTurn()
      line.leave()
    }
    return try body()
  }
}

extension Database {
  /// Makes a new queue of reads and writes.
  ///
  /// Cost: an allocation; a connection has neither a thread nor a file of its own.
  public func connection() -> Connection { Connection(self) }

  /// Notes that this thread is inside a closure of a connection, so that `close` does not wait for the queue
  /// that waits for it.
  fileprivate func enterTurn() {
    lock.withLock { shared.threadsInTurns[ExecutionContext.thread, default: 0] += 1 }
  }

  fileprivate func leaveTurn() {
    lock.withLock {
      let count = shared.threadsInTurns[ExecutionContext.thread] ?? 1
      shared.threadsInTurns[ExecutionContext.thread] = count > 1 ? count - 1 : nil
    }
  }
}
