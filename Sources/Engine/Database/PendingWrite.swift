import Base

/// A write that was asked for and may not have begun: what `asyncWrite` returns.
///
/// Letting go of it changes nothing.
///
/// Thread rule: `Sendable`; any thread.
public final class PendingWrite: @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`.
  private enum Stage {
    case waiting
    case begun
    case answered
    case cancelled
  }

  private let lock = Lock()
  private var stage = Stage.waiting
  private var onCancel: (@Sendable () -> Void)?

  init() {}

  /// Keeps the write from being made, if it has not begun. Its completion is then told
  /// `EngineError.cancelled`, on a background thread.
  ///
  /// Never waits.
  ///
  /// - Returns: false when it has begun already, or had been cancelled.
  @discardableResult
  public func cancel() -> Bool {
    let (isFirst, call) = lock.withLock { () -> (Bool, (@Sendable () -> Void)?) in
      guard stage == .waiting else { return (false, nil) }
      stage = .cancelled
      defer { onCancel = nil }
      return (true, onCancel)
    }
    call?()
    return isFirst
  }

  /// True once `cancel` has kept it from being made.
  public var isCancelled: Bool { lock.withLock { stage == .cancelled } }

  /// Has `call` made when it is cancelled; false, and no call, when it is cancelled already.
  func prepare(onCancel call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if stage == .waiting { onCancel = call }
      return stage == .waiting
    }
  }

  /// True for the first who wants to tell the completion: nobody is told twice.
  func answer() -> Bool {
    lock.withLock {
      guard stage != .answered else { return false }
      if stage == .begun { stage = .answered }
      return true
    }
  }

  /// Begins; false when it was cancelled.
  func begin() -> Bool {
    lock.withLock {
      guard stage == .waiting else { return false }
      stage = .begun
      onCancel = nil
      return true
    }
  }

  // MARK: Awaiting

  /// Waits for what `start` begins, which tells its end to what it is given; cancelling the task cancels it.
  ///
  /// - Throws: what it ends with; `CancellationError` when it was cancelled before it began.
  func awaited<Output: Sendable>(
    _ start: (@escaping @Sendable (Result<Output, any Error>) -> Void) -> Void
  ) async throws -> Output {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        start { continuation.resume(with: self.isCancelled ? .failure(CancellationError()) : $0) }
      }
    } onCancel: {
      cancel()
    }
  }

  /// A read that does nothing once it was cancelled.
  func unlessCancelled<Output>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output
  ) -> @Sendable (Snapshot) throws -> Output {
    { snapshot in
      guard self.begin() else { throw CancellationError() }
      return try body(snapshot)
    }
  }
}
