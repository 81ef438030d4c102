import Base
import Dispatch
import Synchronization

/// Makes a session check for newer versions, on its own thread, after a commit.
///
/// Thread rule: any thread, except for the session itself.
final class SessionWake: @unchecked Sendable {
  // @unchecked: `session` is written before the first request, and read only on the session's thread or
  // queue; `lock` guards `retries`.
  private let database: Database
  private let confinement: Confinement
  private weak var session: Session?
  private let automatic = Atomic<Bool>(true)
  private let isRequested = Atomic<Bool>(false)
  private var listener: Int?
  private let lock = Lock()
  private var retries = Retries()

  init(_ database: Database, _ confinement: Confinement) {
    self.database = database
    self.confinement = confinement
  }

  func start(_ session: Session) {
    self.session = session
    guard confinement.schedule != nil else { return }
    listener = database.listeners.add { [weak self] in self?.request() }
    // Commits made since the session took its version were not reported.
    if let newest = try? database.newestVersion, newest > session.snapshot.version { request() }
  }

  func stop() {
    if let listener { database.listeners.remove(listener) }
    listener = nil
  }

  var isAutomatic: Bool {
    get { automatic.load(ordering: .relaxed) }
    set { automatic.store(newValue, ordering: .relaxed) }
  }

  /// Makes the session check for newer versions, once for all requests before the check.
  func request() {
    guard let schedule = confinement.schedule,
      !isRequested.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    schedule { [weak self] in
      guard let self else { return }
      // Before the newest version is read: a request after that makes another check.
      isRequested.store(false, ordering: .sequentiallyConsistent)
      session?.advanceByItself()
    }
  }

  /// Makes the session check again a little later, since there was no space for another snapshot.
  func requestLater() {
    guard let delay = lock.withLock({ retries.next() }) else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
      guard let self else { return }
      lock.withLock { retries.begin() }
      request()
    }
  }

  /// Resets the delays, since there was space for a snapshot.
  func forgetRetries() { lock.withLock { retries = Retries() } }
}
