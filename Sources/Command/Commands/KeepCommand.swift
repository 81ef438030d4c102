import Base
import Engine

/// `sheaf keep`: the number of versions before imports that are kept.
enum KeepCommand {
  static let versions = Option<Int>(
    "versions", ValueKind.count, required: true,
    help:
      "Have every import keep the version before it, and the newest N of these stay; 0: none are "
      + "kept any more, and those that were are let go. Versions with a tag stay and do not count")

  static let definition = CommandDefinition(
    name: "keep",
    summary: "Say how many versions of a database file are kept",
    usage: "FILE --versions N [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [versions] + CommonOptions.change,
    examples: [
      .init(
        command: "sheaf keep apps.sheaf --versions 14",
        meaning:
          "From now on the fourteen nights before stay readable, and can be gone back to. Each "
          + "costs what has changed since."),
      .init(
        command: "sheaf keep apps.sheaf --versions 0",
        meaning: "Keep none, and give the room of those that were kept to the next imports."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(arguments, output, command: "keep", database: arguments.positionals[0]) {
      try run(arguments.positionals[0], arguments, output, $0)
    }
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let limit = try arguments.required(versions)
    let kept = try DatabaseFile.change("keep", path, arguments) { database in
      let before = try database.keptVersions().map(\.number)
      try database.write { try $0.keepVersions(limit) }
      let after = try database.keptVersions().map(\.number)
      return (stay: after, gone: before.filter { !after.contains($0) })
    }
    let json: JSONValue = [
      "command": "keep", "database": .string(path), "versions": .int(limit),
      "kept": .array(kept.stay.map { .int(Int(clamping: $0)) }),
      "letGo": .array(kept.gone.map { .int(Int(clamping: $0)) }),
    ]
    log.report = { json }
    log.done = "how many versions are kept is set"
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(json.line)
    } else {
      let what =
        limit == 0
        ? "imports keep no version"
        : "imports keep \(HumanFormat.count(limit, "version", "versions"))"
      let gone =
        kept.gone.isEmpty
        ? "" : "; let go: \(kept.gone.map { "\($0)" }.joined(separator: ", "))"
      try output.write("\(StandardError.escaped(path)): \(what)\(gone)\n")
    }
    return .done
  }
}
