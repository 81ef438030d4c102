import Base

/// The lanes: threads that commit ranges, each through a connection of its own.
///
/// A range is handed over when a lane is free, so memory holds at most one range for each lane, and the one
/// being put together. Lanes commit in any order.
///
/// Thread rule: used by one thread, which submits the ranges.
final class LaneTeam {
  /// The state that the lanes share with the submitting thread.
  private final class Shared: @unchecked Sendable {
    // @unchecked: everything is guarded by `lock`.
    let lock = Lock()
    var waiting: CopyRange?
    var working = 0
    var idle = 0
    var isEnding = false
    var isAbandoned = false
    var failure: (any Error)?
    var counts = RowCounts()
    var committed = 0
    var acknowledged: Int

    init(acknowledged: Int) { self.acknowledged = acknowledged }

    /// Waits for the next range; nil when no more will come.
    func take() -> CopyRange? {
      lock.withLock {
        idle += 1
        defer { idle -= 1 }
        while true {
          if let range = waiting, failure == nil {
            waiting = nil
            working += 1
            lock.wakeAll()
            return range
          }
          if isEnding || failure != nil { return nil }
          lock.wait()
        }
      }
    }

    func deliver(_ result: Result<RangeOutcome, any Error>) {
      lock.withLock {
        working -= 1
        switch result {
        case .success(let outcome):
          counts += outcome.counts
          committed += 1
          acknowledged += 1
        case .failure(let error): if failure == nil { failure = error }
        }
        lock.wakeAll()
      }
    }
  }

  private let shared: Shared
  private let plan: LoadPlan
  private let budget: RejectBudget
  private let most: Int
  private var threads: [Thread] = []

  /// The time that lanes have to finish their ranges after the import is interrupted, in milliseconds.
  private static let grace = 10_000
  private static let pause = 50

  /// - Parameters:
  ///   - lanes: the maximum number of connections.
  ///   - acknowledged: the number of ranges of the input that the server has.
  init(_ plan: LoadPlan, lanes: Int, _ budget: RejectBudget, acknowledged: Int) {
    self.plan = plan
    self.budget = budget
    most = max(1, lanes)
    shared = Shared(acknowledged: acknowledged)
  }

  /// The counts that the lanes have committed.
  var counts: RowCounts { shared.lock.withLock { shared.counts } }
  /// The number of ranges that the lanes have committed.
  var committed: Int { shared.lock.withLock { shared.committed } }

  /// Submits a range; waits until a lane takes it.
  ///
  /// - Parameter shouldStop: called while the call waits; true ends the wait.
  /// - Returns: false when `shouldStop` returned true and the range will not be committed.
  /// - Throws: the first failure of a lane; `SystemError` when the system has no room for a thread.
  func submit(_ range: CopyRange, shouldStop: () -> Bool) throws -> Bool {
    let shared = self.shared
    if threads.count < most, shared.lock.withLock({ shared.idle == 0 && shared.failure == nil }) {
      try startLane()
    }
    return try shared.lock.withLock {
      if let failure = shared.failure { throw failure }
      shared.waiting = range
      shared.lock.wakeAll()
      while shared.waiting != nil {
        if let failure = shared.failure {
          shared.waiting = nil
          throw failure
        }
        if shouldStop() {
          shared.waiting = nil
          return false
        }
        shared.lock.wait(milliseconds: Self.pause)
      }
      return true
    }
  }

  private func startLane() throws {
    let (shared, plan, budget) = (self.shared, self.plan, self.budget)
    threads.append(
      try Thread(name: "sheaf-lane", stackBytes: 4 << 20) {
        // After a failure or an interruption, transient failures are not retried.
        let session = ServerSession(
          plan.target, retrySeconds: plan.retrySeconds, hasConnected: true,
          isStopping: { shared.lock.withLock { shared.failure != nil || shared.isAbandoned } },
          isAbandoned: { shared.lock.withLock { shared.isAbandoned } })
        let writer = RangeWriter(plan, session, budget) {
          shared.lock.withLock { shared.acknowledged }
        }
        while let range = shared.take() {
          shared.deliver(Result { try writer.write(range) })
        }
        writer.close()
      })
  }

  /// Waits until all submitted ranges are committed, and ends the lanes. Call once.
  ///
  /// - Parameter shouldStop: called meanwhile; once it returns true, lanes have some seconds left for their
  ///   ranges.
  /// - Throws: the first failure of a lane.
  func finish(shouldStop: () -> Bool) throws {
    var left = Self.grace
    let shared = self.shared
    shared.lock.withLock {
      shared.isEnding = true
      shared.lock.wakeAll()
      while shared.working > 0 || (shared.waiting != nil && shared.failure == nil) {
        shared.lock.wait(milliseconds: Self.pause)
        if shouldStop() { left -= Self.pause }
        if left <= 0 { shared.isAbandoned = true }
      }
      shared.waiting = nil
    }
    for thread in threads { thread.join() }
    threads = []
    if let failure = shared.lock.withLock({ shared.failure }) { throw failure }
  }
}

@available(*, unavailable)
extension LaneTeam: Sendable {}
