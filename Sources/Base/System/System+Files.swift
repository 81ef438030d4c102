#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Opening, renaming and creating files beyond a plain `open`: links not followed, names not replaced, access
/// copied.
extension System {
  /// Opens an existing regular file, without following a symbolic link or waiting for a pipe.
  ///
  /// - Throws: `SystemError`, whose `isNoRegularFile` is true for a link, a folder, a pipe or a device.
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

  /// The status of the path itself, which may be a symbolic link; nil when nothing has that name.
  package static func linkStatus(path: String) throws(SystemError) -> FileStatus? {
    var raw = stat()
    if call(.stat, { lstat(native(path), &raw) }) == 0 { return FileStatus(raw) }
    if errno == ENOENT || errno == ENOTDIR { return nil }
    throw SystemError(operation: "stat", path: path, code: errno)
  }

  /// Renames a file to an unused name.
  ///
  /// - Throws: `SystemError`, whose `isExisting` is true when the name is in use.
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
    // A file system without this call can make a hard link instead.
    if errno == EINVAL || errno == ENOTSUP || errno == ENOSYS {
      if call(.link, { link(native(from), native(to)) }) == 0 {
        try remove(from)
        return
      }
    }
    throw SystemError(operation: "rename", path: to, code: errno)
  }

  /// A pipe whose ends are closed in every other program that this process starts.
  ///
  /// - Parameter path: the path for errors.
  package static func pipe(for path: String = "") throws(SystemError) -> (
    reading: Int32, writing: Int32
  ) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Darwin)
      // Darwin cannot create and mark a pipe in one step: a program that another thread starts between the
      // two inherits the ends.
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

  /// A hint to a file system that copies on write: write this empty file in place.
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

  /// Gives a file the owner, group, permissions and access list of another one. A file that was created for
  /// its owner only never allows more than that meanwhile.
  ///
  /// - Throws: `SystemError`, also because only root can give a file away.
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
      // In a file with an access list, the group permissions are the list's mask; without the list they would
      // become the group's own.
      if let list = try accessList(source, path: path) {
        try check(!setAccessList(list, of: target), "keep access list")
      } else {
        // The target has got its list from its folder, which gives one to every new file.
        let failed = call(.access) { linuxFremovexattr(target, accessListName) } != 0
        try check(failed && errno != ENODATA && errno != ENOTSUP, "keep access list")
      }
      try check(
        call(.access) { fchmod(target, mode_t(wanted.permissions)) } != 0, "keep permissions")
    #endif
  }

  /// Returns whether two files have the same access list or none; true when lists cannot be compared.
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

    /// Sets a file's access list; returns whether it was set.
    package static func setAccessList(_ list: [UInt8], of descriptor: Int32) -> Bool {
      list.withUnsafeBytes {
        let (base, count) = ($0.baseAddress, $0.count)
        return call(.access) {
          linuxFsetxattr(descriptor, accessListName, base, count, 0)
        } == 0
      }
    }

    /// The POSIX access list of a file, in the kernel's form; nil: the file has permissions only.
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

  /// Like `copyAccess`, as far as the user may: rights of an owner or group that the target cannot get are
  /// not given to others.
  package static func copyAccessAsAllowed(from source: Int32, to target: Int32, path: String)
    throws(SystemError)
  {
    do {
      return try copyAccess(from: source, to: target, path: path)
    } catch  where !error.isReadOnly {
      throw error
    } catch {}
    let wanted = try status(source, path: path)
    // The user may be a member of that group without owning the other file.
    _ = fchown(target, uid_t.max, gid_t(wanted.group))
    let hasGroup = try status(target, path: path).group == wanted.group
    var permissions = wanted.permissions & 0o666
    #if !canImport(Darwin)
      let list = try accessList(source, path: path)
      if let list, hasGroup, setAccessList(list, of: target) {
        return try setPermissions(of: target, to: permissions | 0o600, path: path)
      }
      if linuxFremovexattr(target, accessListName) != 0, errno != ENODATA, errno != ENOTSUP {
        throw SystemError(operation: "set permissions", path: path, code: errno)
      }
      // With the list, the permissions of the group are the most that the list gives.
      if let list {
        permissions = permissions & 0o600 | (AccessList(list)?.plainPermissions ?? 0) & 0o066
      }
    #endif
    if !hasGroup {
      // Here, members of the source's group are others.
      permissions &= 0o600 | (permissions >> 3) & 0o006
    }
    try setPermissions(of: target, to: permissions | 0o600, path: path)
  }
}
