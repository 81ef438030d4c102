import Base

/// A requested write that may not have begun; `asyncWrite` returns it.
///
/// Releasing it changes nothing.
///
/// Thread rule: `Sendable`; any thread.
public final class PendingWrite: @unchecked Sendable {
  // @unchecked: `lock` guards the mutable state.
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

  /// Prevents the write if it has not begun. Its completion then receives `EngineError.cancelled` on a
  /// background thread.
  ///
  /// Never waits.
  ///
  /// - Returns: false when the write has begun or was cancelled before.
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

  /// Sets the call to make on cancellation; returns false, without a call, when it is cancelled already.
  func prepare(onCancel call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if stage == .waiting { onCancel = call }
      return stage == .waiting
    }
  }

  /// Returns true to the first caller, which may then call the completion: it is called once.
  func answer() -> Bool {
    lock.withLock {
      guard stage != .answered else { return false }
      if stage == .begun { stage = .answered }
      return true
    }
  }

  /// Begins the write; returns false when it was cancelled.
  func begin() -> Bool {
    lock.withLock {
      guard stage == .waiting else { return false }
      stage = .begun
      onCancel = nil
      return true
    }
  }

  // MARK: Awaiting

  /// Calls `start`, which begins the work, and waits for the result that the work passes to its closure.
  /// Cancelling the task cancels the work.
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

  /// Wraps a read so that it throws when it was cancelled before it begins.
  func unlessCancelled<Output>(
    _ body: @escaping @Sendable (Snapshot) throws -> Output
  ) -> @Sendable (Snapshot) throws -> Output {
    { snapshot in
      guard self.begin() else { throw CancellationError() }
      return try body(snapshot)
    }
  }
}
