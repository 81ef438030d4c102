import Base
import Engine

/// One call of `Importer.run`.
///
/// Thread rule: confined; the thread that calls `run` writes the import.
struct ImportRun {
  var options: ImportOptions
  let tableName: String
  private let started = System.monotonicNanoseconds
  var report = ImportReport()
  /// Examined, but not opened, as there may be thousands.
  let files: [InputFile]
  /// The first input that is not empty, which is opened before the database.
  private var firstOpened: (index: Int, opened: InputPlanner.Opened)?
  /// How the first input was read, for comparison with the others.
  var first: (name: String, opened: (hasHeader: Bool, header: Header))?
  /// True when `truncate` or `deletesMissing` must begin again with all inputs.
  var startsOver = false
  /// True until `truncate` was done, or an input was found that continues an earlier run.
  var truncationIsDue: Bool
  /// Writes the inputs; nil for a dry run without a table.
  var transaction: ImportTransaction?
  /// True when the version that `resume` has read is durable.
  var isConfirmed = false
  /// A digest of the options, and the inputs that are left out though they were imported with others.
  let given: Int
  var passedWithOthers: [String] = []
  /// The checkpoints in the table, and their version.
  private var remembered: (version: UInt64, memory: InputMemory)?
  /// The classes of the columns' values, by column number, as far as this run knows them.
  private var seen: [UInt32: TypeSet] = [:]
  var rejectFiles: RejectNamer
  /// The schema of the next input's table, for dry runs; nil when there is none.
  var tableSchema: TableSchema?
  /// The threads that read and parse; the calling thread writes.
  private let threads = PipelineThreads()
  let times = SerialTimes()
  /// Notes about the current input.
  private var fileNotes: [String] = []
  /// The database before the first input gave its first bytes; nil when there was none.
  let origin: DatabaseOrigin?

  init(_ options: ImportOptions) throws {
    var options = options
    options.begun = ImportOptions.now
    self.options = options
    given = OptionsDigest(options: options).given
    guard !options.inputs.isEmpty else {
      throw ImportError.invalidOption("name at least one CSV file, or - for standard input")
    }
    for (number, what) in [(options.parsers, "parsers"), (options.queue, "queue")]
    where !(1...ImportOptions.mostThreads).contains(number) {
      throw ImportError.invalidOption("\(what) must be from 1 to \(ImportOptions.mostThreads)")
    }
    if case .records(let size)? = options.batchSize, size < 1 {
      throw ImportError.invalidOption("the batch size must be at least 1")
    }
    try Self.checkDeletions(options)
    if options.schemaPolicy == .freeze, options.ragged == .extend || options.newColumns {
      throw ImportError.invalidOption(
        "--schema freeze lets no column be added: leave "
          + "\(options.newColumns ? "--new-columns" : "--ragged extend") out")
    }
    origin = try DatabaseOrigin(at: options.database)
    if let kept = options.keepVersions, !(0...1000).contains(kept) {
      throw ImportError.invalidOption("versions to be kept must be from 0 to 1000")
    }
    // Before the database is opened: a missing input must not leave an empty database.
    files = try InputFile.list(options.inputs)
    try InputPlanner.check(files, options)
    bytesTotal = Self.bytesTotal(files)
    truncationIsDue = options.truncate
    tableName = options.table ?? Self.tableName(files[0].path)
    rejectFiles = try RejectNamer(options, files)
    report.inputs = files.map(\.path)
    report.database = options.database
    report.table = tableName
    report.batchSize = options.effectiveBatchSize
    report.isDryRun = options.dryRun
    report.publication = options.publication
    try checkPlace()
    try rejectFiles.check()
    try checkChanges()
    // An input without a usable header must not leave an empty database either.
    for (index, file) in files.enumerated() {
      do {
        let opened = try open(file)
        // Neither must options that do not fit the input.
        if options.namesColumns { try checkNames(opened) }
        firstOpened = (index, opened)
        return
      } catch ImportError.emptyInput(let path) {
        // One empty input among several is not an error.
        if index == files.count - 1 { throw ImportError.emptyInput(path: path) }
      }
    }
  }

  private func checkNames(_ opened: InputPlanner.Opened) throws {
    do {
      _ = try TableMatch(opened, options, table: nil)
    } catch let error as ImportError {
      // The table may have a column that the input lacks, or give one a type: it is checked later, before any
      // change.
      guard try System.statusIfPresent(path: options.database) != nil else { throw error }
    }
  }

  func open(_ file: InputFile, _ change: (inout ImportOptions) -> Void = { _ in }) throws
    -> InputPlanner.Opened
  {
    var options = options
    change(&options)
    return try InputPlanner.open(file, options)
  }

  /// The file's name without its extensions.
  static func tableName(_ path: String) -> String {
    if path == "-" { return "stdin" }
    if ServerAddress.isURL(path) { return ServerQuery.name }
    let name = System.name(of: PathText.shown(path))
    let stem = name.drop { $0 == "." }.prefix { $0 != "." }
    return stem.isEmpty ? name : String(stem)
  }

  mutating func run() throws -> ImportReport {
    defer {
      report.seconds = Double(System.monotonicNanoseconds - started) / 1e9
      report.readerSeconds = Double(times.reader) / 1e9
      report.writerSeconds = Double(times.writer) / 1e9
    }
    do {
      try runAll()
    } catch let error as ImportError
      where report.batches == 0 && (options.isOneTransaction || options.dryRun)
    {
      throw error.ofOneTransaction
    }
    return report
  }

  private mutating func runAll() throws {
    if options.dryRun {
      try rehearse()
    } else {
      // Before the database is opened: this import must not prevent a compaction while it waits.
      var patience = Patience(options.waiting)
      // A pipe may have taken hours to send its first bytes; the path may name another database now.
      try origin?.check()
      let job = try lockJob(&patience)
      defer { withExtendedLifetime(job) {} }
      let database: Database
      do {
        try origin?.check()
        let before = try? System.status(path: options.database)
        report.fileBefore = before?.size ?? 0
        database = try open(patience.rest)
        if let before, !job.hasCreated, before.size < Layout.firstBlockOffset + Layout.pageBytes {
          report.notes.append(
            "\(options.database) was there, with nothing in it: a new database was begun in it")
        }
      } catch {
        job.removeUnused()
        throw error
      }
      if let note = database.recoveryNote {
        report.notes.append("\(options.database) was opened in spite of damage: \(note)")
      }
      let transaction = ImportTransaction(
        database, options, inputs: files.map(\.path), keys: files.map(\.key), table: tableName)
      self.transaction = transaction
      do {
        report.objectsBefore = try existingTable(database)?.count ?? 0
        let changes = try options.changes.map { try ChangesFile($0, like: options.database) }
        // With `truncate` and deletions, the checkpoints are removed in the same transaction as the rows. If
        // a run were killed in between, rows without a checkpoint would remain, and the next run with
        // `resume` would import them again.
        try choosePending(database)
        if !options.resume, !options.truncate, !options.deletesMissing { try forget(database) }
        try importAll(database)
        if let changes { try writeChanges(changes, database) }
        try finish(database)
      } catch {
        // A failure here tells nothing that the first error does not tell: what `sheaf log` says of the
        // import is then up to a second old, as after a kill.
        try? transaction.closeAfterError()
        report.deleted = transaction.deleted
        report.bytesWritten = database.bytesWritten
        report.pending = try? pending(database)
        // Makes the committed batches durable. If that fails too, the error reports both.
        do {
          try database.close()
        } catch let second {
          // The cause, which itself says which batches are safe.
          switch error {
          case EngineError.poisoned, EngineError.displaced, EngineError.nestedTransaction:
            throw error
          default: break
          }
          throw ImportError.notDurable(after: "\(error)", cause: "\(second)")
        }
        throw error
      }
      try database.close()
    }
  }

  mutating func importAll(_ database: Database?) throws {
    startsOver = try startsOver(state(database).memory, database)
    for index in files.indices {
      if report.batches > 0 || index > 0, options.shouldStop() { report.isInterrupted = true }
      if report.isInterrupted { break }
      do {
        try importInput(index, database)
      } catch ImportError.emptyInput(let path) where files.count > 1 && !options.deletesMissing {
        report.notes.append("\(path) is empty: there is no header and no record")
        report.files.append(.init(path: files[index].path))
      } catch ImportError.interrupted where report.batches > 0 || index > 0 {
        // While an input is awaited or read again, after others.
        report.isInterrupted = true
      } catch let error as ImportError where hasCommitted && error.isAboutOptions {
        throw ImportError.laterInputRefused(reason: "\(error)")
      }
    }
    report.notes += OptionsDigest.notes(ofOthers: passedWithOthers)
    try deleteMissing(database)
    if report.isInterrupted, options.isOneTransaction {
      takeBack()
    } else if try !report.isInterrupted && publish() {
      report.isPublished = true
    } else if try transaction?.finish() == true {
      report.batches += 1
    }
    report.deleted = transaction?.deleted ?? 0
    try transaction?.close(isInterrupted: report.isInterrupted)
    try database?.flush()
  }

  /// Subtracts the counts of a transaction that will not be committed from the report.
  private mutating func takeBack() {
    transaction?.rollBack()
    for index in report.files.indices where report.files[index].read > 0 {
      report.files[index] = .init(path: report.files[index].path)
    }
    (report.read, report.imported, report.updated, report.skipped) = (0, 0, 0, 0)
    (report.unchanged, report.rejected, report.filtered) = (0, 0, 0)
    (report.bytesRead, report.batches) = (0, 0)
  }

  /// The table before the next input, with its checkpoints.
  struct TableState {
    var contents: TableContents?
    var memory: InputMemory?
  }

  /// Compares records with the table when they are not imported.
  var verifier: RecordVerifier? { options.verifier?.verifier as? RecordVerifier }

  private mutating func state(_ database: Database?) throws -> TableState {
    if let verifier { return TableState(contents: TableContents(verifier.table)) }
    if let transaction, transaction.isOpen, let table = transaction.table {
      let contents = try TableContents(table, seen: seen)
      // An emptied table has no checkpoints.
      let memory = transaction.isEmptied ? nil : remembered?.memory
      return TableState(contents: contents, memory: memory)
    }
    guard let snapshot = try shown(database), snapshot.tableNames.contains(tableName) else {
      return TableState()
    }
    let table = try snapshot.table(tableName)
    if transaction?.version != snapshot.version || transaction?.isDisturbed == true { seen = [:] }
    transaction?.looks(at: snapshot.version)
    let contents = TableContents(table, seen: seen)
    guard options.resume else { return TableState(contents: contents) }
    if remembered?.version != snapshot.version {
      remembered = (snapshot.version, try InputMemory(table, in: snapshot))
    }
    return TableState(contents: contents, memory: remembered?.memory)
  }

  private mutating func importInput(_ index: Int, _ database: Database?) throws {
    let file = files[index]
    fileNotes = []
    let state = try state(database)
    if let contents = state.contents { tableSchema = contents.schema }
    if try isComplete(file, index, state) { return }
    var opened: InputPlanner.Opened
    if let first = firstOpened, first.index == index {
      opened = try alike(file, first.opened)
      firstOpened = nil
    } else {
      opened = try alike(file, open(file))
    }
    if first == nil { first = (file.name, (opened.hasHeader, opened.header)) }
    if report.dialect == nil { report.dialect = opened.report }
    note(opened.told(options) { tableSchema?.index(of: $0) != nil }, file)
    let keys = try keys(of: state.contents)
    let digest = OptionsDigest(options: options).whole(opened, keys: keys)
    let rejects = rejectFiles.choice(
      of: file.path, header: opened.headerLine, encoding: opened.encoding)
    guard let start = try start(file, &opened, digest, state, rejects) else {
      describe(opened)
      return
    }
    if let tableSchema {
      note(
        try TableDrift(opened, options, tableSchema, path: file.name, table: tableName).notes, file)
    }
    note(start.match.notes, file)
    try write(index, opened, start, rejects, state.memory)
    describe(opened)
  }

  /// Returns whether an input was imported completely and is unchanged. That needs no header, unless several
  /// inputs share rejects files: which of these belongs to it depends on all their headers.
  private mutating func isComplete(_ file: InputFile, _ index: Int, _ state: TableState) throws
    -> Bool
  {
    guard options.resume, !startsOver, let memory = state.memory,
      !rejectFiles.isShared(file.path),
      let checkpoint = try CheckpointComparison(file: file, memory: memory, options: options)
        .complete()
    else { return false }
    if let first = firstOpened, first.index == index, report.dialect == nil {
      report.dialect = first.opened.report
    }
    try passOver(file, checkpoint, nil)
    if let last = report.files.indices.last { report.files[last].notes = fileNotes }
    return true
  }

  private mutating func write(
    _ index: Int, _ opened: InputPlanner.Opened, _ start: Start, _ rejects: RejectNamer.Choice,
    _ memory: InputMemory?
  ) throws {
    let (file, files) = (files[index], files)
    let isLast = index == files.count - 1
    // Whole chunks suffice for types.
    let encodes = options.isSniffing ? true : verifier == nil ? nil : false
    var plan = ImportPlan(file, opened, start.match, options, encodes: encodes)
    plan.onlyFindsTypes = options.isSniffing
    plan.keepsPlaces = verifier != nil
    try verifier?.begin(file.path, plan)
    if let known = start.known { try noteShortage(file, known.rejects) }
    let log = try rejectFiles.log(
      rejects, input: file.name, goingOnFrom: start.known,
      later: {
        try files[(index + 1)...].filter { try memory?.checkpoint(of: $0.key) == nil }.map(\.name)
      }, notes: &report.notes)
    let written = transaction.map {
      DatabaseDestination(
        $0, plan: plan, conflict: options.conflictRule, expected: start.schema,
        goesOnFrom: start.known, truncates: truncationIsDue && !start.resumes,
        keepsContents: options.sameInput == .contents, input: file.path, isLastInput: isLast)
    }
    var before = report
    // Otherwise each input would copy the lists of all inputs before it.
    (before.files, before.notes, before.inputs) = ([], [], [])
    let writer = BatchWriter(
      options: options, plan: plan,
      destination: written ?? verifier.map { VerifyDestination($0, plan) } ?? NoDestination(),
      log: log,
      types: start.types, checkpoint: start.checkpoint, bytesTotal: bytesTotal, before: before,
      isLastInput: isLast)
    do {
      try Pipeline.run(
        opened.splitter, plan, options, keys: options.looksAhead ? written?.keys : nil,
        isSmall: file.isSmall, writer: writer, threads: threads, times: times)
    } catch {
      add(writer, plan, file, start)
      describe(opened)
      noteRejects(log, writer, file)
      throw error
    }
    truncationIsDue = false
    note(
      writer.tolerances.notes + [opened.source.change, writer.unfinishedNote].compactMap(\.self),
      file)
    if let twin = written?.twin { noteTwin(file, twin, isLeftOut: false) }
    add(writer, plan, file, start)
    noteSeen(writer.types, plan)
    noteRejects(log, writer, file)
    log.close()
  }

  /// Reports the rejects files of an input.
  private mutating func noteRejects(_ log: RejectLog, _ writer: BatchWriter, _ file: InputFile) {
    guard log.isUsed, writer.hasRejects, !options.dryRun else { return }
    let paths = ImportReport.RejectFiles(path: log.path, reasonsPath: log.reasonsPath)
    report.files[report.files.count - 1].rejects = paths
    if let first = report.rejects, first != paths {
      report.notes.append(
        "rejected records of \(file.name): \(log.path), reasons in \(log.reasonsPath)")
    } else {
      report.rejects = paths
    }
  }

  mutating func note(_ notes: [String], _ file: InputFile) {
    fileNotes += notes
    report.notes += notes.map { "\(file.name): \($0)" }
  }

  /// Reports how the input was read, with the notes about it.
  private mutating func describe(_ opened: InputPlanner.Opened) {
    guard let last = report.files.indices.last else { return }
    report.files[last].dialect = opened.report
    report.files[last].findings = opened.findings
    report.files[last].notes = fileNotes
  }

  /// Stores the classes of an input's values for the next input.
  private mutating func noteSeen(_ types: ColumnTypes, _ plan: ImportPlan) {
    for (index, state) in types.states.enumerated() {
      if state.mayHaveLargeIntegers {
        seen[plan.identifier(index)] = nil
        continue
      }
      // For a strict type it is only recorded that there may be values.
      seen[plan.identifier(index)] = state.strictType == nil ? state.classes : .text
    }
  }

  func existingTable(_ database: Database?) throws -> Table? {
    guard let snapshot = try database?.snapshot(), snapshot.tableNames.contains(tableName) else {
      return nil
    }
    return try snapshot.table(tableName)
  }

  /// Bytes of all inputs; nil when one of them is a pipe or compressed.
  private let bytesTotal: Int?

  private static func bytesTotal(_ files: [InputFile]) -> Int? {
    files.reduce(0) { total, file in
      total.flatMap { total in file.isCompressed ? nil : file.size.map { total + $0 } }
    }
  }

  private mutating func add(
    _ writer: BatchWriter, _ plan: ImportPlan, _ file: InputFile, _ start: Start
  ) {
    let bytesRead = writer.checkpoint.byteOffset - (start.known?.byteOffset ?? 0)
    if !start.resumes { report.files.append(.init(path: file.path)) }
    report.files[report.files.count - 1].add(writer.report, bytesRead: bytesRead)
    report.read += writer.report.read
    report.imported += writer.report.imported
    report.updated += writer.report.updated
    report.skipped += writer.report.skipped
    report.unchanged += writer.report.unchanged
    report.rejected += writer.report.rejected
    report.filtered += writer.report.filtered
    report.batches += writer.report.batches
    report.isInterrupted = writer.report.isInterrupted
    report.bytesRead += bytesRead
    let earlier = Dictionary(report.columns.map { ($0.name, $0.nulls) }) { first, _ in first }
    let own = writer.types.states.enumerated().map { index, state in
      ImportReport.ColumnReport(
        name: plan.name(index), type: state.type, notation: state.reading.notation,
        nulls: state.nulls, widened: state.widening)
    }
    report.files[report.files.count - 1].columns = own
    report.columns = own.map {
      ImportReport.ColumnReport(
        name: $0.name, type: $0.type, notation: $0.notation,
        nulls: $0.nulls + (earlier[$0.name] ?? 0),
        widened: $0.widened)
    }
    note(own.compactMap(\.wideningNote), file)
    for (column, state) in zip(plan.columns, writer.types.states) {
      if state.ambiguity != nil || state.hasUnclearPoints {
        note([state.noteOfAmbiguity(column.name)].compactMap(\.self), file)
      }
    }
  }
}

extension ImportOptions {
  /// True when options name single columns or describe their spellings.
  fileprivate var namesColumns: Bool {
    if case .named = types { return true }
    return columns != nil || !renames.isEmpty || !dateFormats.isEmpty || decimalMark != nil
      || thousandsSeparator != nil || hasNoThousands || !keys.isEmpty || !rules.isEmpty
      || !requiredColumns.isEmpty || filter != nil
  }

  var withoutTruncation: ImportOptions {
    var copy = self
    copy.truncate = false
    return copy
  }
}
