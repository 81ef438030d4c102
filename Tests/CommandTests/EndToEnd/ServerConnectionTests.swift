import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Ways to a server: encrypted, and through a pool.
@Suite struct ServerConnectionTests {
  private static let more = ["--table", "t", "--batch-size", "50", "--wait", "30"]

  @Test("Through TLS with SCRAM: whom the certificate does not convince sends nothing")
  func encrypted() throws {
    guard
      let server = try PostgreSQLServer.start(
        authentication: "scram-sha-256", settings: ["fsync=off"], isEncrypted: true)
    else { return }
    let bench = try Workbench()
    try bench.write("a.csv", ServerBench.rows(1000))
    func run(_ parameters: String, _ environment: [String: String] = ["PGPASSWORD": "sheaf"]) throws
      -> SheafProcess.Result
    {
      try SheafProcess.run(
        [
          "import", bench.path("a.csv"), "--into", server.address() + "?" + parameters, "--create",
          "--rejects", bench.path("r.csv"),
        ] + Self.more, environment: environment)
    }
    let full = "sslmode=verify-full&sslrootcert="
    let good = try run(full + server.certificate)
    #expect(good.status == 0, "\(good.errorText)")
    #expect(try server.value("SELECT count(*) FROM t") == "1000")
    #expect(
      try server.value(
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'sheaf'"
      )
        == "t")
    // Another authority's; none at all; another password; no encryption.
    let other = bench.path("other.crt")
    try bench.write("other.crt", "no certificate")
    for (result, words) in [
      (try run(full + other), "certificate"),
      (try run(full + bench.path("none.crt")), "certificate"),
      (
        try run(full + server.certificate, ["PGPASSWORD": "SECRET", "PGPASSFILE": "/nowhere"]),
        "28P01"
      ),
      (try run("sslmode=disable"), "28000"),
    ] {
      #expect(result.status == 66 && result.errorText.contains(words), "\(result.errorText)")
      #expect(!result.errorText.contains("SECRET"))
    }
    #expect(try server.value("SELECT count(*) FROM t") == "1000")
  }

  @Test(
    "Through a pool that gives each transaction to another connection",
    arguments: ["full", "group"])
  func pooled(_ durability: String) throws {
    guard let bench = try ServerBench(),
      let pool = try ConnectionPool(before: bench.server.port, size: 3)
    else { return }
    try bench.bench.write("a.csv", ServerBench.rows(4000))
    try bench.bench.write("k.csv", "id,text\n1,a\n2,b\n1,c\n")
    _ = try bench.query(
      "CREATE TABLE t (id int, text text); CREATE TABLE k (id int PRIMARY KEY, text text)")
    let more = ["--durability", durability, "--resume", "--lease", "2"]
    let words = bench.words(["a.csv"], Self.more + more, port: pool.port)
    let first = try SheafProcess(words)
    System.sleep(milliseconds: 300)
    first.signal(SIGKILL)
    _ = first.finish()
    let result = try SheafProcess.run(words)
    #expect(result.status == 0, "\(result.errorText)")
    try bench.expectRows(4000, in: "t")
    // Keys, whose rows wait in a temporary table.
    let keyed = try SheafProcess.run(
      bench.words(
        ["k.csv"], ["--table", "k", "--key", "id", "--on-conflict", "update"], port: pool.port))
    #expect(keyed.status == 0, "\(keyed.errorText)")
    #expect(try bench.query("SELECT * FROM k ORDER BY id") == [["1", "c"], ["2", "b"]])
    // Home again, through the pool, too.
    let url = bench.address(port: pool.port) + "?query=TABLE t"
    let home = try SheafProcess.run(["import", url, "--into", bench.bench.database])
    #expect(home.status == 0, "\(home.errorText)")
  }
}
