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
  }

  /// While others commit no change is missing or repeated, and `watch` can resume at every printed
  /// version.
  @Test func whileOthersWrite() throws {
    let bench = try Workbench()
    try load(bench, users("0", 1...5))
    try bench.run(["keep", bench.database, "--versions", "50"])
    let process = try SheafProcess(["watch", bench.database, "--idle", "3"])
    try process.send("")
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
}
