import Engine
import Importer

/// `sheaf compact`: reclaims free space.
enum CompactCommand {
  static let ifAbove = Option<Int>(
    "if-above", .size, help: "Only when the file is larger than this")
  static let ifUsedBelow = Option<Percent>(
    "if-used-below", .percent, help: "Only when less than this share of the file is used")
  static let into = Option<String>(
    "into", .path, help: "Write a compact copy and leave the file as it is")

  static let definition = CommandDefinition(
    name: "compact",
    summary: "Reclaim the free space of a database file",
    usage: "FILE [OPTIONS]",
    positionals: [CommonOptions.database],
    options: [
      ifAbove, ifUsedBelow, into, CommonOptions.wait, CommonOptions.report, CommonOptions.quiet,
    ],
    examples: [
      .init(
        command: "sheaf compact apps.sheaf --if-above 70MB --if-used-below 50%",
        meaning: "Compact when it is worth it: both conditions must hold. Without conditions the "
          + "file is always compacted."),
      .init(
        command: "sheaf compact apps.sheaf --wait 600",
        meaning: "Wait up to ten minutes, also for readers who have the file open; without --wait "
          + "they end the command at once."),
    ],
    run: run)

  @Sendable static func run(
    _ arguments: ParsedArguments, _ output: BufferedOutput
  ) throws -> ExitStatus {
    let path = arguments.positionals[0]
    let began = System.monotonicNanoseconds
    var policy = CompactionPolicy()
    policy.mode = .always
    if arguments.isGiven(ifAbove) || arguments.isGiven(ifUsedBelow) {
      policy.mode = .auto
      policy.above = try arguments.value(ifAbove) ?? -1
      // Without the second condition any use will do.
      policy.usedBelow = try arguments.value(ifUsedBelow).map { $0.value / 100 } ?? .infinity
    }
    let copy = try arguments.value(into)
    let wait = Double(try arguments.required(CommonOptions.wait))
    // A reader may stay for days: it is waited for only when somebody asks for it.
    let patience = arguments.isGiven(CommonOptions.wait) ? wait : 0
    var result: CompactionResult
    while true {
      // A copy is made beside whatever others do.
      let job = copy == nil ? try lockJob(path, wait, since: began) : nil
      result = try withExtendedLifetime(job) {
        try DatabaseFile.use(path, copy == nil ? .existing : .readOnly) {
          try compact($0, policy, into: copy)
        }
      }
      let waited = Double(System.monotonicNanoseconds - began) / 1e9
      guard result.decision == .skippedInUse, waited < patience else { break }
      System.sleep(milliseconds: 50)
    }
    let seconds = Double(System.monotonicNanoseconds - began) / 1e9
    if !arguments.isSet(CommonOptions.quiet) {
      try report(result, path, seconds, arguments, output)
    }
    let reason = "\(path): not compacted: \(result.reason ?? "")"
    switch result.decision {
    case .skippedInUse:
      throw CommandError(.busy, reason + "; run the command again when nobody uses the file")
    case .skippedNoSpace:
      throw CommandError(.inputOutput, reason + "; free some space and run the command again")
    case .compacted, .notNeeded, .disabled: return .done
    }
  }

  private static func lockJob(_ path: String, _ wait: Double, since began: UInt64) throws -> JobLock
  {
    do {
      let waited = Double(System.monotonicNanoseconds - began) / 1e9
      return try JobLock(path, creates: false, waiting: max(0, wait - waited))
    } catch JobLock.Refusal.busy {
      throw ImportError.busy(database: path, seconds: wait)
    } catch let error as SystemError {
      throw error.isMissing ? EngineError.missing(path: path) : EngineError.system(error)
    }
  }

  private static func compact(_ database: Database, _ policy: CompactionPolicy, into copy: String?)
    throws -> CompactionResult
  {
    let use = try database.fileUse()
    guard policy.shouldCompact(total: use.total, used: use.used) else {
      return CompactionResult(decision: .notNeeded, before: use.total, after: use.total)
    }
    guard let copy else { return try database.compact() }
    do {
      try database.writeCopy(to: copy)
      return CompactionResult(
        decision: .compacted, before: use.total, after: try System.status(path: copy).size)
    } catch {
      throw CommandError(writing: error)
    }
  }

  private static func report(
    _ result: CompactionResult, _ path: String, _ seconds: Double, _ arguments: ParsedArguments,
    _ output: BufferedOutput
  ) throws {
    if try arguments.required(CommonOptions.report) == .json {
      try output.write(
        JSONValue.object([
          .init(key: "command", value: "compact"),
          .init(key: "decision", value: .string(result.decision.rawValue)),
          .init(key: "before", value: .int(result.before)),
          .init(key: "after", value: .int(result.after)),
          .init(key: "seconds", value: .double(seconds)),
          .init(key: "reason", value: .optional(result.reason) { .string($0) }),
        ]).line)
      return
    }
    let path = StandardError.escaped(path)
    let sizes =
      "\(HumanFormat.size(result.before)) before, \(HumanFormat.size(result.after)) after"
    switch result.decision {
    case .compacted:
      try output.write(
        "\(path): compacted: \(sizes), in \(HumanFormat.duration(seconds: seconds))\n")
    case .notNeeded, .disabled:
      try output.write("\(path): not needed: \(HumanFormat.size(result.before))\n")
    case .skippedInUse, .skippedNoSpace:
      // Said on standard error, with the exit status.
      break
    }
  }
}
