import Base

/// A queue of reads and writes, which run one at a time and in the order of asking, whichever threads ask.
///
/// Each sees the writes of those before it, durable or not. A connection can stay on one version for as long
/// as it likes (`beginLongLivedRead`). Connections of one database do not wait for each other, except that
/// writes come one at a time.
///
/// Thread rule: `Sendable`; every method may be called from any thread. Inside a closure of the connection's
/// own, and inside any write transaction on the file, `read`, `write` and the long-lived reads throw instead
/// of waiting for themselves; asynchronous reads and writes run after it. A closure must not wait for another
/// thread that uses the same connection.
public final class Connection: Sendable {
  /// The database that it reads and writes.
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

    /// - Returns: the snapshot before, which the caller releases without the lock.
    func exchange(_ snapshot: Snapshot?) -> Snapshot? {
      lock.withLock {
        defer { held = snapshot }
        return held
      }
    }
  }

  // MARK: At once

  /// Waits for the reads and writes that were asked for before, then runs `body` with a snapshot: of
  /// the long-lived read's version, or of the newest one.
  ///
  /// - Throws: what `body` throws; `EngineError.nestedConnection` or `.nestedTransaction` inside a
  ///   closure or transaction that it would wait for, `.closed`, `.busy`, `.damaged`.
  public func read<Output>(_ body: (Snapshot) throws -> Output) throws -> Output {
    try inTurn { try body(try snapshot()) }
  }

  /// Waits for the reads and writes that were asked for before, then runs `body` in a write transaction and
  /// commits it; an error thrown by `body` rolls everything back and is thrown on.
  ///
  /// The transaction sees the newest version, also during a long-lived read, which stays on its own.
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

  /// Runs `body` on a background thread of the database once the reads and writes that were asked for before
  /// have ended.
  ///
  /// - Parameters:
  ///   - body: gets the snapshot, while it is the connection's turn.
  ///   - completion: gets the result or error of `body`, or the error of taking the snapshot; on the same
  ///     thread, after the turn has ended.
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

  /// Runs `body` on a background thread of the database once the reads and writes that were asked for before
  /// have ended.
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

  /// Runs `body` in a write transaction of its own on the database's writing thread once the reads and writes
  /// of this connection that were asked for before have ended.
  ///
  /// In everything else like `Database.asyncWrite`. The connection goes on when the write is made; the
  /// completion is called when it is durable.
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

  /// Runs `body` in a write transaction of its own on the database's writing thread once the reads and writes
  /// of this connection that were asked for before have ended, and returns once its changes are durable and
  /// visible.
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

  /// Moves the connection to the newest version and keeps its reads there until the next call, or
  /// `endLongLivedRead`. The version's pages are kept from reuse meanwhile.
  ///
  /// Takes its turn among the connection's reads and writes.
  ///
  /// - Returns: true when the following reads see another version than the long-lived read before; true, too,
  ///   when there was none.
  /// - Throws: the errors of `read`.
  @discardableResult
  public func beginLongLivedRead() throws -> Bool {
    try inTurn {
      let snapshot = try database.snapshot()
      let before = pinned.exchange(snapshot)
      return before?.version != snapshot.version
    }
  }

  /// Ends a long-lived read: the connection's reads see the newest version again. Does nothing when there
  /// is none.
  ///
  /// Takes its turn among the connection's reads and writes.
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
  /// A new queue of reads and writes.
  ///
  /// Cost: next to nothing; it has no thread and no file of its own.
  public func connection() -> Connection { Connection(self) }

  /// Notes that this thread is inside a closure of a connection: `close` must not wait for the queue behind
  /// it.
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
