import Base
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Command
@testable import Importer

/// `--truncate` and `--dry-run` with a server.
@Suite struct ServerReplaceTests {
  private static let truncate = ["--table", "t", "--truncate", "--batch-size", "100"]

  private static func made(_ count: Int) throws -> ServerBench? {
    guard let bench = try ServerBench() else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(count))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    return bench
  }

  @Test("The rows that were there go, and what was known of inputs of the table goes with them")
  func replaced() throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.bench.write("b.csv", "id,text\n7000,x\n")
    try bench.bench.write("other.csv", "id\n1\n")
    try bench.run(["a.csv", "b.csv"], ["--table", "t"])
    try bench.run(["other.csv"], ["--table", "other", "--create"])
    try bench.run(["a.csv"], Self.truncate)
    try bench.expectRows(1000, in: "t")
    // Its rows are gone, so it is imported again; the input of another table is not.
    try bench.run(["b.csv"], ["--table", "t", "--resume"])
    #expect(try bench.value("SELECT count(*) FROM t") == "1001")
    try bench.run(["other.csv"], ["--table", "other", "--resume"])
    #expect(try bench.value("SELECT count(*) FROM other") == "1")
  }

  @Test("With --resume it is emptied once: what was begun goes on")
  func resumed() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(4000))
    try bench.makeGatedTable(500)
    _ = try bench.query("INSERT INTO t VALUES (-1, 'old')")
    let words = bench.words(["a.csv"], Self.truncate + ["--resume", "--lease", "1"])
    let first = try SheafProcess(words)
    try bench.awaitGate(500)
    // Another import that would empty the table meanwhile is refused, without --resume.
    let second = try bench.run(["a.csv"], Self.truncate + ["--wait", "1"], status: .busy)
    #expect(second.errorText.contains("is being imported"), "\(second.errorText)")
    first.signal(SIGKILL)
    _ = first.finish()
    let begun = Int(try bench.value("SELECT count(*) FROM t")) ?? 0
    #expect(begun >= 500)
    try bench.openGate()
    let result = try SheafProcess.run(words)
    #expect(result.status == 0 && result.outputText.contains("resumed"), "\(result)")
    try bench.expectRows(4000, in: "t")
    // The inputs are complete: nothing is emptied.
    #expect(try SheafProcess.run(words).status == 0)
    try bench.expectRows(4000, in: "t")
  }

  @Test("With --resume the rows of inputs go that are not named any more")
  func resumedWithoutAnother() throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.bench.write("b.csv", "id,text\n7000,x\n")
    let resumed = Self.truncate + ["--resume"]
    try bench.run(["a.csv", "b.csv"], resumed)
    try bench.run(["a.csv", "b.csv"], resumed)
    #expect(try bench.value("SELECT count(*) FROM t") == "1001")
    try bench.run(["b.csv"], resumed)
    #expect(try bench.value("SELECT count(*) FROM t") == "1")
    try bench.run(["a.csv", "b.csv"], resumed)
    #expect(try bench.value("SELECT count(*) FROM t") == "1001")
  }

  @Test("A process whose input was forgotten with the table is fenced")
  func fenced() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(4000))
    try bench.bench.write("b.csv", ServerBench.rows(300))
    try bench.makeGatedTable(500)
    let first = try SheafProcess(
      bench.words(["a.csv"], ["--table", "t", "--batch-size", "100", "--lease", "1"]))
    try bench.awaitGate(500)
    first.signal(SIGSTOP)
    try bench.openGate()
    System.sleep(milliseconds: 1500)
    // The stopped process's transactions are ended, not waited for.
    let second = try SheafProcess.run(bench.words(["b.csv"], Self.truncate + ["--wait", "1"]))
    #expect(second.status == 0, "\(second.errorText)")
    first.signal(SIGCONT)
    #expect(first.finish().status != 0)
    try bench.expectRows(300, in: "t")
  }

  /// A transaction like that of a process which was stopped between the rows of a batch and its commit.
  @Test("What a stopped process has open in the middle of a batch is ended, not waited for")
  func stoppedInABatch() throws {
    guard let bench = try Self.made(4000) else { return }
    try bench.bench.write("b.csv", ServerBench.rows(300))
    let begun = try bench.run(
      ["a.csv"], ["--table", "t", "--batch-size", "100", "--limit", "300"])
    #expect(begun.status == 0)
    _ = try bench.query(
      "UPDATE sheaf_input SET done = false; INSERT INTO sheaf_lease SELECT input, 'stopped', "
        + "clock_timestamp() - interval '1 minute' FROM sheaf_input")
    let input = try bench.value("SELECT input FROM sheaf_input")
    let ending = LoadPlan.ending(input: input, record: 301)
    let name = try #require(ending.firstMatch(of: /LIKE ('[^']*')/)).output.1
    let batch = "INSERT INTO t VALUES (9999, 'open')"
    // Each query is a process of its own.
    nonisolated(unsafe) let other = bench
    let wasEnded = Mutex(false)
    let stopped = try Base.Thread(name: "stopped") {
      do {
        _ = try other.query(
          "BEGIN; SET application_name = \(name); \(batch); SELECT pg_sleep(20)")
      } catch {
        wasEnded.withLock { $0 = true }
      }
    }
    let isOpen = "SELECT count(*) FROM pg_stat_activity WHERE application_name = \(name)"
    try bench.await(isOpen) { !wasEnded.withLock { $0 } }
    let second = try SheafProcess.run(bench.words(["b.csv"], Self.truncate + ["--wait", "1"]))
    #expect(second.status == 0, "\(second.errorText)")
    stopped.join()
    #expect(wasEnded.withLock { $0 })
    try bench.expectRows(300, in: "t")
  }

  @Test("A table is not left empty by mistake, and not emptied for what cannot be imported")
  func mistakes() throws {
    guard let bench = try Self.made(10) else { return }
    try bench.bench.write("empty.csv", "id,text\n")
    try bench.bench.write("wrong.csv", "id,other\n1,2\n")
    try bench.run(["a.csv"], ["--table", "t"])
    try bench.run(["empty.csv"], Self.truncate, status: .dataRefused)
    try bench.run(["wrong.csv"], Self.truncate, status: .usage)
    try bench.expectRows(10, in: "t")
    try bench.run(["empty.csv"], Self.truncate + ["--allow-empty"])
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
    // Rows that others refer to stay.
    _ = try bench.query(
      "CREATE TABLE k (id int PRIMARY KEY, text text); CREATE TABLE r (id int REFERENCES k); INSERT INTO k "
        + "VALUES (5000, 'x'); INSERT INTO r VALUES (5000)")
    let result = try bench.run(
      ["a.csv"], ["--table", "k", "--truncate", "--batch-size", "5"], status: .usage)
    #expect(result.errorText.contains("0A000"), "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM k") == "1")
  }

  @Test("A dry run tells types and rejects, and leaves nothing behind", arguments: [true, false])
  func dryRun(_ isThere: Bool) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id,day\n1,2020-01-01\n2,2020-01-02,x\nc,2020-01-03\n")
    try bench.bench.write("b.csv", "id,day\n4,2020-01-04\n")
    if isThere { _ = try bench.query("CREATE TABLE t (id int, day date)") }
    let words = bench.words(
      ["a.csv", "b.csv"],
      ["--table", "t", "--dry-run", "--report", "json", "--max-rejects", "2"]
        + (isThere ? [] : ["--create", "--types", "id:int"]))
    let result = try SheafProcess.run(words)
    #expect(result.status == 0, "\(result.errorText)")
    let report = try Report(result.output)
    #expect(report["read"].int == 4 && report["imported"].int == 2 && report["rejected"].int == 2)
    #expect(report["dryRun"].bool == true)
    #expect(report["columns"][1]["type"].text == "date")
    #expect(result.errorText.split(separator: "\n").count == 2, "\(result.errorText)")
    let tables = try bench.query(
      "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
    #expect(tables == (isThere ? [["t"]] : []))
    #expect(bench.bench.names() == ["a.csv", "b.csv"])
    let strict = try SheafProcess.run(words.filter { $0 != "2" && $0 != "--max-rejects" })
    #expect(strict.status == 65)
  }

  @Test("A dry run finds what is wrong with the table", arguments: ["none", "n", "g"])
  func dryRunRefused(_ table: String) throws {
    guard let bench = try Self.made(10) else { return }
    _ = try bench.query(
      "CREATE TABLE n (id int, text text, other int NOT NULL); CREATE TABLE g (id int, text text GENERATED "
        + "ALWAYS AS ('x') STORED)")
    let result = try SheafProcess.run(
      bench.words(["a.csv"], ["--table", table, "--dry-run"]))
    #expect(result.status == (table == "n" ? 65 : 64), "\(result.errorText)")
  }
}
