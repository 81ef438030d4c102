import Base
import Dispatch
import Synchronization

/// Brings a session to look for newer versions, on its own thread, after somebody has committed.
///
/// Thread rule: any thread, but for the session itself.
final class SessionWake: @unchecked Sendable {
  // @unchecked: `session` is written before the first wish, and read where the session lives only;
  // `retries` is guarded by `lock`.
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
    // Of what was committed since the session took its version nobody tells any more.
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

  /// Has the session look, once for all that ask before it does.
  func request() {
    guard let schedule = confinement.schedule,
      !isRequested.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    schedule { [weak self] in
      guard let self else { return }
      isRequested.store(false, ordering: .releasing)
      session?.advanceByItself()
    }
  }

  /// Has the session look again a little later: there was no room for another snapshot.
  func requestLater() {
    guard let delay = lock.withLock({ retries.next() }) else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + delay) { [weak self] in
      guard let self else { return }
      lock.withLock { retries.begin() }
      request()
    }
  }

  /// There was room.
  func forgetRetries() { lock.withLock { retries = Retries() } }
}
