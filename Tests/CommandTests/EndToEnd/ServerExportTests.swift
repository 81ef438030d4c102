import Base
import Engine
import Foundation
import TestSupport
import Testing

@testable import Command

/// Tables of database files loaded into a server.
@Suite(.serialized) struct ServerExportTests {
  /// A bench with a server and a file of numbered rows.
  private static func made(_ count: Int) throws -> ServerBench? {
    guard let bench = try ServerBench() else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(count))
    try bench.bench.run(
      ["import", bench.bench.path("a.csv"), "--into", bench.bench.database, "--table", "t"])
    return bench
  }

  private static func words(_ bench: ServerBench, _ more: [String], port: UInt16? = nil) -> [String]
  {
    ["export", bench.bench.database, "--into", bench.address(port: port)]
      + ["--rejects", bench.bench.path("rejects.csv")] + more
  }

  @Test("Values are sent by what they mean, in the types that they have")
  func types() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write(
      "a.csv",
      "i,d,n,b,day,at,time,u,t\n\"1,234\",1.5,\"$1,234.50\",yes,\"August 3, "
        + "2018\",2018-08-03T12:00:00+02:00,09:05,"
        + "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6,\" a\nb\\ \"\n7,,$5,no,\"May 1, 2020\",,,,\"\"\n,NaN,,,,,,,\n"
    )
    try bench.bench.run([
      "import", bench.bench.path("a.csv"), "--into", bench.bench.database, "--types", "i:int",
      "--thousands", ",",
    ])
    try bench.bench.run(Self.words(bench, ["--create", "--as", "x"]))
    #expect(
      try bench.query(
        "SELECT data_type FROM information_schema.columns WHERE table_name = 'x' ORDER BY ordinal_position"
      ).map(\.first) == [
        "bigint", "double precision", "numeric", "boolean", "date", "timestamp with time zone",
        "time without time zone", "uuid", "text",
      ])
    #expect(
      try bench.query("SET timezone = 'UTC'; SELECT *, t IS NULL FROM x ORDER BY i") == [
        [
          "7", "", "5", "f", "2020-05-01", "", "", "", "", "f",
        ],
        [
          "1234", "1.5", "1234.5", "t", "2018-08-03", "2018-08-03 10:00:00+00", "09:05:00",
          "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", " a\nb\\ ", "f",
        ], ["", "NaN", "", "", "", "", "", "", "", "t"],
      ])
  }

  @Test("Bytes arrive as bytes")
  func bytes() throws {
    guard let bench = try ServerBench() else { return }
    let all = (0...255).map { UInt8($0) }
    let database = try Database.open(bench.bench.database)
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .int), Column("bytes", .data, nullable: true)])
      let table = try transaction.table("t")
      for (id, bytes) in [all, [], nil].enumerated() {
        _ = try table.insert([.int(Int64(id)), bytes.map { .data($0) } ?? .null])
      }
    }
    try database.close()
    try bench.bench.run(Self.words(bench, ["--create"]))
    #expect(
      try bench.query("SELECT id, encode(bytes, 'hex'), bytes IS NULL FROM t ORDER BY id") == [
        ["0", all.map { String(format: "%02x", $0) }.joined(), "f"], ["1", "", "f"],
        ["2", "", "t"],
      ])
  }

  @Test("Every object is there once, also the second time with --resume; a part is another input")
  func parts() throws {
    guard let bench = try Self.made(20_000) else { return }
    let result = try bench.bench.run(
      Self.words(bench, ["--create", "--batch-size", "700", "--report", "json"]))
    let report = try Report(result.output)
    #expect(report["command"].text == "export" && report["imported"].int == 20_000)
    try bench.expectRows(20_000, in: "t")
    try bench.bench.run(Self.words(bench, ["--batch-size", "700", "--resume"]))
    try bench.expectRows(20_000, in: "t")
    try bench.bench.run(
      Self.words(bench, ["--where", "id <= 5", "--columns", "id", "--as", "p", "--create"]))
    try bench.bench.run(
      Self.words(bench, ["--where", "id > 19998", "--columns", "id", "--as", "p", "--resume"]))
    #expect(try bench.query("SELECT id FROM p ORDER BY id").count == 7)
    // The file has changed since.
    try bench.bench.write("b.csv", "id,text\n20001,more\n")
    try bench.bench.run([
      "import", bench.bench.path("b.csv"), "--into", bench.bench.database, "--table", "t",
    ])
    let grown = try bench.bench.run(
      Self.words(bench, ["--batch-size", "700", "--resume"]), status: .dataRefused)
    #expect(
      grown.errorText.contains("its first 20000 objects are there")
        && grown.errorText.contains("--where"),
      "\(grown.errorText)")
    try bench.expectRows(20_000, in: "t")
    // As the message says: the new ones as a part.
    try bench.bench.run(Self.words(bench, ["--where", "id > 20000"]))
    #expect(try bench.value("SELECT count(*) FROM t") == "20001")
  }

  @Test("Kills and cut commits leave what --resume completes")
  func killed() throws {
    guard let bench = try Self.made(20_000) else { return }
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    guard
      let proxy = CuttingProxy(
        to: bench.server.port, statement: "COMMIT",
        { number in
          number > 3 && number % 9 == 0 ? CuttingProxy.Cut.allCases[1 + number / 9 % 3] : .none
        })
    else { return }
    let more = ["--batch-size", "100", "--resume", "--lease", "1", "--wait", "30"]
    var random = SplitMix64(seed: UInt64.random(in: 0..<1000))
    for _ in 0..<Effort.rounds(3, long: 30) {
      let process = try SheafProcess(Self.words(bench, more, port: proxy.port))
      System.sleep(milliseconds: UInt32.random(in: 50..<500, using: &random))
      process.signal(SIGKILL)
      _ = process.finish()
    }
    let last = try SheafProcess.run(Self.words(bench, more, port: proxy.port))
    #expect(last.status == 0, "\(last.errorText)")
    #expect(proxy.cutCount > 0)
    try bench.expectRows(20_000, in: "t")
  }

  @Test("Objects added at the end of a table are loaded by the run that resumes an interrupted one")
  func addedMeanwhile() throws {
    guard let bench = try Self.made(4000) else { return }
    try bench.makeGatedTable(500)
    let more = ["--batch-size", "100", "--resume", "--lease", "1"]
    let first = try SheafProcess(Self.words(bench, more))
    try bench.awaitGate(500)
    first.signal(SIGKILL)
    _ = first.finish()
    try bench.openGate()
    try bench.bench.write("b.csv", ServerBench.rows(250, from: 4001))
    try bench.bench.run([
      "import", bench.bench.path("b.csv"), "--into", bench.bench.database, "--table", "t",
    ])
    // The lease of the first run may last for a second more, which is told.
    let result = try SheafProcess.run(Self.words(bench, more))
    #expect(result.status == 0, "\(result.errorText)")
    try bench.expectRows(4250, in: "t")
  }

  @Test("What the server refuses is rejected as CSV; a dry run writes nothing")
  func rejects() throws {
    guard let bench = try Self.made(100) else { return }
    _ = try bench.query("CREATE TABLE t (id int CHECK (id <> 7), text text)")
    try bench.bench.run(Self.words(bench, ["--dry-run"]))
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
    try bench.bench.run(Self.words(bench, []), status: .dataRefused)
    let report = try Report(
      bench.bench.run(
        Self.words(
          bench, ["--max-rejects", "1", "--truncate", "--batch-size", "50", "--report", "json"])
      ).output)
    #expect(report["imported"].int == 99 && report["rejected"].int == 1)
    #expect(try bench.bench.text(bench.bench.lastRejects("rejects")).hasPrefix("id,text\n7,"))
  }

  @Test(
    "A damaged file is said to be one wherever the damage is, and no more is loaded than can be read"
  )
  func damaged() throws {
    guard let bench = try Self.made(20_000) else { return }
    let bytes = try bench.bench.read("t.sheaf")
    var refused = 0
    // First one damaged place, so that the table's beginning can be read and its end cannot; then many.
    // About half of the rows are read.
    let places = stride(
      from: 16_500, to: bytes.count, by: bytes.count / max(16, Effort.rounds(24, long: 400)))
    for damaged in places.map({ [$0] }) + [Array(stride(from: 16_384, to: bytes.count, by: 97))] {
      var bytes = bytes
      for place in damaged { bytes[place] ^= 0x55 }
      try Data(bytes).write(to: URL(fileURLWithPath: bench.bench.database))
      _ = try bench.query(
        "DROP TABLE IF EXISTS t, sheaf_input, sheaf_range, sheaf_lease, sheaf_reject")
      let result = try SheafProcess.run(Self.words(bench, ["--create", "--batch-size", "3000"]))
      if result.status == 0 {
        // No changed row was loaded.
        try bench.expectRows(20_000, in: "t")
        continue
      }
      refused += 1
      #expect(!result.errorText.isEmpty)
      if try bench.value("SELECT to_regclass('sheaf_input') IS NULL") == "f" {
        #expect(try bench.value("SELECT count(*) FROM sheaf_input WHERE done") == "0")
      }
    }
    #expect(refused > 1)
  }
}
