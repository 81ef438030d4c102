import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Each record is in the table exactly once, whatever happens to the loader, the server and the
/// connections.
@Suite(.serialized) struct ServerOnceTests {
  private static let count = 20_000
  private static let more = [
    "--table", "t", "--batch-size", "100", "--resume", "--lease", "1", "--wait", "30",
  ]

  private static func made(_ server: PostgreSQLServer? = nil) throws -> ServerBench? {
    guard let bench = try ServerBench(server) else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(count))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    return bench
  }

  /// At every moment ranges are there with their rows, and rows with their ranges.
  private static func expectAgreement(
    _ bench: ServerBench, sourceLocation: SourceLocation = #_sourceLocation
  )
    throws
  {
    let found = try bench.query(
      "SELECT (SELECT count(*) FROM t), (SELECT coalesce(sum(imported), 0) FROM (SELECT imported FROM "
        + "sheaf_range UNION ALL SELECT imported FROM sheaf_input WHERE done) AS x)")
    #expect(found.first?.first == found.first?.last, sourceLocation: sourceLocation)
  }

  @Test(
    "A loader that is killed at any moment, and again, leaves what --resume completes",
    arguments: ["full", "group"])
  func killedLoader(_ durability: String) throws {
    guard let bench = try Self.made() else { return }
    var random = SplitMix64(seed: UInt64.random(in: 0..<1000))
    let seed = random
    var kills = 0
    // Small batches, so that the import takes a while.
    let words = bench.words(
      ["a.csv"],
      [
        "--table", "t", "--batch-size", "10", "--resume", "--lease", "1", "--durability",
        durability,
      ])
    for round in 0..<Effort.rounds(6, long: 60) {
      let process = try SheafProcess(words)
      System.sleep(milliseconds: UInt32.random(in: 0..<(round < 3 ? 400 : 900), using: &random))
      process.signal(SIGKILL)
      if process.finish().signal == SIGKILL { kills += 1 }
      try Self.expectAgreementIfBegun(bench)
    }
    let last = try SheafProcess.run(words)
    #expect(last.status == 0, "\(last.errorText)")
    try bench.expectRows(Self.count, in: "t")
    #expect(kills > 0, "\(seed)")
    // A further run does nothing.
    let report = try Report(SheafProcess.run(words + ["--report", "json"]).output)
    #expect(report["read"].int == 0 && report["resumedAt"]["complete"].bool == true)
    try bench.expectRows(Self.count, in: "t")
  }

  private static func expectAgreementIfBegun(_ bench: ServerBench) throws {
    guard
      try bench.value(
        "SELECT to_regclass('sheaf_range') IS NOT NULL AND to_regclass('sheaf_input') IS NOT NULL")
        == "t"
    else { return }
    try expectAgreement(bench)
  }

  @Test(
    "A server that crashes in the middle is waited for, and nothing is lost or there twice",
    arguments: ["full", "group"])
  func crashedServer(_ durability: String) throws {
    // A server of the test's own, which flushes as usual.
    guard let server = try PostgreSQLServer.start(), let bench = try Self.made(server) else {
      return
    }
    var random = SplitMix64(seed: UInt64.random(in: 0..<1000))
    for round in 0..<Effort.rounds(4, long: 20) {
      let process = try SheafProcess(
        bench.words(["a.csv"], Self.more + ["--durability", durability]))
      System.sleep(milliseconds: UInt32.random(in: 200..<900, using: &random))
      if round % 2 == 0 { server.stop() } else { server.kill() }
      try server.start()
      let result = process.finish()
      // With `group` an acknowledged batch may be lost, and the loader has to say so.
      #expect(
        result.status == 0 || result.status == 75 || result.status == 74, "\(result.errorText)")
      if durability == "full" {
        #expect(!result.errorText.contains("has lost"), "\(result.errorText)")
      }
      try Self.expectAgreementIfBegun(bench)
      if try bench.value("SELECT count(*) FROM t") == "\(Self.count)" { break }
    }
    try bench.run(["a.csv"], Self.more + ["--durability", durability])
    try bench.expectRows(Self.count, in: "t")
  }

  @Test("Commits that are acknowledged and lost in a crash are found by the count at the end")
  func lostCommits() throws {
    // The server flushes only when a commit waits for it.
    guard let server = try PostgreSQLServer.start(settings: ["wal_writer_delay=10s", "fsync=off"]),
      let bench = try Self.made(server)
    else { return }
    // The loader does not notice the last crash: its batches are removed behind its back.
    guard let proxy = CuttingProxy(to: server.port, statement: "FOR UPDATE", { _ in .none }) else {
      return
    }
    _ = try bench.query(
      // The lane whose batches are removed may be the last one to end.
      "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN WHILE NOT EXISTS (SELECT 1 FROM "
        + "sheaf_range WHERE first_record = 101) LOOP PERFORM pg_sleep(0.01); END LOOP; DELETE FROM "
        + "sheaf_range WHERE first_record = 101; DELETE FROM t WHERE id BETWEEN 101 AND 200; RETURN "
        + "NULL; END'"
    )
    let words = bench.words(
      ["a.csv"], Self.more + ["--durability", "group", "--limit", "5000"], port: proxy.port)
    // Makes the tables.
    try bench.bench.write("b.csv", "id,text\n")
    try bench.run(["b.csv"], Self.more)
    _ = try bench.query(
      "CREATE TRIGGER lose AFTER INSERT ON sheaf_range FOR EACH ROW WHEN (NEW.first_record = 4901) EXECUTE "
        + "FUNCTION lose()")
    let result = try SheafProcess.run(words)
    #expect(
      result.status == 75 && result.errorText.contains("has lost 1 batch"), "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "4900")
    _ = try bench.query("DROP TRIGGER lose ON sheaf_range")
    try bench.bench.run(words)
    try bench.expectRows(5000, in: "t")
  }

  @Test("Connections cut around COMMIT, before it, behind it and before its answer, change nothing")
  func cutCommits() throws {
    guard let bench = try Self.made() else { return }
    let seed = UInt64.random(in: 0..<1000)
    let random = LockedRandom(seed)
    guard
      let proxy = CuttingProxy(
        to: bench.server.port, statement: "COMMIT",
        { number in number < 3 ? .none : random.next(below: 4) == 0 ? random.cut() : .none })
    else { return }
    let result = try SheafProcess.run(bench.words(["a.csv"], Self.more, port: proxy.port))
    #expect(result.status == 0, "seed \(seed): \(result.errorText)")
    #expect(proxy.cutCount > 20, "seed \(seed): \(proxy.cutCount)")
    try bench.expectRows(Self.count, in: "t")
    #expect(
      try bench.query("SELECT records, imported, rejected FROM sheaf_input")
        == [["\(Self.count)", "\(Self.count)", "0"]], "seed \(seed)")
  }

  @Test(
    "Connections cut inside the copy, or around the range's row, change nothing",
    arguments: ["sheaf_range", "COPY"])
  func cutBatches(_ statement: String) throws {
    guard let bench = try Self.made() else { return }
    guard
      let proxy = CuttingProxy(
        to: bench.server.port, statement: statement,
        { number in
          number > 6 && number % 5 == 0 ? CuttingProxy.Cut.allCases[1 + number / 5 % 3] : .none
        })
    else { return }
    let result = try SheafProcess.run(
      bench.words(["a.csv"], Self.more + ["--durability", "full"], port: proxy.port))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(proxy.cutCount > 10)
    try bench.expectRows(Self.count, in: "t")
  }

  @Test(
    "Keys, whose order counts, come out the same when commits are cut",
    arguments: ["skip", "update"])
  func cutKeys(_ policy: String) throws {
    guard let bench = try ServerBench() else { return }
    var csv = "id,text\n"
    for record in 1...3000 { csv += "\(record % 700),v\(record)\n" }
    try bench.bench.write("a.csv", csv)
    _ = try bench.query("CREATE TABLE t (id int PRIMARY KEY, text text)")
    guard
      let proxy = CuttingProxy(
        to: bench.server.port, statement: "COMMIT",
        { number in
          number > 3 && number % 3 == 0 ? CuttingProxy.Cut.allCases[1 + number / 3 % 3] : .none
        })
    else { return }
    let result = try SheafProcess.run(
      bench.words(
        ["a.csv"], Self.more + ["--key", "id", "--on-conflict", policy], port: proxy.port))
    #expect(result.status == 0, "\(result.errorText)")
    let rows = try bench.query("SELECT id, text FROM t ORDER BY id")
    let expected = (0..<700).map { id in
      let records = (1...3000).filter { $0 % 700 == id }
      return ["\(id)", "v\((policy == "skip" ? records.first : records.last) ?? 0)"]
    }
    #expect(rows == expected)
  }

  @Test("What the server cannot do is not tried for ever")
  func bounded() throws {
    guard let bench = try Self.made() else { return }
    guard let proxy = CuttingProxy(to: bench.server.port, statement: "COPY", { _ in .before })
    else { return }
    let words = bench.words(
      ["a.csv"], ["--table", "t", "--resume", "--lease", "1", "--wait", "2"], port: proxy.port)
    let result = try SheafProcess.run(words)
    #expect(result.status == 74, "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
  }
}

/// Random numbers that several threads take.
final class LockedRandom: @unchecked Sendable {
  // @unchecked: guarded by `lock`.
  private let lock = Lock()
  private var random: SplitMix64

  init(_ seed: UInt64) { random = SplitMix64(seed: seed) }

  func next(below limit: Int) -> Int { lock.withLock { Int.random(in: 0..<limit, using: &random) } }

  func cut() -> CuttingProxy.Cut { CuttingProxy.Cut.allCases[1 + next(below: 3)] }
}
