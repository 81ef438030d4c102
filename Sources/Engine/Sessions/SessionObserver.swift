import Base

/// An observer that is called on its session's thread or queue.
///
/// Thread rule: confined to that thread or queue, except `stop`.
protocol SessionObserver: Observer {
  /// The last version that it received; nil before the first.
  var version: UInt64? { get }
  /// Delivers the changes up to the session's version.
  func deliver(_ session: Session, sharing cache: DifferenceCache)
  /// Reports a version to which the session does not move automatically.
  func tellOfNewer(_ version: UInt64)
  /// Reports that nothing more can be delivered.
  func fail(_ error: any Error)
}

/// A `SessionObserver` for the changes of a tracker.
final class LocalObserver<Following: Tracker>: SessionObserver {
  typealias Event = TrackerEvent<Following.Change, Session>

  /// Released at the observer's end: the references of the calls, often the session, and the tracker's
  /// version.
  private struct Parts {
    let tracker: Following
    let call: (Event) -> Void
    /// Called when there is a newer version to which the session does not move.
    var mayRefresh: (() -> Void)?
  }

  private let lock = Lock()
  /// Nil after its end. Guarded by `lock`.
  private var parts: Parts?
  private(set) var version: UInt64?
  private var toldOf: UInt64 = 0

  init(_ tracker: Following, _ call: @escaping (Event) -> Void) {
    parts = Parts(tracker: tracker, call: call)
  }

  /// Sets the call for a newer version to which the session does not move.
  func tellOfNewer(_ call: @escaping () -> Void) { lock.withLock { parts?.mayRefresh = call } }

  private var present: Parts? { lock.withLock { parts } }

  var isStopped: Bool { present == nil }

  func stop() {
    // Released outside the lock.
    let ended = lock.withLock {
      defer { parts = nil }
      return parts
    }
    withExtendedLifetime(ended) {}
  }

  func deliver(_ session: Session, sharing cache: DifferenceCache) {
    guard version != session.snapshot.version, let parts = present else { return }
    do {
      let change = try parts.tracker.advance(to: session.snapshot, sharing: cache)
      version = session.snapshot.version
      if let change, !isStopped { parts.call(.change(change, session)) }
      if parts.tracker.hasEnded { stop() }
    } catch {
      fail(error)
    }
  }

  func tellOfNewer(_ version: UInt64) {
    guard let mayRefresh = present?.mayRefresh, version > toldOf else { return }
    toldOf = version
    mayRefresh()
  }

  func fail(_ error: any Error) {
    present?.call(.failed(error))
    stop()
  }

  func beginSilence() {}

  func endSilence(from: Snapshot, to: Snapshot) {
    // An observer that is not yet at `from` still has older changes to receive, and receives both. This
    // occurs when a notification's own call writes, and before the initial call.
    guard version == from.version, let parts = present else { return }
    do {
      _ = try parts.tracker.advance(to: to, sharing: nil)
      version = to.version
      if parts.tracker.hasEnded { stop() }
    } catch {
      fail(error)
    }
  }
}

extension Session {
  /// Adds an observer, and schedules its first call.
  func add(_ observer: any SessionObserver) throws -> NotificationToken {
    try check()
    guard confinement.schedule != nil else {
      throw EngineError.cannotObserve(reason: "nothing runs on this thread that could deliver")
    }
    observers.append(observer)
    wake.request()
    return NotificationToken(session: self, observer: observer)
  }

  /// Delivers the changes up to the current version to all observers.
  func deliver() {
    if isDelivering { return }
    isDelivering = true
    defer { isDelivering = false }
    let cache = DifferenceCache()
    for observer in observers { observer.deliver(self, sharing: cache) }
    observers.removeAll(where: \.isStopped)
    // A call may have written, or added an observer.
    if observers.contains(where: { $0.version != snapshot.version }) { wake.request() }
  }
}
