/// `sheaf help`: the help of the program or of one command.
enum HelpCommand {
  static let man = Flag("man", help: "Print the manual page of all commands, for man")

  static let definition = CommandDefinition(
    name: "help",
    summary: "Print this help, or a command's",
    usage: "[COMMAND | --man]",
    positionals: [
      .init(
        name: "COMMAND", help: "The command to tell about", isRequired: false,
        completion: .commands)
    ],
    options: [man],
    examples: [
      .init(command: "sheaf help import", meaning: "All options of an import."),
      .init(
        command: "sheaf help --man | man -l -",
        meaning: "The manual: all commands, exit statuses, environment and files."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    if arguments.isSet(man) {
      guard arguments.positionals.isEmpty else {
        throw CommandError.usage("--man is about all commands; leave the command out")
      }
      try output.write(ManPage(commands: CommandTable.all).text)
      return .done
    }
    let help = HelpText(commands: CommandTable.all, styled: TerminalPolicy.standardOutput.isRich)
    guard let name = arguments.positionals.first else {
      try output.write(help.overview)
      return .done
    }
    try output.write(help.page(of: try CommandTable.command(named: name)))
    return .done
  }
}
