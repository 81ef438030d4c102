/// An observer that is called where its session lives.
///
/// Thread rule: the session's, but for `stop`.
protocol SessionObserver: Observer {
  var isStopped: Bool { get }
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
  enum Event {
    case change(Following.Change, Session)
    case failed(any Error)
  }

  private let tracker: Following
  private let lock = Lock()
  /// Nil when it has ended, so that what the call refers to is released: often its session. Guarded by
  /// `lock`.
  private var call: ((Event) -> Void)?
  private(set) var version: UInt64?
  /// What to do when there is a newer version, and the session stays where it is.
  var mayRefresh: (() -> Void)?
  private var toldOf: UInt64 = 0

  init(_ tracker: Following, _ call: @escaping (Event) -> Void) {
    self.tracker = tracker
    self.call = call
  }

  var isStopped: Bool { lock.withLock { call == nil } }

  func stop() {
    // Released without the lock.
    let ended = lock.withLock {
      defer { call = nil }
      return call
    }
    withExtendedLifetime(ended) {}
  }

  private func tell(_ event: Event) { lock.withLock { call }?(event) }

  func deliver(_ session: Session, sharing cache: DifferenceCache) {
    if isStopped || version == session.snapshot.version { return }
    do {
      let change = try tracker.advance(to: session.snapshot, sharing: cache)
      version = session.snapshot.version
      if let change { tell(.change(change, session)) }
    } catch {
      fail(error)
    }
  }

  func tellOfNewer(_ version: UInt64) {
    guard let mayRefresh, !isStopped, version > toldOf else { return }
    toldOf = version
    mayRefresh()
  }

  func fail(_ error: any Error) {
    tell(.failed(error))
    stop()
  }

  func beginSilence() {}

  func endSilence(from: Snapshot, to: Snapshot) {
    // Behind `from` it has something to be told of still, and is told of both: that is so when a
    // notification's own call writes, and before the initial one.
    guard !isStopped, version == from.version else { return }
    do {
      _ = try tracker.advance(to: to, sharing: nil)
      version = to.version
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
