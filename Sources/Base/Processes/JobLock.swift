/// A lock on a database file for a whole job: an import of many transactions, or a compaction. Two
/// simultaneous jobs would mix their batches.
///
/// The kernel holds it on a byte far beyond the end of the database file, so it ends with the process in any
/// case. Only jobs take it; it does not affect readers, writers of single transactions and open databases.
///
/// Thread rule: any thread. Two locks of one process exclude each other too.
package final class JobLock: Sendable {
  private let descriptor: Int32
  private let path: String
  /// True when there was no file.
  package let hasCreated: Bool
  private static let byte = 1 << 60
  /// The bytes that handles of the database lock, of which each one has one.
  private static let handles = (1 << 61)..<(6 << 60)

  /// Why the wait ended.
  package typealias Refusal = Patience.Refusal

  /// The path leads to neither a file nor a folder: opening it could wait forever.
  package struct NoFile: Error {
    /// The path with all links followed.
    package let path: String
  }

  /// Waits for other jobs on the file. Creates an empty file if it is missing.
  ///
  /// - Parameters:
  ///   - creates: whether to create a missing file, which is otherwise an error.
  ///   - patience: how long to wait.
  /// - Throws: `Refusal`, `SystemError`; `NoFile` for a pipe or a device.
  package init(
    _ given: String, creates: Bool, _ patience: inout Patience
  ) throws {
    let path = try System.resolved(given)
    while true {
      let status = try System.statusIfPresent(path: path)
      if let status, !status.isRegular, !status.isDirectory { throw NoFile(path: path) }
      let (descriptor, isNew) = try Self.open(path, creates: creates, isMissing: status == nil)
      do {
        let isTaken = try System.lock(
          descriptor, .exclusive, at: Self.byte, length: 1, wait: false, path: path)
        // A compaction may have replaced this file.
        if isTaken, try Self.isNamed(path, descriptor) {
          self.descriptor = descriptor
          self.path = path
          hasCreated = isNew
          return
        }
        System.close(descriptor)
        if isTaken { continue }
      } catch {
        System.close(descriptor)
        throw error
      }
      try patience.pause { "another import or compaction, which has the file" }
    }
  }

  private static func open(
    _ path: String, creates: Bool, isMissing: Bool
  ) throws(SystemError) -> (Int32, isNew: Bool) {
    if creates, isMissing {
      do throws(SystemError) {
        return (try System.open(path, .createNew), true)
      } catch {
        // Somebody else has created it meanwhile.
        guard error.isExisting else { throw error }
      }
    }
    return (try System.open(path, creates ? .readWriteCreate : .readWrite), false)
  }

  private static func isNamed(_ path: String, _ descriptor: Int32) throws(SystemError) -> Bool {
    let held = try System.status(descriptor, path: path)
    guard let named = try System.statusIfPresent(path: path) else { return false }
    return named.inode == held.inode && named.device == held.device
  }

  /// Removes the file, if this lock has created it and nobody has used it: it is empty, and no handle of a
  /// database has it open. Who waits for this lock finds that it is gone, and creates another; so does
  /// `Database.open`, which looks for the name after taking a lock of its own.
  package func removeUnused() {
    guard hasCreated,
      (try? System.lock(
        descriptor, .exclusive, at: Self.handles.lowerBound, length: Self.handles.count,
        wait: false, path: path)) == true,
      (try? Self.isNamed(path, descriptor)) == true,
      (try? System.status(descriptor, path: path).size) == 0
    else { return }
    try? System.remove(path)
  }

  deinit { System.close(descriptor) }
}
