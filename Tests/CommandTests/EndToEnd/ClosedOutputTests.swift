import Base
import Importer
import Foundation
import Testing

@testable import Command

/// A report that nobody reads does not change the status, nor what logs and metrics say.
@Suite struct ClosedOutputTests {
  /// Runs a command whose output nobody reads any more.
  private func status(_ words: [String]) throws -> String {
    let line = words.map { ShellWord.quoted($0) }.joined(separator: " ")
    return try SheafProcess.run(
      ["-c", "{ sleep 0.2; \"$SHEAF\" \(line) 2>&-; echo $? >&2; } | :"], program: "/bin/sh",
      environment: ["SHEAF": SheafProcess.program()]
    ).errorText
  }

  @Test func theStatusIsTheSame() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n2,b\n")
    try bench.write("bad.csv", "id,v\n1,a\n2\n")
    try bench.write("more.csv", "id,v\n1,a\n2,b\n3,c\n")
    try bench.run(["import", bench.path("in.csv"), "--into", bench.database, "--quiet"])
    let log = ["--report-file", bench.path("runs.jsonl"), "--metrics-file", bench.path("m.prom")]
    #expect(
      try status(["verify", bench.database, bench.path("more.csv"), "--table", "in"] + log)
        == "65\n")
    let line = try #require(try bench.text("runs.jsonl").split(separator: "\n").last)
    #expect(line.contains("\"exitStatus\":65"))
    let metrics = try bench.text("m.prom")
    #expect(metrics.contains("sheaf_last_run_exit_status{") && metrics.contains("} 65\n"))
    #expect(
      try status(["import", bench.path("bad.csv"), "--into", bench.database, "--dry-run"]) == "65\n"
    )
    // An early part of the report, too.
    var bytes = try bench.read("t.sheaf")
    for place in stride(from: 8192, to: bytes.count, by: 5) { bytes[place] ^= 0x55 }
    try Data(bytes).write(to: URL(fileURLWithPath: bench.database))
    #expect(try status(["check", bench.database]) == "65\n")
    #expect(try status(["check", bench.database, "--report", "json"]) == "65\n")
  }

  @Test("An import that is interrupted is none that has succeeded")
  func interrupted() throws {
    let bench = try Workbench()
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--table", "t", "--batch-size", "1", "--header",
      "id", "--report-file", bench.path("runs.jsonl"), "--metrics-file", bench.path("m.prom"),
    ])
    process.closeOutput(after: 0)
    try process.send((1...200_000).map { "\($0)\n" }.joined())
    process.signal(SIGINT)
    let result = process.wait()
    #expect(result.status == 130, "\(result.errorText)")
    let line = try bench.text("runs.jsonl")
    #expect(line.contains("\"exitStatus\":130") && !line.contains("\"error\":null"), "\(line)")
    #expect(!(try bench.text("m.prom")).contains("sheaf_last_success_timestamp_seconds{"))
  }

  @Test("A run whose metrics cannot be written has its line in the report file")
  func withoutMetrics() throws {
    let bench = try Workbench()
    try FileManager.default.createDirectory(
      atPath: bench.path("metrics"), withIntermediateDirectories: false)
    let process = try SheafProcess([
      "import", "-", "--into", bench.database, "--table", "t", "--header", "yes", "--report-file",
      bench.path("runs.jsonl"), "--metrics-file", bench.path("metrics/m.prom"),
    ])
    // More than is looked at before the import begins, with the metrics' folder open.
    try process.send("id\n" + (1...200_000).map { "\($0)\n" }.joined())
    process.waitWhile { !bench.names().contains("t.sheaf") }
    #expect(bench.names().contains("t.sheaf"))
    try FileManager.default.removeItem(atPath: bench.path("metrics"))
    let result = process.finish()
    #expect(result.status == 73 && result.errorText.contains("do not run the import again"))
    let line = try bench.text("runs.jsonl")
    #expect(line.contains("\"exitStatus\":73") && line.contains("the report is lost"), "\(line)")
  }
}
