import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Inputs that end before records that an earlier run has committed.
@Suite struct ServerShortenedTests {
  private static let more = [
    "--table", "t", "--batch-size", "100", "--connections", "3", "--lease", "1",
  ]

  /// A table into which 400 records of an input were being loaded, and of four ranges the second is missing.
  private static func made(_ words: (ServerBench) -> [String]) throws -> ServerBench? {
    guard let bench = try ServerBench() else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(400))
    _ = try bench.query(
      "CREATE TABLE t (id int, text text); CREATE TABLE gate (id int); INSERT INTO gate VALUES (1); CREATE "
        + "FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN WHILE EXISTS (SELECT 1 FROM gate) LOOP "
        + "PERFORM pg_sleep(0.02); END LOOP; RETURN NEW; END'; CREATE TRIGGER wait BEFORE INSERT ON t FOR "
        + "EACH ROW WHEN (NEW.id = 150) EXECUTE FUNCTION wait()")
    let process = try SheafProcess(words(bench) + more)
    try process.send(ServerBench.rows(400))
    process.closeInput()
    try bench.await("SELECT (count(*) = 300)::int FROM t")
    process.signal(SIGKILL)
    _ = process.finish()
    try bench.openGate()
    // Nobody waits for the end of its lease.
    _ = try bench.query("UPDATE sheaf_lease SET until = '1970-01-01'")
    #expect(
      try bench.query("SELECT first_record FROM sheaf_range ORDER BY 1") == [
        ["1"], ["201"], ["301"],
      ])
    return bench
  }

  private static func piped(_ bench: ServerBench) -> [String] {
    ["import", "-", "--into", bench.address()]
  }

  @Test(
    "A pipe that ends before committed records is not complete", arguments: [50, 100, 150, 200])
  func pipe(_ count: Int) throws {
    guard let bench = try Self.made(Self.piped) else { return }
    let words = Self.piped(bench) + Self.more + ["--resume"]
    let result = try bench.bench.run(words, input: ServerBench.rows(count), status: .dataRefused)
    #expect(
      result.errorText.contains(
        count > 50 ? "it ends before records 201 to 400, which are in the table" : "cannot resume"),
      "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "0")
    // A part of a range would be in the way of the whole one.
    #expect(try bench.value("SELECT count(*) FROM t") == (count == 200 ? "400" : "300"))
    try bench.bench.run(words, input: ServerBench.rows(400))
    try bench.expectRows(400, in: "t")
  }

  @Test("So it is for one of several inputs, and for one that is empty now")
  func several() throws {
    guard let bench = try Self.made(Self.piped) else { return }
    try bench.bench.write("b.csv", ServerBench.rows(10, from: 401))
    let words =
      ["import", "-", bench.bench.path("b.csv"), "--into", bench.address()] + Self.more
      + ["--resume"]
    for csv in [ServerBench.rows(150), ""] {
      let result = try SheafProcess.run(words, input: Array(csv.utf8))
      #expect(result.status == 65, "\(result.errorText)")
      #expect(!result.errorText.contains("has lost"), "\(result.errorText)")
      #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "0")
    }
    try bench.bench.run(words, input: ServerBench.rows(400))
    try bench.expectRows(410, in: "t")
  }

  @Test("A file that was shortened is not gone on with")
  func file() throws {
    let words = { (bench: ServerBench) in
      ["import", bench.bench.path("a.csv"), "--into", bench.address()]
    }
    guard let bench = try Self.made(words) else { return }
    try bench.bench.write("a.csv", ServerBench.rows(150))
    try bench.bench.run(words(bench) + Self.more + ["--resume"], status: .dataRefused)
    #expect(try bench.value("SELECT count(*) FROM t") == "300")
    try bench.bench.write("a.csv", ServerBench.rows(400))
    try bench.bench.run(words(bench) + Self.more + ["--resume"])
    try bench.expectRows(400, in: "t")
  }
}
