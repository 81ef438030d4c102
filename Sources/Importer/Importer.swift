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
    sources = try options.inputs.map { try InputPlanner.source($0) }
    report.inputs = options.inputs
    report.database = options.database
    report.table = tableName
    report.batchSize = options.batchSize
    report.isDryRun = options.dryRun
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
      let database = try Database.open(options.database)
      if let note = database.recoveryNote {
        report.notes.append("\(options.database) was opened in spite of damage: \(note)")
      }
      do {
        try importAll(database)
        try finish(database)
      } catch {
        // What was committed is made durable; the first error is the one to tell.
        try? database.close()
        throw error
      }
      try database.close()
    }
    report.seconds = Double(System.monotonicNanoseconds - started) / 1e9
    return report
  }

  private mutating func importAll(_ database: Database?) throws {
    for (index, path) in options.inputs.enumerated() where !report.isInterrupted {
      try importInput(path, sources[index], database, isFirst: index == 0)
    }
  }

  private mutating func importInput(
    _ path: String, _ source: any ByteSource, _ database: Database?, isFirst: Bool
  ) throws {
    let planner = InputPlanner(options: options, path: path)
    let opened = try planner.open(source)
    if report.dialect == nil { report.dialect = opened.report }
    report.notes += opened.header.notes.map { "\(source.name): \($0)" }
    guard
      let start = try start(
        path, opened, planner.optionsDigest(opened), try existingTable(database), isFirst: isFirst)
    else { return }
    let checkpoint = start.checkpoint
    let plan = makePlan(source.name, opened, start.match)
    let log = RejectLog(
      path: rejectsPath(path), recordsLength: checkpoint.rejectsLength,
      reasonsLength: checkpoint.reasonsLength)
    if start.resumes { try log.cutBack() }
    let destination: any Destination =
      database.map {
        DatabaseDestination(
          $0, table: tableName, durability: options.durability, plan: plan,
          expected: start.schema, earlier: start.earlier,
          truncates: options.truncate && isFirst && !start.resumes)
      } ?? NoDestination()
    let writer = BatchWriter(
      options: options, plan: plan, destination: destination, log: log, types: start.types,
      checkpoint: checkpoint, bytesTotal: bytesTotal, bytesBefore: report.bytesRead)
    try Pipeline.run(start.splitter, plan, options, writer: writer)
    add(writer, plan, bytesRead: writer.checkpoint.byteOffset - start.readBefore)
    if log.isUsed, writer.checkpoint.rejected > 0, !options.dryRun {
      report.rejects = .init(path: log.path, reasonsPath: log.reasonsPath)
    }
  }

  /// Where an input's import begins, and what it knows of the table: values only, so that no snapshot
  /// of the table as it was stays held while the import goes on.
  private struct Start {
    let checkpoint: Checkpoint
    let earlier: [Checkpoint]
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
    var earlier = table?.note(Checkpoint.note).flatMap(Checkpoint.decode) ?? []
    guard options.resume, let found = earlier.lastIndex(where: { $0.input == opened.identity })
    else {
      let match = try TableMatch(
        opened.header, isFirst ? options : options.withoutTruncation, table: table)
      let checkpoint = Checkpoint(
        input: opened.identity ?? .init(size: -1, digest: 0), options: digest,
        byteOffset: opened.splitter.byteOffset, line: opened.splitter.line, classes: [])
      return Start(
        checkpoint: checkpoint, earlier: earlier, resumes: false, schema: table?.schema,
        match: match, types: match.types, splitter: opened.splitter, readBefore: 0)
    }
    let checkpoint = earlier.remove(at: found)
    report.resumedAt = .init(
      record: checkpoint.records, byteOffset: checkpoint.byteOffset,
      isComplete: checkpoint.isComplete)
    if checkpoint.isComplete { return nil }
    guard checkpoint.options == digest else {
      throw ImportError.cannotResume(
        path: opened.source.name,
        reason: "the import was begun with other options for --types, --header, --delimiter, "
          + "--quote, --null or --ragged; use the same ones")
    }
    let match = try TableMatch(opened.header, options.withoutTruncation, table: table)
    return Start(
      checkpoint: checkpoint, earlier: earlier, resumes: true, schema: table?.schema,
      match: match, types: match.types.resuming(checkpoint.classes),
      splitter: try splitter(path, opened, goingOnFrom: checkpoint),
      readBefore: checkpoint.byteOffset)
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
      source: source, dialect: opened.dialect, limits: options.limits,
      start: .init(
        byteOffset: checkpoint.byteOffset, line: checkpoint.line, record: checkpoint.records + 1))
    splitter.blankLinesAreRecords = opened.splitter.blankLinesAreRecords
    return splitter
  }

  private func makePlan(_ file: String, _ opened: InputPlanner.Opened, _ match: TableMatch)
    -> ImportPlan
  {
    let batchRecords: Int? = if case .records(let size) = options.batchSize { size } else { nil }
    return ImportPlan(
      file: file, dialect: opened.dialect, ragged: options.policy,
      nulls: options.nulls.map { Array($0.utf8) }, columns: match.plannedColumns,
      extras: match.extras,
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
        name: name, type: state.type, nulls: state.nulls + earlier, widened: state.widening)
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
    if options.compaction.shouldCompact(total: use.total, used: use.used) {
      let began = System.monotonicNanoseconds
      report.compaction = try database.compact()
      report.compactionSeconds = Double(System.monotonicNanoseconds - began) / 1e9
      use = try database.fileUse()
    }
    report.file = use
    report.objects = try existingTable(database)?.count ?? 0
  }
}

extension ImportOptions {
  fileprivate var withoutTruncation: ImportOptions {
    var copy = self
    copy.truncate = false
    return copy
  }
}
