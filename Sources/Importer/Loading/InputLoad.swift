import Base
import Engine

/// The loading of one input into a server's table.
///
/// Thread rule: confined to the thread that assembles ranges.
final class InputLoad {
  private let options: ImportOptions
  private let server: ServerOptions
  private let target: ServerTarget
  private let threads: PipelineThreads
  private let times: SerialTimes
  private let bytesTotal: Int?
  private let batchRecords: Int
  private let file: InputFile
  private let opened: InputPlanner.Opened
  private let claim: InputClaim
  private let claims: InputClaims
  private let plan: ImportPlan
  private let load: LoadPlan
  /// The report of this input, as far as this run has read it.
  private(set) var report = ImportReport()
  private var tally: PieceTally
  private var isComplete = false
  private var range: CopyRange?
  /// How far the input was read: the position, and the checksum up to it.
  private var end: (byte: Int, checksum: UInt64)
  private let startByte: Int

  init(
    _ run: ServerRun, _ file: InputFile, _ opened: InputPlanner.Opened, _ claim: InputClaim,
    _ claims: InputClaims, _ table: ServerTable
  ) throws {
    (options, server, target, threads) = (run.options, run.server, run.target, run.threads)
    (times, bytesTotal, batchRecords) = (run.times, run.bytesTotal, run.batchRecords)
    (self.file, self.opened, self.claim, self.claims) = (file, opened, claim, claims)
    let matched = try ServerMatch(opened, options, table, server: target.shown)
    plan = ImportPlan(file, opened, matched.match, options, columns: matched.columns, encodes: true)
    tally = PieceTally(plan, options)
    try claims.settle(options: matched.digest(opened, options), claim)
    let policy = run.options.conflictPolicy
    load = LoadPlan(
      target: target, engine: claims.engine, tables: claims.tables, table: table.qualified,
      tableName: table.name,
      columns: plan.columns.map { SQLText.name($0.name) }, input: claim.input.key,
      epoch: claim.epoch,
      isSynchronous: options.durability == .full, retrySeconds: options.wait,
      keys: options.keys.isEmpty
        ? nil
        : KeyedTable(
          keys: options.keys, policy: policy, of: table, columns: plan.columns.map(\.name)),
      refersToItself: table.refersToItself)
    end = (opened.splitter.byteOffset, opened.splitter.checksum.value)
    startByte = end.byte
    report.notes = (opened.told(options, run.namesBefore.contains) + matched.match.notes).map {
      "\(file.name): \($0)"
    }
    report.dialect = opened.report
    try goOn()
  }

  /// Skips the records that the server has.
  private func goOn() throws {
    let prefix = claim.prefixCount
    guard prefix > 0 else {
      if !claim.ranges.isEmpty { noteResumption(record: 0, byte: startByte) }
      return
    }
    let last = claim.ranges[prefix - 1]
    guard let checksum = RangeChecksum.value(last.checksum),
      case .done = try opened.splitter.skip(
        to: last.byteEnd, checksum: checksum, isCancelled: options.shouldStop)
    else {
      throw ImportError.inputChanged(
        path: file.name,
        reason:
          "it has changed since its import was begun: its first \(last.byteEnd) bytes are not those that "
          + "were imported")
    }
    let done = last.firstRecord - 1 + last.counts.records
    opened.splitter.goOn(line: last.lineEnd, record: done + 1)
    end = (last.byteEnd, checksum)
    noteResumption(record: done, byte: last.byteEnd)
  }

  private func noteResumption(record: Int, byte: Int) {
    report.resumedAt = ImportReport.ResumePoint(record: record, byteOffset: byte, isComplete: false)
  }

  // MARK: Loading

  /// Loads the records that the server lacks.
  ///
  /// - Parameters:
  ///   - rejected: the number of rejects of the earlier inputs.
  ///   - before: the report of the earlier inputs.
  ///   - rejects: chooses the files for the rejects of this input.
  func run(rejected: Int, before: ImportReport, rejects: inout RejectNamer) throws {
    let budget = RejectBudget(options.maxRejects, rejected: rejected + claim.counts.rejected)
    // The order of two rows with one key decides which of them is in the table; a row to which another one
    // refers must be there first.
    let isOrdered = !options.keys.isEmpty || load.refersToItself
    let lanes = isOrdered ? 1 : min(server.connections, load.engine.mostLanes)
    let claimed = try ClaimedLoad(load, claim, claims, lanes: lanes, budget)
    defer { claimed.stop() }
    do {
      do {
        try read(claimed, budget, before)
      } catch {
        // Ranges that were passed on are still committed; the first failure is thrown.
        _ = try? claimed.finish(shouldStop: options.shouldStop)
        throw error
      }
      try claimed.finish(shouldStop: options.shouldStop)
      if budget.exceedsShare(ofRecords: before.read + claimed.allCounts.records) {
        throw TooManyRejects()
      }
    } catch ImportError.interrupted {
      report.isInterrupted = true
    } catch let failure as ServerError where failure.kind == .interrupted {
      report.isInterrupted = true
    } catch let failure as TooManyRejects {
      fill(claimed)
      throw try tooMany(budget, before, failure.uncommitted, &rejects)
    } catch {
      fill(claimed)
      throw error
    }
    fill(claimed)
    if report.isInterrupted { return }
    guard isComplete else {
      report.isInterrupted = true
      return
    }
    // The user has the rejects in the server's tables only once they are in the files.
    if claimed.allCounts.rejected > 0 { try writeRejects([], &rejects) }
    try claimed.end(at: end)
  }

  /// Reads the input, and passes its ranges on.
  private func read(_ claimed: ClaimedLoad, _ budget: RejectBudget, _ before: ImportReport) throws {
    let work = Pipeline.Work(
      opened.splitter, plan, options, isSmall: file.isSmall, threads, times)
    let plan = plan
    try Pipeline.run(work) {
      let builder = CopyPieceBuilder(plan)
      return { try builder.build($0) }
    } writing: { queue in
      while let piece = try queue.next() {
        try append(piece, claimed, budget)
        if let range, range.isFull(batchRecords: batchRecords) {
          if try !submit(range, claimed, budget, before) { return }
        }
      }
      try claimed.checkEnd(range)
      if let range, range.recordCount > 0, try !submit(range, claimed, budget, before) { return }
      isComplete = true
    }
  }

  private func append(_ piece: CopyPiece, _ claimed: ClaimedLoad, _ budget: RejectBudget) throws {
    var open = range ?? CopyRange(firstRecord: piece.firstRecord, byteStart: piece.chunk.byteOffset)
    open.append(piece)
    range = open
    end = (piece.byteEnd, piece.checksum)
    try tally.add(piece)
    // Rejects of ranges that the server has are already counted.
    if !claimed.has(open.firstRecord), budget.add(piece.rejects) { throw TooManyRejects() }
  }

  /// Passes a range on; returns false when the import must stop here.
  private func submit(
    _ range: CopyRange, _ claimed: ClaimedLoad, _ budget: RejectBudget, _ before: ImportReport
  ) throws -> Bool {
    self.range = nil
    let isThere = claimed.has(range.firstRecord)
    if try !claimed.submit(range, shouldStop: options.shouldStop) { return false }
    if isThere { return !options.shouldStop() }
    let counts = claimed.counts
    let records = before.read + claimed.allCounts.records
    if records >= ColumnTypes.sampleRecords, budget.exceedsShare(ofRecords: records) {
      throw TooManyRejects()
    }
    options.progress(
      ImportProgress(
        bytesRead: before.bytesRead + end.byte, bytesTotal: bytesTotal,
        records: before.read + counts.records, rejected: before.rejected + counts.rejected,
        bytesWritten: 0))
    return !options.shouldStop()
  }

  // MARK: Reports

  /// Fills the report with the committed counts.
  private func fill(_ claimed: ClaimedLoad) {
    let counts = claimed.counts
    (report.read, report.imported, report.updated) = (
      counts.records, counts.imported, counts.updated
    )
    (report.skipped, report.unchanged) = (counts.skipped, counts.unchanged)
    (report.rejected, report.batches) = (counts.rejected, claimed.committed)
    report.bytesRead = end.byte - (report.resumedAt?.byteOffset ?? 0)
    tally.fill(&report, file, opened)
  }

  /// Writes all rejects of the input that the server has to the files, and then `others`.
  private func writeRejects(_ others: [Reject], _ rejects: inout RejectNamer) throws {
    let choice = rejects.choice(of: file.path, header: opened.headerLine, encoding: opened.encoding)
    let log = try rejects.log(choice, input: file.name, goingOnFrom: nil, notes: &report.notes)
    var known: Set<Int> = []
    try claims.forRejects(claim.input) { found in
      try log.write(found)
      if !others.isEmpty { known.formUnion(found.map(\.record)) }
    }
    try log.write(others.filter { !known.contains($0.record) })
    try log.flush()
    log.close()
    guard log.isUsed else { return }
    report.rejects = .init(path: log.path, reasonsPath: log.reasonsPath)
    if !report.files.isEmpty { report.files[0].rejects = report.rejects }
  }

  /// The error for too many rejects, which counts those of uncommitted batches too.
  private func tooMany(
    _ budget: RejectBudget, _ before: ImportReport, _ uncommitted: [Reject],
    _ rejects: inout RejectNamer
  ) throws -> ImportError {
    let pending =
      [budget.firstReject].compactMap(\.self) + (range?.rejects ?? []) + uncommitted
    let once = Dictionary(pending.map { ($0.record, $0) }) { first, _ in first }.values
    try writeRejects(once.sorted { $0.record < $1.record }, &rejects)
    return .tooManyRejects(
      count: budget.total, first: budget.firstReject, path: report.rejects?.path ?? "",
      committedBatches: before.batches + report.batches,
      committedObjects: before.imported + before.updated + report.imported + report.updated)
  }
}
