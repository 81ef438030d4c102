import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Several inputs, patterns of names, compressed files, and the process's surroundings.
@Suite struct InputTests {
  // MARK: Several

  @Test("Patterns and several files go into one table, by name")
  func patternsAndSeveralFiles() throws {
    let bench = try Workbench()
    try FileManager.default.createDirectory(
      atPath: bench.path("logs/old"), withIntermediateDirectories: true)
    try bench.write("logs/b.csv", "id,name\n2,b\n")
    try bench.write("logs/a.csv", "name,id\na,1\n")
    try bench.write("logs/old/c.csv", "id,extra\n3,x\n4\n")
    try bench.write("logs/empty.csv", "")
    let report = try bench.report([
      "import", bench.path("logs/**/*.csv"), "--into", bench.database, "--max-rejects", "1",
      "--table", "t",
    ])
    // Inputs are in the order of their names; columns go by name, wherever they are; new ones are
    // added.
    #expect(try bench.export() == "name,id,extra\na,1,\nb,2,\n,3,x\n")
    #expect(report["inputs"].count == 4)
    #expect(report["inputs"][0].text == bench.path("logs/a.csv"))
    #expect(report["inputs"][3].text == bench.path("logs/old/c.csv"))
    #expect(report["files"].count == 4)
    #expect(report["files"][0]["path"].text == bench.path("logs/a.csv"))
    #expect(report["files"][0]["imported"].int == 1 && report["files"][2]["read"].int == 0)
    #expect(report["files"][3]["read"].int == 2 && report["files"][3]["rejected"].int == 1)
    #expect(report["files"][3]["rejects"]["file"].text == bench.path("c.rejects.csv"))
    #expect(
      report["notes"][0].text?.hasSuffix("empty.csv is empty: there is no header and no record")
        == true)
    let text = try bench.run([
      "import", bench.path("logs/*.csv"), "--into", bench.database, "--table", "u",
    ]).outputText
    #expect(text.contains("  input       \(bench.path("logs/a.csv")): 1 imported\n"))
    #expect(text.contains("  input       \(bench.path("logs/b.csv")): 1 imported\n"))
    // A file whose name has such characters is found by its name.
    try bench.write("[x]*.csv", "k\n1\n")
    try bench.run(["import", bench.path("[x]*.csv"), "--into", bench.database, "--table", "v"])
    #expect(try bench.export("--table", "v") == "k\n1\n")
  }

  @Test("Inputs that cannot be read create no database")
  func inputsThatCannotBe() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "k\n1\n")
    func fails(_ inputs: [String], _ status: Command.ExitStatus, _ words: String) throws {
      let result = try bench.run(
        ["import"] + inputs + ["--into", bench.database], status: status)
      #expect(result.errorText.contains(words), "\(result.errorText)")
      #expect(!bench.names().contains("t.sheaf"))
    }
    let a = bench.path("a.csv")
    try fails([bench.path("no*.csv")], .inputMissing, "no file has a name like that")
    try fails([a, bench.path("b.csv")], .inputMissing, "b.csv: cannot read the input: No such")
    try fails([bench.path("")], .inputMissing, "it is a directory: name its files")
    try fails([a, bench.path("*.csv")], .usage, "a.csv is given twice: name it once")
    try fails([a, bench.path("./a.csv")], .usage, "are the same file: name it once")
    try fails(["-", "-"], .usage, "standard input is given twice")
    try bench.write("h.csv", "1\n2\n")
    try bench.write("empty.csv", "")
    try fails([bench.path("empty.csv")], .dataRefused, "the input is empty")
    try bench.write("z.csv", "PK\u{3}\u{4}zip")
    try fails([bench.path("z.csv")], .dataRefused, "is no CSV but a ZIP archive: unpack it first")
    // One input has a header, the other seems to have none.
    let both = ["import", a, bench.path("h.csv"), "--into", bench.database]
    // What was imported of the first is there.
    let doubt = try bench.run(both, status: .dataRefused)
    #expect(doubt.errorText.contains("h.csv seems to have no header, unlike \(a)"))
    #expect(doubt.errorText.contains("what was committed stays, --resume goes on"))
    // Nothing is committed by a dry run, or by a comparison.
    for words in [both + ["--dry-run"], ["verify", bench.database, a, bench.path("h.csv")]] {
      let result = try bench.run(words + ["--table", "a"], status: .usage)
      #expect(!result.errorText.contains("committed"), "\(result.errorText)")
    }
  }

  @Test("An import that is interrupted while a later input is awaited reports what it has done")
  func interruptedBetweenInputs() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "id,v\n1,x\n2,y\n")
    var inputs = ["-"]
    #if os(Linux)
      inputs.append(bench.path("pipe"))
    #endif
    for input in inputs {
      if input != "-" { #expect(mkfifo(input, 0o600) == 0) }
      let process = try SheafProcess([
        "import", bench.path("a.csv"), input, "--into", bench.database, "--table", "t",
        "--report-file", bench.path("runs.jsonl"), "--report", "line",
      ])
      // The first input is committed, and the second is awaited.
      process.waitWhile {
        let export = try? SheafProcess.run(["export", bench.database, "--table", "t"])
        return export?.outputText.contains("2,y") != true
      }
      System.sleep(milliseconds: 200)
      process.signal(SIGINT)
      let result = process.wait(within: 20)
      #expect(result.status == 130, "\(result.errorText)")
      #expect(result.outputText.contains("imported 2"), "\(result.outputText)")
      #expect(result.outputText.contains("--resume"), "\(result.outputText)")
      let line = try #require(try bench.text("runs.jsonl").split(separator: "\n").last)
      #expect(line.contains("\"interrupted\":true") && line.contains("\"imported\":2"), "\(line)")
      try FileManager.default.removeItem(atPath: bench.database)
    }
  }

  @Test("The command that goes on has its options before what ends them")
  func wordsOfResuming() {
    func resuming(_ words: String) -> String {
      ImportReportPrinter.resuming(words.split(separator: " ").map(String.init))
        .joined(separator: " ")
    }
    #expect(resuming("import a.csv --into t") == "sheaf import a.csv --into t --resume")
    #expect(resuming("import --resume a.csv --into t") == "sheaf import a.csv --into t --resume")
    #expect(resuming("import --into t -- -a.csv") == "sheaf import --into t --resume -- -a.csv")
    #expect(resuming("import --into t -- --resume") == "sheaf import --into t --resume -- --resume")
  }

  @Test(
    "Columns may be called as other formats begin", arguments: ["PAR1", "ORC", "Rar!", "ARROW1"])
  func namesOfFormats(name: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "\(name),b\n1,2\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--quiet"])
    #expect(try bench.export() == "\(name),b\n1,2\n")
    try bench.write("one.csv", "\(name)\n1\n")
    try bench.run(
      ["import", bench.path("one.csv"), "--into", bench.path("one.sheaf"), "--quiet"])
    try bench.write("other.csv", "PAR1\u{15}\u{0}\u{15}\u{8}")
    let refused = try bench.run(
      ["import", bench.path("other.csv"), "--into", bench.path("other.sheaf")],
      status: .dataRefused)
    #expect(refused.errorText.contains("the input is no CSV but "), "\(refused.errorText)")
  }

  @Test("A named pipe is read once somebody writes into it")
  func namedPipes() throws {
    let bench = try Workbench()
    let pipe = bench.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    for pause in ["sleep 0.3; ", ""] {
      let result = try SheafProcess.run(
        [
          "-c",
          "{ \(pause)printf 'id,v\n1,x\n'; sleep 0.2; printf '2,y\n'; } > '\(pipe)' & "
            + "exec \"$SHEAF\" import '\(pipe)' --into \(bench.database) --table t --quiet",
        ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()])
      #expect(result.status == 0, "\(result.errorText)")
    }
    #expect(try bench.export() == "id,v\n1,x\n2,y\n1,x\n2,y\n")
  }

  /// Thousands of inputs: each is open only while it is read.
  @Test func moreFilesThanMayBeOpen() throws {
    let bench = try Workbench()
    for index in 0..<400 { try bench.write("f\(1000 + index).csv", "a\n\(index)\n") }
    let result = try SheafProcess.run(
      [
        "-c",
        "ulimit -n 64; exec \"$SHEAF\" import '\(bench.path("f*.csv"))' --into \(bench.database) "
          + "--table t --durability none --quiet",
      ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()])
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.export("--no-header") == (0..<400).map { "\($0)\n" }.joined())
  }

  /// The numbers of parsers and of waiting chunks change the time, and nothing else.
  @Test(arguments: [["1", "1"], ["2", "1"], ["4", "64"], ["16", "2"]])
  func threads(counts: [String]) throws {
    let bench = try Workbench()
    let csv = "id,text\n" + (1...9000).map { "\($0),text \($0 % 77)\n" }.joined()
    try bench.write("t.csv", csv)
    let report = try bench.report([
      "import", bench.path("t.csv"), "--into", bench.database, "--batch-size", "70", "--durability",
      "none", "--parsers", counts[0], "--queue", counts[1],
    ])
    #expect(report["imported"].int == 9000 && report["batches"].int == 129)
    #expect(try bench.export() == csv)
    let refused = try bench.run(
      ["import", bench.path("t.csv"), "--into", bench.database, "--queue", "0"], status: .usage)
    #expect(refused.errorText.contains("--queue"))
  }

  // MARK: Compressed

  @Test("Compressed inputs are decompressed", arguments: ["gzip", "zstd", "bzip2", "xz"])
  func compressed(program: String) throws {
    let bench = try Workbench()
    let csv = "id,text\n" + (1...4000).map { "\($0),some text \($0 &* 7919 % 1000)\n" }.joined()
    try bench.write("apps.csv", csv)
    guard try Compressor.compress(bench.path("apps.csv"), program) else { return }
    let name = "apps.csv." + Compressor.extensions[program, default: ""]
    let report = try bench.report(["import", bench.path(name), "--into", bench.database])
    #expect(report["table"].text == "apps" && report["bytesRead"].int == csv.utf8.count)
    #expect(try bench.export() == csv)
    // Compression is recognized by the first bytes, too.
    let bytes = try bench.read(name)
    try Data(bytes).write(to: URL(fileURLWithPath: bench.path("plain")))
    try bench.run(["import", bench.path("plain"), "--into", bench.database])
    #expect(try bench.export("--table", "plain") == csv)
    // A truncated or damaged input is refused, and only whole batches are committed.
    var damaged = bytes
    damaged[bytes.count / 2] ^= 0x55
    for (label, part) in [
      ("cut", Array(bytes[..<(bytes.count * 2 / 3)])), ("end", Array(bytes.dropLast(3))),
      ("damaged", damaged), ("none", []), ("behind", bytes + Array("garbage".utf8)),
    ] {
      let path = bench.path("\(label).csv." + Compressor.extensions[program, default: ""])
      try Data(part).write(to: URL(fileURLWithPath: path))
      let database = bench.path("\(label).sheaf")
      let result = try bench.run(["import", path, "--into", database], status: .dataRefused)
      // A checksum at the end is compared only after the records, which make no sense.
      if label == "damaged" { continue }
      #expect(
        result.errorText.contains("\(path): the archive is damaged or cut off"),
        "\(result.errorText)")
      if let rows = try? SheafProcess.run(["export", database, "--no-header"]), rows.status == 0 {
        let count = rows.output.filter { $0 == 0x0A }.count
        #expect(count % 1000 == 0 && csv.utf8.starts(with: Array("id,text\n".utf8) + rows.output))
        let known = try SheafProcess.run(["import", path, "--into", database, "--resume"])
        #expect(known.status == 65, "never complete")
      }
    }
    // From a pipe: the caller has to decompress first.
    let piped = try SheafProcess.run(
      ["import", "-", "--into", bench.path("p.sheaf")], input: bytes)
    #expect(piped.status == 65 && piped.errorText.contains("send it through \(program) -dc"))
  }

  /// The parent ignores the end of children (SIGCHLD): the decompressor's status is known all the same.
  @Test func ignoredEndings() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "id\n" + (1...3000).map { "\($0)\n" }.joined())
    guard try Compressor.compress(bench.path("a.csv"), "gzip") else { return }
    func status(_ name: String, into database: String) throws -> Int32? {
      try SheafProcess.run(
        [
          "-c",
          "exec env --ignore-signal=CHLD \"$SHEAF\" import '\(bench.path(name))' --into "
            + "'\(bench.path(database))' "
            + "--quiet",
        ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()]
      ).status
    }
    #expect(try status("a.csv.gz", into: "whole.sheaf") == 0)
    try Data(bench.read("a.csv.gz").dropLast(3)).write(
      to: URL(fileURLWithPath: bench.path("cut.csv.gz")))
    #expect(try status("cut.csv.gz", into: "cut.sheaf") == 65)
  }

  @Test("A decompressor that is not installed is named, and no database is created")
  func aProgramThatIsMissing() throws {
    let bench = try Workbench()
    try Data([0x28, 0xB5, 0x2F, 0xFD, 0, 0, 0]).write(
      to: URL(fileURLWithPath: bench.path("a.csv.zst")))
    let result = try SheafProcess.run(
      ["import", bench.path("a.csv.zst"), "--into", bench.database],
      environment: ["PATH": bench.path("nowhere")])
    #expect(result.status == 66)
    #expect(result.errorText.contains("needs the program zstd, which is not installed: install it"))
    #expect(!bench.names().contains("t.sheaf"))
  }

  // MARK: Standard descriptors

  @Test("Closed standard descriptors do not harm the database")
  func closedDescriptors() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "k\n1\n2\n")
    let words = "import \(bench.path("a.csv")) --into \(bench.database) --truncate"
    // A database that was opened as descriptor 1 would receive the output.
    for closed in ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"] {
      let result = try Shelled.run("\(words) \(closed)")
      // 73: everything is committed, but the report is lost.
      #expect(result.status == 0 || result.status == 73, "\(closed): \(result.errorText)")
      try bench.run(["check", bench.database])
      #expect(try bench.export() == "k\n1\n2\n", "\(closed)")
    }
    let input = try Shelled.run("import - --into \(bench.path("s.sheaf")) <&-")
    #expect(input.status == 74 || input.status == 66, "\(input.errorText)")
    #expect(input.errorText.hasPrefix("sheaf import: standard input: "))
    // The report's reader ends before reading it.
    let piped = try Shelled.run("\(words) --report json | true")
    #expect(piped.status == 0 && piped.error.isEmpty)
    #expect(try bench.export() == "k\n1\n2\n")
  }

  /// An import that fails does not wait for the rest of a pipe.
  @Test func aFailureWithAPipeThatStaysOpen() throws {
    let bench = try Workbench()
    let process = try SheafProcess(["import", "-", "--into", bench.database, "--batch-size", "1"])
    try process.send("a,b\n" + (1...20_000).map { $0 == 5 ? "5\n" : "\($0),x\n" }.joined())
    let result = process.wait(within: 20)
    #expect(result.status == 65, "\(result.errorText)")
    #expect(result.errorText.contains("committed so far: 4 batches, 4 objects"))
  }
}
