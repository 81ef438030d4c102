import Base

extension Database {
  /// Closes the file. Makes the requested asynchronous writes, waits for the running and waiting transactions
  /// of other threads (new ones cannot begin), makes all commits durable, truncates free pages at the end of
  /// the file, and writes the newest version into both slots. Snapshots stay readable. Closing twice does
  /// nothing.
  ///
  /// A thread inside a transaction must therefore not wait for a thread that closes the database. The wait
  /// for a writer of another handle is limited by `Options.waiting`; after it, the handle that closes the
  /// file later truncates it and writes the slots.
  ///
  /// - Throws: the errors of `flush`; the handle is closed all the same. `EngineError.nestedTransaction`
  ///   inside a transaction of the same thread, `.nestedConnection` inside a closure of a connection; the
  ///   handle then stays open.
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
        let (hasWritten, isLonger) = lock.withLock { (shared.hasWritten, shared.hasWrittenInVain) }
        if hasWritten {
          _ = try tidyUp(parts, tellsUse: false, walks: isLonger)
        } else if isLonger, parts.pipeline.failure == nil {
          // Nothing was committed: a longer file is no loss, and no reason to wait for others or to fail.
          lock.withLock { shared.tidyingWaiting.seconds = 0 }
          _ = try? tidyUp(parts, tellsUse: false, walks: true)
        }
      } catch {
        failure = error
      }
      parts.pipeline.stop()
      current.set(nil)
      lock.withLock { shared.given = nil }
      try coordination.leave()
      if let failure { throw failure }
    }
  }

  /// Makes all commits durable and truncates free pages at the end of the file, as `close` does.
  ///
  /// Waits for earlier writers, for at most `Options.waiting`.
  ///
  /// - Returns: false when that wait was too long, and nothing was truncated.
  /// - Complexity: O(free pages), beside the cost of `flush`.
  /// - Throws: the errors of `flush`; `EngineError.nestedTransaction` inside a transaction of the same
  ///   thread.
  @discardableResult
  public func trim() throws -> Bool { try trimInNesting()?.isDone ?? true }

  /// Trims the file and returns the use of its bytes: `fileUse` without a walk, if this handle has a map of
  /// the file's pages.
  ///
  /// - Throws: as `trim` and `fileUse`.
  package func trimAndTellUse() throws -> FileUse {
    try trimInNesting(tellsUse: true)?.use ?? fileUse()
  }

  /// `trim`, which finds the free pages by reading all nodes if a failed transaction has left no map of them.
  ///
  /// - Complexity: O(nodes) then.
  /// - Throws: as `trim`; `EngineError.damaged`.
  func trimAfterFailure() throws { _ = try trimInNesting(walks: true) }

  /// Nil for a handle that has not written.
  private func trimInNesting(
    tellsUse: Bool = false, walks: Bool = false
  ) throws -> (isDone: Bool, use: FileUse?)? {
    try translatingErrors(path) {
      let (hasWritten, isLonger) = lock.withLock { (shared.hasWritten, shared.hasWrittenInVain) }
      guard walks || hasWritten || isLonger else { return nil }
      let nesting = try NestingGuard.enter(coordination.identity, path: path)
      defer { NestingGuard.leave(nesting) }
      return try tidyUp(parts, tellsUse: tellsUse, walks: walks || isLonger)
    }
  }

  /// - Parameters:
  ///   - tellsUse: whether to return the use of the file's bytes, at the cost of one test for each page.
  ///   - walks: whether to make the map of the file's pages anew where it is lost.
  private func tidyUp(
    _ parts: FileParts, tellsUse: Bool, walks: Bool = false
  ) throws -> (isDone: Bool, use: FileUse?) {
    try parts.pipeline.makeDurable()
    do {
      return (true, try tidyUpInTurn(parts, tellsUse: tellsUse, walks: walks))
    } catch {
      switch error {
      case CoordinationError.held, EngineError.cancelled: break
      default: throw error
      }
    }
    // After one wait that timed out, the next one is not as long.
    lock.withLock { shared.tidyingWaiting.seconds = 0 }
    try parts.storage.checkName()
    return (false, nil)
  }

  /// The number of pages up to the ends of these versions. A restored version has the end of the version that
  /// it replaced, which lies beyond its own last page: a shorter file would make it unreadable.
  private static func pages(upToEndOf kept: KeptVersions) -> Int {
    let (pages, rest) = (kept.records.map(\.end).max() ?? 0)
      .quotientAndRemainder(dividingBy: UInt64(Layout.pageBytes))
    return Int(clamping: pages + (rest > 0 ? 1 : 0))
  }

  /// - Returns: the use of the file's bytes; nil when another handle may have written.
  private func tidyUpInTurn(
    _ parts: FileParts, tellsUse: Bool, walks: Bool
  ) throws -> FileUse? {
    let turn = try enterQueue(waiting: lock.withLock { shared.tidyingWaiting })
    defer { queue.leave(turn) }
    // An earlier compaction may have replaced the parts.
    let parts = try self.parts
    let (base, isFresh) = try parts.pipeline.beginTransaction(waiting: turn.waiting)
    var use: FileUse?
    do {
      // Before truncation, since the other slot may name a version that reaches beyond the new end.
      try parts.pipeline.mirrorSlot()
      // Restoring trees has dropped the map.
      if !isFresh, memory.space == nil, memory.hasRestored || walks {
        memory.space = try freshSpace(base, parts)
      }
      if !isFresh, let space = memory.space, space.version == base.version {
        let kept = try versionsToKeep(parts)
        space.reclaim(kept.versions)
        // The map may end before the end of a version.
        let least = Self.pages(upToEndOf: kept)
        let end = max(space.trim(notBelow: least), least) * Layout.pageBytes
        var length = try parts.storage.length()
        if length > end {
          try parts.storage.resize(to: end)
          length = end
        }
        // `versionsToKeep` has found what the newest version keeps. Pending tables need a walk.
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
