import Base

/// The files beside a database whose names the user did not choose: its lock file and the copy that a
/// compaction writes. A user may have files or links with these names.
///
/// Sheaf opens such a file for writing, empties it or removes it only if it is a regular file, reached
/// without a symbolic link, and is empty or begins with Sheaf's mark.
///
/// Thread rule: any thread.
package enum CompanionFile {
  /// The first bytes of a companion file. They are written first and stay until the file is removed.
  package enum Mark: String, Sendable {
    case lock = "SheafLck"
    case temporary = "SheafTmp"

    package var bytes: [UInt8] { Array(rawValue.utf8) }
  }

  package static func lockPath(_ path: String) -> String { path + "-lock" }
  package static func temporaryPath(_ path: String) -> String { path + "-temporary" }

  /// Opens a companion file for reading and writing; creates an empty one if it is missing.
  ///
  /// - Parameter limit: a file of zeros up to this length counts as empty, since a power cut may leave an
  ///   unflushed file its length without its bytes.
  /// - Throws: `ObstructionError` when something else has the name; `SystemError`.
  package static func open(
    _ path: String, _ mark: Mark, permissions: UInt32, emptyUpTo limit: Int
  ) throws -> Int32 {
    let descriptor: Int32
    do throws(SystemError) {
      descriptor = try System.open(
        path, .readWriteCreate, permissions: permissions, followsLinks: false)
    } catch {
      if error.isLink { throw ObstructionError(path: path, what: "is a symbolic link") }
      if error.isDirectory { throw ObstructionError(path: path, what: "is a folder") }
      throw error
    }
    do {
      guard try isOurs(descriptor, path, mark, emptyUpTo: limit) else {
        throw ObstructionError(path: path, what: "is a file of somebody else's")
      }
      return descriptor
    } catch {
      System.close(descriptor)
      throw error
    }
  }

  /// Removes a companion file; leaves anything else of that name unchanged. A missing file is not an error.
  ///
  /// - Returns: false when something else has the name.
  @discardableResult
  package static func remove(
    _ path: String, _ mark: Mark, emptyUpTo limit: Int
  ) throws(SystemError) -> Bool {
    let descriptor: Int32
    do {
      guard let status = try System.linkStatus(path: path) else { return true }
      guard status.isRegular else { return false }
      // An empty file has nothing to lose, and its creator may not have made it readable for others yet.
      if status.size == 0 {
        try System.remove(path)
        return true
      }
      descriptor = try System.openRegular(path, writable: false)
    } catch {
      if error.isMissing { return true }
      if error.isNoRegularFile { return false }
      throw error
    }
    defer { System.close(descriptor) }
    guard try isOurs(descriptor, path, mark, emptyUpTo: limit),
      try isNamed(path, descriptor)
    else { return false }
    try System.remove(path)
    return true
  }

  /// Returns whether the path names the file of an open descriptor. A symbolic link to the file does not
  /// count.
  package static func isNamed(_ path: String, _ descriptor: Int32) throws(SystemError) -> Bool {
    let held = try System.status(descriptor, path: path)
    guard let named = try System.linkStatus(path: path) else { return false }
    return named.inode == held.inode && named.device == held.device
  }

  private static func isOurs(
    _ descriptor: Int32, _ path: String, _ mark: Mark, emptyUpTo limit: Int
  ) throws(SystemError) -> Bool {
    let status = try System.status(descriptor, path: path)
    guard status.isRegular else { return false }
    if status.size == 0 { return true }
    let start = try System.beginning(descriptor, count: mark.bytes.count, path: path)
    if start == mark.bytes { return true }
    guard status.size <= limit, start.allSatisfy({ $0 == 0 }) else { return false }
    return try System.beginning(descriptor, count: status.size, path: path).allSatisfy { $0 == 0 }
  }

  /// Returns whether a file begins with one of the marks, so that no output may be written there.
  ///
  /// - Throws: `SystemError` when the file cannot be read.
  package static func isMarked(_ path: String) throws(SystemError) -> Bool {
    let start = try beginning(of: path, count: 8)
    return start == Mark.lock.bytes || start == Mark.temporary.bytes
  }

  /// The first bytes of a regular file; none when there is no such file.
  package static func beginning(of path: String, count: Int) throws(SystemError) -> [UInt8] {
    let descriptor: Int32
    do {
      descriptor = try System.openRegular(path, writable: false)
    } catch {
      if error.isMissing || error.isNoRegularFile { return [] }
      throw error
    }
    defer { System.close(descriptor) }
    return try System.beginning(descriptor, count: count, path: path)
  }
}

/// Something that is not Sheaf's has the name of a lock file or temporary file.
package struct ObstructionError: Error, Equatable, CustomStringConvertible {
  package let path: String
  package let what: String

  package init(path: String, what: String) {
    self.path = path
    self.what = what
  }

  package var description: String {
    "\(path) \(what), where a file of the database's own has to be; it was left as it is: move it away, "
      + "or give the database another name"
  }
}
