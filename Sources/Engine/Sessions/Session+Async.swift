extension Session {
  /// Runs `body` in a write transaction of its own on the database's writing thread, after all
  /// asynchronous writes that were asked for before; the session goes on meanwhile.
  ///
  /// Several come to disk together: see `Database.asyncWrite`. With `autorefresh` the session looks at the
  /// new version before `completion` is called.
  ///
  /// - Parameters:
  ///   - allowsGrouping: false: a flush of the disk for this one alone.
  ///   - body: runs on another thread: it gets objects by their keys, or by a `ThreadSafeReference` made
  ///     into a key, not the session's own.
  ///   - completion: called where the session lives, once the changes are durable, or with what went
  ///     wrong; not at all when the session is gone by then.
  /// - Returns: what cancels it before it begins.
  /// - Throws: `EngineError.cannotObserve` where nothing could call `completion`; `.wrongThread`.
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

  /// A completion on its way back to where the session lives.
  private final class Home<Output>: @unchecked Sendable {
    // @unchecked: made and called where the session lives.
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
