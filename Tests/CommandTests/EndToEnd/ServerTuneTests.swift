import Foundation
import TestSupport
import Testing

@testable import Command

/// `sheaf tune` against a server.
@Suite struct ServerTuneTests {
  @Test("Every combination is measured, one is recommended, and nothing is left behind")
  func measured() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(2000) + "9999,too,many\n")
    let words = ["tune", bench.bench.path("a.csv"), "--into", bench.address()]
    let result = try bench.bench.run(
      words + [
        "--batch-sizes", "100,1000", "--connections", "1,2", "--durability", "group", "--repeat",
        "2",
        "--report", "json", "--header", "yes",
      ])
    let report = try Report(result.output)
    #expect(report["runs"].count == 4)
    for index in 0..<4 {
      #expect(report["runs"][index]["records"].int == 2001)
      #expect(report["runs"][index]["seconds"].count == 2)
    }
    #expect(report["recommended"]["batchSize"].int != nil)
    #expect(
      try bench.value("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'sheaf_tune_%'") == "0")
    #expect(bench.bench.names() == ["a.csv"])
    let text = try bench.bench.run(
      words + ["--batch-sizes", "1000", "--connections", "1", "--repeat", "1", "--limit", "10"])
    #expect(text.outputText.contains("best: --batch-size 1000 --connections 1"))
  }

  @Test(
    "What is not measured on a server is refused",
    arguments: [
      ["--into", "x.sheaf"], ["--into", "postgresql://u:SECRET@h/d", "--output", "x"],
      ["--into", "postgresql://u:SECRET@h/d", "--batch-sizes", "1,all"],
      ["--into", "postgresql://u:SECRET@h/d", "--durability", "none"],
      ["--into", "postgresql://u:SECRET@h/d", "--connections", "65"], ["--connections", "2"],
    ])
  func refused(_ words: [String]) throws {
    let bench = try Workbench()
    try bench.write("a.csv", "id\n1\n")
    let result = try bench.run(["tune", bench.path("a.csv")] + words, status: .usage)
    #expect(!result.errorText.contains("SECRET"))
  }
}
