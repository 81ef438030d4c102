/// `sheaf info`: what is in a file, how large it is, and why.
enum InfoCommand {
  static let definition = CommandDefinition(
    name: "info",
    summary: "Tell what is in a database file, how large it is, and why",
    usage: "FILE [--report json]",
    positionals: [CommonOptions.database],
    options: [CommonOptions.report],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    throw CommandError(.bug, "not wired")
  }
}
