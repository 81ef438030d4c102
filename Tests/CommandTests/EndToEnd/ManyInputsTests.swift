import Base
import Foundation
import TestSupport
import Testing

@testable import Command
@testable import Engine

/// Imports of many files, and what the table keeps of them.
@Suite(.serialized) struct ManyInputsTests {
  private func write(_ bench: Workbench, _ numbers: Range<Int>) throws {
    for number in numbers {
      try bench.write("f\(100_000 + number).csv", "id,name\n\(number),n\(number)\n")
    }
  }

  private func words(_ bench: Workbench, _ more: String...) -> [String] {
    ["import", bench.path("f*.csv"), "--into", bench.database, "--table", "t"] + more
  }

  /// An input that a later import has not reached is not complete because an earlier import has
  /// completed it.
  @Test func earlierEndsAreForgotten() throws {
    let bench = try Workbench()
    try write(bench, 0..<2)
    try bench.write("f100001.csv", "id,name\n1,n1\n1,too,many\n")
    let rejects = ["--rejects", bench.path("r.csv"), "--max-rejects"]
    func run(_ more: String..., status: Command.ExitStatus = .done) throws {
      let result = try SheafProcess.run(
        ["import", bench.path("f*.csv"), "--into", bench.database, "--table", "t", "--quiet"]
          + rejects + more)
      #expect(result.status == status.rawValue, "\(result.errorText)")
    }
    try run("5")
    #expect(try bench.export("--no-header") == "0,n0\n1,n1\n")
    // The first is imported again, the second is not.
    try run("0", status: .dataRefused)
    let half = try bench.export("--no-header")
    #expect(half == "0,n0\n1,n1\n0,n0\n")
    try run("5", "--resume")
    #expect(try bench.export("--no-header") == half + "1,n1\n")
  }

  /// No input is forgotten: under any table name, after a compaction, or after a killed import.
  @Test func allAreRemembered() throws {
    let bench = try Workbench()
    let count = Effort.isLong ? 25_000 : 300
    try write(bench, 0..<count)
    let first = try bench.report(words(bench))
    #expect(first["read"].int == count && first["files"].count == count)
    let rows = try bench.export("--no-header")
    try bench.run(["check", bench.database])
    #expect(try bench.run(words(bench, "--resume")).outputText.hasPrefix("nothing to do: all"))
    try bench.run(["compact", bench.database])
    try bench.run(["check", bench.database])
    try write(bench, count..<count + 30)
    let more = try bench.run(words(bench, "--resume")).outputText
    #expect(more.contains("inputs      30 read, \(count) complete before") || Effort.isLong)
    #expect(more.split(separator: "\n").count < 20)
    #expect(
      try bench.export("--no-header")
        == rows + (count..<count + 30).map { "\($0),n\($0)\n" }.joined())
    // The table that keeps them is not listed.
    let info = try bench.run(["info", bench.database]).outputText
    #expect(!info.contains("imports of"))
    #expect(try bench.run(["check", bench.database]).outputText.contains("1 table,"))
    // Without --resume all of them come in once more.
    try bench.run(words(bench))
    #expect(
      try bench.export("--no-header").split(separator: "\n").count == 2 * (count + 30))
    #expect(try bench.report(words(bench, "--resume"))["read"].int == 0)
    // An emptied table has forgotten its former inputs.
    try bench.run(words(bench, "--truncate"))
    #expect(try bench.export("--no-header").split(separator: "\n").count == count + 30)
    #expect(try bench.report(words(bench, "--resume"))["read"].int == 0)
    try bench.run(["check", bench.database])
  }

  /// A renamed input is known by its bytes, however many came later.
  @Test func aRenamedOneAmongMany() throws {
    let bench = try Workbench()
    try write(bench, 0..<40)
    try bench.run(words(bench))
    let rows = try bench.export()
    try FileManager.default.moveItem(
      atPath: bench.path("f100000.csv"), toPath: bench.path("f200000.csv"))
    let report = try bench.report(words(bench, "--resume", "--same-input", "contents"))
    #expect(report["read"].int == 0 && report["files"].count == 40)
    #expect(try bench.export() == rows)
  }

  /// Ten times as many files take about ten times the processor time.
  @Test func timeIsLinear() throws {
    func seconds(_ count: Int) throws -> (first: Double, again: Double) {
      let bench = try Workbench()
      try write(bench, 0..<count)
      return try (time(bench), time(bench, "--resume"))
    }
    let (few, many) = try (seconds(100), seconds(1000))
    #expect(many.first < 25 * few.first + 0.2, "\(few), \(many)")
    #expect(many.again < 25 * few.again + 0.2, "\(few), \(many)")
  }

  @Test(
    "The contents of a table are read once, not for each file",
    .disabled(
      if: System.environment("SHEAF_STRICT") == "1", "strict mode reads them at each commit"))
  func aLargeTableIsLookedAtOnce() throws {
    func seconds(leaves: Int) throws -> Double {
      let bench = try Workbench()
      let names = (0..<8).map { "c\($0)" }
      let line = names.joined(separator: ",") + "\n"
      for number in 0..<40 {
        try bench.write(
          "f\(number).csv", line + names.map { _ in "\(number)" }.joined(separator: ",") + "\n")
      }
      let database = try Database.open(bench.database)
      try database.write { transaction in
        try transaction.createTable("t", columns: names.map { Column($0, .int) })
        // Two such clusters have too many rows for one leaf.
        var rows = RowBuffer(columnIDs: names.indices.map { UInt32($0 + 1) })
        for key in 0..<150 as Range<Int64> {
          try rows.append(key: key, values: names.map { _ in .int(7) })
        }
        let cluster = try rows.encode(with: ClusterBuilder())
        for _ in 0..<leaves { try transaction.table("t").editor.append(cluster) }
      }
      try database.close()
      return try time(bench)
    }
    let (few, many) = try (seconds(leaves: 1), seconds(leaves: 2500))
    #expect(many < 4 * few + 0.5, "\(few), \(many)")
  }

  /// The processor time of an import of all files.
  private func time(_ bench: Workbench, _ more: String...) throws -> Double {
    let command = try ([SheafProcess.program()] + words(bench, "--quiet") + more)
      .map { "'\($0)'" }.joined(separator: " ")
    let result = try SheafProcess.run(
      ["-c", "LC_ALL=C; \(command) && times"], program: "/bin/sh")
    #expect(result.status == 0, "\(result.errorText)")
    return Self.childSeconds(result.outputText)
  }

  /// The processor time of a shell's children: the second line of its `times`, such as `0m0.05s
  /// 0m0.01s`.
  private static func childSeconds(_ times: String) -> Double {
    let line = times.split(separator: "\n").dropFirst().first ?? ""
    return line.split(separator: " ").reduce(0) { sum, time in
      let parts = time.dropLast().split(separator: "m").compactMap { Double($0) }
      return sum + (parts.count == 2 ? parts[0] * 60 + parts[1] : .infinity)
    }
  }

  /// Many files give the types that one file with all records gives.
  @Test("A dry run of several inputs into a new table tells what the import tells")
  func dryRun() throws {
    let bench = try Workbench()
    try bench.write("f0.csv", "id,a\n1,x\n")
    try bench.write("f1.csv", "id,b\n2,x\n")
    try bench.write("f2.csv", "id,a\nword,x\n")
    let dry = try bench.report(words(bench, "--dry-run"))
    #expect(bench.names().sorted() == ["f0.csv", "f1.csv", "f2.csv"])
    let real = try bench.report(words(bench))
    #expect(real["notes"].count == 4 && dry["notes"].count == 4)
    for place in 0..<4 { #expect(dry["notes"][place].text == real["notes"][place].text) }
    for place in 0..<2 {
      #expect(dry["columns"][place]["type"].text == real["columns"][place]["type"].text)
    }
    for name in ["read", "imported", "objects"] { #expect(dry[name].int == real[name].int) }
  }

  @Test func typesAreThoseOfAllFiles() throws {
    let bench = try Workbench()
    let values = ["1", "", "9007199254740993", "2", "", "3.5"]
    for (index, value) in values.enumerated() {
      try bench.write("f\(index).csv", "a,b\n\(value),x\n")
    }
    let report = try bench.report(words(bench))
    try bench.write("all.csv", "a,b\n" + values.map { "\($0),x\n" }.joined())
    let whole = try bench.report(
      ["import", bench.path("all.csv"), "--into", bench.path("all.sheaf"), "--table", "t"])
    #expect(
      report["columns"][0]["type"].text == whole["columns"][0]["type"].text)
    let export = try bench.run(["export", bench.path("all.sheaf")]).outputText
    #expect(try bench.export() == export)
  }
}
