import Base
import Engine

/// The work of the writer's thread: it takes the parsers' results for the chunks, in the order of the input,
/// and commits them batch by batch, each with its checkpoint.
///
/// The committed records are always a prefix of the input.
///
/// Thread rule: confined to the writer's thread.
final class BatchWriter {
  let options: ImportOptions
  private let plan: ImportPlan
  let destination: any Destination
  private let log: RejectLog
  private(set) var types: ColumnTypes
  private(set) var checkpoint: Checkpoint
  private(set) var report = ImportReport()
  /// The tolerated deviations in all records read.
  private(set) var tolerances = Tolerances()
  private let bytesTotal: Int?
  /// The sums of the earlier inputs.
  private let before: ImportReport
  private let isLastInput: Bool

  private var isOpen = false
  /// Until when more batches may join those in the open transaction; nil when there are none.
  private(set) var joinedUntil: UInt64?
  /// The report and the checkpoint at the last commit.
  private var committed: (report: ImportReport, checkpoint: Checkpoint)
  private(set) var pendingRecords = 0
  private var pending = KeyedOutcome()
  private var pendingRejects: [Reject] = []
  private var pendingFiltered = 0
  private var firstReject: Reject?
  /// The number of the last rejected record.
  private var lastReject = 0
  private var lastIsComplete = false
  /// The beginning of the input's last record, if that has no line end.
  private var unfinished: SourcePosition?

  init(
    options: ImportOptions, plan: ImportPlan, destination: any Destination, log: RejectLog,
    types: ColumnTypes, checkpoint: Checkpoint, bytesTotal: Int?, before: ImportReport,
    isLastInput: Bool
  ) {
    self.options = options
    self.plan = plan
    self.destination = destination
    self.log = log
    self.types = types
    self.checkpoint = checkpoint
    self.bytesTotal = bytesTotal
    self.before = before
    self.isLastInput = isLastInput
    committed = (report, checkpoint)
    if checkpoint.endsWithReject { lastReject = checkpoint.records }
  }

  /// Writes everything, until the end of the input or until `shouldStop` returns true.
  ///
  /// - Parameter queue: the parsers' results for the chunks.
  func run(_ queue: OrderedQueue<Chunk, ColumnBatch>) throws {
    do {
      while let batch = try next(queue) {
        if try !write(batch) {
          try commitJoined()
          report.isInterrupted = true
          return
        }
      }
      try finishInput()
      // With `none`, rejects are flushed before the version becomes durable; with the other durabilities they
      // were flushed before each batch.
      if options.durability == .none { try log.flush() }
    } catch ImportError.interrupted {
      // The rest of the batch may never come.
      rollBack()
      report.isInterrupted = true
    } catch {
      rollBack()
      throw error
    }
  }

  private func rollBack() {
    destination.rollBack()
    if joinedUntil != nil { (report, checkpoint) = committed }
  }

  /// The note about an input that may be truncated; nil if it has no other line for comparison.
  var unfinishedNote: String? {
    unfinished.flatMap {
      $0.line < 2
        ? nil
        : "the last record, at line \($0.line), has no line end as the others do: the input may have "
          + "been cut off; --require-final-newline refuses such an input"
    }
  }

  /// Returns false when the import must stop here.
  private func write(_ batch: ColumnBatch) throws -> Bool {
    let mayJoin = mayJoin(batch)
    if !mayJoin { try commitJoined() }
    try begin()
    tolerances.add(batch.tolerances)
    // Before any of its rows is in the table.
    try types.settle(batch.columns) {
      try destination.hasLargeIntegers(inColumn: plan.identifier($0))
    }
    let summarizes = try leavesOut(batch)
    if !summarizes { types.add(batch.columns) }
    var done = 0
    var row = 0
    var (reject, filtered) = (0, 0)
    for boundary in batch.boundaries {
      let refused = try append(batch, &row, upToRecord: boundary.records, summarizes: summarizes)
      let first = reject
      while reject < batch.rejects.count,
        batch.rejects[reject].record - batch.firstRecord < boundary.records
      { reject += 1 }
      try note(refused, batch.rejects[first..<reject])
      let known = filtered
      while filtered < batch.filtered.count, batch.filtered[filtered] < boundary.records {
        filtered += 1
      }
      pendingFiltered += filtered - known
      (options.verifier?.verifier as? RecordVerifier)?.leaveOut(filtered - known)
      pendingRecords += boundary.records - done
      done = boundary.records
      checkpoint.byteOffset = boundary.byteOffset
      checkpoint.line = boundary.line
      checkpoint.checksum = boundary.checksum
      let isEnd = batch.isLast && done == batch.recordCount
      if isEnd {
        lastIsComplete = true
        unfinished = batch.unfinished
        if let unfinished, options.requiresFinalNewline {
          throw ImportError.unfinished(position: unfinished)
        }
      }
      if pendingRecords > 0, batchIsFull(at: boundary, batch) {
        try commit(mayJoin: mayJoin && !isEnd)
        if options.shouldStop() && !isEnd { return false }
        if done < batch.recordCount { try begin() }
      }
    }
    // A batch may have many chunks; with `all`, those of the whole input.
    if pendingRecords > 0 {
      tellProgress()
      if plan.batchRecords == nil, options.shouldStop() { throw ImportError.interrupted }
    }
    return true
  }

  /// Batches end where the number of records read is a multiple of the batch size.
  func batchIsFull(at boundary: ColumnBatch.Boundary, _ batch: ColumnBatch) -> Bool {
    guard let size = plan.batchRecords else { return false }
    return (batch.firstRecord - 1 + boundary.records) % size == 0
  }

  /// Resets the joining after the commit of the open transaction.
  func endJoining() {
    isOpen = false
    joinedUntil = nil
    committed = (report, checkpoint)
  }

  func begin() throws {
    if isOpen { return }
    try destination.begin()
    isOpen = true
  }

  /// Returns whether some rows of a chunk may be left out because of their keys: the parser's summaries of
  /// the columns then count too much.
  private func leavesOut(_ batch: ColumnBatch) throws -> Bool {
    guard case .keyed(let rows) = batch.rows, options.conflictPolicy.leavesOut else { return false }
    // If all rows are added at once, the result reveals it.
    return try batch.boundaries.count == 1 || destination.hasConflicts(rows)
  }

  /// Adds the rows of the chunk's records before `record`.
  ///
  /// - Parameter row: the first row to add; afterwards the first row that was not added.
  /// - Returns: the rows rejected for their keys.
  private func append(
    _ batch: ColumnBatch, _ row: inout Int, upToRecord record: Int, summarizes: Bool
  ) throws -> [Reject] {
    switch batch.rows {
    case .none: break
    case .seen(let count): pending.imported += count
    case .encoded(let cluster):
      pending.imported += cluster.rowCount
      try destination.append(.encoded(cluster))
    case .spelled(let rows):
      let start = row
      while row < rows.records.count, rows.records[row] < record { row += 1 }
      pending.imported += row - start
      if row > start { try destination.append(.spelled(rows, start..<row)) }
    case .keyed(let rows):
      let start = row
      while row < rows.rowCount, rows.places[row].record < record { row += 1 }
      if row == start { break }
      let outcome = try append(rows, start..<row, summarizes: summarizes)
      if summarizes { types.add(outcome.summaries ?? batch.columns) }
      pending.imported += outcome.imported
      pending.updated += outcome.updated
      pending.skipped += outcome.skipped
      pending.unchanged += outcome.unchanged
      let column = plan.keyName
      return outcome.conflicts.map { conflict in
        rows.reject(conflict.row, file: plan.file, column: column) {
          conflict.object < 0
            ? "the key '\($0)' occurs in the input before"
            : "the key '\($0)' exists already: object \(conflict.object) has it"
        }
      }
    }
    return []
  }

  // MARK: Rejects

  /// Records the rows rejected for their keys and by the parser, in the order of the input.
  private func note(_ refused: [Reject], _ malformed: ArraySlice<Reject>) throws {
    var next = malformed.startIndex
    for reject in refused {
      while next < malformed.endIndex, malformed[next].record < reject.record {
        try note(malformed[next])
        next += 1
      }
      try note(reject)
    }
    for reject in malformed[next...] { try note(reject) }
  }

  private func note(_ reject: Reject) throws {
    if firstReject == nil { firstReject = reject }
    if reject.mayGoOn { lastReject = reject.record }
    pendingRejects.append(reject)
    options.onReject(reject)
    // A dry run continues to the end, so that every problem is found.
    if options.dryRun { return }
    if case .count(let limit) = options.maxRejects,
      rejectedSoFar > limit
    {
      try log.write(pendingRejects)
      throw tooMany()
    }
  }

  private func checkShare(atEnd: Bool) throws {
    guard case .share(let share) = options.maxRejects, !options.dryRun else { return }
    let read = before.read + checkpoint.records + pendingRecords
    guard atEnd || read >= ColumnTypes.sampleRecords else { return }
    if Double(rejectedSoFar) > share * Double(read) {
      try log.write(pendingRejects)
      throw tooMany()
    }
  }

  /// True when a record of the input is in the rejects files, committed or not.
  var hasRejects: Bool { checkpoint.rejected > 0 || firstReject != nil }

  /// The number of rejects of this run, and of earlier runs of this input.
  private var rejectedSoFar: Int {
    before.rejected + checkpoint.rejected + pendingRejects.count
  }

  private func tooMany() -> ImportError {
    .tooManyRejects(
      count: rejectedSoFar, first: firstReject, path: log.path,
      committedBatches: options.publishesAtEnd ? 0 : before.batches + report.batches,
      committedObjects: options.isOneTransaction || options.publishesAtEnd
        ? 0 : before.imported + before.updated + report.imported + report.updated)
  }

  // MARK: Committing

  private func commit(atEnd: Bool = false, mayJoin: Bool = false) throws {
    try checkShare(atEnd: isLastInput && (atEnd || lastIsComplete))
    let (records, rejects) = (pendingRecords, pendingRejects.count)
    checkpoint.records += records
    checkpoint.rejected += rejects
    checkpoint.updated += pending.updated
    checkpoint.skipped += pending.skipped
    checkpoint.unchanged += pending.unchanged
    checkpoint.filtered += pendingFiltered
    checkpoint.isComplete = lastIsComplete
    checkpoint.endsWithReject = lastReject > 0 && lastReject == checkpoint.records
    checkpoint.classes = types.states.map(\.classes)
    if rejects > 0, !options.dryRun {
      try log.write(pendingRejects)
      // Rejects are on disk before the version that counts them.
      if options.durability != .none { try log.flush() }
    }
    checkpoint.rejects = log.place
    let joinsUntil = joinedUntil ?? System.monotonicNanoseconds &+ options.joinsBatchesFor
    let outcome = try destination.commit(
      types, checkpoint, mayJoin: mayJoin && System.monotonicNanoseconds < joinsUntil)
    isOpen = outcome == .joins
    joinedUntil = isOpen ? joinsUntil : nil
    if outcome != .waits { report.batches += 1 }
    report.read += records
    report.imported += pending.imported
    report.updated += pending.updated
    report.skipped += pending.skipped
    report.unchanged += pending.unchanged
    report.rejected += rejects
    report.filtered += pendingFiltered
    (pendingRecords, pendingFiltered) = (0, 0)
    pending = KeyedOutcome()
    pendingRejects = []
    if !isOpen { committed = (report, checkpoint) }
    tellProgress()
  }

  /// Reports the progress, including uncommitted records.
  private func tellProgress() {
    options.progress(
      ImportProgress(
        bytesRead: before.bytesRead + checkpoint.byteOffset, bytesTotal: bytesTotal,
        records: before.read + report.read + pendingRecords,
        rejected: before.rejected + report.rejected + pendingRejects.count,
        bytesWritten: destination.bytesWritten))
  }

  /// Commits the last batch, which may be short, and marks the input as complete.
  private func finishInput() throws {
    if !lastIsComplete || isOpen || !checkpoint.isComplete {
      try begin()
      lastIsComplete = options.limit == nil || lastIsComplete
      let (wasEmpty, batches) = (pendingRecords == 0, report.batches)
      try commit(atEnd: true)
      if wasEmpty { report.batches = batches }
    }
  }
}
