import Base
import Engine

/// Batches that become one version together.
///
/// A commit takes as long as thousands of short rows, and of the versions between two rounds of the flusher
/// nobody ever sees more than the last. So batches join the one before them for some milliseconds. A batch
/// that is refused must not take others with it that were whole before: one that may be begins a
/// transaction of its own. Only where the database cannot be read or written do joined batches come to
/// nothing; they are in no report then.
extension BatchWriter {
  /// What the parsers made of the next chunk; nil behind the last.
  func next(_ queue: OrderedQueue<Chunk, ColumnBatch>) throws -> ColumnBatch? {
    if let joinedUntil, !queue.isReady(by: joinedUntil) { try commitJoined() }
    do {
      return try queue.next()
    } catch {
      // What comes before its place stays.
      try commitJoined()
      throw error
    }
  }

  /// Whether the chunk is of whole batches that join those before them, or wait for those after them.
  func mayJoin(_ batch: ColumnBatch) -> Bool {
    guard options.joinsBatchesFor > 0, pendingRecords == 0, let end = batch.boundaries.last,
      batchIsFull(at: end, batch)
    else { return false }
    return !mayRefuse(batch)
  }

  /// Whether the import may end because of what is in a chunk.
  private func mayRefuse(_ batch: ColumnBatch) -> Bool {
    if !batch.rejects.isEmpty || batch.isLast && options.requiresFinalNewline { return true }
    // A table has only so many columns.
    if batch.columns.count > types.states.count { return true }
    if case .share = options.maxRejects, hasRejects { return true }
    return false
  }

  /// Adds rows to the batch: if one has to be rejected, once the batches before it are committed.
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

  /// Makes a version of the batches that were to be joined by others.
  func commitJoined() throws {
    if joinedUntil == nil { return }
    try destination.commitJoined()
    endJoining()
  }
}
