import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Options, wrong usage, and files of the wrong kind.
@Suite struct UsageTests {
  static let csv = "id,name,score\n1,one,4.5\n2,,3\n3,\"\",NaN\n4,\"fi,ve\",+5\n"

  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.run(["import", "-", "--into", bench.database, "--table", "t"], input: Self.csv)
    return bench
  }

  @Test("Exports choose columns, rows and formats")
  func export() throws {
    let bench = try filled()
    #expect(try bench.export() == Self.csv)
    #expect(try bench.export("--columns", "score,id", "--limit", "2") == "score,id\n4.5,1\n3,2\n")
    #expect(try bench.export("--no-header", "--limit", "1") == "1,one,4.5\n")
    #expect(try bench.export("--limit", "0") == "id,name,score\n")
    #expect(
      try bench.export("--format", "jsonl")
        == """
        {"id":1,"name":"one","score":4.5}
        {"id":2,"name":null,"score":3}
        {"id":3,"name":"","score":null}
        {"id":4,"name":"fi,ve","score":5.0}

        """)
    #expect(try bench.export("--output", bench.path("o.csv")) == "")
    #expect(try bench.text("o.csv") == Self.csv)
    #expect(try bench.export("--output", "-") == Self.csv)

    for (arguments, status, message) in [
      (["--columns", "nope"], .usage, "has no column 'nope'; its columns: id, name, score"),
      (["--table", "nope"], .usage, "there is no table 'nope'; its tables: t"),
      (["--output", bench.database], .usage, "--output is the database itself"),
      (["--output", bench.path("no/o.csv")], .cannotCreate, "No such file or directory"),
      (["--format", "xml"], .usage, "expected csv or jsonl"),
      (["--limit", "-1"], .usage, "a whole number"),
    ] as [([String], Command.ExitStatus, String)] {
      let result = try bench.run(["export", bench.database] + arguments, status: status)
      #expect(result.errorText.contains(message), "\(result.errorText)")
      #expect(result.output.isEmpty)
    }
    // An unknown column does not empty the output file.
    try bench.run(
      ["export", bench.database, "--columns", "nope", "--output", bench.path("o.csv")],
      status: .usage)
    #expect(try bench.text("o.csv") == Self.csv)
    #expect(try bench.export() == Self.csv)

    try bench.run(["import", "-", "--into", bench.database, "--table", "u"], input: "x\n1\n")
    let several = try bench.run(["export", bench.database], status: .usage)
    #expect(several.errorText.contains("name one with --table: t, u"))
    #expect(try bench.export("--table", "u") == "x\n1\n")
  }

  @Test("Standard input may be a file, a pipe or a named pipe")
  func standardInput() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    // A file as standard input, a pipe, and a named pipe.
    for (table, words) in [
      ("a", "import - --into \(bench.database) --table a --quiet < \(bench.path("in.csv"))"),
      (
        "b",
        "import /dev/stdin --into \(bench.database) --table b --quiet < \(bench.path("in.csv"))"
      ),
    ] {
      #expect(try Shelled.run(words).status == 0)
      #expect(try bench.export("--table", table) == Self.csv)
    }
    let report = try bench.report(["import", "-", "--into", bench.database], input: Self.csv)
    #expect(report["inputs"][0].text == "-" && report["table"].text == "stdin")
    let resumed = try bench.run(
      ["import", "-", "--into", bench.database, "--resume"], input: Self.csv)
    #expect(resumed.outputText.hasPrefix("nothing to do: standard input was"))
    // Two inputs into one table, one of them standard input.
    try bench.run(
      ["import", bench.path("in.csv"), "-", "--into", bench.database, "--table", "two"],
      input: Self.csv)
    #expect(
      try bench.export("--table", "two", "--columns", "id", "--no-header")
        == "1\n2\n3\n4\n1\n2\n3\n4\n")
  }

  @Test("An export into a closed pipe ends quietly, with status 0, and leaves nothing behind")
  func aClosedPipeIsQuiet() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database],
      input: "a,b\n" + (1...30_000).map { "\($0),\(String(repeating: "x", count: 40))\n" }.joined())
    let result = try Shelled.run("export \(bench.database) | head -n 2; wait")
    #expect(result.status == 0 && result.error.isEmpty, "\(result.errorText)")
    #expect(result.outputText.split(separator: "\n").count == 2)
    let process = try SheafProcess(["export", bench.database, "--format", "jsonl"])
    process.closeOutput(after: 10)
    let closed = process.finish()
    #expect(closed.status == 0 && closed.error.isEmpty, "\(closed.errorText)")
    bench.expectNothingLeft()
  }

  @Test("A dry run counts records and rejects, and writes nothing")
  func aDryRunWritesNothing() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv + "5\n6,x,y\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--dry-run"]
    let result = try SheafProcess.run(words)
    #expect(result.status == Command.ExitStatus.dataRefused.rawValue)
    #expect(result.errorText.contains("in.csv:6:1 (byte "))
    #expect(result.errorText.split(separator: "\n").count == 1)
    #expect(result.outputText.hasPrefix("dry run: 5 objects would go into table \"in\" of "))
    #expect(bench.names() == ["in.csv"])
    let enough = try SheafProcess.run(words + ["--max-rejects", "1", "--report", "json"])
    #expect(enough.status == 0)
    let report = try Report(enough.output)
    #expect(report["dryRun"].bool == true && report["read"].int == 6)
    #expect(report["imported"].int == 5 && report["rejected"].int == 1)
    #expect(report["file"].isNull && report["rejects"].isNull)
    #expect(bench.names() == ["in.csv"])
    // An existing database is not changed either.
    try bench.run(["import", "-", "--into", bench.database, "--table", "in"], input: "id\n1\n")
    let before = try bench.read("t.sheaf")
    #expect(try SheafProcess.run(words + ["--max-rejects", "1", "--truncate"]).status == 0)
    #expect(try bench.read("t.sheaf") == before)
    #expect(bench.names() == ["in.csv", "t.sheaf"])
  }

  @Test("Inputs that cannot be read, and outputs that cannot be made, end with their own status")
  func inputsThatCannotBeRead() throws {
    let bench = try Workbench()
    try bench.write("good.csv", Self.csv)
    for path in [
      bench.path("no.csv"), bench.path("no/in.csv"), System.directory(of: bench.path("x")),
    ] {
      for inputs in [[path], [bench.path("good.csv"), path]] {
        let result = try bench.run(
          ["import"] + inputs + ["--into", bench.database], status: .inputMissing)
        #expect(result.errorText.contains(path))
      }
    }
    if getuid() != 0 {
      try bench.write("secret.csv", Self.csv)
      chmod(bench.path("secret.csv"), 0)
      try bench.run(
        ["import", bench.path("secret.csv"), "--into", bench.database], status: .inputMissing)
    } else {
      print("skipped: root reads files that nobody may read")
    }
    for (name, content) in [
      ("empty", ""), ("blank", "\n\n"), ("open", "a,\"b\n"), ("nul", "\u{FFFD}"),
    ] {
      try bench.write(name + ".csv", content)
    }
    for name in ["empty", "blank", "open"] {
      let result = try bench.run(
        ["import", bench.path(name + ".csv"), "--into", bench.database], status: .dataRefused)
      #expect(result.errorText.contains(bench.path(name + ".csv")))
    }
    #expect(!bench.names().contains("t.sheaf"))
    try bench.run(
      ["import", bench.path("good.csv"), "--into", bench.path("no/t.sheaf")], status: .cannotCreate)
    try bench.run(
      ["import", bench.path("good.csv"), "--into", System.directory(of: bench.path("x"))],
      status: .cannotCreate)
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--rejects", bench.path("no/r.csv"),
        "--max-rejects", "1",
      ], input: "a,b\n1\n", status: .cannotCreate)
    for command in ["info", "check", "export", "compact"] {
      let result = try bench.run([command, bench.path("no.sheaf")], status: .inputMissing)
      #expect(result.errorText.contains("there is no such file"))
    }
    #expect(!bench.names().contains("no.sheaf"))
  }

  /// Files that are no databases, are damaged, or have a newer format are refused and not changed.
  @Test func filesThatAreNoDatabases() throws {
    let good = try filled()
    let bytes = try good.read("t.sheaf")
    var newer = bytes
    for slot in 0..<2 where newer[slot * 4096] != 0 {
      newer[slot * 4096 + 8] = 7
      let sum = Checksum.of(Array(newer[slot * 4096..<slot * 4096 + 72]))
      for index in 0..<8 {
        newer[slot * 4096 + 72 + index] = UInt8(truncatingIfNeeded: sum >> UInt64(8 * index))
      }
    }
    var slots = bytes
    for slot in 0..<2 { slots[slot * 4096 + 20] ^= 1 }
    let files: [(name: String, bytes: [UInt8], message: String)] = [
      ("csv", Array(Self.csv.utf8), "not a Sheaf database"),
      ("long", [UInt8](repeating: 0x41, count: 100_000), "not a Sheaf database"),
      ("newer", newer, "file format 7 is newer"),
      ("slots", slots, "both commit slots"),
      ("short", Array(bytes[..<5000]), "cut short"),
    ]
    for file in files {
      let bench = try Workbench()
      try Data(file.bytes).write(to: URL(fileURLWithPath: bench.path("f.sheaf")))
      try bench.write("in.csv", Self.csv)
      let commands = [
        ["info", bench.path("f.sheaf")], ["export", bench.path("f.sheaf")],
        ["compact", bench.path("f.sheaf")],
        ["compact", bench.path("f.sheaf"), "--into", bench.path("copy.sheaf")],
        ["import", bench.path("in.csv"), "--into", bench.path("f.sheaf")],
      ]
      for command in commands {
        let result = try bench.run(command, status: .dataRefused)
        #expect(result.errorText.contains(file.message), "\(file.name): \(result.errorText)")
        #expect(result.output.isEmpty)
      }
      let check = try bench.report(["check", bench.path("f.sheaf")], status: .dataRefused)
      #expect(check["ok"].bool == false && check["problems"].count == 1)
      #expect(check["problems"][0].text?.contains(file.message) == true)
      #expect(try bench.read("f.sheaf") == file.bytes)
      #expect(bench.names() == ["f.sheaf", "in.csv"])
    }
  }

  /// `check` finds a damaged block, and no export takes it for sound.
  @Test func aDamagedBlock() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--batch-size", "300"],
      input: "a,b\n" + (1...3000).map { "\($0),\($0 &* 7919 % 1000)\n" }.joined())
    let sound = try bench.read("t.sheaf")
    let exported = try bench.export()
    var found = 0
    for offset in stride(from: 8192 + 300, to: sound.count, by: 4096) {
      var damaged = sound
      damaged[offset] ^= 0x10
      try Data(damaged).write(to: URL(fileURLWithPath: bench.database))
      let check = try SheafProcess.run(["check", bench.database])
      let export = try SheafProcess.run(["export", bench.database])
      if check.status == 0 {
        #expect(export.status == 0 && export.outputText == exported, "offset \(offset)")
      } else {
        found += 1
        #expect(check.status == Command.ExitStatus.dataRefused.rawValue, "offset \(offset)")
        #expect(!check.output.isEmpty)
        #expect(
          export.status == Command.ExitStatus.dataRefused.rawValue
            || export.outputText == exported, "offset \(offset)")
        #expect(exported.hasPrefix(export.outputText), "offset \(offset)")
      }
      #expect(try bench.read("t.sheaf") == damaged)
      bench.expectNothingLeft()
    }
    #expect(found > 0)
  }

  @Test(
    "Wrong usage is one line that says what is wrong",
    arguments: [
      (["import"], "CSV is missing"), (["import", "a.csv"], "--into FILE is missing"),
      (["import", "a.csv", "--into"], "--into needs a value"),
      (["import", "a.csv", "--into", "x", "--into", "y"], "--into is given twice"),
      (["import", "a.csv", "--into", "x", "--batch-size", "0"], "--batch-size"),
      (["import", "a.csv", "--into", "x", "--batch-size", "1e3"], "--batch-size"),
      (["import", "a.csv", "--into", "x", "--batch-size", "99999999999999999999"], "--batch-size"),
      (["import", "a.csv", "--into", "x", "--parsers", "0"], "--parsers"),
      (["import", "a.csv", "--into", "x", "--delimiter", "abcde"], "--delimiter"),
      (["import", "a.csv", "--into", "x", "--delimiter", "a\n"], "--delimiter"),
      (["import", "a.csv", "--into", "x", "--quote", "é"], "--quote"),
      (["import", "a.csv", "--into", "x", "--escape", "ab"], "--escape"),
      (["import", "a.csv", "--into", "x", "--comment", ""], "--comment"),
      (["import", "a.csv", "--into", "x", "--skip-lines", "-1"], "--skip-lines"),
      (["import", "a.csv", "--into", "x", "--encoding", "utf-32"], "--encoding"),
      (["import", "a.csv", "--into", "x", "--types", "a:number"], "--types"),
      (["import", "a.csv", "--into", "x", "--max-rejects", "101%"], "--max-rejects"),
      (["import", "a.csv", "--into", "x", "--ragged", "maybe"], "--ragged"),
      (["import", "a.csv", "--into", "x", "--durability", "ful"], "--durability"),
      (["import", "a.csv", "--into", "x", "--compact-above", "70XB"], "--compact-above"),
      (["import", "a.csv", "--into", "x", "--compact-used-below", "50"], "--compact-used-below"),
      (["import", "a.csv", "--into", "x", "--resum"], "did you mean --resume"),
      (["import", "a.csv", "--into", "x", "--quiet=yes"], "--quiet takes no value"),
      (["import", "a.csv", "--into", "x", "--report", "xml"], "--report"),
      (["export"], "FILE is missing"), (["export", "a", "b"], "unexpected argument"),
      (["check", "a", "--limit", "1"], "unknown option"),
      (["info", "a", "b"], "unexpected argument"),
      (["compact", "a", "--if-above", "-5"], "--if-above"),
    ])
  func wrongUsage(arguments: [String], message: String) throws {
    let result = try SheafProcess.run(arguments)
    #expect(result.status == Command.ExitStatus.usage.rawValue)
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains(message), "\(result.errorText)")
    #expect(result.errorText.split(separator: "\n").count == 1)
  }

  @Test("Combinations that contradict the input are refused by name")
  func wrongCombinations() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let words = ["import", bench.path("in.csv"), "--into", bench.database]
    for (more, message) in [
      (["--types", "nope:int"], "the input has no column 'nope'; it has: id, name, score"),
      (["--delimiter", ";", "--quote", ";"], "the delimiter and the quote are the same"),
      (["--rejects", bench.path("in.csv")], "is an input or the database"),
      (
        ["--join-batches", "5", "--durability", "full"],
        "--join-batches is for --durability group and none"
      ),
    ] {
      let result = try bench.run(words + more, status: .usage)
      #expect(result.errorText.contains(message), "\(result.errorText)")
    }
    #expect(try bench.text("in.csv") == Self.csv)
  }

  @Test("Options for reading an input take effect")
  func optionsOfAnImport() throws {
    let bench = try Workbench()
    func table(_ words: [String], _ input: String) throws -> String {
      try bench.run(
        ["import", "-", "--into", bench.database, "--table", "o", "--truncate", "--quiet"] + words,
        input: input)
      return try bench.export("--table", "o")
    }
    #expect(try table(["--limit", "2"], "id\n1\n2\n3\n") == "id\n1\n2\n")
    #expect(try table(["--null", "NA", "--null", "-"], "id\nNA\n-\nx\n") == "id\n\n\nx\n")
    let other = try Workbench()
    for (words, input, output) in [
      (["--delimiter", "\\t"], "a\tb\n1\t2\n", "a,b\n1,2\n"),
      (["--delimiter", ":", "--quote", "'"], "a:b\n'1:2':\"\n", "a,b\n1:2,\"\"\"\"\n"),
      (["--quote", "none"], "a,b\n\"x,y\"\n", "a,b\n\"\"\"x\",\"y\"\"\"\n"),
      (["--header", "no"], "a,b\nc,d\n", "column1,column2\na,b\nc,d\n"),
      (["--header", "x,\"y,z\""], "1,2\n", "x,\"y,z\"\n1,2\n"),
      (["--header", "yes"], "1,2\n3,4\n", "1,2\n3,4\n"),
      (["--types", "text"], "a,b\n007,1.50\n", "a,b\n007,1.50\n"),
      (["--ragged", "extend"], "a,b\n1\n1,2,3\n", "a,b,extra1\n1,,\n1,2,3\n"),
    ] {
      let name = "with " + words.joined(separator: " ")
      try other.run(
        ["import", "-", "--into", other.database, "--table", name, "--quiet"] + words, input: input)
      #expect(try other.export("--table", name) == output, "\(name)")
    }
    try other.run(["check", other.database])
  }

  /// Control characters in names and values do not reach the terminal, and errors stay one line.
  @Test func hostileNames() throws {
    let bench = try Workbench()
    let name = "a\nb\u{1B}[31m.csv"
    try bench.write(name, "x,y\n1\n")
    let result = try bench.run(
      ["import", bench.path(name), "--into", bench.database], status: .dataRefused)
    #expect(result.errorText.contains("a\\nb\\u{1b}[31m.csv:2:1"))
    let missing = try bench.run(
      ["import", bench.path("no\u{7}\n"), "--into", bench.database], status: .inputMissing)
    #expect(missing.errorText.contains("no\\u{7}\\n"))
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "\u{1B}]0;t\u{7}"],
      input: "\"\u{1B}[2J\",b\n1,2\n")
    for command in ["info", "check"] {
      let text = try bench.run([command, bench.database]).outputText
      #expect(!text.contains("\u{1B}"), "\(text.debugDescription)")
    }
    let text = try bench.run([
      "import", bench.path(name), "--into", bench.database, "--max-rejects", "1",
    ]).outputText
    #expect(!text.contains("\u{1B}"), "\(text.debugDescription)")
  }
}
