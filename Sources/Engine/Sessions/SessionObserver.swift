import Base

/// An observer that is called where its session lives.
///
/// Thread rule: the session's, but for `stop`.
protocol SessionObserver: Observer {
  /// The version that it was last told of; nil before the first.
  var version: UInt64? { get }
  /// Tells it what changed up to the version that the session looks at.
  func deliver(_ session: Session, sharing cache: DifferenceCache)
  /// Tells it that there is a version that the session does not move on to by itself.
  func tellOfNewer(_ version: UInt64)
  /// Tells it that nothing more can be told.
  func fail(_ error: any Error)
}

/// A `SessionObserver` of what a tracker follows.
final class LocalObserver<Following: Tracker>: SessionObserver {
  typealias Event = TrackerEvent<Following.Change, Session>

  /// What is released when it ends: what the calls refer to, often the session, and the version
  /// that the tracker knows.
  private struct Parts {
    let tracker: Following
    let call: (Event) -> Void
    /// What to do when there is a newer version, and the session stays where it is.
    var mayRefresh: (() -> Void)?
  }

  private let lock = Lock()
  /// Nil when it has ended. Guarded by `lock`.
  private var parts: Parts?
  private(set) var version: UInt64?
  private var toldOf: UInt64 = 0

  init(_ tracker: Following, _ call: @escaping (Event) -> Void) {
    parts = Parts(tracker: tracker, call: call)
  }

  /// Has something done when there is a newer version, and the session stays where it is.
  func tellOfNewer(_ call: @escaping () -> Void) { lock.withLock { parts?.mayRefresh = call } }

  private var present: Parts? { lock.withLock { parts } }

  var isStopped: Bool { present == nil }

  func stop() {
    // Released without the lock.
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
    // Behind `from` it has something to be told of still, and is told of both: that is so when a
    // notification's own call writes, and before the initial one.
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
  /// Adds an observer, and has it called a first time, later.
  func add(_ observer: any SessionObserver) throws -> NotificationToken {
    try check()
    guard confinement.schedule != nil else {
      throw EngineError.cannotObserve(reason: "nothing runs on this thread that could deliver")
    }
    observers.append(observer)
    wake.request()
    return NotificationToken(session: self, observer: observer)
  }

  /// Tells all observers what changed up to the version that is looked at.
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
