import Base
import Foundation
import Testing

@testable import Command
@testable import Engine

/// Commands wait for other processes as long as `--wait` says, print that they do, and end with status
/// 75.
@Suite(.timeLimit(.minutes(60))) struct WaitOptionTests {
  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1,2\n3,4\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
    return bench
  }

  private func commands(_ bench: Workbench) -> [[String]] {
    let database = bench.database
    return [
      ["info", database], ["check", database], ["export", database], ["query", database],
      ["import", bench.path("in.csv"), "--into", database, "--table", "t", "--dry-run"],
      ["import", bench.path("in.csv"), "--into", database, "--table", "t"],
    ]
  }

  /// Runs the commands at the same time.
  private func results(_ commands: [[String]], _ more: [String], meanwhile: () throws -> Void)
    throws -> [SheafProcess.Result]
  {
    let processes = try commands.map { try SheafProcess($0 + more) }
    try meanwhile()
    return processes.map { $0.finish() }
  }

  /// The table's part of `info`, which shows that nothing was changed.
  private func count(_ bench: Workbench) throws -> String {
    try bench.run(["query", bench.database, "--count", "--format", "csv"]).outputText
  }

  @Test("A command waits for a compaction as long as --wait says, and names who has the file")
  func aCompactionIsWaitedFor() throws {
    let bench = try filled()
    let database = try Database.open(bench.database)
    #expect(try database.coordination.becomeAlone())
    let who = "process \(System.processIdentifier), which has the file for itself alone"
    let compact = ["compact", bench.database]
    for (command, result) in zip(
      commands(bench) + [compact],
      try results(commands(bench) + [compact], ["--wait", "2"]) {})
    {
      let name = command[0]
      #expect(result.status == 75, "\(command): \(result.errorText)")
      let lines = result.errorText.split(separator: "\n").map(String.init)
      // Jobs first wait for other jobs.
      if command.count > 2 && command.last != "--dry-run" || name == "compact" {
        #expect(result.errorText.contains(who) || result.errorText.contains("another import"))
        continue
      }
      #expect(lines.count == 2, "\(command): \(result.errorText)")
      #expect(
        lines.first?.hasPrefix("sheaf \(name): \(bench.database): waiting for \(who)") == true)
      #expect(
        lines.last?.hasPrefix("sheaf \(name): \(bench.database): in use: \(who)") == true,
        "\(lines)")
      #expect(lines.last?.contains("it was waited for 2 seconds") == true, "\(lines)")
      #expect(lines.last?.contains("--wait") == true)
    }
    let patient = try results(Array(commands(bench).prefix(5)), ["--wait", "30"]) {
      System.sleep(milliseconds: 1600)
      try database.coordination.shareAgain()
    }
    for result in patient {
      #expect(result.status == 0, "\(result.errorText)")
      #expect(result.errorText.split(separator: "\n").count == 1)
      #expect(result.errorText.contains(": waiting for \(who)"), "\(result.errorText)")
    }
    try database.close()
    #expect(try count(bench) == "count\n2\n")
  }

  @Test("A process stuck in opening the file is waited for until --wait or a signal ends that")
  func aStuckOpeningIsNotWaitedForForEver() throws {
    let bench = try filled()
    let database = try Database.open(bench.database)
    // Any process that may read the lock file can do this.
    let descriptor = try System.openRegular(bench.database + "-lock", writable: false)
    defer { System.close(descriptor) }
    #expect(
      try System.lock(
        descriptor, .shared, at: Coordination.LockByte.registration, length: 1, wait: false,
        path: ""))
    for result in try results(Array(commands(bench).prefix(5)), ["--wait", "0"], meanwhile: {}) {
      #expect(result.status == 75)
      #expect(result.errorText.contains("a process that is just opening the file"))
      #expect(result.errorText.split(separator: "\n").count == 1)
    }
    // A signal ends the wait also of commands that otherwise finish their batch first.
    let given = try SheafProcess(commands(bench)[5] + ["--wait", "30", "--report", "line"])
    #expect(given.waitForError(containing: "waiting for a process that is just opening"))
    given.signal(SIGINT)
    let result = given.finish()
    #expect(result.status == 130)
    // Lines for a log begin with the time.
    for line in result.errorText.split(separator: "\n") {
      #expect(line.contains("Z sheaf import: "), "\(line)")
    }
    let quiet = try SheafProcess.run(commands(bench)[5] + ["--wait", "2", "--quiet"])
    #expect(quiet.status == 75 && quiet.errorText.split(separator: "\n").count == 1)
    #expect(
      try System.lock(
        descriptor, .none, at: Coordination.LockByte.registration, length: 1, wait: false, path: "")
    )
    try database.close()
    #expect(try count(bench) == "count\n2\n")
  }

  @Test("An import waits for another program's transaction as long as --wait says")
  func anImportWaitsForAProgramsTransaction() throws {
    let bench = try filled()
    let database = try Database.open(bench.database)
    let transaction = try database.beginWrite()
    let words = commands(bench)[5]
    let who = "process \(System.processIdentifier), which is in a write transaction"
    let refused = try SheafProcess.run(words + ["--wait", "2"])
    #expect(refused.status == 75)
    #expect(refused.errorText.contains(": waiting for \(who)"), "\(refused.errorText)")
    #expect(refused.errorText.contains("in use: \(who)"), "\(refused.errorText)")
    let compact = try SheafProcess.run(["compact", bench.database, "--wait", "1"])
    #expect(compact.status == 75 && compact.errorText.contains("in use: \(who)"))
    let patient = try SheafProcess(words + ["--wait", "30"])
    #expect(patient.waitForError(containing: who))
    transaction.rollBack()
    #expect(patient.finish().status == 0)
    try database.close()
    #expect(try count(bench) == "count\n4\n")
  }

  /// A writer that is stopped right after a commit: no message says that committed work is missing.
  @Test func aStoppedImportKeepsNobodyFromReading() throws {
    let bench = try filled()
    let size = try System.status(path: bench.database).size
    let stopped = try SheafProcess([
      "import", "-", "--into", bench.database, "--table", "u", "--batch-size", "1",
    ])
    // Much more than is looked at before the first commit, and few commits: standard input stays open.
    let rest = String(repeating: "x", count: 150)
    try stopped.send("a\n" + (1...2000).map { "\($0)\(rest)\n" }.joined())
    stopped.waitWhile { ((try? System.status(path: bench.database).size) ?? 0) <= size }
    stopped.signal(SIGSTOP)
    let reading = [["info"], ["check"], ["export", "--table", "t"], ["query", "--table", "t"]]
    for words in reading {
      let result = try SheafProcess.run(
        [words[0], bench.database] + words.dropFirst() + ["--wait", "1"])
      #expect(result.status == 0, "\(words): \(result.errorText)")
    }
    let other = try SheafProcess.run(commands(bench)[5] + ["--wait", "1"])
    #expect(other.status == 75)
    stopped.signal(SIGCONT)
    stopped.signal(SIGKILL)
    _ = stopped.finish()
    try bench.run(["check", bench.database])
  }
}
