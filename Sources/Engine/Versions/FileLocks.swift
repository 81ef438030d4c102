import Base

/// Locks on bytes of the database file itself, far beyond its end, where nothing is stored. They are for
/// handles that cannot write the lock file, or have joined another one.
///
///     1 << 61    a byte for each version: shared by the handles that read it
///     1 << 62    a byte for each lock file: shared by its handles that can write
///     5 << 60    a byte for each lock file: shared by its handles that read, and publish versions there only
///
/// Taking a shared lock requires only permission to read, and the kernel releases it when its owner ends. The
/// kernel does not reveal the owners of locks; they are not needed.
///
/// **Versions.** A handle without a lock file (another user's folder, a read-only medium), or one that shares
/// the file with handles of another lock file (hard links), finds the newest version in the commit slots,
/// locks its byte, and reads the slots again; if another version is the newest now, it starts again. A writer
/// queries the locked bytes in the order that `Database.versionsToKeep` proves.
///
/// **Lock files.** Handles with different lock files do not see each other's slots and queue. So a handle
/// that can write locks the byte of its lock file and then queries the bytes of others. Of two such handles
/// at least one sees the other, and refuses to open. A reader does the same; it locks versions from then on
/// if it finds a writer of another lock file, or if the file has several names.
///
/// Thread rule: any thread.
package final class FileLocks: @unchecked Sendable {
  // @unchecked: `lock` guards `counts` and `presence`.
  enum LockByte {
    static let versions = 1 << 61
    static let versionCount = 1 << 61
    static let writers = 1 << 62
    static let readers = 5 << 60
    static let end = 6 << 60
    static let lockFileCount = 1 << 60
  }

  private let storage: FileStorage
  private let lockFile: FileIdentity?
  /// True for a handle whose versions writers see only by these locks.
  package let locksVersions: Bool
  private let lock = Lock()
  /// The number of holds that share the lock of a version.
  private var counts: [UInt64: Int] = [:]
  /// The byte that shows this handle to writers of other lock files.
  private var presence: Int?

  /// - Parameter lockFile: the lock file that the handle has joined; nil when there is none.
  /// - Throws: `CoordinationError.openElsewhere` when the handle can write and there are handles of another
  ///   lock file.
  package init(_ storage: FileStorage, lockFile: FileIdentity?) throws {
    self.storage = storage
    self.lockFile = lockFile
    guard let lockFile else {
      locksVersions = true
      return
    }
    let own = Self.number(of: lockFile)
    let (writer, reader) = (LockByte.writers + own, LockByte.readers + own)
    if storage.isWritable {
      locksVersions = false
      try Self.share(storage, writer)
      let others = [
        LockByte.writers..<writer, writer + 1..<reader, reader + 1..<LockByte.end,
      ]
      if try others.contains(where: { try storage.foreignLock(in: $0) != nil }) {
        throw CoordinationError.openElsewhere(storage.path)
      }
      presence = writer
      return
    }
    if try storage.links() > 1 {
      locksVersions = true
      return
    }
    try Self.share(storage, reader)
    let others = [LockByte.writers..<writer, writer + 1..<LockByte.readers]
    locksVersions = try others.contains { try storage.foreignLock(in: $0) != nil }
    if locksVersions {
      try storage.unlock(reader)
    } else {
      presence = reader
    }
  }

  /// The same locks on the file with which a compaction has replaced this one.
  package func moved(to storage: FileStorage) throws -> FileLocks {
    try FileLocks(storage, lockFile: lockFile)
  }

  private static func share(_ storage: FileStorage, _ byte: Int) throws {
    guard try storage.shareLock(byte) else {
      throw CoordinationError.openElsewhere(storage.path)
    }
  }

  /// The number of a lock file's byte. Two lock files have different numbers, unless their hashes collide.
  private static func number(of lockFile: FileIdentity) -> Int {
    var writer = ByteWriter()
    writer.append(lockFile.device)
    writer.append(lockFile.inode)
    return Int(Checksum.of(writer.bytes) % UInt64(LockByte.lockFileCount))
  }

  /// Leaves. Call it when the handle holds no version.
  func leave() throws(SystemError) {
    lock.lock()
    defer { lock.unlock() }
    guard let presence else { return }
    self.presence = nil
    try storage.unlock(presence)
  }

  // MARK: Versions

  /// Holds a version by its lock while this object exists.
  package final class Hold: Sendable {
    package let record: VersionRecord
    private let locks: FileLocks

    fileprivate init(_ record: VersionRecord, _ locks: FileLocks) {
      self.record = record
      self.locks = locks
    }

    deinit { locks.release(record.version) }
  }

  /// Holds the newest version named by the slots; nil for a handle that does not lock versions.
  ///
  /// - Throws: `CoordinationError.tooFast`, `SystemError`, `EngineError.damaged`.
  package func holdNewest() throws -> Hold? {
    guard locksVersions else { return nil }
    for _ in 0..<1000 {
      let record = try newest()
      try take(record.version)
      let hold = Hold(record, self)
      if try newest() == record { return hold }
    }
    throw CoordinationError.tooFast(storage.path)
  }

  /// Holds a version that the newest one keeps; nil for a handle that does not lock versions.
  ///
  /// - Parameter find: finds the version in the history of the newest one.
  /// - Throws: the errors of `find` and `holdNewest`.
  package func hold(_ find: (_ newest: VersionRecord) throws -> VersionRecord) throws -> Hold? {
    guard locksVersions else { return nil }
    for _ in 0..<1000 {
      // The newest version is held while `find` reads its history.
      guard let newest = try holdNewest() else { return nil }
      let record = try withExtendedLifetime(newest) { try find(newest.record) }
      try take(record.version)
      let hold = Hold(record, self)
      guard let again = try holdNewest() else { return nil }
      if try withExtendedLifetime(again, { try find(again.record) }) == record { return hold }
    }
    throw CoordinationError.tooFast(storage.path)
  }

  /// The newest version named by the slots.
  ///
  /// A slot that is being written can be read half old and half new; the other one then names the durable
  /// version, which is equally good. But a damaged slot may have named a newer version that a running writer
  /// knows: then the version of the other slot is not safe, and the call throws.
  package func newest() throws -> VersionRecord {
    let found = try Recovery.runAmongWriters(storage)
    if found.fallback != nil,
      try storage.foreignLock(in: LockByte.writers..<LockByte.readers) != nil
    {
      throw CoordinationError.tooFast(storage.path)
    }
    return found.record
  }

  private static func byte(of version: UInt64) -> Int {
    LockByte.versions + Int(min(version, UInt64(LockByte.versionCount - 1)))
  }

  private func take(_ version: UInt64) throws {
    try lock.withLock {
      if counts[version] == nil, try !storage.shareLock(Self.byte(of: version)) {
        throw CoordinationError.tooFast(storage.path)
      }
      counts[version, default: 0] += 1
    }
  }

  private func release(_ version: UInt64) {
    lock.withLock {
      guard let count = counts[version], count <= 1 else {
        counts[version]? -= 1
        return
      }
      counts[version] = nil
      // If it fails, the version stays held until the file is closed.
      try? storage.unlock(Self.byte(of: version))
    }
  }

  /// The versions that others hold by locks, in any order.
  ///
  /// Cost: one system call when there are none.
  package func lockedVersions() throws(SystemError) -> [ClosedRange<UInt64>] {
    var found: [ClosedRange<UInt64>] = []
    var unknown = [LockByte.versions..<LockByte.versions + LockByte.versionCount]
    // The system may return any of several locks in the range, not only the first.
    while let range = unknown.popLast() {
      guard !range.isEmpty, let locked = try storage.foreignLock(in: range) else { continue }
      let last = locked.upperBound - 1 - LockByte.versions
      found.append(
        UInt64(
          locked.lowerBound - LockByte.versions)...(last == LockByte.versionCount - 1
          ? .max : UInt64(last)))
      unknown.append(range.lowerBound..<locked.lowerBound)
      unknown.append(locked.upperBound..<range.upperBound)
    }
    return found
  }
}
