// Operating-system calls, each wrapped once. Every call that can fail throws a `SystemError` with the
// operation and the path. The differences between Linux and macOS are only in the `System` files.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What a file descriptor refers to.
package struct FileStatus: Sendable {
  package let size: Int
  package let device: UInt64
  package let inode: UInt64
  package let isRegular: Bool
  package let isDirectory: Bool
  /// True for a symbolic link whose own status was requested.
  package let isLink: Bool
  /// True for a named pipe.
  package let isPipe: Bool
  /// The number of its hard links: 0 once it was removed.
  package let links: Int
  /// Last modification, in nanoseconds since 1970.
  package let modified: Int64
  package let permissions: UInt32
  package let owner: UInt32
  package let group: UInt32
}

/// The operating system.
///
/// Thread rule: every function may be called from any thread.
package enum System {
  package enum OpenMode: Sendable {
    case readOnly
    case readWrite
    case readWriteCreate
    /// Fails when the file exists.
    case createNew
    /// Creates the file, or empties an existing one.
    case truncate
    case append
  }

  /// Rejects a path with a zero byte, at which the system would truncate it to another file's.
  package static func checkPath(_ path: String) throws(SystemError) {
    if path.utf8.contains(0) { throw SystemError(operation: "open", path: path, code: EINVAL) }
  }

  /// - Parameter followsLinks: false for a file written under a name that the user did not give: a symbolic
  ///   link there is an error (`SystemError.isLink`), and its target is not changed.
  package static func open(
    _ path: String, _ mode: OpenMode, permissions: UInt32 = 0o644, followsLinks: Bool = true
  ) throws(SystemError) -> Int32 {
    try checkPath(path)
    let access: Int32 =
      switch mode {
      case .readOnly: O_RDONLY
      case .readWrite: O_RDWR
      case .readWriteCreate: O_RDWR | O_CREAT
      case .createNew: O_RDWR | O_CREAT | O_EXCL
      case .truncate: O_RDWR | O_CREAT | O_TRUNC
      case .append: O_WRONLY | O_CREAT | O_APPEND
      }
    let flags = followsLinks ? access : access | O_NOFOLLOW
    let descriptor = call(.open) {
      #if canImport(Darwin)
        Darwin.open(native(path), flags | O_CLOEXEC, mode_t(permissions))
      #else
        Glibc.open(native(path), flags | O_CLOEXEC, mode_t(permissions))
      #endif
    }
    if descriptor < 0 { throw SystemError(operation: "open", path: path, code: errno) }
    return descriptor
  }

  /// Opens an input for reading. A named pipe without a writer is not awaited where the system lets reading
  /// wait for it (`waitForInput`): that wait can be ended.
  package static func openInput(_ path: String) throws(SystemError) -> Int32 {
    #if os(Linux)
      if try statusIfPresent(path: path)?.isPipe == true {
        let descriptor = call(.open) {
          Glibc.open(native(path), O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        }
        if descriptor < 0 { throw SystemError(operation: "open", path: path, code: errno) }
        // Reads wait again, as in any pipe.
        if fcntl(descriptor, F_SETFL, 0) < 0 {
          let code = errno
          close(descriptor)
          throw SystemError(operation: "open", path: path, code: code)
        }
        return descriptor
      }
    #endif
    return try open(path, .readOnly)
  }

  package static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
  }

  package static func status(_ descriptor: Int32, path: String) throws(SystemError) -> FileStatus {
    var raw = stat()
    guard call(.stat, { fstat(descriptor, &raw) }) == 0 else {
      throw SystemError(operation: "stat", path: path, code: errno)
    }
    return FileStatus(raw)
  }

  /// The status of the file at the end of a path; nil when there is none.
  package static func statusIfPresent(path: String) throws(SystemError) -> FileStatus? {
    do {
      return try status(path: path)
    } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  package static func status(path: String) throws(SystemError) -> FileStatus {
    var raw = stat()
    guard call(.stat, { stat(native(path), &raw) }) == 0 else {
      throw SystemError(operation: "stat", path: path, code: errno)
    }
    return FileStatus(raw)
  }

  /// Which file is at the end of a path: the device and inode of its `status`.
  ///
  /// A commit asks. Where its times are not asked for, the file's next write need not record a finer one
  /// (Linux, since 6.13: it takes longer than a small write).
  package static func identity(
    path: String
  ) throws(SystemError) -> (device: UInt64, inode: UInt64) {
    #if !canImport(Darwin)
      let (typeAndInode, currentFolder): (UInt32, Int32) = (0x101, -100)
      let found = withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) {
        raw -> (code: Int32, device: UInt64, inode: UInt64)? in
        guard let place = raw.baseAddress else { return nil }
        let outcome = call(.stat) {
          linuxStatx(currentFolder, native(path), 0, typeAndInode, place)
        }
        // Where the kernel has no such call, a container's rules refuse it, or the file system does not tell,
        // `stat` is asked.
        if outcome != 0 { return errno == ENOSYS || errno == EPERM ? nil : (errno, 0, 0) }
        if raw.load(as: UInt32.self) & typeAndInode != typeAndInode { return nil }
        let major = UInt64(raw.load(fromByteOffset: 136, as: UInt32.self))
        let minor = UInt64(raw.load(fromByteOffset: 140, as: UInt32.self))
        // As in glibc's `makedev`.
        let device =
          (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
        return (0, device, raw.load(fromByteOffset: 32, as: UInt64.self))
      }
      if let found {
        if found.code != 0 { throw SystemError(operation: "stat", path: path, code: found.code) }
        return (found.device, found.inode)
      }
    #endif
    let status = try status(path: path)
    return (status.device, status.inode)
  }

  /// Reads up to `buffer.count` bytes from the descriptor's position; 0 means the end.
  package static func read(
    _ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, path: String
  ) throws(SystemError) -> Int {
    guard let base = buffer.baseAddress, buffer.count > 0 else { return 0 }
    let count = call(.read, bytes: buffer.count) {
      #if canImport(Darwin)
        Darwin.read(descriptor, base, $0)
      #else
        Glibc.read(descriptor, base, $0)
      #endif
    }
    if count < 0 { throw SystemError(operation: "read", path: path, code: errno) }
    return count
  }

  /// Waits until a read would not block, for at most about `milliseconds`; returns false when it still would,
  /// or a signal came.
  package static func waitForInput(_ descriptor: Int32, milliseconds: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    let found = call(.poll) { poll(&request, 1, milliseconds) }
    // `read` reports any other error.
    return found > 0 || (found < 0 && errno != EINTR)
  }

  /// Reads exactly `buffer.count` bytes at `offset`, or fewer at the end of the file.
  package static func read(
    _ descriptor: Int32, at offset: Int, into buffer: UnsafeMutableRawBufferPointer, path: String
  ) throws(SystemError) -> Int {
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = call(.read, bytes: buffer.count - done) {
        pread(descriptor, base + done, $0, off_t(offset + done))
      }
      if count == 0 { break }
      if count < 0 { throw SystemError(operation: "read", path: path, code: errno) }
      done += count
    }
    return done
  }

  /// Moves the descriptor's position to `offset` bytes from the start; fails for pipes.
  package static func seek(_ descriptor: Int32, to offset: Int, path: String)
    throws(SystemError)
  {
    if call(.seek, { lseek(descriptor, off_t(offset), SEEK_SET) }) < 0 {
      throw SystemError(operation: "seek", path: path, code: errno)
    }
  }

  /// The bytes of a regular file, of which the descriptor's position becomes the end.
  ///
  /// A commit asks several times, and `status` takes three times as long, and makes the next write record a
  /// time of its own (Linux, since 6.13), which takes longer than the write.
  package static func length(_ descriptor: Int32, path: String) throws(SystemError) -> Int {
    let end = call(.seek) { Int(lseek(descriptor, 0, SEEK_END)) }
    if end < 0 { throw SystemError(operation: "seek", path: path, code: errno) }
    return end
  }

  /// A hint to the system: the file will be read once, from start to end.
  package static func adviseSequential(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = fcntl(descriptor, F_RDAHEAD, 1)
    #else
      _ = posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL)
    #endif
  }

  /// Writes all of `buffer` at `offset`.
  package static func write(
    _ descriptor: Int32, at offset: Int, _ buffer: UnsafeRawBufferPointer, path: String
  ) throws(SystemError) {
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = call(.write, bytes: buffer.count - done) {
        pwrite(descriptor, base + done, $0, off_t(offset + done))
      }
      if count < 0 { throw SystemError(operation: "write", path: path, code: errno) }
      if count == 0 { throw SystemError(operation: "write", path: path, code: ENOSPC) }
      done += count
    }
  }

  /// Writes all of `buffer` at the descriptor's position.
  package static func write(
    _ descriptor: Int32, _ buffer: UnsafeRawBufferPointer, path: String
  ) throws(SystemError) {
    var done = 0
    while done < buffer.count, let base = buffer.baseAddress {
      let count = call(.write, bytes: buffer.count - done) {
        #if canImport(Darwin)
          Darwin.write(descriptor, base + done, $0)
        #else
          Glibc.write(descriptor, base + done, $0)
        #endif
      }
      if count < 0 { throw SystemError(operation: "write", path: path, code: errno) }
      done += count
    }
  }

  /// Makes everything written to the file, and its length, survive a power cut.
  package static func flush(_ descriptor: Int32, path: String) throws(SystemError) {
    let failed =
      call(.flush) {
        #if canImport(Darwin)
          // fsync on macOS does not reach the disk's own cache; F_FULLFSYNC does.
          fcntl(descriptor, F_FULLFSYNC)
        #else
          fdatasync(descriptor)
        #endif
      } != 0
    if failed { throw SystemError(operation: "flush", path: path, code: errno) }
  }

  /// Lets the system begin to write a part of a file to the disk, so that `flush` finds less to do. What
  /// fails here is reported by `flush`.
  package static func beginFlush(_ descriptor: Int32, _ range: Range<Int>) {
    #if !canImport(Darwin)
      // Only begins to write, and so changes nothing in what a later flush reports.
      let onlyWrite: UInt32 = 2
      _ = linuxSyncFileRange(descriptor, Int64(range.lowerBound), Int64(range.count), onlyWrite)
    #endif
  }

  /// Makes the names in a folder (a creation, a rename) survive a power cut.
  ///
  /// A folder that is writable but not readable cannot be flushed alone; everything is then flushed.
  package static func flushDirectory(of path: String) throws(SystemError) {
    let folder = directory(of: path)
    let descriptor: Int32
    do {
      descriptor = try open(folder, .readOnly)
    } catch {
      if !error.isReadOnly { throw error }
      sync()
      return
    }
    defer { close(descriptor) }
    if call(.flush, { fsync(descriptor) }) != 0 && errno != EINVAL {
      throw SystemError(operation: "flush folder", path: folder, code: errno)
    }
  }

  package static func resize(_ descriptor: Int32, to length: Int, path: String)
    throws(SystemError)
  {
    if call(.resize, { ftruncate(descriptor, off_t(length)) }) != 0 {
      throw SystemError(operation: "resize", path: path, code: errno)
    }
  }

  package static func rename(_ from: String, to: String) throws(SystemError) {
    let failed =
      call(.rename) {
        #if canImport(Darwin)
          Darwin.rename(native(from), native(to))
        #else
          Glibc.rename(native(from), native(to))
        #endif
      } != 0
    if failed { throw SystemError(operation: "rename", path: from, code: errno) }
  }

  /// Removes a file; a missing file is not an error.
  package static func remove(_ path: String) throws(SystemError) {
    if call(.remove, { unlink(native(path)) }) != 0 && errno != ENOENT {
      throw SystemError(operation: "remove", path: path, code: errno)
    }
  }

  /// A shared mapping of a descriptor's first `length` bytes; nil when the system has no address space.
  ///
  /// The mapping may be longer than the file: bytes beyond its end must not be accessed until the file has
  /// grown over them.
  package static func map(_ descriptor: Int32, length: Int, writable: Bool)
    -> UnsafeMutableRawPointer?
  {
    if failure(of: .map) != nil { return nil }
    #if canImport(Darwin)
      let flags = MAP_SHARED
    #else
      let flags = MAP_SHARED | MAP_NORESERVE
    #endif
    let protection = writable ? PROT_READ | PROT_WRITE : PROT_READ
    let address = mmap(nil, length, protection, flags, descriptor, 0)
    return address == MAP_FAILED ? nil : address
  }

  /// Drops a file mapping's pages from memory until they are read again.
  ///
  /// - Precondition: the bytes belong to a read-only shared mapping of a file.
  package static func forgetMapped(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
    let pageSize = max(1, Int(sysconf(Int32(_SC_PAGESIZE))))
    // Whole pages around the bytes: pages that others still need are read again.
    let start = UInt(bitPattern: base) / UInt(pageSize) * UInt(pageSize)
    let length = Int(UInt(bitPattern: base) - start) + bytes.count
    if let address = UnsafeMutableRawPointer(bitPattern: start) {
      madvise(address, length, MADV_DONTNEED)
    }
  }

  /// Zeroed private memory that uses pages only where it is accessed; nil when there is none.
  package static func reserve(length: Int) -> UnsafeMutableRawPointer? {
    if failure(of: .map) != nil { return nil }
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    let address = mmap(nil, length, PROT_READ | PROT_WRITE, flags, -1, 0)
    return address == MAP_FAILED ? nil : address
  }

  /// Lets the system provide the memory of an allocation at once, and not page by page at its first use. Only
  /// faster: what fails has no effect.
  ///
  /// - Precondition: the bytes belong to one allocation of the caller.
  package static func makePresent(_ address: UnsafeMutableRawPointer?, count: Int) {
    #if !canImport(Darwin)
      guard let address, count >= 1 << 16 else { return }
      // Whole pages inside.
      let page = max(1, Int(sysconf(Int32(_SC_PAGESIZE))))
      let start = (UInt(bitPattern: address) + UInt(page) - 1) & ~UInt(page - 1)
      let end = (UInt(bitPattern: address) + UInt(count)) & ~UInt(page - 1)
      guard start < end, let first = UnsafeMutableRawPointer(bitPattern: start) else { return }
      // MADV_POPULATE_WRITE, of Linux 5.14.
      let populateForWriting: Int32 = 23
      _ = madvise(first, Int(end - start), populateForWriting)
    #endif
  }

  package static func unmap(_ address: UnsafeMutableRawPointer, length: Int) {
    munmap(address, length)
  }

  // MARK: The machine and the process

  package static var processIdentifier: Int32 { getpid() }

  /// The effective user of the process; 0: root.
  package static var userIdentifier: UInt32 { UInt32(geteuid()) }

  package static func processIsAlive(_ identifier: Int32) -> Bool {
    kill(identifier, 0) == 0 || errno == EPERM
  }

  package static var processorCount: Int { max(1, Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))) }

  /// Nanoseconds of a clock that never goes backwards.
  package static var monotonicNanoseconds: UInt64 {
    #if DEBUG
      if let scheduler = Scheduling.scheduler { return scheduler.nanoseconds }
    #endif
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// The processor time of the calling thread in nanoseconds. The system call takes about half a microsecond.
  package static var threadNanoseconds: UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }

  /// A random length for a pause, so that threads that failed together do not retry together. In a test's
  /// schedule it is always the longest, so that a schedule can be repeated.
  package static func jitter(_ range: ClosedRange<Int>) -> Int {
    #if DEBUG
      if Scheduling.scheduler != nil { return range.upperBound }
    #endif
    return Int.random(in: range)
  }

  package static func sleep(milliseconds: UInt32) { sleep(microseconds: milliseconds &* 1000) }

  package static func sleep(microseconds: UInt32) {
    #if DEBUG
      if let scheduler = Scheduling.scheduler {
        return scheduler.pause(milliseconds: max(1, Int(microseconds) / 1000))
      }
    #endif
    usleep(microseconds)
  }

  /// The bytes that an unprivileged user may still write on the file system of `path`.
  package static func freeSpace(at path: String) throws(SystemError) -> Int {
    var raw = statvfs()
    guard call(.space, { statvfs(native(path), &raw) }) == 0 else {
      throw SystemError(operation: "statvfs", path: path, code: errno)
    }
    let (bytes, overflow) = Int(clamping: raw.f_bavail).multipliedReportingOverflow(
      by: Int(clamping: raw.f_frsize))
    return overflow ? Int.max : bytes
  }

  package static func isTerminal(_ descriptor: Int32) -> Bool { isatty(descriptor) == 1 }

  /// The folder for files that end with a process: `TMPDIR`, or `/tmp`.
  package static var temporaryFolder: String {
    environment("TMPDIR").flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
  }

  package static func environment(_ name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    return String(cString: value)
  }
}

extension FileStatus {
  init(_ raw: stat) {
    size = Int(raw.st_size)
    device = UInt64(truncatingIfNeeded: raw.st_dev)
    inode = UInt64(truncatingIfNeeded: raw.st_ino)
    isRegular = raw.st_mode & S_IFMT == S_IFREG
    isDirectory = raw.st_mode & S_IFMT == S_IFDIR
    isLink = raw.st_mode & S_IFMT == S_IFLNK
    isPipe = raw.st_mode & S_IFMT == S_IFIFO
    links = Int(raw.st_nlink)
    #if canImport(Darwin)
      modified =
        Int64(raw.st_mtimespec.tv_sec) &* 1_000_000_000 &+ Int64(raw.st_mtimespec.tv_nsec)
    #else
      modified = Int64(raw.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(raw.st_mtim.tv_nsec)
    #endif
    permissions = UInt32(raw.st_mode) & 0o7777
    owner = UInt32(raw.st_uid)
    group = UInt32(raw.st_gid)
  }
}
