import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf backup` and `sheaf restore`: first copies, later ones, restoring, and kills at any moment.
@Suite struct BackupCommandTests {
  private func users(_ suffix: String, _ ids: some Sequence<Int> = 1...300) -> String {
    "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func load(_ bench: Workbench, _ text: String, _ more: [String] = []) throws {
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "users", "--key", "id",
        "--on-conflict", "update", "--quiet",
      ] + more, input: text)
  }

  private func export(_ bench: Workbench, _ name: String, _ more: String...) throws -> String {
    try bench.run(["export", bench.path(name)] + more).outputText
  }

  @Test("A backup after each import brings the copy up to date")
  func nightAfterNight() throws {
    let bench = try Workbench()
    let copy = bench.path("copy.sheaf")
    func backup() throws -> Report { try bench.report(["backup", bench.database, "--to", copy]) }
    try load(bench, users("a"))
    try bench.run(["keep", bench.database, "--versions", "3"])
    let first = try backup()
    #expect(first["command"].text == "backup" && first["decision"].text == "copied")
    #expect(first["bytesCopied"].int ?? 0 > 4000 && first["bytesSkipped"].int == 0)
    #expect(first["to"].text == copy && first["database"].text == bench.database)
    #expect(try backup()["decision"].text == "unchanged")
    for night in ["b", "c"] {
      try load(bench, users(night, 1...5))
      let report = try backup()
      #expect(report["decision"].text == "updated")
      let info = try bench.report(["info", bench.database])
      #expect(report["version"].int == info["version"].int)
      #expect(try export(bench, "copy.sheaf") == bench.export())
    }
    try bench.run(["tag", bench.database, "good"])
    #expect(try backup()["decision"].text == "updated")
    // The copy has the versions and tags, and answers queries like any database.
    let (one, other) = (
      try bench.run(["versions", bench.database]).outputText,
      try bench.run(["versions", copy]).outputText
    )
    #expect(one.split(separator: "\n").count == other.split(separator: "\n").count)
    #expect(
      try export(bench, "copy.sheaf", "--at", "good") == bench.export("--at", "good"))
    #expect(
      try bench.run(["query", copy, "id == 7", "--count"]).outputText
        == bench.run(["query", bench.database, "id == 7", "--count"]).outputText)
    try bench.run(["check", copy, "--deep"])
    let info = try bench.report(["info", copy])
    #expect(info["tables"].count == 1)
    let before = try bench.export()
    // The file is lost.
    try FileManager.default.removeItem(atPath: bench.database)
    let back = try bench.report(["restore", copy, "--to", bench.database])
    #expect(back["command"].text == "restore" && back["decision"].text == "copied")
    #expect(try bench.export() == before)
    try bench.run(["check", bench.database, "--deep"])
    // The error still says which file it was.
    #expect(
      try bench.run(["log", bench.database]).outputText == bench.run(["log", copy]).outputText)
    try load(bench, users("d", 3...4))
    #expect(try backup()["decision"].text == "updated")
    #expect(try export(bench, "copy.sheaf") == bench.export())
  }

  @Test("What a copy alone has is not lost to a database that was restored from another one")
  func differentWays() throws {
    let bench = try Workbench()
    let (first, second) = (bench.path("first.sheaf"), bench.path("second.sheaf"))
    try load(bench, users("a"))
    try bench.run(["backup", bench.database, "--to", first])
    try load(bench, users("b", 301...310))
    try bench.run(["backup", bench.database, "--to", second])
    let kept = try export(bench, "second.sheaf")
    try bench.run(["restore", first, "--to", bench.database, "--force"])
    // Behind, beside and before the copy.
    for night in 1...4 {
      try load(bench, users("c", (400 + night)...(400 + night)))
      let refused = try bench.run(
        ["backup", bench.database, "--to", second], status: .cannotCreate)
      if night > 1 { #expect(refused.errorText.contains("way"), "\(refused.errorText)") }
      #expect(try export(bench, "second.sheaf") == kept)
      // The copy from which it was restored has nothing that it lacks.
      try bench.run(["backup", bench.database, "--to", first])
    }
    // Nor the other way round: the older line has come further.
    let own = try export(bench, "first.sheaf")
    try bench.run(["restore", second, "--to", bench.path("other.sheaf")])
    for night in 1...9 {
      let words = ["import", "-", "--into", bench.path("other.sheaf"), "--table", "users"]
      try bench.run(
        words + ["--key", "id", "--on-conflict", "update"], input: users("d", night...night))
    }
    try bench.run(["backup", bench.path("other.sheaf"), "--to", second])
    let message = try bench.run(
      ["restore", second, "--to", bench.database], status: .cannotCreate
    ).errorText
    #expect(message.contains("has gone another way"), "\(message)")
    #expect(try bench.export() == own)
    // A copy of the database itself may replace it, also when it was restored from one before.
    try bench.run(["restore", first, "--to", bench.database])
    try bench.run(["backup", bench.database, "--to", first])
  }

  @Test("A backup refuses wrong options and files of others")
  func whatIsRefused() throws {
    let bench = try Workbench()
    let copy = bench.path("copy.sheaf")
    try load(bench, users("a"))
    try bench.run(["backup", bench.database], status: .usage)
    try bench.run(["backup", bench.database, "--to", bench.database], status: .usage)
    try bench.run(["backup", bench.path("none"), "--to", copy], status: .inputMissing)
    try bench.write("text", "no database")
    for more in [[], ["--force"]] {
      try bench.run(
        ["backup", bench.database, "--to", bench.path("text")] + more, status: .cannotCreate)
      #expect(try bench.text("text") == "no database")
    }
    // A copy that cannot be made is reported as an output, not as a missing input.
    for command in ["backup", "restore"] {
      for place in [bench.path("no/copy.sheaf"), bench.path("text") + "/copy.sheaf"] {
        try bench.run([command, bench.database, "--to", place], status: .cannotCreate)
      }
    }
    // An input that cannot be opened is not reported as an output, even if one name begins with the
    // other.
    for (source, copy) in [("night.sheaf", "night"), ("dawn", "dawn.sheaf")] {
      try FileManager.default.createDirectory(
        atPath: bench.path(source), withIntermediateDirectories: false)
      try bench.run(
        ["backup", bench.path(source), "--to", bench.path(copy)], status: .inputMissing)
      try bench.run(
        ["backup", bench.database, "--to", bench.path("no\(copy)/copy")], status: .cannotCreate)
    }
    // The copy's path has another database.
    try bench.run(["import", "-", "--into", copy], input: "k\nv\n")
    let refused = try bench.run(["backup", bench.database, "--to", copy], status: .cannotCreate)
    #expect(refused.errorText.contains("another database") && refused.errorText.contains("--force"))
    #expect(try export(bench, "copy.sheaf") == "k\nv\n")
    try bench.run(["backup", bench.database, "--to", copy, "--force"])
    // A database that has newer commits than the copy is not restored without `--force`.
    try load(bench, users("b"))
    let newer = try bench.run(["restore", copy, "--to", bench.database], status: .cannotCreate)
    #expect(newer.errorText.contains("would be lost"))
    #expect(try bench.export() == users("b"))
    let database = try Database.open(bench.database)
    let busy = try SheafProcess.run(["restore", copy, "--to", bench.database, "--force"])
    #expect(busy.status == ExitStatus.busy.rawValue)
    try database.close()
    let text = try bench.run(["restore", copy, "--to", bench.database, "--force"]).outputText
    #expect(text.hasPrefix("\(bench.database): version "))
    #expect(try bench.export() == users("a"))
    // A database that cannot be read is not replaced either.
    try bench.write("t.sheaf", String(repeating: "SheafDB\n", count: 4096))
    let unknown = try bench.run(["restore", copy, "--to", bench.database], status: .cannotCreate)
    #expect(unknown.errorText.contains("cannot be told"))
    try bench.run(["restore", copy, "--to", bench.database, "--force"])
    #expect(try bench.export() == users("a"))
  }

  #if DEBUG
    /// A first copy, a later one and a restoration are killed at every write, flush, growth and rename.
    @Test(arguments: ["write", "flush", "resize", "rename"])
    func kills(call: String) throws {
      let bench = try Workbench()
      let copy = bench.path("copy.sheaf")
      try load(bench, users("a", 1...100))
      try bench.run(["backup", bench.database, "--to", bench.path("first")])
      let first = try bench.read("first")
      try load(bench, users("b", 1...20))
      let (old, new) = (try export(bench, "first"), try bench.export())
      let commands = [
        ["backup", bench.database, "--to", copy], ["backup", bench.database, "--to", copy],
        ["restore", copy, "--to", bench.path("back.sheaf")],
      ]
      for (round, command) in commands.enumerated() {
        for number in 1..<80 {
          try? FileManager.default.removeItem(atPath: bench.path("back.sheaf"))
          if round == 0 { try? FileManager.default.removeItem(atPath: copy) }
          if round == 1 { try Data(first).write(to: URL(fileURLWithPath: copy)) }
          let result = try SheafProcess.run(
            command,
            environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
          let wasKilled = result.signal == System.killSignal
          #expect(wasKilled || result.status == 0, "\(command) \(number): \(result.errorText)")
          let made = round == 2 ? "back.sheaf" : "copy.sheaf"
          // The next process that opens the database removes the lock file of a killed one.
          for name in ["t.sheaf", "copy.sheaf", made] {
            _ = try SheafProcess.run(["info", bench.path(name), "--report", "json"])
          }
          if FileManager.default.fileExists(atPath: bench.path(made)) {
            let text = try export(bench, made)
            #expect(text == new || (round == 1 && text == old), "\(command) \(number)")
            try bench.run(["check", bench.path(made), "--deep"])
          } else {
            #expect(wasKilled && round != 1, "\(command) \(number)")
          }
          if !wasKilled { break }
          if round < 2 {
            try bench.run(command)
            #expect(try export(bench, made) == new, "\(command) \(number)")
          }
          #expect(number < 79, "it never ends by itself")
        }
      }
      #expect(bench.names().filter { $0.hasPrefix(".sheaf-output") }.isEmpty)
    }
  #endif
}
