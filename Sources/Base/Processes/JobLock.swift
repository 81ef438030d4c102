/// A lock on a database file for a whole job: an import of many transactions, or a compaction. Two jobs
/// at once would come between each other's batches.
///
/// It lies on a byte of the database file far behind its end, and is the kernel's: it ends with the
/// process, however that ends. Only jobs ask for it; readers and writers of single transactions go on
/// meanwhile, and so does whoever has the database merely open.
///
/// Thread rule: any thread. Two locks of one process exclude each other too.
package final class JobLock: Sendable {
  private let descriptor: Int32
  private static let byte = 1 << 60

  /// What ended the wait.
  package typealias Refusal = Patience.Refusal

  /// What is neither a file nor a folder: opening it could wait for ever.
  package struct NoFile: Error {
    /// With all links followed.
    package let path: String
  }

  /// Waits for other jobs on the file, and creates the file, empty, where it is missing.
  ///
  /// - Parameters:
  ///   - creates: whether a missing file is created; else it is an error.
  ///   - patience: for how long.
  /// - Throws: `Refusal`, `SystemError`; `NoFile` for a pipe or a device.
  package init(
    _ given: String, creates: Bool, _ patience: inout Patience
  ) throws {
    let path = try System.resolved(given)
    while true {
      if let status = try System.statusIfPresent(path: path), !status.isRegular, !status.isDirectory
      {
        throw NoFile(path: path)
      }
      let descriptor = try System.open(path, creates ? .readWriteCreate : .readWrite)
      do {
        let isTaken = try System.lock(
          descriptor, .exclusive, at: Self.byte, length: 1, wait: false, path: path)
        // A compaction puts another file in place.
        if isTaken, try Self.isNamed(path, descriptor) {
          self.descriptor = descriptor
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

  private static func isNamed(_ path: String, _ descriptor: Int32) throws(SystemError) -> Bool {
    let held = try System.status(descriptor, path: path)
    guard let named = try System.statusIfPresent(path: path) else { return false }
    return named.inode == held.inode && named.device == held.device
  }

  deinit { System.close(descriptor) }
}
