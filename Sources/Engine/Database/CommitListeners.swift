import Base

/// Calls that are made whenever a newer version becomes visible to this process, whichever process wrote it.
///
/// A call is made after `Database.snapshot()` returns the version, on the thread that made it visible: the
/// committing thread, the flusher, or the thread that watches other processes. None of the pipeline's locks
/// is held, so a listener may take a snapshot. The writers' turn may be held: a listener must not write, nor
/// wait for a thread that writes. Several versions may share one call.
///
/// The first listener starts the thread that notices commits of other processes; `stop` ends it.
///
/// Thread rule: any thread. Cost without listeners: one atomic load a commit.
package final class CommitListeners: @unchecked Sendable {
  // @unchecked: `lock` guards the mutable state; the words are atomics.
  private let lock = Lock()
  /// Every change replaces the whole array, so that a thread that iterates over it has a copy that never
  /// changes. Changing the array in place would be correct, but only its reference count would order the
  /// accesses, and ThreadSanitizer does not see that.
  private var calls: [(id: Int, call: @Sendable () -> Void)] = []
  private var lastID = 0
  private let count = AtomicWord.allocate()
  /// The newest version that was reported, so that no version is reported twice.
  private let told = AtomicWord.allocate()

  private let coordination: Coordination
  private var watcher: VersionWatcher?
  /// Also called when another handle wakes this one, since that handle may be waiting for its commits.
  private var whenWoken: (@Sendable () -> Void)?
  private var isStopped = false

  init(_ coordination: Coordination) { self.coordination = coordination }

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
    // Released outside the lock: it may hold the last reference to an object whose `deinit` calls `remove`.
    let removed = lock.withLock {
      let removed = calls.filter { $0.id == id }
      calls = calls.filter { $0.id != id }
      count.store(UInt64(calls.count))
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  /// Calls `call`, on the watching thread, whenever another handle has published a version or waits for this
  /// handle's commits. Only the first call of this method has an effect.
  ///
  /// - Returns: false when no thread could be started.
  func watch(_ call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if whenWoken == nil { whenWoken = call }
      if watcher == nil, !isStopped { startWatching() }
      // No other handle can wake this one when the coordination is in private memory.
      return watcher != nil || coordination.descriptor == nil
    }
  }

  /// Requires the lock.
  private func startWatching() {
    // A version that is visible already is not reported: the caller takes a snapshot after adding a listener.
    if let version = coordination.visible.load()?.version { told.raise(to: version) }
    // Without a thread, this process's own commits are still reported, and the next listener tries again.
    watcher = try? VersionWatcher(coordination) { [weak self] version in
      guard let self else { return }
      tell(of: version)
      lock.withLock { whenWoken }?()
    }
  }

  /// Stops watching other processes. No listener may be added afterwards.
  func stop() {
    let watcher = lock.withLock {
      isStopped = true
      defer { self.watcher = nil }
      return self.watcher
    }
    watcher?.stop()
  }

  /// Makes all calls because the newest version, `version`, is older than the last reported one. Versions
  /// after it are reported again, since their numbers are given again.
  func tellAgain(of version: UInt64) {
    told.store(version)
    for listener in lock.withLock({ calls }) { listener.call() }
  }

  /// Makes all calls, in the order of their addition, unless this version was reported before.
  func tell(of version: UInt64) {
    guard told.raise(to: version), !isEmpty else { return }
    for listener in lock.withLock({ calls }) { listener.call() }
  }
}
