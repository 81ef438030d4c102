import Base

/// Calls to make whenever a newer version has become visible to this process, wherever it was written.
///
/// They are made after the version can be taken with `Database.snapshot()`, on whatever thread made
/// it visible: the committing one, the flusher, or the one that watches other processes. None of
/// the pipeline's locks is held, so that a listener may take a snapshot. The writer's turn may be:
/// a listener must not write, nor wait for somebody who does. Several versions may share one call.
///
/// The first listener starts a thread that notices what other processes commit, until `stop`.
///
/// Thread rule: any thread. Cost when nobody listens: one atomic load a commit.
package final class CommitListeners: @unchecked Sendable {
  // @unchecked: what changes is guarded by `lock`; the words are atomics.
  private let lock = Lock()
  /// Made anew with every change, so that who goes through it has a list that nobody writes to. An
  /// array that was shared and is not any more would be changed in place: rightly, but by the count
  /// of its references alone, which ThreadSanitizer does not see.
  private var calls: [(id: Int, call: @Sendable () -> Void)] = []
  private var lastID = 0
  private let count = AtomicWord.allocate()
  /// The newest version that listeners were told of, so that nobody tells them twice.
  private let told = AtomicWord.allocate()

  private let coordination: Coordination
  private let watchesFile: Bool
  private var watcher: VersionWatcher?
  /// Also called when this handle is woken: somebody may be waiting for it.
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
  /// - Returns: what `remove` takes.
  package func add(_ call: @escaping @Sendable () -> Void) -> Int {
    lock.withLock {
      lastID += 1
      calls = calls + [(lastID, call)]
      count.store(UInt64(calls.count))
      if watcher == nil, !isStopped { startWatching() }
      return lastID
    }
  }

  /// Removes a call. One that is being made on another thread may still be running afterwards.
  package func remove(_ id: Int) {
    // Released without the lock: it may hold the last reference to something that comes back here.
    let removed = lock.withLock {
      let removed = calls.filter { $0.id == id }
      calls = calls.filter { $0.id != id }
      count.store(UInt64(calls.count))
      return removed
    }
    withExtendedLifetime(removed) {}
  }

  /// Has `call` made, on the watching thread, whenever another handle has published a version or waits for
  /// this one's commits; after the first such call, later ones change nothing.
  ///
  /// - Returns: false when there is no thread to be had.
  func watch(_ call: @escaping @Sendable () -> Void) -> Bool {
    lock.withLock {
      if whenWoken == nil { whenWoken = call }
      if watcher == nil, !isStopped { startWatching() }
      // In private memory there is nobody to be woken by.
      return watcher != nil || coordination.descriptor == nil
    }
  }

  /// With the lock held.
  private func startWatching() {
    // What is visible already is no news to whoever takes a snapshot after adding its listener.
    if let version = coordination.visible.load()?.version { told.raise(to: version) }
    // Where no thread is to be had, this process's own commits are told all the same, and the next
    // listener tries again.
    watcher = try? VersionWatcher(coordination, watchesFile: watchesFile) { [weak self] version in
      guard let self else { return }
      tell(of: version)
      lock.withLock { whenWoken }?()
    }
  }

  /// Ends the watching of other processes. No listener is added to it any more.
  func stop() {
    let watcher = lock.withLock {
      isStopped = true
      defer { self.watcher = nil }
      return self.watcher
    }
    watcher?.stop()
  }

  /// Makes all calls: the newest version is an earlier one than they were told of last.
  func tellAgain() {
    for listener in lock.withLock({ calls }) { listener.call() }
  }

  /// Makes all calls, in the order in which they were added, unless they were made for this version.
  func tell(of version: UInt64) {
    guard told.raise(to: version), !isEmpty else { return }
    for listener in lock.withLock({ calls }) { listener.call() }
  }
}
