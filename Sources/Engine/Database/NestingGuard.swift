/// Knows who is inside a write transaction on which file: a second one of the same thread, or of the
/// same serial queue, would wait for itself for ever, so it is refused.
enum NestingGuard {
  struct Entry: Equatable, Sendable {
    fileprivate let file: FileIdentity
    fileprivate let owner: ExecutionContext
  }

  private static let lock = Lock()
  nonisolated(unsafe) private static var entries: [Entry] = []  // guarded by `lock`

  static func enter(_ file: FileIdentity, path: String) throws -> Entry {
    let thread = ExecutionContext.thread
    let queue = ExecutionContext.queue
    // A queue's next block may run on another thread, and its thread do other work meanwhile.
    let entry = Entry(file: file, owner: queue ?? thread)
    try lock.withLock {
      for other in entries where other.file == file {
        guard other.owner != thread, other.owner != queue else {
          throw EngineError.nestedTransaction(path: path)
        }
      }
      entries.append(entry)
    }
    return entry
  }

  /// - Throws: `EngineError.nestedTransaction` when this thread is inside a transaction on the file.
  static func check(_ file: FileIdentity, path: String) throws {
    leave(try enter(file, path: path))
  }

  static func leave(_ entry: Entry) {
    lock.withLock { entries.removeAll { $0 == entry } }
  }
}
