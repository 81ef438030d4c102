import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf delete` removes the matching objects in one transaction, which can be undone.
@Suite struct DeleteCommandTests {
  private func filled(_ more: String...) throws -> Workbench {
    let bench = try Workbench()
    let rows = (1...40).map {
      "\($0),2026-11-\($0 % 20 + 1 < 10 ? "0" : "")\($0 % 20 + 1),\($0 % 3 == 0 ? "" : "x")\n"
    }
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "log", "--key", "id", "--quiet",
        "--batch-size", "7",
      ] + more, input: "id,day,note\n" + rows.joined())
    return bench
  }

  @Test("Old objects are deleted, and a kept version still has them")
  func retention() throws {
    let bench = try filled("--keep-versions", "3")
    try bench.run(["keep", bench.database, "--versions", "3"])
    let before = try bench.export()
    let file = try bench.read("t.sheaf")
    let words = ["delete", bench.database, "day < 2026-11-11"]
    let dry = try bench.report(words + ["--dry-run"])
    #expect(dry["deleted"].int == 20 && dry["objects"].int == 20 && dry["version"].isNull)
    #expect(try bench.read("t.sheaf") == file)
    #expect(try bench.run(words + ["--dry-run"]).outputText.hasPrefix("dry run: 20 objects of 40"))
    let report = try bench.report(words)
    #expect(report["deleted"].int == 20 && report["objectsBefore"].int == 40)
    let lines = before.split(separator: "\n")
    let left = [lines[0]] + lines.dropFirst().filter { $0.split(separator: ",")[1] >= "2026-11-11" }
    #expect(try bench.export().split(separator: "\n") == left)
    #expect(try bench.report(["info", bench.database])["version"].int == report["version"].int)
    let list = try bench.report(["versions", bench.database])["versions"]
    #expect(list[list.count - 1]["madeBy"].text?.hasPrefix("sheaf delete day < ") ?? true)
    #expect(
      try bench.run(["diff", bench.database, "--summary", "--format", "csv"]).outputText
        .hasSuffix("\nlog,0,20,0\n"))
    try bench.run(["undo", bench.database])
    #expect(try bench.export() == before)
    // If nothing matches, no version is made.
    let version = try bench.report(["info", bench.database])["version"].int
    let none = try bench.report(["delete", bench.database, "id > 1000"])
    #expect(none["deleted"].int == 0 && none["version"].isNull)
    #expect(try bench.report(["info", bench.database])["version"].int == version)
    // An expression over a null is unknown and selects nothing; without an expression all objects are
    // selected.
    #expect(try bench.report(["delete", bench.database, "note != 'x'"])["deleted"].int == 0)
    #expect(try bench.report(["delete", bench.database, "note is null"])["deleted"].int == 13)
    #expect(try bench.report(["delete", bench.database, "id > 0"])["objects"].int == 0)
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
    // Deleted keys can be imported again.
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "log", "--quiet"],
      input: "id,day,note\n7,2026-11-30,y\n")
    #expect(try bench.export().hasSuffix("7,2026-11-30,y\n"))
  }

  @Test("Nothing is deleted when more objects match than --max-deletes allows")
  func limits() throws {
    let bench = try filled()
    let file = try bench.read("t.sheaf")
    for (most, isDone) in [("9", false), ("22%", false), ("0", false), ("10", true)] {
      for more in [["--dry-run"], []] {
        let result = try bench.run(
          ["delete", bench.database, "id <= 10", "--max-deletes", most] + more,
          status: isDone ? .done : .dataRefused)
        if !isDone {
          #expect(result.errorText.contains("10 of the 40 objects of table 'log' match"))
          #expect(try bench.read("t.sheaf") == file)
        }
      }
    }
    #expect(
      try bench.report(["delete", bench.database, "id == 11", "--max-deletes", "4%"])["objects"].int
        == 29)
  }

  @Test("Wrong expressions and options delete nothing")
  func whatIsRefused() throws {
    let bench = try filled()
    let file = try bench.read("t.sheaf")
    for expression in ["", "  ", "nobody == 1", "id == 'x'", "id ==", "day > 3"] {
      try bench.run(["delete", bench.database, expression], status: .usage)
    }
    try bench.run(["delete", bench.database], status: .usage)
    try bench.run(["delete", bench.database, "id > 1", "--table", "no"], status: .usage)
    try bench.run(["delete", bench.path("none.sheaf"), "id > 1"], status: .inputMissing)
    #expect(try bench.read("t.sheaf") == file)
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "other", "--quiet"], input: "x\n1\n")
    try bench.run(["delete", bench.database, "id > 1"], status: .usage)
    #expect(
      try bench.report(["delete", bench.database, "x == 1", "--table", "other"])["objects"].int == 0
    )
    // A file that its user may not write.
    #if DEBUG
      for words in [
        ["delete", bench.database, "id > 1"], ["alter", bench.database, "--rename", "note:text"],
        ["keep", bench.database, "--versions", "3"], ["tag", bench.database, "a"],
        ["undo", bench.database],
      ] {
        let table = ["delete", "alter"].contains(words[0]) ? ["--table", "log"] : []
        let result = try SheafProcess.run(
          words + table, environment: ["SHEAF_FAULT": "open:2:EACCES:\(bench.path("calls"))"])
        #expect(
          result.status == Command.ExitStatus.cannotCreate.rawValue, "\(words) \(result.errorText)")
      }
    #endif
  }
}
