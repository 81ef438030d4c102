import Base

/// Knows who is inside a write transaction on which file: a second one of the same thread, or of the
/// same serial queue, would wait for itself for ever, so it is refused.
package enum NestingGuard {
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

  /// The files on which the caller is inside a transaction.
  package static var openFiles: [FileIdentity] {
    let (thread, queue) = (ExecutionContext.thread, ExecutionContext.queue)
    return lock.withLock {
      entries.filter { $0.owner == thread || $0.owner == queue }.map(\.file)
    }
  }

  /// Runs `body` for somebody who waits for it, and who is inside transactions on these files: one of
  /// its own would wait for ever for the one that waits for it.
  package static func working<Result>(
    forOneInside files: [FileIdentity], _ body: () throws -> Result
  ) rethrows -> Result {
    if files.isEmpty { return try body() }
    let owner = ExecutionContext.here
    let lent = files.map { Entry(file: $0, owner: owner) }
    lock.withLock { entries += lent }
    defer { lent.forEach(leave) }
    return try body()
  }

  static func leave(_ entry: Entry) {
    lock.withLock { entries.removeAll { $0 == entry } }
  }
}
