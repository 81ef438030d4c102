import Importer

/// The completion script for zsh, on its own completion system.
struct ZshCompletion {
  let commands: [CommandDefinition]

  var text: String {
    let names = commands.map { "    \(Self.quoted("\($0.name):\($0.summary)"))\n" }.joined()
    return """
      #compdef sheaf
      # Completion of sheaf for zsh, made by "sheaf completions zsh".
      # Into a folder of $fpath, as _sheaf; or in ~/.zshrc, behind compinit:
      #   source <(sheaf completions zsh)

      _sheaf_commands() {
        local -a commands
        commands=(
      \(names)  )
        _describe -t commands 'command' commands
      }

      _sheaf() {
        local curcontext="$curcontext" state line
        local -A opt_args
        _arguments -C \\
          '(- *)'{-h,--help}'[Print the help]' \\
          '(- *)'{-V,--version}'[Print the version]' \\
          '1: :_sheaf_commands' \\
          '*:: :->arguments'
        [[ $state == arguments ]] || return
        case $words[1] in
      \(commands.map(entry).joined())  esac
      }

      if [[ $funcstack[1] == _sheaf ]]; then
        _sheaf "$@"
      else
        compdef _sheaf sheaf
      fi

      """
  }

  private func entry(_ command: CommandDefinition) -> String {
    var specifications = ["'(- *)'{-h,--help}'[Print the help of the command]'"]
    for option in command.options {
      let repeats = option.isRepeatable ? "*" : ""
      let help = Self.escaped(option.help, "[]:")
      if option.takesNextWord, let placeholder = option.placeholder {
        let message = Self.escaped(placeholder, ":")
        specifications.append(
          Self.quoted(
            "\(repeats)--\(option.name)=[\(help)]:\(message):\(action(option.completion))"))
      } else {
        specifications.append(Self.quoted("--\(option.name)[\(help)]"))
      }
    }
    for (index, positional) in command.positionals.enumerated() {
      let place = positional.isRepeatable ? "*" : "\(index + 1)"
      let message = Self.escaped(positional.name, ":")
      specifications.append(Self.quoted("\(place):\(message):\(action(positional.completion))"))
    }
    return "    \(command.name))\n      _arguments -s \\\n        "
      + specifications.joined(separator: " \\\n        ") + "\n      ;;\n"
  }

  private func action(_ completion: Completion) -> String {
    switch completion {
    case .none: " "
    case .files: "_files"
    case .commands: "_sheaf_commands"
    case .words(let words): "(\(words.joined(separator: " ")))"
    }
  }

  private static func escaped(_ text: String, _ special: String) -> String {
    text.reduce(into: "") { result, character in
      if character == "\\" || special.contains(character) { result += "\\" }
      result.append(character)
    }
  }

  private static func quoted(_ text: String) -> String {
    ShellWord.inQuotes(text)
  }
}
