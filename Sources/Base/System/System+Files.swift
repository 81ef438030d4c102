#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Files that are not simply opened: without following links, in place of others, with the access of others.
extension System {
  /// Opens a file that is there. What a symbolic link leads to is not, nor is anything but a regular file; a
  /// pipe is not waited for.
  ///
  /// - Throws: `SystemError`, whose `isNoRegularFile` says that it is something else.
  package static func openRegular(_ path: String, writable: Bool) throws(SystemError) -> Int32 {
    try checkPath(path)
    let flags = (writable ? O_RDWR : O_RDONLY) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let descriptor = call(.open) {
      #if canImport(Darwin)
        Darwin.open(native(path), flags)
      #else
        Glibc.open(native(path), flags)
      #endif
    }
    if descriptor < 0 { throw SystemError(operation: "open", path: path, code: errno) }
    do throws(SystemError) {
      let status = try status(descriptor, path: path)
      if status.isRegular { return descriptor }
      throw status.isDirectory ? .isADirectory(path) : .isNoRegularFile(path)
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// What a path names itself: a symbolic link is one. Nil: nothing.
  package static func linkStatus(path: String) throws(SystemError) -> FileStatus? {
    var raw = stat()
    if call(.stat, { lstat(native(path), &raw) }) == 0 { return FileStatus(raw) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError(operation: "stat", path: path, code: errno)
  }

  /// Renames a file to a name that nothing has.
  ///
  /// - Throws: `SystemError`, whose `isExisting` says that something has it.
  package static func renameToNew(_ from: String, to: String) throws(SystemError) {
    let outcome = call(.rename) {
      #if canImport(Darwin)
        renamex_np(native(from), native(to), UInt32(RENAME_EXCL))
      #else
        // RENAME_NOREPLACE of Linux's fs.h.
        linuxRenameat2(AT_FDCWD, native(from), AT_FDCWD, native(to), 1)
      #endif
    }
    if outcome == 0 { return }
    // A file system that cannot do it in one step can make a second name.
    if errno == EINVAL || errno == ENOTSUP || errno == ENOSYS {
      if call(.link, { link(native(from), native(to)) }) == 0 {
        try remove(from)
        return
      }
    }
    throw SystemError(operation: "rename", path: to, code: errno)
  }

  /// A pipe whose ends are closed when another program is started, whoever starts it.
  ///
  /// - Parameter path: what an error names.
  package static func pipe(for path: String = "") throws(SystemError) -> (
    reading: Int32, writing: Int32
  ) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      // There is no way to ask for it at once: a program started in between by another thread inherits them.
      let failed = call(.pipe) { Darwin.pipe(&ends) } != 0
      let code = errno
      if !failed { for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) } }
    #else
      let failed = call(.pipe) { linuxPipe2(&ends, O_CLOEXEC) } != 0
      let code = errno
    #endif
    if failed { throw SystemError(operation: "pipe", path: path, code: code) }
    return (ends[0], ends[1])
  }

  /// Another descriptor of the same open file.
  package static func duplicate(_ descriptor: Int32, path: String) throws(SystemError) -> Int32 {
    let copy = call(.open) { fcntl(descriptor, F_DUPFD_CLOEXEC, 3) }
    if copy < 0 { throw SystemError(operation: "open", path: path, code: errno) }
    return copy
  }

  /// Asks a file system that copies on write to write this empty file in place; a mere hint.
  package static func writeInPlace(_ descriptor: Int32) {
    #if !canImport(Darwin)
      // From Linux's fs.h: FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, FS_NOCOW_FL.
      var flags = 0
      guard ioctl(descriptor, UInt(0x8008_6601), &flags) == 0 else { return }
      flags |= 0x0080_0000
      _ = ioctl(descriptor, UInt(0x4008_6602), &flags)
    #endif
  }

  // MARK: Access

  /// Gives a file the owner, the group, the permissions and the access list of another one. It never allows
  /// more than that in between, when it was created for its owner alone.
  ///
  /// - Throws: `SystemError`; a user who is not root cannot give a file away.
  package static func copyAccess(from source: Int32, to target: Int32, path: String)
    throws(SystemError)
  {
    let wanted = try status(source, path: path)
    let present = try status(target, path: path)
    func check(_ failed: Bool, _ operation: String) throws(SystemError) {
      if failed { throw SystemError(operation: operation, path: path, code: errno) }
    }
    if wanted.owner != present.owner || wanted.group != present.group {
      try check(
        call(.access) { fchown(target, uid_t(wanted.owner), gid_t(wanted.group)) } != 0,
        "keep owner and group")
    }
    #if canImport(Darwin)
      try check(
        call(.access) { fchmod(target, mode_t(wanted.permissions)) } != 0, "keep permissions")
      try check(
        fcopyfile(source, target, nil, copyfile_flags_t(COPYFILE_ACL)) != 0, "keep access list")
    #else
      // A list's mask stands in the permissions of the group, which without it would be the group's own.
      if let list = try accessList(source, path: path) {
        try check(!setAccessList(list, of: target), "keep access list")
      } else {
        // What the folder gives to all that is created in it.
        let failed = call(.access) { linuxFremovexattr(target, accessListName) } != 0
        try check(failed && errno != ENODATA && errno != ENOTSUP, "keep access list")
      }
      try check(
        call(.access) { fchmod(target, mode_t(wanted.permissions)) } != 0, "keep permissions")
    #endif
  }

  /// Whether two files have the same access list, or none; true where that cannot be compared.
  package static func hasSameAccessList(_ one: Int32, _ other: Int32, path: String)
    throws(SystemError) -> Bool
  {
    #if canImport(Darwin)
      true
    #else
      try accessList(one, path: path) == accessList(other, path: path)
    #endif
  }

  #if !canImport(Darwin)
    private static let accessListName = "system.posix_acl_access"

    /// Whether the file has the list now.
    package static func setAccessList(_ list: [UInt8], of descriptor: Int32) -> Bool {
      list.withUnsafeBytes {
        let (base, count) = ($0.baseAddress, $0.count)
        return call(.access) {
          linuxFsetxattr(descriptor, accessListName, base, count, 0)
        } == 0
      }
    }

    /// The POSIX access list of a file, as the kernel has it; nil: its permissions say it all.
    package static func accessList(_ descriptor: Int32, path: String) throws(SystemError)
      -> [UInt8]?
    {
      var bytes = [UInt8](repeating: 0, count: 64 << 10)
      let count = bytes.withUnsafeMutableBytes {
        let (base, count) = ($0.baseAddress, $0.count)
        return call(.access) { linuxFgetxattr(descriptor, accessListName, base, count) }
      }
      if count >= 0 { return Array(bytes[..<count]) }
      if errno == ENODATA || errno == ENOTSUP { return nil }
      throw SystemError(operation: "read access list", path: path, code: errno)
    }
  #endif

  package static func setPermissions(of descriptor: Int32, to permissions: UInt32, path: String)
    throws(SystemError)
  {
    if call(.access, { fchmod(descriptor, mode_t(permissions)) }) != 0 {
      throw SystemError(operation: "set permissions", path: path, code: errno)
    }
  }

  /// The same as far as the user may: what cannot be given to the owner or the group of the other file is
  /// not given to anybody else instead.
  package static func copyAccessAsAllowed(from source: Int32, to target: Int32, path: String)
    throws(SystemError)
  {
    do {
      return try copyAccess(from: source, to: target, path: path)
    } catch  where !error.isReadOnly {
      throw error
    } catch {}
    let wanted = try status(source, path: path)
    #if !canImport(Darwin)
      if linuxFremovexattr(target, accessListName) != 0, errno != ENODATA, errno != ENOTSUP {
        throw SystemError(operation: "set permissions", path: path, code: errno)
      }
    #endif
    // The group alone can be one of the user's.
    _ = fchown(target, uid_t.max, gid_t(wanted.group))
    var permissions = wanted.permissions & 0o666
    if try status(target, path: path).group != wanted.group {
      // Members of that group are among the others now.
      permissions &= 0o600 | (permissions >> 3) & 0o006
    }
    try setPermissions(of: target, to: permissions | 0o600, path: path)
  }
}
