import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// A test's own database on a server that all tests share.
///
/// Thread rule: one thread at a time.
final class ServerBench {
  let bench: Workbench
  let server: PostgreSQLServer
  let database: String

  /// Nil, with a printed line, where no server can be started.
  private static let shared = Shared()

  private final class Shared: @unchecked Sendable {
    // @unchecked: guarded by `lock`; each query of the server is a process of its own.
    private let lock = Lock()
    private var server: PostgreSQLServer?
    private var isTried = false

    func get() throws -> PostgreSQLServer? {
      try lock.withLock {
        if !isTried {
          isTried = true
          server = try PostgreSQLServer.start(settings: ["fsync=off"])
        }
        return server
      }
    }
  }

  /// - Parameter server: the test's own server; nil: the shared one.
  init?(_ own: PostgreSQLServer? = nil) throws {
    guard let server = try own ?? Self.shared.get() else { return nil }
    self.server = server
    bench = try Workbench()
    database = "t" + UUID().uuidString.lowercased().replacing("-", with: "")
    _ = try server.query("CREATE DATABASE \(database)")
  }

  func address(port: UInt16? = nil) -> String { server.address(database: database, port: port) }

  func query(_ statements: String) throws -> [[String]] {
    try server.query("\\c \(database)\n" + statements)
  }

  func value(_ statements: String) throws -> String { try query(statements).first?.first ?? "" }

  /// Makes a table `t` that takes as many rows and then keeps every batch waiting until `openGate`, so
  /// that a test can act in the middle of an import, however slow the machine is.
  func makeGatedTable(_ count: Int) throws {
    _ = try query(
      "CREATE TABLE t (id int, text text); CREATE TABLE gate (id int); INSERT INTO gate VALUES (1); CREATE "
        + "FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN WHILE EXISTS (SELECT 1 FROM "
        + "gate) AND (SELECT count(*) FROM t) > \(count) LOOP PERFORM pg_sleep(0.02); END LOOP; RETURN "
        + "NULL; END'; CREATE TRIGGER wait AFTER INSERT ON t FOR EACH STATEMENT EXECUTE FUNCTION wait()"
    )
  }

  /// Waits until the table has taken all rows before the gate.
  func awaitGate(_ count: Int) throws {
    try self.await("SELECT (count(*) >= \(count))::int FROM t")
  }

  /// Waits until a query's value is not 0, for a minute at most and as long as `mayCome`.
  func await(_ question: String, while mayCome: () -> Bool = { true }) throws {
    let deadline = System.monotonicNanoseconds + 60_000_000_000
    while System.monotonicNanoseconds < deadline, mayCome() {
      if try value(question) != "0" { return }
      System.sleep(milliseconds: 20)
    }
    Issue.record("it never becomes other than 0: \(question)")
  }

  func openGate() throws { _ = try query("DELETE FROM gate") }

  /// The arguments of an import of files of the bench.
  func words(_ files: [String], _ more: [String], port: UInt16? = nil) -> [String] {
    ["import"] + files.map(bench.path) + ["--into", address(port: port)]
      + ["--rejects", bench.path("rejects.csv")] + more
  }

  @discardableResult
  func run(
    _ files: [String], _ more: [String] = [], status: Command.ExitStatus = .done,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> SheafProcess.Result {
    try bench.run(words(files, more), status: status, sourceLocation: sourceLocation)
  }

  func report(
    _ files: [String], _ more: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> Report {
    try bench.report(words(files, more), sourceLocation: sourceLocation)
  }

  /// Numbered rows of `id,text`, with all that `COPY` and CSV escape.
  static func rows(_ count: Int, from first: Int = 1) -> String {
    let texts = [
      "plain", "\"a,b\"", "\"two\nlines\"", "back\\slash", "\"tab\there\"", "\\N", "\"\"", "é",
    ]
    var csv = "id,text\n"
    for id in first..<first + count { csv += "\(id),\(texts[id % texts.count])\n" }
    return csv
  }

  /// Compares the table with the digest of `rows(1...count)`, which the server computes itself.
  func expectRows(_ count: Int, in table: String, sourceLocation: SourceLocation = #_sourceLocation)
    throws
  {
    let found = try query(
      "SELECT count(*), count(DISTINCT id), coalesce(min(id), 1), coalesce(max(id), 0) FROM \(table)"
    )
    #expect(
      found == [["\(count)", "\(count)", "1", "\(count)"]], sourceLocation: sourceLocation)
    let wrong = try value(
      "SELECT count(*) FROM \(table) WHERE text IS DISTINCT FROM (ARRAY['plain', 'a,b', E'two\\nlines', "
        + "E'back\\\\slash', E'tab\\there', E'\\\\N', '', 'é'])[id % 8 + 1]")
    #expect(wrong == "0", sourceLocation: sourceLocation)
  }
}
