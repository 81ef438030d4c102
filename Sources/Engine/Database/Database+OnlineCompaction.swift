import Base

extension Database {
  /// Compacts the file while others read and write it, in ordinary transactions of bounded size: neighbouring
  /// small clusters are encoded anew as large ones, the runs of indexes are merged, blocks move from the
  /// file's end into its holes, and the end is cut off as readers release older versions.
  ///
  /// None of its versions changes a value: sessions, observers and `Table.forEachChange` find no change.
  /// Readers never wait. Other writers take their turns between its transactions; the parts that they change
  /// meanwhile are left to the next compaction. A kill at any moment leaves one of its versions. While nobody
  /// holds an older version, the file ends up about as small as `compact` makes it.
  ///
  /// Blocks that a kept version shares with the newest one stay where they are, since the kept version would
  /// need them there all the same. An index is merged in one transaction, however large it is.
  ///
  /// Thread rule: any thread, outside of transactions.
  ///
  /// - Parameters:
  ///   - waiting: how long it waits in all for readers of older versions: when these keep more than a
  ///     transaction's bytes from reuse, and at the end for cutting the file.
  ///   - shouldStop: asked now and then, on the caller's thread; true ends it after the present transaction,
  ///     and `isStopped` is true then.
  /// - Returns: the space gained, and the versions that readers hold. The decision is `skippedInUse` when
  ///   readers have prevented every step, and `skippedNoSpace` when the disk has no room for the first
  ///   transaction.
  /// - Complexity: O(bytes that are encoded or moved), some 40 bytes of memory for each block that may be
  ///   moved, 8 for each page, and that of a few clusters.
  /// - Throws: as `write`, `EngineError.damaged` when a block cannot be read; earlier transactions stay.
  public func compactInUse(
    waiting: Waiting = Waiting(seconds: 10), shouldStop: @escaping () -> Bool = { false }
  ) throws -> CompactionResult {
    try compactInUse(OnlineLimits(), waiting: waiting, shouldStop: shouldStop)
  }

  package func compactInUse(
    _ limits: OnlineLimits, waiting: Waiting = Waiting(seconds: 10),
    shouldStop: @escaping () -> Bool = { false }
  ) throws -> CompactionResult {
    guard options.access != .readOnly else { throw EngineError.readOnly(path: path) }
    return try translatingErrors(path) {
      let run = OnlineCompaction(self, limits, waiting, shouldStop)
      return try run.run()
    }
  }
}

/// One run of a compaction in use.
///
/// Thread rule: the caller's thread.
private final class OnlineCompaction {
  /// Why it ends although there is more to gain.
  private enum End: Error {
    case stopped
    /// Readers keep too many bytes from reuse.
    case held
    case noSpace(SystemError)
  }

  private let database: Database
  private let limits: OnlineLimits
  private let shouldStop: () -> Bool
  private var patience: Patience
  /// Whether any transaction has changed the file.
  private var hasCommitted = false
  /// Whether blocks that were not committed may have made the file longer.
  private var hasGrown = false
  /// The limit for moving: a block may be moved more than once, but not for ever while others write.
  private var bytesLeft = 0

  init(
    _ database: Database, _ limits: OnlineLimits, _ waiting: Waiting,
    _ shouldStop: @escaping () -> Bool
  ) {
    self.database = database
    self.limits = limits
    self.shouldStop = shouldStop
    patience = Patience(waiting)
  }

  func run() throws -> CompactionResult {
    // Commits that are not durable keep the version before them.
    try database.flush()
    let before = try database.parts.storage.length()
    bytesLeft = before &* 4 &+ limits.transactionBytes
    var end = try ending {
      try merge()
      try mergeIndexes()
      try move()
    }
    end = try ending { try cut(waits: end == nil && hasCommitted) } ?? end
    return try result(before: before, end)
  }

  private func ending(_ body: () throws -> Void) throws -> End? {
    do {
      try body()
      return nil
    } catch let error as End {
      return error
    } catch let error as SystemError where error.isNoSpace {
      return .noSpace(error)
    } catch EngineError.system(let error) where error.isNoSpace {
      return .noSpace(error)
    }
  }

  // MARK: Transactions

  /// Runs `body` in a transaction once readers do not keep too many bytes from reuse, and commits it.
  ///
  /// - Parameter isWorthIt: false rolls it back instead.
  /// - Returns: the result of `body`, and the version that the transaction began from, held: what it found
  ///   there may be gone in its own version, since a commit joins small leaves, too.
  private func transact<Result>(
    if isWorthIt: (Result) -> Bool = { _ in true },
    _ body: (TransactionState) throws -> Result
  ) throws -> (Result, Snapshot) {
    while true {
      if shouldStop() { throw End.stopped }
      let state = try TransactionState(database)
      let result: Result
      let held: Snapshot
      do {
        guard let heldBack = try state.bytesHeldBack(), heldBack <= limits.transactionBytes else {
          let older = try olderHeld(than: state.base.version)
          state.abandon()
          try waitForReaders(older)
          continue
        }
        result = try body(state)
        do {
          held = try database.hold(state.base, state.parts)
        } catch CoordinationError.tooManyReaders {
          throw End.held
        }
      } catch {
        hasGrown = true
        state.abandon()
        throw error
      }
      if isWorthIt(result) {
        let isChanged = state.isChanged
        hasGrown = hasGrown || isChanged
        _ = try state.commit(.full, nil)
        if isChanged { hasCommitted = true }
      } else {
        if state.isChanged { hasGrown = true }
        state.abandon()
      }
      return (result, held)
    }
  }

  private func olderHeld(than version: UInt64) throws -> Set<UInt64> {
    let locked = try database.parts.locks?.lockedVersions().map(\.lowerBound) ?? []
    return Set(try database.coordination.heldVersions().map(\.record.version) + locked)
      .filter { $0 < version }
  }

  /// Waits until one of some versions is no longer held.
  private func waitForReaders(_ held: Set<UInt64>) throws {
    repeat {
      if shouldStop() { throw End.stopped }
      do throws(Patience.Refusal) {
        try patience.pause { "readers of version \(held.min() ?? 0)" }
      } catch {
        throw error == .cancelled ? End.stopped : End.held
      }
    } while try !held.isEmpty && olderHeld(than: .max).isSuperset(of: held)
  }

  // MARK: Steps

  /// Encodes small clusters anew as large ones. The encoding is done outside of transactions, so that other
  /// writers wait only for the writing.
  private func merge() throws {
    let team = MergingTeam(size: min(System.processorCount, Compactor.mostThreads))
    var cursor: TransactionState.MergeCursor?
    var merged: [MergedGroup] = []
    repeat {
      let ready = merged
      merged = []
      let (plan, snapshot) = try transact { state in
        var next = cursor ?? state.mergeCursor
        let plan = try state.planMerging(&next, limits)
        try state.put(ready)
        cursor = next
        return plan
      }
      do {
        merged = try withExtendedLifetime(snapshot) {
          try MergedGroup.encode(
            plan, team, snapshot.blocks, end: snapshot.record.end, shouldStop: shouldStop)
        }
      } catch EngineError.cancelled {
        throw End.stopped
      }
    } while cursor?.tables.isEmpty != true || !merged.isEmpty
  }

  private func mergeIndexes() throws {
    let (tables, _) = try transact { state in
      state.catalogue.tables.filter { !$0.allRuns.isEmpty }.map(\.number)
    }
    for table in tables { _ = try transact { try $0.mergeIndexes(ofTable: table) } }
  }

  /// Puts small blocks of pages that are not full together, and returns the bytes written; nil when that
  /// would free no page. Each transaction also writes the nodes above, the blocks of an overlay that lie over
  /// a moved one, and the catalogue: at some point that costs more than it gains, and is not committed.
  private func gather() throws -> Int? {
    let (moved, _) = try transact(if: { $0.fewerPages > 0 }) {
      try $0.moveBlocks(.sparse, limits)
    }
    return moved.fewerPages > 0 ? moved.bytes : nil
  }

  private func move() throws {
    var gatheredBytes = 0
    /// Returns whether there was anything to put together.
    func gatherAll() throws -> Bool {
      let before = gatheredBytes
      // Others may make pages sparse as fast as this empties them.
      while gatheredBytes < bytesLeft, let bytes = try gather() {
        gatheredBytes += max(bytes, Layout.pageBytes)
      }
      return gatheredBytes > before
    }
    _ = try gatherAll()
    // Moving writes small blocks above the moved ones, each time into other pages. And what was put together
    // at the file's end may be spread again on its way forward: then another round would end like this one.
    var least = Int.max
    repeat {
      let pages = try moveForward()
      if pages >= least { return }
      least = pages
    } while try gatherAll()
  }

  /// Moves blocks until the file's end cannot come further forward.
  ///
  /// - Returns: `Moved.pages` of the last step.
  private func moveForward() throws -> Int {
    var pages = Int.max
    var asides = 0
    var kind = TransactionState.MoveKind.fromTheEnd
    while bytesLeft > 0 {
      let present = kind
      let (moved, _) = try transact { try $0.moveBlocks(present, limits) }
      pages = moved.pages
      if !moved.isWorthIt { return pages }
      bytesLeft -= max(moved.bytes, Layout.pageBytes)
      switch kind {
      case .sparse, .fromTheEnd, .together:
        if moved.gained > 0 { continue }
        kind = kind == .fromTheEnd ? .together : .aside
      case .aside:
        asides += 1
        // Each step aside at least doubles the hole.
        if moved.bytes == 0 || asides > Self.mostAsides { return pages }
        kind = .together
      }
    }
    return pages
  }

  private static let mostAsides = 32

  /// Cuts the file's end off, as far as readers allow.
  private func cut(waits: Bool) throws {
    guard hasCommitted || hasGrown else { return }
    while true {
      try database.trimAfterFailure()
      let parts = try database.parts
      let newest = parts.pipeline.visible()
      guard waits, try parts.storage.length() > Int(clamping: newest.end) else { return }
      let older = try olderHeld(than: newest.version)
      if older.isEmpty { return }
      do {
        try waitForReaders(older)
      } catch End.held {
        return
      }
    }
  }

  // MARK: The result

  private func result(before: Int, _ end: End?) throws -> CompactionResult {
    let after = try database.parts.storage.length()
    let held = try database.activeVersions().filter { !$0.isNewest }
    var decision = CompactionResult.Decision.compacted
    var reason: String?
    var isStopped = false
    switch end {
    case nil: break
    case .stopped: (isStopped, reason) = (true, "interrupted")
    case .held:
      reason =
        held.isEmpty ? "readers keep free pages from being written to" : Self.text(held)
      if !hasCommitted { decision = .skippedInUse }
    case .noSpace(let error):
      reason = "\(error)"
      if !hasCommitted { decision = .skippedNoSpace }
    }
    return CompactionResult(
      decision: decision, before: before, after: after, reason: reason, isInUse: true,
      isStopped: isStopped, held: held)
  }

  private static func text(_ held: [ActiveVersion]) -> String {
    "readers hold older versions: "
      + held.map { version in
        let processes = version.holders.map { "\($0.process)" }.joined(separator: ", ")
        return "version \(version.version) is held by process \(processes)"
      }.joined(separator: "; ")
  }
}
