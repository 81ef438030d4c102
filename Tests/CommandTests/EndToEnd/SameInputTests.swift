import Engine
import Foundation
import Testing

@testable import Command

/// Which inputs `--resume` takes for ones that were imported before.
@Suite struct SameInputTests {
  /// The arguments of an import of some files into table `t`.
  private func words(_ bench: Workbench, _ names: String..., more: [String] = []) -> [String] {
    ["import"] + names.map(bench.path) + ["--into", bench.database, "--table", "t"] + more
  }

  private func move(_ bench: Workbench, _ name: String, to other: String) throws {
    try FileManager.default.moveItem(atPath: bench.path(name), toPath: bench.path(other))
  }

  /// A file whose contents return to those of an older file is a new input.
  @Test func aNewFileWithTheBytesOfAnOlderOne() throws {
    let bench = try Workbench()
    let keyed = ["--resume", "--key", "id", "--on-conflict", "update"]
    for (name, state) in [("1.csv", "open"), ("2.csv", "shut"), ("3.csv", "open")] {
      try bench.write(name, "id,state\n1,\(state)\n")
      try bench.run(words(bench, name, more: keyed))
    }
    #expect(try bench.export() == "id,state\n1,open\n")
    // The next run imports each of them once.
    let again = try bench.report(words(bench, "1.csv", "2.csv", "3.csv", more: keyed))
    #expect(again["read"].int == 0 && again["files"].count == 3)
  }

  /// Every kind of report has a note of it.
  @Test func equalContentsAreNoted() throws {
    let bench = try Workbench()
    try bench.write("1.csv", "a\n1\n2\n")
    try bench.write("2.csv", "a\n1\n2\n")
    try bench.run(words(bench, "1.csv"))
    let text = try bench.run(words(bench, "2.csv", more: ["--resume"])).outputText
    #expect(text.contains("2.csv: it has the same contents as "))
    #expect(text.contains("1.csv, which was imported before: it was imported too"))
    #expect(try bench.export("--no-header") == "1\n2\n1\n2\n")
    try bench.write("3.csv", "a\n1\n2\n")
    let left = try bench.report(
      words(bench, "3.csv", more: ["--resume", "--same-input", "contents"]))
    #expect(left["read"].int == 0 && left["resumedAt"]["complete"].bool == true)
    #expect(left["notes"][0].text?.contains("it was left out") == true)
    let line = try bench.run(
      words(bench, "3.csv", more: ["--report", "line"])
    ).outputText
    #expect(line.contains("note"), "\(line)")
  }

  /// The contents of a pipe are known at its end: it is imported, and the note does not advise what was
  /// given.
  @Test func equalContentsOfAPipe() throws {
    let bench = try Workbench()
    try bench.write("1.csv", "a\n1\n2\n")
    try bench.run(words(bench, "1.csv"))
    let piped = try bench.report(
      ["import", "-", "--into", bench.database, "--table", "t", "--resume"] + [
        "--same-input", "contents",
      ], input: "a\n1\n2\n")
    #expect(piped["read"].int == 2)
    #expect(piped["notes"][0].text?.contains("leaves such an input out if it is a file") == true)
  }

  /// With a key and updates the whole file is read again, and the report says why.
  @Test("A file that has changed since it was imported is read again, and noted")
  func changedFiles() throws {
    let bench = try Workbench()
    let keyed = ["--resume", "--key", "id", "--on-conflict", "update"]
    try bench.write("1.csv", "id,v\n1,a\n2,b\n")
    #expect(try bench.report(words(bench, "1.csv", more: keyed))["notes"].count == 0)
    #expect(try bench.report(words(bench, "1.csv", more: keyed))["notes"].count == 0)
    for text in ["id,v\n1,a\n", "id,v\n1,c\n2,b\n"] {
      try bench.write("1.csv", text)
      for more in [[], ["--same-input", "contents"]] {
        let report = try bench.report(words(bench, "1.csv", more: keyed + more))
        if more.isEmpty {
          let note = try #require(report["notes"][0].text)
          #expect(note.hasSuffix(": it is read from its beginning"), "\(note)")
        }
      }
    }
    #expect(try bench.export("--no-header") == "1,c\n2,b\n")
  }

  /// A log that has grown and is rotated before the next run, in the ways of logrotate.
  @Test(
    "A log that has grown and was renamed goes on where it ended",
    arguments: ["app.1.csv", "app.csv.1"],
    [1, 30])
  func rotated(name: String, others: Int) throws {
    let bench = try Workbench()
    let contents = ["--resume", "--same-input", "contents"]
    // So many that some lie in the companion table.
    let more = (0..<others).map { "z\($0).csv" }
    for (index, other) in more.enumerated() { try bench.write(other, "id,t\n\(1000 + index),z\n") }
    var expected = (0..<others).map { "\(1000 + $0),z" }
    func run(_ names: String...) throws -> String {
      // As a shell gives them: the new log may come before the old one, and behind it.
      let paths = (names.sorted() + more).map(bench.path)
      let report = try bench.run(
        ["import"] + paths + ["--into", bench.database, "--table", "t"] + contents)
      let rows = try bench.export().split(separator: "\n").dropFirst().map(String.init)
      #expect(rows.sorted() == expected.sorted(), "\(rows)")
      return report.outputText
    }
    try bench.write("app.csv", "id,t\n1,a\n2,b\n")
    expected += ["1,a", "2,b"]
    _ = try run("app.csv")
    try bench.write(name, "id,t\n1,a\n2,b\n3,c\n")
    try bench.write("app.csv", "id,t\n4,d\n")
    expected += ["3,c", "4,d"]
    let told = try run(name, "app.csv")
    #expect(told.contains("it begins with all 2 records of "), "\(told)")
    // Nothing is left to do; and once more, with a third generation.
    #expect(try !run(name, "app.csv").contains("it begins with all"))
    try bench.write("app.2.csv", "id,t\n1,a\n2,b\n3,c\n")
    try bench.write(name, "id,t\n4,d\n5,e\n6,f\n")
    try bench.write("app.csv", "id,t\n7,g\n")
    expected += ["5,e", "6,f", "7,g"]
    _ = try run("app.2.csv", name, "app.csv")
    // What lies beside a file with whose records it begins is another one.
    try bench.write("copy.csv", "id,t\n7,g\n8,h\n")
    expected += ["7,g", "8,h"]
    #expect(try !run("copy.csv", "app.csv").contains("it begins with all"))
  }

  @Test("A file whose last record may have been cut off is not imported twice when it has grown")
  func grownBehindAnUnsureRecord() throws {
    let contents = ["--resume", "--same-input", "contents", "--max-rejects", "9"]
    for (before, more) in [
      ("a,day\n1,x\n2,2026-01", "\n3,y\n"), ("a,day\n1,x\n2,2026-01", "-07\n3,y\n"),
      ("a,day\n1,x\n2,\"b\n", "3,y\n"), ("a,day\n1,x\n2,\"b\" c\n", "3,y\n"),
      ("a,day\n1,x", "\n3,y\n"),
    ] {
      for name in ["l.csv", "l.csv.1"] {
        let bench = try Workbench()
        try bench.write("l.csv", before)
        try bench.run(words(bench, "l.csv", more: contents))
        let rows = try bench.export()
        if name != "l.csv" { try bench.write("l.csv", "a,day\n9,z\n") }
        try bench.write(name, before + more)
        let next = try bench.run(words(bench, name, more: contents), status: .dataRefused)
        #expect(next.errorText.contains("may have been cut off"))
        #expect(try bench.export() == rows)
      }
    }
  }

  @Test("A file that has grown behind whole records goes on, and one that begins alike is another")
  func grownOrAnother() throws {
    let contents = ["--resume", "--same-input", "contents", "--max-rejects", "9"]
    for (before, now, expected) in [
      // Rejected, but with an end; lines that end in a carriage return.
      ("a,b\n1,x\n2\n", "a,b\n1,x\n2\n3,y\n", "1,x 3,y"),
      ("a,b\r1,x\r2,y\r", "a,b\r1,x\r2,y\r3,z\r", "1,x 2,y 3,z"),
      // One record may be the beginning of another by chance; of none nothing is doubled.
      ("a,b\n1,x", "a,b\n1,xyz\n", "1,x 1,xyz"),
      ("a,b\n1,\"x\n", "a,b\n1,\"x\ny\"\n2,z\n", "1,x|y 2,z"),
    ] {
      for name in ["l.csv", "l.csv.1"] {
        if expected == "1,x 1,xyz", name == "l.csv" { continue }
        let bench = try Workbench()
        try bench.write("l.csv", before)
        try bench.run(words(bench, "l.csv", more: contents))
        if name != "l.csv" { try FileManager.default.removeItem(atPath: bench.path("l.csv")) }
        try bench.write(name, now)
        try bench.run(words(bench, name, more: contents))
        let rows = try bench.run([
          "query", bench.database, "--columns", "a,b", "--format", "jsonl",
        ]).outputText.split(separator: "\n").map {
          $0.dropFirst(5).dropLast(2).replacing(",\"b\":\"", with: ",").replacing("\\n", with: "|")
        }
        #expect(rows.joined(separator: " ") == expected, "\(name): \(now)")
      }
    }
    // The new file under its path has the same beginning, and the old one is there under another.
    let bench = try Workbench()
    try bench.write("l.csv", "a,b\n1,a\n2,\"b\" c\n")
    try bench.run(words(bench, "l.csv", more: contents))
    try move(bench, "l.csv", to: "l.csv.1")
    try bench.write("l.csv", "a,b\n1,a\n2,\"b\" c\n7,q\n")
    try bench.run(words(bench, "l.csv", "l.csv.1", more: contents))
    #expect(try bench.export("--no-header") == "1,a\n1,a\n7,q\n")
  }

  @Test("An interrupted import goes on under a new name though many others came since")
  func interruptedBehindMany() throws {
    let contents = ["--resume", "--same-input", "contents", "--max-rejects", "0"]
    let bench = try Workbench()
    for name in ["a.csv", "b.csv"] {
      try bench.write(name, "a,b\n1,\(name)\n2,\(name)\n3\n")
      try bench.run(
        words(bench, name, more: contents + ["--batch-size", "1"]), status: .dataRefused)
    }
    for number in 0..<20 {
      try bench.write("z\(number).csv", "a,b\n\(100 + number),z\n")
      try bench.run(words(bench, "z\(number).csv", more: contents + ["--quiet"]))
    }
    try bench.write("a.csv.1", "a,b\n1,a.csv\n2,a.csv\n3,a.csv\n4,a.csv\n")
    try bench.write("a.csv", "a,b\n8,new\n")
    let told = try bench.run(words(bench, "a.csv", "a.csv.1", more: contents)).outputText
    #expect(told.contains("it begins with the 2 records that an interrupted import has read of "))
    let rows = try bench.export("--no-header").split(separator: "\n")
      .filter { $0.hasSuffix("a.csv") || $0.hasSuffix("new") }.sorted()
    #expect(rows == ["1,a.csv", "2,a.csv", "3,a.csv", "4,a.csv", "8,new"])
  }

  @Test("An interrupted import goes on where its file is; without it, the new one is refused")
  func interruptedAndRotated() throws {
    let contents = ["--resume", "--same-input", "contents", "--max-rejects", "0"]
    func begun() throws -> Workbench {
      let bench = try Workbench()
      // The last record ends the import behind two batches.
      try bench.write("l.csv", "a,b\n1,x\n2,x\n3\n")
      try bench.run(
        words(bench, "l.csv", more: contents + ["--batch-size", "1"]), status: .dataRefused)
      #expect(try bench.export() == "a,b\n1,x\n2,x\n")
      return bench
    }
    // It was changed in place.
    var bench = try begun()
    try bench.write("l.csv", "a,b\n7,x\n2,x\n3,x\n")
    try bench.run(words(bench, "l.csv", more: contents), status: .dataRefused)
    #expect(try bench.export() == "a,b\n1,x\n2,x\n")
    // It was mended, has grown, and was rotated: before the new one or behind it.
    for name in ["l.csv.1", "a.csv"] {
      bench = try begun()
      try bench.write(name, "a,b\n1,x\n2,x\n3,x\n4,x\n")
      try bench.write("l.csv", "a,b\n8,x\n")
      let paths = ["l.csv", name].sorted().map(bench.path)
      try bench.run(["import"] + paths + ["--into", bench.database, "--table", "t"] + contents)
      let rows = try bench.export("--no-header").split(separator: "\n").sorted()
      #expect(rows == ["1,x", "2,x", "3,x", "4,x", "8,x"], "\(name)")
    }
    // It is gone.
    bench = try begun()
    try bench.write("l.csv", "a,b\n8,x\n")
    let refused = try bench.run(words(bench, "l.csv", more: contents), status: .dataRefused)
    #expect(refused.errorText.contains("it has changed since its import was begun"))
  }

  @Test("What came through a pipe is not what was renamed and has grown")
  func piped() throws {
    let bench = try Workbench()
    let contents = ["--resume", "--same-input", "contents"]
    let into = ["--into", bench.database, "--table", "t"]
    try bench.run(["import", "-"] + into + contents, input: "id\n1\n2\n")
    try bench.write("a.csv", "id\n1\n2\n3\n")
    let told = try bench.run(words(bench, "a.csv", more: contents)).outputText
    #expect(!told.contains("it begins with all"), "\(told)")
    #expect(try bench.export("--no-header") == "1\n2\n1\n2\n3\n")
  }

  @Test("A log at the place of one that was renamed is remembered, also far behind many others")
  func renamedBehindMany() throws {
    let bench = try Workbench()
    let contents = ["--resume", "--same-input", "contents"]
    let others = (0..<40).map { "z\($0).csv" }
    for (index, name) in others.enumerated() { try bench.write(name, "id\n\(1000 + index)\n") }
    func run(_ names: [String]) throws -> Int? {
      try bench.report(
        ["import"] + names.map(bench.path) + ["--into", bench.database, "--table", "t"] + contents
      )["read"].int
    }
    try bench.write("app.csv", "id\n1\n2\n")
    #expect(try run(["app.csv"] + others) == 42)
    try bench.write("app.csv.1", "id\n1\n2\n3\n")
    try bench.write("app.csv", "id\n4\n")
    for (index, name) in others.enumerated() { try bench.write(name, "id\n\(2000 + index)\n") }
    #expect(try run(["app.csv"] + others + ["app.csv.1"]) == 42)
    try bench.write("app.csv", "id\n4\n5\n")
    #expect(try run(["app.csv"]) == 1)
  }

  /// A file that was renamed on purpose, found by its contents.
  @Test func contents() throws {
    let bench = try Workbench()
    let contents = ["--resume", "--same-input", "contents"]
    try bench.write("x.log", "a\n1\n2\n")
    try bench.run(words(bench, "x.log"))
    try move(bench, "x.log", to: "x.log.1")
    try bench.write("x.log", "a\n3\n")
    // After a rotation the new log comes first, under the old one's path.
    let report = try bench.report(words(bench, "x.log", "x.log.1", more: contents))
    #expect(report["read"].int == 1 && report["files"][1]["resumedAt"]["complete"].bool == true)
    #expect(try bench.export("--no-header") == "1\n2\n3\n")
    // The same after the next rotation.
    try move(bench, "x.log.1", to: "x.log.2")
    try move(bench, "x.log", to: "x.log.1")
    try bench.write("x.log", "a\n4\n")
    try bench.run(words(bench, "x.log", "x.log.1", "x.log.2", more: contents))
    #expect(try bench.export("--no-header") == "1\n2\n3\n4\n")
    // By its path alone each file has changed.
    let refused = try bench.run(
      words(bench, "x.log.2", more: ["--resume"]), status: .done)
    #expect(refused.outputText.contains("which was imported before: it was imported too"))
  }

  /// A file that was renamed after its import was interrupted.
  @Test func renamedInTheMiddle() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "a\n" + (1...50).map { "\($0)\n" }.joined())
    let batches = ["--batch-size", "10"]
    try bench.run(words(bench, "a.csv", more: batches + ["--limit", "20"]))
    try move(bench, "a.csv", to: "b.csv")
    let rest = try bench.report(
      words(bench, "b.csv", more: batches + ["--resume", "--same-input", "contents"]))
    #expect(rest["read"].int == 30 && rest["resumedAt"]["record"].int == 20)
    #expect(try bench.export("--no-header") == (1...50).map { "\($0)\n" }.joined())
    #expect(try bench.report(words(bench, "b.csv", more: ["--resume"]))["read"].int == 0)
  }

  /// A link stands for its target, and a path is the same from every folder.
  @Test func linksAndRelativePaths() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "a\n1\n")
    try bench.run(words(bench, "a.csv"))
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("link.csv"), withDestinationPath: bench.path("a.csv"))
    #expect(try bench.report(words(bench, "link.csv", more: ["--resume"]))["read"].int == 0)
    let script =
      "cd '\(bench.path("."))' && '\(try SheafProcess.program())' import ./a.csv --into "
      + "t.sheaf --table t --resume --report json"
    let relative = try SheafProcess.run(["-c", script], program: "/bin/sh")
    #expect(try Report(relative.output)["read"].int == 0)
    // Two links to one file are the same input, given twice.
    let twice = try bench.run(words(bench, "a.csv", "link.csv"), status: .usage)
    #expect(twice.errorText.contains("are the same file"))
  }
}
