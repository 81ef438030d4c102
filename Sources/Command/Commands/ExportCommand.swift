/// `sheaf export`: a table as CSV or JSON Lines.
enum ExportCommand {
  enum Format: String, Sendable, CaseIterable { case csv, jsonl }

  static let format = Option<Format>("format", .choice, default: "csv", help: "What to write")
  static let columns = Option<[String]>(
    "columns", .nameList, defaultNote: "all",
    help: "The columns to write, in this order")
  static let limit = Option<Int>("limit", .count, help: "Write at most N objects")
  static let output = Option<String>(
    "output", .path, defaultNote: "standard output", help: "Where to write")
  static let noHeader = Flag("no-header", help: "Leave out the names of the columns (CSV)")

  static let definition = CommandDefinition(
    name: "export",
    summary: "Write a table as CSV or JSON Lines",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.table, format, columns, limit, output, noHeader],
    examples: [
      .init(
        command: "sheaf export apps.sheaf --columns App,Rating --limit 10",
        meaning: "Two columns of the first ten objects, as CSV."),
      .init(
        command: "sheaf export apps.sheaf --format jsonl --output apps.jsonl",
        meaning: "One JSON object a line; numbers stay numbers, null is null."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    throw CommandError(.bug, "not wired")
  }
}
