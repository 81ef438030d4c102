/// `sheaf check`: verifies a whole file.
enum CheckCommand {
  static let definition = CommandDefinition(
    name: "check",
    summary: "Verify every block, reference and invariant of a database file",
    usage: "FILE [--report json]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.report],
    examples: [
      .init(
        command: "sheaf check apps.sheaf",
        meaning: "Ends with status 0 when the file is sound, or 65 with every problem found.")
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    throw CommandError(.bug, "not wired")
  }
}
