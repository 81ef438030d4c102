import Base
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Command
@testable import Importer

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

  @Test("A claim ends what others have open of its input, but not in other databases")
  func otherDatabases() throws {
    guard let bench = try ServerBench(), let other = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(1000))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    try bench.run(["a.csv"], Self.more)
    let ending = LoadPlan.ending(
      input: try bench.value("SELECT input FROM sheaf_input"), record: 301)
    let name = try #require(ending.firstMatch(of: /LIKE ('[^']*')/)).output.1
    // The same input, which another import is loading into a database of the same server.
    nonisolated(unsafe) let idle = other
    let wasEnded = Mutex(false)
    let isOver = Mutex(false)
    let batch = try Base.Thread(name: "batch") {
      do {
        _ = try idle.query("BEGIN; SET application_name = \(name); SELECT pg_sleep(4)")
      } catch {
        wasEnded.withLock { $0 = true }
      }
      isOver.withLock { $0 = true }
    }
    let isOpen = "SELECT count(*) FROM pg_stat_activity WHERE application_name = \(name)"
    try bench.await(isOpen) { isOver.withLock { !$0 } }
    try bench.run(["a.csv"], Self.more)
    _ = try bench.query("UPDATE sheaf_input SET done = false; TRUNCATE t")
    try bench.run(["a.csv"], Self.more)
    _ = try bench.query(ending)
    #expect(!isOver.withLock { $0 }, "it was over before the claims")
    batch.join()
    #expect(!wasEnded.withLock { $0 })
    try bench.expectRows(1000, in: "t")
  }

  @Test("A renewal that arrives after the lease was given back keeps nobody out")
  func lateRenewal() throws {
    guard let bench = try ServerBench() else { return }
    let session = ServerSession(
      try ServerTarget(bench.address()), retrySeconds: 0, isStopping: { false },
      isAbandoned: { false })
    defer { session.close() }
    let engine = try session.use { try ServerEngine.of($0) }
    func claims(_ owner: String) -> InputClaims {
      InputClaims(
        CheckpointTables(schema: "public"), engine, target: "public.t", owner: owner,
        batchRecords: 10, leaseSeconds: 600, session)
    }
    let input = ServerInput(key: "public.t < a", name: "a", size: 1, checksum: "0")
    let (first, second) = (claims("first"), claims("second"))
    try first.makeTables()
    guard case .claimed(let claim) = try first.claim(input) else {
      Issue.record("it is not claimed")
      return
    }
    guard case .leased(owner: "first") = try second.claim(input) else {
      Issue.record("two have it")
      return
    }
    first.release(claim)
    let renewed = try session.use { try $0.run(first.renewal(input)).last?.count }
    #expect(renewed == 0)
    guard case .claimed = try second.claim(input) else {
      Issue.record("it is kept from others")
      return
    }
    #expect(try session.use { try $0.run(second.renewal(input)).last?.count } == 1)
  }
}
