import Base

/// An open database file.
///
/// Thread rule: `Sendable`; every method may be called from any thread. Reading goes through
/// `snapshot()`, which never waits and takes no lock. Writing goes through `write` or `beginWrite`:
/// one writer at a time among all threads and processes, in the order of asking.
///
/// Close the database when done: `close` makes everything durable, gives free space at the file's
/// end back, and reports what failed. Releasing it without `close` loses no durable commit.
public final class Database: @unchecked Sendable {
  // @unchecked: `current` is an atomic pointer to an immutable object; `shared` is guarded by
  // `lock`; `memory` belongs to whoever has the writer's turn.

  /// How a file is opened.
  public struct Options: Sendable {
    /// What may be done with the file.
    public enum Access: Sendable {
      /// For reading and writing; created where missing.
      case create
      /// For reading and writing; `EngineError.missing` where there is none.
      case existing
      /// For reading; the file is not changed in any way.
      case readOnly
    }
    /// What may be done with the file, and whether it is created.
    public var access: Access
    /// What `write` and `commit` do when not told otherwise.
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
    /// Changes a file whose schema has an earlier version than `schema`, in the one transaction that
    /// gives it the new version. Afterwards, tables that are still missing are created, and columns that
    /// are missing are added, if they may be null or have a default; then the tables must be the declared
    /// ones. Otherwise, and when the migration throws, the file stays as it was, and opening throws.
    ///
    /// Runs on the thread that opens the database, once, whichever process comes first.
    ///
    /// - Throws: what it likes: `Database.open` throws it on, and the file stays as it was.
    public var migration:
      (@Sendable (_ transaction: borrowing WriteTransaction, _ oldVersion: UInt64) throws -> Void)?
    /// For how long opening the file waits, and closing it for a last turn among the writers. Write
    /// transactions wait for each other as long as it takes.
    public var waiting = Waiting()
    /// Sizes that tests make tiny.
    package var limits = TreeEditor.Limits()
    package var indexLimits = IndexLimits()
    /// False where tests want to see what becomes of a system that cannot watch files.
    package var watchesLockFile = true
    /// What tests have happen between a writer's look at the pipeline and its look at the readers.
    package var betweenLooks: (@Sendable () -> Void)?
    /// True where a test writes what is wrong on purpose, which strict mode would end the process for.
    package var isWrongOnPurpose = false

    /// Options with everything else as it is by default: no question about compaction, no schema.
    ///
    /// - Parameters:
    ///   - access: what may be done with the file.
    ///   - durability: what `write` and `commit` do when not told otherwise.
    public init(access: Access = .create, durability: Durability = .full) {
      self.access = access
      self.durability = durability
    }
  }

  struct Shared {
    /// Every set of parts so far: earlier ones stay for the snapshots that look at them.
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
    /// For how long to wait for a turn among the writers; nil: as long as it takes.
    var turnWaiting: Waiting?
    /// The same for the turn in which a file is tidied up, which can go without.
    var tidyingWaiting = Waiting()
    /// Nil once the handle is closed: kept by those alone who can give more.
    var given: GivenNumbers?
  }

  /// The file, absolute, behind all links on the way that was given.
  public let path: String
  /// How the file was opened.
  public let options: Options
  /// What was wrong with one of the two commit slots when the file was opened; nil when all was
  /// well. The database was opened at the version that the other slot names.
  public let recoveryNote: String?

  /// Called whenever a newer version has become visible to this process.
  package let listeners: CommitListeners

  let coordination: Coordination
  let queue: WriterQueue
  let lock = Lock()
  var shared = Shared()
  /// What became of the question `options.shouldCompact` when the file was opened.
  public internal(set) var compactionAtOpen: CompactionResult?
  /// Asynchronous writes, one after the other; and reads, and what else wants a background thread.
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

  /// Makes these the parts that everything uses from now on.
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

  /// The newest version, held until the snapshot is released: what this handle has committed with any
  /// durability, and what others' commits have brought to the disk.
  ///
  /// Never waits, whatever a writer is doing. Cost: a few atomic stores; some system calls where
  /// the lock file cannot be written. After a failed flush the commits that were not durable are
  /// gone, and it is of the version before. Snapshots of one version share one of the 2,048 places
  /// that all processes have for held versions.
  ///
  /// - Throws: `EngineError.closed`, `.busy` when all places are taken, `.damaged`.
  public func snapshot() throws -> Snapshot {
    try snapshot(usesSpare: false)
  }

  /// The number of the version that `snapshot()` would give just now. Cost: a few atomic loads.
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

  /// Whether a version that this handle has seen has come to nothing: a flush has failed before it
  /// was durable.
  func isLost(_ version: UInt64) throws -> Bool {
    try version > newestVersion && parts.pipeline.failure != nil
  }

  /// What `snapshot()` gives, also when as many snapshots are held as there may be: for those who find out
  /// by whom, and release it soon.
  ///
  /// - Throws: what `snapshot()` throws.
  package func snapshotForLooking() throws -> Snapshot {
    try snapshot(usesSpare: true)
  }

  /// The newest version, held, of which nothing has been read yet, and where it is.
  ///
  /// - Throws: what `snapshot()` throws.
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
        // Who is about to look at all slots has one of its own.
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

  /// Nil: a compaction has put another file in place meanwhile.
  private func hold(_ parts: FileParts, _ locked: FileLocks.Hold?, usesSpare: Bool) throws
    -> VersionHold?
  {
    let (slot, record) = try coordination.hold(usesSpare: usesSpare) {
      locked?.record ?? parts.pipeline.visible()
    }
    let hold = VersionHold(record: record, slot: slot, coordination: coordination, lock: locked)
    return parts === (try self.parts) ? hold : nil
  }

  /// A version that is the newest complete one, held, though readers may not take it yet. Only for
  /// whoever has the writers' turn: nobody can write over its pages before it is held.
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

  /// Nanoseconds of a processor that making versions durable in the background has taken since the
  /// file was opened.
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

  /// Has `close` wait for a transaction.
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

  /// Waits for the writer's turn. Commits that are not durable yet become so before it waits for
  /// another handle, which could not write until then.
  ///
  /// - Parameter waiting: for how long, where it is not what `turnWaiting` says.
  func enterQueue(waiting: Waiting? = nil) throws -> WriterQueue.Turn {
    _ = try parts
    try coordination.checkLockFile()
    return try queue.enter(waiting: waiting ?? turnWaiting) { try parts.pipeline.makeDurable() }
  }

  /// For how long write transactions wait for their turn; nil: as long as it takes.
  package var turnWaiting: Waiting? {
    get { lock.withLock { shared.turnWaiting } }
    set { lock.withLock { shared.turnWaiting = newValue } }
  }

  /// Has the commits that are not durable made so when a writer of another handle asks for its turn.
  ///
  /// - Returns: false when there is no thread to be had for it.
  func isAskedToMakeWay() -> Bool {
    // Held only where there is something to do: whoever releases the handle meanwhile would find it
    // held here.
    listeners.watch { [weak self, queue] in
      guard queue.othersWait, let self, let parts = try? self.parts else { return }
      // A failure is kept by the pipeline: the next commit, flush or close throws it.
      try? parts.pipeline.makeDurable()
    }
  }
}
