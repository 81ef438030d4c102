// Reading and writing in closures, synchronously or on the database's background threads.

extension Database {
  /// Runs `body` with a snapshot of the newest version.
  ///
  /// Never waits for writers. Cost: a few atomic stores in addition to `body`.
  ///
  /// - Throws: the errors of `snapshot` and `body`.
  public func read<Output>(_ body: (Snapshot) throws -> Output) throws -> Output {
    try body(try snapshot())
  }

  /// Runs `body` on a background thread, with a snapshot of the version that is the newest when it begins.
  ///
  /// Reads begin in the order of their requests; as many run at once as there are processors. Neither `body`
  /// nor `completion` should wait for another asynchronous read. The call itself throws nothing.
  ///
  /// - Parameters:
  ///   - body: receives the snapshot.
  ///   - completion: receives the result or error of `body`, or the error of taking the snapshot, on the same
  ///     thread.
  public func asyncRead<Output: Sendable>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output,
    completion: @escaping @Sendable (Result<Output, any Error>) -> Void
  ) {
    onReadingThread { completion(Result { try self.read(body) }) }
  }

  /// Runs `body` on a background thread, with a snapshot of the version that is the newest when it begins.
  ///
  /// - Throws: the errors of `snapshot` and `body`; `CancellationError` when the task was cancelled before
  ///   `body` began.
  public func asyncRead<Output: Sendable>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output
  ) async throws -> Output {
    let pending = PendingWrite()
    return try await pending.awaited { completion in
      asyncRead(pending.unlessCancelled(body), completion: completion)
    }
  }

  /// Runs `body` in a write transaction of its own on the database's writing thread, after all earlier
  /// asynchronous writes.
  ///
  /// It may be called from anywhere, also inside a write transaction of the same thread, and then runs after
  /// that. An error of `body` rolls back its own changes only. `close` completes all writes that were
  /// requested before it.
  ///
  /// - Parameters:
  ///   - allowsGrouping: whether close writes may share a flush of the disk, which is delayed by up to 10 ms
  ///     while more writes wait. False: this write is flushed before the next one begins.
  ///   - body: must not write to the database in another way, which throws `EngineError.nestedTransaction`.
  ///   - completion: receives the result of `body` once its changes are durable and visible; or the error of
  ///     `body`, `EngineError.cancelled`, `.closed`, `.poisoned`, or another error of `beginWrite` and
  ///     `commit`. Completions run in the order of the writes (those of cancelled writes at once), one after
  ///     the other, on a background thread. They should be short, and must not wait for other completions.
  /// - Returns: a handle that cancels the write before it begins.
  @discardableResult
  public func asyncWrite<Output: Sendable>(
    allowsGrouping: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output,
    completion: @escaping @Sendable (Result<Output, any Error>) -> Void = { _ in }
  ) -> PendingWrite {
    let pending = PendingWrite()
    add(AsyncWrite(self, pending, allowsGrouping: allowsGrouping, body, completion))
    return pending
  }

  /// Runs `body` in a write transaction of its own on the database's writing thread, after all earlier
  /// asynchronous writes, and returns once its changes are durable and visible.
  ///
  /// - Parameters:
  ///   - allowsGrouping: whether close writes may share a flush of the disk, which is delayed by up to 10 ms
  ///     while more writes wait. False: this write is flushed on its own.
  ///   - body: receives the transaction; its result is returned.
  /// - Throws: the errors of `body`, `beginWrite` and `commit`, after the changes were rolled back.
  ///   `CancellationError` when the task was cancelled before `body` began; a later cancellation has no
  ///   effect.
  public func asyncWrite<Output: Sendable>(
    allowsGrouping: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output
  ) async throws -> Output {
    let pending = PendingWrite()
    return try await pending.awaited {
      add(AsyncWrite(self, pending, allowsGrouping: allowsGrouping, body, $0))
    }
  }

  private func add<Output>(_ write: AsyncWrite<Output>) {
    guard write.isCalledFor else { return }
    let isAdded = asyncWrites.add { write.run(isLast: !self.asyncWrites.hasWaiting) }
    if !isAdded { write.giveUp() }
  }

  /// Counts a write that `close` has to wait for; returns false once `close` has begun.
  fileprivate func admitAsyncWrite() -> Bool {
    lock.withLock {
      if !shared.refusesAsyncWrites { shared.asyncWritesDue += 1 }
      return !shared.refusesAsyncWrites
    }
  }

  /// Uncounts an admitted write, which was made or given up.
  fileprivate func settleAsyncWrite() {
    lock.withLock {
      shared.asyncWritesDue -= 1
      lock.wakeAll()
    }
  }

  /// Runs `job` on a thread for asynchronous reads, or on this thread when none can be started.
  func onReadingThread(_ job: @escaping @Sendable () -> Void) {
    if !asyncReads.add(job) { job() }
  }

  /// Calls `job` after the completions of all earlier asynchronous writes, once those are durable.
  fileprivate func afterCompletions(_ job: @escaping @Sendable () -> Void) {
    do {
      let pipeline = try parts.pipeline
      try pipeline.startFlusher()
      pipeline.onDurable { _ in job() }
      pipeline.requestDurability()
    } catch {
      onReadingThread(job)
    }
  }
}

/// An asynchronous write, from its request to its completion, which is called once.
struct AsyncWrite<Output: Sendable>: Sendable {
  private let database: Database
  private let pending: PendingWrite
  private let allowsGrouping: Bool
  private let body: @Sendable (borrowing WriteTransaction) throws -> Output
  private let completion: @Sendable (Result<Output, any Error>) -> Void
  /// False when the write was cancelled at once or the database is closed; the completion receives the error.
  let isCalledFor: Bool

  init(
    _ database: Database, _ pending: PendingWrite, allowsGrouping: Bool,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output,
    _ completion: @escaping @Sendable (Result<Output, any Error>) -> Void
  ) {
    self.database = database
    self.pending = pending
    self.allowsGrouping = allowsGrouping
    self.body = body
    self.completion = { if pending.answer() { completion($0) } }
    guard database.admitAsyncWrite() else {
      isCalledFor = false
      _ = pending.begin()
      refuse()
      return
    }
    let tellCancelled: @Sendable () -> Void = {
      database.settleAsyncWrite()
      database.onReadingThread { completion(.failure(EngineError.cancelled)) }
    }
    isCalledFor = pending.prepare(onCancel: tellCancelled)
    if !isCalledFor { tellCancelled() }
  }

  /// Makes the write, unless it was cancelled.
  ///
  /// - Parameter isLast: true when no other waiting write could share its flush.
  func run(isLast: Bool) {
    guard pending.begin() else { return }
    defer { database.settleAsyncWrite() }
    do {
      let transaction = try database.beginWrite()
      let output = try body(transaction)
      let (path, completion) = (database.path, completion)
      if allowsGrouping {
        _ = try transaction.state.commit(.group, isUrgent: isLast) { cause in
          completion(
            cause.map { .failure(EngineError.poisoned(path: path, cause: $0)) } ?? .success(output))
        }
      } else {
        try transaction.commit(durability: .full)
        database.afterCompletions { completion(.success(output)) }
      }
    } catch {
      database.afterCompletions { [completion] in completion(.failure(error)) }
    }
  }

  /// Fails a write that no thread can make, unless it was cancelled.
  func giveUp() {
    guard pending.begin() else { return }
    database.settleAsyncWrite()
    refuse()
  }

  private func refuse() {
    let (path, completion) = (database.path, completion)
    database.onReadingThread { completion(.failure(EngineError.closed(path: path))) }
  }
}
