import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf log` lists the imports of a file, also those that were killed, resumed or undone.
@Suite struct LogCommandTests {
  private func users(_ suffix: String, _ ids: some Sequence<Int> = 1...50) -> String {
    "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func runs(_ bench: Workbench, _ more: String...) throws -> [Report] {
    let list = try bench.report(["log", bench.database] + more)["runs"]
    return (0..<list.count).map { list[$0] }
  }

  private func words(_ bench: Workbench, _ files: String...) -> [String] {
    ["import"] + files.map { bench.path($0) } + [
      "--into", bench.database, "--table", "users", "--key", "id", "--on-conflict", "update",
    ]
  }

  /// The counts add up, and are those of the run's own report.
  private func expectSame(_ run: Report, _ report: Report) {
    for name in [
      "read", "imported", "updated", "skipped", "unchanged", "rejected", "filtered", "batches",
    ] {
      #expect(run[name].int == report[name].int, "\(name)")
    }
  }

  @Test("sheaf log lists every import")
  func everyImportIsListed() throws {
    let bench = try Workbench()
    try bench.write("one.csv", users("a"))
    try bench.write("two.csv", users("a", 1...40) + "41,x,y\n" + users("b", 42...60).dropFirst(8))
    try bench.run(["log", bench.database], status: .inputMissing)
    var reports = [try bench.report(words(bench, "one.csv"))]
    reports.append(try bench.report(words(bench, "one.csv", "two.csv") + ["--max-rejects", "5"]))
    reports.append(
      try bench.report(
        ["import", "-", "--into", bench.database, "--table", "other", "--batch-size", "10"],
        input: users("c")))
    let all = try runs(bench)
    #expect(all.map { $0["run"].int } == [1, 2, 3])
    #expect(all.allSatisfy { $0["status"].text == "complete" })
    #expect(all.map { $0["table"].text } == ["users", "users", "other"])
    for (run, report) in zip(all, reports) { expectSame(run, report) }
    #expect(reports[1]["rejected"].int == 1 && reports[1]["updated"].int == 9)
    // Equal inputs have equal checksums, others have different ones.
    let first = all[0]["inputs"][0]
    let again = all[1]["inputs"]
    #expect(again.count == 2 && again[0]["checksum"].text == first["checksum"].text)
    #expect(again[1]["checksum"].text != first["checksum"].text)
    #expect(first["path"].text == bench.path("one.csv") && first["complete"].bool == true)
    #expect(first["size"].int == users("a").utf8.count)
    #expect(all[2]["inputs"][0]["path"].text == "-" && all[2]["inputs"][0]["size"].isNull)
    #expect(all[2]["inputs"][0]["bytesRead"].int == users("c").utf8.count)
    // Each run's versions follow those of the run before; the newest version is the last run's.
    for (before, after) in zip(all, all.dropFirst()) {
      #expect(before["version"].int == after["before"].int)
    }
    let info = try bench.report(["info", bench.database])
    #expect(all[2]["version"].int == info["version"].int)
    #expect(try runs(bench, "--limit", "1").map { $0["run"].int } == [3])
    #expect(try runs(bench, "--table", "users").map { $0["run"].int } == [1, 2])
    // The log is not listed as a table.
    #expect(info["tables"].count == 2)
    #expect(try bench.report(["check", bench.database, "--deep"])["tables"].int == 2)
    let text = try bench.run(["log", bench.database]).outputText
    #expect(text.contains("complete") && text.contains("two.csv") && text.contains("3 imports"))
  }

  @Test("sheaf log marks imports that were undone")
  func undoneRunsStay() throws {
    let bench = try Workbench()
    try bench.run(["import", "-", "--into", bench.database, "--quiet"], input: users("0"))
    try bench.run(["keep", bench.database, "--versions", "5"])
    for (name, text) in [("a.csv", users("a")), ("b.csv", users("b"))] {
      try bench.write(name, text)
      _ = try bench.report(words(bench, name))
    }
    func undone() throws -> [Bool?] { try runs(bench).map { $0["undone"].bool } }
    let before = try runs(bench)
    #expect(before.count == 3)
    #expect(try undone() == [false, false, false])
    try bench.run(["undo", bench.database])
    #expect(try runs(bench).map { $0["version"].int } == before.map { $0["version"].int })
    #expect(try undone() == [false, false, true])
    #expect(try bench.run(["log", bench.database]).outputText.contains("complete, undone"))
    // `undo` undoes an undo, and again.
    try bench.run(["undo", bench.database])
    #expect(try undone() == [false, false, false])
    try bench.run(["undo", bench.database])
    #expect(try undone() == [false, false, true])
    // Going back to a version before the second table: all tables go back, the log does not.
    let first = try bench.report(["versions", bench.database])["versions"][0]["version"].int ?? 0
    try bench.run(["undo", bench.database, "--to", "\(first)", "--all"])
    #expect(try runs(bench).count == 3)
    #expect(try undone() == [false, true, true])
    _ = try bench.report(words(bench, "b.csv"))
    #expect(try undone() == [false, true, true, false])
    #expect(try runs(bench).map { $0["run"].int } == [1, 2, 3, 4])
    try bench.run(["compact", bench.database, "--quiet"])
    #expect(try runs(bench).count == 4)
    try bench.run(["compact", bench.database, "--drop-versions", "--quiet"])
    #expect(try runs(bench).count == 4)
    #expect(try undone() == [false, true, true, false])
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  /// Deletions are logged, also by emptying the table, except those of a run that was undone.
  @Test func deletions() throws {
    let bench = try Workbench()
    try bench.write("a.csv", users("a"))
    _ = try bench.report(words(bench, "a.csv"))
    for more in [["--truncate"], ["--truncate", "--batch-size", "7"]] {
      let report = try bench.report(words(bench, "a.csv") + more)
      #expect(report["deleted"].int == 50 && report["objects"].int == 50)
      #expect(
        try bench.run(words(bench, "a.csv") + more).outputText.contains(
          "  deleted     50 objects that were there before\n"))
    }
    try bench.write("bad.csv", users("b") + "x,y,z\n")
    try bench.run(words(bench, "bad.csv") + ["--truncate"], status: .dataRefused)
    #expect(try runs(bench).map { $0["deleted"].int } == [0, 50, 50, 50, 50])
  }

  @Test("sheaf log has all that an import with an error has committed")
  func failedRuns() throws {
    let bench = try Workbench()
    try bench.write("a.csv", users("a", 1...40) + "41,x,y,z\n")
    try bench.run(words(bench, "a.csv") + ["--batch-size", "10"], status: .dataRefused)
    let failed = try #require(try runs(bench).last)
    #expect(failed["status"].text == "unfinished")
    #expect(failed["imported"].int == 40 && failed["batches"].int == 4)
    #expect(failed["inputs"][0]["read"].int == 40 && failed["inputs"][0]["complete"].bool == false)
    let newest = try bench.report(["info", bench.database])["version"].int
    #expect(failed["version"].int == newest)
  }

  /// Another file comes under the name of one whose import has failed: that is an import of its own, which
  /// can be undone by itself. Its changes begin before both, since nobody has had those of the first.
  @Test func anotherDeliveryUnderTheName() throws {
    let bench = try Workbench()
    try bench.write("zero.csv", users("0", 1...10))
    _ = try bench.report(words(bench, "zero.csv") + ["--keep-versions", "9"])
    let more = ["--batch-size", "10", "--keep-versions", "9", "--resume"]
    try bench.write("a.csv", users("a", 11...30) + "31,x,y,z\n")
    try bench.run(words(bench, "a.csv") + more, status: .dataRefused)
    try bench.write("a.csv", users("b", 21...35))
    _ = try bench.report(words(bench, "a.csv") + more + ["--changes", bench.path("c.csv")])
    let all = try runs(bench)
    #expect(all.map { $0["status"].text } == ["complete", "unfinished", "complete"])
    #expect(all.map { $0["imported"].int } == [10, 20, 5])
    #expect(all.map { $0["updated"].int } == [0, 0, 10])
    #expect(try bench.text("c.csv").split(separator: "\n").count == 25)
    try bench.run(["undo", bench.database])
    #expect(try bench.export() == users("0", 1...10) + users("a", 11...30).dropFirst(8))
  }

  /// Each import of a file that grows counts the new records only, also when it ends by an error and goes on.
  @Test func grownFiles() throws {
    let bench = try Workbench()
    func grow(_ ids: ClosedRange<Int>, _ more: String = "") throws {
      let text = try bench.names().contains("a.csv") ? bench.text("a.csv") : "id,v\n"
      try bench.write("a.csv", text + ids.map { "\($0),x\n" }.joined() + more)
    }
    let words = [
      "import", bench.path("a.csv"), "--into", bench.database, "--table", "t", "--resume",
      "--batch-size", "5",
    ]
    try grow(1...10)
    _ = try bench.report(words)
    try grow(11...15)
    let report = try bench.report(words)
    expectSame(try #require(try runs(bench).last), report)
    #expect(try runs(bench).map { $0["imported"].int } == [10, 5])
    try grow(16...36, "37,x,y\n")
    try bench.run(words, status: .dataRefused)
    #expect(try runs(bench).map { $0["imported"].int } == [10, 5, 20])
    _ = try bench.report(words + ["--max-rejects", "1"])
    let all = try runs(bench)
    #expect(all.map { $0["imported"].int } == [10, 5, 21])
    #expect(all.map { $0["read"].int } == [10, 5, 22])
    #expect(all[2]["inputs"][0]["read"].int == 22)
  }

  /// What is dropped before it was published does not count.
  @Test(arguments: [["--publish", "end"], ["--delete-missing", "--max-deletes", "unlimited"]])
  func droppedBeforePublication(more: [String]) throws {
    let bench = try Workbench()
    try bench.write("z.csv", users("z", 1...3))
    _ = try bench.report(words(bench, "z.csv"))
    let words = words(bench, "a.csv") + ["--batch-size", "10", "--resume"] + more
    try bench.write("a.csv", users("a", 101...120) + "b,a,d,x\n")
    try bench.run(words, status: .dataRefused)
    try bench.write("a.csv", users("b", 101...130))
    let report = try bench.report(words)
    let all = try runs(bench)
    #expect(all.count == 2 && all[1]["status"].text == "complete")
    #expect(all[1]["imported"].int == 30 && report["imported"].int == 30)
    #expect(all[1]["read"].int == 30)
  }

  /// An input of which nothing came counts what it had brought before, once; the list has their order.
  @Test func begunAnewInVain() throws {
    let bench = try Workbench()
    try bench.write("z.csv", users("z", 1...50))
    _ = try bench.report(words(bench, "z.csv"))
    let words = words(bench, "a.csv", "b.csv") + ["--batch-size", "10", "--resume"]
    try bench.write("a.csv", users("a", 101...110))
    try bench.write("b.csv", users("b", 201...220) + "b,a,d,x\n")
    try bench.run(words, status: .dataRefused)
    try bench.write("a.csv", users("a", 101...115))
    try bench.write("b.csv", "id,name\nq,w,e,r\n")
    try bench.run(words, status: .dataRefused)
    let last = try #require(try runs(bench).last)
    #expect(last["imported"].int == 35 && last["read"].int == 35)
    #expect(
      (0..<2).map { last["inputs"][$0]["path"].text } == ["a.csv", "b.csv"].map(bench.path))
  }

  /// The import has come to its end, although the compaction after it has not.
  @Test func failuresAfterTheEnd() throws {
    let bench = try Workbench()
    try bench.write("b.csv", users("b", 1...10))
    _ = try bench.report(words(bench, "b.csv"))
    try bench.write("a.csv", users("a", 11...20))
    try bench.write("t.sheaf-temporary", "my own")
    let result = try SheafProcess.run(
      words(bench, "a.csv", "b.csv") + ["--resume", "--compact", "always"])
    #expect(result.status == 73)
    try System.remove(bench.path("t.sheaf-temporary"))
    #expect(try runs(bench).map { $0["status"].text } == ["complete", "complete"])
  }

  /// A deletion that was refused and is repeated reads all inputs again: the counts are those of both.
  @Test func deletionsThatGoOn() throws {
    let bench = try Workbench()
    try bench.write("a.csv", users("a", 1...50))
    _ = try bench.report(words(bench, "a.csv"))
    try bench.write("b.csv", users("a", 21...90))
    let more = ["--delete-missing", "--resume", "--max-deletes"]
    try bench.run(words(bench, "b.csv") + more + ["10"], status: .dataRefused)
    _ = try bench.report(words(bench, "b.csv") + more + ["50"])
    let all = try runs(bench)
    #expect(all.map { $0["status"].text } == ["complete", "complete"])
    #expect(all.map { $0["imported"].int } == [50, 40])
    #expect(all[1]["unchanged"].int == 100 && all[1]["deleted"].int == 20)
    #expect(all[1]["read"].int == 140)
  }

  #if DEBUG
    /// A killed and resumed import is logged as one run with the counts of both; the version before it
    /// is kept once.
    @Test(arguments: [12, 40, 60])
    func killedAndResumed(_ number: Int) throws {
      let bench = try Workbench()
      try bench.write("zero.csv", users("0", 1...10))
      _ = try bench.report(words(bench, "zero.csv") + ["--keep-versions", "9"])
      try bench.write("one.csv", users("a", 1...20))
      try bench.write("two.csv", users("b", 10...40))
      let words =
        words(bench, "one.csv", "two.csv") + [
          "--batch-size", "1", "--durability", "full", "--keep-versions", "9", "--resume",
        ]
      let killed = try SheafProcess.run(
        words, environment: ["SHEAF_FAULT": "write:\(number):kill:\(bench.path("faults"))"])
      #expect(killed.signal == System.killSignal)
      let half = try runs(bench)
      #expect(half.count == 2 && half[1]["status"].text == "unfinished")
      try bench.run(words + ["--quiet"])
      let all = try runs(bench)
      #expect(all.count == 2 && all[1]["status"].text == "complete")
      #expect(all[1]["begun"].text == half[1]["begun"].text)
      #expect(all[1]["before"].int == all[0]["version"].int)
      #expect(all[1]["read"].int == 51 && all[1]["inputs"].count == 2)
      #expect(all[1]["imported"].int == 30 && all[1]["updated"].int == 21)
      #expect(all[1]["inputs"][0]["read"].int == 20 && all[1]["inputs"][1]["read"].int == 31)
      // One undo takes the whole of it back.
      #expect(try bench.report(["versions", bench.database])["versions"].count == 3)
      try bench.run(["undo", bench.database])
      #expect(try bench.export() == users("0", 1...10))
    }
  #endif
}
