/// The pages that `--help` prints, made from the command definitions alone.
struct HelpText {
  let commands: [CommandDefinition]
  /// True when headings may be bold.
  let styled: Bool

  static let width = 80
  /// Descriptions start here; an option whose own text is longer gets a line for itself.
  private static let column = 28

  /// The output of `sheaf --help`.
  var overview: String {
    var text = "Imports CSV in bulk into an embedded, versioned object database, and keeps the\n"
    text += "file small.\n\n"
    text += heading("Usage") + "  sheaf COMMAND [ARGUMENTS] [OPTIONS]\n\n"
    text += heading("Commands")
    let longest = commands.map(\.name.count).max() ?? 0
    for command in commands {
      text += Self.entry(command.name, command.summary, column: longest + 4)
    }
    text += "\n" + heading(generalOptions)
    text += Self.entry("-h, --help", "Print this help, or a command's", column: 19)
    text += Self.entry("-V, --version", "Print the version", column: 19)
    text += "\nsheaf help COMMAND tells all about a command, sheaf help --man is the manual.\n"
    return text
  }

  /// The output of `sheaf help COMMAND`.
  func page(of command: CommandDefinition) -> String {
    var text = Self.wrapped(command.summary + ".", indent: 0)
    text += "\n" + heading("Usage") + "  sheaf \(command.name) \(command.usage)\n"
    if !command.positionals.isEmpty {
      text += "\n" + heading("Arguments")
      for positional in command.positionals {
        text += Self.entry(positional.shown, positional.help, column: Self.column)
      }
    }
    for group in groups(of: command) {
      text += "\n" + heading(group)
      for option in command.options where option.group == group {
        text += Self.entry(Self.name(of: option), Self.text(of: option), column: Self.column)
      }
      if group == generalOptions {
        text += Self.entry("-h, --help", "Print this help", column: Self.column)
      }
    }
    if !command.examples.isEmpty {
      text += "\n" + heading("Examples")
      for example in command.examples {
        text += "  \(example.command)\n" + Self.wrapped(example.meaning, indent: 6)
      }
    }
    return text
  }

  /// The groups in the order of their first option, with the general one last.
  private func groups(of command: CommandDefinition) -> [String] {
    var groups: [String] = []
    for option in command.options
    where option.group != generalOptions && !groups.contains(option.group) {
      groups.append(option.group)
    }
    return groups + [generalOptions]
  }

  private func heading(_ text: String) -> String {
    styled ? "\u{1B}[1m\(text):\u{1B}[0m\n" : "\(text):\n"
  }

  private static func name(of option: any OptionEntry) -> String {
    "--\(option.name)\(option.valueText)"
  }

  private static func text(of option: any OptionEntry) -> String {
    var text = option.help
    if option.isRequired { text += " [required]" }
    if option.isRepeatable { text += " [may repeat]" }
    if let defaultText = option.defaultText { text += " [default: \(defaultText)]" }
    return text
  }

  // MARK: Layout

  /// A term and its description, the description aligned at `column`.
  static func entry(_ term: String, _ description: String, column: Int) -> String {
    let lines = lines(of: description, width: width - column)
    let margin = String(repeating: " ", count: column)
    var text = "  " + term
    var rest = lines[...]
    if term.count + 4 <= column {
      text += String(repeating: " ", count: column - term.count - 2) + (rest.popFirst() ?? "")
    }
    text += "\n"
    for line in rest { text += margin + line + "\n" }
    return text
  }

  static func wrapped(_ text: String, indent: Int) -> String {
    let margin = String(repeating: " ", count: indent)
    return lines(of: text, width: width - indent).map { margin + $0 + "\n" }.joined()
  }

  /// `text` broken at spaces into lines of at most `width` columns; a longer word stays whole.
  static func lines(of text: String, width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " " + word
    }
    if !line.isEmpty { lines.append(line) }
    return lines
  }
}
