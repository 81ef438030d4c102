import Engine

/// Imports CSV into a Sheaf database.
///
/// Thread rule: `run` may be called on any thread; it starts threads of its own and returns when
/// they have ended.
public enum Importer {
  /// Imports all inputs, then compacts the file if the policy says so.
  ///
  /// After any failure or crash the committed part of each input is a prefix of it, and
  /// `options.resume` goes on from there.
  ///
  /// - Complexity: time follows the input's bytes, memory does not: see `ImportOptions.queue`.
  /// - Throws: `ImportError` for what is wrong with an input or the options, `EngineError` for the
  ///   database, `SystemError` for the rejects files.
  public static func run(_ options: ImportOptions) throws -> ImportReport {
    var run = try ImportRun(options)
    return try run.run()
  }
}

/// One call of `Importer.run`.
private struct ImportRun {
  private let options: ImportOptions
  private let tableName: String
  private let started = System.monotonicNanoseconds
  private var report = ImportReport()
  private var sources: [any ByteSource]
  /// The first input, looked at before the database is touched.
  private var firstOpened: InputPlanner.Opened?
  /// How much of each rejects file belongs to the inputs before: several may share one.
  private var rejectsWritten: [String: (records: Int, reasons: Int)] = [:]

  init(_ options: ImportOptions) throws {
    self.options = options
    guard let first = options.inputs.first else {
      throw ImportError.invalidOption("name at least one CSV file, or - for standard input")
    }
    if case .records(let size) = options.batchSize, size < 1 {
      throw ImportError.invalidOption("the batch size must be at least 1")
    }
    if options.resume, options.inputs.contains("-") {
      throw ImportError.cannotResume(
        path: "standard input", reason: "it cannot be read again; save it to a file first")
    }
    tableName = options.table ?? Self.tableName(first)
    // Before the database is touched: a missing input must not leave an empty database behind.
    sources = try options.inputs.map {
      let source = try InputPlanner.source($0)
      source.isCancelled = options.shouldStop
      return source
    }
    report.inputs = options.inputs
    report.database = options.database
    report.table = tableName
    report.batchSize = options.batchSize
    report.isDryRun = options.dryRun
    try checkFiles()
    // An input without a usable header must not leave an empty database behind either.
    let opened = try InputPlanner(options: options, path: first).open(sources[0])
    // Nor must options that do not fit it.
    if options.namesColumns { _ = try TableMatch(opened, options, table: nil) }
    firstOpened = opened
  }

  /// Rejects written over an input or the database would destroy it.
  private func checkFiles() throws {
    func isTaken(_ path: String) -> Bool {
      guard let file = try? System.status(path: path) else { return path == options.database }
      return (options.inputs + [options.database]).contains { other in
        guard let status = try? System.status(path: other) else { return false }
        return status.inode == file.inode && status.device == file.device
      }
    }
    for input in options.inputs {
      let path = rejectsPath(input)
      for file in [path, RejectLog.reasonsPath(path)] where isTaken(file) {
        throw ImportError.invalidOption(
          "rejected records would go to \(file), which is an input or the database; "
            + "name another file with --rejects")
      }
    }
  }

  /// The file's name without its extensions.
  private static func tableName(_ path: String) -> String {
    if path == "-" { return "stdin" }
    let name = path.split(separator: "/").last.map(String.init) ?? path
    let stem = name.drop { $0 == "." }.prefix { $0 != "." }
    return stem.isEmpty ? name : String(stem)
  }

  mutating func run() throws -> ImportReport {
    if options.dryRun {
      try importAll(nil)
    } else {
      report.fileBefore = (try? System.status(path: options.database))?.size ?? 0
      let database = try Database.open(options.database)
      report.objectsBefore = try existingTable(database)?.count ?? 0
      if let note = database.recoveryNote {
        report.notes.append("\(options.database) was opened in spite of damage: \(note)")
      }
      do {
        try importAll(database)
        try finish(database)
      } catch {
        // What was committed is made durable. When that fails too, both have to be told.
        do {
          try database.close()
        } catch let second {
          // A failed flush is what ended the import, and says so itself.
          if case EngineError.poisoned = error { throw error }
          throw ImportError.notDurable(after: "\(error)", cause: "\(second)")
        }
        throw error
      }
      try database.close()
    }
    report.seconds = Double(System.monotonicNanoseconds - started) / 1e9
    return report
  }

  private mutating func importAll(_ database: Database?) throws {
    for (index, path) in options.inputs.enumerated() {
      if report.batches > 0, options.shouldStop() { report.isInterrupted = true }
      if report.isInterrupted { return }
      try importInput(path, sources[index], database, isFirst: index == 0)
    }
  }

  private mutating func importInput(
    _ path: String, _ source: any ByteSource, _ database: Database?, isFirst: Bool
  ) throws {
    let planner = InputPlanner(options: options, path: path)
    let opened = try firstOpened.take() ?? planner.open(source)
    if report.dialect == nil { report.dialect = opened.report }
    report.notes += (opened.notes + opened.header.notes.map(\.description)).map {
      "\(source.name): \($0)"
    }
    let table = try existingTable(database)
    let digest = planner.optionsDigest(opened, key: try key(of: table))
    guard let start = try start(path, opened, digest, table, isFirst: isFirst) else { return }
    report.notes += start.match.notes.map { "\(source.name): \($0)" }
    let plan = makePlan(source.name, opened, start.match)
    let log = try rejectLog(path, start, opened.encoding)
    let destination: any Destination =
      database.map {
        DatabaseDestination(
          $0, table: tableName, durability: options.durability, plan: plan,
          policy: options.conflictPolicy, expected: start.schema,
          goesOnFrom: start.resumes ? start.checkpoint : nil,
          truncates: options.truncate && isFirst && !start.resumes)
      } ?? NoDestination()
    let writer = BatchWriter(
      options: options, plan: plan, destination: destination, log: log, types: start.types,
      checkpoint: start.checkpoint, bytesTotal: bytesTotal, before: report)
    try Pipeline.run(start.splitter, plan, options, writer: writer)
    report.notes += writer.tolerances.notes.map { "\(source.name): \($0)" }
    add(writer, plan, bytesRead: writer.checkpoint.byteOffset - start.readBefore)
    rejectsWritten[log.path] = (log.recordsLength, log.reasonsLength)
    if log.isUsed, writer.checkpoint.rejected > 0, !options.dryRun {
      let files = ImportReport.RejectFiles(path: log.path, reasonsPath: log.reasonsPath)
      if let first = report.rejects, first != files {
        report.notes.append(
          "rejected records of \(source.name): \(log.path), reasons in \(log.reasonsPath)")
      } else {
        report.rejects = files
      }
    }
  }

  /// The primary key of the import: the one that the table has, or is to get.
  private func key(of table: Table?) throws -> String? {
    let key = options.key ?? table?.keyColumn
    if let key, let own = table?.keyColumn, own != key {
      throw ImportError.invalidOption(
        "table '\(tableName)' has the key '\(own)', not '\(key)': leave --key out, or name another "
          + "table with --table")
    }
    // A dry run does not look at the table.
    if key == nil, options.conflictPolicy != .error, !options.dryRun {
      throw ImportError.invalidOption(
        "--on-conflict \(options.conflictPolicy.rawValue) needs a key, and table '\(tableName)' has "
          + "none: name the column with --key")
    }
    return key
  }

  /// The rejects file of an input, cut back to what is committed, or going on behind the rejects of
  /// the inputs before.
  private func rejectLog(_ path: String, _ start: Start, _ encoding: TextEncoding) throws
    -> RejectLog
  {
    let path = rejectsPath(path)
    let before = rejectsWritten[path] ?? (0, 0)
    let log = RejectLog(
      path: path,
      recordsLength: start.resumes ? start.checkpoint.rejectsLength : before.records,
      reasonsLength: start.resumes ? start.checkpoint.reasonsLength : before.reasons,
      encoding: encoding)
    if start.resumes || before.records > 0, !options.dryRun { try log.cutBack() }
    return log
  }

  /// Where an input's import begins, and what it knows of the table: values only, so that no snapshot
  /// of the table as it was stays held while the import goes on.
  private struct Start {
    let checkpoint: Checkpoint
    let resumes: Bool
    let schema: TableSchema?
    let match: TableMatch
    let types: ColumnTypes
    let splitter: RecordSplitter
    /// Bytes of the input that an earlier run had read.
    let readBefore: Int
  }

  /// Nil when the input was imported completely before.
  private mutating func start(
    _ path: String, _ opened: InputPlanner.Opened, _ digest: UInt64, _ table: Table?,
    isFirst: Bool
  ) throws -> Start? {
    guard let checkpoint = try checkpointToResume(opened, table) else {
      let match = try TableMatch(
        opened, isFirst ? options : options.withoutTruncation, table: table)
      let checkpoint = Checkpoint(
        input: opened.identity ?? .init(size: -1, digest: 0), options: digest,
        byteOffset: opened.splitter.byteOffset, line: opened.splitter.line, classes: [])
      return Start(
        checkpoint: checkpoint, resumes: false, schema: table?.schema,
        match: match, types: match.types, splitter: opened.splitter, readBefore: 0)
    }
    report.resumedAt = .init(
      record: checkpoint.records, byteOffset: checkpoint.byteOffset,
      isComplete: checkpoint.isComplete)
    if checkpoint.isComplete {
      rejectsWritten[rejectsPath(path)] = (checkpoint.rejectsLength, checkpoint.reasonsLength)
      return nil
    }
    guard checkpoint.options == digest else {
      throw ImportError.cannotResume(
        path: opened.source.name,
        reason: "the import was begun with other options for --types, --date-format, --decimal, "
          + "--thousands, --columns, --rename, --header, --delimiter, --quote, --escape, --comment, "
          + "--encoding, --null, --ragged, --key or --on-conflict; use the same ones"
      )
    }
    let match = try TableMatch(
      opened, options.withoutTruncation, table: table, isResuming: true)
    return Start(
      checkpoint: checkpoint, resumes: true, schema: table?.schema,
      match: match, types: match.types.resuming(checkpoint.classes),
      splitter: try splitter(path, opened, goingOnFrom: checkpoint),
      readBefore: checkpoint.byteOffset)
  }

  /// Where `options.resume` goes on; nil: at the start.
  private func checkpointToResume(_ opened: InputPlanner.Opened, _ table: Table?) throws
    -> Checkpoint?
  {
    guard options.resume else { return nil }
    guard let identity = opened.identity else {
      throw ImportError.cannotResume(
        path: opened.source.name, reason: "it cannot be read again; save it to a file first")
    }
    let known = table?.note(Checkpoint.note).flatMap(Checkpoint.decode) ?? []
    if let checkpoint = known.last(where: { $0.input == identity }) { return checkpoint }
    // Its records meet the objects of the common part by their keys.
    if options.conflictPolicy != .error, try key(of: table) != nil { return nil }
    // Starting over would import the common part twice.
    if let changed = known.last(where: { $0.input.digest == identity.digest }) {
      throw ImportError.cannotResume(
        path: opened.source.name,
        reason: "it has changed since it was imported: \(identity.size) bytes now, "
          + "\(changed.input.size) bytes then; import it without --resume, with --truncate if its "
          + "records are to take the place of the earlier ones, or with --key and --on-conflict")
    }
    return nil
  }

  private func existingTable(_ database: Database?) throws -> Table? {
    guard let snapshot = try database?.snapshot(), snapshot.tableNames.contains(tableName) else {
      return nil
    }
    return try snapshot.table(tableName)
  }

  /// The same input, positioned behind what has been committed.
  private func splitter(
    _ path: String, _ opened: InputPlanner.Opened, goingOnFrom checkpoint: Checkpoint
  ) throws -> RecordSplitter {
    let source = try InputPlanner.source(path)
    try source.seek(to: checkpoint.byteOffset)
    let splitter = RecordSplitter(
      source: opened.decoding(source), dialect: opened.dialect, limits: options.limits,
      start: .init(
        byteOffset: checkpoint.byteOffset, line: checkpoint.line, record: checkpoint.records + 1),
      encoding: opened.encoding)
    splitter.blankLinesAreRecords = opened.splitter.blankLinesAreRecords
    return splitter
  }

  private func makePlan(_ file: String, _ opened: InputPlanner.Opened, _ match: TableMatch)
    -> ImportPlan
  {
    let batchRecords: Int? = if case .records(let size) = options.batchSize { size } else { nil }
    return ImportPlan(
      file: file, dialect: opened.dialect, ragged: options.policy, header: opened.repeatedHeader,
      endsWithDelimiter: opened.endsWithDelimiter,
      nulls: options.nulls.map { Array($0.utf8) }, fieldCount: opened.header.names.count,
      fields: match.fields, columns: match.plannedColumns,
      keyColumn: match.keyColumn, extras: match.extras,
      encodes: batchRecords.map { $0 >= ImportOptions.smallBatch } ?? true,
      batchRecords: batchRecords)
  }

  /// Bytes of all inputs; nil when one is a pipe.
  private var bytesTotal: Int? {
    sources.reduce(0) { total, source in
      total.flatMap { total in source.size.map { total + $0 } }
    }
  }

  private func rejectsPath(_ input: String) -> String {
    if let given = options.rejects { return given }
    let name = input == "-" ? "stdin" : input.split(separator: "/").last.map(String.init) ?? input
    let stem = name.hasSuffix(".csv") ? String(name.dropLast(4)) : name
    let folder = System.directory(of: options.database)
    return (folder == "." ? "" : folder == "/" ? "/" : folder + "/") + stem + ".rejects.csv"
  }

  private mutating func add(_ writer: BatchWriter, _ plan: ImportPlan, bytesRead: Int) {
    report.read += writer.report.read
    report.imported += writer.report.imported
    report.updated += writer.report.updated
    report.skipped += writer.report.skipped
    report.unchanged += writer.report.unchanged
    report.rejected += writer.report.rejected
    report.batches += writer.report.batches
    report.isInterrupted = writer.report.isInterrupted
    report.bytesRead += bytesRead
    report.columns = writer.types.states.enumerated().map { index, state in
      let name =
        index < plan.columns.count
        ? plan.columns[index].name : plan.extras.name(index - plan.columns.count)
      let earlier = report.columns.first { $0.name == name }?.nulls ?? 0
      return ImportReport.ColumnReport(
        name: name, type: state.type, notation: state.reading.notation,
        nulls: state.nulls + earlier, widened: state.widening)
    }
    for (column, state) in zip(plan.columns, writer.types.states) {
      guard let readings = state.ambiguity else { continue }
      let shown = readings.map(\.description).joined(separator: "' or '")
      report.notes.append(
        "\(plan.file): column '\(column.name)' is text: its values may be spelled '\(shown)', which "
          + "mean other values; say which with --date-format, --decimal or --thousands")
    }
  }

  /// File size and the should-compact rule.
  private mutating func finish(_ database: Database) throws {
    try database.trim()
    var use = try database.fileUse()
    report.bytesWritten = database.bytesWritten
    report.compaction = CompactionResult(
      decision: options.compaction.mode == .never ? .disabled : .notNeeded, before: use.total,
      after: use.total)
    if report.isInterrupted {
      // Somebody is waiting for the end.
      report.compaction = CompactionResult(
        decision: .disabled, before: use.total, after: use.total, reason: "interrupted")
    } else if options.compaction.shouldCompact(total: use.total, used: use.used) {
      let began = System.monotonicNanoseconds
      do {
        report.compaction = try database.compact(shouldStop: options.shouldStop)
      } catch EngineError.cancelled {
        report.isInterrupted = true
        report.compaction = CompactionResult(
          decision: .disabled, before: use.total, after: use.total, reason: "interrupted")
      }
      report.compactionSeconds = Double(System.monotonicNanoseconds - began) / 1e9
      use = try database.fileUse()
    }
    report.file = use
    report.objects = try existingTable(database)?.count ?? 0
  }
}

extension ImportOptions {
  /// True when something is said of single columns, or of how they are spelled.
  fileprivate var namesColumns: Bool {
    if case .named = types { return true }
    return columns != nil || !renames.isEmpty || !dateFormats.isEmpty || decimalMark != nil
      || thousandsSeparator != nil || key != nil
  }

  fileprivate var withoutTruncation: ImportOptions {
    var copy = self
    copy.truncate = false
    return copy
  }
}
