import Base
import Engine
import Importer

/// `sheaf undo`: makes a kept version the newest again.
enum UndoCommand {
  static let target = Option<String>(
    "to", .text.shown(as: "VERSION"), defaultNote: "the newest that differs",
    help: "Go back to this version: a number, a tag, or a moment, as sheaf versions lists them")
  static let table = Option<String>(
    "table", .name, defaultNote: "the one that has changed",
    help: "The table that goes back; all others stay as they are")
  static let all = Flag("all", help: "All tables go back, also when several have changed")

  static let definition = CommandDefinition(
    name: "undo",
    summary: "Make a kept version of a database file the newest again",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [target, table, all] + CommonOptions.change,
    examples: [
      .init(
        command: "sheaf undo apps.sheaf",
        meaning:
          "Take the last import back, whatever it did; the mended file imports again. Run it "
          + "again to undo that."),
      .init(
        command: "sheaf undo apps.sheaf --to 2026-11-21",
        meaning: "Go back to the version that was the newest at the beginning of that day (UTC)."),
      .init(
        command: "sheaf undo shop.sheaf --to before-the-move --table orders",
        meaning: "Only one table goes back."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(arguments, output, command: "undo", database: arguments.positionals[0]) {
      try run(arguments.positionals[0], arguments, output, $0)
    }
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let name = try arguments.value(target)
    let tableName = try arguments.value(table)
    if tableName != nil, arguments.isSet(all) {
      throw CommandError.usage("--table and --all exclude each other")
    }
    let scope: RestoreScope =
      arguments.isSet(all) ? .all : tableName.map { .table($0) } ?? .onlyChanged
    let result = try DatabaseFile.change("undo", path, arguments) { database in
      do {
        let isHalf = try ImportRuns.halves(database, table: tableName)
        let runs = try ImportRuns.effective(database.snapshot(), table: tableName)
        return try database.restore(
          name.map { VersionName($0) }, scope,
          passingOver: { version in
            if try isHalf(version) { return true }
            try refuseSeveral(runs, since: database.snapshot(at: .number(version)), path)
            return false
          },
          describedAs: "sheaf undo\(name.map { " --to \($0)" } ?? "")")
      } catch EngineError.otherChanges(_, let since, let changes) {
        throw CommandError(
          .dataRefused,
          "\(path): more would be lost than one table has since version \(since): "
            + "\(changes.joined(separator: "; ")); nothing was undone: name the table that goes back with "
            + "--table, or say --all")
      } catch EngineError.unchanged where name != nil {
        throw CommandError(
          .dataRefused,
          "\(path): there is nothing to undo: what '\(name ?? "")' names is the newest version, or has the "
            + "same tables; sheaf versions lists those that are kept")
      } catch EngineError.unchanged {
        throw CommandError(
          .dataRefused,
          "\(path): there is nothing to undo: no kept version differs from the newest; sheaf versions lists "
            + "those that are kept, sheaf keep has imports keep them")
      }
    }
    log.report = { json(result, path) }
    log.done = "the version is the newest"
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(json(result, path).line)
    } else {
      let tables = result.tables.map(\.description).joined(separator: "; ")
      try output.write(
        StandardError.escaped(
          "\(path): back at version \(result.restored), as version \(result.version)"
            + "\(tables.isEmpty ? "" : "; since then \(tables)")") + "\n"
          + StandardError.escaped(
            "  undo this with: sheaf undo \(ShellWord.quoted(path)) --to \(result.before)"
              + "\(arguments.isSet(all) ? " --all" : "")") + "\n")
    }
    return .done
  }

  /// Refuses a version before several imports into one table, which is the newest kept one where imports keep
  /// none: `undo` by itself takes back the last.
  private static func refuseSeveral(
    _ runs: [RunEntry], since kept: Snapshot, _ path: String
  ) throws {
    // A version that another `undo` has made is newer than its contents.
    let version = kept.version
    let then = Set(try ImportRuns.effective(kept).map(\.number))
    let since = Dictionary(grouping: runs.filter { !then.contains($0.number) }, by: \.table)
    guard let (table, undone) = since.filter({ $0.value.count > 1 }).min(by: { $0.key < $1.key })
    else { return }
    throw CommandError(
      .dataRefused,
      "\(path): more than the last import would be undone: the newest version that is kept and differs, "
        + "\(version), is older than \(undone.count) imports into table '\(table)' (sheaf log lists them); "
        + "nothing was undone: say --to \(version) to undo them all; sheaf keep has imports keep the version "
        + "before them")
  }

  private static func json(_ result: RestoreResult, _ path: String) -> JSONValue {
    [
      "command": "undo", "database": .string(path),
      "restored": .int(Int(clamping: result.restored)),
      "before": .int(Int(clamping: result.before)),
      "version": .int(Int(clamping: result.version)),
      "tables": .array(
        result.tables.map {
          [
            "name": .string($0.name), "restored": .optional($0.before) { .int($0) },
            "undone": .optional($0.after) { .int($0) },
          ]
        }),
    ]
  }
}
