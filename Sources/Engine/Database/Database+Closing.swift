import Base

extension Database {
  /// Closes the file. Makes the asynchronous writes that were asked for, waits for the transactions of other
  /// threads, running or waiting (none can begin any more), makes all commits durable, gives free pages at
  /// the end of the file back, and writes the newest version into both slots. Earlier snapshots stay
  /// readable. Closing twice does nothing.
  ///
  /// So a thread that is inside a transaction must not wait for another that closes the database. Another
  /// handle's writer is waited for as long as `Options.waiting` says; then the file's end and its slots are
  /// left to the handle that closes the file after that.
  ///
  /// - Throws: the errors of `flush`; the handle is closed all the same. `EngineError.nestedTransaction`
  ///   inside a transaction of the same thread, `.nestedConnection` inside a closure of a connection; then it
  ///   stays open.
  public func close() throws {
    try translatingErrors(path) {
      try NestingGuard.check(coordination.identity, path: path)
      let wasClosed = try lock.withLock {
        guard shared.threadsInTurns[ExecutionContext.thread] == nil else {
          throw EngineError.nestedConnection(path: path)
        }
        shared.refusesAsyncWrites = true
        while shared.asyncWritesDue > 0 { lock.wait() }
        defer { shared.isClosed = true }
        return shared.isClosed
      }
      if wasClosed { return }
      lock.withLock { while shared.transactionsDue > 0 { lock.wait() } }
      asyncWrites.finish()
      // The last step takes a turn in the writers' queue.
      let nesting = try NestingGuard.enter(coordination.identity, path: path)
      defer { NestingGuard.leave(nesting) }
      listeners.stop()
      let parts = try parts
      var failure: (any Error)?
      do {
        if lock.withLock({ shared.hasWritten }) { _ = try tidyUp(parts, tellsUse: false) }
      } catch {
        failure = error
      }
      parts.pipeline.stop()
      AtomicWord(current).store(0)
      lock.withLock { shared.given = nil }
      try coordination.leave()
      if let failure { throw failure }
    }
  }

  /// Makes all commits durable and cuts free pages off the end of the file. `close` does it too.
  ///
  /// Waits for earlier writers, as long as `Options.waiting` says.
  ///
  /// - Returns: false when that wait was too long, and nothing was cut.
  /// - Complexity: O(free pages), beside the cost of `flush`.
  /// - Throws: the errors of `flush`; `EngineError.nestedTransaction` inside a transaction of the same
  ///   thread.
  @discardableResult
  public func trim() throws -> Bool { try trimInNesting()?.isDone ?? true }

  /// Trims the file, and returns the use of its bytes: `fileUse` without a walk, if this handle knows the
  /// file's pages.
  ///
  /// - Throws: as `trim` and `fileUse`.
  package func trimAndTellUse() throws -> FileUse {
    try trimInNesting(tellsUse: true)?.use ?? fileUse()
  }

  /// Nil for a handle that has written nothing.
  private func trimInNesting(tellsUse: Bool = false) throws -> (isDone: Bool, use: FileUse?)? {
    try translatingErrors(path) {
      guard lock.withLock({ shared.hasWritten }) else { return nil }
      let nesting = try NestingGuard.enter(coordination.identity, path: path)
      defer { NestingGuard.leave(nesting) }
      return try tidyUp(parts, tellsUse: tellsUse)
    }
  }

  /// - Parameter tellsUse: whether to return the use of the file's bytes, which takes a look at each page.
  private func tidyUp(
    _ parts: FileParts, tellsUse: Bool
  ) throws -> (isDone: Bool, use: FileUse?) {
    try parts.pipeline.makeDurable()
    do {
      return (true, try tidyUpInTurn(parts, tellsUse: tellsUse))
    } catch {
      switch error {
      case CoordinationError.held, EngineError.cancelled: break
      default: throw error
      }
    }
    // After one wait in vain, the next one does not wait as long again.
    lock.withLock { shared.tidyingWaiting.seconds = 0 }
    try parts.storage.checkName()
    return (false, nil)
  }

  /// The pages before the ends of these versions. A restored version ends beyond its last page, at the end of
  /// the version that it replaced: in a shorter file it could not be read.
  private static func pages(upToEndOf kept: KeptVersions) -> Int {
    let (pages, rest) = (kept.records.map(\.end).max() ?? 0)
      .quotientAndRemainder(dividingBy: UInt64(Layout.pageBytes))
    return Int(clamping: pages + (rest > 0 ? 1 : 0))
  }

  /// - Returns: where the file's bytes are then; nil when another handle may have written.
  private func tidyUpInTurn(_ parts: FileParts, tellsUse: Bool) throws -> FileUse? {
    let turn = try enterQueue(waiting: lock.withLock { shared.tidyingWaiting })
    defer { queue.leave(turn) }
    // A compaction that came first has replaced the parts.
    let parts = try self.parts
    let (base, isFresh) = try parts.pipeline.beginTransaction(waiting: turn.waiting)
    var use: FileUse?
    do {
      // Before the file is cut: the other slot may name a version that reaches beyond the new end.
      try parts.pipeline.mirrorSlot()
      // The map was dropped when trees were restored.
      if !isFresh, memory.space == nil, memory.hasRestored {
        memory.space = try freshSpace(base, parts)
      }
      if !isFresh, let space = memory.space, space.version == base.version {
        let kept = try versionsToKeep(parts)
        space.reclaim(kept.versions)
        // The map may end before a version's end.
        let least = Self.pages(upToEndOf: kept)
        let end = max(space.trim(notBelow: least), least) * Layout.pageBytes
        var length = try parts.storage.length()
        if length > end {
          try parts.storage.resize(to: end)
          length = end
        }
        // What the newest version keeps was found for `versionsToKeep`. What is pending beside a table, only
        // a walk can tell.
        if tellsUse, space.frozen.count == 0 {
          let named = memory.keptRoots[base.root] ?? []
          use = FileUse(space, total: length, kept: named.map(\.version).sorted())
        }
      } else {
        memory.space = nil
      }
    } catch {
      try parts.pipeline.endTransaction()
      throw error
    }
    try parts.pipeline.endTransaction()
    return use
  }
}
