import Base
import Engine

/// `sheaf info`: the content and the size of a file, and what takes its space.
enum InfoCommand {
  static let noEstimate = Flag(
    "no-estimate",
    help: "Do not measure what a compaction would give, which takes up to a second or so")

  static let definition = CommandDefinition(
    name: "info",
    summary: "Tell what is in a database file, how large it is, and why",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [noEstimate, CommonOptions.at, CommonOptions.wait, CommonOptions.report],
    examples: [
      .init(
        command: "sheaf info apps.sheaf",
        meaning: "Which column takes how many bytes and how it is stored, what is free, who holds "
          + "older versions, and what a compaction would give."),
      .init(
        command: "sheaf info apps.sheaf --report json",
        meaning: "The same for programs; sizes are in bytes, shares from 0 to 1."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    return try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("info", path, arguments)
    ) { database in
      let isNewest = !arguments.isGiven(CommonOptions.at)
      let info = try DatabaseInfo(
        database, isNewest ? nil : CommonOptions.snapshot(arguments, database), path: path,
        estimates: isNewest && !arguments.isSet(noEstimate))
      if try arguments.required(CommonOptions.report) == .json {
        try output.write(info.json.line)
      } else {
        let policy = TerminalPolicy.standardOutput
        let printer = InfoPrinter(
          info: info, width: System.terminalColumns(1) ?? 100,
          isUnicode: TextBar.allowsUnicode(System.environment) && policy.allowsBlocks,
          isRich: policy.isRich)
        try output.write(printer.text)
      }
      if let note = database.recoveryNote {
        StandardError.line("sheaf info: \(path): opened in spite of damage: \(note)")
      }
      return .done
    }
  }
}
