import Foundation
import Importer
import Testing

@testable import Command

/// `sheaf sniff`, through the built program.
@Suite struct SniffTests {
  private static let bank =
    "Konto;DE12\nSaldo;12,50;EUR\n\nBuchung;Text;Betrag\n02.01.2020;a;1,5\n03.01.2020;b;-2,5\nSumme;;-1,0\n"

  /// The printed command says everything that was found: it reads the file in the same way.
  @Test(arguments: [
    bank, "a,b\n1,2\n", "'a','b'\n'x,y','z'\n", "# c\nid\tn\n1\t2\n", "1|2\n3|4\n",
    "a,b\n\"x \\\"y\\\"\",1\n\"z\",2\n", "Land,2000,2001\nFR,1.5,2.5\n", "\u{FEFF}n;m\n1;2\n",
    "  a   b\n  1  22\n 10   3\n  4   5\n  6   7\n", "# c\na,b\n1,2\n#3,4\n# d\n5,6\n",
    "# c, d\na,b\n1,2\n# e\n5,6\n", "# by me\nTitle\n\na,b\n1,2\n#3,4\n5,6\n",
  ])
  func theCommandSaysAll(input: String) throws {
    let bench = try Workbench()
    try bench.write("in.csv", input)
    let sniffed = try JSONSerialization.jsonObject(
      with: Data(bench.run(["sniff", bench.path("in.csv"), "--report", "json"]).outputText.utf8))
    let report = try #require(sniffed as? [String: Any])
    #expect(report["command"] as? String == "sniff")
    #expect(report["candidates"] as? [[String: Any]] != nil)
    let command = try #require(report["import"] as? String)
    #expect(command.hasPrefix("sheaf import "))
    let told = try SheafProcess.run(
      [
        "-c",
        "cd \(ShellWord.quoted(bench.path("."))) && \"$SHEAF\" "
          + "\(command.dropFirst(6)) --max-rejects unlimited --rejects told.csv --quiet",
      ], program: "/bin/sh", environment: ["SHEAF": SheafProcess.program()])
    #expect(told.status == 0, "\(command): \(told.errorText)")
    try bench.run(
      [
        "import", bench.path("in.csv"), "--into", bench.database, "--table", "in", "--max-rejects",
        "unlimited", "--rejects", bench.path("found.csv"), "--quiet",
      ])
    #expect((try? bench.read("told.csv")) == (try? bench.read("found.csv")))
    let found = try bench.export()
    #expect(try bench.run(["export", bench.path("in.sheaf")]).outputText == found)
  }

  /// A preamble before the table does not hide a footer behind it.
  @Test(arguments: ["", "Report, made by me\nFrom,2020\n", "\u{FEFF}", "Report 2020,,,\n,,,\n"])
  func footersOfShortTables(preamble: String) throws {
    let bench = try Workbench()
    let table = "Name,Qty,Price,Day\nA,1,2.5,2020-01-01\nB,2,3.5,2020-01-02\nC,4,1.5,2020-01-03\n"
    try bench.write("in.csv", preamble + table + "Total,7,,\nEnd of report\n")
    let text = try bench.run(["sniff", bench.path("in.csv")]).outputText
    #expect(
      text.contains("the last 2 lines seem not to be the table's: 'Total'; --skip-footer 2"),
      "\(text)")
    try bench.write("whole.csv", preamble + table)
    #expect(
      try !bench.run(["sniff", bench.path("whole.csv")]).outputText.contains("--skip-footer"))
  }

  /// The first 1,000 records, and of wide tables those that begin in the first 512 KiB.
  @Test func asMuchAsIsRead() throws {
    let bench = try Workbench()
    for (width, field, expected) in [
      (2, 1, 1000...1000), (100, 29, 170...180), (1, 300_000, 2...2),
    ] {
      let record = [String](repeating: String(repeating: "7", count: field), count: width)
      let lines =
        [(0..<width).map { "c\($0)" }]
        + [[String]](repeating: record, count: min(1200, 3_600_000 / field / width))
      try bench.write("in.csv", lines.map { $0.joined(separator: ",") + "\n" }.joined())
      let report = try Importer.sniff(ImportOptions(inputs: [bench.path("in.csv")], database: ""))
      #expect(expected.contains(report.read), "\(width) columns: \(report.read)")
      #expect(report.rejected == 0 && report.columns.count == width)
    }
  }

  @Test("sheaf sniff prints dialect, header, columns and command")
  func whatIsTold() throws {
    let bench = try Workbench()
    try bench.write("in.csv", Self.bank)
    let text = try bench.run(["sniff", bench.path("in.csv")]).outputText
    for line in [
      "dialect     delimiter (;), quote (\"), escape (doubled), header (yes), encoding utf-8, "
        + "skipped lines (3)",
      "header      yes: column 3 has nothing but numbers", "            Betrag double",
      "candidates  * ; \"  3 fields in",
      "3 lines before the header left out, beginning with 'Konto'",
      "--skip-footer 1", "import      sheaf import ",
    ] { #expect(text.contains(line), "\(line): \(text)") }
    // Nothing is written, and a pipe is a possible input.
    #expect(bench.names() == ["in.csv"])
    let piped = try bench.run(["sniff", "-"], input: Self.bank).outputText
    #expect(piped.contains("            Betrag double"))
    #expect(piped.contains("sheaf import - --into stdin.sheaf"))
  }

  /// The command keeps the options that were given.
  @Test func theCommandKeepsWhatWasTold() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "a,b\n\"x\"y,N A\n")
    let text = try bench.run(
      ["sniff", bench.path("in.csv"), "--quotes", "lenient", "--null", "N A"]
    ).outputText
    #expect(text.contains("--quotes lenient --null 'N A'\n"), "\(text)")
  }

  @Test("sheaf sniff refuses missing and empty inputs")
  func misuse() throws {
    let bench = try Workbench()
    try bench.write("empty.csv", "")
    try bench.run(["sniff", bench.path("empty.csv")], status: .dataRefused)
    try bench.run(["sniff", bench.path("none.csv")], status: .inputMissing)
    try bench.run(["sniff"], status: .usage)
    try bench.run(
      ["sniff", bench.path("empty.csv"), "--header-lines", "2", "--header", "no"], status: .usage)
    #expect(bench.names() == ["empty.csv"])
  }
}
