import Base

/// The second phase of every commit: makes complete versions durable and visible.
///
/// A version is *complete* when its blocks are written, *durable* when its blocks are flushed and a flushed
/// slot names it, and *visible* when readers may use it. A round makes the newest complete version durable;
/// versions that are completed meanwhile share the next round. Nothing between two rounds can damage the
/// durable version: a round writes the slot that does not hold it, and the caller does not reuse its pages
/// (see `keptVersions`).
///
/// After a failed flush nothing more is committed: the kernel may have dropped the pages, so the content of
/// the disk is unknown. The commits that were not durable are void, and the durable version is the newest
/// again. Other handles may write once no reader holds a void commit, whose pages are then free to them.
///
/// Thread rule: any thread.
package final class CommitPipeline: @unchecked Sendable {
  // @unchecked: `lock` guards all mutable state, `roundLock` the rounds.

  /// Called with nil when a version is durable, or with the reason why it could not become durable.
  package typealias Completion = @Sendable (String?) -> Void

  private struct State {
    var complete: VersionRecord
    var durable: VersionRecord
    var durableSlot: Int
    /// The version that this handle has written into both slots and flushed.
    var mirrored: VersionRecord?
    /// The version that the running round makes durable.
    var target: VersionRecord?
    var failure: String?
    var transactionIsOpen = false
    var holdsWriting = false
    /// True once this handle has flushed the version from which it begins.
    var hasBegun = false
    var wanted: UInt64 = 0
    /// The newest version for whose durability a caller waits.
    var urgent: UInt64 = 0
    /// True while the flusher thread waits for its next round to be due, and need not be woken by another
    /// commit.
    var isPacing = false
    /// When the last round began.
    var lastRound: UInt64 = 0
    /// Completions whose versions are not durable yet, in order of version.
    var completions: [(version: UInt64, call: Completion)] = []
    /// Calls for the flusher thread to make, with nil or with the reason of the failure.
    var ready: [(call: Completion, failure: String?)] = []
    var isStopping = false
    var isInRound = false
    /// The processor time of the flusher thread so far.
    var flusherNanoseconds: UInt64 = 0
    /// True until void versions were reported.
    var owesNotice = false
  }

  private let storage: any Storage
  private let coordination: Coordination
  let identity: DatabaseIdentity
  private let lock = Lock()
  private let roundLock = Lock()
  private var state: State
  private var flusher: Thread?
  /// The newest version for readers of this process. It is ahead of the shared cell after commits without a
  /// flush, until these fail.
  private let ownVisible: VersionCell
  private let ownMemory: UnsafeMutableRawPointer
  /// Called without any lock, with each version that becomes visible to this process.
  private let becameVisible: @Sendable (UInt64) -> Void
  /// Called without any lock, when versions that this process has seen are void.
  private let lostVersions: @Sendable (UInt64) -> Void

  package init(
    storage: any Storage, coordination: Coordination, recovered: Recovery,
    becameVisible: @escaping @Sendable (UInt64) -> Void = { _ in },
    lostVersions: @escaping @Sendable (UInt64) -> Void = { _ in }
  ) {
    self.storage = storage
    self.coordination = coordination
    self.becameVisible = becameVisible
    self.lostVersions = lostVersions
    identity = recovered.identity
    state = State(
      complete: recovered.record, durable: recovered.record, durableSlot: recovered.slot)
    ownMemory = .allocate(byteCount: VersionCell.encodedBytes, alignment: 64)
    ownMemory.initializeMemory(as: UInt8.self, repeating: 0, count: VersionCell.encodedBytes)
    ownVisible = VersionCell(ownMemory)
    ownVisible.store(recovered.record)
  }

  deinit { ownMemory.deallocate() }

  /// The newest version that readers of this process may use. Never waits. Goes back only when commits that
  /// were not durable become void.
  package func visible() -> VersionRecord {
    let shared = coordination.visible.load()
    guard let own = ownVisible.load() else {
      // `init` fills the cell, so this does not occur.
      return shared ?? lock.withLock { state.durable }
    }
    if let shared, shared.version > own.version { return shared }
    return own
  }

  /// Versions whose pages must not be written, except those that readers hold.
  package func keptVersions() -> [VersionRecord] {
    lock.withLock {
      [state.complete, state.durable, visible()] + (state.target.map { [$0] } ?? [])
    }
  }

  /// The processor time of the flusher thread, without waiting, in nanoseconds.
  package var flusherNanoseconds: UInt64 { lock.withLock { state.flusherNanoseconds } }

  package var durableVersion: UInt64 { lock.withLock { state.durable.version } }

  /// Why nothing more can be committed; nil when there is no failure.
  package var failure: String? { lock.withLock { state.failure } }

  // MARK: A transaction's course

  /// Takes the process's right to write, after waiting until commits of other processes are durable.
  ///
  /// - Parameter waiting: how long to wait; nil: without a limit.
  /// - Returns: the version to begin from, and whether another handle may have written since.
  /// - Throws: `CoordinationError.held` after too long a wait, and the errors of reading and flushing.
  package func beginTransaction(waiting: Waiting? = nil) throws -> (
    base: VersionRecord, isFresh: Bool
  ) {
    let held = try lock.withLock {
      if let failure = state.failure {
        throw EngineError.poisoned(path: storage.path, cause: failure)
      }
      state.transactionIsOpen = true
      return state.holdsWriting
    }
    do {
      // Data written to a file without a name would be lost.
      try storage.checkName()
      if held { return (lock.withLock { state.complete }, false) }
      if try !coordination.beginWriting() {
        // Another handle has undurable commits. The message wakes it; it sees the waiting writer and flushes.
        coordination.announce()
        var patience = waiting.map { Patience($0, least: Coordination.momentSeconds) }
        try coordination.beginWriting(&patience)
      }
      lock.withLock { state.holdsWriting = true }
      let recovered = try Recovery.run(storage)
      let (known, hasBegun) = lock.withLock { (state.complete, state.hasBegun) }
      if recovered.record == known, hasBegun { return (known, false) }
      // A version that readers have seen must not be replaced: they may hold it, and two versions would have
      // the same number.
      if let shown = coordination.visible.load(), shown.version > recovered.record.version {
        throw EngineError.damaged(
          path: storage.path, where: "the commit slots",
          reason:
            "version \(shown.version), which has been read, is in neither; close the file everywhere"
        )
      }
      // Another process wrote last. If it was killed, or its last flush failed, its slot may be only in
      // memory. The slot must be on the disk before a page of the version before it is overwritten. So must
      // the file's name: the process that created the file, or renamed a compacted one into place, may have
      // been killed before it flushed the folder.
      try write(CommitSlot(record: recovered.record, identity: identity), to: recovered.slot)
      do {
        try storage.flush()
        try storage.flushName()
      } catch let error where error.operation == "open" {
        // The folder: nothing failed to be flushed, and another try may succeed.
        throw error
      } catch {
        throw failed(error, "before this handle's first commit", durable: nil)
      }
      // A process that was killed between its flush and its publication has left readers with the version
      // before, whose pages will be overwritten next.
      if coordination.visible.load() != recovered.record {
        coordination.visible.store(recovered.record)
        coordination.announce()
      }
      if recovered.record != known { ownVisible.store(recovered.record) }
      lock.withLock {
        state.hasBegun = true
        state.complete = recovered.record
        state.durable = recovered.record
        state.durableSlot = recovered.slot
      }
      if recovered.record != known { becameVisible(recovered.record.version) }
      return (recovered.record, recovered.record != known)
    } catch {
      try endTransaction()
      tellOfLostVersions()
      throw error
    }
  }

  /// Ends the transaction, committed or not.
  package func endTransaction() throws(SystemError) {
    lock.lock()
    defer { lock.unlock() }
    state.transactionIsOpen = false
    try releaseIfIdle()
  }

  /// Gives up the right to write once this handle has nothing left to flush, or can flush nothing. Requires
  /// the lock.
  private func releaseIfIdle() throws(SystemError) {
    guard state.holdsWriting, !state.transactionIsOpen else { return }
    if state.complete.version != state.durable.version {
      // The running round is writing its version to the file.
      guard state.failure != nil, !state.isInRound else { return }
      state.holdsWriting = false
      return coordination.endWriting(onceUnreadBehind: state.durable.version)
    }
    state.holdsWriting = false
    try coordination.endWriting()
  }

  /// Records a version whose blocks are all written.
  ///
  /// - Throws: `EngineError.poisoned` or `.closed`; the version is then void.
  package func complete(_ record: VersionRecord) throws {
    try lock.withLock {
      if let failure = state.failure {
        throw EngineError.poisoned(path: storage.path, cause: failure)
      }
      if state.isStopping { throw EngineError.closed(path: storage.path) }
      state.complete = record
    }
  }

  /// Lets readers of this process use the newest complete version before it is durable.
  package func showComplete() {
    let version = lock.withLock {
      ownVisible.store(state.complete)
      return state.complete.version
    }
    becameVisible(version)
  }

  // MARK: Rounds

  /// Makes all complete versions durable before it returns.
  ///
  /// - Throws: `EngineError.poisoned` when a flush fails or has failed.
  package func makeDurable() throws {
    var published: UInt64?
    defer {
      if let published {
        coordination.announce()
        becameVisible(published)
      }
      tellOfLostVersions()
    }
    roundLock.lock()
    defer { roundLock.unlock() }
    lock.withLock { state.isInRound = true }
    defer { lock.withLock { endRound() } }
    try round(&published)
  }

  /// Requires the lock.
  private func endRound() {
    state.isInRound = false
    // If it fails, closing the lock file's descriptor gives up the right to write.
    if state.failure != nil { try? releaseIfIdle() }
  }

  /// Starts the flusher thread, which `requestDurability` and completions require, unless it runs.
  package func startFlusher() throws {
    try lock.withLock {
      if state.isStopping { throw EngineError.closed(path: storage.path) }
      if flusher != nil { return }
      flusher = try Thread(name: "sheaf-flusher") { [weak self] in
        while let pipeline = self, pipeline.flushNext() {}
      }
    }
  }

  /// Makes the flusher thread make the newest complete version durable, without waiting for it.
  package func requestDurability() {
    lock.withLock {
      state.wanted = state.complete.version
      if !state.isPacing { lock.wakeAll() }
    }
  }

  /// Makes the flusher thread call `completion` once the newest complete version is durable, whichever thread
  /// made it so. Completions run in the order of versions, without any lock.
  ///
  /// - Parameter isUrgent: false when more commits will soon follow that may share the round.
  package func onDurable(isUrgent: Bool = true, _ completion: @escaping Completion) {
    lock.withLock {
      if isUrgent { state.urgent = state.complete.version }
      if let failure = state.failure {
        state.ready.append((completion, failure))
      } else if state.complete.version <= state.durable.version {
        state.ready.append((completion, nil))
      } else {
        state.completions.append((state.complete.version, completion))
      }
      lock.wakeAll()
    }
  }

  /// Refuses all further commits. Those that are not durable become void.
  package func fail(_ reason: String) {
    lock.withLock {
      if state.failure == nil {
        state.failure = reason
        // First, so that no reader can take a void version. A reader that has taken one holds it in its slot.
        ownVisible.store(state.durable)
        state.owesNotice = true
      }
      state.ready += state.completions.map { ($0.call, reason) }
      state.completions = []
      lock.wakeAll()
      // If it fails, closing the lock file's descriptor gives up the right to write.
      try? releaseIfIdle()
    }
  }

  /// Reports void versions, once after a failure. Call it without any lock.
  private func tellOfLostVersions() {
    let newest = lock.withLock {
      defer { state.owesNotice = false }
      return state.owesNotice ? state.durable.version : nil
    }
    if let newest { lostVersions(newest) }
  }

  /// The milliseconds between rounds for which no caller waits. Flushing without pauses costs an import a
  /// tenth of its processor time, and the disk several times as many requests.
  private static let pace: UInt64 = 10

  /// Waits for work and does it; returns false when the pipeline is stopping.
  private func flushNext() -> Bool {
    lock.lock()
    state.flusherNanoseconds = System.threadNanoseconds
    while !state.isStopping && state.ready.isEmpty
      && (state.wanted <= state.durable.version || state.failure != nil)
    {
      lock.wait()
    }
    if state.ready.isEmpty { waitForPace() }
    let stop = state.isStopping
    let due = state.ready
    state.ready = []
    lock.unlock()
    for completion in due { completion.call(completion.failure) }
    if stop { return false }
    // The failure is stored in the state: the next commit, flush or close throws it.
    if due.isEmpty { _ = try? makeDurable() }
    return true
  }

  /// Waits until a round is due, a caller waits for one, or there is other work. Requires the lock.
  private func waitForPace() {
    state.isPacing = true
    defer { state.isPacing = false }
    while !state.isStopping, state.ready.isEmpty, state.failure == nil,
      state.urgent <= state.durable.version, state.wanted > state.durable.version
    {
      let passed = (System.monotonicNanoseconds &- state.lastRound) / 1_000_000
      if passed >= Self.pace { return }
      lock.wait(milliseconds: Int(Self.pace - passed))
    }
  }

  /// Makes one round. Requires `roundLock`.
  ///
  /// - Parameter published: receives the version that became visible, also when an error follows.
  private func round(_ published: inout UInt64?) throws {
    // One step under the lock. While everything is durable, another handle may write; if this handle then
    // took over that version, an older target would be written over it.
    let due = try lock.withLock { () throws -> (target: VersionRecord, slot: Int)? in
      state.lastRound = System.monotonicNanoseconds
      if let failure = state.failure {
        throw EngineError.poisoned(path: storage.path, cause: failure)
      }
      guard state.complete.version != state.durable.version else { return nil }
      state.target = state.complete
      return (state.complete, state.durableSlot ^ 1)
    }
    guard let (target, slot) = due else { return }
    let durable = durableVersion
    do {
      try storage.flush()
    } catch {
      throw failed(
        error, "before version \(target.version) was written", durable: durable,
        "what was committed after it is not in the file")
    }
    do {
      try write(CommitSlot(record: target, identity: identity), to: slot)
      try storage.flush()
    } catch {
      throw failed(
        error, "on version \(target.version)", durable: durable,
        "whether version \(target.version) is too, shows when the file is opened again")
    }
    do {
      try storage.checkName()
      try storage.checkLength(Int(clamping: target.end))
    } catch EngineError.displaced(let path, let reason) {
      fail(reason)
      throw EngineError.displaced(path: path, reason: reason)
    } catch {
      // The slot is written: a transaction that began from the version before it would overwrite this
      // version's pages.
      throw failed(
        error, "after version \(target.version) was written", durable: durable,
        "whether version \(target.version) is too, shows when the file is opened again")
    }
    try lock.withLock {
      state.durable = target
      state.durableSlot = slot
      state.target = nil
      coordination.visible.store(target)
      published = target.version
      if ownVisible.load()?.version ?? 0 < target.version { ownVisible.store(target) }
      let due = state.completions.prefix { $0.version <= target.version }
      state.ready += due.map { ($0.call, nil) }
      state.completions.removeFirst(due.count)
      lock.wakeAll()
      try releaseIfIdle()
    }
  }

  private func write(_ slot: CommitSlot, to index: Int) throws {
    try slot.page().withUnsafeBytes { try storage.write($0, at: index * Layout.pageBytes) }
  }

  /// Writes the durable version into the other slot too, so that damage to one slot loses nothing. Call it
  /// when everything is durable and this process may write. Closing after `trim` calls it again; a slot that
  /// already has the version needs no flush.
  package func mirrorSlot() throws {
    roundLock.lock()
    defer { roundLock.unlock() }
    let (record, slot, failure, isMirrored) = lock.withLock {
      (state.durable, state.durableSlot ^ 1, state.failure, state.mirrored == state.durable)
    }
    guard failure == nil else { return }
    do {
      let page = CommitSlot(record: record, identity: identity).page()
      // Another handle may have written to it meanwhile, in vain, and closed.
      if isMirrored, (try? holds(page, slot)) ?? false { return }
      try page.withUnsafeBytes { try storage.write($0, at: slot * Layout.pageBytes) }
      try storage.flush()
    } catch {
      throw failed(error, "on a second slot for version \(record.version)", durable: record.version)
    }
    lock.withLock { state.mirrored = record }
  }

  /// Returns whether a slot's page has these bytes.
  private func holds(_ page: [UInt8], _ slot: Int) throws -> Bool {
    var found = [UInt8](repeating: 0, count: page.count)
    let offset = slot * Layout.pageBytes
    let count = try found.withUnsafeMutableBytes { try storage.read(into: $0, at: offset) }
    return count == page.count && found == page
  }

  /// Refuses all further commits. The error says what failed, where, and which versions are safe.
  ///
  /// - Parameter durable: the version known to be on the disk.
  private func failed(
    _ error: any Error, _ place: String, durable: UInt64?, _ rest: String = ""
  ) -> EngineError {
    var cause: String
    if let error = error as? SystemError {
      cause = "\(error.operation) failed \(place) (\(error.reason))"
    } else {
      cause = "\(error) (\(place))"
    }
    if let durable { cause += ": all up to version \(durable) is on the disk" }
    if !rest.isEmpty { cause += "; " + rest }
    fail(cause)
    return .poisoned(path: storage.path, cause: cause)
  }

  /// Ends the flusher thread. Commits that it has not flushed are void, and their completions receive the
  /// reason.
  package func stop() {
    let thread = lock.withLock {
      state.isStopping = true
      lock.wakeAll()
      defer { flusher = nil }
      return flusher
    }
    thread?.join()
    let (due, late) = lock.withLock {
      defer { (state.ready, state.completions) = ([], []) }
      return (state.ready, state.completions)
    }
    for completion in due { completion.call(completion.failure) }
    let reason = "the database was released without close, before this was flushed"
    for completion in late { completion.call(reason) }
    // A snapshot that is still held keeps the lock file open, and with it the right to write.
    if lock.withLock({ state.complete.version != state.durable.version }) { fail(reason) }
  }
}
