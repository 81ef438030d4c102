/// The completion script for bash, 3.2 and later.
struct BashCompletion {
  let commands: [CommandDefinition]

  var text: String {
    let names = (commands.map(\.name) + ["--help", "--version"]).joined(separator: " ")
    return """
      # Completion of sheaf for bash, made by "sheaf completions bash".
      # In ~/.bashrc: eval "$(sheaf completions bash)"

      _sheaf_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }

      _sheaf_files() {
        local IFS=$'\\n'
        compopt -o filenames 2> /dev/null
        COMPREPLY=($(compgen -f -- "$cur"))
      }

      _sheaf() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev= command=${COMP_WORDS[1]} index positional=1
        ((COMP_CWORD > 0)) && prev=${COMP_WORDS[COMP_CWORD - 1]}
        COMPREPLY=()
        # bash takes the = of --name=value for a word of its own.
        if [[ $cur == = ]]; then
          cur=
        elif [[ $prev == = ]] && ((COMP_CWORD > 1)); then
          prev=${COMP_WORDS[COMP_CWORD - 2]}
        fi
        if ((COMP_CWORD == 1)); then
          _sheaf_words "\(names)"
          return
        fi
        for ((index = 2; index < COMP_CWORD; index++)); do
          if [[ ${COMP_WORDS[index]} == -- ]]; then
            positional=2
          fi
        done
        case $command in
      \(commands.map(entry).joined())  esac
      }

      complete -F _sheaf sheaf

      """
  }

  private func entry(_ command: CommandDefinition) -> String {
    let options = command.options.map { "--" + $0.name } + ["--help"]
    var text = "    \(command.name))\n"
    let valued = command.options.filter { $0.takesNextWord }
    if !valued.isEmpty {
      text += "      if ((positional == 1)); then\n        case $prev in\n"
      for option in valued {
        let action = action(option.completion) ?? ":"
        text += "          --\(option.name)) \(action); return ;;\n"
      }
      text += "        esac\n      fi\n"
    }
    text += "      if [[ $cur == -* ]] && ((positional == 1)); then\n"
    text += "        _sheaf_words \"\(options.joined(separator: " "))\"\n"
    text += "        return\n      fi\n"
    // All arguments without a name have the same kind of value as the first.
    let arguments = command.positionals.first.flatMap { action($0.completion) }
    if let arguments { text += "      \(arguments)\n" }
    return text + "      ;;\n"
  }

  private func action(_ completion: Completion) -> String? {
    switch completion {
    case .none: nil
    case .files: "_sheaf_files"
    case .commands: "_sheaf_words \"\(commands.map(\.name).joined(separator: " "))\""
    case .words(let words): "_sheaf_words \"\(words.joined(separator: " "))\""
    }
  }
}
