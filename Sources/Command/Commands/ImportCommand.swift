import Base
import Engine
import Importer

/// `sheaf import`: CSV files into a database file.
enum ImportCommand {
  // MARK: Database

  private static let databaseGroup = "Database"

  static let into = Option<String>(
    "into", .path, required: true, group: databaseGroup,
    help:
      "The database file; created where missing. Or a PostgreSQL server: a URL such as "
      + "postgresql://user@host/database, or key=value pairs, as psql takes them")
  static let table = Option<String>(
    "table", .name, defaultNote: "the CSV's file name without its extensions",
    group: databaseGroup, help: "The table to import into; created where missing")
  static let truncate = Flag(
    "truncate", group: databaseGroup,
    help:
      "Empty the table first; with --resume, unless it has nothing but what an import of these inputs with "
      + "--truncate has begun, or has completed and no input has changed since. Readers see the old "
      + "table or the new one, and whatever goes wrong leaves the old one, as --publish end has it, which "
      + "this implies; --resume goes on with what is pending. With --publish batches all inputs are one "
      + "transaction. With --batch-size and without --publish end, and into a server, which needs "
      + "--batch-size, readers see the table fill up")
  static let allowEmpty = Flag(
    "allow-empty", group: databaseGroup,
    help:
      "Let --truncate or --delete-missing leave a table empty that has objects, when the inputs have no "
      + "record for it")
  static let key = Option<[String]>(
    "key", .nameList, defaultNote: "the key that the table has", group: databaseGroup,
    help:
      "The column that is the primary key of the table, or the columns that are it together: a table without "
      + "one gets it, when no two objects have the same values there; records without a value in each are "
      + "rejected")
  static let onConflict = Option<ConflictPolicy>(
    "on-conflict", .choice, default: "error", group: databaseGroup,
    help: "When the key exists already, in the table or earlier in the input: error rejects the "
      + "record; skip leaves it out; replace gives the object all its values, and in columns that "
      + "the input does not have their default or null; update changes only the columns that the "
      + "input has")
  static let ignoreBlanks = Flag(
    "ignore-blanks", group: databaseGroup,
    help:
      "With --on-conflict update or replace: an empty field, or a null, leaves the object's value as it is"
  )
  static let newerThan = Option<String>(
    "newer-than", .name.shown(as: "COLUMN"), group: databaseGroup,
    help:
      "With --on-conflict update or replace: skip a record whose value in this column is not above the "
      + "object's, as one that was delivered late has it")
  static let deleteMissing = Flag(
    "delete-missing", group: databaseGroup,
    help:
      "Delete the objects whose keys no input has: the table becomes what the inputs are. Readers see "
      + "the old table or the new one, and whatever goes wrong leaves the old one, as --publish end has it, "
      + "which this implies; with --publish batches all is one transaction"
  )
  static let maxDeletes = Option<Tolerance>(
    "max-deletes", ValueKind.tolerance, defaultNote: "10% of a table with 100 objects or more",
    group: databaseGroup,
    help: "With --delete-missing: more than this end the import, and nothing is changed")
  static let minRecords = Option<Tolerance>(
    "min-records", .portion, default: "0", group: databaseGroup,
    help:
      "With --delete-missing: fewer records than this, or than this share of the objects before, end the "
      + "import, and nothing is changed")
  static let batchSize = Option<CountOrAll>(
    "batch-size", .countOrAll,
    defaultNote: "1000; with --truncate or --delete-missing, and into a server, 10000",
    group: databaseGroup, help: "Objects in one transaction; \"all\" puts each whole input into one"
  )
  static let durability = Option<Durability>(
    "durability", .choice, default: "group", group: databaseGroup,
    help: "full: every batch is on disk before the next begins; group: batches become durable "
      + "together, in order, and the command ends only when all are; none: nothing is flushed "
      + "until the end. A command that is killed loses the batches that were not flushed: some "
      + "milliseconds' with group, all with none")
  static let joinBatches = Option<Int>(
    "join-batches", ValueKind.positiveCount(upTo: 1000).shown(as: "MS"), group: databaseGroup,
    help:
      "With group or none: batches that follow each other within so many milliseconds are one "
      + "transaction, as long as nobody else waits to write. Other processes could not tell them apart "
      + "in any case. Faster for short rows and small batches; how many there are depends on the time, "
      + "and with it the file's size")
  static let resume = Flag(
    "resume", group: databaseGroup,
    help:
      "Go on after the last committed batch of each input, whose bytes up to there must be the same; "
      + "nothing to do when all are complete; standard input and pipes have to be sent again from "
      + "their start")

  static let publish = Option<ImportOptions.Publication>(
    "publish", .choice,
    defaultNote: "batches; end with --delete-missing, and with --truncate without --batch-size",
    group: databaseGroup,
    help:
      "When readers see what is imported: batches: each batch as it is committed; end: all of it at once, "
      + "when the import has come to its end. Until then batches are committed to a pending table beside the "
      + "visible one, which sheaf info names: --resume goes on with it, and another import with "
      + "--publish end drops it. What somebody else changes in the table meanwhile is merged by the key, as "
      + "docs/nightly.md says, or refused with status 75"
  )
  static let abandon = Flag(
    "abandon", group: databaseGroup,
    help:
      "Drop what an import with --publish end has left pending, for the table of --table or the only one; "
      + "takes no CSV, and nothing else is done")

  static let sameInput = Option<ImportOptions.SameInput>(
    "same-input", .choice, default: "path", group: databaseGroup,
    help:
      "What makes an input the one that was imported before, for --resume: path: where it is read "
      + "from; another path is another input, also with the same bytes. contents: its bytes, too: a "
      + "file that was renamed since is left out")

  // MARK: Input

  private static let inputGroup = "Input"

  static let delimiter = Option<String>(
    "delimiter", .delimiter, defaultNote: "found in the input", group: inputGroup,
    help:
      "Between fields: a character, or up to 4 bytes such as ||; \\t is a tab; whitespace: a run of "
      + "blanks and tabs, which do not count at the beginning and end of a line")
  static let quote = Option<UInt8?>(
    "quote", .characterOrNone, defaultNote: "found in the input", group: inputGroup,
    help: "Around fields that hold delimiters, quotes or line ends")
  static let escape = Option<UInt8?>(
    "escape", .characterOrNone, defaultNote: "found in the input", group: inputGroup,
    help:
      "Makes a quote, a delimiter, a line end or itself behind it part of the field; the same as "
      + "the quote: a quote inside quotes is written twice")
  static let quotes = Option<ImportOptions.Quotes>(
    "quotes", .choice, default: "strict", group: inputGroup,
    help:
      "Text behind a closing quote: strict rejects the record; lenient keeps it as part of the field"
  )
  static let comment = Option<String>(
    "comment", .comment, defaultNote: "found in the input", group: inputGroup,
    help: "Lines that begin with this are left out; up to 4 bytes")
  static let skipLines = Option<Int>(
    "skip-lines", .count,
    defaultNote: "lines that are certainly not part of the table", group: inputGroup,
    help: "Leave out so many lines before the header, whatever they hold")
  static let skipFooter = Option<Int>(
    "skip-footer", .count, default: "0", group: inputGroup,
    help: "Leave out so many lines at the end, such as totals and notes")
  static let headerLines = Option<Int>(
    "header-lines", .positiveCount(upTo: ImportOptions.mostHeaderLines), default: "1",
    group: inputGroup,
    help: "How many records at the front have the names; those of a column are joined by a blank")
  static let encoding = Option<TextEncoding>(
    "encoding", .encoding, defaultNote: "utf-8, or what a byte-order mark says", group: inputGroup,
    help:
      "How the bytes stand for text: utf-8, latin1, windows-1252, utf-16le, utf-16be, or what else the "
      + "system's iconv knows (cp932, gb18030, koi8-r, ...; iconv -l lists them); a byte-order mark "
      + "overrules it")
  static let header = Option<HeaderChoice>(
    "header", .header, defaultNote: "found in the input", group: inputGroup,
    help: "Whether the first record holds the names of the columns; or the names")
  static let types = Option<TypesChoice>(
    "types", .types, default: "infer", group: inputGroup,
    help: "infer: the narrowest type that loses nothing, widened when a later value does not fit; "
      + "text: no types; or types by name, which are strict "
      + "(int, double, decimal, bool, date, datetime, time, uuid, text); \\: is a colon in a name, and a "
      + "name with a comma stands in double quotes")
  static let dateFormat = Option<ImportOptions.DateFormat>(
    "date-format", .dateFormat, repeatable: true, group: inputGroup,
    help:
      "How dates or date-times are spelled, such as %d/%m/%Y or %B %d, %Y %I:%M %p, in every column "
      + "or in the named one; ISO 8601 and written forms of one meaning are found without it")
  static let decimal = Option<ImportOptions.DecimalMark>(
    "decimal", .choice, defaultNote: "point; comma where a column makes sense no other way",
    group: inputGroup, help: "What stands before the fraction of a number")
  static let thousands = Option<UInt8?>(
    "thousands", .thousands, defaultNote: "none, unless a column makes sense no other way",
    group: inputGroup, help: "What stands between the thousands of a number")
  static let columns = Option<[String]>(
    "columns", .nameList, defaultNote: "all", group: inputGroup,
    help: "The columns to import, in the order in which a table that is created gets them")
  static let rename = Option<[RenamedColumn]>(
    "rename", .renames, repeatable: true, group: inputGroup,
    help: "Other names for columns; \\: is a colon in a name, and a pair with a comma stands in "
      + "double quotes. All other options but --columns take the new names")
  static let filename = Option<String>(
    "filename", .name.shown(as: "COLUMN"), implied: "filename", group: inputGroup,
    help: "Add a column with the path of the input, as it was given")
  static let recordNumber = Option<String>(
    "record-number", .name.shown(as: "COLUMN"), implied: "record_number", group: inputGroup,
    help: "Add a column with the number of the record in its input, from 1")
  static let set = Option<AddedColumn>(
    "set", .addedColumn, repeatable: true, group: inputGroup,
    help:
      "Add a column with this value: {path} and {name} stand for the input, {now} for the moment when the "
      + "import began, {line} and {record} for the record's numbers, {{ and }} for braces; an empty value is "
      + "null"
  )
  static let hive = Flag(
    "hive", group: inputGroup,
    help: "Add a column for each folder in the input's path that is named like region=eu")
  static let notNull = Option<[String]>(
    "not-null", .nameList, group: inputGroup,
    help: "Reject records that are null in one of these columns")
  static let check = Option<String>(
    "check", .text.shown(as: "EXPRESSION"), repeatable: true, group: inputGroup,
    help:
      "Reject records of which this is false, as queries have it: 'price >= 0 and price < 1000'; a column "
      + "that is compared keeps the type of its first values"
  )
  static let filter = Option<String>(
    "where", .text.shown(as: "EXPRESSION"), group: inputGroup,
    help:
      "Import only records of which this is true, as queries have it: 'region == \"eu\"'; the others are "
      + "counted "
      + "as filtered. A column that is compared keeps the type of its first values"
  )
  static let schema = Option<ImportOptions.SchemaPolicy>(
    "schema", .choice, default: "add", group: inputGroup,
    help:
      "When an input's columns are not the table's: add adds new ones with a note, and widens inferred types "
      + "where a value does not fit; evolve also widens types that --types names; freeze refuses the "
      + "input, with "
      + "all differences, and rejects values that are none of their column's type")
  static let trim = Flag(
    "trim", group: inputGroup,
    help:
      "Leave blanks and tabs around fields out, in quotes too; numbers, dates and bools are read without "
      + "them anyway, and texts and keys are as they are spelled")
  static let newColumns = Flag(
    "new-columns", group: inputGroup,
    help: "Take an input none of whose columns the table has, and add them; otherwise it is refused"
  )
  static let null = Option<String>(
    "null", .text, repeatable: true, group: inputGroup,
    help: "A further spelling of null; an empty field without quotes always is one")
  static let requireFinalNewline = Flag(
    "require-final-newline", group: inputGroup,
    help:
      "Refuse an input whose last record has no line end, as one that was cut off may not have, before "
      + "that record is committed; otherwise it is noted")
  static let limit = Option<Int>(
    "limit", .count, group: inputGroup,
    help: "Read at most N records of each input; types are found in these alone")

  // MARK: Records that do not fit

  private static let rejectsGroup = "Rejected records"

  static let ragged = Option<ImportOptions.Ragged>(
    "ragged", .choice, default: "reject", group: rejectsGroup,
    help: "Records with too few or too many fields; pad fills short ones with nulls and rejects "
      + "long ones; extend also keeps surplus fields, in added columns extra1, extra2, ...")
  static let rejects = Option<String>(
    "rejects", .path, defaultNote: "CSV.rejects.csv beside the database", group: rejectsGroup,
    help: "Where rejected records go, byte for byte; the reasons go to FILE.reasons.jsonl beside "
      + "it; both are created only once there is a reject; those of earlier imports stay, and the new "
      + "ones get a number in the name")
  static let maxRejects = Option<Tolerance>(
    "max-rejects", .tolerance, default: "0", group: rejectsGroup,
    help: "More than this ends the import")
  static let dryRun = Flag(
    "dry-run", group: rejectsGroup,
    help:
      "Do all of it in a copy that takes what is written, in TMPDIR, and ends with the command: report "
      + "types, every reject, and with a key what would change; the database stays as it is")

  // MARK: Compaction

  private static let compactionGroup = "Compaction"

  static let compact = Option<CompactionPolicy.Mode>(
    "compact", .choice, default: "auto", group: compactionGroup,
    help: "Compact after the import; auto asks the two options below")
  static let compactAbove = Option<Int>(
    "compact-above", .size, default: "70MB", group: compactionGroup,
    help: "Compact when the file is larger than this and too little of it is used")
  static let compactUsedBelow = Option<Percent>(
    "compact-used-below", .percent, default: "50%", group: compactionGroup,
    help: "Too little is used: less than this share of the file")

  // MARK: Versions

  static let keepVersions = Option<Int>(
    "keep-versions", ValueKind.count, defaultNote: "what sheaf keep has said, else 0",
    group: "Versions",
    help:
      "Keep the version before this import, and let go of all but the newest N that were kept so; 0: "
      + "keep none")

  static let changes = Option<String>(
    "changes", .path, group: "Versions",
    help:
      "Write a JSON object a line to this file, once all is committed, for each object that is new, changed "
      + "or gone: what sheaf diff --format jsonl prints. The version before the import is kept")

  // MARK: Threads

  private static let threadsGroup = "Threads"

  static let parsers = Option<Int>(
    "parsers", .positiveCount(upTo: ImportOptions.mostThreads),
    defaultNote: "cores - 1, at least 1", group: threadsGroup,
    help: "Parser threads; no more are started than there are cores, or 2")
  static let queue = Option<Int>(
    "queue", .positiveCount(upTo: ImportOptions.mostThreads), default: "8", group: threadsGroup,
    help:
      "Chunks that may wait between the parsers and the writer; up to eight times as many small ones"
  )

  // MARK: Reports

  static let progress = Option<ProgressMode>(
    "progress", .choice, default: "auto",
    help: "Progress on standard error; auto: when that is a terminal")

  static let definition = CommandDefinition(
    name: "import",
    summary: "Import one or more CSV files into a database file",
    usage: "CSV... --into FILE [OPTIONS]",
    positionals: [
      .init(
        name: "CSV",
        help: "A CSV file, - for standard input, or a pattern such as 'logs/**/*.csv'; .gz, .zst, "
          + ".bz2 and .xz are decompressed by the system's own programs. Or a query of a PostgreSQL "
          + "server, 'postgresql://user@host/database?query=SELECT ...'",
        isReplacedBy: abandon.name, isRepeatable: true, completion: .files)
    ],
    options: [
      into, table, key, onConflict, ignoreBlanks, newerThan, deleteMissing,
      maxDeletes, minRecords, truncate, allowEmpty, batchSize,
      durability, joinBatches, publish, resume, abandon, sameInput,
      CommonOptions.wait,
      delimiter, quote, quotes, escape, comment, skipLines, skipFooter, header, headerLines,
      encoding, types,
      dateFormat, decimal, thousands, null, trim, columns, rename, newColumns, requireFinalNewline,
      filename, recordNumber, set, hive, notNull, check, filter, schema, limit,
      ragged, rejects, maxRejects, dryRun,
      keepVersions, changes,
      compact, compactAbove, compactUsedBelow,
    ] + serverOptions + [
      parsers, queue,
      progress, CommonOptions.jobReport, CommonOptions.reportFile, CommonOptions.metricsFile,
      CommonOptions.quiet,
    ],
    examples: [
      .init(
        command: "sheaf import apps.csv --into apps.sheaf",
        meaning: "Import a file into the table \"apps\", 1000 objects a transaction."),
      .init(
        command: "sheaf import 'logs/*.csv.gz' --into log.sheaf --table log --resume",
        meaning: "Import the files that have not been imported yet, in the order of their names."),
      .init(
        command: "mysql -B -e 'select * from log' | sheaf import - --into log.sheaf --table log",
        meaning: "Import from a pipe."),
      .init(
        command: "sheaf import apps.csv --into apps.sheaf --key App --on-conflict update",
        meaning: "Change what differs from the last import; add what is new."),
      .init(
        command: "sheaf import 'day/*.csv' --into apps.sheaf --table apps --publish end",
        meaning: "Show readers all of the files at once, when they are complete."),
      .init(
        command: "sheaf import apps.csv --into apps.sheaf --resume",
        meaning: "Go on after an interruption: nothing is lost, nothing imported twice."),
      .init(
        command:
          "sheaf import 'logs/*.csv' --into postgresql://db/logs --create --resume",
        meaning:
          "Load files into a PostgreSQL server, each record once; on several machines at once."),
      .init(
        command: "sheaf import 'postgresql://db/logs?query=TABLE log' --into log.sheaf",
        meaning: "Bring the rows of a query home, with the names and types of its columns."),
      .init(
        command: "sheaf import u.csv --into u.sheaf --report line --report-file runs.jsonl",
        meaning: "A job of every night: a line for the log, and a JSON report for the monitor."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let (inputs, database) = (arguments.positionals, try arguments.required(into))
    let isServer = ServerAddress.isServer(database)
    // A name such as user=1/a.csv is that of a file.
    let isURL = { ServerAddress.isURL($0) || ServerAddress.isOfOther($0) }
    if arguments.isSet(abandon) { return try runAbandoning(arguments, output) }
    return try RunLog.keep(
      arguments, output, command: "import",
      files: inputs.filter { !ServerAddress.isURL($0) } + (isServer ? [] : [database])
        + [try arguments.value(rejects), try arguments.value(changes)].compactMap(\.self),
      subject: [
        .init(
          key: "inputs",
          value: .array(inputs.map { .string(isURL($0) ? ServerAddress.shown($0) : $0) })),
        .init(key: "database", value: .string(ServerAddress.withoutPassword(database))),
      ]
    ) { try run(arguments, output, $0) }
  }

  private static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let isQuiet = arguments.isSet(CommonOptions.quiet)
    var options = try options(arguments)
    let server = try server(arguments)
    let line = ProgressReporter(
      isQuiet ? .never : try arguments.required(progress),
      database: server == nil ? options.database : nil)
    options.progress = { line.update($0) }
    let notice = DatabaseFile.notice(
      "import", server.map { ServerAddress.shown($0.address) } ?? options.database, arguments)
    options.onWaiting = { what in
      line.erase()
      notice(what)
    }
    if options.dryRun {
      options.onReject = { reject in
        line.erase()
        StandardError.line("\(reject.position): \(reject.reason)")
      }
    }
    Interrupt.install()
    options.shouldStop = { Interrupt.signal != nil }
    var report = ImportReport()
    do {
      if let server {
        try Importer.load(options, into: server, report: &report)
      } else {
        try Importer.run(options, report: &report)
      }
      line.end()
    } catch {
      line.end()
      let printer = ImportReportPrinter(report: report, options: options)
      if !report.inputs.isEmpty { log.report = { printer.jsonOfFailure } }
      if case ImportError.interrupted = error, let status = Interrupt.status {
        throw CommandError(status, "\(error)")
      }
      throw server == nil ? printer.failure(error) : CommandError(writing: error)
    }
    let printer = ImportReportPrinter(report: report, options: options)
    log.report = { printer.json }
    if !report.isDryRun {
      log.done =
        report.isInterrupted
        ? "the import was " + printer.interruption
        : "everything is committed: do not run the import again"
    }
    if !isQuiet {
      switch try arguments.required(CommonOptions.jobReport) {
      case .text: try output.write(printer.text)
      case .line: try output.write(printer.line)
      case .json: try output.write(printer.json.line)
      }
    }
    if report.isInterrupted {
      log.problem = printer.interruption
      return Interrupt.status ?? .interrupted
    }
    guard report.isDryRun, printer.exceedsRejects else { return .done }
    log.problem = "more records would be rejected than --max-rejects allows"
    return .dataRefused
  }
}

/// The progress line, fed from the writer's thread.
private final class ProgressReporter: @unchecked Sendable {
  // @unchecked: the line is guarded by `lock`.
  private let lock = Lock()
  private var line: ProgressLine
  /// The database file, whose size the line shows; nil for a server.
  private let database: String?

  init(_ mode: ProgressMode, database: String?) {
    line = ProgressLine(mode: mode)
    self.database = database
  }

  func update(_ progress: ImportProgress) {
    lock.withLock {
      line.update(
        Progress(
          bytesRead: progress.bytesRead, bytesTotal: progress.bytesTotal, rows: progress.records,
          rejects: progress.rejected),
        fileBytes: { [database] in
          database.flatMap { (try? System.status(path: $0))?.size }
        })
    }
  }

  func erase() { lock.withLock { line.erase() } }
  func end() { lock.withLock { line.end() } }
}
