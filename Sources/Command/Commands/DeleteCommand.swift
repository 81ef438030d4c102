import Base
import Engine
import Importer

/// `sheaf delete`: deletes the objects that match, in one transaction.
enum DeleteCommand {
  static let maxDeletes = Option<Tolerance>(
    "max-deletes", ValueKind.tolerance, default: "unlimited",
    help:
      "More than this, or more than this share of the table, deletes nothing and ends with status 65"
  )
  static let dryRun = Flag("dry-run", help: "Say how many would be deleted, and delete none")

  static let definition = CommandDefinition(
    name: "delete",
    summary: "Delete the objects of a table that match",
    usage: "FILE 'EXPRESSION' [OPTIONS]",
    positionals: [
      CommonOptions.database,
      .init(name: "EXPRESSION", help: "Which objects; see sheaf help query"),
    ],
    options: [CommonOptions.table, dryRun, maxDeletes] + CommonOptions.change + [
      CommonOptions.metricsFile
    ],
    examples: [
      .init(
        command: "sheaf delete log.sheaf 'day < 2026-08-26'",
        meaning:
          "Keep ninety days. Readers see all of it or none; the version before is kept as imports keep it, "
          + "so that sheaf undo takes it back."),
      .init(
        command: "sheaf delete log.sheaf 'level == \"debug\"' --dry-run",
        meaning: "How many that would be."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(arguments, output, command: "delete", database: arguments.positionals[0]) {
      try run(arguments.positionals[0], arguments, output, $0)
    }
  }

  /// The deletions made, or, in a dry run, to be made.
  private struct Outcome {
    let table: String
    let before: Int
    let deleted: Int
    /// The version without the objects; nil when nothing was committed.
    let version: UInt64?
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let expression = arguments.positionals[1]
    // An empty variable in a script must not make the command delete all objects.
    guard expression.contains(where: { !$0.isWhitespace }) else {
      throw CommandError.usage("an expression is needed, such as 'day < 2026-08-26'")
    }
    let filter = try Predicate(expression)
    let outcome =
      try arguments.isSet(dryRun)
      ? count(path, filter, arguments) : delete(path, expression, filter, arguments)
    let json: JSONValue = [
      "command": "delete", "database": .string(path), "table": .string(outcome.table),
      "expression": .string(expression), "deleted": .int(outcome.deleted),
      "objectsBefore": .int(outcome.before), "objects": .int(outcome.before - outcome.deleted),
      "version": .optional(outcome.version) { .int(Int(clamping: $0)) },
      "dryRun": .bool(arguments.isSet(dryRun)),
    ]
    log.report = { json }
    if outcome.version != nil { log.done = "the objects are deleted" }
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(json.line)
      return .done
    }
    let objects = HumanFormat.count(outcome.deleted, "object", "objects")
    let left = HumanFormat.count(outcome.before - outcome.deleted)
    try output.write(
      StandardError.escaped(
        arguments.isSet(dryRun)
          ? "dry run: \(objects) of \(HumanFormat.count(outcome.before)) would be deleted from table "
            + "\"\(outcome.table)\" of \(path)"
          : "deleted \(objects) from table \"\(outcome.table)\" of \(path), which has \(left) now")
        + "\n")
    return .done
  }

  private static func count(
    _ path: String, _ filter: Predicate, _ arguments: ParsedArguments
  ) throws -> Outcome {
    try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("delete", path, arguments)
    ) { database in
      let snapshot = try database.snapshot()
      let table = try snapshot.table(CommonOptions.tableName(arguments, snapshot))
      var query = Query()
      query.filter = filter
      let count = try query.count(in: table)
      try check(count, of: table.count, table.name, arguments)
      return Outcome(table: table.name, before: table.count, deleted: count, version: nil)
    }
  }

  private static func delete(
    _ path: String, _ expression: String, _ filter: Predicate, _ arguments: ParsedArguments
  ) throws -> Outcome {
    try DatabaseFile.change("delete", path, arguments) { database in
      let name = try CommonOptions.tableName(arguments, database.snapshot())
      return try TableChange.run(database, "sheaf delete \(expression)") { transaction in
        let table = try transaction.table(name)
        let before = try table.count
        let most = try limit(of: before, arguments)
        let deleted = try table.deleteAll(where: filter, most: most) { Interrupt.signal != nil }
        try check(deleted, of: before, name, arguments)
        return Outcome(
          table: name, before: before, deleted: deleted,
          version: deleted == 0 ? nil : transaction.baseVersion + 1)
      } changes: {
        $0.deleted > 0
      }
    }
  }

  private static func limit(of total: Int, _ arguments: ParsedArguments) throws -> Int? {
    switch try arguments.required(maxDeletes) {
    case .unlimited: nil
    case .count(let count): count
    case .percent(let percent): ImportOptions.Portion.share(percent.value / 100).atMost(of: total)
    }
  }

  private static func check(
    _ count: Int, of total: Int, _ table: String, _ arguments: ParsedArguments
  ) throws {
    guard let most = try limit(of: total, arguments), count > most else { return }
    throw CommandError(
      .dataRefused,
      "\(count) of the \(total) objects of table '\(table)' match, and \(most) may be deleted: nothing was "
        + "changed; check the expression, or allow it with --max-deletes \(count)")
  }
}
