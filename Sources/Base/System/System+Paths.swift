#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Paths, links, names of files.
extension System {
  /// The current path of an open file, as far as the system knows it.
  package static func path(of descriptor: Int32) -> String? {
    #if canImport(Darwin)
      var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
      guard fcntl(descriptor, F_GETPATH, &buffer) == 0 else { return nil }
      return PathText.text(buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)))
    #else
      return target(ofLink: "/proc/self/fd/\(descriptor)")
    #endif
  }

  /// True when both paths lead to one file, or would lead to one that is not there yet.
  package static func areTheSame(_ first: String, _ second: String) -> Bool {
    let (one, other) = (try? status(path: first), try? status(path: second))
    if let one, let other { return one.inode == other.inode && one.device == other.device }
    guard one == nil, other == nil, name(of: first) == name(of: second),
      let one = try? status(path: directory(of: first)),
      let other = try? status(path: directory(of: second))
    else { return false }
    return one.inode == other.inode && one.device == other.device
  }

  /// The path with all symbolic links followed; the path itself when nothing has that name.
  ///
  /// A link to a missing file gives that file's path: the process that creates the file through the link and
  /// the one that opens it later must use the same names of companion files.
  ///
  /// - Throws: `SystemError` when the system cannot determine it now: another name would mean another file.
  package static func resolved(_ path: String) throws(SystemError) -> String {
    var path = path
    // As many links as systems usually follow.
    for _ in 0..<40 {
      let failure = failure(of: .path)
      if failure == nil, let buffer = realpath(native(path), nil) {
        defer { free(buffer) }
        return PathText.text(buffer)
      }
      let code = failure ?? errno
      // Opening the path will report what is missing, circular, too long or forbidden.
      guard [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EACCES, EINVAL].contains(code) else {
        throw SystemError(operation: "find", path: path, code: code)
      }
      guard let target = target(ofLink: path) else { return resolvedInFolder(path) }
      path = target.begins(withSign: "/") ? target : "\(directory(of: path))/\(target)"
    }
    return path
  }

  /// A path to nothing in its folder with the links of that resolved; the same path if there is no such
  /// folder.
  private static func resolvedInFolder(_ path: String) -> String {
    let name = name(of: path)
    guard !["", ".", ".."].contains(name), let buffer = realpath(native(directory(of: path)), nil)
    else { return path }
    defer { free(buffer) }
    let folder = PathText.text(buffer)
    return folder == "/" ? folder + name : "\(folder)/\(name)"
  }

  /// The target of a symbolic link; nil for anything else.
  package static func target(ofLink path: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = call(.path) { readlink(native(path), &buffer, buffer.count) }
    guard count > 0 else { return nil }
    return PathText.text(buffer[..<count].map(UInt8.init(bitPattern:)))
  }

  /// The folder part of a path; `.` when it has none.
  package static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// The part of a path after its last slash; a final slash is ignored.
  package static func name(of path: String) -> String {
    path.parts(at: "/").last { !$0.isEmpty } ?? path
  }
}
