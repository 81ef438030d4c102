import Base
import Engine

/// One call of `Importer.load`.
///
/// Thread rule: confined; the thread that calls `run` assembles ranges.
struct ServerRun {
  var options: ImportOptions
  let server: ServerOptions
  let target: ServerTarget
  let tableName: String
  let files: [InputFile]
  var report = ImportReport()
  var rejectFiles: RejectNamer
  let threads = PipelineThreads()
  let times = SerialTimes()
  private let started = System.monotonicNanoseconds
  /// Inputs that can be read only once, and were opened to examine them before loading.
  var pipes: [Int: InputPlanner.Opened] = [:]
  /// The names of the columns that the table had before this run.
  var namesBefore: Set<String> = []
  /// The bytes of all inputs; nil when one is a pipe or compressed.
  let bytesTotal: Int?
  /// Inputs that another process was loading.
  private var others: Set<Int> = []
  /// The inputs that are left out though they were imported with other options.
  private var passedWithOthers: [String] = []
  /// The only input, if it is a table of a Sheaf file.
  let table: TableInput?

  init(_ options: ImportOptions, _ server: ServerOptions, _ table: TableInput? = nil) throws {
    try Self.check(options, server)
    self.table = table
    self.options = options
    self.options.begun = ImportOptions.now
    self.server = server
    // `database` is the other destination's path, at which nothing may be looked up.
    self.options.database = ""
    if options.batchSize == nil { self.options.batchSize = .records(ServerOptions.batchRecords) }
    files = try table.map { [try Self.file($0, options)] } ?? InputFile.list(options.inputs)
    try InputPlanner.check(files, options)
    bytesTotal = files.reduce(0) { total, file in
      total.flatMap { total in file.isCompressed ? nil : file.size.map { total + $0 } }
    }
    tableName = options.table ?? ImportRun.tableName(files[0].path)
    rejectFiles = try RejectNamer(self.options, files)
    report.inputs = files.map(\.path)
    report.database = ServerAddress.shown(server.address)
    report.table = tableName
    report.batchSize = self.options.effectiveBatchSize
    report.isOfServer = true
    report.isDryRun = options.dryRun
    target = try ServerTarget(server.address)
    try rejectFiles.check()
    try lookAtInputs()
  }

  /// A table as an input, with the identity of its file, so that no rejects are written over it.
  private static func file(_ table: TableInput, _ options: ImportOptions) throws -> InputFile {
    let status = try System.statusIfPresent(path: options.database)
    return InputFile(
      table: table.name,
      in: status.map { FileIdentity(device: $0.device, inode: $0.inode) })
  }

  /// Refuses options that contradict each other, and those for files only.
  private static func check(_ options: ImportOptions, _ server: ServerOptions) throws {
    guard !options.inputs.isEmpty else {
      throw ImportError.invalidOption("name at least one CSV file, or - for standard input")
    }
    for (number, most, what) in [
      (options.parsers, ImportOptions.mostThreads, "parsers"),
      (options.queue, ImportOptions.mostThreads, "queue"),
      (server.connections, ServerOptions.mostConnections, "connections"),
      (server.leaseSeconds, ServerOptions.longestLease, "lease"),
    ] where !(1...most).contains(number) {
      throw ImportError.invalidOption("\(what) must be from 1 to \(most)")
    }
    if case .records(let size)? = options.batchSize, size < 1 {
      throw ImportError.invalidOption("the batch size must be at least 1")
    }
    let refused: [(Bool, String)] = [
      (
        options.truncate && options.batchSize == nil,
        "--truncate without --batch-size: there it is one transaction with all records; several lanes are "
          + "none, so readers see the table fill up. Say --batch-size if they may"
      ),
      (options.allowsEmpty && !options.truncate, "--allow-empty without --truncate"),
      (options.dryRun && options.resume, "--dry-run with --resume: it reads everything"),
      (options.batchSize == .all, "--batch-size all: name a number"),
      (options.durability == .none, "--durability none: full and group are"),
      (options.keepVersions != nil, "--keep-versions"), (options.changes != nil, "--changes"),
      (options.ignoresBlanks, "--ignore-blanks"), (options.newerThan != nil, "--newer-than"),
      (options.deletesMissing, "--delete-missing"), (options.filter != nil, "--where"),
      (options.schemaPolicy != .add, "--schema"),
      (options.joinsBatchesFor > 0, "--join-batches"),
      (options.sameInput == .contents, "--same-input contents"),
      (options.compaction.mode == .always, "--compact always"),
    ]
    for (isAsked, what) in refused where isAsked {
      throw ImportError.invalidOption("an import into a server does not take " + what)
    }
    if options.keys.isEmpty, options.conflictPolicy != .error {
      throw ImportError.invalidOption(
        "--on-conflict \(options.conflictPolicy.rawValue) needs a key: name the column with --key")
    }
  }

  /// Checks the headers first: an input without a usable one must not leave a table.
  private mutating func lookAtInputs() throws {
    for (index, file) in files.enumerated() {
      do {
        let opened = try open(file)
        _ = try TableMatch(opened, options, table: nil, appliesRules: false)
        if !file.canBeReadAgain { pipes[index] = opened }
        return
      } catch ImportError.emptyInput(let path) {
        if index == files.count - 1 { throw ImportError.emptyInput(path: path) }
      }
    }
  }

  func open(_ file: InputFile) throws -> InputPlanner.Opened {
    if let table {
      return try InputPlanner.open(
        table.open(isCancelled: options.shouldStop), types: table.types, path: file.path, options)
    }
    return try InputPlanner.open(file, options)
  }

  mutating func opened(_ index: Int) throws -> InputPlanner.Opened {
    if let opened = pipes.removeValue(forKey: index) { return opened }
    return try open(files[index])
  }

  var batchRecords: Int {
    if case .records(let size) = options.effectiveBatchSize { return size }
    return ServerOptions.batchRecords
  }

  // MARK: Running

  mutating func run() throws {
    defer {
      report.seconds = Double(System.monotonicNanoseconds - started) / 1e9
      report.readerSeconds = Double(times.reader) / 1e9
    }
    let shouldStop = options.shouldStop
    let grace = StopGrace(shouldStop)
    let session = ServerSession(
      target, retrySeconds: options.wait, isStopping: shouldStop, isAbandoned: { grace.isOver })
    defer { session.close() }
    do {
      try run(session)
    } catch let error as ServerError where error.kind == .interrupted {
      report.isInterrupted = true
    } catch ImportError.interrupted {
      report.isInterrupted = true
    }
  }

  private mutating func run(_ session: ServerSession) throws {
    var engine = try session.use { try ServerEngine.of($0) }
    engine.waitForLocks(atMost: options.wait)
    try engine.check(
      hasKey: !options.keys.isEmpty, truncates: options.truncate, server: target.shown)
    if options.dryRun { return try readAll(session) }
    let table = try table(session, engine)
    report.table = table.shown
    if table.refersToItself, options.keys.isEmpty, server.connections > 1 {
      report.notes.append(
        "\(table.shown) has a foreign key that refers to itself: one connection loads it, in the order of "
          + "the records")
    }
    let owner =
      "\(System.hostName):\(System.processIdentifier):\(UInt64.random(in: 0 ... .max))"
    let claims = InputClaims(
      CheckpointTables(schema: table.schema), engine, target: table.shown, owner: owner,
      batchRecords: batchRecords, leaseSeconds: server.leaseSeconds, session)
    try claims.makeTables()
    let inputs = try files.map { try serverInput($0, table) }
    if options.truncate {
      if try !haveRecords(table) { try refuseEmptying(table, session) }
      try claims.beginEmptied(inputs, table.qualified, unlessBegun: options.resume)
    } else if !options.resume {
      try claims.begin(inputs)
    } else {
      let count = try claims.recordsGone(inputs, from: table.qualified)
      if count > 0 { noteNoRows(table, count) }
    }
    var left = Array(files.indices)
    var waiting = ClaimWait(options)
    while !left.isEmpty {
      var leased: [Int] = []
      var owner = ""
      inputs: for (place, index) in left.enumerated() {
        if options.shouldStop() { report.isInterrupted = true }
        if report.isInterrupted { return }
        switch try claims.claim(inputs[index]) {
        case .claimed(let claim):
          waiting.restart()
          try importInput(index, claim, claims, table)
        case .done: try passOver(index, inputs[index], claims)
        case .leased(let other):
          others.insert(index)
          owner = other
          // A later input waits for this one. Who waits has claimed nothing, so that nobody waits for it.
          if isOrdered(table) {
            leased += left[place...]
            break inputs
          }
          leased.append(index)
        }
      }
      left = leased
      if let first = leased.first {
        try waiting.pause(files[first].name, owner, server: target.shown)
      }
    }
    report.notes += OptionsDigest.notes(ofOthers: passedWithOthers)
  }

  /// Tells that the table was emptied, or made anew by hand. No error: rows may have been moved elsewhere,
  /// and the table's policies may hide them from this user.
  private mutating func noteNoRows(_ table: ServerTable, _ count: Int) {
    let records = count == 1 ? "1 record" : "\(count) records"
    report.notes.append(
      "\(table.shown) has no rows that this user sees, though \(records) of these inputs are known to be "
        + "imported into it and left out here; if they are missing, empty the table, and import these inputs "
        + "again without --resume")
  }

  /// True when the order of the inputs decides what is in the table: which of two rows of one key, or
  /// whether a row to which another refers is there before it. With `error` a second row is rejected, and
  /// told, whichever it is.
  private func isOrdered(_ table: ServerTable) -> Bool {
    table.refersToItself || (!options.keys.isEmpty && options.conflictPolicy != .error)
  }

  /// Returns whether any record replaces those that `truncate` removes.
  ///
  /// - Throws: also when an input does not fit the table.
  private mutating func haveRecords(_ table: ServerTable) throws -> Bool {
    var haveRecords = false
    for (index, file) in files.enumerated() {
      do {
        let opened = try pipes[index] ?? open(file)
        if !file.canBeReadAgain { pipes[index] = opened }
        _ = try ServerMatch(opened, options, table, server: target.shown)
        if try !opened.splitter.isAtEnd() { haveRecords = true }
      } catch ImportError.emptyInput {
        continue
      }
    }
    return haveRecords
  }

  /// Refuses to empty a table that has rows, unless options allow it.
  func refuseEmptying(_ table: ServerTable, _ session: ServerSession) throws {
    if options.allowsEmpty { return }
    let found = try session.use {
      try $0.run("SELECT EXISTS (SELECT 1 FROM \(table.qualified))").last?.rows.first?[0]
    }
    if found == "t" {
      throw ImportError.emptyReplacement(table: table.shown, database: target.shown)
    }
  }

  private func serverInput(_ file: InputFile, _ table: ServerTable) throws -> ServerInput {
    var name = PathText.shown(file.name)
    while name.hasPrefix("./") { name.removeFirst(2) }
    var key = table.shown + " < " + name
    // A longer key would not fit an index.
    if key.utf8.count > 1000 {
      key = String(key.prefix(200)) + "..." + RangeChecksum.text(Checksum.of(Array(key.utf8)))
    }
    guard file.canBeReadAgain else {
      return ServerInput(key: key, name: file.name, size: nil, checksum: nil)
    }
    let descriptor = try System.open(file.path, .readOnly)
    defer { System.close(descriptor) }
    let beginning = try System.beginning(descriptor, count: 1 << 16, path: file.path)
    return ServerInput(
      key: key, name: file.name, size: file.size,
      checksum: RangeChecksum.text(Checksum.of(Array(beginning))))
  }

  // MARK: Inputs

  private mutating func importInput(
    _ index: Int, _ claim: InputClaim, _ claims: InputClaims, _ table: ServerTable
  ) throws {
    let file = files[index]
    do {
      let opened = try opened(index)
      let load = try InputLoad(self, file, opened, claim, claims, table)
      defer { add(load.report) }
      try load.run(rejected: report.rejected, before: report, rejects: &rejectFiles)
    } catch ImportError.emptyInput(let path) where files.count > 1 && claim.ranges.isEmpty {
      try claims.finish(claim, ranges: 0, RowCounts(), end: (0, 0))
      report.notes.append("\(path) is empty: there is no header and no record")
      report.files.append(.init(path: file.path))
    } catch {
      claims.release(claim)
      throw report.batches > 0 ? Self.later(error, file) : error
    }
    if report.isInterrupted { claims.release(claim) }
  }

  /// The error of an input behind others: it is no wrong usage that changes nothing.
  private static func later(_ error: any Error, _ file: InputFile) -> any Error {
    let isAboutOptions =
      switch error {
      case let error as ImportError: error.isAboutOptions
      case let error as ServerError: error.kind == .usage
      default: false
      }
    guard isAboutOptions else { return error }
    let reason = "\(error)"
    return ImportError.laterInputRefused(
      reason: reason.contains(file.name) ? reason : "\(file.name): \(reason)")
  }

  /// Adds the report of an input to the report of the run.
  mutating func add(_ own: ImportReport) {
    report.files += own.files
    report.read += own.read
    report.imported += own.imported
    report.updated += own.updated
    report.skipped += own.skipped
    report.unchanged += own.unchanged
    report.rejected += own.rejected
    report.batches += own.batches
    report.bytesRead += own.bytesRead
    report.bytesWritten += own.bytesWritten
    report.notes += own.notes
    report.isInterrupted = report.isInterrupted || own.isInterrupted
    report.columns = own.columns
    if report.dialect == nil { report.dialect = own.dialect }
    if report.resumedAt?.isComplete ?? true, let point = own.resumedAt { report.resumedAt = point }
    if report.rejects == nil { report.rejects = own.rejects }
  }

  /// Skips an input that is already in the table, if it has not changed since.
  private mutating func passOver(_ index: Int, _ input: ServerInput, _ claims: InputClaims) throws {
    let file = files[index]
    let end = try claims.end(input)
    // An input that another process has just read need not be read again.
    if !others.contains(index) { try compare(index, input, end) }
    let point = ImportReport.ResumePoint(
      record: end.records, byteOffset: end.byte, isComplete: true)
    if report.resumedAt == nil { report.resumedAt = point }
    report.files.append(.init(path: file.path, resumedAt: point))
    if let given = end.given, !OptionsDigest(options: options).makeTheSame(as: given) {
      passedWithOthers.append(file.name)
    }
  }

  private mutating func compare(_ index: Int, _ input: ServerInput, _ end: InputClaims.End) throws {
    func changed(_ reason: String) -> ImportError {
      .inputChanged(
        path: input.name,
        reason: reason + "; import it without --resume if all its records are new")
    }
    if input.size != end.size || input.checksum != end.checksum {
      throw changed("it has changed since its import was completed")
    }
    // An empty input has no bytes to compare.
    guard end.byte > 0 else { return }
    let splitter = try opened(index).splitter
    guard
      case .done = try splitter.skip(
        to: end.byte, checksum: end.digest, isCancelled: options.shouldStop)
    else { throw changed("it has other bytes than when its import was completed") }
    guard try options.limit != nil || splitter.isAtEnd() else {
      throw ImportError.inputChanged(
        path: input.name, reason: "it has grown since its import was completed: " + grown(end))
    }
  }

  /// What is in the table of an input that has grown, and how the rest comes into it.
  private func grown(_ end: InputClaims.End) -> String {
    let count = end.records
    return table == nil
      ? "its first \(count) records are there; give those behind them as an input of their own"
      : "its first \(count) objects are there; choose those behind them with --where, which is an input of "
        + "its own"
  }
}

/// Waits for inputs that other processes have claimed.
private struct ClaimWait {
  private var patience: Patience
  private let limit: Double
  private let notice: @Sendable (String) -> Void
  private let shouldStop: @Sendable () -> Bool

  init(_ options: ImportOptions) {
    limit = options.wait
    notice = options.onWaiting
    shouldStop = options.shouldStop
    patience = Patience(seconds: limit, notice: notice, shouldStop: shouldStop)
  }

  mutating func restart() {
    patience = Patience(seconds: limit, notice: notice, shouldStop: shouldStop)
  }

  /// Waits half a second, in which the lease may end.
  mutating func pause(_ input: String, _ owner: String, server: String) throws {
    let end = System.monotonicNanoseconds &+ 500_000_000
    do throws(Patience.Refusal) {
      repeat {
        try patience.pause { "\(owner), which is importing \(input)" }
      } while System.monotonicNanoseconds < end
    } catch {
      switch error {
      case .cancelled: throw ImportError.interrupted
      case .busy:
        throw ServerError(
          .busy,
          "\(server): \(input) is being imported by \(owner), and was for as long as --wait says; run the "
            + "command again later, with --resume: what is done then is left out")
      }
    }
  }
}

/// The seconds that current operations have left once an import is interrupted.
///
/// Thread rule: any thread.
private final class StopGrace: @unchecked Sendable {
  // @unchecked: `lock` guards `limit`.
  private let shouldStop: @Sendable () -> Bool
  private let lock = Lock()
  private var limit: SilenceLimit?

  private static let seconds = 5.0

  init(_ shouldStop: @escaping @Sendable () -> Bool) { self.shouldStop = shouldStop }

  var isOver: Bool {
    guard shouldStop() else { return false }
    return lock.withLock {
      let own = limit ?? SilenceLimit(Self.seconds)
      limit = own
      return own.isOver
    }
  }
}
