import Testing

@testable import Importer

/// Engines that speak PostgreSQL's protocol, by their version texts.
@Suite struct ServerEngineTests {
  @Test(
    "Versions that keep the promise are taken, earlier ones refused",
    arguments: [
      (
        "PostgreSQL 15.15 (Debian 15.15-0+deb12u1) on x86_64-pc-linux-gnu, compiled", 150_015,
        ServerEngine.Kind.postgreSQL, true
      ),
      ("PostgreSQL 11.22 on x86_64", 110_022, .postgreSQL, false),
      ("CockroachDB CCL v22.2.0 (x86_64)", 130_000, .cockroachDB, true),
      ("CockroachDB CCL v25.1.0-beta.2 (x86_64)", 130_000, .cockroachDB, true),
      ("CockroachDB CCL v22.1.9 (x86_64)", 130_000, .cockroachDB, false),
      ("CockroachDB OSS vnext", 130_000, .cockroachDB, false),
      ("PostgreSQL 15.12-YB-2025.1.1.0-b0 on x86_64", 150_012, .yugabyteDB, true),
      ("PostgreSQL 15.12-YB-2025.1.0.0-b168 on x86_64", 150_012, .yugabyteDB, false),
      ("PostgreSQL 11.2-YB-2024.2.3.0-b0 on x86_64", 110_002, .yugabyteDB, false),
      ("PostgreSQL 12.12 (Greenplum Database 7.1.0 build) on x86_64", 120_012, .greenplum, true),
      ("PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build) on x86_64", 90_426, .greenplum, false),
    ])
  func versions(_ version: String, _ number: Int, _ kind: ServerEngine.Kind, _ isTaken: Bool) {
    let engine = ServerEngine(kind: ServerEngine.kind(version))
    #expect(engine.kind == kind)
    #expect((engine.problem(version, number: number) == nil) == isTaken)
  }

  @Test(
    "A lock is waited for as long as the user wants to wait, and half a minute at most",
    arguments: [(0.0, 1000), (5, 5000), (60, 30_000), (1e12, 30_000)])
  func locks(_ seconds: Double, _ milliseconds: Int) {
    var engine = ServerEngine(kind: .postgreSQL)
    engine.waitForLocks(atMost: seconds)
    let statements = engine.begin(isSynchronous: true)
    #expect(statements.contains("SET LOCAL lock_timeout = \(milliseconds)"))
  }

  @Test("Each transaction begins with what its engine knows", arguments: ServerEngine.Kind.allCases)
  func begin(_ kind: ServerEngine.Kind) {
    let statements = ServerEngine(kind: kind).begin(isSynchronous: false)
    #expect(statements.first?.hasPrefix("BEGIN ISOLATION LEVEL") == true)
    // A pool's connection must keep no settings.
    #expect(statements.dropFirst().allSatisfy { $0.hasPrefix("SET LOCAL ") && !$0.contains(";") })
    #expect(
      statements.contains("SET LOCAL synchronous_commit = off") == (kind != .cockroachDB))
    #expect(
      statements.contains("SET LOCAL yb_default_copy_from_rows_per_transaction = 0")
        == (kind == .yugabyteDB))
  }
}
