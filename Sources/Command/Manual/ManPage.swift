/// The manual page, `docs/sheaf.1`, generated from the same definitions as the help.
///
/// It uses the classic `man` macros, which groff, mandoc and the `man` of macOS all know.
struct ManPage {
  let commands: [CommandDefinition]

  var text: String {
    var lines = [
      ".\\\" Made by \"sheaf help --man\" from the table of commands; do not change it by hand.",
      ".TH SHEAF 1 \(Version.date) \"\(Version.program) \(Version.number)\" \"User Commands\"",
      ".SH NAME", "sheaf \\- \(Self.escaped(Self.summary))",
      ".SH SYNOPSIS",
    ]
    for command in commands {
      lines += [".B sheaf \(command.name)", Self.line(command.usage), ".br"]
    }
    lines += [".B sheaf \\-\\-help", ".br", ".B sheaf \\-\\-version"]
    lines += [".SH DESCRIPTION"]
    for (index, paragraph) in Self.description.enumerated() {
      lines += (index > 0 ? [".PP"] : []) + [Self.paragraph(paragraph)]
    }
    lines.append(".SH COMMANDS")
    for command in commands { lines += section(command) }
    lines.append(".SH EXIT STATUS")
    for status in ExitStatus.allCases {
      lines += [".TP", ".B \(status.rawValue)", Self.paragraph(status.meaning + ".")]
    }
    lines += [".PP", Self.paragraph(Self.errors)]
    lines.append(".SH ENVIRONMENT")
    for (name, meaning) in Self.environment {
      lines += [".TP", ".B \(Self.escaped(name))", Self.paragraph(meaning)]
    }
    lines.append(".SH FILES")
    for (name, meaning) in Self.files {
      lines += [".TP", ".I \(Self.escaped(name))", Self.paragraph(meaning)]
    }
    lines += [".SH SEE ALSO", ".BR sqlite3 (1),", ".BR crontab (5),", ".BR systemd.timer (5)"]
    return lines.joined(separator: "\n") + "\n"
  }

  private func section(_ command: CommandDefinition) -> [String] {
    var lines = [".SS sheaf \(command.name) \(Self.escaped(command.usage))"]
    lines.append(Self.paragraph(command.summary + "."))
    for positional in command.positionals {
      lines += [
        ".TP", ".I \(Self.escaped(positional.shown))", Self.paragraph(positional.help + "."),
      ]
    }
    for option in command.options {
      lines.append(".TP")
      let name = "\\-\\-" + Self.escaped(option.name)
      if option.placeholder != nil {
        lines.append(".BI \(name) \"\(Self.escaped(option.valueText))\"")
      } else {
        lines.append(".B \(name)")
      }
      lines.append(Self.paragraph(option.help + "." + Self.properties(option)))
    }
    if !command.examples.isEmpty {
      lines += [".PP", "Examples:"]
      for example in command.examples {
        lines += [
          ".PP", ".RS 4", ".nf", Self.line(example.command), ".fi", ".RE", ".RS 8",
          Self.paragraph(example.meaning), ".RE",
        ]
      }
    }
    return lines
  }

  private static func properties(_ option: any OptionEntry) -> String {
    var text = ""
    if option.isRequired { text += " Required." }
    if option.isRepeatable { text += " May be given several times." }
    if let defaultText = option.defaultText { text += " Default: \(defaultText)." }
    return text
  }

  // MARK: Texts of the manual alone

  static let summary = "import CSV in bulk into an embedded, versioned object database"

  static let description = [
    "sheaf imports CSV in bulk into a database file of its own, a batch of objects a transaction, and "
      + "keeps the file small. An import that was interrupted goes on where it stopped, no record is "
      + "lost quietly, and what goes in comes out to the letter.",
    "Options are written --name value or --name=value; -- ends them; a file called - is standard "
      + "input or standard output. Sizes may have a unit: 70MB, 512KiB. The options -h and --help of "
      + "every command print its help, which says the same as this page.",
  ]

  static let errors =
    "Every error is one line on standard error that says what is wrong, where (file:line:column and "
    + "byte offset of an input), and what to do about it. A closed pipe ends a command quietly."

  static let environment = [
    ("NO_COLOR", "When it is set to anything, there is no colour and no line is redrawn."),
    ("TERM", "The same when it is \"dumb\"."),
    (
      "LC_ALL, LC_CTYPE, LANG",
      "The first of them that is set tells whether sheaf info may draw with characters beyond ASCII."
    ),
  ]

  static let files = [
    (
      "FILE-lock", "How processes that have a database open find each other; it goes with the last."
    ),
    ("FILE-temporary", "What a compaction writes before it takes the place of the database."),
    (
      "NAME.rejects.csv, NAME.rejects.csv.reasons.jsonl",
      "The records that an import rejected, byte for byte, and why; NAME.rejects.2.csv and so on where "
        + "there are some already."
    ),
    (
      ".sheaf-output-*",
      "What export, sample, tune and compact --into write until it takes its place; one that a killed "
        + "process has left is removed by the next."
    ),
  ]

  // MARK: roff

  /// Running text in lines of at most 78 characters, none of which is read as a request.
  static func paragraph(_ text: String) -> String {
    HelpText.lines(of: escaped(text), width: 78).map(guarded).joined(separator: "\n")
  }

  /// A line that is not broken, such as a command.
  static func line(_ text: String) -> String { guarded(escaped(text)) }

  private static func guarded(_ line: String) -> String {
    line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
  }

  /// Text without roff's special characters. Hyphens become minus signs, so that options can be copied.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "\"": result += "\\(dq"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case "…": result += "..."
      case "\n": result += " "
      default: result.append(character)
      }
    }
    return result
  }
}
