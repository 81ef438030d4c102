import Base

/// A database file: `pwrite` writes, `fdatasync` flushes, and a read-only shared mapping reads.
///
/// The mapping covers a larger range of addresses than the file from the start: when the file grows, its new
/// pages appear in place, and nothing that readers use moves. A file that outgrows the range gets another,
/// four times as large as the file.
package final class FileStorage: Storage, @unchecked Sendable {
  // @unchecked: `lock` guards `mappings`; the current mapping is read through atomics; the other properties
  // never change.
  package let path: String
  package let isWritable: Bool
  /// Identifies the file, to notice a replacement.
  package let identity: FileIdentity
  package let descriptor: Int32
  /// False for a file without a path: a scratch file, or one that has not been renamed into place.
  private let isNamed: Bool
  private let lock = Lock()
  private var mappings:
    [(address: UnsafeMutableRawPointer, length: Int, place: BusErrors.MappingNote?)] =
      []
  /// The largest mapping. Readers take no lock, since its address is stored before its length.
  private let mappedAddress = AtomicWord.allocate()
  private let mappedLength = AtomicWord.allocate()

  /// The addresses for a small file: a process may have thousands of files open, and has 2^47 addresses.
  private static let reservedBytes = 1 << 34

  /// - Parameter isScratch: true removes the name at once, so that the file ends with the storage.
  package init(
    path: String, mode: System.OpenMode, permissions: UInt32 = 0o644, isScratch: Bool = false
  ) throws(SystemError) {
    self.path = path
    isNamed = !isScratch
    isWritable = if case .readOnly = mode { false } else { true }
    descriptor =
      switch mode {
      // The name may belong to any file now: a link is not followed, and a pipe is not waited for.
      case .readOnly: try System.openRegular(path, writable: false)
      case .readWrite: try System.openRegular(path, writable: true)
      default: try System.open(path, mode, permissions: permissions)
      }
    do throws(SystemError) {
      let status = try System.status(descriptor, path: path)
      if status.isDirectory { throw SystemError.isADirectory(path) }
      identity = status.identity
      if isScratch { try System.remove(path) }
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// The storage of a file that is written to replace another one.
  ///
  /// - Throws: `SystemError`.
  package init(_ file: ReplacementFile) throws(SystemError) {
    path = file.path
    isNamed = false
    isWritable = true
    descriptor = try System.duplicate(file.descriptor, path: file.path)
    do throws(SystemError) {
      let status = try System.status(descriptor, path: path)
      identity = status.identity
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  deinit {
    mappedAddress.deallocate()
    mappedLength.deallocate()
    for mapping in mappings {
      BusErrors.forget(mapping.place)
      System.unmap(mapping.address, length: mapping.length)
    }
    System.close(descriptor)
  }

  package func length() throws(SystemError) -> Int {
    try System.length(descriptor, path: path)
  }

  /// Switches threads in tests with a scheduler.
  @inline(__always)
  private func reach(_ offset: Int, changes: Bool, isLong: Bool = false) {
    #if DEBUG
      Scheduling.reach(
        .call(
          SwitchPoint.contents(of: identity.inode, at: offset), changes: changes, isLong: isLong))
    #endif
  }

  package func resize(to length: Int) throws(SystemError) {
    reach(length, changes: true)
    try System.resize(descriptor, to: length, path: path)
  }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
    reach(offset, changes: true)
    try System.write(descriptor, at: offset, bytes, path: path)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
    throws(SystemError) -> Int
  {
    reach(offset, changes: false)
    return try System.read(descriptor, at: offset, into: buffer, path: path)
  }

  package func flush() throws(SystemError) {
    reach(0, changes: true, isLong: true)
    try System.flush(descriptor, path: path)
  }

  package func forget(_ bytes: UnsafeRawBufferPointer) { System.forgetMapped(bytes) }

  package func forget(_ range: Range<Int>) {
    // The range may be larger than the file, and is no reason to map more.
    for mapping in lock.withLock({ mappings }) {
      let part = range.clamped(to: 0..<mapping.length)
      System.forgetMapped(
        UnsafeRawBufferPointer(start: mapping.address + part.lowerBound, count: part.count))
    }
  }

  package func flushName() throws(SystemError) {
    if isNamed { try System.flushDirectory(of: path) }
  }

  /// Returns whether the path names this file.
  package func hasName() throws(SystemError) -> Bool {
    try System.statusIfPresent(path: path)?.identity == identity
  }

  package func checkName() throws {
    guard isNamed else { return }
    var isReplaced = true
    do throws(SystemError) {
      let (device, inode) = try System.identity(path: path)
      if FileIdentity(device: device, inode: inode) == identity { return }
    } catch {
      if !error.isMissing { throw error }
      isReplaced = false
    }
    throw EngineError.displaced(path: path, reason: try displacement(isReplaced: isReplaced))
  }

  /// What happened to the file, and where its rows are now, in words.
  private func displacement(isReplaced: Bool) throws(SystemError) -> String {
    let other = isReplaced ? ", and another file has its name now" : ""
    if try System.status(descriptor, path: path).links == 0 {
      return
        "the database file was removed while it was open\(other): what was committed to it is gone "
        + "with it; restore a copy or import again"
    }
    if let place = System.path(of: descriptor), place != path,
      let status = try? System.status(path: place), status.identity == identity
    {
      return
        "the database file was moved to \(place) while it was open\(other): what was committed before is "
        + "there; move it back, or go on with it under its new name"
    }
    return
      "the database file lost its name while it was open\(other): what was committed before is in the "
      + "file, which has a name elsewhere; find it by its inode, \(identity.inode)"
  }

  // MARK: Locks on bytes behind the end

  /// The number of hard links of the file.
  package func links() throws(SystemError) -> Int {
    try System.status(descriptor, path: path).links
  }

  /// Takes a shared lock on a byte; returns false when it is locked exclusively.
  package func shareLock(_ byte: Int) throws(SystemError) -> Bool {
    try System.lock(descriptor, .shared, at: byte, length: 1, wait: false, path: path)
  }

  package func unlock(_ byte: Int) throws(SystemError) {
    _ = try System.lock(descriptor, .none, at: byte, length: 1, wait: false, path: path)
  }

  /// A part of a range that another owner has locked; nil when there is none.
  package func foreignLock(in range: Range<Int>) throws(SystemError) -> Range<Int>? {
    try System.lockedRange(descriptor, in: range, path: path)
  }

  package func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
    let (end, overflow) = offset.addingReportingOverflow(count)
    reach(offset, changes: false)
    guard offset >= 0, count >= 0, !overflow, let base = mapping(covering: end) else { return nil }
    return UnsafeRawBufferPointer(start: base + offset, count: count)
  }

  /// The current mapping, created at its first use. A larger one replaces it when the file has outgrown it;
  /// earlier ones stay for their readers.
  private func mapping(covering end: Int) -> UnsafeMutableRawPointer? {
    // No address space is as large.
    guard end <= 1 << 56 else { return nil }
    if UInt64(end) <= mappedLength.load() {
      return UnsafeMutableRawPointer(bitPattern: UInt(mappedAddress.load()))
    }
    return lock.withLock {
      if let last = mappings.last, end <= last.length { return last.address }
      // Where addresses are few (`ulimit -v`), only what is needed: others need some, too.
      for length in [max(Self.reservedBytes, end &* 4), end &* 2, end] where length > 0 {
        if let address = System.map(descriptor, length: length, writable: false) {
          let place = BusErrors.note(
            address, length: length, path: path,
            advice:
              "the database file cannot be read there: the disk failed, or the file was cut short "
              + "from outside; run 'sheaf check', and restore a copy")
          mappings.append((address, length, place))
          mappedAddress.store(UInt64(UInt(bitPattern: address)))
          mappedLength.store(UInt64(length))
          return address
        }
      }
      return nil
    }
  }
}

/// Identifies a file independently of its path.
package struct FileIdentity: Sendable, Hashable {
  package let device: UInt64
  package let inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

extension FileStatus {
  package var identity: FileIdentity { FileIdentity(device: device, inode: inode) }
}
