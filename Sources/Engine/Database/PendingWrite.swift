import Base

/// A write that was asked for and may not have begun; `asyncWrite` returns it.
///
/// Releasing it changes nothing.
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

  /// Prevents the write, if it has not begun. Its completion then gets `EngineError.cancelled`, on a
  /// background thread.
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

  /// True once `cancel` has prevented the write.
  public var isCancelled: Bool { lock.withLock { stage == .cancelled } }

  /// Sets the call for the case that it is cancelled; false, without a call, when it is cancelled already.
  func prepare(onCancel call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if stage == .waiting { onCancel = call }
      return stage == .waiting
    }
  }

  /// True for the first caller, which may then call the completion: it is called once.
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

  /// Waits for the work that `start` begins and whose outcome it passes to the closure; cancelling the task
  /// cancels the work.
  ///
  /// - Throws: the error of the work; `CancellationError` when it was cancelled before it began.
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

  /// A read that does nothing if it was cancelled before.
  func unlessCancelled<Output>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output
  ) -> @Sendable (Snapshot) throws -> Output {
    { snapshot in
      guard self.begin() else { throw CancellationError() }
      return try body(snapshot)
    }
  }
}
