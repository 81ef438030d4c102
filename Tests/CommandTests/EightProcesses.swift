import Base
import Engine
import Foundation
import Synchronization
import TestSupport

/// Eight processes on one file, each started again when it has ended. Some are killed at random
/// moments, some are stopped for a while, as a debugger or a sleeping machine does.
///
/// Thread rule: `run` is called once; its threads call the rest.
final class EightProcesses: Sendable {
  /// What each of the eight does.
  private enum Role: Int, CaseIterable {
    case first, second, third
    case reader, restlessReader
    /// A user who may not write in the folder: writers do not find it in the lock file.
    case otherUser
    /// A reader that opens the file by a hard link, or on a read-only mount.
    case elsewhere
    /// `sheaf`: imports, compacts, checks and exports.
    case program
  }

  private let folder: String
  private let path: String
  private let seed: UInt64
  private let end: UInt64
  private let problems = Mutex<[String]>([])
  private let counts = Mutex<[String: Int]>([:])

  private static let importedRows = 400

  init(_ folder: TemporaryFolder, seed: UInt64, seconds: Double) throws {
    self.folder = folder.path("")
    path = folder.path("a.sheaf")
    self.seed = seed
    end = System.monotonicNanoseconds &+ UInt64(seconds * 1e9)
    let rows = (1...Self.importedRows).map { "\($0),\(Self.text($0))\n" }.joined()
    try folder.write("imported.csv", Array(("number,text\n" + rows).utf8))
  }

  /// Spelled as by `CrowdRules.text`.
  private static func text(_ number: Int) -> String {
    String(repeating: "row \(number) of 0 ", count: number % 5 + 1)
  }

  /// How often each thing was done, for the record.
  var figures: String {
    counts.withLock { $0.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } }
      .joined(separator: ", ")
  }

  /// Runs them all. Returns what went wrong.
  func run() throws -> [String] {
    // It makes the tables, which all others expect.
    let first = CrowdMember.join(
      try CrowdMember.start(["writer", path, "0.01", "1", "\(folder)/p1"]))
    if let problem = first.problem { return ["the first writer: \(problem)"] }
    let threads = try Role.allCases.map { role in
      try Base.Thread(name: "member") { [self] in
        var random = SplitMix64(seed: seed &+ UInt64(role.rawValue) &* 1_000_003)
        while System.monotonicNanoseconds < end, problems.withLock({ $0.isEmpty }) {
          do { try runOnce(role, &random) } catch { note("\(role): \(error)") }
        }
      }
    }
    for thread in threads { thread.join() }
    return problems.withLock { $0 }
  }

  private func note(_ problem: String) { problems.withLock { $0.append(problem) } }

  private func count(_ what: String) { counts.withLock { $0[what, default: 0] += 1 } }

  // MARK: One process

  private struct Command {
    let what: String
    let program: String
    let words: [String]
    /// Statuses that are no problem.
    var statuses: Set<Int32> = [0]
    /// A file that it leaves and the next run does not need.
    var leavings: String?
  }

  private func runOnce(_ role: Role, _ random: inout SplitMix64) throws {
    let left = Double(end &- System.monotonicNanoseconds) / 1e9
    let seconds = "\(min(left, Double.random(in: 0.5...4, using: &random)))"
    let command = try command(role, seconds, &random)
    defer { if let name = command.leavings { try? System.remove(name) } }
    let process = try SheafProcess(command.words, program: command.program)
    process.closeInput()
    count(command.what)
    // The first writer and the first reader are never disturbed.
    if role != .first, role != .reader { disturb(process, &random) }
    let result = process.finish()
    if result.signal == 9 { return count("kills") }
    guard let status = result.status, command.statuses.contains(status) else {
      return note(
        "\(command.what): status \(result.status ?? -1), signal \(result.signal ?? 0): "
          + result.errorText.suffix(600))
    }
  }

  /// Stops a process for a while, kills it, does both, or neither.
  private func disturb(_ process: SheafProcess, _ random: inout SplitMix64) {
    func pause(_ milliseconds: ClosedRange<UInt32>) {
      System.sleep(milliseconds: UInt32.random(in: milliseconds, using: &random))
    }
    if Int.random(in: 0..<3, using: &random) == 0 {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        pause(2...200)
        process.signal(SIGSTOP)
        count("stops")
        pause(5...400)
        process.signal(SIGCONT)
      }
    }
    if Int.random(in: 0..<3, using: &random) > 0 {
      pause(2...500)
      process.signal(9)
    }
  }

  private func command(_ role: Role, _ seconds: String, _ random: inout SplitMix64) throws
    -> Command
  {
    let crowd = try CrowdMember.program()
    let number = "\(role.rawValue + 1)"
    switch role {
    case .first, .second, .third:
      return Command(
        what: "writers", program: crowd,
        words: ["writer", path, seconds, number, "\(folder)/p\(number)"])
    case .reader, .restlessReader:
      return Command(what: "readers", program: crowd, words: ["reader", path, seconds, number])
    case .otherUser:
      let words = [crowd, "onlooker", path, seconds, number]
      guard isRoot, TemporaryFolder.canBeEnteredByOthers, Self.isThere("/usr/bin/setpriv")
      else { return onlooker(words) }
      return Command(
        what: "readers of another user", program: "/usr/bin/setpriv",
        words: ["--reuid=65534", "--regid=65534", "--clear-groups"] + words)
    case .elsewhere:
      return try Bool.random(using: &random)
        ? byLink(crowd, seconds, number) : mounted(crowd, seconds, number)
    case .program: return try sheaf(&random)
    }
  }

  private static func isThere(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: path)
  }

  private var isRoot: Bool { System.userIdentifier == 0 }

  private func onlooker(_ words: [String]) -> Command {
    Command(what: "onlookers", program: words[0], words: Array(words.dropFirst()))
  }

  /// Opens the file by another name, beside which there is another lock file.
  private func byLink(_ crowd: String, _ seconds: String, _ number: String) throws -> Command {
    let other = "\(folder)/b.sheaf"
    guard Self.isThere(path), link(path, other) == 0 else {
      return onlooker([crowd, "onlooker", path, seconds, number])
    }
    return Command(
      what: "readers by a hard link", program: crowd,
      words: ["onlooker", other, seconds, number], leavings: other)
  }

  /// Mounts the folder a second time, read-only, for this process alone.
  private func mounted(_ crowd: String, _ seconds: String, _ number: String) -> Command {
    let words = [crowd, "onlooker", path, seconds, number]
    guard isRoot, mountsAreAllowed else { return onlooker(words) }
    return Command(
      what: "readers of a read-only mount", program: "/usr/bin/unshare",
      words: ["-m", "/bin/sh", "-c", Self.mounting, "sh", folder] + words)
  }

  private static let mounting =
    "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\""

  private var mountsAreAllowed: Bool {
    guard Self.isThere("/usr/bin/unshare") else { return false }
    let result = try? SheafProcess.run(
      ["-m", "/bin/sh", "-c", Self.mounting, "sh", folder, "true"], program: "/usr/bin/unshare")
    return result?.status == 0
  }

  private func sheaf(_ random: inout SplitMix64) throws -> Command {
    let program = try SheafProcess.program()
    switch Int.random(in: 0..<14, using: &random) {
    case 0..<4:
      let durability = ["full", "group", "none"].randomElement(using: &random) ?? "full"
      let again = Bool.random(using: &random) ? ["--truncate"] : ["--resume"]
      return Command(
        what: "imports", program: program,
        words: [
          "import", "\(folder)/imported.csv", "--into", path, "--table", "imported",
          "--batch-size", "20", "--durability", durability, "--quiet",
        ] + again, statuses: [0, 75])
    case 4, 5:
      return Command(
        // The file of a reader by a hard link is left as it is.
        what: "compactions", program: program, words: ["compact", path],
        statuses: [0, 73, 75])
    case 6, 7:
      return Command(
        what: "compactions in use", program: program,
        words: ["compact", path, "--online", "--wait", "1"], statuses: [0, 75])
    case 8, 9:
      return Command(
        what: "imports published at once", program: program,
        words: [
          "import", "\(folder)/imported.csv", "--into", path, "--table", "published",
          "--batch-size", "30", "--publish", "end", "--truncate", "--quiet",
        ] + (Bool.random(using: &random) ? ["--resume"] : []), statuses: [0, 75])
    case 10:
      return Command(
        what: "backups", program: program,
        words: ["backup", path, "--to", "\(folder)/copy.sheaf"], statuses: [0, 75])
    case 11 where Self.isThere("\(folder)/copy.sheaf"):
      return Command(
        what: "readers of the copy", program: try CrowdMember.program(),
        words: ["onlooker", "\(folder)/copy.sheaf", "0.2", "9"])
    case 12:
      return Command(
        what: "checks", program: program, words: ["check", path, "--deep"],
        statuses: [0, 75])
    default:
      return Command(
        what: "exports", program: program,
        words: ["export", path, "--table", "log"], statuses: [0, 75])
    }
  }
}
