/// The second phase of every commit: turns complete versions into durable, visible ones.
///
/// A version is *complete* when its blocks are written, *durable* when the blocks are flushed, a
/// slot names it and the slot is flushed, and *visible* when readers may take it. A round makes the
/// newest complete version durable; versions that were completed meanwhile share the next round.
/// Nothing between a durable version's round and the next one can hurt it: a round writes the slot
/// that does not hold it, and pages it reaches are not reused (the caller's duty, see `keptVersions`).
///
/// After a failed flush nothing is committed any more: the kernel may have dropped the pages, so
/// what the disk holds is unknown.
///
/// Thread rule: any thread.
package final class CommitPipeline: @unchecked Sendable {
  // @unchecked: everything that changes is guarded by `lock`, rounds by `roundLock`.
  private struct State {
    var complete: VersionRecord
    var durable: VersionRecord
    var durableSlot: Int
    /// The version that the running round makes durable.
    var target: VersionRecord?
    var failure: String?
    var transactionIsOpen = false
    var holdsWriting = false
    var wanted: UInt64 = 0
    var completions: [(version: UInt64, call: @Sendable (String?) -> Void)] = []
    var isStopping = false
  }

  private let storage: any Storage
  private let coordination: Coordination
  private let identity: DatabaseIdentity
  private let lock = Lock()
  private let roundLock = Lock()
  private var state: State
  private var flusher: Thread?
  /// What readers of this process may take: ahead of the shared cell after commits without flush.
  private let ownVisible: VersionCell
  private let ownMemory: UnsafeMutableRawPointer

  package init(storage: any Storage, coordination: Coordination, recovered: Recovery) {
    self.storage = storage
    self.coordination = coordination
    identity = recovered.identity
    state = State(
      complete: recovered.record, durable: recovered.record, durableSlot: recovered.slot)
    ownMemory = .allocate(byteCount: VersionCell.encodedBytes, alignment: 64)
    ownMemory.initializeMemory(as: UInt8.self, repeating: 0, count: VersionCell.encodedBytes)
    ownVisible = VersionCell(ownMemory)
    ownVisible.store(recovered.record)
  }

  deinit { ownMemory.deallocate() }

  /// The newest version that a reader of this process may take. Never waits.
  package func visible() -> VersionRecord {
    // The own cell has been filled since the beginning, so a load fails only while it is being
    // rewritten by a thread that the system does not run just now.
    while true {
      let shared = coordination.visible.load()
      if let own = ownVisible.load() {
        if let shared, shared.version > own.version { return shared }
        return own
      }
      if let shared { return shared }
    }
  }

  /// Versions whose pages must not be written, readers' aside.
  package func keptVersions() -> [UInt64] {
    lock.withLock {
      [state.complete.version, state.durable.version, visible().version]
        + (state.target.map { [$0.version] } ?? [])
    }
  }

  package var durableVersion: UInt64 { lock.withLock { state.durable.version } }

  /// Why nothing can be committed any more; nil while all is well.
  package var failure: String? { lock.withLock { state.failure } }

  // MARK: A transaction's course

  /// Takes the process's right to write, waiting for other processes' commits to become durable.
  ///
  /// - Returns: the version to begin from, and whether somebody else may have written since.
  package func beginTransaction() throws -> (base: VersionRecord, isFresh: Bool) {
    let held = lock.withLock {
      state.transactionIsOpen = true
      return state.holdsWriting
    }
    if held { return (lock.withLock { state.complete }, false) }
    do {
      _ = try coordination.beginWriting(wait: true)
      lock.withLock { state.holdsWriting = true }
      let recovered = try Recovery.run(storage)
      let known = lock.withLock { state.complete }
      if recovered.record == known { return (known, false) }
      // Another process went on from here. Its slot may sit in a page that failed to reach the disk
      // without our knowledge: written again, it is flushed before the next slot is written.
      try write(CommitSlot(record: recovered.record, identity: identity), to: recovered.slot)
      coordination.visible.store(recovered.record)
      ownVisible.store(recovered.record)
      lock.withLock {
        state.complete = recovered.record
        state.durable = recovered.record
        state.durableSlot = recovered.slot
      }
      return (recovered.record, true)
    } catch {
      try endTransaction()
      throw error
    }
  }

  /// The transaction has ended, one way or another.
  package func endTransaction() throws(SystemError) {
    lock.lock()
    defer { lock.unlock() }
    state.transactionIsOpen = false
    try releaseIfIdle()
  }

  /// With the lock held: lets other processes write once nothing of ours is left to flush.
  private func releaseIfIdle() throws(SystemError) {
    guard state.holdsWriting, !state.transactionIsOpen,
      state.complete.version == state.durable.version
    else { return }
    state.holdsWriting = false
    try coordination.endWriting()
  }

  /// The transaction's blocks are written: its version is complete.
  package func complete(_ record: VersionRecord) {
    lock.withLock { state.complete = record }
  }

  /// Lets readers of this process take the newest complete version before it is durable.
  package func showComplete() {
    lock.withLock { ownVisible.store(state.complete) }
  }

  // MARK: Rounds

  /// Makes all complete versions durable before it returns.
  ///
  /// - Throws: the system's error; then `failure` is set and stays.
  package func makeDurable() throws {
    roundLock.lock()
    defer { roundLock.unlock() }
    try round()
  }

  /// Asks the flusher thread to make the newest complete version durable, and goes on.
  ///
  /// - Parameter completion: called once the version is durable (nil) or failed (why), on the
  ///   flusher's or another committing thread.
  package func requestDurability(_ completion: (@Sendable (String?) -> Void)?) throws {
    try lock.withLock {
      state.wanted = state.complete.version
      if let completion {
        state.completions.append((state.complete.version, completion))
      }
      if flusher == nil {
        flusher = try Thread(name: "sheaf-flusher") { [weak self] in
          while let pipeline = self, pipeline.flushNext() {}
        }
      }
      lock.wakeAll()
    }
  }

  /// Has `completion` called by the flush that makes the newest complete version durable.
  package func onDurable(_ completion: @escaping @Sendable (String?) -> Void) {
    lock.withLock { state.completions.append((state.complete.version, completion)) }
  }

  /// Refuses all further commits.
  package func fail(_ reason: String) {
    lock.withLock { state.failure = state.failure ?? reason }
  }

  /// Waits for work and does a round; false when the pipeline is stopping.
  private func flushNext() -> Bool {
    lock.lock()
    while !state.isStopping && (state.wanted <= state.durable.version || state.failure != nil) {
      lock.wait()
    }
    let stop = state.isStopping
    lock.unlock()
    if stop { return false }
    // A failure is kept in the state: the next commit, flush or close throws it.
    _ = try? makeDurable()
    return true
  }

  /// One round, with `roundLock` held.
  private func round() throws {
    let (target, slot) = lock.withLock {
      state.target = state.complete
      return (state.complete, state.durableSlot ^ 1)
    }
    if let failure = lock.withLock({ state.failure }) {
      throw EngineError.poisoned(path: storage.path, cause: failure)
    }
    guard target.version != lock.withLock({ state.durable.version }) else {
      lock.withLock { state.target = nil }
      return
    }
    do {
      try storage.flush()
      try write(CommitSlot(record: target, identity: identity), to: slot)
      try storage.flush()
    } catch {
      let calls = lock.withLock {
        state.failure = "\(error)"
        defer { state.completions = [] }
        return state.completions
      }
      for completion in calls { completion.call("\(error)") }
      throw error
    }
    let calls = try lock.withLock {
      state.durable = target
      state.durableSlot = slot
      state.target = nil
      coordination.visible.store(target)
      if ownVisible.load()?.version ?? 0 < target.version { ownVisible.store(target) }
      let ready = state.completions.filter { $0.version <= target.version }
      state.completions.removeAll { $0.version <= target.version }
      try releaseIfIdle()
      return ready
    }
    for completion in calls { completion.call(nil) }
  }

  private func write(_ slot: CommitSlot, to index: Int) throws {
    try slot.page().withUnsafeBytes { try storage.write($0, at: index * Layout.pageBytes) }
  }

  /// Writes the durable version into the other slot too, so that damage to one slot loses nothing.
  /// To be called when all is durable and this process may write.
  package func mirrorSlot() throws {
    roundLock.lock()
    defer { roundLock.unlock() }
    let (record, slot, failure) = lock.withLock {
      (state.durable, state.durableSlot ^ 1, state.failure)
    }
    guard failure == nil else { return }
    do {
      try write(CommitSlot(record: record, identity: identity), to: slot)
      try storage.flush()
    } catch {
      lock.withLock { state.failure = "\(error)" }
      throw error
    }
  }

  /// Ends the flusher thread; what it has not flushed stays undone.
  package func stop() {
    let thread = lock.withLock {
      state.isStopping = true
      lock.wakeAll()
      defer { flusher = nil }
      return flusher
    }
    thread?.join()
  }
}
