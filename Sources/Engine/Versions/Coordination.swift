import Base

/// The state shared by the processes that have one database open: the newest visible version, the versions
/// held by readers, and the writers' queue. It is in a mapped lock file (`FILE-lock`), or in private memory
/// where no other process can take part (tests, read-only folders).
///
/// The kernel shows which participants live: each one locks a byte of its own, and the lock is released when
/// its process ends, in any way. So a killed reader pins nothing and a killed writer blocks no other.
///
///     0     8  magic "SheafLck"
///     8     8  layout version (6)
///     16   16  device and inode of the database file
///     32    8  the next ticket of the writers' queue
///     40    8  the next participant's token
///     48    8  reader slots used so far (the highest index + 1)
///     56    8  the first version of the present file; readers of earlier ones look at a file that a
///              compaction has replaced
///     64  128  the newest visible version (`VersionCell`)
///     192   8  how many handles want to be woken when a version is published (a hint: those of killed
///              processes still count)
///     200   8  the events that wake them (`EventCount`, `VersionWatcher`)
///     208   32 processes that have the registration byte, the presence byte alone, the writers' turn, and
///              the writing byte; 0: none has said so. For messages only
///     4096     2,064 reader slots of 64 bytes (`ReaderTable`), the last 16 for looking who holds the others
///     136192   256 writer seats of 16 bytes: ticket, owner's token (`WriterQueue`)
///
/// Byte ranges beyond 1 GiB carry the kernel locks; no bytes are stored there.
///
/// Thread rule: any thread.
package final class Coordination: @unchecked Sendable {
  // @unchecked: the memory is used through atomics; the descriptor and indices never change.
  enum Offset {
    static let device = 16
    static let inode = 24
    static let nextTicket = 32
    static let nextToken = 40
    static let usedReaderSlots = 48
    static let firstVersion = 56
    static let visible = 64
    static let watchers = 192
    static let events = 200
    static let registering = 208
    static let alone = 216
    static let inTurn = 224
    static let writing = 232
    static let readers = 4096
    static let readerSlotCount = 2048
    static let spareSlotCount = 16
    static let allSlotCount = readerSlotCount + spareSlotCount
    static let seats = readers + allSlotCount * 64
    static let seatCount = 256
    static let bytes = seats + seatCount * 16
  }

  enum LockByte {
    static let base = 1 << 30
    /// Shared by all handles that have the database open; exclusive for setting up and for compaction.
    static let presence = base
    /// Held while joining, and while taking a seat in the writers' queue.
    static let registration = base + 1
    /// Held by the handle that is writing or has undurable commits.
    static let writing = base + 2
    static let participants = base + 1024
    static let participantCount = 1024
    static let seats = base + 4096
  }

  /// `CompanionFile.Mark.lock`, little-endian.
  static let magic: UInt64 = 0x6B63_4C66_6165_6853
  static let layoutVersion: UInt64 = 6

  /// The newest version that readers may use; durable unless the storage is private.
  package let visible: VersionCell
  let memory: UnsafeMutableRawPointer
  /// The lock file; nil for private memory.
  let descriptor: Int32?
  package let path: String
  /// The identity of the lock file, equal for every handle on one database.
  package let identity: FileIdentity
  /// This participant's byte and its token in the reader slots.
  let participant: Int
  let token: UInt64
  /// The identifier of this process, for messages of others that wait.
  let process = UInt64(System.processIdentifier)
  /// 0: taking part. 1: leaves once no version is held. 2: has left.
  private let wantsToLeave: AtomicWord
  private let leaving = Lock()
  /// Locks on the current database file; guarded by `leaving`.
  private var locks: FileLocks?
  private let busErrors: BusErrors.MappingNote?
  /// 1: the right to write is given up once no version later than `unread` is held.
  private let owesWriting = AtomicWord.allocate()
  /// The version for `owesWriting`; guarded by `leaving`.
  private var unread: UInt64?
  /// This handle's part of the number of watchers, 0 or 1.
  private let ownWatchers = AtomicWord.allocate()

  /// Uses private memory, where no other process takes part.
  package init(privateFor path: String) throws(SystemError) {
    guard let memory = System.reserve(length: Offset.bytes) else {
      throw SystemError.noMemory("reserve lock memory", path)
    }
    self.memory = memory
    self.path = path
    descriptor = nil
    identity = FileIdentity(device: .max, inode: UInt64(UInt(bitPattern: memory)))
    busErrors = nil
    participant = 0
    token = 1 << 16 | 1
    wantsToLeave = .allocate()
    visible = VersionCell(memory + Offset.visible)
  }

  /// Joins the participants of a database file. Waits while another one is compacting it or joining.
  ///
  /// - Parameters:
  ///   - path: the path of the lock file.
  ///   - database: the path of the database, whose owner and permissions the lock file gets.
  ///   - waiting: how long to wait.
  ///   - open: opens the database file and returns its identity. Called with the presence lock held, so that
  ///     it sees the result of a compaction that has just finished. When alone, no other handle can join
  ///     before it returns, and it stores the newest version in the cell. Otherwise it gets the file that
  ///     the others have open, and throws `CoordinationError.replaced` before it creates or reads another.
  /// - Throws: `CoordinationError.replaced` when others have another file open under this name, `.held` after
  ///   too long a wait; `EngineError.cancelled`.
  package init(
    path: String, database: String, waiting: Waiting,
    open: (_ others: FileIdentity?, _ visible: VersionCell, _ lockFile: FileIdentity) throws
      -> FileIdentity
  ) throws {
    let (descriptor, alone) = try Self.enter(path, database, waiting)
    do {
      self.path = path
      self.descriptor = descriptor
      wantsToLeave = .allocate()
      guard let memory = System.map(descriptor, length: Offset.bytes, writable: true) else {
        throw SystemError.noMemory("map", path)
      }
      self.memory = memory
      let place = BusErrors.note(
        memory, length: Offset.bytes, path: path,
        advice:
          "the lock file has no room on the disk, or was cut short from outside; free some space and "
          + "run the command again")
      busErrors = place
      let status = try System.status(descriptor, path: path)
      self.identity = FileIdentity(device: status.device, inode: status.inode)
      do {
        visible = VersionCell(memory + Offset.visible)
        if alone {
          // There is no other participant, so data left by a crash is void. Only the mark stays valid all the
          // time, since it says that the file is Sheaf's.
          Self.word(memory, 0).store(Self.magic)
          (memory + 8).initializeMemory(as: UInt8.self, repeating: 0, count: Offset.bytes - 8)
        }
        if alone || Self.isOfThisLayout(memory) {
          Self.word(memory, Offset.registering).store(UInt64(System.processIdentifier))
        }
        let others = try alone ? nil : Self.openFile(memory, path: path)
        let identity = try open(others, visible, self.identity)
        if alone {
          Self.word(memory, Offset.device).store(identity.device)
          Self.word(memory, Offset.inode).store(identity.inode)
          Self.word(memory, 8).store(Self.layoutVersion)
        }
        (participant, token) = try Self.takePlace(descriptor, memory, path: path)
        // Always granted at once, as this handle holds the lock already, shared or exclusive.
        _ = try System.lock(
          descriptor, .shared, at: LockByte.presence, length: 1, wait: false, path: path)
        Self.word(memory, Offset.registering).store(0)
        _ = try System.lock(
          descriptor, .none, at: LockByte.registration, length: 1, wait: false, path: path)
      } catch {
        BusErrors.forget(place)
        System.unmap(memory, length: Offset.bytes)
        throw error
      }
    } catch {
      // No other process has seen the file, so nothing needs coordination.
      if alone, (try? CompanionFile.isNamed(path, descriptor)) == true {
        try? System.remove(path)
      }
      System.close(descriptor)
      throw error
    }
  }

  deinit {
    wantsToLeave.deallocate()
    owesWriting.deallocate()
    ownWatchers.deallocate()
    BusErrors.forget(busErrors)
    System.unmap(memory, length: Offset.bytes)
    if let descriptor { System.close(descriptor) }
  }

  static func word(_ memory: UnsafeMutableRawPointer, _ offset: Int) -> AtomicWord {
    AtomicWord(memory + offset)
  }

  func word(_ offset: Int) -> AtomicWord { Self.word(memory, offset) }

  // MARK: Being alone

  /// Takes exclusive use of the database; returns false when another process or handle has it open. Opening
  /// waits until `shareAgain`.
  package func becomeAlone() throws(SystemError) -> Bool {
    guard let descriptor else { return true }
    let isAlone = try System.lock(
      descriptor, .exclusive, at: LockByte.presence, length: 1, wait: false, path: path)
    if isAlone { note(.presence, isHeld: true) }
    return isAlone
  }

  /// Ends `becomeAlone`.
  package func shareAgain() throws(SystemError) {
    guard let descriptor else { return }
    note(.presence, isHeld: false)
    _ = try System.lock(
      descriptor, .shared, at: LockByte.presence, length: 1, wait: false, path: path)
  }

  /// Adopts another file as the database, during exclusive use: compaction has renamed a new one into place.
  ///
  /// - Parameter first: the first version of the new file. Snapshots of earlier versions read the earlier
  ///   file, which exists as long as they do.
  package func adopt(_ identity: FileIdentity, _ locks: FileLocks?, first: UInt64) {
    attend(with: locks)
    word(Offset.firstVersion).store(first)
    word(Offset.device).store(identity.device)
    word(Offset.inode).store(identity.inode)
  }

  /// Sets the file locks that end when this handle leaves.
  package func attend(with locks: FileLocks?) { leaving.withLock { self.locks = locks } }

  /// Leaves, and removes the lock file if there is no other participant. Call it when no transaction is open.
  /// A version that this handle still holds must stay visible to later participants: the handle then leaves
  /// when the version is released.
  package func leave() throws(SystemError) {
    leaving.lock()
    defer { leaving.unlock() }
    wantsToLeave.store(1)
    try leaveIfUnused()
  }

  /// Handles the release of a version.
  func releasedVersion() {
    if owesWriting.load() == 1 { endWritingIfUnread() }
    guard wantsToLeave.load() == 1 else { return }
    leaving.withLock {
      // The kernel releases the locks with the descriptor in any case; at worst the file remains.
      try? leaveIfUnused()
    }
  }

  private func leaveIfUnused() throws(SystemError) {
    guard let descriptor, !holdsVersions, wantsToLeave.exchange(1, with: 2) else { return }
    // Before the lock file is removed: the creator of the next one must not find the locks of this one.
    try locks?.leave()
    // They keep the database file open.
    locks = nil
    let registered = try System.lock(
      descriptor, .exclusive, at: LockByte.registration, length: 1, wait: false, path: path)
    // Without the registration lock another process may be joining; then the file stays.
    if registered {
      note(.registration, isHeld: true)
      if try becomeAlone(), try isInPlace() { try System.remove(path) }
      note(.registration, isHeld: false)
    }
    // A handle whose flush failed still holds the right to write.
    for byte in [LockByte.presence, LockByte.registration, LockByte.writing] {
      _ = try System.lock(descriptor, .none, at: byte, length: 1, wait: false, path: path)
    }
  }

  private var holdsVersions: Bool { holdsVersions(after: nil) }

  /// Returns whether this handle holds a version later than `version`; nil: any version.
  private func holdsVersions(after version: UInt64?) -> Bool {
    let used = min(Int(clamping: word(Offset.usedReaderSlots).load()), Offset.allSlotCount)
    return (0..<used).contains { slot in
      let place = Offset.readers + slot * 64
      return word(place).load() == token && (version.map { word(place + 8).load() > $0 } ?? true)
    }
  }

  // MARK: Telling other processes

  /// Makes other handles wake this one when they publish a version.
  func beginWatching() {
    // In this order: otherwise a commit of this handle in between would see no other watcher, and wake none.
    _ = word(Offset.watchers).increment()
    ownWatchers.store(1)
  }

  func endWatching() {
    ownWatchers.store(0)
    word(Offset.watchers).decrement()
  }

  /// Wakes the other handles that watch. Call it after publishing a version.
  ///
  /// Cost: two atomic loads without watchers, otherwise one system call.
  func announce() {
    guard descriptor != nil, word(Offset.watchers).load() > ownWatchers.load() else { return }
    events.advance()
  }

  /// What wakes the watchers of all handles.
  var events: EventCount { EventCount(memory + Offset.events) }

  // MARK: The process that writes

  /// True while the lock file's name still names the file that this handle has open.
  private func isInPlace() throws(SystemError) -> Bool {
    guard descriptor != nil else { return true }
    return try System.linkStatus(path: path)?.identity == identity
  }

  /// Throws when the lock file was removed. The next process to open the database then creates a new one, and
  /// the two processes do not see each other: neither may write.
  package func checkLockFile() throws {
    if try !isInPlace() { throw CoordinationError.lockFileLost(path) }
  }

  /// Takes the right to write; false while another handle is writing or has commits that are not durable.
  package func beginWriting() throws(SystemError) -> Bool {
    guard let descriptor else { return true }
    let isTaken = try System.lock(
      descriptor, .exclusive, at: LockByte.writing, length: 1, wait: false, path: path)
    if isTaken { note(.writing, isHeld: true) }
    return isTaken
  }

  /// Waits for the right to write and takes it.
  ///
  /// - Parameter patience: nil: no limit.
  /// - Throws: `CoordinationError.held`, `EngineError.cancelled`, `SystemError`.
  package func beginWriting(_ patience: inout Patience?) throws {
    guard let descriptor else { return }
    try Self.take(
      .writing, .exclusive, at: LockByte.writing, descriptor, path: path, &patience)
    note(.writing, isHeld: true)
  }

  package func endWriting() throws(SystemError) {
    guard let descriptor else { return }
    note(.writing, isHeld: false)
    _ = try System.lock(
      descriptor, .none, at: LockByte.writing, length: 1, wait: false, path: path)
  }

  /// Ends `beginWriting` as soon as this handle holds no version later than `version`: later versions are
  /// void, and the next writer takes their pages.
  package func endWriting(onceUnreadBehind version: UInt64) {
    leaving.withLock { unread = version }
    owesWriting.store(1)
    endWritingIfUnread()
  }

  private func endWritingIfUnread() {
    leaving.withLock {
      guard let version = unread, !holdsVersions(after: version) else { return }
      unread = nil
      owesWriting.store(0)
      // If it fails, closing the descriptor gives up the right.
      try? endWriting()
    }
  }
}
