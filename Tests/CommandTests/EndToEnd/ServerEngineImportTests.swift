import Base
import Foundation
import TestSupport
import Testing

@testable import Command

private enum Versions {
  static let cockroachDB = "CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu)"
}

/// Engines and failures that cannot be produced here: a scripted server before a real one plays them.
@Suite struct ServerEngineImportTests {
  private static let rowCount = 4000
  private static let more = [
    "--table", "t", "--batch-size", "100", "--resume", "--lease", "1", "--wait", "20",
  ]

  private static func made() throws -> ServerBench? {
    guard let bench = try ServerBench() else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(rowCount))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    return bench
  }

  /// Counts the queries that contain a text.
  private final class Counter: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var count = 0

    func next() -> Int {
      lock.withLock {
        count += 1
        return count
      }
    }
  }

  private static func imported(
    _ bench: ServerBench, _ more: [String] = more,
    _ script: @escaping @Sendable (String) -> ScriptedServer.Answer
  ) throws -> (result: SheafProcess.Result, queries: [String])? {
    guard let server = ScriptedServer(before: bench.server.port, script) else { return nil }
    let result = try SheafProcess.run(bench.words(["a.csv"], more, port: server.port))
    return (result, server.queries)
  }

  @Test(
    "What may pass is tried again, wherever it is said",
    arguments: ["40001", "40P01", "XX000", "57P01"], ["sheaf_range", "COPY", "COMMIT"])
  func transient(_ code: String, _ statement: String) throws {
    guard let bench = try Self.made() else { return }
    let counter = Counter()
    let found = try Self.imported(bench) { query in
      guard query.contains(statement) else { return .pass }
      return counter.next() % 7 == 5 ? .failure(code: code) : .pass
    }
    guard let found else { return }
    #expect(found.result.status == 0, "\(found.result.errorText)")
    #expect(counter.next() > 40)
    try bench.expectRows(Self.rowCount, in: "t")
  }

  @Test("A commit of which nobody knows what became is settled by the range's row")
  func ambiguous() throws {
    guard let bench = try Self.made() else { return }
    let counter = Counter()
    let found = try Self.imported(bench) { query in
      guard query == "COMMIT" else { return .pass }
      let number = counter.next()
      return number % 3 != 2
        ? .pass : number % 2 == 0 ? .doneAndFailure(code: "40003") : .failure(code: "40003")
    }
    guard let found else { return }
    #expect(found.result.status == 0, "\(found.result.errorText)")
    try bench.expectRows(Self.rowCount, in: "t")
    #expect(
      try bench.query("SELECT records, imported FROM sheaf_input")
        == [["\(Self.rowCount)", "\(Self.rowCount)"]])
  }

  @Test("What does not pass ends the import with its status, and nothing of the batch is there")
  func lasting() throws {
    guard let bench = try Self.made() else { return }
    let found = try Self.imported(bench, ["--table", "t", "--wait", "1"]) { query in
      query.hasPrefix("COPY") ? .failure(code: "40001") : .pass
    }
    guard let found else { return }
    #expect(found.result.status == 75 && found.result.errorText.contains("40001"))
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
    #expect(try bench.value("SELECT count(*) FROM sheaf_range") == "0")
  }

  @Test("A COPY that takes fewer or more rows than were sent is not committed", arguments: [-1, 1])
  func counts(_ difference: Int) throws {
    guard let bench = try Self.made() else { return }
    let found = try Self.imported(bench) { query in
      query.hasPrefix("COPY") ? .miscounted(difference) : .pass
    }
    guard let found else { return }
    #expect(found.result.status == 65, "\(found.result.errorText)")
    #expect(found.result.errorText.contains("took \(100 + difference) of 100"))
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
  }

  @Test("CockroachDB is given nothing that it does not know, and no DDL inside a transaction")
  func cockroachDB() throws {
    guard let bench = try Self.made() else { return }
    let counter = Counter()
    let unknown = [
      "synchronous_commit", "tcp_keepalives", "DateStyle", "pg_terminate_backend",
      "SET CONSTRAINTS", "TEMPORARY", "LOCK TABLE", "advisory",
    ]
    let found = try Self.imported(bench) { query in
      if query == "SELECT version()" { return .value(Versions.cockroachDB) }
      if unknown.contains(where: query.contains) { return .failure(code: "42704") }
      // Every fifth commit fails with 40001 without having been asked.
      if query == "COMMIT", counter.next() % 5 == 4 { return .failure(code: "40001") }
      return .pass
    }
    guard let found else { return }
    #expect(found.result.status == 0, "\(found.result.errorText)")
    try bench.expectRows(Self.rowCount, in: "t")
    // autocommit_before_ddl would commit the statements before.
    var isOpen = false
    for query in found.queries where !query.hasPrefix("SELECT") {
      if query.hasPrefix("BEGIN") { isOpen = true }
      if query == "COMMIT" || query == "ROLLBACK" { isOpen = false }
      #expect(!query.contains("CREATE") && !query.contains("TRUNCATE") || !isOpen, "\(query)")
    }
    #expect(found.queries.contains { $0.hasPrefix("BEGIN ISOLATION LEVEL SERIALIZABLE") })
    // Rows are refused one by one, without statements about deferred constraints.
    try bench.bench.write("a.csv", "id,text\n1,x\nnone,y\n99999999999,z\n")
    let refused = try Self.imported(
      bench, ["--table", "t", "--max-rejects", "2", "--types", "id:text"]
    ) { query in
      if query == "SELECT version()" { return .value(Versions.cockroachDB) }
      return unknown.contains(where: query.contains) ? .failure(code: "42704") : .pass
    }
    #expect(refused?.result.status == 0, "\(refused?.result.errorText ?? "")")
    #expect(try bench.value("SELECT count(*) FROM t") == "\(Self.rowCount + 1)")
  }

  @Test("YugabyteDB copies in one transaction, and is refused where writes are none")
  func yugabyteDB() throws {
    guard let bench = try Self.made() else { return }
    let version = "PostgreSQL 15.12-YB-2025.1.1.0-b0 on x86_64-pc-linux-gnu"
    for disabled in ["off", "on"] {
      let found = try Self.imported(bench) { query in
        if query == "SELECT version()" { return .value(version) }
        if query.hasPrefix("SHOW yb_disable") { return .value(disabled) }
        let setting = "SET LOCAL yb_default_copy_from_rows_per_transaction = 0; "
        return query.contains(setting) ? .instead(query.replacing(setting, with: "")) : .pass
      }
      guard let found else { return }
      #expect(found.result.status == (disabled == "off" ? 0 : 64), "\(found.result.errorText)")
    }
    try bench.expectRows(Self.rowCount, in: "t")
  }

  @Test(
    "What an engine cannot do is refused before anything is written",
    arguments: [
      (Versions.cockroachDB, ["--key", "id"], "--key"),
      (Versions.cockroachDB, ["--truncate", "--batch-size", "10"], "--truncate"),
      ("PostgreSQL 12.12 (Greenplum Database 7.1.0 build)", ["--key", "id"], "--key"),
      ("CockroachDB CCL v21.2.0 (x86_64)", [], "22.2"),
      ("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64", [], "2025.1.1"),
      ("PostgreSQL 8.0.2 on i686-pc-linux-gnu, Redshift 1.0.12103", [], "Redshift"),
    ])
  func refused(_ version: String, _ more: [String], _ words: String) throws {
    guard let bench = try Self.made() else { return }
    let found = try Self.imported(bench, ["--table", "t"] + more) {
      $0 == "SELECT version()" ? .value(version) : .pass
    }
    guard let found else { return }
    #expect(found.result.status == 64 && found.result.errorText.contains(words))
    #expect(try bench.value("SELECT to_regclass('sheaf_input') IS NULL") == "t")
  }

  @Test("Greenplum, where lanes would wait for each other, gets one")
  func greenplum() throws {
    guard let bench = try Self.made() else { return }
    let open = LockedCount()
    let found = try Self.imported(bench, Self.more + ["--connections", "4"]) { query in
      if query == "SELECT version()" {
        return .value("PostgreSQL 12.12 (Greenplum Database 7.1.0 build) on x86_64")
      }
      if query.contains("INTO \"public\".sheaf_range") { open.add(1) }
      if query == "COMMIT" { open.add(-1) }
      return .pass
    }
    guard let found else { return }
    #expect(found.result.status == 0, "\(found.result.errorText)")
    #expect(open.most <= 1)
    try bench.expectRows(Self.rowCount, in: "t")
  }

  private final class LockedCount: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var count = 0
    private var highest = 0

    func add(_ number: Int) {
      lock.withLock {
        // Commits of claims are no batches.
        count = max(0, count + number)
        highest = max(highest, count)
      }
    }

    var most: Int { lock.withLock { highest } }
  }

  /// A database with the catalogue of Citus and none of its functions.
  private static func citus(_ group: Int) throws -> (server: PostgreSQLServer, bench: ServerBench)?
  {
    guard
      let server = try PostgreSQLServer.start(
        settings: ["fsync=off", "allow_system_table_mods=on"]),
      let bench = try ServerBench(server)
    else { return nil }
    _ = try bench.query(
      """
      CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass, partmethod "char", partkey text);
      CREATE TABLE pg_catalog.pg_dist_local_group (groupid int);
      INSERT INTO pg_catalog.pg_dist_local_group VALUES (\(group));
      CREATE FUNCTION pg_catalog.column_to_column_name(regclass, text) RETURNS text LANGUAGE sql AS 'SELECT $2';
      CREATE FUNCTION pg_catalog.create_distributed_table(regclass, text) RETURNS void LANGUAGE plpgsql AS
        'BEGIN IF $2 = ''fail'' THEN RAISE ''no''; END IF; INSERT INTO pg_catalog.pg_dist_partition VALUES
        ($1, ''h'', $2); END'
      """)
    return (server, bench)
  }

  @Test("A table is made and distributed together, or not at all, and is known again by its column")
  func distributed() throws {
    guard let (_, bench) = try Self.citus(0) else { return }
    try bench.bench.write("a.csv", ServerBench.rows(1000))
    try bench.bench.write("b.csv", "id,fail\n1,2\n")
    let byKey = ["--create", "--distribute-by", "id", "--key", "id"]
    try bench.run(["a.csv"], ["--table", "t"] + byKey, status: .usage)
    #expect(try bench.value("SELECT to_regclass('t') IS NULL") == "t")
    try bench.run(["a.csv"], ["--table", "t", "--on-conflict", "skip"] + byKey)
    #expect(
      try bench.query("SELECT logicalrelid, partkey FROM pg_dist_partition") == [["t", "id"]])
    try bench.expectRows(1000, in: "t")
    for (words, status) in [
      (["--table", "t", "--distribute-by", "text"], Command.ExitStatus.usage),
      (["--table", "t", "--key", "id", "--on-conflict", "update"], .usage),
      (["--table", "u", "--create", "--distribute-by", "none"], .usage),
      (["--table", "u", "--create", "--distribute-by", "text", "--key", "id"], .usage),
    ] { try bench.run(["a.csv"], words, status: status) }
    try bench.run(
      ["a.csv"], ["--table", "t", "--key", "id", "--on-conflict", "skip", "--distribute-by", "id"])
    try bench.expectRows(1000, in: "t")
    try bench.run(
      ["b.csv"], ["--table", "f", "--create", "--distribute-by", "fail"], status: .dataRefused)
    #expect(try bench.value("SELECT to_regclass('f') IS NULL") == "t")
    // An existing table that is on one machine.
    _ = try bench.query("CREATE TABLE plain (id int, text text)")
    try bench.run(["a.csv"], ["--table", "plain", "--distribute-by", "id"], status: .usage)
  }

  @Test("A worker of Citus, which has checkpoint tables of its own, is refused")
  func worker() throws {
    guard let (_, bench) = try Self.citus(3) else { return }
    try bench.bench.write("a.csv", ServerBench.rows(10))
    let result = try bench.run(
      ["a.csv"], ["--table", "t", "--create", "--distribute-by", "id"], status: .usage)
    #expect(result.errorText.contains("coordinator"), "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
  }

  @Test("Without Citus nothing is made")
  func withoutCitus() throws {
    guard let bench = try Self.made() else { return }
    let result = try bench.run(
      ["a.csv"], ["--table", "u", "--create", "--distribute-by", "id"], status: .usage)
    #expect(result.errorText.contains("Citus"), "\(result.errorText)")
    #expect(try bench.value("SELECT to_regclass('u') IS NULL") == "t")
  }
}
