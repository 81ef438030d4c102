import Base
import Engine
import Importer

/// `sheaf alter`: changes the types, names, defaults and indexes of columns, or drops columns.
enum AlterCommand {
  static let rename = Option<[RenamedColumn]>(
    "rename", .renames, repeatable: true,
    help:
      "Other names for columns, given all at once: a:b,b:a changes places; \\: is a colon in a name, and a "
      + "pair with a comma stands in double quotes. "
      + "All "
      + "other options take the new names")
  static let type = Option<TypesChoice>(
    "type", ValueKind.types.shown(as: "NAME:TYPE,..."), repeatable: true,
    help:
      "Types for columns (int, double, decimal, bool, date, datetime, time, uuid, text). Values keep their "
      + "spellings: every one has to be a value of the type, those that are not are listed, and nothing is "
      + "changed then")
  static let defaultValue = Option<ColumnValue>(
    "default", .columnValue, repeatable: true,
    help:
      "What new objects get in a column that an input does not have; an empty value takes the default away. "
      + "A name with = in it is found, the shortest one first"
  )
  static let drop = Option<[String]>(
    "drop", .nameList,
    help: "Columns that go, with their values; not the primary key, nor the last one")
  static let key = Option<[String]>(
    "key", .nameList,
    help:
      "The column that becomes the primary key, or the columns that become it together, when no two objects "
      + "have the same values there and none is empty")
  static let noKey = Flag("no-key", help: "Give the primary key up; its columns stay")
  static let index = Option<[String]>(
    "index", .nameList,
    help: "Columns that get an index, by which queries find values without reading the table")
  static let noIndex = Option<[String]>(
    "no-index", .nameList, help: "Columns whose index is dropped")
  static let dryRun = Flag("dry-run", help: "Find out whether it can be done, and change nothing")

  static let definition = CommandDefinition(
    name: "alter",
    summary: "Change the columns of a table: types, names, defaults, the key, indexes",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [
      CommonOptions.table, rename, type, ImportCommand.dateFormat, ImportCommand.decimal,
      ImportCommand.thousands, defaultValue, drop, key, noKey, index, noIndex, dryRun,
      CommonOptions.wait, CommonOptions.report, CommonOptions.reportFile, CommonOptions.metricsFile,
    ],
    examples: [
      .init(
        command: "sheaf alter shop.sheaf --type price:decimal,day:date",
        meaning:
          "Decide types after the import. Values are stored as they are spelled, so only the table's "
          + "schema is "
          + "written; what is no decimal or date is listed with its key, and then nothing has changed."
      ),
      .init(
        command: "sheaf alter shop.sheaf --rename Preis:price --drop remark --key sku",
        meaning: "All of it is one transaction, which sheaf undo takes back when versions are kept."
      ),
    ],
    run: run)

  /// At most this number of values that do not fit are listed.
  private static let mostMisfits = 1000

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(arguments, output, command: "alter", database: arguments.positionals[0]) {
      try run(arguments.positionals[0], arguments, output, $0)
    }
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let wish = try Wish(arguments)
    let isDry = arguments.isSet(dryRun)
    func alter(_ database: Database) throws -> AlterRun.Outcome {
      let name = try CommonOptions.tableName(arguments, database.snapshot())
      return try TableChange.run(database, "sheaf alter \(name): \(wish.words)") { transaction in
        try AlterRun(wish, mostMisfits: mostMisfits).run(
          transaction.table(name), version: transaction.baseVersion + 1)
      } changes: {
        !isDry && $0.misfits.isEmpty && !$0.changes.isEmpty
      }
    }
    let outcome =
      try isDry
      ? DatabaseFile.rehearse("alter", path, arguments, alter)
      : DatabaseFile.change("alter", path, arguments, alter)
    let json = json(outcome, path, isDry: isDry)
    log.report = { json }
    let isDone = outcome.misfits.isEmpty
    if isDone, !isDry, !outcome.changes.isEmpty { log.done = "the table is changed" }
    if !isDone {
      log.problem =
        "\(outcome.misfitCount) value\(outcome.misfitCount == 1 ? " does" : "s do") not fit; nothing was "
        + "changed"
    }
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(json.line)
    } else {
      try print(outcome, path, isDry: isDry, output)
    }
    return isDone ? .done : .dataRefused
  }

  // MARK: Reports

  private static func json(_ outcome: AlterRun.Outcome, _ path: String, isDry: Bool) -> JSONValue {
    let isChanged = outcome.misfits.isEmpty && !isDry && !outcome.changes.isEmpty
    return [
      "command": "alter", "database": .string(path), "table": .string(outcome.table),
      "changes": .array(outcome.changes.map { .string($0) }),
      "misfitCount": .int(outcome.misfitCount),
      "misfits": .array(
        outcome.misfits.map {
          [
            "column": .string($0.column), "type": .string($0.type), "key": .string($0.key),
            "row": .int($0.row), "value": .string($0.value),
          ]
        }),
      "version": isChanged ? .int(Int(clamping: outcome.version)) : .null, "dryRun": .bool(isDry),
    ]
  }

  private static func print(
    _ outcome: AlterRun.Outcome, _ path: String, isDry: Bool, _ output: BufferedOutput
  ) throws {
    let table = StandardError.escaped("table \"\(outcome.table)\" of \(path)")
    if outcome.misfits.isEmpty {
      let what =
        outcome.changes.isEmpty ? "nothing to change" : outcome.changes.joined(separator: "; ")
      try output.write(
        StandardError.escaped("\(isDry ? "dry run, nothing was written: " : "")\(what)")
          + " in \(table)\n")
      return
    }
    let text = TextTable(
      ["column", "key", "row", "value"].map { Column($0, .text) }, output,
      terminalWidth: System.terminalColumns(1), isRich: TerminalPolicy.standardOutput.isRich)
    for misfit in outcome.misfits {
      try text.add(
        [misfit.column, misfit.key, "\(misfit.row)", misfit.value].map { StandardError.escaped($0) }
      )
    }
    try text.end()
    let shown =
      outcome.misfits.count < outcome.misfitCount
      ? ", of which these are the first \(HumanFormat.count(outcome.misfits.count))" : ""
    try output.write(
      "\n\(HumanFormat.count(outcome.misfitCount, "value does", "values do")) not fit\(shown); nothing was "
        + "changed in \(table)\n")
  }
}
