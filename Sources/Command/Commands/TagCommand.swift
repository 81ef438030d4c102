import Base
import Engine

/// `sheaf tag`: names versions. A named version is kept.
enum TagCommand {
  static let drop = Flag(
    "drop",
    help: "Take the name away; a version that was kept for its names is let go with the last")

  static let definition = CommandDefinition(
    name: "tag",
    summary: "Give a version of a database file a name, and keep it",
    usage: "FILE NAME [OPTIONS]",
    positionals: [
      CommonOptions.database,
      .init(
        name: "NAME",
        help: "What the version is found by, 1 to 100 bytes; no number, and no date or time"),
    ],
    options: [CommonOptions.at, drop] + CommonOptions.change,
    examples: [
      .init(
        command: "sheaf tag apps.sheaf before-the-move",
        meaning: "Keep the newest version until the tag is dropped, whatever is imported."),
      .init(
        command: "sheaf tag apps.sheaf quarter --at 41",
        meaning: "Name a version that is kept already, so that it stays."),
      .init(
        command: "sheaf tag apps.sheaf before-the-move --drop",
        meaning: "Let it go."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(arguments, output, command: "tag", database: arguments.positionals[0]) {
      try run(arguments.positionals[0], arguments, output, $0)
    }
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let name = arguments.positionals[1]
    let isDropped = arguments.isSet(drop)
    if isDropped, arguments.isGiven(CommonOptions.at) {
      throw CommandError.usage("--at goes with a new tag; --drop finds the version by its tag")
    }
    let version = try arguments.value(CommonOptions.at).map { VersionName($0) }
    let number = try DatabaseFile.change("tag", path, arguments) { database in
      let found = try version.map { try database.snapshot(at: $0).version }
      return try database.write { transaction in
        if isDropped { return try transaction.dropTag(name) }
        return try transaction.tag(name, version: found)
      }
    }
    let json: JSONValue = [
      "command": "tag", "database": .string(path), "tag": .string(name),
      "version": .int(Int(clamping: number)), "dropped": .bool(isDropped),
    ]
    log.report = { json }
    log.done = "the tags are changed"
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(json.line)
    } else {
      try output.write(
        StandardError.escaped(
          "\(path): version \(number) \(isDropped ? "has no tag" : "has the tag") '\(name)'"
            + "\(isDropped ? " any more" : "")") + "\n")
    }
    return .done
  }
}
