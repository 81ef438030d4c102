import Base

/// An open database file.
///
/// Thread rule: `Sendable`; every method may be called from any thread. `snapshot()` reads; it never waits
/// and takes no lock. `write` and `beginWrite` write: one writer at a time among all threads and processes,
/// in the order of their requests.
///
/// Close the database when done: `close` makes everything durable, truncates free space at the end of the
/// file, and reports failures. Releasing it without `close` loses no durable commit.
public final class Database: @unchecked Sendable {
  // @unchecked: `shared` is guarded by `lock`; `memory` belongs to the holder of the writer's turn.

  /// How a file is opened.
  public struct Options: Sendable {
    /// What may be done with the file.
    public enum Access: Sendable {
      /// Read and write; create the file if it is missing.
      case create
      /// Read and write; `EngineError.missing` if there is no file.
      case existing
      /// Read; the file is not changed in any way.
      case readOnly
    }
    /// What may be done with the file, and whether it is created.
    public var access: Access
    /// The durability of a `write` or `commit` that gives none.
    public var durability: Durability
    /// Called when a file is opened for writing, with the file's length and the bytes in use
    /// (`FileUse.needed`, which excludes gaps). True compacts the file, unless it is in use elsewhere. See
    /// `compactionAtOpen`.
    public var shouldCompact: (@Sendable (_ total: Int, _ used: Int) -> Bool)?
    /// The maximum number of versions alive: the newest, and older ones that are held in any process. A
    /// commit that would exceed it throws `EngineError.tooManyVersions` and is rolled back; it succeeds after
    /// a version was released. Nil: no limit. With 1, nothing may be read during a write; a session holds the
    /// version from which its transaction began, so it needs 2.
    public var maximumActiveVersions: Int?
    /// The tables that the file must have; nil: any.
    ///
    /// An empty file gets them. A file with the same schema version must have exactly these tables and
    /// columns; a file with a later version is refused; one with an earlier version is migrated: see
    /// `migration`.
    public var schema: Schema?
    /// Changes a file whose schema version is earlier than that of `schema`, in the transaction that sets the
    /// new version. Afterwards missing tables are created, and missing columns are added if they allow null
    /// or have a default; then the tables must equal the declared ones. Otherwise, and when the migration
    /// throws, the file stays unchanged and opening throws.
    ///
    /// Runs once, on the thread that opens the database, in the process that comes first.
    ///
    /// - Throws: any error; `Database.open` rethrows it, and the file stays unchanged.
    public var migration:
      (@Sendable (_ transaction: borrowing WriteTransaction, _ oldVersion: UInt64) throws -> Void)?
    /// How long opening the file waits, and how long closing it waits for a last turn among the writers.
    /// Write transactions wait for each other without a limit.
    public var waiting = Waiting()
    /// Sizes that tests set to small values.
    package var limits = TreeEditor.Limits()
    package var indexLimits = IndexLimits()
    /// The number of kept versions in a part of the history.
    package var keptInPart = StoredHistory.mostInPart
    /// Called by tests between a writer's reading of the pipeline and of the readers.
    package var betweenLooks: (@Sendable () -> Void)?
    /// True in a test that writes wrong data on purpose, for which strict mode would end the process.
    package var isWrongOnPurpose = false

    /// Creates options with defaults for the rest: no compaction, no schema.
    ///
    /// - Parameters:
    ///   - access: what may be done with the file.
    ///   - durability: the durability of a `write` or `commit` that gives none.
    public init(access: Access = .create, durability: Durability = .full) {
      self.access = access
      self.durability = durability
    }
  }

  struct Shared {
    var isClosed = false
    /// Asynchronous writes that were requested and are neither made nor cancelled.
    var asyncWritesDue = 0
    var refusesAsyncWrites = false
    /// Transactions that have begun or wait for their turn, and have not ended.
    var transactionsDue = 0
    /// Threads inside a closure of a connection.
    var threadsInTurns: [ExecutionContext: Int] = [:]
    var hasWritten = false
    /// True after a transaction that was rolled back, or failed, with blocks in the file: perhaps at its end.
    var hasWrittenInVain = false
    var bytesWritten = 0
    /// How long to wait for a turn among the writers; nil: without a limit.
    var turnWaiting: Waiting?
    /// How long to wait for the last turn, in which the file is truncated; that turn can be skipped.
    var tidyingWaiting = Waiting()
    /// Nil once the handle is closed: only handles that can assign more keys keep them.
    var given: GivenNumbers?
  }

  /// The absolute path of the file, with all links resolved.
  public let path: String
  /// How the file was opened.
  public let options: Options
  /// The fault of one of the two commit slots when the file was opened; nil when there was none. The database
  /// was opened at the version of the other slot.
  public let recoveryNote: String?

  /// Calls for each newer version that becomes visible to this process.
  package let listeners: CommitListeners

  let coordination: Coordination
  let queue: WriterQueue
  let lock = Lock()
  var shared = Shared()
  /// The compaction that `options.shouldCompact` decided when the file was opened.
  public internal(set) var compactionAtOpen: CompactionResult?
  /// Asynchronous writes, one after the other; `asyncReads` are for reads and other work in the background.
  let asyncWrites = WorkQueue(name: "sheaf-writer", mostThreads: 1)
  let asyncReads = WorkQueue(name: "sheaf-reader", mostThreads: max(2, System.processorCount))
  let current = CurrentParts()
  private let sharedSnapshots = SharedSnapshots()
  /// Kept between transactions.
  let memory = WriterMemory()

  init(
    path: String, options: Options, coordination: Coordination, storage: any Storage,
    locks: FileLocks? = nil, recovered: Recovery
  ) throws {
    self.path = path
    self.options = options
    self.coordination = coordination
    recoveryNote = recovered.fallback
    listeners = CommitListeners(coordination)
    queue = WriterQueue(coordination, waiting: options.waiting)
    shared.given = .shared(
      GivenNumbers.Scope(database: recovered.identity, lockFile: coordination.identity))
    let parts = try makeParts(storage, locks, recovered)
    shared.tidyingWaiting = options.waiting
    current.set(parts)
  }

  deinit {
    listeners.stop()
    asyncWrites.stop()
    asyncReads.stop()
  }

  func makeParts(
    _ storage: any Storage, _ locks: FileLocks?, _ recovered: Recovery
  ) throws -> FileParts {
    let listeners = listeners
    return try FileParts(
      storage: storage, locks: locks, coordination: coordination, recovered: recovered,
      becameVisible: { listeners.tell(of: $0) }, lostVersions: { listeners.tellAgain(of: $0) })
  }

  /// The current parts, read without a lock.
  ///
  /// - Throws: `EngineError.closed`.
  var parts: FileParts {
    get throws {
      guard let parts = current.get() else { throw EngineError.closed(path: path) }
      return parts
    }
  }

  // MARK: Reading

  /// The newest version: this handle's commits of any durability, and the durable commits of others. It is
  /// held until the snapshot is released.
  ///
  /// Never waits for a writer. Cost: a few atomic stores; some system calls where the lock file cannot be
  /// written. After a failed flush the commits that were not durable are void, and the version before them is
  /// returned. Snapshots of one version share one of the 2,048 places that all processes together have for
  /// held versions.
  ///
  /// - Throws: `EngineError.closed`, `.busy` when all places are taken, `.damaged`.
  public func snapshot() throws -> Snapshot {
    try snapshot(usesSpare: false)
  }

  /// The number of the version that `snapshot()` would return. Cost: a few atomic loads.
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

  /// True when a version that this handle has seen is void, because a flush failed before it was durable.
  func isLost(_ version: UInt64) throws -> Bool {
    try version > newestVersion && parts.pipeline.failure != nil
  }

  /// Like `snapshot()`, but works also when all places for held versions are taken, for finding their
  /// holders. Release it soon.
  ///
  /// - Throws: the errors of `snapshot()`.
  package func snapshotForLooking() throws -> Snapshot {
    try snapshot(usesSpare: true)
  }

  /// Holds the newest version without reading any of it, and returns its storage.
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
        // A caller that reads all slots gets one of its own.
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

  /// Returns nil when a compaction has replaced the file meanwhile.
  private func hold(_ parts: FileParts, _ locked: FileLocks.Hold?, usesSpare: Bool) throws
    -> VersionHold?
  {
    let (slot, record) = try coordination.hold(usesSpare: usesSpare) {
      locked?.record ?? parts.pipeline.visible()
    }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
    return parts === (try self.parts) ? hold : nil
  }

  /// Holds the newest complete version, which readers may not use yet. Only for the holder of the writers'
  /// turn: no other thread can overwrite its pages before it is held.
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

  /// Bytes that this handle has written to blocks of the file since it was opened.
  public var bytesWritten: Int { lock.withLock { shared.bytesWritten } }

  /// Processor time of the flusher thread since the file was opened, in nanoseconds.
  package var flusherNanoseconds: UInt64 {
    current.allFlusherNanoseconds
  }

  // MARK: Durability

  /// Makes all commits durable before it returns.
  ///
  /// - Throws: `EngineError.poisoned` or `.system` when a flush fails or has failed.
  public func flush() throws {
    try translatingErrors(path) { try parts.pipeline.makeDurable() }
  }

  /// Registers a transaction, for which `close` waits.
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
    current.releaseReplaced()
  }

  /// Waits for the writers' turn. Before it waits for another handle, it makes this handle's commits durable,
  /// since the other handle could not write until then.
  ///
  /// - Parameter waiting: how long to wait; nil: as `turnWaiting` says.
  func enterQueue(waiting: Waiting? = nil) throws -> WriterQueue.Turn {
    _ = try parts
    try coordination.checkLockFile()
    return try queue.enter(waiting: waiting ?? turnWaiting) { try parts.pipeline.makeDurable() }
  }

  /// How long write transactions wait for their turn; nil: without a limit.
  package var turnWaiting: Waiting? {
    get { lock.withLock { shared.turnWaiting } }
    set { lock.withLock { shared.turnWaiting = newValue } }
  }

  /// From now on, makes undurable commits durable when a writer of another handle waits for its turn.
  ///
  /// - Returns: false when no thread could be started for it.
  func isAskedToMakeWay() -> Bool {
    // A strong reference only during the work: otherwise the handle could be released on this thread.
    listeners.watch { [weak self, queue] in
      guard queue.othersWait, let self, let parts = try? self.parts else { return }
      // The pipeline stores a failure: the next commit, flush or close throws it.
      try? parts.pipeline.makeDurable()
    }
  }
}
