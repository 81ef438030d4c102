import Base
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Command

/// Tables that are not there any more, or are empty, although inputs were imported into them.
@Suite struct ServerTableMadeTests {
  private static let more = [
    "--table", "t", "--create", "--resume", "--batch-size", "100", "--lease", "60", "--wait", "20",
  ]

  private static func made(_ count: Int) throws -> ServerBench? {
    guard let bench = try ServerBench() else { return nil }
    try bench.bench.write("a.csv", ServerBench.rows(count))
    return bench
  }

  @Test("A table that --create makes anew gets all records again, and others keep what is known")
  func dropped() throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.bench.write("b.csv", ServerBench.rows(500, from: 1001))
    try bench.bench.write("other.csv", "id\n1\n")
    try bench.run(["a.csv", "b.csv"], Self.more)
    try bench.run(["other.csv"], ["--table", "other", "--create"])
    _ = try bench.query(
      "INSERT INTO sheaf_reject SELECT input, 7, 1, 1, 1, NULL, NULL, 'old', '' FROM sheaf_input WHERE name "
        + "LIKE '%b.csv'; DROP TABLE t")
    // The input that this run does not name is forgotten, too.
    let result = try bench.run(["a.csv"], Self.more)
    #expect(
      result.outputText.contains("2 inputs that were imported into an earlier table of this name"),
      "\(result.outputText)")
    try bench.expectRows(1000, in: "t")
    #expect(try bench.value("SELECT count(*) FROM sheaf_reject") == "0")
    try bench.run(["a.csv", "b.csv"], Self.more)
    try bench.expectRows(1500, in: "t")
    try bench.run(["other.csv"], ["--table", "other", "--create", "--resume"])
    #expect(try bench.value("SELECT count(*) FROM other") == "1")
    // Nothing is said where nothing was known.
    let new = try bench.run(["other.csv"], ["--table", "new", "--create"])
    #expect(!new.outputText.contains("earlier table"), "\(new.outputText)")
  }

  @Test("So does one that was dropped in the middle of its import, whoever has the lease")
  func droppedInTheMiddle() throws {
    guard let bench = try Self.made(4000) else { return }
    try bench.makeGatedTable(500)
    let first = try SheafProcess(bench.words(["a.csv"], Self.more))
    try bench.awaitGate(500)
    first.signal(SIGKILL)
    _ = first.finish()
    try bench.openGate()
    #expect(try bench.value("SELECT count(*) > 0 FROM sheaf_range") == "t")
    _ = try bench.query("DROP TABLE t")
    let result = try bench.run(["a.csv"], Self.more)
    #expect(result.outputText.contains("1 input that was imported"), "\(result.outputText)")
    try bench.expectRows(4000, in: "t")
  }

  @Test("Cut around its commit, the making forgets what was known, once, or is no making")
  func cutCommits() throws {
    // The text is in BEGIN, too: READ COMMITTED.
    for (cut, place) in CuttingProxy.Cut.allCases.dropFirst().flatMap({ cut in
      (0..<3).map { (cut, $0) }
    }) {
      guard let bench = try Self.made(1000) else { return }
      try bench.run(["a.csv"], Self.more)
      _ = try bench.query("DROP TABLE t")
      guard
        let proxy = CuttingProxy(
          to: bench.server.port, statement: "COMMIT", { $0 == place ? cut : .none })
      else { return }
      let result = try SheafProcess.run(bench.words(["a.csv"], Self.more, port: proxy.port))
      #expect(result.status == 0, "\(cut) \(place): \(result.errorText)")
      try bench.expectRows(1000, in: "t")
    }
  }

  @Test("Of several processes that find no table one makes it, and none forgets what others load")
  func several() throws {
    guard let bench = try Self.made(2000) else { return }
    var names = ["a.csv"]
    for number in 1...5 {
      names.append("\(number).csv")
      try bench.bench.write("\(number).csv", ServerBench.rows(2000, from: number * 2000 + 1))
    }
    for _ in 0..<Effort.rounds(2, long: 20) {
      let processes = try (0..<3).map { _ in try SheafProcess(bench.words(names, Self.more)) }
      for process in processes {
        let result = process.finish()
        #expect(result.status == 0, "\(result.errorText)")
      }
      try bench.expectRows(12_000, in: "t")
      _ = try bench.query("DROP TABLE t")
    }
  }

  @Test("Who finds the table made by another meanwhile forgets nothing", arguments: [true, false])
  func overtaken(_ isTransactional: Bool) throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.run(["a.csv"], Self.more)
    _ = try bench.query("DROP TABLE t; DELETE FROM sheaf_input")
    let words = bench.words(["a.csv"], Self.more)
    let wasMade = Mutex(false)
    let server = ScriptedServer(before: bench.server.port) { query in
      if query == "SELECT version()", !isTransactional {
        return .value("CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu)")
      }
      if query.contains("CREATE TABLE \"t\""), wasMade.withLock({ !$0 }) {
        wasMade.withLock { $0 = true }
        let other = try? SheafProcess.run(words)
        return other?.status == 0 ? .pass : .failure(code: "42601")
      }
      let unknown = ["synchronous_commit", "tcp_keepalives", "DateStyle", "IntervalStyle"]
      return !isTransactional && unknown.contains(where: query.contains)
        ? .failure(code: "42704") : .pass
    }
    guard let server else { return }
    let result = try SheafProcess.run(bench.words(["a.csv"], Self.more, port: server.port))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(wasMade.withLock { $0 })
    try bench.expectRows(1000, in: "t")
  }

  @Test(
    "Where no table can be made in a transaction, what is known of the old one is to be deleted first",
    arguments: [
      "CockroachDB CCL v25.2.0 (x86_64-pc-linux-gnu)",
      "PostgreSQL 15.12-YB-2025.1.1.0-b0 on x86_64-pc-linux-gnu",
    ])
  func refused(_ version: String) throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.run(["a.csv"], Self.more)
    _ = try bench.query("DROP TABLE t")
    let setting = "SET LOCAL yb_default_copy_from_rows_per_transaction = 0; "
    let server = ScriptedServer(before: bench.server.port) { query in
      if query == "SELECT version()" { return .value(version) }
      if query.hasPrefix("SHOW yb_disable") { return .value("off") }
      return query.contains(setting) ? .instead(query.replacing(setting, with: "")) : .pass
    }
    guard let server else { return }
    let words = bench.words(["a.csv"], Self.more, port: server.port)
    let result = try SheafProcess.run(words)
    #expect(result.status == 64, "\(result.errorText)")
    let advice = try #require(
      result.errorText.firstMatch(of: /DELETE FROM .* WHERE target = '\S+'/))
    #expect(try bench.value("SELECT to_regclass('t') IS NULL") == "t")
    _ = try bench.query(String(advice.output))
    let again = try SheafProcess.run(words)
    #expect(again.status == 0, "\(again.errorText)")
    try bench.expectRows(1000, in: "t")
    var isOpen = false
    for query in server.queries {
      if query.hasPrefix("BEGIN") { isOpen = true }
      if query == "COMMIT" || query == "ROLLBACK" { isOpen = false }
      #expect(!query.contains("CREATE") || !isOpen, "\(query)")
    }
  }

  @Test("A table without rows, whose inputs are left out, is told")
  func emptied() throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.run(["a.csv"], Self.more)
    let told = "has no rows that this user sees"
    let full = try bench.run(["a.csv"], Self.more)
    #expect(!full.outputText.contains(told), "\(full.outputText)")
    _ = try bench.query("TRUNCATE t")
    let result = try bench.run(["a.csv"], Self.more)
    #expect(
      result.outputText.contains(told) && result.outputText.contains("1000 records"),
      "\(result.outputText)")
    // Others that are imported into it do not hide that.
    try bench.bench.write("b.csv", ServerBench.rows(10))
    let more = try bench.run(["b.csv", "a.csv"], Self.more)
    #expect(more.outputText.contains(told), "\(more.outputText)")
    try bench.expectRows(10, in: "t")
    // An input of which no record was taken says nothing about the table.
    _ = try bench.query("TRUNCATE t; UPDATE sheaf_input SET imported = 0, skipped = records")
    let skipped = try bench.run(["a.csv"], Self.more)
    #expect(!skipped.outputText.contains(told), "\(skipped.outputText)")
  }

  @Test("Who may not read the table imports into it as before")
  func unreadable() throws {
    guard let bench = try Self.made(1000) else { return }
    try bench.run(["a.csv"], Self.more)
    let role = "r" + bench.database
    _ = try bench.query(
      "TRUNCATE t; CREATE ROLE \(role) LOGIN; GRANT INSERT ON t TO \(role); GRANT SELECT, INSERT, UPDATE, "
        + "DELETE ON sheaf_input, sheaf_lease, sheaf_range, sheaf_reject TO \(role)")
    let address = bench.server.address(user: role, database: bench.database)
    try bench.bench.write("b.csv", ServerBench.rows(10))
    let result = try bench.bench.run(
      ["import", bench.bench.path("a.csv"), bench.bench.path("b.csv"), "--into", address]
        + Self.more)
    #expect(!result.outputText.contains("no rows"), "\(result.outputText)")
    try bench.expectRows(10, in: "t")
  }

  @Test("A note names the columns of a new table of which no input has a value")
  func withoutValues() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "a,b\n")
    try bench.bench.write("b.csv", "a,b\n1,\n")
    func notes(_ name: String, _ table: String) throws -> String {
      let report = try bench.report([name], ["--table", table, "--create", "--header", "yes"])
      return (0..<report["notes"].count).compactMap { report["notes"][$0].text }.joined()
    }
    #expect(try notes("a.csv", "t").contains("no input has a value of the columns 'a', 'b', text"))
    #expect(try notes("b.csv", "u").contains("no input has a value of column 'b', text"))
    try bench.bench.write("c.csv", "a,b\n1,2\n")
    #expect(try !notes("c.csv", "v").contains("no input has"))
  }
}
