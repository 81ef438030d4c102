/// The completion script for fish.
struct FishCompletion {
  let commands: [CommandDefinition]

  var text: String {
    var lines = [
      "# Completion of sheaf for fish, made by \"sheaf completions fish\".",
      "# sheaf completions fish > ~/.config/fish/completions/sheaf.fish",
      "",
      "complete -c sheaf -f",
      "complete -c sheaf -n __fish_use_subcommand -s h -l help -d 'Print the help'",
      "complete -c sheaf -n __fish_use_subcommand -s V -l version -d 'Print the version'",
    ]
    for command in commands {
      lines.append(
        "complete -c sheaf -n __fish_use_subcommand -a \(command.name) "
          + "-d \(Self.quoted(command.summary))")
    }
    for command in commands { lines += ["", "# sheaf \(command.name)"] + self.lines(command) }
    return lines.joined(separator: "\n") + "\n"
  }

  private func lines(_ command: CommandDefinition) -> [String] {
    let prefix = "complete -c sheaf -n '__fish_seen_subcommand_from \(command.name)'"
    var lines = ["\(prefix) -s h -l help -d 'Print the help of the command'"]
    if let first = command.positionals.first {
      switch first.completion {
      case .files: lines.append("\(prefix) -F")
      case .commands, .words:
        lines.append("\(prefix) -a \(Self.quoted(words(first.completion)))")
      case .none: break
      }
    }
    for option in command.options {
      let description = "-d \(Self.quoted(option.help))"
      var line = "\(prefix) -l \(option.name)"
      if option.takesNextWord {
        switch option.completion {
        case .files: line += " -r -F"
        case .none: line += " -x"
        case .commands, .words: line += " -x -a \(Self.quoted(words(option.completion)))"
        }
      }
      lines.append("\(line) \(description)")
    }
    return lines
  }

  private func words(_ completion: Completion) -> String {
    let words = completion == .commands ? commands.map(\.name) : completion.words
    return words.joined(separator: " ")
  }

  private static func quoted(_ text: String) -> String {
    var result = "'"
    for character in text {
      if character == "'" || character == "\\" { result += "\\" }
      result.append(character)
    }
    return result + "'"
  }
}
