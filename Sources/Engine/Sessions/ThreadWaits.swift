import Base

/// Records which thread waits for the work of which session thread. A caller that gives work to a thread that
/// waits for it, directly or through others, would wait forever.
///
/// Thread rule: any thread.
enum ThreadWaits {
  private static let lock = Lock()
  /// A thread waits for at most one other thread. Guarded by `lock`.
  nonisolated(unsafe) private static var awaited: [ExecutionContext: ExecutionContext] = [:]

  /// Runs `body`, which waits for the work of a thread.
  ///
  /// - Throws: `EngineError.nestedPerform` when that thread waits for the caller; the errors of `body`.
  static func waiting<Result>(
    for thread: ExecutionContext, path: String, _ body: () throws -> Result
  ) throws -> Result {
    let here = ExecutionContext.thread
    try lock.withLock {
      if leads(from: thread, to: here) { throw EngineError.nestedPerform(path: path) }
      awaited[here] = thread
    }
    defer { lock.withLock { awaited[here] = nil } }
    return try body()
  }

  /// Returns whether a thread waits for the caller, directly or through others.
  static func isWaitingForCaller(_ thread: ExecutionContext) -> Bool {
    let here = ExecutionContext.thread
    return lock.withLock { leads(from: thread, to: here) }
  }

  /// Requires the lock. There are no cycles, which would have been refused.
  private static func leads(from thread: ExecutionContext, to end: ExecutionContext) -> Bool {
    var next = awaited[thread]
    while let thread = next {
      if thread == end { return true }
      next = awaited[thread]
    }
    return false
  }
}
