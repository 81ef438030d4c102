/// Every command of `sheaf`, in the order in which the help lists them.
enum CommandTable {
  static let all: [CommandDefinition] = [
    ImportCommand.definition,
    SniffCommand.definition,
    CompactCommand.definition,
    InfoCommand.definition,
    CheckCommand.definition,
    ExportCommand.definition,
    QueryCommand.definition,
    VersionsCommand.definition,
    DiffCommand.definition,
    WatchCommand.definition,
    LogCommand.definition,
    KeepCommand.definition,
    TagCommand.definition,
    UndoCommand.definition,
    DeleteCommand.definition,
    AlterCommand.definition,
    VerifyCommand.definition,
    BackupCommand.definition,
    RestoreCommand.definition,
    TuneCommand.definition,
    TortureCommand.definition,
    SampleCommand.definition,
    CompletionsCommand.definition,
    HelpCommand.definition,
  ]

  /// - Throws: a usage error with the nearest name when there is no such command.
  static func command(named name: String) throws(CommandError) -> CommandDefinition {
    if let definition = all.first(where: { $0.name == name }) { return definition }
    let phrase = Suggestion.phrase(for: name, among: all.map(\.name), prefix: "sheaf ")
    throw .usage("unknown command \"\(name)\"\(phrase.isEmpty ? " (see sheaf help)" : phrase)")
  }
}
