extension Session {
  /// Runs `body` in a write transaction of its own on the database's writing thread, after all earlier
  /// asynchronous writes; the session can be used meanwhile.
  ///
  /// Several writes share one flush: see `Database.asyncWrite`. With `autorefresh` the session moves to the
  /// new version before `completion` is called.
  ///
  /// - Parameters:
  ///   - allowsGrouping: false: this write is flushed on its own.
  ///   - body: runs on another thread. It finds objects by their keys, perhaps from a `ThreadSafeReference`,
  ///     and cannot use the session's objects.
  ///   - completion: called on the session's thread or queue once the changes are durable, or with the error;
  ///     not called when the session no longer exists.
  /// - Returns: a handle that cancels the write before it begins.
  /// - Throws: `EngineError.cannotObserve` where nothing can call `completion`; `.wrongThread`.
  @discardableResult
  public func asyncWrite<Output: Sendable>(
    allowsGrouping: Bool = true,
    _ body: @escaping @Sendable (borrowing WriteTransaction) throws -> Output,
    completion: @escaping (Result<Output, any Error>) -> Void
  ) throws -> PendingWrite {
    try check()
    guard let schedule = confinement.schedule else {
      throw EngineError.cannotObserve(reason: "nothing runs on this thread that could complete")
    }
    let home = Home(session: self, completion: completion)
    return database.asyncWrite(allowsGrouping: allowsGrouping, body) { result in
      schedule { home.complete(result) }
    }
  }

  /// A completion on its way back to the session's thread or queue.
  private final class Home<Output>: @unchecked Sendable {
    // @unchecked: created and called on the session's thread or queue.
    private weak var session: Session?
    private let completion: (Result<Output, any Error>) -> Void

    init(session: Session, completion: @escaping (Result<Output, any Error>) -> Void) {
      self.session = session
      self.completion = completion
    }

    func complete(_ result: Result<Output, any Error>) {
      guard let session else { return }
      session.advanceByItself()
      completion(result)
    }
  }
}
