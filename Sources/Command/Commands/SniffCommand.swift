import Engine
import Importer

/// `sheaf sniff`: how a CSV file would be read, and why.
enum SniffCommand {
  static let definition = CommandDefinition(
    name: "sniff",
    summary: "Tell how a CSV file would be read, why, and the command that says so",
    usage: "CSV [OPTIONS]",
    positionals: [
      .init(
        name: "CSV",
        help: "A CSV file, or - for standard input; its beginning is read, nothing is written",
        completion: .files)
    ],
    options: [
      ImportCommand.delimiter, ImportCommand.quote, ImportCommand.quotes, ImportCommand.escape,
      ImportCommand.comment, ImportCommand.skipLines, ImportCommand.skipFooter,
      ImportCommand.header,
      ImportCommand.headerLines, ImportCommand.encoding, ImportCommand.types,
      ImportCommand.dateFormat, ImportCommand.decimal, ImportCommand.thousands, ImportCommand.null,
      ImportCommand.trim,
      ImportCommand.columns, ImportCommand.rename, ImportCommand.newColumns, ImportCommand.ragged,
      CommonOptions.report,
    ],
    examples: [
      .init(
        command: "sheaf sniff apps.csv",
        meaning:
          "Delimiter, quotes, header, names and types, as far as the first 1,000 records tell."),
      .init(
        command: "curl -s https://example.org/data.csv | head -n 1000 | sheaf sniff -",
        meaning: "The same of what a pipe sends."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    var options = ImportOptions(inputs: [arguments.positionals[0]], database: "")
    try ImportCommand.readDialect(arguments, &options)
    try ImportCommand.readColumns(arguments, &options)
    options.ragged = try arguments.required(ImportCommand.ragged)
    Interrupt.install()
    options.shouldStop = { Interrupt.signal != nil }
    let report: ImportReport
    do {
      report = try Importer.sniff(options)
    } catch {
      if case ImportError.interrupted = error, let status = Interrupt.status {
        throw CommandError(status, "\(error)")
      }
      throw CommandError(writing: error)
    }
    let printer = SniffPrinter(report: report, options: options)
    switch try arguments.required(CommonOptions.report) {
    case .text: try output.write(printer.text)
    case .json: try output.write(printer.json.line)
    }
    return .done
  }
}
