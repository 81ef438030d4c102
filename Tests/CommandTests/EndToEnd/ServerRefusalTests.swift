import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Rows that the server refuses, in imports with a key: each is found, no other is rejected, and the
/// rows are copied to the server only once.
@Suite struct ServerRefusalTests {
  private static let policies = ["error", "skip", "update", "replace"]

  /// What an import makes of the records, one after the other.
  private struct Expected {
    var rows: [Int: String] = [:]
    var rejected: [Int] = []
    var counts = ["imported": 0, "updated": 0, "skipped": 0, "unchanged": 0]

    mutating func take(_ number: Int, _ id: Int, _ value: String, isRefused: Bool, _ policy: String)
    {
      guard !isRefused else { return rejected.append(number) }
      guard let old = rows[id] else {
        rows[id] = value
        counts["imported", default: 0] += 1
        return
      }
      switch policy {
      case "error": rejected.append(number)
      case "skip": counts["skipped", default: 0] += 1
      default:
        rows[id] = value
        counts[old == value ? "unchanged" : "updated", default: 0] += 1
      }
    }
  }

  @Test(
    "The record that is one too many is among the rejects, with the server's reason",
    arguments: ["1", "4"])
  func oneTooMany(_ connections: String) throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query("CREATE TABLE t (id int, v int CHECK (v <> 13))")
    try bench.bench.write("s.csv", "id,v\n1,x\n2,13\n3,30\n4,y\n5,13\n6,13\n")
    let result = try bench.run(
      ["s.csv"], ["--table", "t", "--max-rejects", "2", "--connections", connections],
      status: .dataRefused)
    #expect(result.errorText.contains("3 records rejected"), "\(result.errorText)")
    #expect(try bench.bench.text("rejects.csv") == "id,v\n1,x\n2,13\n4,y\n")
    #expect(try bench.bench.text("rejects.csv.reasons.jsonl").contains("t_v_check"))
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
  }

  @Test(
    "Rules compare values of the server's types, whatever the first records look like",
    arguments: [
      ("text", "10\n9\n", "a > \"5\"", "9"), ("int", "NA\n\n10\n3\n", "a > 5 or a is null", "10"),
      ("int", "10\n9\nx\n", "a > 5", "10 9"), ("double precision", "10\n9\n", "a > 9.5", "10"),
    ])
  func rules(_ type: String, _ values: String, _ rule: String, _ expected: String) throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query("CREATE TABLE t (a \(type), b int)")
    let lines = values.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    try bench.bench.write("a.csv", "a,b\n" + lines.map { "\($0),1\n" }.joined())
    try bench.bench.write("b.csv", "a,b\n,1\n")
    try bench.run(
      ["a.csv", "b.csv"], ["--table", "t", "--check", rule, "--max-rejects", "9", "--null", "NA"])
    let found = try bench.value(
      "SELECT string_agg(a::text, ' ' ORDER BY length(a::text) DESC) FROM t WHERE a IS NOT NULL")
    #expect(found == expected)
    // A rule for a column that is not there leaves no table.
    try bench.run(
      ["a.csv"], ["--table", "u", "--create", "--check", "z > 5"], status: .usage)
    #expect(try bench.value("SELECT to_regclass('u') IS NULL") == "t")
  }

  @Test(
    "The rows that a type, a constraint or a trigger refuses are rejected, and no others",
    arguments: policies, ["7", "1000"])
  func random(_ policy: String, _ size: String) throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query(
      "CREATE TABLE other (w int PRIMARY KEY); INSERT INTO other SELECT generate_series(0, 9); "
        + "CREATE TABLE t (id "
        + "int PRIMARY KEY, v smallint CHECK (v >= 0), w int REFERENCES other DEFERRABLE INITIALLY "
        + "DEFERRED); CREATE "
        + "FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.v = 77 THEN RAISE ''not "
        + "77''; END IF; "
        + "RETURN NEW; END'; CREATE TRIGGER x "
        + "\(policy == "error" ? "AFTER" : "BEFORE") INSERT ON t FOR EACH ROW EXECUTE "
        + "FUNCTION f()")
    // Where triggers run before the insertion, rows that fail under `error` are searched in another
    // way: see `ServerKeyTests`.
    var random = SplitMix64(seed: 3)
    for (round, share) in [2, 10, 90].enumerated() {
      var csv = "id,v,w\n"
      var expected = Expected()
      for number in 1...400 {
        // A key that is refused for its `w` comes only once: rows that are not written are not refused.
        let isOther = Int.random(in: 0..<300, using: &random) < share
        let isBad = !isOther && Int.random(in: 0..<100, using: &random) < share
        let id = isOther ? 10_000 + number : Int.random(in: 0..<250, using: &random)
        let value =
          isBad
          ? ["-1", "99999", "77"].randomElement(using: &random) ?? ""
          : "\(Int.random(in: 0..<3, using: &random))"
        csv += "\(id),\(value),\(isOther ? 12 : 1)\n"
        expected.take(number, id, value, isRefused: isBad || isOther, policy)
      }
      let name = "\(round).csv"
      try bench.bench.write(name, csv)
      if round > 0 { _ = try bench.query("TRUNCATE t, sheaf_reject") }
      let report = try bench.report(
        [name],
        [
          "--table", "t", "--key", "id", "--on-conflict", policy, "--batch-size", size,
          "--max-rejects", "unlimited",
        ])
      for (count, number) in expected.counts {
        #expect(report[count].int == number, "\(policy) \(size) \(round) \(count)")
      }
      let rejected = try bench.query("SELECT record FROM sheaf_reject ORDER BY record")
      #expect(rejected == expected.rejected.map { ["\($0)"] }, "\(policy) \(size) \(round)")
      let rows = try bench.query("SELECT id, v FROM t ORDER BY id")
      #expect(
        rows == expected.rows.sorted { $0.key < $1.key }.map { ["\($0.key)", $0.value] },
        "\(policy) \(size) \(round)")
      // The rejects file has the order of the input, too.
      let suffix = round == 0 ? "" : ".\(round + 1)"
      let lines = try bench.bench.text("rejects\(suffix).csv").split(separator: "\n").dropFirst()
      let records = csv.split(separator: "\n").dropFirst().map(String.init)
      #expect(lines.map(String.init) == expected.rejected.map { records[$0 - 1] })
    }
  }

  @Test(
    "A batch of nothing but refused rows is copied twice, and not once for each row",
    arguments: policies)
  func allRefused(_ policy: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id\n" + (1...40).map { "\($0)\n" }.joined())
    _ = try bench.query("CREATE TABLE t (id int PRIMARY KEY CHECK (id < 0))")
    guard let server = ScriptedServer(before: bench.server.port, { _ in .pass }) else { return }
    let result = try SheafProcess.run(
      bench.words(
        ["a.csv"],
        ["--table", "t", "--key", "id", "--on-conflict", policy, "--max-rejects", "unlimited"],
        port: server.port))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.value("SELECT rejected FROM sheaf_input") == "40")
    #expect(server.queries.count { $0.hasPrefix("COPY") } == 2)
    // For each row an attempt and its end, and a few queries to narrow all rows down to one.
    #expect(server.queries.count < 2 * 40 + 100)
  }

  @Test("Many rows of one key are numbered once", arguments: ["update", "replace"])
  func repeats(_ policy: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id,v\n" + (1...2000).map { "\($0 % 2),\($0 / 4)\n" }.joined())
    _ = try bench.query("CREATE TABLE t (id int PRIMARY KEY, v int)")
    guard let server = ScriptedServer(before: bench.server.port, { _ in .pass }) else { return }
    let result = try SheafProcess.run(
      bench.words(
        ["a.csv"], ["--table", "t", "--key", "id", "--on-conflict", policy], port: server.port))
    #expect(result.status == 0, "\(result.errorText)")
    #expect(
      try bench.query("SELECT imported, updated, unchanged FROM sheaf_input")
        == [["2", "999", "999"]])
    #expect(try bench.query("SELECT * FROM t ORDER BY id") == [["0", "500"], ["1", "499"]])
    #expect(server.queries.count { $0.contains("PARTITION BY") } == 1)
    #expect(server.queries.count < 100)
  }

  @Test("Options that do not fit a later input are no wrong usage once another is committed")
  func laterInput() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id\n1\n2\n")
    try bench.bench.write("b.csv", "id,v\n3,x\n")
    let options = ["--table", "t", "--set", "v=y"]
    _ = try bench.query("CREATE TABLE t (id int, v text)")
    let refused = try bench.run(["a.csv", "b.csv"], options, status: .dataRefused)
    #expect(refused.errorText.contains("--resume goes on from there"), "\(refused.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "2")
    try bench.run(["b.csv", "a.csv"], options, status: .usage)
    try bench.bench.write("c.csv", "id,w\n3,x\n")
    let unknown = try bench.run(["a.csv", "c.csv"], ["--table", "t"], status: .dataRefused)
    #expect(unknown.errorText.contains("c.csv"), "\(unknown.errorText)")
    #expect(unknown.errorText.contains("--resume goes on from there"), "\(unknown.errorText)")
  }
}
