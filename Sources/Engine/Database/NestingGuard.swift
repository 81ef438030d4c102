/// Knows which thread is inside a write transaction on which file: a second one on the same thread
/// would wait for itself for ever, so it is refused.
enum NestingGuard {
  struct Entry: Equatable, Sendable {
    fileprivate let file: FileIdentity
    fileprivate let thread: UInt
  }

  private static let lock = Lock()
  nonisolated(unsafe) private static var entries: [Entry] = []  // guarded by `lock`

  static func enter(_ file: FileIdentity, path: String) throws -> Entry {
    let entry = Entry(file: file, thread: System.currentThread)
    try lock.withLock {
      guard !entries.contains(entry) else { throw EngineError.nestedTransaction(path: path) }
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
