import Engine
import Importer

/// `sheaf export FILE --into postgresql://...`: exports a table into a server.
extension ExportCommand {
  private static let group = "Servers"

  static let into = Option<String>(
    "into", .path, group: group,
    help:
      "Load the objects into a PostgreSQL server, as import does: a URL such as "
      + "postgresql://user@host/database, or key=value pairs")
  static let name = Option<String>(
    "as", .name, defaultNote: "its name in the file", group: group,
    help: "What the table is called on the server")
  static let rejects = Option<String>(
    "rejects", .path, defaultNote: "FILE#TABLE.rejects.csv here", group: group,
    help: "Where objects go that the server refuses; the reasons go to FILE.reasons.jsonl beside it"
  )

  /// Options that mean the same as those of `import`.
  private static let shared: [any OptionEntry] = [
    ImportCommand.connections, ImportCommand.create, ImportCommand.numeric, ImportCommand.lease,
    ImportCommand.distributeBy,
    ImportCommand.key, ImportCommand.onConflict, ImportCommand.truncate, ImportCommand.allowEmpty,
    ImportCommand.batchSize, ImportCommand.durability, ImportCommand.resume,
    ImportCommand.maxRejects, ImportCommand.dryRun,
  ]

  static let serverOptions: [any OptionEntry] =
    [into, name, rejects] + shared + [CommonOptions.jobReport, CommonOptions.quiet]

  /// True when a server is the destination.
  ///
  /// - Throws: `CommandError` for options of the other kind of destination.
  static func isIntoServer(_ arguments: ParsedArguments) throws -> Bool {
    guard let destination = try arguments.value(into) else {
      for option in serverOptions where arguments.isGiven(option) {
        throw CommandError.usage(
          "--\(option.name) is for an export into a server, --into postgresql://host/database")
      }
      return false
    }
    guard ServerAddress.isServer(destination) else {
      throw CommandError.usage(
        "--into is a PostgreSQL server, such as postgresql://host/database; --output names a file")
    }
    let ofFiles: [any OptionEntry] = [format, self.output, force, noHeader, values, salvage]
    for option in ofFiles where arguments.isGiven(option) {
      throw CommandError.usage("--\(option.name) is for an export into a file, not into a server")
    }
    return true
  }

  static func runIntoServer(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    output.isReport = true
    let path = arguments.positionals[0]
    let server = try ImportCommand.server(
      arguments, address: try arguments.required(into))
    var options = ImportOptions(inputs: [], database: path)
    options.table = try arguments.value(name)
    options.rejects = try arguments.value(rejects)
    try ImportCommand.readCommitOptions(arguments, &options)
    let notice = DatabaseFile.notice("export", ServerAddress.shown(server.address), arguments)
    options.onWaiting = notice
    options.onReject = { StandardError.line("\($0.position): \($0.reason)") }
    Interrupt.install()
    options.shouldStop = { Interrupt.signal != nil }
    let exporter = try exporter(arguments)
    var report = ImportReport()
    try DatabaseFile.use(
      path, .readOnly, DatabaseFile.waiting("export", path, arguments)
    ) { database in
      if let note = database.recoveryNote {
        StandardError.line("sheaf export: \(path): opened in spite of damage: \(note)")
      }
      let snapshot = try CommonOptions.snapshot(arguments, database)
      let table = try snapshot.table(try CommonOptions.tableName(arguments, snapshot))
      do {
        try Importer.load(table, in: path, exporter, options, into: server, report: &report)
      } catch ImportError.interrupted {
        throw CommandError(Interrupt.status ?? .interrupted, "interrupted")
      }
    }
    let printer = ImportReportPrinter(report: report, options: options, command: "export")
    if !arguments.isSet(CommonOptions.quiet) {
      switch try arguments.required(CommonOptions.jobReport) {
      case .text: try output.write(printer.text)
      case .line: try output.write(printer.line)
      case .json: try output.write(printer.json.line)
      }
    }
    if report.isInterrupted { return Interrupt.status ?? .interrupted }
    return report.isDryRun && printer.exceedsRejects ? .dataRefused : .done
  }
}
