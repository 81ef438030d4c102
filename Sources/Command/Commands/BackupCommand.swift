import Base
import Engine
import Importer

/// `sheaf backup`: a copy of a database, brought up to its newest version.
enum BackupCommand {
  static let destination = Option<String>(
    "to", .path, defaultNote: "required",
    help: "The copy: created where missing, else it gets what it lacks")
  static let force = Flag(
    "force",
    help:
      "Write a whole new copy in place of a Sheaf database that is there, whatever it is, unless somebody "
      + "has it open")

  static let definition = CommandDefinition(
    name: "backup",
    summary: "Bring a copy of a database file up to date, at the cost of what has changed",
    usage: "FILE --to COPY [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [destination, force] + CommonOptions.job,
    examples: [
      .init(
        command: "sheaf backup apps.sheaf --to /mnt/backup/apps.sheaf",
        meaning:
          "The whole file the first time, then what has changed since; others read and write meanwhile. The "
          + "copy is a database itself, with all kept versions, and never half of one."),
      .init(
        command: "sheaf backup apps.sheaf --to /mnt/backup/apps.sheaf --force",
        meaning: "A whole new copy in place of one that was written to, or is of another database."),
      .init(
        command: "sheaf restore /mnt/backup/apps.sheaf --to apps.sheaf",
        meaning: "The way back."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    return try BackupReport.run(
      "backup", arguments, output, from: path, to: try arguments.value(destination)
    ) { copy, waiting, shouldStop in
      // One backup at a time: a second one finds the first one's version in the copy.
      var patience = Patience(waiting)
      let job =
        try System.statusIfPresent(path: copy) == nil
        ? nil : try DatabaseFile.lockJob(copy, &patience)
      let rest = patience.rest
      return try withExtendedLifetime(job) {
        try DatabaseFile.use(path, .readOnly, rest) {
          try $0.backup(
            to: copy, replacing: arguments.isSet(force), waiting: rest, shouldStop: shouldStop)
        }
      }
    }
  }
}

/// `sheaf restore`: puts a copy in the place of a database.
enum RestoreCommand {
  static let destination = Option<String>(
    "to", .path, defaultNote: "required",
    help: "The database: it may be missing, or be the copy's own, no newer, and closed")
  static let force = Flag(
    "force",
    help:
      "Replace a Sheaf database that is newer, another one, or cannot be read; one that somebody has open "
      + "is never replaced")

  static let definition = CommandDefinition(
    name: "restore",
    summary: "Put a backup in the place of a database file",
    usage: "COPY --to FILE [OPTIONS]",
    positionals: [.init(name: "COPY", help: "The backup", completion: .files)],
    options: [destination, force] + CommonOptions.job,
    examples: [
      .init(
        command: "sheaf restore /mnt/backup/apps.sheaf --to apps.sheaf",
        meaning: "Read back before it takes the name; what was there stays whole until then."),
      .init(
        command: "sheaf restore /mnt/backup/apps.sheaf --to apps.sheaf --force",
        meaning: "Also when apps.sheaf is newer than the copy, or cannot be read."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let copy = arguments.positionals[0]
    return try BackupReport.run(
      "restore", arguments, output, from: copy, to: try arguments.value(destination)
    ) { path, waiting, shouldStop in
      try Database.restore(
        copy, to: path, replacing: arguments.isSet(force), waiting: waiting,
        shouldStop: shouldStop)
    }
  }
}

/// Reports that both commands share.
private enum BackupReport {
  static func run(
    _ command: String, _ arguments: ParsedArguments, _ output: BufferedOutput, from path: String,
    to destination: String?,
    _ body: (String, Waiting, @escaping @Sendable () -> Bool) throws -> BackupResult
  ) throws -> ExitStatus {
    guard let destination else { throw CommandError.usage("--to is missing: where to?") }
    return try RunLog.keep(
      arguments, output, command: command, database: path, others: [destination]
    ) { log in
      let began = System.monotonicNanoseconds
      if System.areTheSame(destination, path) {
        throw CommandError.usage("--to is the file itself; choose another one")
      }
      try CommandError.refuseCompanion(destination)
      Interrupt.install()
      let shouldStop: @Sendable () -> Bool = { Interrupt.signal != nil }
      var waiting = try DatabaseFile.waiting(command, path, arguments)
      waiting.shouldStop = shouldStop
      let result: BackupResult
      do {
        result = try body(destination, waiting, shouldStop)
      } catch EngineError.cancelled {
        throw CommandError(
          Interrupt.status ?? .interrupted,
          "\(destination): interrupted; it is as it was, run the command again")
      } catch EngineError.otherDatabase(let path, let reason) {
        throw CommandError(
          .cannotCreate,
          "\(path): \(reason); nothing was written: see that it is the right file, and say --force to "
            + "replace it")
      } catch EngineError.system(let error) where error.isExisting {
        throw CommandError(
          .cannotCreate,
          "\(destination) is there already and is no Sheaf database; name another file, or move "
            + "it away if its first pages are lost")
      } catch EngineError.system(let error)
        where error.operation == "open" && isOf(destination, error.path, rather: path)
      {
        throw CommandError.creation(error)
      }
      let seconds = Double(System.monotonicNanoseconds - began) / 1e9
      log.report = { json(command, result, path, destination, seconds) }
      log.done = command == "backup" ? "the copy is complete" : "the file is in its place"
      if !arguments.isSet(CommonOptions.quiet) {
        switch try arguments.required(CommonOptions.jobReport) {
        case .text: try output.write(text(result, destination, seconds))
        case .line:
          try output.write(
            "\(Timestamp.now) sheaf \(command): \(text(result, destination, seconds))")
        case .json:
          try output.write(json(command, result, path, destination, seconds).line)
        }
      }
      return .done
    }
  }

  /// True when a path is that of the destination or of a file beside it, and not the source's. When the name
  /// of one of the two begins with the other's, the longer name decides.
  private static func isOf(
    _ destination: String, _ path: String, rather source: String
  ) -> Bool {
    func match(_ name: String) -> Int {
      let names = [name, try? System.resolved(name), directory(name)].compactMap(\.self)
      return names.filter(path.hasPrefix).map(\.utf8.count).max() ?? 0
    }
    return match(destination) > match(source)
  }

  /// The path of a file that may not exist yet, with its folder resolved.
  private static func directory(_ path: String) -> String? {
    let folder = System.directory(of: path)
    return (try? System.resolved(folder)).map { "\($0)/\(System.name(of: path))" }
  }

  private static func json(
    _ command: String, _ result: BackupResult, _ path: String, _ destination: String,
    _ seconds: Double
  ) -> JSONValue {
    [
      "command": .string(command), "database": .string(path), "to": .string(destination),
      "decision": .string(result.decision.rawValue),
      "version": .int(Int(clamping: result.version)), "bytesCopied": .int(result.bytesCopied),
      "bytesSkipped": .int(result.bytesSkipped), "seconds": .double(seconds),
    ]
  }

  private static func text(
    _ result: BackupResult, _ destination: String, _ seconds: Double
  ) -> String {
    let what =
      switch result.decision {
      case .copied: "\(HumanFormat.size(result.bytesCopied)) copied"
      case .updated:
        "\(HumanFormat.size(result.bytesCopied)) copied, "
          + "\(HumanFormat.size(result.bytesSkipped)) there already"
      case .unchanged: "nothing has changed"
      }
    return StandardError.escaped(
      "\(destination): version \(result.version), \(what), in \(HumanFormat.duration(seconds: seconds))"
    )
      + "\n"
  }
}
