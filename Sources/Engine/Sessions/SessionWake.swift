import Synchronization

/// Brings a session to look for newer versions, on its own thread, after somebody has committed.
///
/// Thread rule: any thread, but for the session itself.
final class SessionWake: @unchecked Sendable {
  // @unchecked: `session` is written before the first wish, and read where the session lives only.
  private let database: Database
  private let confinement: Confinement
  private weak var session: Session?
  private let automatic = Atomic<Bool>(true)
  private let isRequested = Atomic<Bool>(false)
  private var listener: Int?

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
}
