import Base
import Engine
import Importer

/// `sheaf compact`: reclaims free space.
enum CompactCommand {
  static let ifAbove = Option<Int>(
    "if-above", .size, help: "Only when the file is larger than this")
  static let ifUsedBelow = Option<Percent>(
    "if-used-below", .percent, help: "Only when less than this share of the file is used")
  static let into = Option<String>(
    "into", .path,
    help: "Write a compact copy and leave the file as it is; the copy is there when it is complete")
  static let dropVersions = Flag(
    "drop-versions",
    help:
      "Leave out the versions that are kept: the smallest file; with --into the copy alone has none"
  )
  static let online = Flag(
    "online",
    help:
      "While others read and write the file: in small transactions, which they do not see; the file's "
      + "end is cut off as readers let go of older versions. Kept versions stay where they are")
  static let force = Flag(
    "force",
    help: "Let --into replace a Sheaf database that nobody has open, such as an earlier copy")

  static let definition = CommandDefinition(
    name: "compact",
    summary: "Reclaim the free space of a database file",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [ifAbove, ifUsedBelow, online, into, dropVersions, force] + CommonOptions.job,
    examples: [
      .init(
        command: "sheaf compact apps.sheaf",
        meaning: "Always, when nobody else uses the file; else it ends with status 75."),
      .init(
        command: "sheaf compact apps.sheaf --if-above 70MB --if-used-below 50%",
        meaning: "Compact when it is worth it: both conditions must hold. Without conditions the "
          + "file is always compacted."),
      .init(
        command: "sheaf compact apps.sheaf --online",
        meaning:
          "While others use the file; what readers of older versions keep from it, the report "
          + "says. It waits ten seconds for them, or as long as --wait says."),
      .init(
        command: "sheaf compact apps.sheaf --into copy.sheaf",
        meaning: "A compact copy, at any time, while others read and write the file."),
      .init(
        command: "sheaf compact apps.sheaf --into weekly.sheaf --force",
        meaning: "The same in place of last week's."),
      .init(
        command: "sheaf compact apps.sheaf --drop-versions",
        meaning: "The smallest file: the newest version alone."),
      .init(
        command: "sheaf compact apps.sheaf --wait 600",
        meaning: "Wait up to ten minutes, also for readers who have the file open; without --wait "
          + "they end the command at once."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    try RunLog.keep(
      arguments, output, command: "compact", database: arguments.positionals[0],
      others: [try arguments.value(into)].compactMap(\.self)
    ) { try run(arguments.positionals[0], arguments, output, $0) }
  }

  private static func run(
    _ path: String, _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    let began = System.monotonicNanoseconds
    let isOnline = arguments.isSet(online)
    if isOnline {
      for option in [into, dropVersions, force] as [any OptionEntry] where arguments.isGiven(option)
      {
        throw CommandError.usage("--online and --\(option.name) exclude each other")
      }
    }
    var patience = Patience(try waiting(path, arguments))
    var policy = CompactionPolicy()
    policy.mode = .always
    if arguments.isGiven(ifAbove) || arguments.isGiven(ifUsedBelow) {
      policy.mode = .auto
      policy.above = try arguments.value(ifAbove) ?? -1
      // Without the second condition every share of use qualifies.
      policy.usedBelow = try arguments.value(ifUsedBelow).map { $0.value / 100 } ?? .infinity
    }
    let copy = try arguments.value(into)
    if let copy, System.areTheSame(copy, path) {
      throw CommandError.usage("--into is the database itself; choose another file")
    }
    if let copy { try CommandError.refuseCompanion(copy) }
    // A reader may stay for days: only `--wait` makes the command wait for it.
    let waitsForReaders = arguments.isGiven(CommonOptions.wait)
    Interrupt.install()
    var result: CompactionResult
    do {
      while true {
        // A copy can be made while others work. A compaction in transactions takes turns with other writers.
        let job = copy == nil && !isOnline ? try DatabaseFile.lockJob(path, &patience) : nil
        let rest = patience.rest
        result = try withExtendedLifetime(job) {
          try DatabaseFile.use(path, copy == nil ? .existing : .readOnly, rest) {
            $0.turnWaiting = rest
            return try compact($0, policy, into: copy, arguments)
          }
        }
        guard result.decision == .skippedInUse, waitsForReaders, !isOnline else { break }
        do throws(Patience.Refusal) {
          try patience.pause { "others, who have the file open" }
        } catch {
          if error == .cancelled { throw EngineError.cancelled }
          break
        }
      }
    } catch EngineError.cancelled {
      throw CommandError(
        Interrupt.status ?? .interrupted,
        "\(path): interrupted; the file is as it was, run the command again to compact it")
    } catch EngineError.system(let error) where copy == nil && error.operation == "open" {
      throw CommandError.creation(error)
    }
    let seconds = Double(System.monotonicNanoseconds - began) / 1e9
    return try report(result, path, seconds, copy: copy, arguments, output, log)
  }

  /// The text or JSON to print, and the status.
  private static func report(
    _ result: CompactionResult, _ path: String, _ seconds: Double, copy: String?,
    _ arguments: ParsedArguments, _ output: BufferedOutput, _ log: RunLog
  ) throws -> ExitStatus {
    log.report = { json(result, path, seconds) }
    if result.decision == .compacted {
      log.done = copy == nil ? "the file is compacted" : "the copy is complete"
    }
    if !arguments.isSet(CommonOptions.quiet) {
      switch try arguments.required(CommonOptions.jobReport) {
      case .text: try output.write(text(result, path, seconds))
      case .line: try output.write(line(result, path, seconds))
      case .json: try output.write(json(result, path, seconds).line)
      }
    }
    let reason = "\(path): not compacted: \(result.reason ?? "")"
    if result.isStopped {
      throw CommandError(
        Interrupt.status ?? .interrupted,
        "\(path): interrupted; what was gained stays, run the command again to go on")
    }
    switch result.decision {
    case .skippedInUse:
      throw CommandError(.busy, reason + "; run the command again when nobody uses the file")
    case .skippedNoSpace:
      throw CommandError(.inputOutput, reason + "; free some space and run the command again")
    case .skippedNotOwner, .skippedOtherNames: throw CommandError(.cannotCreate, reason)
    case .compacted, .notNeeded, .disabled: return .done
    }
  }

  private static func waiting(_ path: String, _ arguments: ParsedArguments) throws -> Waiting {
    var waiting = try DatabaseFile.waiting("compact", path, arguments)
    waiting.shouldStop = { Interrupt.signal != nil }
    return waiting
  }

  private static func compact(
    _ database: Database, _ policy: CompactionPolicy, into copy: String?,
    _ arguments: ParsedArguments
  ) throws -> CompactionResult {
    let force = arguments.isSet(Self.force)
    let keepsVersions = !arguments.isSet(dropVersions)
    let before = try System.status(path: database.path).size
    // Without conditions the space is not computed: the user may want to drop a kept version that is no
    // longer readable.
    if policy.mode == .auto {
      let use = try database.fileUse()
      guard policy.shouldCompact(total: use.total, used: use.needed) else {
        return CompactionResult(decision: .notNeeded, before: use.total, after: use.total)
      }
    }
    let shouldStop: @Sendable () -> Bool = { Interrupt.signal != nil }
    if arguments.isSet(online) {
      var waiting = Waiting(shouldStop: shouldStop)
      waiting.seconds =
        arguments.isGiven(CommonOptions.wait)
        ? Double(try arguments.required(CommonOptions.wait)) : 10
      waiting.notice = DatabaseFile.notice("compact", database.path, arguments)
      return try database.compactInUse(waiting: waiting, shouldStop: shouldStop)
    }
    guard let copy else {
      return try database.compact(keepsVersions: keepsVersions, shouldStop: shouldStop)
    }
    if !force, try Database.isDatabase(at: copy) { throw CommandError.replacesDatabase(copy) }
    do {
      if force, try System.linkStatus(path: copy)?.isRegular == true {
        // A file that the user may not write to is not replaced either.
        System.close(try System.openRegular(copy, writable: true))
      }
      try database.writeCopy(
        to: copy, replacing: force, keepsVersions: keepsVersions, shouldStop: shouldStop)
      return CompactionResult(
        decision: .compacted, before: before, after: try System.status(path: copy).size)
    } catch EngineError.cancelled {
      throw EngineError.cancelled
    } catch EngineError.system(let error) where error.isExisting {
      throw CommandError(
        .cannotCreate, "\(copy) is there already and is no Sheaf database; name another file")
    } catch {
      throw CommandError(writing: error)
    }
  }

  // MARK: Reports

  private static func json(
    _ result: CompactionResult, _ path: String, _ seconds: Double
  ) -> JSONValue {
    [
      "command": "compact", "database": .string(path),
      "decision": .string(result.decision.rawValue), "before": .int(result.before),
      "after": .int(result.after), "seconds": .double(seconds),
      "reason": .optional(result.reason) { .string($0) }, "online": .bool(result.isInUse),
      "interrupted": .bool(result.isStopped), "held": .array(result.held.map(json)),
    ]
  }

  private static func json(_ held: ActiveVersion) -> JSONValue {
    [
      "version": .int(Int(clamping: held.version)), "bytes": .int(held.pinnedBytes),
      "readers": .array(held.holders.map { .int(Int($0.process)) }),
    ]
  }

  /// Empty when the exit status comes with a message on standard error.
  private static func text(
    _ result: CompactionResult, _ path: String, _ seconds: Double
  ) -> String {
    let path = StandardError.escaped(path)
    switch result.decision {
    case .compacted:
      let what = result.isStopped ? "interrupted" : "compacted"
      return "\(path): \(what): \(sizes(result)), in \(HumanFormat.duration(seconds: seconds))"
        + (result.reason.map { "; \(StandardError.escaped($0))" } ?? "") + "\n"
    case .notNeeded, .disabled:
      return "\(path): not needed: \(HumanFormat.size(result.before))\n"
    case .skippedInUse, .skippedNoSpace, .skippedNotOwner, .skippedOtherNames: return ""
    }
  }

  private static func line(
    _ result: CompactionResult, _ path: String, _ seconds: Double
  ) -> String {
    let text = text(result, path, seconds)
    return text.isEmpty ? "" : "\(Timestamp.now) sheaf compact: \(text)"
  }

  private static func sizes(_ result: CompactionResult) -> String {
    let sizes =
      "\(HumanFormat.size(result.before)) before, \(HumanFormat.size(result.after)) after"
    guard result.after < result.before, result.before > 0 else { return sizes }
    let saved = Double(result.before - result.after) / Double(result.before) * 100
    return sizes + " (\(HumanFormat.fixed(saved, decimals: 0))% less)"
  }
}
