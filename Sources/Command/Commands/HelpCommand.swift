/// `sheaf help`: the help of the program or of one command.
enum HelpCommand {
  static let definition = CommandDefinition(
    name: "help",
    summary: "Print this help, or a command's",
    usage: "[COMMAND]",
    positionals: [
      .init(name: "COMMAND", help: "The command to tell about", isRequired: false)
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let help = HelpText(commands: CommandTable.all, styled: TerminalPolicy.standardOutput.isRich)
    guard let name = arguments.positionals.first else {
      try output.write(help.overview)
      return .done
    }
    try output.write(help.page(of: try CommandTable.command(named: name)))
    return .done
  }
}
