import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `--metrics-file`: the samples for an alert, put in place as a whole, also after failed runs.
@Suite struct MetricsFileTests {
  private func words(_ bench: Workbench, _ more: String...) -> [String] {
    [
      "import", bench.path("in.csv"), "--into", bench.database, "--table", "t", "--key", "id",
      "--on-conflict", "update", "--quiet", "--metrics-file", bench.path("sheaf.prom"),
    ] + more
  }

  /// The samples by name and command. Each name has its help and type once, before its samples.
  private func samples(_ bench: Workbench, _ database: String? = nil) throws -> [String: Double] {
    let text = try bench.text("sheaf.prom")
    #expect(text.hasSuffix("\n"))
    var samples: [String: Double] = [:]
    var described: Set<String> = []
    var current = ""
    for line in text.split(separator: "\n") {
      if line.hasPrefix("# ") {
        let parts = line.split(separator: " ")
        if parts[1] == "HELP" {
          #expect(described.insert(String(parts[2])).inserted, "\(line)")
          current = String(parts[2])
        } else {
          #expect(parts[1] == "TYPE" && parts[2] == current && parts[3] == "gauge")
        }
        continue
      }
      #expect(line.hasPrefix(current + "{"))
      let close = try #require(line.lastIndex(of: "}"))
      let labels = line[..<close]
      guard labels.contains(database ?? bench.database) else { continue }
      let command = try #require(labels.split(separator: "\"").dropFirst().first)
      let value = try #require(Double(line[line.index(after: close)...].drop { $0 == " " }))
      #expect(samples.updateValue(value, forKey: "\(command) \(current)") == nil)
    }
    return samples
  }

  @Test("The metrics file counts runs and records of each command")
  func runs() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n2,b\n")
    let start = Double(time(nil))
    try bench.run(words(bench))
    let first = try samples(bench)
    func value(_ samples: [String: Double], _ name: String, _ command: String = "import") -> Double?
    {
      samples["\(command) sheaf_last_\(name)"]
    }
    #expect(value(first, "run_exit_status") == 0 && value(first, "run_imported") == 2)
    #expect(value(first, "run_file_total") == Double(try bench.read("t.sheaf").count))
    #expect(value(first, "run_filtered") == 0 && value(first, "run_bytes_read") == 13)
    let success = try #require(value(first, "success_timestamp_seconds"))
    #expect(success >= start && success <= Double(time(nil)))
    // A failed run keeps the time of the last success; other commands and files have lines of their
    // own.
    try bench.write("in.csv", "id,v\n1,a\n2,b,c\n3,d\n")
    try bench.run(words(bench), status: .dataRefused)
    let failed = try samples(bench)
    #expect(
      value(failed, "run_exit_status") == 65
        && value(failed, "success_timestamp_seconds") == success)
    #expect(value(failed, "run_objects") == nil)
    try bench.run(words(bench, "--no-such-option"), status: .usage)
    #expect(value(try samples(bench), "run_exit_status") == 64)
    #expect(value(try samples(bench), "success_timestamp_seconds") == success)
    // The file is named behind an option and its value.
    try bench.run(
      ["compact", "--metrics-file", bench.path("sheaf.prom"), "--if-above", "x", bench.database],
      status: .usage)
    #expect(value(try samples(bench), "run_exit_status", "compact") == 64)
    try bench.run([
      "compact", bench.database, "--quiet", "--metrics-file", bench.path("sheaf.prom"),
    ])
    try bench.run(["delete", bench.database, "id == 1", "--metrics-file", bench.path("sheaf.prom")])
    let both = try samples(bench)
    #expect(value(both, "run_exit_status") == 64 && value(both, "run_exit_status", "compact") == 0)
    #expect(value(both, "run_deleted", "delete") == 1)
    try bench.write("in.csv", "id,v\n1,a\n")
    try bench.run(words(bench))
    #expect(value(try samples(bench), "run_exit_status") == 0)
    try bench.run(
      ["import", bench.path("in.csv"), "--into", bench.path("missing/x.sheaf")] + [
        "--metrics-file", bench.path("sheaf.prom"),
      ], status: .cannotCreate)
    #expect(
      value(try samples(bench, bench.path("missing/x.sheaf")), "run_exit_status") == 73)
    // The input is missing, which is found before anything is opened.
    try bench.run(
      [
        "import", bench.path("none.csv"), "--into", bench.database, "--metrics-file",
        bench.path("sheaf.prom"),
      ],
      status: .inputMissing)
    #expect(value(try samples(bench), "run_exit_status") == 66)
    #expect(!bench.names().contains { $0.hasPrefix(".sheaf-output") })
  }

  /// Quotes, backslashes and line ends in a path.
  @Test func oddNames() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n")
    let odd = bench.path("a \"b\\c}.sheaf")
    for _ in 0..<2 {
      try bench.run(
        ["import", bench.path("in.csv"), "--into", odd, "--table", "t", "--quiet"] + [
          "--metrics-file", bench.path("sheaf.prom"),
        ])
    }
    let text = try bench.text("sheaf.prom")
    #expect(text.contains(#"a \"b\\c}.sheaf"} 0"#))
    #expect(text.split(separator: "\n").count { $0.hasPrefix("sheaf_last_run_exit_status") } == 1)
  }

  @Test("Jobs that share a metrics file keep each other's lines")
  func jobsAtOnce() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n2,b\n")
    func words(_ job: Int, _ input: String) -> [String] {
      ["import", input, "--into", bench.path("\(job).sheaf"), "--table", "t", "--quiet"]
        + ["--metrics-file", bench.path("sheaf.prom")]
    }
    // The first has looked at the file before the others write it, and writes it after them.
    let first = try SheafProcess(words(0, "-"))
    try first.send("id,v\n1,a\n")
    first.waitWhile { !bench.names().contains { $0.hasPrefix(".sheaf-output") } }
    let others = try (1..<8).map { try SheafProcess(words($0, bench.path("in.csv"))) }
    for process in others { #expect(process.finish().status == 0) }
    #expect(first.finish().status == 0)
    for job in 0..<8 {
      let samples = try samples(bench, bench.path("\(job).sheaf"))
      #expect(samples["import sheaf_last_run_imported"] == (job == 0 ? 1 : 2), "\(job)")
    }
    #expect(!bench.names().contains { $0.hasPrefix(".sheaf-output") })
  }

  @Test("What others have put there during a run is not replaced, and the work counts as done")
  func replacedMeanwhile() throws {
    let bench = try Workbench()
    let process = try SheafProcess(
      [
        "import", "-", "--into", bench.database, "--quiet", "--metrics-file",
        bench.path("sheaf.prom"),
      ])
    try process.send("id,v\n1,a\n")
    process.waitWhile { !bench.names().contains { $0.hasPrefix(".sheaf-output") } }
    try bench.write("sheaf.prom", "other 1\n")
    let result = process.finish()
    #expect(result.status == 73, "\(result.errorText)")
    #expect(result.errorText.contains("everything is committed: do not run the import again"))
    #expect(try bench.text("sheaf.prom") == "other 1\n")
  }

  @Test("A job that is stopped, and has the files of others locked, holds none up for ever")
  func lockedByOthers() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n")
    let words = words(bench, "--report-file", bench.path("runs.jsonl"))
    try bench.run(words)
    let paths = ["sheaf.prom", "runs.jsonl"].map(bench.path)
    let held = try paths.map { try System.open($0, .readWrite) }
    defer { held.forEach { System.close($0) } }
    for (descriptor, path) in zip(held, paths) {
      #expect(
        try System.lock(descriptor, .exclusive, at: 0, length: 1, wait: false, path: path))
    }
    let before = try bench.text("sheaf.prom")
    let result = try bench.run(words, status: .cannotCreate)
    #expect(result.errorText.contains("sheaf.prom: another process has it locked"))
    #expect(result.errorText.contains("everything is committed: do not run the import again"))
    #expect(try bench.text("sheaf.prom") == before)
    let lines = try bench.text("runs.jsonl").split(separator: "\n")
    #expect(lines.count == 2 && lines[1].contains("\"exitStatus\":73"))
  }

  @Test("A metrics file does not replace a file of others")
  func whatIsRefused() throws {
    let bench = try Workbench()
    try bench.write("in.csv", "id,v\n1,a\n")
    try bench.write("other.prom", "node_load1 0.5\n")
    let file = ["import", bench.path("in.csv"), "--into", bench.database]
    for (path, status) in [
      (bench.path("sheaf.txt"), Command.ExitStatus.usage), (bench.path("other.prom"), .usage),
      (bench.path("no/x.prom"), .cannotCreate),
    ] {
      try bench.run(file + ["--metrics-file", path], status: status)
    }
    #expect(try bench.text("other.prom") == "node_load1 0.5\n")
    #expect(!bench.names().contains("t.sheaf"))
    try bench.run(
      file + ["--metrics-file", bench.path("x.prom"), "--report-file", bench.path("x.prom")],
      status: .usage)
  }
}
