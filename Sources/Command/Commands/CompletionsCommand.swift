/// `sheaf completions`: a script by which a shell completes the words after `sheaf`.
enum CompletionsCommand {
  enum Shell: String, Sendable, CaseIterable {
    case bash, zsh, fish
  }

  private static let shell = ValueKind<Shell>.choice

  static let definition = CommandDefinition(
    name: "completions",
    summary: "Print a script that completes commands, options and values in a shell",
    usage: "bash|zsh|fish",
    positionals: [
      .init(name: "SHELL", help: "bash, zsh or fish", completion: shell.completion)
    ],
    examples: [
      .init(
        command: "eval \"$(sheaf completions bash)\"",
        meaning: "In ~/.bashrc: complete in every bash."),
      .init(
        command: "sheaf completions zsh > ~/.zfunc/_sheaf",
        meaning: "For zsh, when ~/.zfunc is in its fpath before compinit runs."),
      .init(
        command: "sheaf completions fish > ~/.config/fish/completions/sheaf.fish",
        meaning: "For fish."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let name = arguments.positionals[0]
    guard let shell = shell.parse(name) else {
      throw CommandError.usage(
        "there are no completions for \"\(name)\"; expected \(Self.shell.allowed)"
          + Suggestion.phrase(for: name, among: Self.shell.completion.words))
    }
    let commands = CommandTable.all
    switch shell {
    case .bash: try output.write(BashCompletion(commands: commands).text)
    case .zsh: try output.write(ZshCompletion(commands: commands).text)
    case .fish: try output.write(FishCompletion(commands: commands).text)
    }
    return .done
  }
}
