import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Runs docs/nightly.md: its blocks are taken from the page, with the program's path and a folder put
/// in.
@Suite struct NightlyTests {
  static let folder = "/srv/sheaf"
  static let program = "/usr/local/bin/sheaf"

  /// The page's blocks in one language, in order.
  private func blocks(_ language: String) throws -> [String] {
    let page = String(decoding: try Repository.read("docs/nightly.md"), as: UTF8.self)
    var blocks: [String] = []
    var block: String?
    for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
      if let open = block {
        if line == "```" {
          blocks.append(open)
          block = nil
        } else {
          block = open + line + "\n"
        }
      } else if line == "```" + language {
        block = ""
      }
    }
    return blocks
  }

  /// The text with the built program's path and the test's own folder.
  private func placed(_ text: String, _ bench: Workbench) throws -> String {
    #expect(text.contains(Self.folder))
    let folder = System.directory(of: bench.path("x"))
    return try text.replacingOccurrences(of: Self.folder, with: folder)
      .replacingOccurrences(of: Self.program, with: SheafProcess.program())
  }

  private func shell(_ script: String, _ bench: Workbench) throws -> SheafProcess.Result {
    try bench.write("script.sh", script)
    let syntax = try SheafProcess.run(["-n", bench.path("script.sh")], program: "/bin/sh")
    #expect(syntax.status == 0 && syntax.error.isEmpty, "\(syntax.errorText)")
    return try SheafProcess.run([bench.path("script.sh")], program: "/bin/sh")
  }

  private func users(_ count: Int, _ name: String) -> String {
    "id,name\n" + (1...count).map { "\($0),\(name) \($0)\n" }.joined()
  }

  private func lastRun(_ bench: Workbench) throws -> Report {
    let line = try #require(try bench.text("runs.jsonl").split(separator: "\n").last)
    return try Report(Array(line.utf8) + [0x0A])
  }

  /// The counts that a night's run has to report.
  private func expect(
    _ run: Report, _ imported: Int, _ updated: Int, _ unchanged: Int,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(
      ["imported", "updated", "unchanged", "exitStatus"].map { run[$0].int }
        == [imported, updated, unchanged, 0], sourceLocation: sourceLocation)
  }

  /// Three nights of the command: new, unchanged, changed.
  @Test func theCommand() throws {
    let bench = try Workbench()
    let script = try placed(try #require(try blocks("sh").first), bench)
    try bench.write("users.csv", users(30, "a"))
    for (imported, updated, unchanged) in [(30, 0, 0), (0, 0, 30)] {
      let result = try shell(script, bench)
      #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
      #expect(result.outputText.split(separator: "\n").count == 1)
      expect(try lastRun(bench), imported, updated, unchanged)
    }
    try bench.write(
      "users.csv", users(31, "a").replacingOccurrences(of: "7,a 7\n", with: "7,b 7\n"))
    #expect(try shell(script, bench).status == 0)
    expect(try lastRun(bench), 1, 1, 29)
    try bench.write("users.csv", users(31, "a") + (1...101).map { _ in "1\n" }.joined())
    let refused = try shell(script, bench)
    #expect(refused.status == 65 && refused.errorText.split(separator: "\n").count == 1)
    #expect(try lastRun(bench)["exitStatus"].int == 65)
  }

  /// Each line of the crontab, as cron runs it: the part behind the five fields, `\%` as `%`, by `sh
  /// -c`.
  @Test func theCrontab() throws {
    let bench = try Workbench()
    let block = try #require(try blocks("cron").first)
    try bench.write("users.csv", users(30, "a"))
    let lines = block.split(separator: "\n")
    #expect(lines.count == 2)
    for line in lines {
      let words = line.split(separator: " ", maxSplits: 5)
      #expect(words.count == 6)
      for field in words.prefix(5) {
        #expect(field.allSatisfy { $0.isNumber || "*,-/".contains($0) }, "\(line)")
      }
      let command = String(words[5])
      // An unescaped `%` would end the command.
      #expect(!command.replacingOccurrences(of: "\\%", with: "").contains("%"))
      let result = try shell(
        placed(command.replacingOccurrences(of: "\\%", with: "%"), bench), bench)
      #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
      #expect(result.output.isEmpty)
    }
    #expect(try bench.text("nightly.log").split(separator: "\n").count == 2)
    #expect(try bench.text("runs.jsonl").split(separator: "\n").count == 2)
    #expect(try lastRun(bench)["command"].text == "compact")
    if let crontab = Tools.path("crontab") {
      try bench.write("crontab", block)
      let result = try SheafProcess.run(["-T", bench.path("crontab")], program: crontab)
      #expect(result.status == 0 || result.errorText.contains("option"), "\(result.errorText)")
    }
  }

  @Test("The systemd units of the page run the import")
  func theUnits() throws {
    let bench = try Workbench()
    let units = try blocks("ini")
    #expect(units.count == 2)
    let service = try placed(units[0], bench)
    try bench.write("sheaf-users.service", service)
    try bench.write("sheaf-users.timer", units[1])
    try bench.write("users.csv", users(30, "a"))
    // The command as systemd runs it: words split at blanks, %% as %, without a shell.
    let start = try #require(
      service.split(separator: "\n").first { $0.hasPrefix("ExecStart=") })
    let words = start.dropFirst("ExecStart=".count).split(separator: " ").map {
      $0.replacingOccurrences(of: "%%", with: "%")
    }
    let result = try SheafProcess.run(Array(words.dropFirst()), program: words[0])
    #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
    expect(try lastRun(bench), 30, 0, 0)
    for arguments in [
      ["verify", bench.path("sheaf-users.service"), bench.path("sheaf-users.timer")]
    ] {
      guard let verified = try Tools.run("systemd-analyze", arguments) else { return }
      let about = verified.errorText.split(separator: "\n").filter { $0.contains("sheaf-users") }
      #expect(verified.status == 0 && about.isEmpty, "\(verified.errorText)")
    }
    let calendar = try #require(
      units[1].split(separator: "\n").first { $0.hasPrefix("OnCalendar=") })
    let checked = try Tools.run(
      "systemd-analyze", ["calendar", String(calendar.dropFirst("OnCalendar=".count))])
    if let checked { #expect(checked.status == 0, "\(checked.errorText)") }
  }

  @Test("The cron script of the page is quiet unless the import fails")
  func theWrapper() throws {
    let bench = try Workbench()
    let script = try placed(try blocks("sh")[1], bench)
    #expect(script.hasPrefix("#!/bin/sh\n"))
    try bench.write("users.csv", users(30, "a"))
    let done = try shell(script, bench)
    #expect(done.status == 0 && done.error.isEmpty && done.output.isEmpty, "\(done.errorText)")
    try System.remove(bench.path("users.csv"))
    let missing = try shell(script, bench)
    #expect(missing.status == 66)
    #expect(missing.errorText.hasPrefix("sheaf-nightly: status 66: 20"), "\(missing.errorText)")
    #expect(missing.errorText.contains("users.csv: cannot read the input"))
    #expect(try bench.text("nightly.log").split(separator: "\n").count == 2)
    #expect(try bench.text("runs.jsonl").split(separator: "\n").count == 2)
  }

  @Test("The health check of the page reports a missing or failed run")
  func theMonitor() throws {
    let bench = try Workbench()
    let command = try placed(try blocks("sh")[0], bench)
    let script = try placed(try blocks("sh")[2], bench)
    #expect(try shell(script, bench).errorText == "sheaf-healthy: no run for 26 hours\n")
    try bench.write("users.csv", users(3, "a"))
    #expect(try shell(command, bench).status == 0)
    let healthy = try shell(script, bench)
    #expect(healthy.status == 0 && healthy.error.isEmpty, "\(healthy.errorText)")
    try System.remove(bench.path("users.csv"))
    #expect(try shell(command, bench).status == 66)
    let failed = try shell(script, bench)
    #expect(failed.status == 1)
    #expect(failed.errorText.hasPrefix("sheaf-healthy: the last run failed: {\"command\""))
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSinceNow: -27 * 3600)],
      ofItemAtPath: bench.path("runs.jsonl"))
    #expect(try shell(script, bench).errorText == "sheaf-healthy: no run for 26 hours\n")
  }

  /// The commands of the page's sections, in order, as on one machine.
  @Test func theSections() throws {
    let bench = try Workbench()
    let commands = try blocks("night")
    #expect(commands.count == 10)
    func run(_ index: Int, status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation)
      throws
      -> String
    {
      let text = commands[index].replacingOccurrences(
        of: "(?m)^sheaf ", with: Self.program + " ", options: .regularExpression)
      let result = try shell("set -e\n" + placed(text, bench), bench)
      #expect(
        result.status == status, "\(commands[index]): \(result.errorText)",
        sourceLocation: sourceLocation)
      return result.outputText + result.errorText
    }
    func users(_ ids: some Sequence<Int>, _ name: String, at: String) -> String {
      "id,name,region,joined,updated_at\n"
        + ids.map {
          "\($0),\(name) \($0),\($0 % 2 == 0 ? "eu" : "us"),2026-01-0\($0 % 9 + 1),\(at)\n"
        }.joined()
    }
    try FileManager.default.createDirectory(
      atPath: bench.path("log"), withIntermediateDirectories: false)
    // The same full extract twice, half of it, and one with another column.
    try bench.write("users.csv", users(1...200, "a", at: "2026-11-20"))
    _ = try run(0)
    try bench.write("users.csv", users(5...200, "a", at: "2026-11-20"))
    _ = try run(0)
    #expect(try userCount(bench) == 196)
    #expect(try bench.text("users.prom").contains("sheaf_last_run_deleted{command=\"import\""))
    try bench.write("users.csv", users(5...90, "a", at: "2026-11-20"))
    #expect(try run(0, status: 65).contains("--min-records"))
    try bench.write(
      "users.csv",
      users(5...200, "a", at: "2026-11-20").replacingOccurrences(of: "name,", with: "Name,"))
    #expect(try run(0, status: 65).contains("'Name'"))
    #expect(try bench.text("users.prom").contains("users.sheaf\"} 65\n"))
    try bench.write("users.csv", users(5...200, "a", at: "2026-11-20"))
    _ = try run(0)
    // A delta with newer, older and blank values and another region; then the same again.
    try bench.write(
      "delta.csv",
      "id,name,region,joined,updated_at\n6,new 6,eu,,2026-11-21\n8,old 8,eu,,2026-11-19\n"
        + "7,new 7,us,,2026-11-21\n300,new 300,eu,2026-11-21,2026-11-21\n")
    _ = try run(1)
    #expect(try run(1).contains("nothing to do"))
    let names = try bench.run([
      "query", database(bench), "id in (6, 7, 8, 300)", "--columns", "name,joined", "--format",
      "csv",
    ])
    #expect(
      names.outputText
        == "name,joined\nnew 6,2026-01-07\na 7,2026-01-08\na 8,2026-01-09\nnew 300,2026-11-21\n")
    // A log: each file is imported once, also under another name.
    try bench.write(
      "log/1.csv", "day,what\n2026-08-01,a\n" + (1...9).map { "2026-11-0\($0),b\n" }.joined())
    _ = try run(2)
    try bench.write("log/2.csv", try bench.text("log/1.csv"))
    try bench.write("log/3.csv", "day,what\n2026-11-10,c\n")
    _ = try run(2)
    #expect(try bench.run(["query", bench.path("log.sheaf"), "--count"]).outputText == "11\n")
    // `verify` fails after the delta, and passes once the extract is imported again.
    #expect(try run(3, status: 65).contains("key '6'"))
    try bench.write("users.csv", users(5...200, "b", at: "2026-11-22"))
    _ = try run(0)
    #expect(try run(3).contains("all there: 196 records"))
    #expect(try bench.text("receipt.json").contains("\"sha256\":\""))
    // Retention, and a type that is given later.
    #expect(try run(4).contains("deleted 1 object from"))
    _ = try run(5)
    let joined = try bench.run(["query", database(bench), "joined > 2026-01-08", "--count"])
      .outputText
    #expect(joined == "22\n")
    // A bad night, and its undo.
    _ = try run(6)
    try bench.write("users.csv", users(5...200, "wrong", at: "2026-11-23"))
    _ = try run(0)
    let told = try run(7)
    #expect(
      told.contains("196") && told.contains("\"new\":\"wrong 6\"")
        && told.contains("back at version"))
    #expect(try bench.run(["log", database(bench)]).outputText.contains("complete, undone"))
    try bench.write(
      "users.csv", users(5...200, "b", at: "2026-11-22") + "201,c,eu,2026-02-01,2026-11-23\n")
    #expect(try run(8).contains("\"version\":"))
    #expect(try bench.text("changes.jsonl").split(separator: "\n").count == 1)
    _ = try run(9)
    _ = try run(9)
    #expect(try bench.run(["check", bench.path("backup.sheaf")]).status == 0)
    #expect(
      try bench.run(["export", bench.path("backup.sheaf")]).outputText
        == bench.run(["export", database(bench)]).outputText)
  }

  private func database(_ bench: Workbench) -> String { bench.path("users.sheaf") }

  private func userCount(_ bench: Workbench) throws -> Int? {
    Int(try bench.run(["query", database(bench), "--count"]).outputText.dropLast())
  }

  /// The page's table of statuses is that of the program.
  @Test func theStatuses() throws {
    let page = String(decoding: try Repository.read("docs/nightly.md"), as: UTF8.self)
    var listed: Set<Int32> = []
    for line in page.split(separator: "\n") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard line.hasPrefix("|"), cells.count == 3 else { continue }
      for number in cells[0].split(separator: ",") {
        if let status = Int32(number.trimmingCharacters(in: .whitespaces)) { listed.insert(status) }
      }
    }
    #expect(listed == Set(Command.ExitStatus.allCases.map(\.rawValue)))
  }
}
