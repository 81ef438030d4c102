import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Several processes run the same command, as on several machines.
@Suite(.serialized) struct ServerLeaseTests {
  private static let more = [
    "--table", "t", "--batch-size", "50", "--resume", "--lease", "2", "--wait", "60",
  ]

  @Test("A process that was stopped past its lease is fenced, and another has done the rest")
  func fenced() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(40_000))
    try bench.makeGatedTable(500)
    // Only the range's row fences it then, not a count of acknowledged ranges.
    let stopped = try SheafProcess(bench.words(["a.csv"], Self.more + ["--durability", "full"]))
    try bench.awaitGate(500)
    stopped.signal(SIGSTOP)
    try bench.openGate()
    let result = try SheafProcess.run(bench.words(["a.csv"], Self.more))
    #expect(result.status == 0, "\(result.errorText)")
    stopped.signal(SIGCONT)
    let late = stopped.finish()
    #expect(late.status == 75 && late.errorText.contains("has gone on with"), "\(late.errorText)")
    try bench.expectRows(40_000, in: "t")
  }

  @Test("Three at once, one killed, one stopped: every input is there once")
  func several() throws {
    guard let bench = try ServerBench() else { return }
    var names: [String] = []
    for number in 0..<6 {
      names.append("\(number).csv")
      try bench.bench.write("\(number).csv", ServerBench.rows(4000, from: number * 4000 + 1))
    }
    try bench.makeGatedTable(500)
    let words = bench.words(names, Self.more)
    let processes = try (0..<3).map { _ in try SheafProcess(words) }
    try bench.awaitGate(500)
    processes[0].signal(SIGKILL)
    processes[1].signal(SIGSTOP)
    try bench.openGate()
    let last = processes[2].finish()
    #expect(last.status == 0, "\(last.errorText)")
    processes[1].signal(SIGCONT)
    let late = processes[1].finish()
    #expect(late.status == 0 || late.status == 75, "\(late.errorText)")
    _ = processes[0].finish()
    try bench.bench.run(words)
    try bench.expectRows(24_000, in: "t")
    #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "6")
  }

  @Test("Without --resume, what another process has begun is not touched")
  func begun() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(40_000))
    try bench.makeGatedTable(500)
    let without = Self.more.filter { $0 != "--resume" }
    let first = try SheafProcess(bench.words(["a.csv"], without))
    try bench.awaitGate(500)
    let second = try bench.run(["a.csv"], without, status: .busy)
    #expect(second.errorText.contains("is being imported"))
    first.signal(SIGKILL)
    _ = first.finish()
    try bench.openGate()
    System.sleep(milliseconds: 2500)
    let third = try bench.run(["a.csv"], without, status: .usage)
    #expect(third.errorText.contains("--resume"))
    // Another batch size cannot continue the existing ranges.
    try bench.run(
      ["a.csv"], ["--table", "t", "--batch-size", "51", "--resume", "--lease", "2"], status: .usage)
    try bench.run(["a.csv"], Self.more)
    try bench.expectRows(40_000, in: "t")
  }

  @Test("SIGTERM ends it behind whole batches, and says how to go on without the password")
  func interrupted() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(40_000))
    try bench.makeGatedTable(500)
    let address = bench.server.address(password: "SECRET", database: bench.database)
    let process = try SheafProcess(
      ["import", bench.bench.path("a.csv"), "--into", address]
        + Self.more.filter { $0 != "--resume" })
    try bench.awaitGate(500)
    process.signal(SIGTERM)
    try bench.openGate()
    let result = process.finish()
    #expect(result.status == 143, "\(result.errorText)")
    #expect(result.outputText.contains("to go on: sheaf import"))
    #expect(!result.outputText.contains("SECRET") && !result.errorText.contains("SECRET"))
    let count = try bench.value("SELECT count(*) FROM t")
    #expect(count == (try bench.value("SELECT sum(imported) FROM sheaf_range")))
    #expect(count != "40000")
    // The lease was given back: the next process need not wait for its end.
    try bench.run(["a.csv"], Self.more.dropLast(2) + ["--wait", "0"])
    try bench.expectRows(40_000, in: "t")
  }
}
