import Base
import Engine
import Foundation
import Testing

@testable import Command

/// Rejected records, through the built program: kept, explained, corrected, and imported after all.
@Suite struct RejectFileTests {
  private static let csv =
    "id,\"na,me\",day\n1,one,2018-08-03\n2,two\n\"3\",\"thr\"\"ee\",soon\n1,again,2018-08-04\n"
    + ",nobody,2018-08-05\n6,six,2018-08-06\n"

  private func words(_ bench: Workbench) throws -> [String] {
    try bench.write("in.csv", Self.csv)
    return [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--key", "id",
      "--types", "day:date",
    ]
  }

  @Test(
    "Rejects keep their bytes and have a reason each; once mended, they are imported",
    arguments: ["1", "2", "1000"])
  func mendedAndImportedAfterAll(batch: String) throws {
    let bench = try Workbench()
    let words = try words(bench) + ["--batch-size", batch]
    let report = try bench.report(words + ["--max-rejects", "4"])
    #expect(report["read"].int == 6 && report["imported"].int == 2 && report["rejected"].int == 4)
    #expect(report["rejects"]["file"].text == bench.path("in.rejects.csv"))
    // The input's header, then the original bytes.
    #expect(
      try bench.text("in.rejects.csv")
        == "id,\"na,me\",day\n2,two\n\"3\",\"thr\"\"ee\",soon\n1,again,2018-08-04\n,nobody,2018-08-05\n"
    )
    let reasons = try bench.text("in.rejects.csv.reasons.jsonl").split(separator: "\n").map {
      try Report(Array("\($0)\n".utf8))
    }
    #expect(reasons.map { $0["record"].int } == [2, 3, 4, 5])
    #expect(reasons.map { $0["line"].int } == [3, 4, 5, 6])
    #expect(reasons.map { $0["column"].text } == [nil, "day", "id", "id"])
    #expect(reasons.map { $0["value"].text } == [nil, "soon", "1", nil])
    #expect(reasons.allSatisfy { $0["file"].text == bench.path("in.csv") })
    let bytes = Array(Self.csv.utf8)
    #expect(bytes[(reasons[1]["byteOffset"].int ?? 0)...].starts(with: "soon".utf8))
    #expect(reasons[2]["reason"].text?.contains("the key '1' exists already") == true)
    #expect(reasons[3]["reason"].text == "the key 'id' is empty")

    let mended = try bench.text("in.rejects.csv")
      .replacing("2,two\n", with: "2,two,2018-08-07\n").replacing("soon", with: "2018-08-08")
      .replacing("\n1,again", with: "\n4,again").replacing("\n,nobody", with: "\n5,nobody")
    try bench.write("in.rejects.csv", mended)
    let after = try bench.report([
      "import", bench.path("in.rejects.csv"), "--into", bench.database, "--table", "t",
    ])
    #expect(after["imported"].int == 4 && after["rejected"].int == 0)
    let rows = try bench.run([
      "query", bench.database, "id >= 1", "--sort", "id", "--format", "csv",
    ])
    #expect(
      rows.outputText == """
        id,"na,me",day
        1,one,2018-08-03
        2,two,2018-08-07
        3,"thr""ee",2018-08-08
        4,again,2018-08-04
        5,nobody,2018-08-05
        6,six,2018-08-06

        """)
  }

  @Test("An import with more rejects than allowed ends, and says how much was committed")
  func theLimitSaysWhatWasCommitted() throws {
    let bench = try Workbench()
    let words = try words(bench) + ["--batch-size", "1"]
    let result = try bench.run(words, status: .dataRefused)
    #expect(result.errorText.contains("committed so far: 1 batch, 1 object;"))
    let more = try bench.run(words + ["--resume", "--max-rejects", "2"], status: .dataRefused)
    #expect(more.errorText.contains("3 records rejected, more than --max-rejects allows"))
    #expect(more.errorText.contains("in.csv:3:1"))
    for (limit, status) in [("50%", 65), ("67%", 0), ("unlimited", 0), ("4", 0), ("3", 65)] {
      let result = try SheafProcess.run(words + ["--truncate", "--max-rejects", limit])
      #expect(result.status == Int32(status), "\(limit): \(result.errorText)")
    }
    // The rejects of several inputs together.
    try bench.write("x.csv", "id,\"na,me\",day\n7\n8,eight,2018-08-03\n")
    let several = try SheafProcess.run(
      [words[0], bench.path("x.csv")] + words[1...] + ["--truncate", "--max-rejects", "4"])
    #expect(several.status == 65)
    // A batch that would leave the table empty is committed together with the next one.
    #expect(several.errorText.contains("committed so far: 5 batches, 2 objects"))
  }

  /// Several inputs share a rejects file; an input with other columns has its own.
  @Test func severalInputs() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "k,v\n1\n")
    try bench.write("b.csv", "v,k\n2\n")
    try bench.write("c.csv", "k,v\n3\n")
    let words =
      ["import"] + ["a", "b", "c"].map { bench.path($0 + ".csv") } + [
        "--into", bench.database, "--table", "t", "--max-rejects", "unlimited", "--rejects",
        bench.path("r.csv"),
      ]
    for more in [[], ["--truncate"], ["--resume"]] {
      try bench.run(words + more)
      #expect(try bench.text("r.csv") == "k,v\n1\n3\n")
      #expect(try bench.text("r.2.csv") == "v,k\n2\n")
    }
    #expect(try bench.text("r.3.csv") == "k,v\n1\n3\n")
    #expect(try bench.text("r.4.csv") == "v,k\n2\n")
    #expect(!bench.names().contains("r.5.csv"))
  }

  // MARK: Nothing is written over

  /// The rejects of every night are kept, and every form of the report names their file.
  @Test(arguments: [false, true])
  func everyNightHasItsOwn(isNamed: Bool) throws {
    let bench = try Workbench()
    let stem = isNamed ? "r" : "in.rejects"
    let words =
      ["import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "5"]
      + (isNamed ? ["--rejects", bench.path("r.csv")] : [])
    for (night, name) in ["\(stem).csv", "\(stem).2.csv", "\(stem).3.csv"].enumerated() {
      try bench.write("in.csv", "a,b\nnight \(night)\n1,2\n")
      switch night {
      case 0:
        let report = try bench.report(words)
        #expect(report["rejects"]["file"].text == bench.path(name))
        #expect(report["rejects"]["reasons"].text == bench.path(name) + ".reasons.jsonl")
      case 1: #expect(try bench.run(words).outputText.contains(": \(bench.path(name)), reasons in"))
      default:
        let line = try bench.run(words + ["--report", "line"]).outputText
        #expect(line.contains("; rejected records in \(bench.path(name)); "), "\(line)")
      }
      for earlier in 0...night {
        let name = earlier == 0 ? "\(stem).csv" : "\(stem).\(earlier + 1).csv"
        #expect(try bench.text(name) == "a,b\nnight \(earlier)\n")
        #expect(try bench.text(name + ".reasons.jsonl").split(separator: "\n").count == 1)
      }
    }
    let stopped = try bench.run(
      words.map { $0 == "5" ? "0" : $0 } + ["--truncate"], status: .dataRefused)
    #expect(stopped.errorText.contains("the rejected records are in \(bench.path(stem)).4.csv"))
  }

  /// A file that is not an import's rejects file is not changed.
  @Test func othersFiles() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n1\n")
    try bench.write("mine.txt", "precious\n")
    let words = ["import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "1"]
    func refuse(_ name: String, _ what: String) throws {
      let result = try bench.run(words + ["--rejects", bench.path(name)], status: .cannotCreate)
      #expect(result.errorText.contains(what), "\(result.errorText)")
      #expect(try bench.text("mine.txt") == "precious\n")
      #expect(!bench.names().contains("t.sheaf"), "nothing is imported")
    }
    try refuse("mine.txt", "it is there already, and holds no rejected records")
    try bench.write("mine.txt.reasons.jsonl", "my reasons\n")
    try refuse("mine.txt", "it is there already, and holds no rejected records")
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("link.csv"), withDestinationPath: bench.path("mine.txt"))
    try refuse("link.csv", "rejected records go to a file, and this is none")
    let null = try bench.run(words + ["--rejects", "/dev/null"], status: .cannotCreate)
    #expect(null.errorText.contains("this is none"))
    // By default a free name is chosen. A symbolic link with the default name is not followed.
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("in.rejects.csv"), withDestinationPath: bench.path("mine.txt"))
    try bench.write("in.rejects.2.csv", "mended, not yet imported\n")
    try bench.write("in.rejects.3.csv.reasons.jsonl", "why\n")
    let report = try bench.report(words)
    #expect(report["rejects"]["file"].text == bench.path("in.rejects.4.csv"))
    #expect(try bench.text("in.rejects.2.csv") == "mended, not yet imported\n")
    #expect(try bench.text("in.rejects.3.csv.reasons.jsonl") == "why\n")
    #expect(try bench.text("mine.txt") == "precious\n")
    // An empty file may be filled.
    try bench.write("empty.csv", "")
    let filled = try bench.report(words + ["--rejects", bench.path("empty.csv")])
    #expect(filled["rejects"]["file"].text == bench.path("empty.csv"))
    #expect(try bench.text("empty.csv") == "a,b\n1\n")
  }

  /// `--resume` appends to the rejects file of its checkpoint, as long as that is unchanged.
  @Test func goingOnInItsOwnFile() throws {
    let bench = try Workbench()
    func words(_ limit: Int, _ more: [String] = []) -> [String] {
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "9",
        "--batch-size", "1", "--limit", "\(limit)", "--resume", "--header", "yes",
      ] + more
    }
    try bench.write("in.csv", "a,b\none\ntwo\nthree\nfour\n")
    try bench.write("in.rejects.csv", "of another time\n")
    try bench.run(words(1))
    #expect(try bench.text("in.rejects.2.csv") == "a,b\none\n")
    // Another import makes a rejects file with the next number.
    try bench.run([
      "import", bench.path("in.csv"), "--into", bench.path("other.sheaf"), "--max-rejects", "9",
    ])
    #expect(try bench.text("in.rejects.3.csv") == "a,b\none\ntwo\nthree\nfour\n")
    let second = try bench.report(words(2))
    #expect(second["rejects"]["file"].text == bench.path("in.rejects.2.csv"))
    #expect(second["notes"].count == 0)
    #expect(try bench.text("in.rejects.2.csv") == "a,b\none\ntwo\n")
    // The rejects file was edited meanwhile, and has the same size.
    try bench.write("in.rejects.2.csv", "a,b\none\n2,2\n")
    let third = try bench.report(words(3))
    #expect(third["rejects"]["file"].text == bench.path("in.rejects.4.csv"))
    #expect(
      third["notes"][0].text?.contains("in.rejects.2.csv is not as the import left it") == true)
    #expect(try bench.text("in.rejects.2.csv") == "a,b\none\n2,2\n")
    #expect(try bench.text("in.rejects.4.csv") == "a,b\nthree\n")
    // The rejects file was removed.
    try System.remove(bench.path("in.rejects.4.csv"))
    let fourth = try bench.report(words(4))
    #expect(fourth["rejects"]["file"].text == bench.path("in.rejects.5.csv"))
    #expect(try bench.text("in.rejects.5.csv") == "a,b\nfour\n")
    #expect(try bench.text("in.rejects.csv") == "of another time\n")
    #expect(try bench.text("in.rejects.3.csv") == "a,b\none\ntwo\nthree\nfour\n")
  }

  /// Records that a person has added behind the import's have no reasons: they are not cut off.
  @Test func addedToByHand() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\none\ntwo\n")
    func words(_ limit: Int) -> [String] {
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--max-rejects", "9",
        "--batch-size", "1", "--limit", "\(limit)", "--resume",
      ]
    }
    try bench.run(words(1))
    #expect(try bench.text("in.rejects.csv") == "a,b\none\n")
    try bench.write("in.rejects.csv", "a,b\none\nmy,own\n")
    let report = try bench.report(words(2))
    #expect(try bench.text("in.rejects.csv") == "a,b\none\nmy,own\n")
    #expect(report["rejects"]["file"].text == bench.path("in.rejects.2.csv"))
    #expect(try bench.text("in.rejects.2.csv") == "a,b\ntwo\n")
  }

  /// Writes inputs that share a rejects file. Returns the arguments of their import.
  private func sharing(_ source: Workbench, _ bench: Workbench, _ names: [String]) -> [String] {
    ["import"] + names.map { source.path("\($0).csv") } + [
      "--into", bench.database, "--table", "t", "--max-rejects", "9", "--rejects",
      bench.path("r.csv"), "--resume",
    ]
  }

  private func sharedInputs() throws -> Workbench {
    let source = try Workbench()
    try source.write("a.csv", "x,y\n1\n2,2\n")
    try source.write("b.csv", "x,y\n3,3\n")
    try source.write("c.csv", "x,y\n4\n5,5\n")
    return source
  }

  /// A killed run had written rejects of a later input without committing any of it. They are cut off
  /// together with those of the resumed input; otherwise they would be there twice.
  @Test func aheadOfWhatIsCommitted() throws {
    let (source, whole, bench) = (try sharedInputs(), try Workbench(), try Workbench())
    try whole.run(sharing(source, whole, ["a", "b", "c"]))
    #expect(try whole.text("r.csv") == "x,y\n1\n4\n")
    try bench.run(sharing(source, bench, ["a"]))
    #expect(try bench.text("r.csv") == "x,y\n1\n")
    for name in ["r.csv", "r.csv.reasons.jsonl"] { try bench.write(name, whole.text(name)) }
    let report = try bench.report(sharing(source, bench, ["a", "b", "c"]))
    #expect(report["notes"].count == 0)
    #expect(report["rejects"]["file"].text == bench.path("r.csv"))
    for name in ["r.csv", "r.csv.reasons.jsonl"] {
      #expect(try bench.text(name) == whole.text(name))
    }
  }

  /// When an earlier input has grown, rejects of a later input that is complete stay.
  @Test func behindThoseOfAnotherInput() throws {
    let (source, bench) = (try sharedInputs(), try Workbench())
    try bench.run(sharing(source, bench, ["a", "c"]))
    #expect(try bench.text("r.csv") == "x,y\n1\n4\n")
    try source.write("a.csv", "x,y\n1\n2,2\n6\n")
    let report = try bench.report(sharing(source, bench, ["a", "c"]))
    #expect(try bench.text("r.csv") == "x,y\n1\n4\n")
    #expect(try bench.text("r.2.csv") == "x,y\n6\n")
    #expect(report["notes"][0].text?.contains("r.csv is not as the import left it") == true)
  }

  /// Two inputs share a file, and the first grows: its new rejects must not cut off those of the
  /// second.
  @Test func aGrownInputBeforeAnother() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "k,v\na1\n1,1\n")
    try bench.write("b.csv", "k,v\nb1\n2,2\n")
    let words = [
      "import", bench.path("a.csv"), bench.path("b.csv"), "--into", bench.database, "--table", "t",
      "--max-rejects", "unlimited", "--rejects", bench.path("r.csv"), "--resume",
    ]
    try bench.run(words)
    #expect(try bench.text("r.csv") == "k,v\na1\nb1\n")
    try bench.write("a.csv", "k,v\na1\n1,1\na2\n")
    try bench.run(words)
    #expect(try bench.text("r.csv") == "k,v\na1\nb1\n")
    #expect(try bench.text("r.2.csv") == "k,v\na2\n")
  }

  // MARK: Dry runs

  @Test(
    "A dry run counts keys that exist as the import then does, and writes nothing",
    arguments: ["1", "3", "1000"])
  func aDryRunFindsKeys(batch: String) throws {
    let bench = try Workbench()
    try bench.write("old.csv", "id,v\n5,x\n6,x\n")
    try bench.run([
      "import", bench.path("old.csv"), "--into", bench.database, "--table", "t", "--key", "id",
    ])
    let before = try bench.read("t.sheaf")
    try bench.write("in.csv", "id,v\n1,a\n2,b\n1,c\n5,d\n3,e\n5,f\n,g\n1,h\n")
    let words = [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--batch-size",
      batch, "--dry-run",
    ]
    let result = try SheafProcess.run(words + ["--report", "json"])
    #expect(result.status == 65)
    let report = try Report(result.output)
    #expect(report["imported"].int == 3 && report["rejected"].int == 5 && report["read"].int == 8)
    let lines = result.errorText.split(separator: "\n")
    #expect(lines.count == 5)
    #expect(lines[0].contains("in.csv:4:1") && lines[0].contains("exists already"))
    #expect(lines[1].contains("in.csv:5:1") && lines[1].contains("'5' exists already: object"))
    #expect(lines[4].contains("in.csv:9:1"))
    for (policy, skipped, updated) in [("skip", 4, 0), ("update", 0, 4)] {
      let other = try SheafProcess.run(
        words + ["--report", "json", "--on-conflict", policy, "--max-rejects", "1"])
      #expect(other.status == 0)
      let report = try Report(other.output)
      #expect(report["skipped"].int == skipped && report["updated"].int == updated)
      #expect(report["imported"].int == 3 && report["rejected"].int == 1)
    }
    let emptied = try SheafProcess.run(words + ["--report", "json", "--truncate"])
    #expect(try Report(emptied.output)["rejected"].int == 4)
    #expect(try bench.read("t.sheaf") == before)
    bench.expectNothingLeft()
    // The same as a real run.
    let real = try SheafProcess.run(
      words.filter { $0 != "--dry-run" } + ["--report", "json", "--max-rejects", "5"])
    #expect(try Report(real.output)["imported"].int == 3)
  }

  /// Only rejects need a file with a longer name than the input's.
  @Test func longNames() throws {
    let bench = try Workbench()
    let name = String(repeating: "n", count: 240) + ".csv"
    try bench.write(name, "a,b\n1,2\n")
    let words = ["import", bench.path(name), "--into", bench.database, "--table", "t"]
    try bench.run(words)
    try bench.write(name, "a,b\n1,2\n3\n")
    let result = try bench.run(words + ["--max-rejects", "1"], status: .cannotCreate)
    #expect(result.errorText.contains("--rejects"), "\(result.errorText)")
    try bench.run(words + ["--resume", "--max-rejects", "1"], status: .cannotCreate)
    // A name that was chosen is looked at before any work.
    let chosen = bench.path(name + name)
    try bench.run(words + ["--max-rejects", "1", "--rejects", chosen], status: .inputOutput)
    try bench.run(words + ["--max-rejects", "1", "--rejects", bench.path("r.csv")])
    try bench.run(["verify", bench.database, bench.path(name), "--rejects", bench.path("r.csv")])
    let verified = try SheafProcess.run(["verify", bench.database, bench.path(name)])
    #expect(verified.status == 65 && verified.outputText.contains("1 missing"))
    #expect(try bench.export("--no-header") == "1,2\n1,2\n")
  }
}
