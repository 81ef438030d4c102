import Base
import Dispatch

/// An observer that is called on a queue with frozen values, whatever its session does.
///
/// Thread rule: any thread; the calls run on the queue, one at a time.
final class QueueObserver<Following: Tracker>: Observer, @unchecked Sendable {
  // @unchecked: `lock` guards `state`; one run at a time uses the tracker and the version.
  typealias Event = TrackerEvent<Following.Change, Snapshot>

  private struct State {
    /// The references of the call, and the tracker's version; released at the observer's end.
    var parts: Parts?
    var isStopped: Bool { parts == nil }
    var isRequested = false
    var isRunning = false
    var isSilent = false
    /// Commits that must not be reported, in order.
    var silences: [(from: Snapshot, to: Snapshot)] = []
    var retries = Retries()
  }

  private struct Parts {
    let tracker: Following
    let call: @Sendable (Event) -> Void
  }

  private let database: Database
  private let queue: DispatchQueue
  private let lock = Lock()
  private var state: State
  private var version: UInt64?
  private var listener: Int?

  init(
    _ database: Database, _ queue: DispatchQueue, _ tracker: Following,
    _ call: @escaping @Sendable (Event) -> Void
  ) {
    self.database = database
    self.queue = queue
    state = State(parts: Parts(tracker: tracker, call: call))
  }

  var isStopped: Bool { lock.withLock { state.isStopped } }

  func start() {
    let added = database.listeners.add { [weak self] in self?.request() }
    lock.withLock { listener = added }
    request()
  }

  func stop() {
    // Released outside the lock.
    let (removed, ended, silences) = lock.withLock {
      defer { (listener, state.parts, state.silences) = (nil, nil, []) }
      return (listener, state.parts, state.silences)
    }
    withExtendedLifetime((ended, silences)) {}
    if let removed { database.listeners.remove(removed) }
  }

  func beginSilence() { lock.withLock { state.isSilent = true } }

  func endSilence(from: Snapshot, to: Snapshot) {
    lock.withLock {
      state.isSilent = false
      if from.version != to.version, !state.isStopped { state.silences.append((from, to)) }
    }
    request()
  }

  /// Schedules a run on the queue, one for all requests before it starts.
  private func request() {
    let isFirst = lock.withLock {
      defer { state.isRequested = true }
      return !state.isRequested && !state.isStopped
    }
    if isFirst { queue.async { [weak self] in self?.run() } }
  }

  /// One run at a time, even on a concurrent queue.
  private func run() {
    let mayRun = lock.withLock {
      // The current run sees the request at its end, and checks again.
      if state.isRunning { return false }
      (state.isRequested, state.isRunning) = (false, true)
      return true
    }
    guard mayRun else { return }
    while let step = next() { take(step) }
    let again = lock.withLock {
      state.isRunning = false
      defer { state.isRequested = false }
      return state.isRequested && !state.isStopped
    }
    if again { request() }
  }

  private enum Step {
    case tell(Snapshot)
    case silence(from: Snapshot, to: Snapshot)
    case fail(any Error)
  }

  /// The next step; nil when the observer is up to date.
  private func next() -> Step? {
    lock.withLock {
      if state.isStopped { return nil }
      if !state.silences.isEmpty {
        let (from, to) = state.silences.removeFirst()
        return .silence(from: from, to: to)
      }
      // While a commit that must not be reported may become visible, no newer version is read.
      if state.isSilent { return nil }
      do {
        guard try version != database.newestVersion else { return nil }
        let snapshot = try database.snapshot()
        state.retries = Retries()
        if let version, snapshot.version <= version, try !database.isLost(version) { return nil }
        return .tell(snapshot)
      } catch EngineError.closed {
        return nil
      } catch EngineError.busy {
        // Too many snapshots are held now, perhaps by others; a later check loses nothing.
        if let delay = state.retries.next() {
          queue.asyncAfter(deadline: .now() + delay) { [weak self] in self?.retry() }
        }
        return nil
      } catch {
        return .fail(error)
      }
    }
  }

  private func retry() {
    lock.withLock { state.retries.begin() }
    request()
  }

  private func take(_ step: Step) {
    guard let parts = lock.withLock({ state.parts }) else { return }
    do {
      switch step {
      case .fail(let error): throw error
      case .tell(let snapshot): try tell(snapshot, parts)
      case .silence(let from, let to):
        if from.version > version ?? 0 { try tell(from, parts) }
        if to.version > version ?? 0 {
          _ = try parts.tracker.advance(to: to, sharing: nil)
          version = to.version
        }
      }
      if parts.tracker.hasEnded { stop() }
    } catch {
      let wasStopped = isStopped
      stop()
      if !wasStopped { parts.call(.failed(error)) }
    }
  }

  private func tell(_ snapshot: Snapshot, _ parts: Parts) throws {
    let change = try parts.tracker.advance(to: snapshot, sharing: nil)
    version = snapshot.version
    guard let change, !isStopped else { return }
    parts.call(.change(change, snapshot))
  }
}

/// When to retry after there was no space for a snapshot: soon at first, then at growing intervals of up to a
/// second.
struct Retries {
  private var delay = 10
  private var isWaiting = false

  /// The delay; nil when one is already running.
  mutating func next() -> DispatchTimeInterval? {
    if isWaiting { return nil }
    isWaiting = true
    defer { delay = min(delay * 2, 1000) }
    return .milliseconds(delay)
  }

  /// Ends the delay.
  mutating func begin() { isWaiting = false }
}
