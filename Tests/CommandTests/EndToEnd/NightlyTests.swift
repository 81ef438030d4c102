import Base
import Engine
import Foundation
import Testing

@testable import Command

/// docs/nightly.md as it stands: its blocks are taken out of the page, the program and the folder are
/// put in, and they are run.
@Suite struct NightlyTests {
  static let folder = "/srv/sheaf"
  static let program = "/usr/local/bin/sheaf"

  /// The blocks of a language, in the order of the page.
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

  /// The text with the built program and a folder of the test's own.
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

  /// Each line of the crontab, as cron runs it: what follows the five fields, `\%` as `%`, by `sh -c`.
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
      // An unescaped one would end the command.
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

  @Test func theUnits() throws {
    let bench = try Workbench()
    let units = try blocks("ini")
    #expect(units.count == 2)
    let service = try placed(units[0], bench)
    try bench.write("sheaf-users.service", service)
    try bench.write("sheaf-users.timer", units[1])
    try bench.write("users.csv", users(30, "a"))
    // What systemd would run: words at blanks, %% for %, without a shell.
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

  @Test func theWrapper() throws {
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

  @Test func theMonitor() throws {
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

  /// The page's table of statuses is the program's.
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
