import Base
import Engine

/// The file of `--report-file`: one line of JSON for each run, whatever its outcome.
///
/// A line is the command's report with `startedAt`, `exitStatus` and `error` added; the line of a run that
/// failed before it had a report has only those and its subject. The file is opened before the command does
/// anything, so that a job does not find out at its end that it cannot report. Each line is one write to a
/// file opened for appending, so that lines of jobs that end at the same time do not mix.
///
/// Thread rule: one thread at a time.
final class RunLog {
  /// Makes the command's report, once there is one; called only when a file for it is given.
  var report: (() -> JSONValue)?
  /// Why the run is not a success, although the command throws no error.
  var problem: String?
  /// The message for a person when the work is done but the report cannot be written; nil before the work is
  /// done.
  var done: String?

  private let command: String
  private let subject: [JSONValue.Member]
  private let startedAt = Timestamp.now
  private let started = System.monotonicNanoseconds
  private let file: (path: String, descriptor: Int32)?

  /// Runs a command and appends its line, if the arguments name a file for it. The command's status counts,
  /// whether or not somebody reads what it prints.
  ///
  /// - Parameters:
  ///   - files: the files that the command reads and writes; the report file must not be one of them.
  ///   - subject: the members that report a run that failed early: its inputs and its database.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`, or a creation error when the report could not be written.
  static func keep(
    _ arguments: ParsedArguments, _ output: BufferedOutput, command: String, files: [String],
    subject: [JSONValue.Member], _ body: (RunLog) throws -> ExitStatus
  ) throws -> ExitStatus {
    output.isReport = true
    let report = try arguments.value(CommonOptions.reportFile)
    func openMetrics() throws -> MetricsFile? {
      try arguments.value(CommonOptions.metricsFile).map {
        try MetricsFile(
          $0, command, database: database(subject), others: files + (report.map { [$0] } ?? []))
      }
    }
    let log: RunLog
    do {
      log = try RunLog(command, report, files: files, subject)
    } catch {
      try? openMetrics()?.write(CommandError(unexpected: error).status, nil, seconds: 0)
      throw error
    }
    let metrics: MetricsFile?
    do {
      metrics = try openMetrics()
    } catch {
      let failure = CommandError(unexpected: error)
      try? log.append(failure.status, failure.message)
      throw failure
    }
    let status: ExitStatus
    do {
      status = try body(log)
      // A report that cannot be printed is a failure, and the line records it.
      try output.flush()
    } catch {
      let failure = log.told(CommandError(unexpected: error))
      // The error that ended the run is more important than one about its report.
      try? log.append(failure.status, failure.status == .done ? nil : failure.message)
      try? metrics?.write(failure.status, log.report?(), seconds: log.seconds)
      throw failure
    }
    do {
      try metrics?.write(status, log.report?(), seconds: log.seconds)
    } catch {
      let failure = log.told(CommandError(unexpected: error))
      try? log.append(failure.status, failure.message)
      throw failure
    }
    do {
      try log.append(status, log.problem)
    } catch {
      throw log.told(CommandError(unexpected: error))
    }
    return status
  }

  /// Runs a command about one database and appends its line, if the arguments name a file for it.
  ///
  /// - Parameter others: the other files that the command reads and writes.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body`, or a creation error when the report could not be written.
  static func keep(
    _ arguments: ParsedArguments, _ output: BufferedOutput, command: String, database path: String,
    others: [String] = [], _ body: (RunLog) throws -> ExitStatus
  ) throws -> ExitStatus {
    try keep(
      arguments, output, command: command, files: [path] + others,
      subject: [.init(key: "database", value: .string(path))], body)
  }

  /// A failure to report finished work has another status than failed work, because repeating the command
  /// would do the work twice.
  private func told(_ failure: CommandError) -> CommandError {
    guard let done, failure.status == .inputOutput || failure.status == .cannotCreate else {
      return failure
    }
    return CommandError(
      .cannotCreate, "\(failure.messageWithoutAdvice): the report is lost, but \(done)")
  }

  /// Appends the line of a run with wrong arguments, if they nevertheless name a report file.
  ///
  /// - Parameter definition: that of the command; nil when there is no command of that name.
  static func noteWrongUsage(
    _ failure: CommandError, _ command: String, of definition: CommandDefinition?, words: [String]
  ) {
    MetricsFile.noteWrongUsage(command, of: definition, words: words)
    let name = "--" + CommonOptions.reportFile.name
    let options = words.prefix { $0 != "--" }
    guard definition.map({ $0.option(named: CommonOptions.reportFile.name) != nil }) ?? true,
      let index = options.firstIndex(where: { $0 == name || $0.hasPrefix(name + "=") })
    else { return }
    let isAttached = options[index] != name
    let path =
      isAttached ? String(options[index].dropFirst(name.count + 1)) : options[(index + 1)...].first
    // A path that may be another option, a database or an input is not written to; nor does `init` write to a
    // file that holds something else.
    guard let path, !path.hasPrefix("-"), !path.isEmpty,
      !words.enumerated().contains(where: { position, word in
        position != (isAttached ? index : index + 1)
          && (word == path || word.hasSuffix("=" + path) && position != index)
      }),
      let log = try? RunLog(command, path, files: [], [])
    else { return }
    try? log.append(failure.status, failure.message)
  }

  private init(
    _ command: String, _ path: String?, files: [String], _ subject: [JSONValue.Member]
  ) throws {
    self.command = command
    self.subject = subject
    guard let path else {
      file = nil
      return
    }
    if path == "-" {
      throw CommandError.usage("--report-file names a file; for standard output use --report json")
    }
    for other in files where other == path || System.areTheSame(other, path) {
      throw CommandError.usage(
        "--report-file \(path) is a file that the command reads or writes; choose another")
    }
    try CommandError.refuseCompanion(path)
    let isReports: Bool
    do throws(SystemError) {
      isReports = try Self.mayBeReports(path)
      file = isReports ? (path, try System.open(path, .append)) : nil
    } catch {
      throw CommandError.creation(error)
    }
    if !isReports {
      throw CommandError.usage(
        "--report-file \(path) is there already and is no report file; choose another")
    }
  }

  /// False when the file begins with anything but a JSON object: a mistaken name must not damage a database
  /// or other data.
  private static func mayBeReports(_ path: String) throws(SystemError) -> Bool {
    guard let status = try System.statusIfPresent(path: path), status.isRegular, status.size > 0
    else { return true }
    let descriptor = try System.open(path, .readOnly)
    defer { System.close(descriptor) }
    let first = try System.beginning(descriptor, count: 1, path: path)
    return first.isEmpty || first[0] == UInt8(ascii: "{")
  }

  deinit {
    if let file { System.close(file.descriptor) }
  }

  private var seconds: Double { Double(System.monotonicNanoseconds &- started) / 1e9 }

  /// The database or server in the subject of a report.
  private static func database(_ subject: [JSONValue.Member]) -> String? {
    subject.lazy.compactMap { member -> String? in
      guard member.key == "database", case .string(let text) = member.value else { return nil }
      return text
    }.first
  }

  private func append(_ status: ExitStatus, _ error: String?) throws {
    guard let file else { return }
    var members: [JSONValue.Member]
    if case .object(let own)? = report?() {
      members = own
    } else {
      members =
        [.init(key: "command", value: .string(command))] + subject
        + [.init(key: "seconds", value: .double(seconds))]
    }
    members += [
      .init(key: "startedAt", value: .string(startedAt)),
      .init(key: "exitStatus", value: .int(Int(status.rawValue))),
      .init(key: "error", value: .optional(error) { .string($0) }),
    ]
    // A `SystemError` becomes an input/output error.
    let line = JSONValue.object(members).line
    let isLocked = Self.lock(file)
    defer {
      if isLocked == true {
        _ = try? System.lock(
          file.descriptor, .none, at: 0, length: 1, wait: false, path: file.path)
      }
    }
    // While another job writes, nothing tells where its line ends. The file need not be readable.
    let end = isLocked == false ? nil : (try? Self.end(of: file)) ?? nil
    let text = end?.isWhole == false ? [UInt8(ascii: "\n")] + line : line
    do {
      try text.withUnsafeBytes { try System.write(file.descriptor, $0, path: file.path) }
    } catch {
      if let end { try? Self.remove(text, from: file, at: end.offset) }
      throw error
    }
  }

  // MARK: Half lines

  /// Makes other jobs wait. Nil where the file system has no locks; false when another job is stopped, or
  /// waits for its disk: its line is not waited for.
  private static func lock(_ file: (path: String, descriptor: Int32)) -> Bool? {
    var patience = Patience(seconds: 1)
    do {
      while try !System.lock(
        file.descriptor, .exclusive, at: 0, length: 1, wait: false, path: file.path)
      {
        try patience.pause { "" }
      }
      return true
    } catch {
      return error is Patience.Refusal ? false : nil
    }
  }

  /// Where a line is appended, and whether the one before it ends there: a full disk or a power cut may have
  /// left half a line. Nil for what is not a file, and for one that was renamed.
  private static func end(
    of file: (path: String, descriptor: Int32)
  ) throws -> (offset: Int, isWhole: Bool)? {
    let status = try System.status(file.descriptor, path: file.path)
    guard status.isRegular, let reading = try reading(file, status) else { return nil }
    defer { System.close(reading) }
    if status.size == 0 { return (0, true) }
    var last: [UInt8] = [0]
    let count = try last.withUnsafeMutableBytes {
      try System.read(reading, at: status.size - 1, into: $0, path: file.path)
    }
    return (status.size, count == 1 && last[0] == UInt8(ascii: "\n"))
  }

  /// The file, open for reading; nil when another has its path by now.
  private static func reading(
    _ file: (path: String, descriptor: Int32), _ status: FileStatus
  ) throws(SystemError) -> Int32? {
    guard let named = try System.statusIfPresent(path: file.path), named.inode == status.inode
    else { return nil }
    return try System.open(file.path, .readOnly)
  }

  /// Removes what could be written of a line, unless another job has appended its own.
  private static func remove(
    _ line: [UInt8], from file: (path: String, descriptor: Int32), at offset: Int
  ) throws {
    let status = try System.status(file.descriptor, path: file.path)
    guard status.size > offset, status.size - offset < line.count,
      let reading = try reading(file, status)
    else { return }
    defer { System.close(reading) }
    var half = [UInt8](repeating: 0, count: status.size - offset)
    let count = try half.withUnsafeMutableBytes {
      try System.read(reading, at: offset, into: $0, path: file.path)
    }
    guard count == half.count, line.starts(with: half) else { return }
    try System.resize(file.descriptor, to: offset, path: file.path)
  }
}
