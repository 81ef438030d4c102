import Base

/// Renews the lease while an input is being loaded, so that no other process takes it.
///
/// Correctness does not depend on it: the epoch fences every batch of a process that has lost its lease.
///
/// Thread rule: used by one thread; a thread of its own renews the lease.
final class LeaseKeeper {
  private final class Shared: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    let lock = Lock()
    var isOver = false

    /// Waits; true when renewals have been ended.
    func wait(milliseconds: Int) -> Bool {
      lock.withLock {
        if !isOver { lock.wait(milliseconds: milliseconds) }
        return isOver
      }
    }
  }

  private let shared = Shared()
  private var thread: Thread?

  /// - Parameters:
  ///   - statement: extends the lease; changes no row when another process has the lease.
  ///   - seconds: the length of the lease.
  /// - Throws: `SystemError` when the system has no room for a thread.
  init(_ target: any ServerAccess, _ statement: String, seconds: Int) throws {
    let shared = shared
    let pause = max(100, seconds * 1000 / 6)
    thread = try Thread(name: "sheaf-lease") {
      let isOver: @Sendable () -> Bool = { shared.lock.withLock { shared.isOver } }
      let session = ServerSession(
        target, retrySeconds: Double(seconds) / 3, hasConnected: true, isStopping: isOver,
        isAbandoned: isOver)
      var next = System.monotonicNanoseconds
      while true {
        next &+= UInt64(pause) * 1_000_000
        while true {
          let now = System.monotonicNanoseconds
          if now >= next { break }
          if shared.wait(milliseconds: Int((next - now) / 1_000_000) + 1) { return session.close() }
        }
        // A server that does not answer now may answer the next renewal.
        let count = try? session.use { try $0.run(statement).last?.count }
        if count == 0 { return session.close() }
        next = max(next, System.monotonicNanoseconds)
      }
    }
  }

  /// Ends the renewals.
  func stop() {
    shared.lock.withLock {
      shared.isOver = true
      shared.lock.wakeAll()
    }
    thread?.join()
    thread = nil
  }
}
