import Base

/// Records which thread waits for the work of which session thread or queue. A caller that gives work to one
/// that waits for it, directly or through others, would wait forever.
///
/// Thread rule: any thread.
enum ThreadWaits {
  private static let lock = Lock()
  /// What must go on before a thread or a queue does. A thread waits for at most one other thread or queue; a
  /// queue goes on once the thread that runs its work does. Guarded by `lock`.
  nonisolated(unsafe) private static var awaited: [ExecutionContext: ExecutionContext] = [:]

  /// Runs `body`, which waits for the work of a thread or a queue.
  ///
  /// - Throws: `EngineError.nestedPerform` when that one waits for the caller; the errors of `body`.
  static func waiting<Result>(
    for other: ExecutionContext, path: String, _ body: () throws -> Result
  ) throws -> Result {
    let here = ExecutionContext.thread
    // Work of a queue may wait that was given to it without a `SessionQueue`.
    let queue = ExecutionContext.queue
    let isNoted = try lock.withLock {
      if leads(from: other, to: here, or: queue) { throw EngineError.nestedPerform(path: path) }
      awaited[here] = other
      guard let queue, awaited[queue] == nil else { return false }
      awaited[queue] = here
      return true
    }
    defer {
      lock.withLock {
        awaited[here] = nil
        if isNoted, let queue { awaited[queue] = nil }
      }
    }
    return try body()
  }

  /// Runs `body`, which is work of a queue.
  static func working<Result>(
    on queue: ExecutionContext, _ body: () throws -> Result
  ) rethrows -> Result {
    let here = ExecutionContext.thread
    // Mostly the thread that waits runs the work itself.
    let outer = lock.withLock {
      let outer = (thread: awaited[here], queue: awaited[queue])
      if outer.thread == queue { awaited[here] = nil }
      awaited[queue] = here
      return outer
    }
    defer {
      lock.withLock {
        awaited[here] = outer.thread
        awaited[queue] = outer.queue
      }
    }
    return try body()
  }

  /// Returns whether a thread waits for the caller, directly or through others.
  static func isWaitingForCaller(_ thread: ExecutionContext) -> Bool {
    let (here, queue) = (ExecutionContext.thread, ExecutionContext.queue)
    return lock.withLock { leads(from: thread, to: here, or: queue) }
  }

  /// Returns whether a context waits for the thread, or for the queue whose work it runs. Requires the lock.
  private static func leads(
    from other: ExecutionContext, to thread: ExecutionContext, or queue: ExecutionContext?
  ) -> Bool {
    var next = awaited[other]
    // Without rings, which would have been refused, each context is passed once.
    for _ in 0..<awaited.count {
      guard let context = next else { return false }
      if context == thread || context == queue { return true }
      next = awaited[context]
    }
    return false
  }
}
