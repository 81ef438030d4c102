import Base

/// An open database file.
///
/// Thread rule: `Sendable`; every method may be called from any thread. Reading goes through `snapshot()`,
/// which never waits and takes no lock. Writing goes through `write` or `beginWrite`: one writer at a time
/// among all threads and processes, in the order of asking.
///
/// Close the database when done: `close` makes everything durable, gives free space at the file's end back,
/// and reports failures. Releasing it without `close` loses no durable commit.
public final class Database: @unchecked Sendable {
  // @unchecked: `current` is an atomic pointer to an immutable object; `shared` is guarded by `lock`;
  // `memory` belongs to the holder of the writer's turn.

  /// How a file is opened.
  public struct Options: Sendable {
    /// How the file may be used.
    public enum Access: Sendable {
      /// For reading and writing; created where missing.
      case create
      /// For reading and writing; `EngineError.missing` where there is none.
      case existing
      /// For reading; the file is not changed in any way.
      case readOnly
    }
    /// How the file may be used, and whether it is created.
    public var access: Access
    /// The durability of `write` and `commit` without one of their own.
    public var durability: Durability
    /// Asked when a file is opened for writing, with its length and the bytes in use (`FileUse.needed`, which
    /// leaves gaps out): true compacts it, unless somebody else uses it. See `compactionAtOpen`.
    public var shouldCompact: (@Sendable (_ total: Int, _ used: Int) -> Bool)?
    /// The most versions that may be alive: the newest, and older ones that somebody holds, in any
    /// process. A commit that would exceed it throws `EngineError.tooManyVersions` and is rolled back;
    /// it works again once a version has been released. Nil: no limit. With 1 nobody may read while
    /// somebody writes; a session holds the version that its transaction began from, so it needs 2.
    public var maximumActiveVersions: Int?
    /// The tables that the file must have; nil: whatever it has.
    ///
    /// An empty file gets them. A file of the same version must have them, to the column; one of a
    /// later version is refused; one of an earlier version is migrated: see `migration`.
    public var schema: Schema?
    /// Changes a file whose schema has an earlier version than `schema`, in the transaction that gives it the
    /// new version. Afterwards, tables that are still missing are created, and missing columns are added, if
    /// they may be null or have a default; then the tables must be the declared ones. Otherwise, and when the
    /// migration throws, the file stays as it was, and opening throws.
    ///
    /// Runs on the thread that opens the database, once, whichever process comes first.
    ///
    /// - Throws: any error; `Database.open` throws it on, and the file stays as it was.
    public var migration:
      (@Sendable (_ transaction: borrowing WriteTransaction, _ oldVersion: UInt64) throws -> Void)?
    /// How long opening the file waits, and how long closing it waits for a last turn among the writers.
    /// Write transactions wait for each other as long as it takes.
    public var waiting = Waiting()
    /// Sizes that tests make tiny.
    package var limits = TreeEditor.Limits()
    package var indexLimits = IndexLimits()
    /// False in tests that imitate a system that cannot watch files.
    package var watchesLockFile = true
    /// Called, in tests, between a writer's look at the pipeline and its look at the readers.
    package var betweenLooks: (@Sendable () -> Void)?
    /// True in a test that writes wrong data on purpose, for which strict mode would end the process.
    package var isWrongOnPurpose = false

    /// Options with defaults for everything else: no question about compaction, no schema.
    ///
    /// - Parameters:
    ///   - access: how the file may be used.
    ///   - durability: the durability of `write` and `commit` without one of their own.
    public init(access: Access = .create, durability: Durability = .full) {
      self.access = access
      self.durability = durability
    }
  }

  struct Shared {
    /// Every set of parts so far: earlier ones stay for the snapshots that read through them.
    var parts: [FileParts] = []
    var isClosed = false
    /// Asynchronous writes that were asked for and are neither made nor cancelled.
    var asyncWritesDue = 0
    var refusesAsyncWrites = false
    /// Transactions that were begun, or wait for their turn, and have not ended.
    var transactionsDue = 0
    /// Threads inside a closure of a connection.
    var threadsInTurns: [ExecutionContext: Int] = [:]
    var hasWritten = false
    var bytesWritten = 0
    /// How long to wait for a turn among the writers; nil: as long as it takes.
    var turnWaiting: Waiting?
    /// How long to wait for the turn at the end, in which a file is trimmed; it can be skipped.
    var tidyingWaiting = Waiting()
    /// Nil once the handle is closed: only handles that can give more keys keep them.
    var given: GivenNumbers?
  }

  /// The absolute path of the file, with all links followed.
  public let path: String
  /// How the file was opened.
  public let options: Options
  /// The fault of one of the two commit slots when the file was opened; nil when there was none. The database
  /// was opened at the version that the other slot names.
  public let recoveryNote: String?

  /// Called whenever a newer version has become visible to this process.
  package let listeners: CommitListeners

  let coordination: Coordination
  let queue: WriterQueue
  let lock = Lock()
  var shared = Shared()
  /// The compaction for which `options.shouldCompact` was asked when the file was opened.
  public internal(set) var compactionAtOpen: CompactionResult?
  /// Asynchronous writes, one after the other; `asyncReads` are for reads and other work in the background.
  let asyncWrites = WorkQueue(name: "sheaf-writer", mostThreads: 1)
  let asyncReads = WorkQueue(name: "sheaf-reader", mostThreads: max(2, System.processorCount))
  let current: UnsafeMutableRawPointer
  private let sharedSnapshots = SharedSnapshots()
  /// Kept from transaction to transaction.
  let memory = WriterMemory()

  init(
    path: String, options: Options, coordination: Coordination, storage: any Storage,
    locks: FileLocks? = nil, recovered: Recovery
  ) throws {
    self.path = path
    self.options = options
    self.coordination = coordination
    recoveryNote = recovered.fallback
    listeners = CommitListeners(coordination, watchesFile: options.watchesLockFile)
    queue = WriterQueue(coordination, waiting: options.waiting)
    shared.given = .shared(
      GivenNumbers.Scope(database: recovered.identity, lockFile: coordination.identity))
    current = .allocate(byteCount: 8, alignment: 8)
    current.initializeMemory(as: UInt64.self, repeating: 0, count: 1)
    let parts = try makeParts(storage, locks, recovered)
    shared.tidyingWaiting = options.waiting
    install(parts)
  }

  deinit {
    listeners.stop()
    asyncWrites.stop()
    asyncReads.stop()
    for parts in shared.parts { parts.pipeline.stop() }
    current.deallocate()
  }

  func makeParts(
    _ storage: any Storage, _ locks: FileLocks?, _ recovered: Recovery
  ) throws -> FileParts {
    let listeners = listeners
    return try FileParts(
      storage: storage, locks: locks, coordination: coordination, recovered: recovered,
      becameVisible: { listeners.tell(of: $0) }, lostVersions: { listeners.tellAgain() })
  }

  /// Makes these parts the present ones.
  func install(_ parts: FileParts) {
    lock.withLock {
      shared.parts.append(parts)
      let pointer = Unmanaged.passUnretained(parts).toOpaque()
      AtomicWord(current).store(UInt64(UInt(bitPattern: pointer)))
    }
  }

  /// The present parts, without a lock: `shared.parts` keeps every set alive.
  var parts: FileParts {
    get throws {
      guard let pointer = UnsafeRawPointer(bitPattern: UInt(AtomicWord(current).load())) else {
        throw EngineError.closed(path: path)
      }
      return Unmanaged<FileParts>.fromOpaque(pointer).takeUnretainedValue()
    }
  }

  // MARK: Reading

  /// The newest version, held until the snapshot is released: with this handle's commits of any durability,
  /// and the durable commits of others.
  ///
  /// Never waits for a writer. Cost: a few atomic stores; some system calls where the lock file cannot be
  /// written. After a failed flush the commits that were not durable are void, and it returns the version
  /// before. Snapshots of one version share one of the 2,048 places that all processes have for held
  /// versions.
  ///
  /// - Throws: `EngineError.closed`, `.busy` when all places are taken, `.damaged`.
  public func snapshot() throws -> Snapshot {
    try snapshot(usesSpare: false)
  }

  /// The number of the version that `snapshot()` would now return. Cost: a few atomic loads.
  ///
  /// - Throws: `EngineError.closed`.
  public var newestVersion: UInt64 {
    get throws {
      let parts = try parts
      guard let locks = parts.locks, locks.locksVersions else {
        return parts.pipeline.visible().version
      }
      return try translatingErrors(path) { try locks.newest().version }
    }
  }

  /// Whether a version that this handle has seen is void: a flush has failed before it was durable.
  func isLost(_ version: UInt64) throws -> Bool {
    try version > newestVersion && parts.pipeline.failure != nil
  }

  /// Like `snapshot()`, but works also when as many snapshots are held as there may be: for finding out who
  /// holds them. Release it soon.
  ///
  /// - Throws: the errors of `snapshot()`.
  package func snapshotForLooking() throws -> Snapshot {
    try snapshot(usesSpare: true)
  }

  /// The newest version, held, with its storage; nothing of it has been read yet.
  ///
  /// - Throws: the errors of `snapshot()`.
  func holdForLooking() throws -> (hold: VersionHold, storage: any Storage) {
    try translatingErrors(path) {
      while true {
        let parts = try parts
        let locked = try parts.locks?.holdNewest()
        if let hold = try hold(parts, locked, usesSpare: true) {
          return (hold, parts.blocks.storage)
        }
      }
    }
  }

  private func snapshot(usesSpare: Bool) throws -> Snapshot {
    try translatingErrors(path) {
      while true {
        let parts = try parts
        let locked = try parts.locks?.holdNewest()
        // A caller that will look at all slots gets one of its own.
        if !usesSpare,
          let known = sharedSnapshots.find(
            locked?.record ?? parts.pipeline.visible(), parts.blocks),
          parts === (try self.parts)
        {
          return known
        }
        guard let hold = try hold(parts, locked, usesSpare: usesSpare) else { continue }
        let snapshot = try Snapshot(hold: hold, blocks: parts.blocks)
        if !usesSpare { sharedSnapshots.add(snapshot) }
        return snapshot
      }
    }
  }

  /// Returns nil when a compaction has put another file in place meanwhile.
  private func hold(_ parts: FileParts, _ locked: FileLocks.Hold?, usesSpare: Bool) throws
    -> VersionHold?
  {
    let (slot, record) = try coordination.hold(usesSpare: usesSpare) {
      locked?.record ?? parts.pipeline.visible()
    }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
    return parts === (try self.parts) ? hold : nil
  }

  /// Holds the newest complete version, though readers may not take it yet. Only for the holder of the
  /// writers' turn: nobody can write over its pages before it is held.
  func hold(_ record: VersionRecord, _ parts: FileParts) throws -> Snapshot {
    if let known = sharedSnapshots.find(record, parts.blocks) { return known }
    let (slot, record) = try coordination.hold { record }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination)
    let snapshot = try Snapshot(hold: hold, blocks: parts.blocks)
    sharedSnapshots.add(snapshot)
    return snapshot
  }

  /// True for snapshots that this handle made.
  func owns(_ snapshot: Snapshot) -> Bool { snapshot.hold.coordination === coordination }

  /// True when no table of the newest version has an object.
  ///
  /// - Complexity: O(tables).
  /// - Throws: as `snapshot`.
  public var isEmpty: Bool { get throws { try snapshot().isEmpty } }

  /// Bytes that this handle has written to the file's blocks since it was opened.
  public var bytesWritten: Int { lock.withLock { shared.bytesWritten } }

  /// Processor time, in nanoseconds, that the flusher thread has used since the file was opened.
  package var flusherNanoseconds: UInt64 {
    lock.withLock { shared.parts }.reduce(0) { $0 &+ $1.pipeline.flusherNanoseconds }
  }

  // MARK: Durability

  /// Makes every commit so far durable before it returns.
  ///
  /// - Throws: `EngineError.poisoned` or `.system` when a flush fails or has failed.
  public func flush() throws {
    try translatingErrors(path) { try parts.pipeline.makeDurable() }
  }

  /// Makes `close` wait for a transaction.
  ///
  /// - Throws: `EngineError.closed`.
  func addTransaction() throws {
    try lock.withLock {
      if shared.isClosed { throw EngineError.closed(path: path) }
      shared.transactionsDue += 1
    }
  }

  func removeTransaction() {
    lock.withLock {
      shared.transactionsDue -= 1
      if shared.isClosed { lock.wakeAll() }
    }
  }

  /// Waits for the writer's turn. Before it waits for another handle, it makes this handle's commits durable,
  /// since the other could not write until then.
  ///
  /// - Parameter waiting: how long, if not as long as `turnWaiting` says.
  func enterQueue(waiting: Waiting? = nil) throws -> WriterQueue.Turn {
    _ = try parts
    try coordination.checkLockFile()
    return try queue.enter(waiting: waiting ?? turnWaiting) { try parts.pipeline.makeDurable() }
  }

  /// How long write transactions wait for their turn; nil: as long as it takes.
  package var turnWaiting: Waiting? {
    get { lock.withLock { shared.turnWaiting } }
    set { lock.withLock { shared.turnWaiting = newValue } }
  }

  /// From now on, commits that are not durable are made durable when a writer of another handle asks for its
  /// turn.
  ///
  /// - Returns: false when no thread could be started for it.
  func isAskedToMakeWay() -> Bool {
    // A strong reference only while there is work: otherwise the handle could be released here, on this
    // thread.
    listeners.watch { [weak self, queue] in
      guard queue.othersWait, let self, let parts = try? self.parts else { return }
      // The pipeline keeps a failure: the next commit, flush or close throws it.
      try? parts.pipeline.makeDurable()
    }
  }
}
