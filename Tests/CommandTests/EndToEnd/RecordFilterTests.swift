import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `import --where` and `--schema`.
@Suite struct RecordFilterTests {
  private func words(_ bench: Workbench, _ more: String...) -> [String] {
    ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"] + more
  }

  private func expectSum(_ report: Report, sourceLocation: SourceLocation = #_sourceLocation) {
    let counts = ["imported", "updated", "skipped", "unchanged", "rejected", "filtered"].map {
      report[$0].int ?? -1
    }
    #expect(report["read"].int == counts.reduce(0, +), sourceLocation: sourceLocation)
  }

  private let rows =
    (1...400).map { "\($0),\($0 % 4 == 0 ? "eu" : $0 % 4 == 1 ? "us" : ""),\($0 * 3)\n" }.joined()

  @Test(
    "--where imports exactly the matching records", arguments: ["1", "7", "100", "1000", "all"],
    [true, false])
  func filtered(batch: String, hasKey: Bool) throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,region,n\n" + rows)
    let words =
      words(bench, "--where", "region == 'eu' and n < 900", "--batch-size", batch)
      + (hasKey ? ["--key", "id"] : [])
    let report = try bench.report(words)
    let expected = (1...400).filter { $0 % 4 == 0 && $0 * 3 < 900 }
    #expect(
      report["filtered"].int == 400 - expected.count && report["imported"].int == expected.count)
    #expect(report["files"][0]["filtered"].int == 400 - expected.count)
    expectSum(report)
    expectSum(report["files"][0])
    #expect(
      try bench.export() == "id,region,n\n" + expected.map { "\($0),eu,\($0 * 3)\n" }.joined())
    let run = try bench.report(["log", bench.database])["runs"][0]
    #expect(run["filtered"].int == report["filtered"].int)
    expectSum(run)
    let again = try bench.run(words + (hasKey ? ["--on-conflict", "update"] : []))
    #expect(
      again.outputText.contains(
        "  filtered    \(400 - expected.count) records that --where leaves out"))
    let line = try bench.run(
      words + ["--dry-run", "--report", "line"] + (hasKey ? ["--on-conflict", "skip"] : []),
      status: .done)
    #expect(line.outputText.contains("filtered \(400 - expected.count)"))
  }

  /// The filter comes first: records that it leaves out are not checked and have no influence on types;
  /// records that it cannot judge are rejected.
  @Test func whatIsJudged() throws {
    let bench = try Workbench()
    let csv =
      "id,n,x\n1,5,1\n2,6,oops\n3,x,3\n4,,4\n5,-1,5\n,-2,6\n,8,7\n6,7,8,9\n" + "7,1,word\n"
    try bench.write("in.csv", csv)
    let words = words(
      bench, "--key", "id", "--types", "n:int", "--where", "n > 0 and n < 6", "--max-rejects", "9",
      "--rejects", bench.path("r.csv"))
    let report = try bench.report(words)
    expectSum(report)
    // Filtered: 2, 4, 5 and the two without a key. Rejected: 3, which cannot be judged, and 6, which is
    // malformed.
    #expect(
      report["imported"].int == 2 && report["filtered"].int == 5 && report["rejected"].int == 2)
    #expect(try bench.text("r.csv") == "id,n,x\n3,x,3\n6,7,8,9\n")
    let columns = report["columns"]
    #expect(columns[2]["type"].text == "text" && columns[1]["type"].text == "int")
    for expression in ["", "none == 1", "n == 'x'", "n >"] {
      try bench.run(self.words(bench, "--where", expression), status: .usage)
    }
  }

  /// A filtered import that was killed resumes as if it had not been; another filter makes it another
  /// import.
  @Test func resumed() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,region,n\n" + rows)
    let words = words(
      bench, "--where", "region == 'eu'", "--batch-size", "10", "--durability", "full", "--resume")
    #if DEBUG
      let killed = try SheafProcess.run(
        words, environment: ["SHEAF_FAULT": "write:40:kill:\(bench.path("calls"))"])
      #expect(killed.signal == System.killSignal)
      let other = try SheafProcess.run(
        self.words(bench, "--where", "region == 'us'", "--batch-size", "10", "--resume"))
      #expect(other.status == 64 && other.errorText.contains("--where"))
    #endif
    let report = try bench.report(words)
    expectSum(report)
    expectSum(try bench.report(["log", bench.database])["runs"][0])
    #expect(try bench.report(["log", bench.database])["runs"][0]["filtered"].int == 300)
    #expect(
      try bench.export() == "id,region,n\n"
        + (1...400).filter { $0 % 4 == 0 }.map { "\($0),eu,\($0 * 3)\n" }.joined())
    #expect(try bench.report(words)["read"].int == 0)
  }

  // MARK: --schema

  private func types(_ report: Report) -> [String?] {
    (0..<report["columns"].count).map { report["columns"][$0]["type"].text }
  }

  @Test("A day without records does not fail because its columns have no types")
  func withoutRecords() throws {
    let bench = try Workbench()
    let words = [
      "import", "-", "--into", bench.database, "--table", "t", "--where", "id > 1", "--check",
      "n between 1 and 5",
    ]
    for text in ["id,n\n", "id,n", "id,n\r\n\r\n"] { try bench.run(words, input: text) }
    try bench.run(words + ["--where", "none > 1"], input: "id,n\n", status: .usage)
    // The types are those of the first values, and the conditions hold for these.
    let report = try bench.run(
      words + ["--max-rejects", "9", "--report", "json"], input: "id,n\n1,1\n2,2\n3,30\n")
    #expect(try Report(Array(report.outputText.utf8))["imported"].int == 1, "\(report.outputText)")
    #expect(try bench.export("--no-header") == "2,2\n")
  }

  @Test("--schema evolve widens types that were given")
  func evolve() throws {
    let bench = try Workbench()
    let text =
      "a,b,c,d\n1,1.5,2026-01-01,10:00\n"
      + (1...1500).map { "\($0),2.5,2026-01-02,11:00\n" }.joined()
    let told = ["--types", "a:int,b:double,c:date,d:time"]
    try bench.write("in.csv", text + "x,y,z,w\n")
    try bench.run(words(bench) + told, status: .dataRefused)
    try bench.run(["delete", bench.database, "a > 0"])
    let strict = try bench.report(words(bench, "--max-rejects", "1") + told)
    #expect(types(strict) == ["int", "double", "date", "time"] && strict["rejected"].int == 1)
    let evolved = try bench.report(words(bench, "--schema", "evolve") + told)
    #expect(types(evolved) == ["text", "text", "text", "text"] && evolved["rejected"].int == 0)
    #expect(evolved["columns"][0]["widened"]["from"].text == "int")
    #expect(try bench.export().hasSuffix("x,y,z,w\n"))
    // If everything fits, a new table has the given types, too.
    try bench.write("in.csv", text)
    let fresh = try bench.report(
      ["import", bench.path("in.csv"), "--into", bench.path("new.sheaf"), "--schema", "evolve"] + [
        "--types", "a:double,b:double,c:date,d:time",
      ])
    #expect(types(fresh) == ["double", "double", "date", "time"])
    // A type that is wider than the table's.
    try bench.write("in.csv", "a\n7\n")
    let path = bench.path("n.sheaf")
    try bench.run(["import", bench.path("in.csv"), "--into", path, "--table", "t", "--quiet"])
    try bench.run(
      ["import", bench.path("in.csv"), "--into", path, "--table", "t", "--types", "a:double"],
      status: .usage)
    let wider = try bench.report([
      "import", bench.path("in.csv"), "--into", path, "--table", "t", "--types", "a:double",
      "--schema",
      "evolve",
    ])
    #expect(types(wider) == ["double"])
  }

  @Test("--schema freeze keeps columns and types")
  func freeze() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,n,day\n1,5,2026-01-01\n2,6,2026-01-02\n")
    let frozen = words(
      bench, "--schema", "freeze", "--max-rejects", "1", "--rejects", bench.path("r.csv"))
    // A table that does not exist yet has nothing to freeze.
    #expect(types(try bench.report(frozen)) == ["int", "int", "date"])
    let before = try bench.export()
    try bench.write("in.csv", "id,x,more\n3,7,8\n")
    let refused = try bench.run(frozen, status: .dataRefused)
    for name in ["'x'", "'more'", "'n'", "'day'"] { #expect(refused.errorText.contains(name)) }
    try bench.write("in.csv", "id,n,Day\n3,7,2026-01-03\n")
    #expect(try bench.run(frozen, status: .dataRefused).errorText.contains("--rename Day:day"))
    try bench.run(frozen + ["--filename"], status: .dataRefused)
    #expect(try bench.export() == before)
    // With `--schema freeze` a value that would widen a column is rejected; by default, and with
    // `--types infer`, it widens it.
    try bench.write("in.csv", "id,n,day\n3,7.5,2026-01-03\n4,8,2026-01-04\n")
    let report = try bench.report(frozen)
    #expect(report["rejected"].int == 1 && report["imported"].int == 1)
    #expect(types(report) == ["int", "int", "date"])
    #expect(try bench.text("r.csv") == "id,n,day\n3,7.5,2026-01-03\n")
    #expect(types(try bench.report(words(bench))) == ["int", "double", "date"])
    // With `--columns` the other columns are left out on purpose.
    try bench.write("in.csv", "id,x\n9,1\n")
    #expect(try bench.report(frozen + ["--columns", "id"])["imported"].int == 1)
    try bench.run(frozen + ["--ragged", "extend"], status: .usage)
    try bench.run(frozen + ["--new-columns"], status: .usage)
    // An emptied table keeps its types.
    try bench.write("in.csv", "id,n,day\n1,5,2026-01-01\n2,x,2026-01-02\n")
    let emptied = try bench.report(frozen + ["--truncate"])
    #expect(types(emptied) == ["int", "double", "date"] && emptied["rejected"].int == 1)
  }

  @Test("A table without objects, or a column without values, keeps its types until it has values")
  func unusedColumns() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "id,c,d,e\n1,15,2020-01-01,1.5\n")
    try bench.write("b.csv", "id,c,d,e\n3,,,\n")
    try bench.write("c.csv", "id,c,d,e\n3,7.5,x,2018-08-25 10:00:00\n")
    func run(_ name: String, _ more: String...) throws {
      try bench.run(
        ["import", bench.path(name), "--into", bench.database, "--table", "t"] + more)
    }
    func types() throws -> String {
      let info = try bench.run(["info", bench.database, "--report", "json"])
      let columns = try Report(info.output)["tables"][0]["columns"]
      return (0..<columns.count).map { columns[$0]["type"].text ?? "?" }.joined(separator: " ")
    }
    try run("a.csv")
    try bench.run(["delete", bench.database, "id == 1", "--max-deletes", "unlimited"])
    try run("a.csv", "--where", "c > 100")
    #expect(try types() == "int int date double")
    // The type counts where no value says another.
    try run("b.csv", "--where", "c == 15 or id == 3")
    try run("b.csv", "--check", "c != 4")
    #expect(try types() == "int int date double")
    // Whatever type it had is guessed anew with the first values.
    try run("c.csv")
    #expect(try types() == "int double text datetime")
    #expect(
      try bench.export() == "id,c,d,e\n3,,,\n3,,,\n3,7.5,x,2018-08-25 10:00:00\n")
  }
}
