import Base
import Engine
import Foundation

@testable import Command

/// The system call that fails, and how.
struct FaultedCall: Sendable, CustomStringConvertible {
  let kind: CallKind
  let number: Int
  /// The name of an error, with a `+` if all later calls fail too; or `short`, or `kill`.
  let how: String

  var description: String { "\(kind.rawValue):\(number):\(how)" }

  /// The value of `SHEAF_FAULT`.
  func variable(_ file: String) -> String {
    let error = how.filter { $0 != "+" }
    return "\(kind.rawValue):\(number)\(how.hasSuffix("+") ? "+" : ""):\(error):\(file)"
  }

  /// The failures that a call of the kind may have.
  static func ways(_ kind: CallKind) -> [String] {
    switch kind {
    case .open: ["EIO", "EMFILE", "EACCES", "ENOSPC", "ENOMEM", "EINTR", "kill"]
    case .stat, .space: ["EIO", "EACCES"]
    case .read: ["EIO", "ENOMEM", "EINTR", "short"]
    case .write: ["EIO", "ENOSPC", "EINTR", "short", "ENOSPC+", "kill"]
    case .seek: ["EIO"]
    case .flush: ["EIO", "ENOSPC", "EINTR", "EIO+", "kill"]
    case .resize: ["EIO", "ENOSPC", "EINTR", "kill"]
    case .rename, .remove: ["EIO", "EACCES", "ENOSPC", "kill"]
    case .link: ["EIO", "kill"]
    case .map: ["ENOMEM", "ENOMEM+"]
    case .lock: ["ENOLCK", "EIO", "EINTR", "kill"]
    case .access: ["EPERM", "EIO", "EINTR"]
    case .folder: ["EIO", "EMFILE", "ENOMEM"]
    case .path: ["EMFILE"]
    case .watch: ["EPERM", "EINTR"]
    case .pipe: ["EMFILE"]
    case .poll: ["EINTR", "ENOMEM"]
    case .start: ["EAGAIN", "ENOMEM"]
    case .wait: ["EINTR", "EIO"]
    case .thread: ["EAGAIN", "EAGAIN+"]
    }
  }

  /// Whether the program must carry on in spite of it.
  var isHarmless: Bool { how == "EINTR" || how == "short" }
  var isKill: Bool { how == "kill" }

  /// The system's text for the error.
  var reason: String? {
    let codes: [String: Int32] = [
      "EIO": EIO, "EMFILE": EMFILE, "EACCES": EACCES, "ENOSPC": ENOSPC, "ENOMEM": ENOMEM,
      "ENOLCK": ENOLCK, "EPERM": EPERM, "EAGAIN": EAGAIN,
    ]
    return codes[how.filter { $0 != "+" }].map {
      SystemError(operation: "", path: "", code: $0).reason
    }
  }
}

/// A command's folders before it runs, and what an undisturbed run makes of them.
final class FaultStage {
  struct Contents: Equatable {
    var rows: [UInt8] = []
    /// The contents of the newest rejects files with their names, and all of them together.
    var newest: [[UInt8]?] = []
    var rejects: Set<[UInt8]> = []

    /// An import that cannot append to its rejects file makes another one.
    static func == (one: Contents, other: Contents) -> Bool {
      one.rows == other.rows && (one.newest == other.newest || one.rejects == other.rejects)
    }
  }

  let scenario: FaultScenario
  private let source: Workbench
  private let start: Workbench
  private let before: Contents
  private let after: Contents
  private let output: String
  private let file: [UInt8]
  /// How many calls of each kind there are.
  let counts: [CallKind: Int]

  init(_ scenario: FaultScenario) throws {
    self.scenario = scenario
    source = try Workbench()
    start = try Workbench()
    try scenario.prepare(source, start)
    before = try Self.contents(start)
    let whole = try Self.copy(start)
    let calls = source.path("calls")
    try? FileManager.default.removeItem(atPath: calls)
    let result = try Self.run(scenario, source, whole, "count:\(calls)")
    guard result.status == 0 else {
      throw SheafProcess.Failure(description: "\(scenario): \(result.errorText)")
    }
    var counts: [CallKind: Int] = [:]
    for word in try source.text("calls").split(whereSeparator: \.isWhitespace) {
      let parts = word.split(separator: "=")
      guard parts.count == 2, let kind = CallKind(rawValue: String(parts[0])) else { continue }
      counts[kind] = Int(parts[1])
    }
    self.counts = counts
    after = try Self.contents(whole)
    output = result.outputText
    file =
      switch scenario.purpose {
      case .file(let name), .copy(let name): try whole.read(name)
      default: []
      }
  }

  /// Every call with every failure that it may have.
  var calls: [FaultedCall] {
    CallKind.allCases.flatMap { kind in
      (0..<counts[kind, default: 0]).flatMap { number in
        FaultedCall.ways(kind).map { FaultedCall(kind: kind, number: number + 1, how: $0) }
      }
    }
  }

  // MARK: One run

  struct Outcome {
    /// The exit status; 128 plus the number of the signal that ended it.
    let status: Int32
    /// Whether the call was made: the number of calls depends on how threads take turns.
    let hasFailed: Bool
    let message: String
    let problems: [String]
  }

  func run(_ call: FaultedCall) throws -> Outcome {
    let bench = try Self.copy(start)
    let file = source.path("calls")
    try? FileManager.default.removeItem(atPath: file)
    let result = try Self.run(scenario, source, bench, call.variable(file))
    let hasFailed = (try? source.text("calls"))?.hasPrefix(call.kind.rawValue + ":") == true
    var problems = try ending(call, result, hasFailed: hasFailed)
    if result.status == 0 { problems += try problemsOfSuccess(call, result, bench) }
    problems += try problemsOfState(bench)
    return Outcome(
      status: result.status ?? 128 + (result.signal ?? 0), hasFailed: hasFailed,
      message: result.errorText.trimmingCharacters(in: .newlines), problems: problems)
  }

  /// What is wrong with the command's status and messages.
  private func ending(_ call: FaultedCall, _ result: SheafProcess.Result, hasFailed: Bool) throws
    -> [String]
  {
    if call.isKill, hasFailed {
      return result.signal == System.killSignal ? [] : ["it was not killed"]
    }
    guard let status = result.status else { return ["signal \(result.signal ?? 0)"] }
    // A dry run lists rejected records there.
    let lines = result.errorText.split(separator: "\n").filter {
      $0.hasPrefix("sheaf") && !$0.contains("waiting for")
    }
    if status == 0 { return lines.isEmpty ? [] : ["status 0 and \(lines)"] }
    if !hasFailed { return ["status \(status), and nothing has failed"] }
    if call.isHarmless { return ["status \(status)"] }
    // On a full disk nothing can be written to standard error either.
    if call.how == "ENOSPC+", lines.isEmpty {
      return [73, 74].contains(status) ? [] : ["status \(status)"]
    }
    guard lines.count == 1, let line = lines.first.map(String.init) else {
      return ["status \(status), \(lines.count) lines"]
    }
    var problems: [String] = []
    if !Self.statuses(call, line).contains(status) { problems.append("status \(status)") }
    let words = scenario.words(source, start)
    if !line.hasPrefix("sheaf \(words[0]): ") { problems.append("no prefix") }
    if let reason = call.reason, !line.contains(reason), !result.outputText.contains(reason),
      !line.contains("no memory for")
    {
      problems.append("not why: \(reason)")
    }
    for dump in ["SystemError(", "Error.", "Optional(", "unexpected error"]
    where line.contains(dump) {
      problems.append("a dump")
    }
    let places = ["/", "standard input", "standard output", "thread", "a child process"]
    if !places.contains(where: line.contains) { problems.append("not where") }
    return problems
  }

  /// The exit statuses that a failure may have.
  private static func statuses(_ call: FaultedCall, _ line: String) -> Set<Int32> {
    // The report is an output, too.
    for done in [
      "everything is committed", "the version is the newest", "the file is compacted",
      "the objects are deleted", "the table is changed",
      "the copy is complete", "how many versions are kept is set",
    ]
    where line.contains(done) {
      return [73, 74]
    }
    switch call.kind {
    case .open, .stat, .path, .folder, .space, .access, .lock:
      // A file that cannot be looked at or opened is an unreadable input, or an output that cannot be
      // created.
      return [66, 73, 74]
    // A file in the place of an output is read before it is replaced.
    case .read: return [66, 73, 74]
    case .seek, .poll, .pipe, .start, .wait: return [66, 74]
    case .rename, .link: return [73, 74]
    case .write, .flush, .resize, .remove, .map, .watch, .thread: return [74]
    }
  }

  private func problemsOfSuccess(
    _ call: FaultedCall, _ result: SheafProcess.Result, _ bench: Workbench
  ) throws -> [String] {
    var problems: [String] = []
    switch scenario.purpose {
    case .answer:
      // A compaction's estimate may be unknown, with the reason.
      if let reason = call.reason, result.outputText.contains("  Unknown: "),
        // The line may be wrapped anywhere.
        result.outputText.split(whereSeparator: \.isWhitespace).joined(separator: " ")
          .contains(reason)
      {
        break
      }
      if Self.lasting(result.outputText) != Self.lasting(output) {
        problems.append("another answer: \(result.outputText)")
      }
    case .same: break
    case .exchange:
      if try Self.contents(bench) != after { problems.append("it is not done") }
    case .file(let name):
      if try bench.read(name) != file { problems.append("another file") }
    case .copy(let name):
      if (try? bench.read(name).count) != file.count { problems.append("another copy") }
    case .batches, .replacements, .whole:
      let (one, other) = (try Report(result.output), try Report(Array(output.utf8)))
      for key in ["read", "imported", "updated", "skipped", "unchanged", "rejected", "filtered"]
      where one[key].int != other[key].int {
        problems.append("\(key): \(one[key].int ?? -1), not \(other[key].int ?? -1)")
      }
      if try Self.contents(bench) != after { problems.append("it is not complete") }
    }
    return problems
  }

  /// What is wrong with the files afterwards, and after the command has run again.
  private func problemsOfState(_ bench: Workbench) throws -> [String] {
    var problems = try unsound(bench, "")
    switch scenario.purpose {
    case .file(let name):
      let found = try bench.read(name)
      if found != file, found != (try start.read(name)) { problems.append("half a file") }
    case .copy(let name):
      if let status = try? System.status(path: bench.path(name)), status.size > 0 {
        let check = try SheafProcess.run(["check", bench.path(name)])
        if check.status != 0 { problems.append("a copy that is none: \(check.outputText)") }
      }
    case .answer, .same, .exchange, .batches, .replacements, .whole: break
    }
    let rows = try Self.contents(bench).rows
    switch scenario.purpose {
    case .answer, .file, .copy, .same:
      if rows != before.rows { problems.append("other rows") }
    case .whole, .exchange:
      if rows != before.rows, rows != after.rows { problems.append("half of the rows") }
    case .batches:
      if !rows.starts(with: before.rows) || !after.rows.starts(with: rows) {
        problems.append("no prefix")
      }
    case .replacements: break
    }
    guard scenario.goesOn else {
      let again = try Self.run(scenario, source, bench, nil)
      if again.status != 0 { problems.append("again: \(again.errorText)") }
      return problems + Self.left(bench)
    }
    let again = try Self.run(scenario, source, bench, nil, ["--resume"])
    if again.status != 0 { problems.append("going on: \(again.errorText)") }
    if try Self.contents(bench) != after { problems.append("another end after going on") }
    return try problems + unsound(bench, "after going on, ") + Self.left(bench)
  }

  /// The parts of an answer that do not depend on time and place.
  private static func lasting(_ answer: String) -> [Substring] {
    answer.split(separator: "\n").map { line in
      line.split(separator: "/").last?.split(separator: " in ").first ?? line
    }
  }

  private func unsound(_ bench: Workbench, _ when: String) throws -> [String] {
    guard Self.hasDatabase(bench) else { return [] }
    let check = try SheafProcess.run(["check", bench.database])
    // Before anything was written to the file it is no database yet.
    if check.status == 0 || check.outputText.contains("(it is empty)") { return [] }
    return ["\(when)check: \(check.outputText)\(check.errorText)"]
  }

  /// Files that a completed run has left.
  private static func left(_ bench: Workbench) -> [String] {
    bench.names().filter {
      $0.contains("-lock") || $0.contains("-temporary") || $0.hasPrefix(".sheaf")
    }.map { "\($0) is left" }
  }

  // MARK: Folders

  private static func hasDatabase(_ bench: Workbench) -> Bool {
    (try? System.status(path: bench.database).size) ?? 0 > 0
  }

  private static func contents(_ bench: Workbench) throws -> Contents {
    var contents = Contents()
    if hasDatabase(bench) {
      // A database without a table has no rows.
      contents.rows = try SheafProcess.run(["export", bench.database]).output
    }
    let newest = bench.lastRejects("r")
    contents.newest = [newest, newest + ".reasons.jsonl"].map { try? bench.read($0) }
    for name in bench.names() where name.hasPrefix("r.") {
      for line in try bench.read(name).split(separator: 0x0A) {
        contents.rejects.insert(Array(line))
      }
    }
    return contents
  }

  private static func copy(_ bench: Workbench) throws -> Workbench {
    let copy = try Workbench()
    for name in bench.names() {
      try FileManager.default.copyItem(atPath: bench.path(name), toPath: copy.path(name))
    }
    return copy
  }

  private static func run(
    _ scenario: FaultScenario, _ source: Workbench, _ bench: Workbench, _ fault: String?,
    _ more: [String] = []
  ) throws -> SheafProcess.Result {
    var words = scenario.words(source, bench)
    words += more.filter { !words.contains($0) }
    let process = try SheafProcess(
      words,
      environment: ["SWIFT_BACKTRACE": "enable=no"].merging(
        fault.map { ["SHEAF_FAULT": $0] } ?? [:]
      ) {
        $1
      })
    if let input = scenario.input { try process.send(source.read(input)) }
    return process.finish(within: 30)
  }
}
