import Base
import Engine
import Foundation
import Testing

@testable import Command

/// The reports of the commands, as scripts read them.
@Suite struct ReportTests {
  static let csv = "id,name,score\n1,one,4.5\n2,,3\n3,\"\",NaN\n4,four\n5,\"fi,ve\",many\n"

  @Test("The JSON report of an import has every figure")
  func anImportsJSON() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    let input = bench.path("in.csv")
    let report = try bench.report([
      "import", input, "--into", bench.database, "--max-rejects", "1", "--batch-size", "2",
    ])
    #expect(
      report.keys.isSuperset(of: [
        "command", "inputs", "database", "table", "read", "imported", "updated", "skipped",
        "unchanged", "rejected", "batchSize", "batches", "seconds", "bytesRead", "bytesWritten",
        "columns", "file", "compaction", "dialect", "resumedAt", "rejects", "readerSeconds",
        "writerSeconds", "flusherSeconds",
      ]))
    #expect(report["command"].text == "import")
    #expect(report["inputs"][0].text == input && report["inputs"].count == 1)
    #expect(report["database"].text == bench.database)
    #expect(report["table"].text == "in")
    let counts = ["read", "imported", "updated", "skipped", "unchanged", "rejected", "filtered"]
    #expect(counts.map { report[$0].int } == [5, 4, 0, 0, 0, 1, 0])
    #expect(report["batchSize"].int == 2 && report["batches"].int == 3)
    #expect(report["bytesRead"].int == Self.csv.utf8.count)
    #expect((report["bytesWritten"].int ?? 0) > 0)
    #expect((report["seconds"].double ?? 0) > 0)
    let columns = report["columns"]
    #expect((0..<3).map { columns[$0]["name"].text } == ["id", "name", "score"])
    #expect((0..<3).map { columns[$0]["type"].text } == ["int", "text", "text"])
    #expect((0..<3).map { columns[$0]["nulls"].int } == [0, 1, 0])
    #expect(columns[0]["widened"].isNull)
    let file = report["file"]
    let size = try System.status(path: bench.database).size
    #expect(file["total"].int == size)
    #expect((file["used"].int ?? 0) + (file["free"].int ?? 0) == size)
    let compaction = report["compaction"]
    #expect(compaction["decision"].text == "notNeeded")
    #expect(compaction["before"].int == size && compaction["after"].int == size)
    #expect(compaction["seconds"].double == 0)
    let dialect = report["dialect"]
    #expect(dialect["delimiter"].text == "," && dialect["quote"].text == "\"")
    #expect(dialect["escape"].text == "\"" && dialect["comment"].isNull)
    #expect(dialect["header"].bool == true && dialect["encoding"].text == "utf-8")
    #expect(dialect["skippedLines"].int == 0 && dialect["recordEnd"].text == "\n")
    #expect(dialect["sniffed"].count == 6)
    #expect(report["resumedAt"].isNull)
    #expect(report["rejects"]["file"].text == bench.path("in.rejects.csv"))
    #expect(report["rejects"]["reasons"].text == bench.path("in.rejects.csv.reasons.jsonl"))
    #expect(try bench.text("in.rejects.csv") == "id,name,score\n4,four\n")

    let again = try bench.report(["import", input, "--into", bench.database, "--resume"])
    #expect(again["resumedAt"]["complete"].bool == true)
    #expect(again["read"].int == 0 && again["objects"].int == 4)
  }

  @Test("The text report of an import has every line")
  func anImportsText() throws {
    let bench = try Workbench()
    var csv = "n,b\n"
    for record in 1...1500 { csv += "\(record == 1400 ? "many" : String(record)),x\n" }
    try bench.write("in.csv", csv)
    let text = try bench.run(["import", bench.path("in.csv"), "--into", bench.database]).outputText
    #expect(text.hasPrefix("imported 1,500 objects into table \"in\" of "))
    #expect(text.contains("  read        1,500 records, "))
    #expect(
      text.contains(
        ": column 'n' was int and is text now, because of a value at line 1401\n"))
    #expect(text.contains("  columns     n text, b text\n"))
    #expect(text.contains("  compaction  not needed\n"))
    #expect(!text.contains("rejected"))
    let again = try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--resume",
    ])
    #expect(again.outputText.hasPrefix("nothing to do: "))
    let quiet = try bench.run([
      "import", bench.path("in.csv"), "--into", bench.path("q.sheaf"), "--quiet",
    ])
    #expect(quiet.output.isEmpty)
  }

  @Test("The report says whether the file was compacted, and why not")
  func compactionAfterAnImport() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n" + (1...500).map { "\($0),x\n" }.joined())
    try bench.write("big.csv", "a,b\n" + (1...20_000).map { "\($0),x\($0)\n" }.joined())
    let basic = ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"]
    let never = try bench.report([
      "import", bench.path("big.csv"), "--into", bench.database, "--table", "t", "--compact",
      "never", "--batch-size", "all",
    ])
    #expect(never["compaction"]["decision"].text == "disabled")
    // One transaction empties and fills the table: the space of the old objects is free afterwards.
    let auto = try bench.report(
      basic + ["--truncate", "--compact-above", "1KB", "--compact-used-below", "90%"])
    #expect(auto["compaction"]["decision"].text == "compacted")
    let before = auto["compaction"]["before"].int ?? 0
    let after = auto["compaction"]["after"].int ?? 0
    #expect(after < before && auto["file"]["total"].int == after)
    #expect(auto["file"]["free"].int == 0)
    let notNeeded = try bench.report(
      basic + ["--truncate", "--compact-above", "1GB", "--compact-used-below", "100%"])
    #expect(notNeeded["compaction"]["decision"].text == "notNeeded")
  }

  @Test("sheaf compact reports sizes and decisions")
  func compact() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n" + (1...500).map { "\($0),x\n" }.joined())
    for _ in 0..<2 {
      try bench.run([
        "import", bench.path("in.csv"), "--into", bench.database, "--batch-size", "10",
        "--compact", "never", "--truncate",
      ])
    }
    let size = try System.status(path: bench.database).size
    let conditions = ["--if-above", "1GB", "--if-used-below", "100%"]
    let skipped = try bench.report(["compact", bench.database] + conditions)
    #expect(skipped["command"].text == "compact" && skipped["decision"].text == "notNeeded")
    #expect(skipped["before"].int == size && skipped["after"].int == size)

    let exported = try bench.export()
    let copy = try bench.report(["compact", bench.database, "--into", bench.path("copy.sheaf")])
    #expect(copy["decision"].text == "compacted" && copy["before"].int == size)
    #expect(try System.status(path: bench.path("copy.sheaf")).size == copy["after"].int)
    #expect(try System.status(path: bench.database).size == size)
    #expect(try bench.run(["export", bench.path("copy.sheaf")]).outputText == exported)
    try bench.run(
      ["compact", bench.database, "--into", bench.path("copy.sheaf")], status: .cannotCreate)

    let report = try bench.report(["compact", bench.database])
    #expect(report["decision"].text == "compacted" && report["before"].int == size)
    let after = try System.status(path: bench.database).size
    #expect(report["after"].int == after && after < size)
    #expect((report["seconds"].double ?? 0) > 0)
    #expect(try bench.export() == exported)
    #expect(
      try bench.run(["compact", bench.database]).outputText
        .hasPrefix("\(bench.database): compacted: "))
    #expect(try bench.run(["compact", bench.database, "--quiet"]).output.isEmpty)

    // The file is in use: nothing changes, and the status says so.
    let database = try Database.open(bench.database)
    let busy = try SheafProcess.run(["compact", bench.database, "--report", "json"])
    #expect(busy.status == ExitStatus.busy.rawValue)
    #expect(try Report(busy.output)["decision"].text == "skippedInUse")
    #expect(busy.errorText.contains("not compacted"))
    try database.close()
    bench.expectNothingLeft()
  }

  @Test("sheaf info and check report tables and problems")
  func infoAndCheck() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.csv)
    try bench.run([
      "import", bench.path("in.csv"), "--into", bench.database, "--ragged", "pad", "--table", "x",
    ])
    try bench.run(["import", "-", "--into", bench.database], input: "k\nv\n")
    let info = try bench.report(["info", bench.database])
    #expect(info["command"].text == "info" && info["format"].int == 1)
    #expect(info["version"].int == 3)
    let size = try System.status(path: bench.database).size
    #expect(info["file"]["total"].int == size)
    let parts = ["used", "free", "pinned"].compactMap { info["file"][$0].int }
    #expect(parts.count == 3 && parts.reduce(0, +) == size)
    #expect(info["readers"].count == 0 && info["tables"].count == 2)
    let table = info["tables"][0]
    #expect(table["name"].text == "x" && table["objects"].int == 5)
    #expect(table["columns"].count == 3)
    #expect(table["columns"][0]["type"].text == "int")
    #expect((table["columns"][0]["bytes"].int ?? 0) > 0)
    #expect(table["columns"][0]["encodings"].keys.count == 1)
    #expect(info["tables"][1]["name"].text == "stdin")
    let text = try bench.run(["info", bench.database]).outputText
    #expect(text.contains("table x: 5 objects in 1 cluster"))

    let database = try Database.open(bench.database, options: .init(access: .readOnly))
    var held: Snapshot? = try database.snapshot()
    let shown = try Report(SheafProcess.run(["info", bench.database, "--report", "json"]).output)
    #expect(shown["readers"][0]["pid"].int == Int(System.processIdentifier))
    #expect(shown["readers"][0]["version"].int == Int(held?.version ?? 0))
    #expect(shown["readers"][0]["snapshots"].int == 1)
    #expect(shown["readers"][0]["pinned"].int == 0)
    held = nil
    try database.close()

    let check = try bench.report(["check", bench.database])
    #expect(check["command"].text == "check" && check["ok"].bool == true)
    #expect(check["objects"].int == 6 && check["problems"].count == 0)
    #expect(
      try bench.run(["check", bench.database]).outputText.hasPrefix("\(bench.database): sound: "))
    #expect(check["deep"].bool == false && check["values"].int == 0)
    let deep = try bench.report(["check", bench.database, "--deep"])
    #expect(deep["ok"].bool == true && deep["deep"].bool == true && deep["problems"].count == 0)
    #expect((deep["values"].int ?? 0) >= 6 && deep["indexEntries"].int == 0)
    #expect(deep["olderVersions"].count == 0 && deep["passedOver"].count == 0)
    let said = try bench.run(["check", "--deep", bench.database]).outputText
    #expect(said.contains(" values and the free pages compared\n"), "\(said)")
  }

  #if os(Linux)
    /// The import is committed, but its report cannot be written.
    @Test(arguments: ["text", "json"])
    func aReportThatCannotBeWritten(format: String) throws {
      let bench = try Workbench()
      try bench.write("in.csv", Self.csv)
      let words =
        "import \(bench.path("in.csv")) --into \(bench.database) --ragged pad --report \(format)"
      let result = try Shelled.run("\(words) > /dev/full")
      #expect(result.status == ExitStatus.cannotCreate.rawValue)
      #expect(result.errorText.contains("standard output: write: "))
      #expect(result.errorText.contains("everything is committed"))
      #expect(try bench.export().split(separator: "\n").count == 6)
    }
  #endif
}
