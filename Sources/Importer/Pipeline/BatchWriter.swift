import Engine

/// The writer thread's work: takes what the parsers made of the chunks, in the order of the input,
/// and commits it batch by batch, each with the checkpoint that describes it.
///
/// What is committed is always a prefix of the input.
///
/// Thread rule: confined to the writer's thread.
final class BatchWriter {
  private let options: ImportOptions
  private let plan: ImportPlan
  private let destination: any Destination
  private let log: RejectLog
  private(set) var types: ColumnTypes
  private(set) var checkpoint: Checkpoint
  private(set) var report = ImportReport()
  private let bytesTotal: Int?
  private let bytesBefore: Int

  private var isOpen = false
  private var pendingRecords = 0
  private var pendingRows = 0
  private var pendingRejects: [Reject] = []
  private var firstReject: Reject?
  private var lastIsComplete = false

  init(
    options: ImportOptions, plan: ImportPlan, destination: any Destination, log: RejectLog,
    types: ColumnTypes, checkpoint: Checkpoint, bytesTotal: Int?, bytesBefore: Int
  ) {
    self.options = options
    self.plan = plan
    self.destination = destination
    self.log = log
    self.types = types
    self.checkpoint = checkpoint
    self.bytesTotal = bytesTotal
    self.bytesBefore = bytesBefore
  }

  /// Writes everything; returns when the input has ended, `shouldStop` said so, or throws.
  func run(_ queue: OrderedQueue<Chunk, ColumnBatch>) throws {
    do {
      while let batch = try queue.next() {
        if try !write(batch) {
          report.isInterrupted = true
          queue.stop()
          break
        }
      }
      if !report.isInterrupted { try finishInput() }
    } catch ImportError.interrupted {
      // The rest of the batch may never come.
      destination.rollBack()
      queue.stop()
      report.isInterrupted = true
    } catch {
      destination.rollBack()
      queue.stop()
      throw error
    }
    try destination.finish()
  }

  /// False when the import is to stop here.
  private func write(_ batch: ColumnBatch) throws -> Bool {
    try begin()
    types.add(batch.columns)
    var done = 0
    var row = 0
    var reject = 0
    for boundary in batch.boundaries {
      row = try append(batch, from: row, upToRecord: boundary.records)
      while reject < batch.rejects.count,
        batch.rejects[reject].record - batch.firstRecord < boundary.records
      {
        try note(batch.rejects[reject])
        reject += 1
      }
      pendingRecords += boundary.records - done
      done = boundary.records
      checkpoint.byteOffset = boundary.byteOffset
      checkpoint.line = boundary.line
      let isEnd = batch.isLast && done == batch.recordCount
      if isEnd { lastIsComplete = true }
      if batchIsFull(boundary, batch) {
        try commit()
        if options.shouldStop() && !isEnd { return false }
        if done < batch.recordCount { try begin() }
      }
    }
    return true
  }

  /// Batches end where the number of records read is a multiple of the batch size.
  private func batchIsFull(_ boundary: ColumnBatch.Boundary, _ batch: ColumnBatch) -> Bool {
    guard let size = plan.batchRecords else { return false }
    let records = batch.firstRecord - 1 + boundary.records
    return pendingRecords > 0 && records % size == 0
  }

  private func begin() throws {
    if isOpen { return }
    try destination.begin()
    isOpen = true
  }

  /// Adds the rows of the chunk's records before `record`; returns the first row not added.
  private func append(_ batch: ColumnBatch, from row: Int, upToRecord record: Int) throws -> Int {
    switch batch.rows {
    case .none: return row
    case .encoded(let cluster):
      pendingRows += cluster.rowCount
      try destination.append(.encoded(cluster))
      return cluster.rowCount
    case .spelled(let rows):
      var end = row
      while end < rows.records.count, rows.records[end] < record { end += 1 }
      pendingRows += end - row
      if end > row { try destination.append(.spelled(rows, row..<end)) }
      return end
    }
  }

  // MARK: Rejects

  private func note(_ reject: Reject) throws {
    if firstReject == nil { firstReject = reject }
    pendingRejects.append(reject)
    options.onReject(reject)
    // A dry run goes to the end, so that every problem is found at once.
    if options.dryRun { return }
    if case .count(let limit) = options.maxRejects,
      checkpoint.rejected + pendingRejects.count > limit
    {
      try log.write(pendingRejects)
      throw tooMany()
    }
  }

  private func checkShare(atEnd: Bool) throws {
    guard case .share(let share) = options.maxRejects, !options.dryRun else { return }
    let read = checkpoint.records + pendingRecords
    guard atEnd || read >= ColumnTypes.sampleRecords else { return }
    let rejected = checkpoint.rejected + pendingRejects.count
    if Double(rejected) > share * Double(read) {
      try log.write(pendingRejects)
      throw tooMany()
    }
  }

  private func tooMany() -> ImportError {
    .tooManyRejects(
      count: checkpoint.rejected + pendingRejects.count, first: firstReject, path: log.path,
      committedBatches: report.batches, committedObjects: report.imported)
  }

  // MARK: Committing

  private func commit(atEnd: Bool = false) throws {
    try checkShare(atEnd: atEnd || lastIsComplete)
    let (records, rows, rejects) = (pendingRecords, pendingRows, pendingRejects.count)
    checkpoint.records += records
    checkpoint.rejected += rejects
    checkpoint.isComplete = lastIsComplete
    checkpoint.classes = types.states.map(\.classes)
    if rejects > 0, !options.dryRun {
      try log.write(pendingRejects)
      // On disk before the version that says they are.
      if options.durability != .none { try log.flush() }
    }
    checkpoint.rejectsLength = log.recordsLength
    checkpoint.reasonsLength = log.reasonsLength
    try destination.commit(types, checkpoint)
    isOpen = false
    report.batches += 1
    report.read += records
    report.imported += rows
    report.rejected += rejects
    pendingRecords = 0
    pendingRows = 0
    pendingRejects = []
    options.progress(
      ImportProgress(
        bytesRead: bytesBefore + checkpoint.byteOffset, bytesTotal: bytesTotal,
        records: report.read, rejected: report.rejected,
        bytesWritten: destination.bytesWritten))
  }

  /// The last batch, which may be short, and the mark that the input was imported to its end.
  private func finishInput() throws {
    if !lastIsComplete || isOpen || !checkpoint.isComplete {
      try begin()
      lastIsComplete = options.limit == nil || lastIsComplete
      let wasEmpty = pendingRecords == 0
      try commit(atEnd: true)
      if wasEmpty { report.batches -= 1 }
    }
  }
}
