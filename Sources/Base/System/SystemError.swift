#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A failed operating-system call.
///
/// - `operation`: the call, as a verb for people (`write`, `open`).
/// - `path`: the file concerned, or an empty string.
/// - `code`: the system's error number (`errno`).
///
/// Thread rule: a plain value, `Sendable`.
public struct SystemError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The call, as a verb for people.
  public let operation: String
  /// The file concerned, or an empty string.
  public let path: String
  /// The system's error number (`errno`).
  public let code: Int32

  /// - Parameters:
  ///   - operation: the call, as a verb for people.
  ///   - path: the file concerned, or an empty string.
  ///   - code: the system's error number (`errno`).
  public init(operation: String, path: String, code: Int32) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  /// The system's text for the error number.
  public var reason: String {
    guard let text = strerror(code) else { return "error \(code)" }
    return String(cString: text)
  }

  /// One line for people: path, operation and reason.
  public var description: String {
    let reason =
      isLink
      ? "it is a symbolic link that is not followed here, or one of a circle; name the file itself"
      : reason
    return path.isEmpty ? "\(operation): \(reason)" : "\(path): \(operation): \(reason)"
  }

  /// True when the disk, the quota or the file-size limit is exhausted.
  public var isNoSpace: Bool { code == ENOSPC || code == EDQUOT || code == EFBIG }
  /// What to do when there is no space.
  package var spaceAdvice: String {
    code == EFBIG ? "allow larger files (ulimit -f)" : "free some space"
  }
  /// What to do when the process or the machine has too many files open; nil for any other error.
  package var filesAdvice: String? {
    switch code {
    case EMFILE: "allow more open files (ulimit -n)"
    case ENFILE: "the machine has too many files open"
    default: nil
    }
  }
  /// True when the target of a rename is a mount point.
  package var isMountPoint: Bool { code == EBUSY && operation == "rename" }
  /// True when a file or a folder on the way to it does not exist.
  public var isMissing: Bool { code == ENOENT || code == ENOTDIR }
  /// True when no file can have the name: it has too many bytes.
  package var isNameTooLong: Bool { code == ENAMETOOLONG }
  /// True when the file or its folder may not be written by this user, or not at all.
  public var isReadOnly: Bool { code == EACCES || code == EPERM || code == EROFS }
  /// True when the file to be opened for writing is a symbolic link, or links form a circle.
  package var isLink: Bool { code == ELOOP }
  /// The error for opening a folder as if it were a file.
  package static func isADirectory(_ path: String) -> SystemError {
    SystemError(operation: "open", path: path, code: EISDIR)
  }
  /// The error for an operation without memory or address space.
  package static func noMemory(_ operation: String, _ path: String) -> SystemError {
    SystemError(operation: operation, path: path, code: ENOMEM)
  }
  /// True when a folder is where a file was expected.
  package var isDirectory: Bool { code == EISDIR }
  /// True when something of that name exists.
  package var isExisting: Bool { code == EEXIST }
  /// True when the reader of a pipe has closed it.
  public var isClosedPipe: Bool { code == EPIPE }
  /// The error for opening something that is not a regular file as if it were one.
  static func isNoRegularFile(_ path: String) -> SystemError {
    SystemError(operation: "open", path: path, code: ESPIPE)
  }
  /// The error for creating a file that exists.
  package static func isExisting(_ path: String) -> SystemError {
    SystemError(operation: "open", path: path, code: EEXIST)
  }
  /// True when a regular file was expected, but a symbolic link, a folder, a pipe or a device exists.
  package var isNoRegularFile: Bool {
    [ESPIPE, ELOOP, ENXIO, EISDIR, EMLINK].contains(code)
  }
}
