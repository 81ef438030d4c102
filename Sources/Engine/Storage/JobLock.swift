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
  private static let pauseMilliseconds: UInt32 = 20

  /// What ended the wait.
  package enum Refusal: Error, Sendable, Equatable {
    /// Another job has the file still.
    case busy
    /// `isCancelled` said so.
    case cancelled
  }

  /// Waits for other jobs on the file, and creates the file, empty, where it is missing.
  ///
  /// - Parameters:
  ///   - creates: whether a missing file is created; else it is an error.
  ///   - seconds: for how long at most; 0: not at all.
  ///   - isCancelled: asked while it waits.
  /// - Throws: `Refusal`, `SystemError`; `EngineError.notADatabase` for a pipe or a device.
  package init(
    _ given: String, creates: Bool, waiting seconds: Double, isCancelled: () -> Bool = { false }
  ) throws {
    let path = System.resolved(given)
    let began = System.monotonicNanoseconds
    while true {
      if let status = try? System.status(path: path), !status.isRegular, !status.isDirectory {
        throw EngineError.isNoFile(path)
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
      if isCancelled() { throw Refusal.cancelled }
      let waited = Double(System.monotonicNanoseconds &- began) / 1e9
      if waited >= seconds { throw Refusal.busy }
      System.sleep(milliseconds: Self.pauseMilliseconds)
    }
  }

  private static func isNamed(_ path: String, _ descriptor: Int32) throws(SystemError) -> Bool {
    let held = try System.status(descriptor, path: path)
    guard let named = try? System.status(path: path) else { return false }
    return named.inode == held.inode && named.device == held.device
  }

  deinit { System.close(descriptor) }
}
