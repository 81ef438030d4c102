import Base

/// Records which threads and serial queues are inside a write transaction, and on which file. A second
/// transaction of the same thread or queue would wait for itself forever, so it is refused.
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
    // The next block of a queue may run on another thread, and this thread may do other work meanwhile.
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

  /// Runs `body` for a thread that waits for it inside transactions on these files. A transaction of `body`
  /// on one of them would wait forever for the waiting thread, so it is refused too.
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
