/// `sheaf import`: CSV files into a database file.
enum ImportCommand {
  enum Durability: String, Sendable, CaseIterable { case full, group, none }
  enum Ragged: String, Sendable, CaseIterable { case reject, pad, extend }
  enum Compaction: String, Sendable, CaseIterable { case auto, always, never }

  // MARK: Database

  private static let databaseGroup = "Database"

  static let into = Option<String>(
    "into", .path, required: true, group: databaseGroup,
    help: "The database file; created where missing")
  static let table = Option<String>(
    "table", .name, defaultNote: "the CSV's file name without its extensions",
    group: databaseGroup, help: "The table to import into; created where missing")
  static let truncate = Flag(
    "truncate", group: databaseGroup,
    help: "Empty the table first, in the transaction of the first batch")
  static let batchSize = Option<CountOrAll>(
    "batch-size", .countOrAll, default: "1000", group: databaseGroup,
    help: "Objects in one transaction; \"all\" puts the whole input into one")
  static let durability = Option<Durability>(
    "durability", .choice, default: "group", group: databaseGroup,
    help: "full: every batch is on disk before the next begins; group: batches become durable "
      + "together, in order, and the command ends only when all are; none: nothing is flushed "
      + "until the end")
  static let resume = Flag(
    "resume", group: databaseGroup,
    help: "Go on after the last committed batch of this very input; nothing to do when it is "
      + "complete")

  // MARK: Input

  private static let inputGroup = "Input"

  static let delimiter = Option<UInt8>(
    "delimiter", .character, defaultNote: "found in the input", group: inputGroup,
    help: "Between fields; \\t is a tab")
  static let quote = Option<UInt8?>(
    "quote", .characterOrNone, defaultNote: "found in the input", group: inputGroup,
    help: "Around fields that hold delimiters, quotes or line ends")
  static let header = Option<HeaderChoice>(
    "header", .header, defaultNote: "found in the input", group: inputGroup,
    help: "Whether the first record holds the names of the columns; or the names")
  static let types = Option<TypesChoice>(
    "types", .types, default: "infer", group: inputGroup,
    help: "infer: the narrowest type that loses nothing, widened when a later value does not fit; "
      + "text: no types; or types by name, which are strict "
      + "(int, double, bool, date, datetime, text)")
  static let null = Option<String>(
    "null", .text, repeatable: true, group: inputGroup,
    help: "A further spelling of null; an empty field without quotes always is one")
  static let limit = Option<Int>(
    "limit", .count, group: inputGroup, help: "Read at most N records")

  // MARK: Records that do not fit

  private static let rejectsGroup = "Rejected records"

  static let ragged = Option<Ragged>(
    "ragged", .choice, default: "reject", group: rejectsGroup,
    help: "Records with too few or too many fields; pad fills short ones with nulls and rejects "
      + "long ones; extend also keeps surplus fields, in added columns extra1, extra2, ...")
  static let rejects = Option<String>(
    "rejects", .path, defaultNote: "CSV.rejects.csv beside the database", group: rejectsGroup,
    help: "Where rejected records go, byte for byte; the reasons go to FILE.reasons.jsonl beside "
      + "it; both are created only once there is a reject")
  static let maxRejects = Option<Tolerance>(
    "max-rejects", .tolerance, default: "0", group: rejectsGroup,
    help: "More than this ends the import")
  static let dryRun = Flag(
    "dry-run", group: rejectsGroup,
    help: "Read everything, report types and every reject, write nothing")

  // MARK: Compaction

  private static let compactionGroup = "Compaction"

  static let compact = Option<Compaction>(
    "compact", .choice, default: "auto", group: compactionGroup,
    help: "Compact after the import; auto asks the two options below")
  static let compactAbove = Option<Int>(
    "compact-above", .size, default: "70MB", group: compactionGroup,
    help: "Compact when the file is larger than this and too little of it is used")
  static let compactUsedBelow = Option<Percent>(
    "compact-used-below", .percent, default: "50%", group: compactionGroup,
    help: "Too little is used: less than this share of the file")

  // MARK: Threads

  private static let threadsGroup = "Threads"

  static let parsers = Option<Int>(
    "parsers", .positiveCount, defaultNote: "cores - 1, at least 1", group: threadsGroup,
    help: "Parser threads")
  static let queue = Option<Int>(
    "queue", .positiveCount, default: "8", group: threadsGroup,
    help: "Chunks that may wait between the parsers and the writer")

  // MARK: Reports

  static let progress = Option<ProgressMode>(
    "progress", .choice, default: "auto",
    help: "Progress on standard error; auto: when that is a terminal")

  static let definition = CommandDefinition(
    name: "import",
    summary: "Import one or more CSV files into a database file",
    usage: "CSV... --into FILE [OPTIONS]",
    positionals: [
      .init(name: "CSV", help: "A CSV file, or - for standard input", isRepeatable: true)
    ],
    options: [
      into, table, truncate, batchSize, durability, resume,
      delimiter, quote, header, types, null, limit,
      ragged, rejects, maxRejects, dryRun,
      compact, compactAbove, compactUsedBelow,
      parsers, queue,
      progress, CommonOptions.report, CommonOptions.quiet,
    ],
    examples: [
      .init(
        command: "sheaf import apps.csv --into apps.sheaf",
        meaning: "Import a file into the table \"apps\", 1000 objects a transaction."),
      .init(
        command: "zcat log.csv.gz | sheaf import - --into log.sheaf --table log",
        meaning: "Import from a pipe."),
      .init(
        command: "sheaf import apps.csv --into apps.sheaf --resume",
        meaning: "Go on after an interruption: nothing is lost, nothing imported twice."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    throw CommandError(.bug, "not wired")
  }
}
