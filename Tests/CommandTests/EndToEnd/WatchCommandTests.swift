import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf watch` prints each change once, and behind it the version that has it.
@Suite struct WatchCommandTests {
  private func users(_ suffix: String, _ ids: some Sequence<Int>) -> String {
    "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func load(_ bench: Workbench, _ text: String) throws {
    // Each import has a name of its own, so that it is one commit whose version the next import keeps.
    let name = "\(UInt64.random(in: 0...UInt64.max)).csv"
    try bench.write(name, text)
    // The lock file exists while `watch` runs.
    let result = try SheafProcess.run([
      "import", bench.path(name), "--into", bench.database, "--table", "users", "--key", "id",
      "--on-conflict", "update", "--quiet",
    ])
    #expect(result.status == 0 && result.errorText.isEmpty, "\(result.errorText)")
  }

  private func lines(_ text: String) throws -> [Report] {
    try text.split(separator: "\n").map { try Report(Array($0.utf8) + [0x0A]) }
  }

  @Test("sheaf watch begins at a kept version")
  func fromAKeptVersion() throws {
    let bench = try Workbench()
    try load(bench, users("a", 1...10))
    try bench.run(["tag", bench.database, "start"])
    try load(bench, users("b", 9...12))
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "other", "--quiet"], input: "x\n1\n")
    let text = try bench.run(
      ["watch", bench.database, "--since", "start", "--idle", "0"]
    ).outputText
    let all = try lines(text)
    // The version that it begins with, the changes, and the version reached.
    #expect(all.count == 7)
    let newest = try bench.report(["info", bench.database])["version"].int
    #expect(all[0]["version"].int.map { $0 < newest ?? 0 } == true)
    #expect(all[6]["version"].int == newest)
    #expect(all[1...5].filter { $0["table"].text == "other" }.count == 1)
    let own = all[1...5].filter { $0["table"].text == "users" }
    #expect(own.map { $0["change"].text } == ["changed", "changed", "inserted", "inserted"])
    #expect(own.map { $0["key"].int } == [9, 10, 11, 12])
    // From the newest version: only its number.
    let nothing = try lines(bench.run(["watch", bench.database, "--idle", "0"]).outputText)
    #expect(nothing.count == 1 && nothing[0]["version"].int == newest)
    // One table, filtered.
    let some = try lines(
      bench.run([
        "watch", bench.database, "--since", "start", "--idle", "0", "--table", "users", "--where",
        "id == 11",
      ]).outputText)
    #expect(some.count == 3 && some[1]["key"].int == 11)
    // A table that was created since.
    let made = try lines(
      bench.run([
        "watch", bench.database, "--since", "start", "--idle", "0", "--table", "other",
      ]).outputText)
    #expect(made.count == 3 && made[1]["object"]["x"].int == 1)
    try bench.run(
      ["watch", bench.database, "--since", "start", "--idle", "0", "--table", "no"], status: .usage)
    try bench.run(["watch", bench.database, "--since", "1000", "--idle", "0"], status: .usage)
    try bench.run(["watch", bench.database, "--where", "id == 1", "--idle", "0"], status: .usage)
    // A filter that fits no column ends it at once, and not with the first change.
    let unfit = try bench.run(
      ["watch", bench.database, "--table", "users", "--where", "nosuch > 3", "--idle", "0"],
      status: .usage)
    #expect(unfit.outputText.isEmpty && unfit.errorText.contains("nosuch"))
  }

  /// While others commit no change is missing or repeated, and `watch` can resume at every printed
  /// version.
  @Test func whileOthersWrite() throws {
    let bench = try Workbench()
    try load(bench, users("0", 1...5))
    try bench.run(["keep", bench.database, "--versions", "50"])
    let process = try SheafProcess(["watch", bench.database, "--idle", "3"])
    // It begins with the newest version, which it prints.
    #expect(process.waitForOutput(containing: "\"version\":"))
    for night in 1...8 { try load(bench, users("\(night)", night...night + 4)) }
    let result = process.finish(within: 60)
    #expect(result.status == 0, "\(result.errorText)")
    var names: [Int: String] = Dictionary(
      uniqueKeysWithValues: (1...5).map { ($0, "name \($0) 0") })
    var versions: [Int] = []
    for line in try lines(result.outputText) {
      if let version = line["version"].int {
        #expect(versions.last.map { $0 < version } ?? true)
        versions.append(version)
        // The changes printed so far lead to that version.
        guard versions.count > 1 else { continue }
        let text = try bench.run(
          ["query", bench.database, "id > 0", "--at", "\(version)", "--format", "csv"])
          .outputText
        let known = names.sorted { $0.key < $1.key }.map { "\($0.key),\($0.value)\n" }.joined()
        #expect(text == "id,name\n" + known, "version \(version)")
      } else if let key = line["key"].int {
        let isNew = line["change"].text == "inserted"
        #expect((names[key] == nil) == isNew, "\(key)")
        if !isNew { #expect(line["columns"]["name"]["old"].text == names[key]) }
        names[key] =
          isNew ? line["object"]["name"].text : line["columns"]["name"]["new"].text
      }
    }
    #expect(names.count == 12 && versions.count > 1)
  }

  private func copy(_ bench: Workbench, _ name: String) throws -> String {
    let path = bench.path(name)
    try Data(bench.read("t.sheaf")).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func started(_ bench: Workbench) throws -> (process: SheafProcess, version: Int) {
    let version = try #require(bench.report(["info", bench.database])["version"].int)
    let process = try SheafProcess(["watch", bench.database])
    #expect(process.waitForOutput(containing: "\"version\":\(version),"))
    return (process, version)
  }

  @Test("It ends when its file is removed, moved, or replaced by another database or an older file")
  func displaced() throws {
    for event in ["removed", "moved", "another", "older"] {
      let bench = try Workbench()
      try load(bench, users("a", 1...3))
      let older = try copy(bench, "older")
      try load(bench, users("b", 3...4))
      let (process, version) = try started(bench)
      switch event {
      case "removed": try System.remove(bench.database)
      case "moved": try System.rename(bench.database, to: bench.path("m.sheaf"))
      case "older": try System.rename(older, to: bench.database)
      default:
        let other = try Workbench()
        try load(other, users("a", 1...3))
        for name in ["x", "y"] { try load(other, users(name, 1...9)) }
        try System.rename(copy(other, "other"), to: bench.database)
      }
      let result = process.wait(within: 30)
      #expect(result.status == 74, "\(event): \(result.errorText)")
      #expect(result.errorText.split(separator: "\n").count == 1, "\(result.errorText)")
      #expect(result.errorText.contains(event == "moved" ? "was moved to" : "was removed"))
      #expect(result.errorText.hasSuffix("--since \(version)\n"), "\(result.errorText)")
      #expect(try lines(result.outputText).count == 1)
      bench.expectNothingLeft()
    }
  }

  /// Puts a copy with a change in the database's place.
  private func replace(_ bench: Workbench, _ change: (Workbench) throws -> Void) throws {
    let next = try Workbench()
    try System.rename(copy(bench, "next"), to: next.database)
    try change(next)
    try System.rename(copy(next, "next"), to: bench.path("next"))
    try System.rename(bench.path("next"), to: bench.database)
  }

  @Test("It ends when the version that it has printed last is not kept in the other file")
  func notKept() throws {
    let bench = try Workbench()
    try load(bench, users("a", 1...3))
    let (process, version) = try started(bench)
    // As many objects as before, and no version has a time.
    try replace(bench) { try load($0, users("b", 3...3)) }
    let result = process.wait(within: 30)
    #expect(result.status == 64, "\(result.errorText)")
    #expect(result.errorText.contains("is not kept"), "\(result.errorText)")
    #expect(result.errorText.hasSuffix("--since \(version)\n"), "\(result.errorText)")
    bench.expectNothingLeft()
  }

  @Test("It goes on in another file of its database, with the version that it has printed last")
  func replaced() throws {
    let bench = try Workbench()
    try load(bench, users("a", 1...3))
    try bench.run(["keep", bench.database, "--versions", "5"])
    let (process, version) = try started(bench)
    try replace(bench) { try load($0, users("b", 3...4)) }
    #expect(process.waitForOutput(containing: "name 4 b"))
    try load(bench, users("c", 4...5))
    #expect(process.waitForOutput(containing: "name 5 c"))
    process.signal(System.interruptSignal)
    let result = process.finish(within: 30)
    #expect(result.status == 130, "\(result.errorText)")
    let all = try lines(result.outputText)
    #expect(all.filter { $0["version"].int == version }.count == 1)
    #expect(all.compactMap { $0["key"].int } == [3, 4, 4, 5])
    bench.expectNothingLeft()
  }

  /// A signal ends it between two lines, with the signal's status, however long `--idle` is.
  @Test(arguments: [[], ["--idle", "9223372036854775807"], ["--idle", "9300000000"]])
  func interrupted(idle: [String]) throws {
    let bench = try Workbench()
    try load(bench, users("a", 1...3))
    for number in ["9223372036854775808", "1e400", "-1"] {
      try bench.run(["watch", bench.database, "--idle", number], status: .usage)
    }
    let process = try SheafProcess(["watch", bench.database] + idle)
    let deadline = System.monotonicNanoseconds + 30_000_000_000
    // The lock file exists as long as the database is open.
    while !bench.names().contains(where: { $0.contains("-lock") }),
      System.monotonicNanoseconds < deadline
    { System.sleep(milliseconds: 5) }
    System.sleep(milliseconds: 300)
    process.signal(System.interruptSignal)
    let result = process.finish(within: 30)
    #expect(result.status == 130)
    #expect(try lines(result.outputText).count == 1)
    bench.expectNothingLeft()
  }

  @Test("A filter whose column is renamed ends the watch with the version up to which it was right")
  func renamedColumn() throws {
    let bench = try Workbench()
    try load(bench, users("a", 1...3))
    let version = try #require(bench.report(["info", bench.database])["version"].int)
    let process = try SheafProcess([
      "watch", bench.database, "--table", "users", "--where", "name != 'x'",
    ])
    #expect(process.waitForOutput(containing: "\"version\":\(version),"))
    let renamed = try SheafProcess.run([
      "alter", bench.database, "--table", "users", "--rename", "name:label",
    ])
    #expect(renamed.status == 0, "\(renamed.errorText)")
    #expect(process.waitForOutput(containing: "\"version\":\(version + 1),"))
    try bench.write("c.csv", "id,label\n9,nine\n")
    let changed = try SheafProcess.run([
      "import", bench.path("c.csv"), "--into", bench.database, "--table", "users", "--key", "id",
      "--quiet",
    ])
    #expect(changed.status == 0, "\(changed.errorText)")
    let result = process.finish()
    #expect(result.status == 65, "\(result.errorText)")
    #expect(result.errorText.contains("'name'") && result.errorText.contains("'users'"))
    let last = try #require(try lines(result.outputText).last?["version"].int)
    #expect(result.errorText.contains("what was printed ends with --since \(last)"))
  }
}
