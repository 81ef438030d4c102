import Base
import Engine
import Importer

/// `sheaf export`: a table as CSV or JSON Lines.
enum ExportCommand {
  static let format = Option<TableExporter.Format>(
    "format", .choice, default: "csv", help: "What to write")
  static let columns = Option<[String]>(
    "columns", .nameList, defaultNote: "all",
    help: "The columns to write, in this order")
  static let filter = Option<String>(
    "where", .text.shown(as: "EXPRESSION"),
    help: "Write only the objects that match, see sheaf help query")
  static let limit = Option<Int>("limit", .count, help: "Write at most N objects")
  static let output = Option<String>(
    "output", .path, defaultNote: "standard output",
    help:
      "Where to write; a file takes its place when it is complete, an earlier one stays until then")
  static let force = Flag(
    "force", help: "Let --output replace a Sheaf database that nobody has open")
  static let noHeader = Flag("no-header", help: "Leave out the names of the columns (CSV)")
  static let values = Flag(
    "values",
    help:
      "Write numbers, dates and bools in one way, such as 1234.5, 2018-08-03 and true, however they were "
      + "spelled (CSV; JSON Lines always has them so)")
  static let salvage = Flag(
    "salvage",
    help:
      "Write what can still be read of a damaged file, tell by ranges of keys what is left out, and "
      + "end with status 65 if anything is. An object is left out when its block is damaged, or one of "
      + "the columns asked for: choose others with --columns to get the rest of it")

  static let definition = CommandDefinition(
    name: "export",
    summary: "Write a table as CSV or JSON Lines, or load it into a PostgreSQL server",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [
      CommonOptions.table, format, columns, filter, limit, output, force, noHeader, values,
      salvage, CommonOptions.at,
      CommonOptions.wait,
    ] + serverOptions,
    examples: [
      .init(
        command: "sheaf export apps.sheaf --columns App,Rating --limit 10",
        meaning: "Two columns of the first ten objects, as CSV."),
      .init(
        command: "sheaf export apps.sheaf --format jsonl --output apps.jsonl",
        meaning: "One JSON object a line; numbers stay numbers, null is null, and so is NaN."),
      .init(
        command: "sheaf export apps.sheaf --where 'Rating >= 4.5' --output good.csv",
        meaning: "The objects that match, as CSV."),
      .init(
        command: "sheaf export apps.sheaf --into postgresql://db/apps --create --resume",
        meaning: "Load the table into a PostgreSQL server, each object once."),
      .init(
        command: "sheaf export damaged.sheaf --salvage --output saved.csv",
        meaning: "Every object whose block is sound; what is left out is told."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    if try isIntoServer(arguments) { return try runIntoServer(arguments, output) }
    let destination = try arguments.value(Self.output).flatMap { $0 == "-" ? nil : $0 }
    if let destination, System.areTheSame(destination, path) {
      throw CommandError.usage("--output is the database itself; choose another file")
    }
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("export", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line("sheaf export: \(path): opened in spite of damage: \(note)")
      }
      let snapshot = try CommonOptions.snapshot(arguments, database)
      let exporter = try exporter(arguments)
      if arguments.isSet(salvage) {
        let salvage = Salvage(
          path: path, table: try CommonOptions.tableName(arguments, snapshot),
          isOlder: database.recoveryNote != nil)
        guard let destination else {
          return try salvage.run(snapshot, exporter) { try output.write($0) }
        }
        let file = try BufferedOutput.file(destination)
        let status = try salvage.run(snapshot, exporter) { try file.write($0) }
        try file.close()
        return status
      }
      let table = try snapshot.table(try CommonOptions.tableName(arguments, snapshot))
      // Checked before the output file is emptied.
      try exporter.check(table)
      guard let destination else {
        try exporter.run(table) { try output.write($0) }
        return .done
      }
      let file = try BufferedOutput.file(
        destination, replacesDatabases: arguments.isSet(force))
      try exporter.run(table) { try file.write($0) }
      try file.close()
      return .done
    }
  }

  static func exporter(_ arguments: ParsedArguments) throws -> TableExporter {
    var exporter = TableExporter()
    exporter.format = try arguments.required(format)
    exporter.columns = try arguments.value(columns)
    exporter.query.filter = try arguments.value(filter).map { try Predicate($0) }
    exporter.limit = try arguments.value(limit)
    exporter.hasHeader = !arguments.isSet(noHeader)
    exporter.writesValues = arguments.isSet(values)
    return exporter
  }
}
