import Base

/// Calls that are made whenever a newer version has become visible to this process, in whichever process it
/// was written.
///
/// A call is made once `Database.snapshot()` returns the version, on the thread that made it visible: the
/// committing one, the flusher, or the one that watches other processes. None of the pipeline's locks is
/// held, so that a listener may take a snapshot. The writer's turn may be held: a listener must not write,
/// nor wait for a thread that writes. Several versions may share one call.
///
/// The first listener starts a thread that notices the commits of other processes, until `stop`.
///
/// Thread rule: any thread. Cost when nobody listens: one atomic load a commit.
package final class CommitListeners: @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`; the words are atomics.
  private let lock = Lock()
  /// Replaced as a whole with every change, so that a thread that goes through it has a list that nobody
  /// changes. Otherwise an array that was shared before would be changed in place. That would be correct, but
  /// only the array's reference count orders it, which ThreadSanitizer does not see.
  private var calls: [(id: Int, call: @Sendable () -> Void)] = []
  private var lastID = 0
  private let count = AtomicWord.allocate()
  /// The newest version that listeners were told of, so that nobody tells them twice.
  private let told = AtomicWord.allocate()

  private let coordination: Coordination
  private let watchesFile: Bool
  private var watcher: VersionWatcher?
  /// Also called when another handle wakes this one: it may be waiting for its commits.
  private var whenWoken: (@Sendable () -> Void)?
  private var isStopped = false

  init(_ coordination: Coordination, watchesFile: Bool) {
    self.coordination = coordination
    self.watchesFile = watchesFile
  }

  deinit {
    count.deallocate()
    told.deallocate()
  }

  package var isEmpty: Bool { count.load() == 0 }

  /// Adds a call.
  ///
  /// - Returns: the identifier for `remove`.
  package func add(_ call: @escaping @Sendable () -> Void) -> Int {
    lock.withLock {
      lastID += 1
      calls = calls + [(lastID, call)]
      count.store(UInt64(calls.count))
      if watcher == nil, !isStopped { startWatching() }
      return lastID
    }
  }

  /// Removes a call. It may still be running on another thread afterwards.
  package func remove(_ id: Int) {
    // Released without the lock: it may hold the last reference to an object whose `deinit` calls this one.
    let removed = lock.withLock {
      let removed = calls.filter { $0.id == id }
      calls = calls.filter { $0.id != id }
      count.store(UInt64(calls.count))
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  /// Calls `call`, on the watching thread, whenever another handle has published a version or waits for this
  /// one's commits. Only the first call of this method has an effect.
  ///
  /// - Returns: false when no thread could be started.
  func watch(_ call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if whenWoken == nil { whenWoken = call }
      if watcher == nil, !isStopped { startWatching() }
      // In private memory no other handle could wake this one.
      return watcher != nil || coordination.descriptor == nil
    }
  }

  /// Call with the lock held.
  private func startWatching() {
    // A version that is visible already is not reported: whoever adds a listener takes a snapshot afterwards.
    if let version = coordination.visible.load()?.version { told.raise(to: version) }
    // Without a thread, this process's own commits are reported all the same, and the next listener tries
    // again.
    watcher = try? VersionWatcher(coordination, watchesFile: watchesFile) { [weak self] version in
      guard let self else { return }
      tell(of: version)
      lock.withLock { whenWoken }?()
    }
  }

  /// Ends the watching of other processes. No listener may be added afterwards.
  func stop() {
    let watcher = lock.withLock {
      isStopped = true
      defer { self.watcher = nil }
      return self.watcher
    }
    watcher?.stop()
  }

  /// Makes all calls, because the newest version is now older than the last one reported.
  func tellAgain() {
    for listener in lock.withLock({ calls }) { listener.call() }
  }

  /// Makes all calls, in the order in which they were added, unless they were made for this version.
  func tell(of version: UInt64) {
    guard told.raise(to: version), !isEmpty else { return }
    for listener in lock.withLock({ calls }) { listener.call() }
  }
}
