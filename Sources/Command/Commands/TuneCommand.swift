import Base
import Engine
import Importer

/// `sheaf tune`: imports the same CSV file at many batch sizes, and recommends one.
enum TuneCommand {
  private static let experimentGroup = "Experiment"

  static let batchSizes = Option<[CountOrAll]>(
    "batch-sizes", .batchSizes, default: "1,10,100,1000,10000,all",
    group: experimentGroup,
    help: "Objects in one transaction, one experiment each")
  static let durabilities = Option<[Durability]>(
    "durability", .durabilities, default: "full,group,none", group: experimentGroup,
    help: "Each batch size is measured with each of these; see sheaf help import")
  static let repeats = Option<Int>(
    "repeat", .positiveCount(upTo: 1000), default: "3", group: experimentGroup,
    help: "Rounds; in each, every combination has its turn once. Reports give the median and the "
      + "range")
  static let limit = Option<Int>(
    "limit", .positiveCount, group: experimentGroup,
    help: "Import at most the first N records, in every run")
  static let maxSeconds = Option<Int>(
    "max-seconds", .positiveCount(upTo: 1_000_000), default: "30", group: experimentGroup,
    help:
      "A combination that would take longer for one run, by an estimate from two short ones, "
      + "is measured on as many records as fit; its times, sizes and bytes are estimated for all, "
      + "from how they grew, and marked as such")
  static let output = Option<String>(
    "output", .path.shown(as: "DIR"), defaultNote: "bench-results/tune-DATE",
    group: experimentGroup,
    help:
      "The folder for results.csv, results.json and report.html; those of an earlier sheaf tune "
      + "are replaced, other files are left alone. The databases lie in a folder inside it, one at "
      + "a time, and are removed")

  /// Options of `sheaf import` that are passed on unchanged: how the input is parsed, and by how many
  /// threads.
  static let handedOn: [any OptionEntry] =
    [ImportCommand.key, ImportCommand.ragged]
    + ImportCommand.definition.options.filter {
      ($0.group == ImportCommand.header.group || $0.group == ImportCommand.parsers.group)
        && $0.name != limit.name
    }

  static let definition = CommandDefinition(
    name: "tune",
    summary: "Import at many batch sizes; report time, file size and the best size",
    usage: "CSV [OPTIONS]",
    positionals: [.init(name: "CSV", help: "A CSV file; it is only read")],
    options: [batchSizes, durabilities, repeats, limit, maxSeconds, output, into, connections]
      + [ImportCommand.progress, CommonOptions.report, CommonOptions.quiet] + handedOn,
    examples: [
      .init(
        command: "sheaf tune apps.csv",
        meaning: "Six batch sizes with three durabilities, three times each. The table goes to "
          + "standard output, the page with charts to bench-results/tune-DATE/report.html."),
      .init(
        command:
          "sheaf tune huge.csv --limit 1000000 --batch-sizes 1000,all",
        meaning: "Three batch sizes, on the first million records."),
      .init(
        command: "sheaf tune log.csv --into postgresql://db/scratch --limit 1000000",
        meaning: "Batch sizes and numbers of connections against a server."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    if let server = try arguments.value(into) {
      return try runOnServer(arguments, server, output)
    }
    if arguments.isGiven(connections) {
      throw CommandError.usage("--connections is for measuring a server: --into names it")
    }
    let settings = try settings(arguments)
    let isQuiet = arguments.isSet(CommonOptions.quiet)
    let progress = StepProgress(isQuiet ? .never : try arguments.required(ImportCommand.progress))
    try checkInput(settings.input)
    let folder = try TuneFolder(try arguments.value(Self.output))
    var keepsFolder = false
    defer { folder.remove(all: !keepsFolder) }
    try checkNoResult(settings.input, folder)
    Interrupt.install()
    var experiment = TuneExperiment(settings, folder, progress)
    let failure = experiment.run()
    progress.erase()
    let results = experiment.results
    if results.runs.isEmpty {
      if failure is ChildRun.Interrupted {
        throw CommandError(
          Interrupt.status ?? .interrupted, "interrupted before anything was measured")
      }
      if let failure { throw failure }
    }
    keepsFolder = true
    try folder.write(TuneFolder.csvName, results.csv)
    try folder.write(TuneFolder.jsonName, results.file)
    try folder.write(TuneFolder.pageName, Array(TunePage(results).text.utf8))
    if !isQuiet {
      switch try arguments.required(CommonOptions.report) {
      case .json: try output.write(results.json.line)
      case .text: try TunePrinter(results, folder).print(to: output)
      }
    }
    if failure is ChildRun.Interrupted { return Interrupt.status ?? .interrupted }
    if let failure { throw failure }
    return .done
  }

  private static func settings(_ arguments: ParsedArguments) throws -> TuneSettings {
    TuneSettings(
      input: arguments.positionals[0], batchSizes: try arguments.required(batchSizes),
      durabilities: try arguments.required(durabilities),
      repeats: try arguments.required(repeats), limit: try arguments.value(limit),
      maxSeconds: try arguments.required(maxSeconds),
      importWords: handedOn.flatMap { option in
        arguments.texts(option).map {
          option.placeholder == nil ? "--\(option.name)" : "--\(option.name)=\($0)"
        }
      })
  }

  /// Refuses pipes: the input is read many times.
  static func checkInput(_ path: String) throws {
    if path == "-" {
      throw CommandError.usage(
        "standard input cannot be read again and again; save it to a file first")
    }
    do {
      let status = try System.status(path: path)
      if status.isDirectory { throw SystemError.isADirectory(path) }
      guard status.isRegular else {
        throw CommandError.usage("\(path) cannot be read again and again; save it to a file first")
      }
      System.close(try System.open(path, .readOnly))
    } catch let error as SystemError {
      throw ImportError.unreadableInput(path: path, reason: error.reason)
    }
  }

  private static func checkNoResult(_ path: String, _ folder: TuneFolder) throws {
    for name in [TuneFolder.csvName, TuneFolder.jsonName, TuneFolder.pageName]
    where System.areTheSame(path, "\(folder.path)/\(name)") {
      throw CommandError.usage("the input would be overwritten; name another --output")
    }
  }
}
