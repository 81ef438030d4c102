import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Error lines and statuses where a server cannot be imported into.
@Suite struct ServerErrorTests {
  private static func run(_ words: [String], environment: [String: String] = [:]) throws
    -> SheafProcess.Result
  {
    let bench = try Workbench()
    try bench.write("a.csv", "id,text\n1,x\n")
    return try SheafProcess.run(
      ["import", bench.path("a.csv"), "--rejects", bench.path("r.csv")] + words,
      environment: environment)
  }

  private static func expect(
    _ result: SheafProcess.Result, _ status: Int32, _ text: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(result.status == status, "\(result.errorText)", sourceLocation: sourceLocation)
    #expect(result.errorText.contains(text), "\(result.errorText)", sourceLocation: sourceLocation)
    #expect(
      !(result.errorText + result.outputText).contains("SECRET"), sourceLocation: sourceLocation)
    #expect(
      result.errorText.split(separator: "\n").count == 1, "\(result.errorText)",
      sourceLocation: sourceLocation)
  }

  @Test("Without libpq: 66, and what to install")
  func library() throws {
    let result = try Self.run(
      ["--into", "postgresql://u:SECRET@127.0.0.1/x"],
      environment: ["SHEAF_LIBPQ": "/nowhere/libpq.so"])
    Self.expect(result, 66, "libpq5")
  }

  @Test(
    "What only a file can do is refused, before a server is looked for",
    arguments: [
      ["--truncate"], ["--truncate", "--allow-empty"], ["--allow-empty"],
      ["--dry-run", "--resume"], ["--batch-size", "all"], ["--truncate", "--batch-size", "all"],
      ["--durability", "none"], ["--where", "a == 1"],
      ["--schema", "freeze"], ["--same-input", "contents"], ["--join-batches", "5"],
      ["--compact", "always"], ["--compact-above", "1MB"], ["--on-conflict", "skip"], ["--numeric"],
      ["--connections", "0"], ["--connections", "65"], ["--lease", "0"],
    ])
  func refused(_ words: [String]) throws {
    let result = try Self.run(["--into", "postgresql://u:SECRET@127.0.0.1:1/x"] + words)
    Self.expect(result, 64, "--")
  }

  @Test(
    "Options of servers are refused for a file",
    arguments: [
      ["--connections", "2"], ["--create"], ["--numeric"], ["--lease", "5"],
    ])
  func files(_ words: [String]) throws {
    Self.expect(try Self.run(["--into", "/tmp/never.sheaf"] + words), 64, "server")
  }

  @Test(
    "What is no address is told as such, and not waited for",
    arguments: [
      "127.0.0.1:nine/x", "127.0.0.1:70000/x", "127.0.0.1:1/x?sslmode=perhaps",
      "127.0.0.1:1,127.0.0.1:2/x?port=1,2,3", "127.0.0.1:1/x?hostaddr=300.1.1.1",
      "127.0.0.1:1/x?connect_timeout=soon", "127.0.0.1:1/x?connect_timeout=1.5",
      "127.0.0.1:1/x?connect_timeout=99999999999", "127.0.0.1:1/x?keepalives_idle=x",
      "127.0.0.1:1/x?tcp_user_timeout=x", "127.0.0.1:1/x?service=none",
    ])
  func addresses(_ rest: String) throws {
    guard try ServerBench() != nil else { return }
    Self.expect(
      try Self.run(["--into", "postgresql://sheaf:SECRET@\(rest)"]), 64, "postgresql://")
  }

  @Test(
    "A password with a sign in it that ends one is not shown as what its rest is taken for",
    arguments: [
      ("SECRET/x", 64, "port"), ("a@SECRET", 75, "host name"), ("SECRET%zz", 64, "percent"),
    ])
  func brokenPasswords(_ password: String, _ status: Int32, _ text: String) throws {
    guard try ServerBench() != nil else { return }
    let address = "postgresql://sheaf:\(password)@127.0.0.1:1/x"
    Self.expect(try Self.run(["--into", address]), status, text)
  }

  @Test("What the environment says of connections counts as what the address says")
  func environment() throws {
    guard let bench = try ServerBench() else { return }
    let (host, port) = ("127.0.0.1", "\(bench.server.port)")
    try bench.bench.write(
      "services", "[mine]\nhost=\(host)\nport=\(port)\nuser=sheaf\ndbname=\(bench.database)\n")
    let file = ["PGSERVICEFILE": bench.bench.path("services")]
    let words = ["--into", "postgresql://", "--table", "t", "--create"]
    let good = try Self.run(words, environment: file.merging(["PGSERVICE": "mine"]) { $1 })
    #expect(good.status == 0, "\(good.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "1")
    Self.expect(
      try Self.run(words, environment: file.merging(["PGSERVICE": "other"]) { $1 }), 64, "\"other\""
    )
    Self.expect(
      try Self.run(words, environment: ["PGSERVICE": "mine", "PGSERVICEFILE": "/nowhere"]), 64,
      "/nowhere")
    Self.expect(
      try Self.run(
        words, environment: ["PGHOST": host, "PGPORT": port, "PGCONNECT_TIMEOUT": "soon"]), 64,
      "connect_timeout")
  }

  @Test("Servers and databases that are not there, and what is not in them")
  func missing() throws {
    guard let bench = try ServerBench(), let port = Sockets.freePort() else { return }
    let at = "@127.0.0.1:\(bench.server.port)/"
    Self.expect(
      try Self.run(["--into", "postgresql://sheaf:SECRET@127.0.0.1:\(port)/x"]), 75, "refused")
    Self.expect(try Self.run(["--into", "postgresql://sheaf:SECRET\(at)none"]), 66, "3D000")
    Self.expect(try Self.run(["--into", "postgresql://nobody:SECRET\(at)postgres"]), 66, "28000")
    Self.expect(
      try Self.run(["--into", "postgresql://sheaf:SECRET%zz\(at)postgres"]), 64, "cannot be read")
    Self.expect(try Self.run(["--into", "host=x SECRET"]), 64, "cannot be read")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "none"]), 64, "42P01")
    _ = try bench.query(
      "CREATE TABLE t (id int); CREATE VIEW v AS SELECT 1 AS id, 'x' AS text; CREATE UNLOGGED TABLE "
        + "u (id int, "
        + "text text); CREATE TABLE n (id int, text text, other int NOT NULL); CREATE TABLE g (id "
        + "int, text text "
        + "GENERATED ALWAYS AS ('x') STORED); CREATE TABLE k (id int, text text)")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "t"]), 64, "42703")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "v"]), 64, "view")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "u"]), 64, "unlogged")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "n"]), 65, "other")
    Self.expect(try Self.run(["--into", bench.address(), "--table", "g"]), 64, "computed")
    Self.expect(
      try Self.run(["--into", bench.address(), "--table", "k", "--key", "id"]), 64, "42P10")
    Self.expect(
      try Self.run(["--into", bench.address(), "--table", "sheaf_range"]), 64, "another table")
  }

  @Test(
    "A command that takes no server says so without the password",
    arguments: [
      ["info", "postgresql://u:SECRET@h/d"], ["export", "postgresql://u:SECRET@h/d"],
      ["export", "x.sheaf", "--into", "postgresql://u:SECRET@h/d"],
      ["export", "x.sheaf", "--into", "postgresql://u:SECRET@h/d", "--format", "jsonl"],
      ["export", "x.sheaf", "--into", "x.csv"], ["export", "x.sheaf", "--resume"],
      ["export", "x.sheaf", "--into", "postgresql://u:SECRET@h/d", "--output", "x.csv"],
      ["import", "postgresql://u:SECRET@h/d", "--into", "x.sheaf"],
      ["import", "postgresql://u:SECRET@h/d?query=%zz", "--into", "x.sheaf"],
      ["import", "postgresql://u:SECRET@h/d?query=x&query=y", "--into", "x.sheaf"],
      ["import", "postgresql://u:SECRET@h/d?query=x", "--into", "x.sheaf", "--resume"],
      ["import", "postgresql://u:SECRET@h/d?query=x", "--into", "x.sheaf", "--delimiter", ";"],
      ["check", "host=h password=SECRET"], ["info", "mysql://u:SECRET@h/d"],
      ["import", "x.csv", "--into", "POSTGRESQL://u:SECRET@h/d"],
      ["import", "x.csv", "--into", "jdbc:postgresql://h/d?user=u&password=SECRET"],
      ["import", "x.csv", "--into", "password=SECRET host=h user="],
      ["import", "mysql://u:SECRET@h/d", "--into", "x.sheaf"],
    ])
  func otherCommands(_ words: [String]) throws {
    let result = try SheafProcess.run(words)
    #expect(result.status == 64 || result.status == 66)
    #expect(!result.errorText.contains("SECRET"), "\(result.errorText)")
  }

  @Test("Rights that are not granted: 66")
  func rights() throws {
    guard let bench = try ServerBench() else { return }
    let role = "r" + bench.database
    _ = try bench.query("CREATE TABLE t (id int, text text); CREATE ROLE \(role) LOGIN")
    let address = bench.server.address(user: role, database: bench.database)
    Self.expect(try Self.run(["--into", address, "--table", "t"]), 66, "42501")
    _ = try bench.query("DROP ROLE \(role)")
  }

  @Test("A password is asked for by SCRAM, and taken from where libpq takes it")
  func passwords() throws {
    guard
      let server = try PostgreSQLServer.start(
        authentication: "scram-sha-256", settings: ["fsync=off"])
    else { return }
    let words = ["--table", "t", "--create", "--into"]
    Self.expect(
      try Self.run(
        words + [server.address(password: "SECRET")], environment: ["PGPASSFILE": "/nowhere"]), 66,
      "28P01")
    Self.expect(
      try Self.run(words + [server.address()], environment: ["PGPASSFILE": "/nowhere"]), 66,
      "password")
    let good = try Self.run(words + [server.address()], environment: ["PGPASSWORD": "sheaf"])
    #expect(good.status == 0, "\(good.errorText)")
    #expect(try server.query("SELECT * FROM t") == [["1", "x"]])
  }

  @Test("A database that cannot keep every text is refused")
  func encodings() throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.server.query(
      "CREATE DATABASE l\(bench.database) ENCODING 'LATIN1' TEMPLATE template0 LOCALE 'C'")
    let address = bench.server.address(database: "l" + bench.database)
    Self.expect(try Self.run(["--into", address, "--table", "t", "--create"]), 64, "LATIN1")
  }

  @Test("Who finds the checkpoint tables needs no right to make any")
  func grantedTables() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id\n1\n2\n")
    _ = try bench.query("CREATE TABLE t (id int)")
    try bench.run(["a.csv"], ["--table", "t"])
    let role = "r" + bench.database
    _ = try bench.query(
      "CREATE ROLE \(role) LOGIN PASSWORD 'sheaf'; REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT "
        + "INSERT ON t TO "
        + "\(role)")
    let words = [
      "import", bench.bench.path("a.csv"), "--into",
      bench.server.address(user: role, database: bench.database),
      "--table", "t",
    ]
    // The error names what is missing.
    let refused = try bench.bench.run(words, status: .inputMissing)
    #expect(refused.errorText.contains("[42501]"), "\(refused.errorText)")
    _ = try bench.query(
      "GRANT SELECT, INSERT, UPDATE, DELETE ON sheaf_input, sheaf_lease, sheaf_range, sheaf_reject TO \(role)"
    )
    try bench.bench.run(words)
    #expect(try bench.value("SELECT count(*) FROM t") == "4")
  }
}
