import Base
import Engine

/// Batches that become one version together.
///
/// A commit takes as long as thousands of short rows, and readers never see more than the last version
/// between two rounds of the flusher. So batches join the previous one for some milliseconds. A refused batch
/// must not undo complete earlier ones: a batch that may be refused begins its own transaction. Joined
/// batches are lost together only when the database cannot be read or written, and then no report counts
/// them.
extension BatchWriter {
  /// Waits for the parsers' result for the next chunk; nil after the last.
  func next(_ queue: OrderedQueue<Chunk, ColumnBatch>) throws -> ColumnBatch? {
    if let joinedUntil, !queue.isReady(by: joinedUntil) { try commitJoined() }
    do {
      return try queue.next()
    } catch {
      // Batches before its place must stay.
      try commitJoined()
      throw error
    }
  }

  /// Returns whether all batches of the chunk are complete, and may join those before them or wait for those
  /// after them.
  func mayJoin(_ batch: ColumnBatch) -> Bool {
    guard options.joinsBatchesFor > 0, pendingRecords == 0, let end = batch.boundaries.last,
      batchIsFull(at: end, batch)
    else { return false }
    return !mayRefuse(batch)
  }

  /// Returns whether the content of a chunk may end the import.
  private func mayRefuse(_ batch: ColumnBatch) -> Bool {
    if !batch.rejects.isEmpty || batch.isLast && options.requiresFinalNewline { return true }
    // The number of columns of a table is limited.
    if batch.columns.count > types.states.count { return true }
    if case .share = options.maxRejects, hasRejects { return true }
    return false
  }

  /// Adds rows to the batch; if one must be rejected, the batches before it are committed first.
  func append(
    _ rows: KeyedRows, _ range: Range<Int>, summarizes: Bool
  ) throws -> KeyedOutcome {
    let outcome = try destination.append(
      rows, range, summarizes: summarizes, isTentative: joinedUntil != nil)
    guard outcome.isRefused else { return outcome }
    try commitJoined()
    try begin()
    return try destination.append(rows, range, summarizes: summarizes, isTentative: false)
  }

  /// Commits the joined batches as one version.
  func commitJoined() throws {
    if joinedUntil == nil { return }
    try destination.commitJoined()
    endJoining()
  }
}
