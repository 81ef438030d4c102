import Base

/// Turns in the order of requests, for threads that wait and for jobs that are started in their turn.
///
/// Thread rule: any thread.
final class TurnLine: @unchecked Sendable {
  // @unchecked: `lock` guards all mutable state.
  private enum Waiter {
    case thread(Int)
    /// `start` returns false when the job could not be started; it then has no turn to end.
    case job(isWrite: Bool, start: @Sendable () -> Bool)
  }

  private let lock = Lock()
  private var isTaken = false
  private var waiters: [Waiter] = []
  private var lastThread = 0
  /// The waiting thread whose turn has come.
  private var called = 0
  /// The thread that has the turn; nil between turns and until a started job calls `take`.
  private var owner: ExecutionContext?

  /// True on the thread that has the turn.
  var isMine: Bool { lock.withLock { owner == ExecutionContext.thread } }

  /// Waits for the turn, which `leave` ends. The caller must not have it already.
  func enter() {
    lock.lock()
    defer { lock.unlock() }
    if isTaken {
      lastThread += 1
      let own = lastThread
      waiters.append(.thread(own))
      while called < own { lock.wait() }
    }
    isTaken = true
    owner = ExecutionContext.thread
  }

  /// Calls `start` in the job's turn: now, or later on another thread. `start` passes the job to a thread
  /// that calls `take` and later `leave`, or returns false.
  func add(isWrite: Bool, _ start: @escaping @Sendable () -> Bool) {
    let isNow = lock.withLock {
      if isTaken { waiters.append(.job(isWrite: isWrite, start: start)) }
      defer { isTaken = true }
      return !isTaken
    }
    if isNow, !start() { passOn() }
  }

  /// Notes that the started job runs on this thread.
  func take() { lock.withLock { owner = ExecutionContext.thread } }

  func leave() {
    lock.withLock { owner = nil }
    passOn()
  }

  /// True when the next turn belongs to a write for which no thread waits.
  var nextIsWrite: Bool {
    lock.withLock {
      if case .job(isWrite: true, _)? = waiters.first { return true }
      return false
    }
  }

  private func passOn() {
    while true {
      let start = lock.withLock { () -> (@Sendable () -> Bool)? in
        if waiters.isEmpty {
          isTaken = false
          return nil
        }
        switch waiters.removeFirst() {
        case .thread(let number):
          called = number
          lock.wakeAll()
          return nil
        case .job(_, let start): return start
        }
      }
      // A loop instead of recursion for jobs that cannot be started.
      guard let start, !start() else { return }
    }
  }
}
