import Base
import Engine

/// `sheaf torture`: imports, kills itself, resumes and compares, on the user's own disk.
enum TortureCommand {
  static let seconds = Option<Int>(
    "seconds", .positiveCount(upTo: 1_000_000), default: "60",
    help: "For how long; the round that is under way then is finished")
  static let folder = Option<String>(
    "in", .path.shown(as: "FOLDER"), required: true,
    help:
      "A folder on the disk to be tried. All is done in a new folder inside it, which is removed at the end "
      + "and kept when something did not hold")
  static let seed = Option<Int>(
    "seed", .count, defaultNote: "a random one, which is told",
    help: "The same inputs, plans and moments again; what a machine makes of them differs")

  static let definition = CommandDefinition(
    name: "torture",
    summary: "Kill imports on this disk at random moments, resume them, and compare",
    usage: "--in FOLDER [OPTIONS]",
    options: [
      folder, seconds, seed, ImportCommand.progress, CommonOptions.report, CommonOptions.quiet,
    ],
    examples: [
      .init(
        command: "sheaf torture --in /mnt/data --seconds 600",
        meaning:
          "Ten minutes of imports with all durabilities and batch sizes, with keys, --truncate and "
          + "compaction, killed at random moments. After each kill the file is checked with --deep, "
          + "and its export is compared with the input; readers beside must never see anything but its "
          + "beginning. Status 0: all held; 65: something did not, or 70, where Sheaf itself failed. "
          + "It shows whether this file system keeps what killed processes have written, its locks and "
          + "its renames. It cannot cut the power, so it says nothing of what a disk does with flushes."
      )
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    output.isReport = true
    let isQuiet = arguments.isSet(CommonOptions.quiet)
    let progress = StepProgress(isQuiet ? .never : try arguments.required(ImportCommand.progress))
    var random = RandomSource(seed: System.monotonicNanoseconds)
    let seed = try arguments.value(seed) ?? random.below(1_000_000)
    let folder = try TortureFolder(in: try arguments.required(folder))
    Interrupt.install()
    var torture = TortureRun(
      folder, seconds: try arguments.required(seconds), seed: seed, progress)
    var failure: (any Error)?
    do {
      try torture.run()
    } catch {
      failure = error
    }
    progress.erase()
    var report = torture.report
    report.isInterrupted = failure is ChildRun.Interrupted
    let found = failure as? TortureFailure
    if let found {
      report.failure = found.what
      report.folder = folder.path
    } else {
      do {
        try folder.remove()
      } catch {
        failure = failure ?? error
      }
    }
    if let failure, found == nil, !report.isInterrupted { throw failure }
    if !isQuiet {
      switch try arguments.required(CommonOptions.report) {
      case .json: try output.write(report.json.line)
      case .text: try output.write(report.text)
      }
    }
    if let found {
      throw CommandError(
        found.status,
        "seed \(seed), round \(report.rounds + 1): \(found.what); the files are kept in \(folder.path)"
      )
    }
    return report.isInterrupted ? Interrupt.status ?? .interrupted : .done
  }
}
