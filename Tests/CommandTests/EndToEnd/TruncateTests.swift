import Base
import Engine
import Foundation
import Testing

@testable import Command

/// With `--truncate` readers see the old table or the new one, nothing in between.
@Suite struct TruncateTests {
  private let old = "a\n" + (1...3000).map { "\($0)\n" }.joined()

  private func bench() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("old.csv", old)
    try bench.run(words(bench, "old.csv"))
    return bench
  }

  private func words(_ bench: Workbench, _ names: String..., more: [String] = []) -> [String] {
    ["import"] + names.map(bench.path) + ["--into", bench.database, "--table", "t"] + more
  }

  private let truncate = ["--truncate"]

  @Test("A bad file leaves the old table, unless --batch-size is given")
  func aBadFileLeavesTheOldTable() throws {
    let bench = try bench()
    // The fault is behind the first batch of the usual size, in the second of two files.
    let bad = "a\n" + (1...2500).map { "\(-$0)\n" }.joined() + "1,2\n"
    try bench.write("good.csv", "a\n7\n")
    try bench.write("bad.csv", bad)
    for names in [["bad.csv"], ["good.csv", "bad.csv"]] {
      let refused = try bench.run(
        ["import"] + names.map(bench.path) + [
          "--into", bench.database, "--table", "t", "--truncate",
        ],
        status: .dataRefused)
      #expect(refused.errorText.contains("committed so far: 0 batches, 0 objects"))
      #expect(try bench.export() == old)
    }
    // A batch size that is given holds, also with `--truncate`.
    try bench.run(
      words(bench, "bad.csv", more: truncate + ["--batch-size", "1000"]), status: .dataRefused)
    #expect(try bench.export("--no-header").split(separator: "\n").count == 2000)
  }

  @Test("Several files replace a table in one step, also when one of them is empty")
  func severalFilesAreOneStep() throws {
    let bench = try bench()
    try bench.write("1.csv", "a,b\n1,x\n")
    try bench.write("2.csv", "a,c\n2.5,y\n")
    let report = try bench.report(words(bench, "1.csv", "2.csv", more: truncate))
    #expect(report["batches"].int == 2 && report["published"].bool == true)
    #expect(try bench.export() == "a,b,c\n1,x,\n2.5,,y\n")
    // The next night one file is empty; the other still replaces the old rows.
    try bench.write("1.csv", "")
    let next = try bench.run(words(bench, "1.csv", "2.csv", more: truncate))
    #expect(next.outputText.contains("1.csv is empty"))
    #expect(try bench.export("--no-header") == "2.5,,y\n")
    let again = try bench.report(words(bench, "2.csv", more: truncate + ["--resume"]))
    #expect(again["read"].int == 0)
  }

  @Test("With --resume the table is emptied unless these inputs alone have filled it")
  func resumedOnlyByItsOwn() throws {
    let bench = try Workbench()
    for (name, row) in [("a", 1), ("b", 2), ("c", 3)] {
      try bench.write("\(name).csv", "n\n\(row)\n")
    }
    let resumed = truncate + ["--resume"]
    func load(_ names: String..., more: [String] = []) throws -> String {
      try bench.run(words(bench, more: resumed + more) + names.map(bench.path))
      return try bench.export("--no-header").split(separator: "\n").joined(separator: " ")
    }
    #expect(try load("a.csv", "b.csv") == "1 2")
    // A file is gone, and another one has come.
    #expect(try load("b.csv", "c.csv") == "2 3")
    // A file is gone.
    #expect(try load("c.csv") == "3")
    // One has come.
    #expect(try load("a.csv", "c.csv") == "1 3")
    // Others have come between; unchanged inputs are read again, too.
    try bench.run(words(bench, "b.csv"))
    #expect(try load("a.csv", "c.csv") == "1 3")
    #expect(try bench.report(words(bench, "a.csv", "c.csv", more: resumed))["read"].int == 0)
    // After `undo` of a night, the list of imports tells of another table than there is.
    try bench.run(["keep", bench.database, "--versions", "9"])
    #expect(try load("a.csv") == "1")
    try bench.run(["undo", bench.database])
    #expect(try load("a.csv") == "1")
    // What was imported without --truncate may have come on top of others.
    try bench.write("d.csv", "n\n4\n")
    try bench.run(words(bench, "d.csv"))
    try bench.write("d.csv", "n\n4\n5\n")
    #expect(try load("d.csv") == "4 5")
    #expect(try load("d.csv", more: ["--batch-size", "1"]) == "4 5")
    try bench.write("d.csv", "n\n4\n5\n6\n")
    #expect(try load("d.csv", more: ["--batch-size", "1"]) == "4 5 6")
  }

  @Test("With --resume the inputs make the table in their order")
  func resumedInAnotherOrder() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "id,v\n1,a\n2,a\n")
    try bench.write("b.csv", "id,v\n2,b\n3,b\n")
    let more = ["--key", "id", "--on-conflict", "update", "--truncate", "--resume"]
    for (names, value, read) in [
      (["a.csv", "b.csv"], "b", 4), (["a.csv", "b.csv"], "b", 0), (["b.csv", "a.csv"], "a", 4),
      (["b.csv", "a.csv"], "a", 0),
    ] {
      let words =
        ["import"] + names.map(bench.path) + ["--into", bench.database, "--table", "t"] + more
      #expect(try bench.report(words)["read"].int == read)
      #expect(
        try bench.run(["query", bench.database, "id == 2 and v == '\(value)'", "--count"])
          .outputText == "1\n")
    }
  }

  @Test("With --resume many inputs make the table in their order")
  func manyInAnotherOrder() throws {
    let bench = try Workbench()
    let names = (1...101).map { "\($0).csv" }
    for name in names { try bench.write(name, "id,v\n1,\(name)\n") }
    for (order, last) in [(names, "101.csv"), (names.reversed(), "1.csv")] {
      let words =
        ["import"] + order.map(bench.path) + ["--into", bench.database, "--table", "t"]
        + ["--key", "id", "--on-conflict", "update", "--truncate", "--resume"]
      #expect(try bench.report(words)["read"].int == 101)
      #expect(try bench.export("--no-header") == "1,\(last)\n")
      #expect(try bench.report(words)["read"].int == 0)
    }
  }

  @Test("With --resume the table is emptied of what a killed import has with other options")
  func resumedOnlyWithTheSameOptions() throws {
    let bench = try Workbench()
    try bench.write("d.csv", "n\n4\n5\n")
    let begun = words(bench, "d.csv", more: ["--batch-size", "1"]) + ["-"]
    let process = try SheafProcess(begun + ["--where", "n > 4"])
    try process.send("n\n7\n8\n" + String(repeating: "9\n", count: 50_000))
    System.sleep(milliseconds: 500)
    process.signal(SIGKILL)
    _ = process.finish()
    #expect(try bench.export("--no-header").hasPrefix("5\n7\n8\n9\n"))
    try bench.run(begun + truncate + ["--resume"], input: "n\n7\n8\n")
    #expect(try bench.export("--no-header") == "4\n5\n7\n8\n")
  }

  @Test("What is pending of other inputs is dropped, and noted")
  func pendingOfOthers() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "n\n1\n")
    try bench.write("c.csv", "n\n3\n")
    let words = words(
      bench, more: truncate + ["--resume", "--batch-size", "1", "--publish", "end"])
    let process = try SheafProcess(words + [bench.path("a.csv"), "-"])
    try process.send("n\n7\n8\n" + String(repeating: "9\n", count: 50_000))
    System.sleep(milliseconds: 500)
    process.signal(SIGKILL)
    _ = process.finish()
    let next = try bench.run(words + [bench.path("c.csv")])
    #expect(next.outputText.contains("is dropped, and all inputs are read anew"), "\(next)")
    #expect(try bench.export("--no-header") == "3\n")
  }

  @Test("A full disk leaves the old table; with more room, the same import replaces it")
  func aFullDiskLeavesTheOldTable() throws {
    #if os(Linux)
      guard let disk = try SmallDisk(kilobytes: 256) else { return }
      let bench = try Workbench(root: disk.path)
      try bench.write("old.csv", old)
      try bench.run(words(bench, "old.csv"))
      let input = try Workbench()
      try input.write(
        "new.csv", "a,b\n" + (1...40_000).map { "\($0),\($0 &* 7_919_123 % 99_991)\n" }.joined())
      let words = [
        "import", input.path("new.csv"), "--into", bench.database, "--table", "t", "--truncate",
      ]
      let full = try SheafProcess.run(words)
      #expect(full.status == 74, "\(full.errorText)")
      #expect(try bench.export() == old)
      try disk.grow(kilobytes: 8192)
      try bench.run(words)
      #expect(try bench.export("--no-header").split(separator: "\n").count == 40_000)
    #endif
  }

  @Test("A killed or interrupted import leaves the old table, which readers also see meanwhile")
  func aKilledImportLeavesTheOldTable() throws {
    let bench = try bench()
    for more in [[], ["--resume"]] {
      let process = try SheafProcess(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--truncate",
        ] + more)
      try process.send("a\n" + (1...30_000).map { "\($0)\n" }.joined())
      System.sleep(milliseconds: 300)
      // A reader during the import.
      #expect(try SheafProcess.run(["export", bench.database]).outputText == old)
      process.signal(SIGKILL)
      _ = process.finish()
      #expect(try SheafProcess.run(["export", bench.database]).outputText == old)
    }
    // An interrupted import says that nothing was committed.
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--table", "t", "--truncate", "--report", "json",
    ])
    try process.send("a\n" + (1...30_000).map { "\($0)\n" }.joined())
    System.sleep(milliseconds: 300)
    process.signal(SIGINT)
    // The input stays open: its end would complete the import.
    let result = process.wait()
    #expect(result.status == 130)
    #expect(try bench.export() == old)
    try bench.run(["check", bench.database])
  }

  @Test("Input without records empties a table that has rows only with --allow-empty")
  func anEmptyInputIsRefused() throws {
    let bench = try bench()
    try bench.write("header.csv", "a\n")
    try bench.write("none.csv", "")
    for more in [[], ["--batch-size", "1000"], ["--dry-run"], ["--resume"]] {
      let refused = try bench.run(
        words(bench, "header.csv", more: truncate + more), status: .dataRefused)
      #expect(refused.errorText.contains("--allow-empty"), "\(more)")
      #expect(try bench.export() == old)
    }
    try bench.run(words(bench, "none.csv", more: truncate), status: .dataRefused)
    #expect(try bench.export() == old)
    // An empty file among others is no error.
    try bench.write("one.csv", "a\n1\n")
    try bench.run(
      words(bench, "header.csv", "one.csv", more: truncate + ["--batch-size", "1000"]))
    #expect(try bench.export() == "a\n1\n")
    try bench.run(words(bench, "header.csv", more: truncate + ["--allow-empty"]))
    #expect(try bench.export() == "a\n")
    // An empty table has nothing to lose.
    try bench.run(words(bench, "header.csv", more: truncate))
  }

  /// After five nights the file holds the old table and the new one, not more.
  @Test func freedSpaceIsUsedAgain() throws {
    let bench = try Workbench()
    var sizes: [Int] = []
    for night in 0..<5 {
      let rows = (1...20_000).map { "\($0),\(($0 + night) &* 7_919_123 % 999_983)\n" }
      try bench.write("t.csv", "a,b\n" + rows.joined())
      let report = try bench.report(words(bench, "t.csv", more: truncate))
      #expect(report["objects"].int == 20_000)
      sizes.append(try #require(report["file"]["total"].int))
    }
    #expect(Double(sizes.max() ?? 0) <= 2.1 * Double(sizes[0]), "\(sizes)")
    try bench.run(["check", bench.database])
  }

  @Test("--delete-missing --resume deletes after an import of the same inputs that did not delete")
  func deletionAddedLater() throws {
    let bench = try Workbench()
    let words = [
      "import", bench.path("n.csv"), "--into", bench.database, "--table", "t", "--key", "id",
      "--on-conflict", "update",
    ]
    try bench.write("n.csv", "id\n1\n2\n9\n")
    try bench.run(words)
    try bench.write("n.csv", "id\n1\n2\n")
    try bench.run(words)
    #expect(try bench.export("--no-header") == "1\n2\n9\n")
    try bench.run(words + ["--delete-missing", "--resume"])
    #expect(try bench.export("--no-header") == "1\n2\n")
    let again = try bench.report(words + ["--delete-missing", "--resume"])
    #expect(again["read"].int == 0 && again["batches"].int == 0)
    // Without it the same records would be there.
    let plain = try bench.report(words + ["--resume"])
    #expect(plain["notes"].count == 0, "\(plain["notes"])")
    let other = try bench.report(words + ["--resume", "--null", "1"])
    #expect(other["notes"].count == 1)
  }
}
