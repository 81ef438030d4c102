import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// `import --changes` writes what a run has changed. The file is there once the run is durable and the
/// file complete.
@Suite struct ChangesOptionTests {
  private func users(_ suffix: String, _ ids: some Sequence<Int>) -> String {
    "id,name\n" + ids.map { "\($0),name \($0) \(suffix)\n" }.joined()
  }

  private func words(_ bench: Workbench, _ more: String...) -> [String] {
    [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "users", "--key", "id",
      "--on-conflict", "update", "--changes", bench.path("c.jsonl"),
    ] + more
  }

  private func filled() throws -> Workbench {
    let bench = try Workbench()
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "users", "--key", "id", "--quiet",
        "--batch-size", "10",
      ], input: users("a", 1...100))
    try bench.write("in.csv", users("b", 91...140))
    return bench
  }

  private func changes(_ bench: Workbench) throws -> String {
    String(decoding: try bench.read("c.jsonl"), as: UTF8.self)
  }

  /// The expected file, written by hand.
  private let expected =
    (91...100).map {
      #"{"table":"users","change":"changed","key":\#($0),"columns":{"name":"#
        + #"{"old":"name \#($0) a","new":"name \#($0) b"}}}"# + "\n"
    }.joined()
    + (101...140).map {
      #"{"table":"users","change":"inserted","key":\#($0),"object":"#
        + #"{"id":\#($0),"name":"name \#($0) b"}}"# + "\n"
    }.joined()

  @Test("The file of changes has every object that the import changed")
  func whatARunHasChanged() throws {
    let bench = try filled()
    let report = try bench.report(words(bench, "--batch-size", "7"))
    #expect(try changes(bench) == expected)
    let said = report["changes"]
    #expect(said["file"].text == bench.path("c.jsonl"))
    #expect(said["inserted"].int == 40 && said["changed"].int == 10 && said["deleted"].int == 0)
    #expect(
      try bench.run(["diff", bench.database, "--format", "jsonl"]).outputText == expected)
    // The second run changes nothing, and the file is that run's.
    let again = try bench.report(words(bench))
    #expect(again["unchanged"].int == 50 && again["changes"]["changed"].int == 0)
    #expect(try changes(bench).isEmpty)
    // A table that was not there, and one that is emptied.
    try bench.write("in.csv", "id,name\n1,x\n")
    let created = try bench.report(
      [
        "import", bench.path("in.csv"), "--into", bench.path("new.sheaf"), "--table", "t",
        "--changes", bench.path("n.jsonl"),
      ])
    #expect(created["changes"]["inserted"].int == 1)
    let emptied = try bench.report(words(bench, "--truncate"))
    // A key that came back has its object again, with another name.
    #expect(emptied["changes"]["deleted"].int == 139 && emptied["changes"]["inserted"].int == 0)
    #expect(emptied["changes"]["changed"].int == 1 && emptied["deleted"].int == 140)
    #expect(
      try changes(bench).hasSuffix(
        #"{"table":"users","change":"changed","key":1,"columns":{"name":{"old":"name 1 a","new":"x"}}}"#
          + "\n"))
    #expect(try bench.run(words(bench)).outputText.contains("0 changed, 0 deleted: "))
    // As many versions are kept as were asked for, but at least one.
    #expect(try bench.report(["versions", bench.database])["versions"].count == 2)
    bench.expectNothingLeft()
  }

  /// An earlier night that is imported again leaves a correct file as it is.
  @Test func earlierNights() throws {
    let bench = try Workbench()
    func load(_ value: String, _ more: String..., status: Command.ExitStatus = .done) throws {
      try bench.write("\(value).csv", "id,v\n1,\(value)\n")
      try bench.run(
        [
          "import", bench.path("\(value).csv"), "--into", bench.database, "--table", "t", "--key",
          "id",
          "--on-conflict", "update", "--quiet",
        ] + more, status: status)
    }
    try load("a")
    for value in ["b", "c"] { try load(value, "--changes", bench.path("\(value).jsonl")) }
    let written = try bench.read("b.jsonl")
    #expect(!written.isEmpty)
    try load("b", "--changes", bench.path("b.jsonl"), "--resume")
    #expect(try bench.read("b.jsonl") == written)
    try load("c", "--changes", bench.path("c.jsonl"), "--resume")
    #expect(try String(decoding: bench.read("c.jsonl"), as: UTF8.self).contains(#""old":"b""#))
    // The number of versions that others keep stays.
    for value in ["d", "e", "f"] { try load(value, "--keep-versions", "3") }
    let kept = try bench.report(["versions", bench.database])["versions"].count
    try load("g", "--changes", bench.path("g.jsonl"))
    #expect(try bench.report(["versions", bench.database])["versions"].count == kept)
  }

  /// A table that was emptied and filled again has changed where it differs: by primary key, in any
  /// order, also when columns came and went. Without a key all objects are new.
  @Test func emptiedAndFilled() throws {
    let bench = try filled()
    let seed = UInt64.random(in: 0..<1000)
    var random = SplitMix64(seed: seed)
    let rows = (1...100).shuffled(using: &random).map {
      "\($0),name \($0) \($0 % 10 == 0 ? "b" : "a")\n"
    }
    try bench.write("in.csv", "id,name\n" + rows.dropLast(3).joined() + "200,new\n")
    let gone = Set(rows.suffix(3))
    let report = try bench.report(words(bench, "--truncate"))
    let said = report["changes"]
    let changed = rows.dropLast(3).count { $0.hasSuffix("b\n") }
    #expect(said["inserted"].int == 1 && said["deleted"].int == gone.count)
    #expect(said["changed"].int == changed, "seed \(seed)")
    let lines = try changes(bench).split(separator: "\n")
    #expect(lines.count == changed + 4)
    #expect(lines.count { $0.contains("\"old\":\"name ") } == changed)
    let summary = try bench.run(["diff", bench.database, "--summary", "--format", "csv"])
    #expect(summary.outputText.hasSuffix("\nusers,1,\(gone.count),\(changed)\n"))
    let some = try bench.run(
      ["diff", bench.database, "--format", "csv", "--where", "name ends with 'b'"]
    ).outputText
    #expect(some.split(separator: "\n").count == 1 + changed)
    // One column more, which was null before.
    try bench.write("in.csv", "id,name,more\n200,new,\n\(rows[0].dropLast()),x\n")
    let wider = try bench.report(words(bench, "--truncate"))["changes"]
    #expect(wider["changed"].int == 1 && wider["inserted"].int == 0, "seed \(seed)")
    // Without a key.
    for _ in 0..<2 {
      try bench.write("in.csv", "a\n1\n2\n")
      let report = try bench.report([
        "import", bench.path("in.csv"), "--into", bench.path("plain.sheaf"), "--table", "t",
        "--truncate", "--changes", bench.path("p.jsonl"),
      ])
      #expect(report["changes"]["inserted"].int == 2)
    }
  }

  /// A dry run writes what an import would change, and nothing else.
  @Test func dryRun() throws {
    let bench = try filled()
    let before = try bench.read("t.sheaf")
    let report = try bench.report(words(bench, "--dry-run", "--batch-size", "7"))
    #expect(try changes(bench) == expected)
    #expect(report["changes"]["inserted"].int == 40 && report["changes"]["changed"].int == 10)
    #expect(report["objects"].int == 140 && report["objectsBefore"].int == 100)
    #expect(try bench.read("t.sheaf") == before)
    let plain = Array(
      words(bench, "--dry-run").filter { !$0.hasSuffix("c.jsonl") && $0 != "--changes" })
    let same = try bench.report(plain)
    #expect(same["changes"]["file"].isNull && same["changes"]["inserted"].int == 40)
    #expect(
      try bench.run(plain).outputText.contains(
        "  would be    40 inserted, 10 changed, 0 deleted\n"))
    #expect(
      try bench.run(plain + ["--report", "line"]).outputText.contains(
        "would be 40 inserted, 10 changed, 0 deleted"))
    // Into a file that is not there yet.
    let new = try bench.report([
      "import", bench.path("in.csv"), "--into", bench.path("new.sheaf"), "--key", "id",
      "--dry-run", "--changes", bench.path("n.jsonl"),
    ])
    #expect(new["changes"]["inserted"].int == 50)
    #expect(!bench.names().contains("new.sheaf"))
    // The counts are those of the real import.
    let real = try bench.report(words(bench, "--batch-size", "7"))
    for name in ["read", "imported", "updated", "unchanged", "rejected", "batches", "objects"] {
      #expect(real[name].int == report[name].int, "\(name)")
    }
  }

  /// Files with other contents are not replaced.
  @Test func otherFiles() throws {
    let bench = try filled()
    try bench.write("in.csv", "id,name\n1,b\n2,b,c\n")
    let rejects = ["--max-rejects", "1", "--rejects", bench.path("r.csv")]
    let importing = Array(words(bench).dropLast())
    for path in ["r.csv", "r.csv.reasons.jsonl"] {
      try bench.run(importing + [bench.path(path)] + rejects, status: .usage)
    }
    try bench.run(importing + [bench.path("c.jsonl")] + rejects + ["--quiet"])
    let kept = try bench.read("r.csv.reasons.jsonl")
    #expect(!kept.isEmpty)
    try bench.run(importing + [bench.path("r.csv.reasons.jsonl")], status: .cannotCreate)
    #expect(try bench.read("r.csv.reasons.jsonl") == kept)
    try bench.run(importing + [bench.path("l"), "--report-file", bench.path("l")], status: .usage)
  }

  @Test(
    "Nights that change nothing leave the file, also when the version before is not kept any more")
  func nothingForManyNights() throws {
    let bench = try Workbench()
    try bench.write("t.csv", "id,a\n1,x\n")
    try bench.write("other.csv", "id,a\n1,x\n")
    func night(_ name: String, status: Command.ExitStatus = .done) throws -> String {
      try bench.run(
        [
          "import", bench.path("\(name).csv"), "--into", bench.database, "--key", "id",
          "--on-conflict", "update", "--resume", "--changes", bench.path("\(name).jsonl"),
        ], status: status
      ).errorText
    }
    try bench.run(["import", bench.path("t.csv"), "--into", bench.database, "--key", "id"])
    try bench.run(["keep", bench.database, "--versions", "1"])
    // What the first import changed is not known, and no file says that this does not matter.
    #expect(try night("t", status: .cannotCreate).contains("touch"))
    // Nor does a file of the night before.
    try bench.write("t.jsonl", "")
    var old = [
      timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0),
    ]
    utimensat(AT_FDCWD, bench.path("t.jsonl"), &old, 0)
    _ = try night("t", status: .cannotCreate)
    try bench.write("t.jsonl", "")
    _ = try night("t")
    #expect(try bench.read("t.jsonl") == [])
    try bench.write("t.csv", "id,a\n1,y\n")
    _ = try night("t")
    let told = try bench.read("t.jsonl")
    for number in 1...3 {
      try bench.write("other.csv", "id,a\n1,\(number)\n")
      _ = try night("other")
      _ = try night("t")
      #expect(try bench.read("t.jsonl") == told && !told.isEmpty)
    }
  }

  @Test("A file of changes does not replace an input, the database or a link")
  func whatIsRefused() throws {
    let bench = try filled()
    try bench.write("other.csv", "x")
    try FileManager.default.createSymbolicLink(
      atPath: bench.path("link"), withDestinationPath: bench.path("other.csv"))
    let before = try bench.read("t.sheaf")
    func refuse(_ path: String, _ status: Command.ExitStatus, _ more: String...) throws {
      let words = words(bench).dropLast() + [path] + more
      let result = try bench.run(Array(words), status: status)
      #expect(result.errorText.split(separator: "\n").count == 1)
      #expect(try bench.read("t.sheaf") == before)
    }
    try refuse("-", .usage)
    try refuse(bench.database, .usage)
    try refuse(bench.path("in.csv"), .usage)
    try refuse(bench.path("in.rejects.csv"), .usage)
    try refuse(bench.path("in.rejects.csv.reasons.jsonl"), .usage)
    try refuse(bench.path("./in.rejects.csv"), .usage)
    try refuse(bench.path("r.csv"), .usage, "--rejects", bench.path("./r.csv"))
    try refuse(bench.path("c.prom"), .usage, "--metrics-file", bench.path("c.prom"))
    try refuse(bench.path("./c.prom"), .usage, "--metrics-file", bench.path("c.prom"))
    try refuse(bench.path("c.jsonl"), .usage, "--report-file", bench.path("c.jsonl"))
    try refuse(bench.path("link"), .cannotCreate)
    try refuse(bench.path("."), .cannotCreate)
    try refuse(CompanionFile.lockPath(bench.database), .cannotCreate)
    try refuse(bench.path("no/such/folder"), .cannotCreate)
    #expect(try bench.read("other.csv") == Array("x".utf8))
    // No database is made for a command that is refused.
    try bench.run(
      [
        "import", bench.path("other.csv"), "--into", bench.path("new.sheaf"), "--changes",
        bench.path("no/folder"),
      ], status: .cannotCreate)
    #expect(!bench.names().contains("new.sheaf"))
  }

  #if DEBUG
    /// An import that was killed and resumed writes the changes of both runs, each once.
    @Test(arguments: ["write", "flush"])
    func kills(call: String) throws {
      let bench = try filled()
      let bytes = try bench.read("t.sheaf")
      let run = words(bench, "--batch-size", "20", "--durability", "full", "--resume")
      for number in 1... {
        try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
        try? FileManager.default.removeItem(atPath: bench.path("c.jsonl"))
        let result = try SheafProcess.run(
          run, environment: ["SHEAF_FAULT": "\(call):\(number):kill:\(bench.path("calls"))"])
        let wasKilled = result.signal == System.killSignal
        #expect(wasKilled || result.status == 0, "\(call) \(number): \(result.errorText)")
        if bench.names().contains("c.jsonl") {
          #expect(try changes(bench) == expected, "\(call) \(number)")
        }
        try bench.run(run + ["--quiet"])
        #expect(try changes(bench) == expected, "\(call) \(number)")
        #expect(
          try bench.export() == users("a", 1...90) + users("b", 91...140).dropFirst(8),
          "\(call) \(number)")
        if !wasKilled || number >= 80 { break }
      }
    }

    /// A run that began without keeping the version before cannot tell its changes: it commits
    /// everything all the same.
    @Test func nothingWasKept() throws {
      let bench = try filled()
      let run = words(bench, "--batch-size", "20", "--durability", "full", "--resume")
      let killed = try SheafProcess.run(
        Array(run.filter { $0 != "--changes" && $0 != bench.path("c.jsonl") }),
        environment: ["SHEAF_FAULT": "write:8:kill:\(bench.path("faults"))"])
      #expect(killed.signal == System.killSignal)
      let result = try bench.run(run, status: .cannotCreate)
      #expect(result.errorText.contains("everything is committed"))
      #expect(result.errorText.contains("is not kept"))
      #expect(!bench.names().contains("c.jsonl"))
      #expect(
        try bench.export() == users("a", 1...90) + users("b", 91...140).dropFirst(8))
    }
  #endif
}
