#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Locks on ranges of files, which the kernel releases when their owner dies.
extension System {
  package enum LockKind: Sendable {
    case shared
    case exclusive
    case none
  }

  /// Takes or releases a lock on `length` bytes at `offset`. The lock belongs to the open file description,
  /// not to the process, so two descriptors of one process exclude each other.
  ///
  /// - Returns: false when `wait` is false and the range is locked otherwise.
  package static func lock(
    _ descriptor: Int32, _ kind: LockKind, at offset: Int, length: Int, wait: Bool, path: String
  ) throws(SystemError) -> Bool {
    var request = flock()
    request.l_type = Self.raw(kind)
    request.l_whence = Int16(SEEK_SET)
    request.l_start = off_t(offset)
    request.l_len = off_t(length)
    #if DEBUG
      if wait, let scheduler = Scheduling.scheduler {
        while try !lock(descriptor, kind, at: offset, length: length, wait: false, path: path) {
          scheduler.pause(milliseconds: 1)
        }
        return true
      }
      Scheduling.reach(.call(SwitchPoint.fileLocks, changes: true))
    #endif
    if call(.lock, { fcntl(descriptor, wait ? setLockWaiting : setLock, &request) }) != 0 {
      if !wait && (errno == EAGAIN || errno == EACCES) { return false }
      throw SystemError(operation: "lock", path: path, code: errno)
    }
    return true
  }

  /// True when another open file description holds a lock on the range.
  package static func isLocked(
    _ descriptor: Int32, at offset: Int, length: Int, path: String
  ) throws(SystemError) -> Bool {
    try lockedRange(descriptor, in: offset..<offset + length, path: path) != nil
  }

  /// Bytes of a range that another open file description has locked; nil when there are none. Of several
  /// locks it returns any one.
  package static func lockedRange(
    _ descriptor: Int32, in range: Range<Int>, path: String
  ) throws(SystemError) -> Range<Int>? {
    if range.isEmpty { return nil }
    #if DEBUG
      Scheduling.reach(.call(SwitchPoint.fileLocks, changes: false))
    #endif
    var request = flock()
    request.l_type = Self.raw(.exclusive)
    request.l_whence = Int16(SEEK_SET)
    request.l_start = off_t(range.lowerBound)
    request.l_len = off_t(range.count)
    guard call(.lock, { fcntl(descriptor, getLock, &request) }) == 0 else {
      throw SystemError(operation: "lock", path: path, code: errno)
    }
    if request.l_type == Self.raw(.none) { return nil }
    // A length of 0 means: to the end.
    let end = Int(request.l_start).addingReportingOverflow(Int(request.l_len))
    let isEndless = request.l_len == 0 || end.overflow
    return (isEndless ? range : Int(request.l_start)..<end.partialValue).clamped(to: range)
  }

  /// The process that holds a lock on the range. Nil when there is none, or the system does not reveal it:
  /// the lock of an open file description has no recorded owner.
  package static func lockHolder(
    _ descriptor: Int32, at offset: Int, length: Int
  ) -> Int32? {
    var request = flock()
    request.l_type = Self.raw(.exclusive)
    request.l_whence = Int16(SEEK_SET)
    request.l_start = off_t(offset)
    request.l_len = off_t(length)
    guard call(.lock, { fcntl(descriptor, getLock, &request) }) == 0,
      request.l_type != Self.raw(.none),
      request.l_pid > 0
    else { return nil }
    return request.l_pid
  }

  private static func raw(_ kind: LockKind) -> Int16 {
    switch kind {
    case .shared: Int16(F_RDLCK)
    case .exclusive: Int16(F_WRLCK)
    case .none: Int16(F_UNLCK)
    }
  }

  #if canImport(Darwin)
    // XNU's open-file-description locks: F_OFD_SETLK, F_OFD_SETLKW, F_OFD_GETLK.
    private static let setLock: Int32 = 90
    private static let setLockWaiting: Int32 = 91
    private static let getLock: Int32 = 92
  #else
    // From Linux's fcntl.h; glibc's Swift overlay does not import these macros.
    private static let getLock: Int32 = 36
    private static let setLock: Int32 = 37
    private static let setLockWaiting: Int32 = 38
  #endif
}
