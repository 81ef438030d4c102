import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `--report-file` and `--report line`: records for a monitor.
@Suite struct ReportFileTests {
  /// The lines of the report file, each a JSON object.
  private func runs(_ bench: Workbench, _ name: String = "runs.jsonl") throws -> [Report] {
    let text = try bench.text(name)
    #expect(text.isEmpty || text.hasSuffix("\n"))
    return try text.split(separator: "\n").map { try Report(Array($0.utf8) + [0x0A]) }
  }

  @Test("Each run adds one line to the report file, whatever becomes of the run")
  func aLineARunWhateverBecomesOfIt() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n\n1,a\n2,b\n")
    try bench.write("bad.csv", "id,n\n3,c\n4\n")
    let log = ["--report-file", bench.path("runs.jsonl")]
    func run(_ words: [String], _ status: Command.ExitStatus) throws {
      let count = bench.names().contains("runs.jsonl") ? try runs(bench).count : 0
      try bench.run(words + log, status: status)
      let all = try runs(bench)
      #expect(all.count == count + 1)
      #expect(all.last?["exitStatus"].int == Int(status.rawValue), "\(words)")
      #expect(all.last?["error"].isNull == (status == .done), "\(words)")
      #expect(all.last?["command"].text == words[0])
      #expect(all.last?["seconds"].double ?? -1 >= 0)
      let started = all.last?["startedAt"].text ?? ""
      #expect(started.wholeMatch(of: /20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil, "\(started)")
    }
    let into = ["--into", bench.database, "--table", "t"]
    try run(["import", bench.path("in.csv")] + into + ["--quiet"], .done)
    var last = try #require(try runs(bench).last)
    #expect(last["imported"].int == 2 && last["objects"].int == 2 && last["batches"].int == 1)
    #expect(try last["file"]["total"].int == System.status(path: bench.database).size)
    #expect(last["objectsBefore"].int == 0 && last["fileBefore"].int == 0)
    // The line has the report of standard output, and three more keys.
    let shown = try bench.report(["import", bench.path("in.csv")] + into + log)
    last = try #require(try runs(bench).last)
    #expect(last.keys == shown.keys.union(["startedAt", "exitStatus", "error"]))
    #expect(last["objectsBefore"].int == 2 && (last["fileBefore"].int ?? 0) > 0)

    try run(["import", bench.path("bad.csv")] + into, .dataRefused)
    last = try #require(try runs(bench).last)
    #expect(last["error"].text?.contains("bad.csv:3:") == true)
    #expect(last["inputs"][0].text == bench.path("bad.csv"))
    #expect(last["database"].text == bench.database)
    #expect(last["read"].int == 0 && last["rejected"].int == 0)
    // The counts include what was committed before the failure.
    try bench.write("later.csv", "id,n\n5,e\n6\n7,g\n8\n")
    try run(
      ["import", bench.path("later.csv"), "--max-rejects", "1", "--batch-size", "1"] + into,
      .dataRefused)
    last = try #require(try runs(bench).last)
    #expect(last["read"].int == 3 && last["imported"].int == 2 && last["rejected"].int == 1)
    #expect(last["batches"].int == 3 && last["table"].text == "t")
    #expect(last["files"][0]["read"].int == 3)
    #expect(last["rejects"]["file"].text == bench.path("later.rejects.csv"))
    #expect(!last.keys.contains("objects") && (last["bytesWritten"].int ?? 0) > 0)
    try run(["import", bench.path("no.csv")] + into, .inputMissing)
    try run(["import", bench.path("in.csv"), "--into", bench.path("no/t.sheaf")], .cannotCreate)
    try run(["import", bench.path("in.csv")] + into + ["--types", "x:int"], .usage)
    try run(["compact", bench.database], .done)
    last = try #require(try runs(bench).last)
    #expect(last["decision"].text == "compacted" && last["database"].text == bench.database)
    try run(["compact", bench.path("no.sheaf")], .inputMissing)
    let held = try Database.open(bench.database)
    #expect(try SheafProcess.run(["compact", bench.database] + log).status == 75)
    last = try #require(try runs(bench).last)
    #expect(last["exitStatus"].int == 75 && last["error"].text?.contains("not compacted") == true)
    #expect(try runs(bench).last?["decision"].text == "skippedInUse")
    try held.close()
    // Arguments that the parser refuses.
    try run(["import", bench.path("in.csv")] + into + ["--nonsense"], .usage)
    try run(["compact", bench.database, "--if-above", "much"], .usage)
    try run(["import"], .usage)
    try run(["import", bench.path("in.csv"), "--into"], .usage)
    try run(["import", bench.path("in.csv")] + into + ["--parsers", "0"], .usage)
    // An unknown command.
    let count = try runs(bench).count
    #expect(try SheafProcess.run(["imprt", bench.path("in.csv")] + log).status == 64)
    #expect(try runs(bench).count == count + 1)
    last = try #require(try runs(bench).last)
    #expect(last["exitStatus"].int == 64 && last["command"].text == "imprt")
  }

  @Test("A dry run and an interrupted import add their line to the report file")
  func aDryRunAndAnInterruption() throws {
    let bench = try Workbench()
    try bench.write("bad.csv", "id,n\n3,c\n4\n")
    let log = ["--report-file", bench.path("runs.jsonl")]
    let dry = try SheafProcess.run(
      ["import", bench.path("bad.csv"), "--into", bench.database, "--dry-run"] + log)
    #expect(dry.status == 65)
    var last = try #require(try runs(bench).last)
    #expect(last["dryRun"].bool == true && last["exitStatus"].int == 65)
    #expect(last["error"].text?.contains("--max-rejects") == true)

    let process = try SheafProcess(["import", "-", "--into", bench.database] + log)
    try process.send("a,b\n" + (1...100_000).map { "\($0),x\n" }.joined())
    process.waitWhile { ((try? System.status(path: bench.database))?.size ?? 0) < 20_000 }
    process.signal(SIGTERM)
    // The input stays open: its end would complete the import.
    let ended = process.wait()
    #expect(ended.status == 143, "\(ended.errorText)")
    last = try #require(try runs(bench).last)
    #expect(last["interrupted"].bool == true && last["exitStatus"].int == 143)
    #expect(last["error"].text?.hasPrefix("interrupted after a whole batch") == true)
  }

  /// The report is never appended to a file that the command reads or writes.
  @Test func filesThatAreNoReportFile() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n\n1,a\n2,b\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database])
    let files = ["in.csv", "t.sheaf"]
    let before = try files.map { try bench.read($0) }
    for name in files {
      for words in [
        ["import", bench.path("in.csv"), "--into", bench.database],
        ["import", bench.path("in.csv"), "--into=\(bench.database)", "--nonsense"],
        ["import", bench.path("in.csv"), "--into", bench.database, "--nonsense"],
      ] {
        for file in [
          ["--report-file", bench.path(name)], ["--report-file=\(bench.path(name))"],
          ["--report-file", bench.path("./" + name)],
        ] {
          try bench.run(words + file, status: .usage)
          #expect(try files.map { try bench.read($0) } == before, "\(words) \(file)")
        }
      }
    }
    // Nor to a file whose contents are no reports.
    try bench.write("notes.txt", "remember the milk\n")
    try bench.run(
      ["compact", bench.database, "--report-file", bench.path("notes.txt")], status: .usage)
    try bench.run(
      ["compact", bench.database, "--nonsense", "--report-file", bench.path("notes.txt")],
      status: .usage)
    #expect(try bench.text("notes.txt") == "remember the milk\n")
    try System.remove(bench.path("notes.txt"))
    try bench.run(
      [
        "import", "x.csv", "--into=\(bench.path("new.sheaf"))", "--nonsense", "--report-file",
        bench.path("new.sheaf"),
      ], status: .usage)
    // A database that does not exist yet.
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.path("new.sheaf"), "--report-file",
        bench.path("new.sheaf"),
      ], status: .usage)
    try bench.run(["compact", bench.database, "--report-file", "-"], status: .usage)
    try bench.run(
      ["compact", bench.database, "--report-file", bench.path("no/runs.jsonl")],
      status: .cannotCreate)
    #expect(bench.names() == ["in.csv", "t.sheaf"])
    #expect(try bench.read("t.sheaf") == before[1])
  }

  #if os(Linux)
    /// The import is committed, but the line cannot be written.
    @Test func aFullDisk() throws {
      let bench = try Workbench()
      try bench.write("in.csv", "id,n\n1,a\n")
      let result = try bench.run(
        ["import", bench.path("in.csv"), "--into", bench.database, "--report-file", "/dev/full"],
        status: .cannotCreate)
      let told = "the report is lost, but everything is committed: do not run the import again\n"
      #expect(result.errorText.contains("/dev/full: write: "))
      #expect(result.errorText.hasSuffix(told))
      #expect(!result.errorText.contains("run the command again"))
      #expect(try bench.export("--no-header") == "1,a\n")
      // The same for standard output; a report file, if there is one, has the counts.
      for more in ["", " --report json", " --report line"] {
        let words =
          "import \(bench.path("in.csv")) --into \(bench.database) --report-file "
          + "\(bench.path("runs.jsonl"))\(more) > /dev/full"
        let result = try Shelled.run(words)
        #expect(result.status == 73 && result.errorText.hasSuffix(told), "\(result.errorText)")
        let last = try #require(try runs(bench).last)
        #expect(last["exitStatus"].int == 73 && last["imported"].int == 1)
        #expect(last["error"].text.map { $0 + "\n" }?.hasSuffix(told) == true)
      }
      #expect(try bench.export("--no-header").split(separator: "\n").count == 4)
      // What was there of a line that did not fit is taken back.
      if let disk = try SmallDisk(kilobytes: 16) {
        let file = disk.path + "/runs.jsonl"
        let earlier =
          #"{"command":"import","pad":"\#(String(repeating: "x", count: 3900))"}"# + "\n"
        try earlier.write(toFile: file, atomically: false, encoding: .utf8)
        try disk.fill()
        try bench.run(
          ["import", bench.path("in.csv"), "--into", bench.database, "--report-file", file],
          status: .cannotCreate)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == earlier)
      }
      let compacted = try Shelled.run("compact \(bench.database) > /dev/full")
      #expect(compacted.status == 73)
      #expect(compacted.errorText.hasSuffix("but the file is compacted\n"))
    }
  #endif

  /// A power cut may leave half a line. It is not taken for a part of the next.
  @Test func halfALine() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n\n1,a\n")
    try bench.write("runs.jsonl", #"{"command":"imp"#)
    for _ in 0..<2 {
      try bench.run(
        ["import", bench.path("in.csv"), "--into", bench.database] + [
          "--report-file", bench.path("runs.jsonl"),
        ])
    }
    let lines = try bench.text("runs.jsonl").split(
      separator: "\n", omittingEmptySubsequences: false)
    #expect(lines.count == 4 && lines[0] == #"{"command":"imp"# && lines[3].isEmpty)
    #expect(
      lines[1].hasPrefix(#"{"command":"import""#) && lines[2].hasPrefix(#"{"command":"import""#))
  }

  /// Jobs that end at the same time append to one file, and no line is lost.
  @Test func manyJobsAtOnce() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n\n1,a\n2,b\n")
    let processes = try (0..<8).map { job in
      try SheafProcess([
        "import", bench.path("in.csv"), "--into", bench.path("\(job).sheaf"), "--report-file",
        bench.path("runs.jsonl"), "--quiet",
      ])
    }
    for process in processes { #expect(process.finish().status == 0) }
    let all = try runs(bench)
    #expect(Set(all.compactMap { $0["database"].text }).count == 8 && all.count == 8)
  }

  @Test("A report or an error for a log is one line, which begins with the time")
  func aLineForTheLog() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n\n1,a\n2,b\n3\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--report", "line"]
    let done = try bench.run(words + ["--max-rejects", "1"]).outputText
    let pattern = try Regex(
      #"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ sheaf import: \S+in\.csv into table "in" of \S+t\.sheaf; "#
        + #"read 3, imported 2, updated 0, skipped 0, unchanged 0, rejected 1; rejected records in \S+/in\.rejects\.csv; 2 objects in \S+ kB; "#
        + #"[0-9.]+ s\n$"#)
    #expect(try pattern.wholeMatch(in: done) != nil, "\(done)")
    let again = try bench.run(words + ["--resume"]).outputText
    #expect(again.contains("; nothing to do, it was imported completely before; "), "\(again)")
    #expect(again.split(separator: "\n").count == 1)
    let compacted = try bench.run(["compact", bench.database, "--report", "line"]).outputText
    #expect(compacted.contains("Z sheaf compact: \(bench.database): compacted: "), "\(compacted)")
    // An error line begins with the time, too: reports and errors may go to one log.
    for words in [words, ["compact", bench.path("no.sheaf"), "--report", "line"]] {
      let failed = try SheafProcess.run(words)
      #expect(failed.status != 0 && failed.output.isEmpty)
      let text = failed.errorText
      let prefix = try Regex(
        #"^20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ sheaf (import|compact): "#)
      #expect(text.firstMatch(of: prefix) != nil, "\(text)")
      #expect(text.split(separator: "\n").count == 1)
    }
  }

  @Test("Timestamps are UTC in ISO 8601")
  func timestamps() {
    for (seconds, text) in [
      (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
      (951_782_399, "2000-02-28T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
      (951_868_800, "2000-03-01T00:00:00Z"), (1_795_231_205, "2026-11-21T03:20:05Z"),
      (4_107_542_399, "2100-02-28T23:59:59Z"), (4_107_542_400, "2100-03-01T00:00:00Z"),
      (253_402_300_799, "9999-12-31T23:59:59Z"),
    ] {
      #expect(Timestamp.text(secondsSince1970: seconds) == text)
    }
  }

  @Test("A run that cannot have its metrics has its line", arguments: ["no/x.prom", "x.txt"])
  func metricsThatCannotBe(name: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id\n1\n")
    let status: Command.ExitStatus = name == "x.txt" ? .usage : .cannotCreate
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--report-file",
        bench.path("runs.jsonl"), "--metrics-file", bench.path(name),
      ], status: status)
    let last = try #require(try runs(bench).last)
    #expect(last["exitStatus"].int == Int(status.rawValue) && last["error"].text != nil)
    #expect(!bench.names().contains("t.sheaf"))
  }
}
