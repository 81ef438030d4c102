import Engine

/// How a command reports on standard output.
enum ReportFormat: String, Sendable, CaseIterable {
  case text, json
}

/// How commands for scheduled jobs report on standard output.
enum JobReport: String, Sendable, CaseIterable {
  case text, line, json
}

/// Options that several commands share, so that they are written the same everywhere.
enum CommonOptions {
  static let report = Option<ReportFormat>(
    "report", .choice, default: "text", help: "How to report on standard output")
  static let quiet = Flag("quiet", help: "Print nothing but errors")
  static let wait = Option<Int>(
    "wait", ValueKind.count.shown(as: "SECONDS"), default: "60",
    help:
      "How long to wait while another import or compaction, or a process that is stopped, has the database "
      + "file; after that the command ends with status 75")
  static let table = Option<String>(
    "table", .name, defaultNote: "the only table",
    help: "The table; needed when the file has several")

  static let at = Option<String>(
    "at", .text.shown(as: "VERSION"), defaultNote: "the newest version",
    help:
      "The version: its number, its tag, or a moment in UTC, such as 2026-11-21T03:00:00Z, at which it was "
      + "the newest; sheaf versions lists those that are kept")

  static let database = CommandDefinition.Positional(
    name: "FILE", help: "The database file", completion: .files)

  /// The version that the arguments name, or the newest.
  static func snapshot(_ arguments: ParsedArguments, _ database: Database) throws -> Snapshot {
    guard let name = try arguments.value(at) else { return try database.snapshot() }
    return try database.snapshot(at: VersionName(name))
  }

  // MARK: Jobs

  static let jobReport = Option<JobReport>(
    "report", .choice, default: "text",
    help: "How to report on standard output; line: one line that begins with the time, for logs")
  static let reportFile = Option<String>(
    "report-file", .path,
    help: "Append the JSON report to this file, one line a run, also when the command fails: with "
      + "its time, exitStatus and error")

  static let metricsFile = Option<String>(
    "metrics-file", .path,
    help:
      "Write what a monitor needs of the run to this file, FILE.prom, as node_exporter's textfile collector "
      + "reads it, also when the command fails: when it ran, when it last succeeded, its exit status and "
      + "counts; "
      + "it is renamed into place")

  /// The options of all commands that change a database.
  static let change: [any OptionEntry] = [wait, report, reportFile]
  /// The options of all commands that scheduled jobs run.
  static let job: [any OptionEntry] = [wait, jobReport, reportFile, metricsFile, quiet]

  /// The table that the arguments name, or the only one.
  static func tableName(_ arguments: ParsedArguments, _ snapshot: Snapshot) throws -> String {
    if let name = try arguments.value(table) { return name }
    guard let only = snapshot.tableNames.first, snapshot.tableNames.count == 1 else {
      throw CommandError.usage(
        snapshot.tableNames.isEmpty
          ? "the file has no table"
          : "the file has several tables, name one with --table: "
            + snapshot.tableNames.joined(separator: ", "))
    }
    return only
  }
}
