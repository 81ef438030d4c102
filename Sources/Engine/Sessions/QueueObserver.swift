import Dispatch

/// An observer that is called on a queue, with what is frozen, whatever its session does.
///
/// Thread rule: any thread; calls are made on the queue, one at a time.
final class QueueObserver<Following: Tracker>: Observer, @unchecked Sendable {
  // @unchecked: `state` is guarded by `lock`; the tracker is used by one run at a time.
  enum Event {
    case change(Following.Change, Snapshot)
    case failed(any Error)
  }

  private struct State {
    var isStopped = false
    var isRequested = false
    var isRunning = false
    var isSilent = false
    /// Commits that are not to be told of, in order.
    var silences: [(from: Snapshot, to: Snapshot)] = []
  }

  private let database: Database
  private let queue: DispatchQueue
  private let tracker: Following
  private let call: @Sendable (Event) -> Void
  private let lock = Lock()
  private var state = State()
  private var version: UInt64?
  private var listener: Int?

  init(
    _ database: Database, _ queue: DispatchQueue, _ tracker: Following,
    _ call: @escaping @Sendable (Event) -> Void
  ) {
    self.database = database
    self.queue = queue
    self.tracker = tracker
    self.call = call
  }

  func start() {
    let added = database.listeners.add { [weak self] in self?.request() }
    lock.withLock { listener = added }
    request()
  }

  func stop() {
    let removed = lock.withLock {
      state.isStopped = true
      state.silences = []
      defer { listener = nil }
      return listener
    }
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

  /// Has the queue look, once for all that ask before it does.
  private func request() {
    let isFirst = lock.withLock {
      defer { state.isRequested = true }
      return !state.isRequested && !state.isStopped
    }
    if isFirst { queue.async { [weak self] in self?.run() } }
  }

  /// One run at a time, also on a concurrent queue.
  private func run() {
    let mayRun = lock.withLock {
      // The run that is going on finds the request at its end, and looks again.
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

  /// What to do next; nil when the observer is up to date.
  private func next() -> Step? {
    lock.withLock {
      if state.isStopped { return nil }
      if !state.silences.isEmpty {
        let (from, to) = state.silences.removeFirst()
        return .silence(from: from, to: to)
      }
      // While a commit that is not to be told of may just become visible, nothing newer is looked at.
      if state.isSilent { return nil }
      do {
        guard try version != database.newestVersion else { return nil }
        let snapshot = try database.snapshot()
        if let version, snapshot.version <= version { return nil }
        return .tell(snapshot)
      } catch EngineError.closed {
        return nil
      } catch {
        return .fail(error)
      }
    }
  }

  private func take(_ step: Step) {
    do {
      switch step {
      case .fail(let error): throw error
      case .tell(let snapshot): try tell(snapshot)
      case .silence(let from, let to):
        if from.version > version ?? 0 { try tell(from) }
        guard to.version > version ?? 0 else { return }
        _ = try tracker.advance(to: to, sharing: nil)
        version = to.version
      }
    } catch {
      let wasStopped = lock.withLock { state.isStopped }
      stop()
      if !wasStopped { call(.failed(error)) }
    }
  }

  private func tell(_ snapshot: Snapshot) throws {
    let change = try tracker.advance(to: snapshot, sharing: nil)
    version = snapshot.version
    guard let change, !lock.withLock({ state.isStopped }) else { return }
    call(.change(change, snapshot))
  }
}
