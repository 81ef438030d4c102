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
    // A certificate of another authority; none; a wrong password; no encryption.
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

  /// A machine that is down sends no refusal.
  @Test("A host that says nothing is passed over for the next one, as one that refuses is")
  func silentHost() throws {
    guard let bench = try ServerBench(), let (silent, port) = Sockets.listen(),
      let refusing = Sockets.freePort()
    else { return }
    defer { Sockets.end(silent) }
    try bench.bench.write("a.csv", ServerBench.rows(100))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    func run(_ ports: [UInt16], seconds: Int, _ more: String = "") throws -> SheafProcess.Result {
      let hosts = ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
      return try SheafProcess.run([
        "import", bench.bench.path("a.csv"), "--into",
        "postgresql://sheaf@\(hosts)/\(bench.database)?connect_timeout=\(seconds)\(more)",
        "--table", "t",
        "--wait", "0",
      ])
    }
    let result = try run([refusing, port, bench.server.port], seconds: 3)
    #expect(result.status == 0, "\(result.errorText)")
    try bench.expectRows(100, in: "t")
    let numbers = try run(
      [port, bench.server.port], seconds: 3, "&hostaddr=127.0.0.1,127.0.0.1")
    #expect(numbers.status == 0, "\(numbers.errorText)")
    let none = try run([port, port], seconds: 1)
    #expect(none.status == 75 && none.errorText.contains("no answer"), "\(none.errorText)")
  }

  @Test("A standby, which only reads, is told as such, and read from")
  func standby() throws {
    guard let server = try PostgreSQLServer.start(settings: ["fsync=off"]),
      let bench = try ServerBench(server)
    else { return }
    try bench.bench.write("a.csv", ServerBench.rows(100))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    // If the checkpoint tables exist, nothing is created before the first batch.
    try bench.run(["a.csv"], ["--table", "t"])
    try server.becomeStandby()
    for more in [["--table", "t"], ["--table", "u", "--create"]] {
      let result = try bench.run(["a.csv"], more, status: .inputMissing)
      #expect(result.errorText.contains("name the primary"), "\(result.errorText)")
    }
    try bench.run(["a.csv"], ["--table", "t", "--dry-run"])
    try bench.bench.run([
      "import", bench.address() + "?query=TABLE t", "--into", bench.bench.database,
    ])
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
    // Keyed rows, which wait in a temporary table.
    let keyed = try SheafProcess.run(
      bench.words(
        ["k.csv"], ["--table", "k", "--key", "id", "--on-conflict", "update"], port: pool.port))
    #expect(keyed.status == 0, "\(keyed.errorText)")
    #expect(try bench.query("SELECT * FROM k ORDER BY id") == [["1", "c"], ["2", "b"]])
    // The way back, also through the pool.
    let url = bench.address(port: pool.port) + "?query=TABLE t"
    let home = try SheafProcess.run(["import", url, "--into", bench.bench.database])
    #expect(home.status == 0, "\(home.errorText)")
  }
}
