import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Rows whose keys exist already, in tables of every kind.
@Suite struct ServerKeyTests {
  private static func counts(_ report: Report) -> [Int?] {
    ["imported", "updated", "skipped", "unchanged", "rejected"].map { report[$0].int }
  }

  @Test("Columns whose types know no equality, or another one, are compared by what they are")
  func images() throws {
    guard let bench = try ServerBench() else { return }
    let long = (0..<3000).map { "\($0)" }.joined()
    _ = try bench.query(
      "CREATE COLLATION ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        + "CREATE TABLE t (id "
        + "int PRIMARY KEY, j json, p point, b box, n numeric, d numeric(9, 2), c char(3), k text "
        + "COLLATE ci, a int[], "
        + "x text, f float8)")
    let old = [
      "{\"a\":1}", "(1,2)", "(1,1),(0,0)", "1.0", "1.0", "x", "word", "{1,NULL}", long, "0",
    ]
    func write(_ values: [String]) throws {
      try bench.bench.write(
        "a.csv", "id|j|p|b|n|d|c|k|a|x|f\n1|\(values.joined(separator: "|"))\n")
    }
    let more = ["--table", "t", "--key", "id", "--on-conflict", "update", "--quote", "none"]
    try write(old)
    #expect(Self.counts(try bench.report(["a.csv"], more)) == [1, 0, 0, 0, 0])
    #expect(Self.counts(try bench.report(["a.csv"], more)) == [0, 0, 0, 1, 0])
    // Fields that become the same stored value are the same.
    try write(
      old[..<4] + ["1.00", "x  ", "word", "{ 1, null }"] + old[8...])
    #expect(Self.counts(try bench.report(["a.csv"], more)) == [0, 0, 0, 1, 0])
    // Other values are updated, however equal they compare.
    for (column, value, stored) in [
      (0, "{\"a\": 1}", "{\"a\": 1}"), (1, "(2,1)", "(2,1)"), (2, "(3,3),(2,2)", "(3,3),(2,2)"),
      (3, "1.00", "1.00"), (6, "WORD", "WORD"), (8, long + "x", long + "x"), (9, "-0", "-0"),
    ] {
      var values = old
      values[column] = value
      try write(old)
      _ = try bench.report(["a.csv"], more)
      try write(values)
      #expect(Self.counts(try bench.report(["a.csv"], more)) == [0, 1, 0, 0, 0], "\(value)")
      let name = Array("jpbndckaxf")[column]
      #expect(try bench.value("SELECT \(name) FROM t") == stored)
    }
  }

  @Test("Where a trigger changes keys, it is the row that is not there that is rejected")
  func changedKeys() throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query(
      "CREATE TABLE t (k text PRIMARY KEY, v int); CREATE FUNCTION f() RETURNS trigger LANGUAGE "
        + "plpgsql AS 'BEGIN "
        + "NEW.k = lower(NEW.k); RETURN NEW; END'; CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW "
        + "EXECUTE FUNCTION "
        + "f()")
    // Refused rows are in the second round, too: they are searched then.
    try bench.bench.write("a.csv", "k,v\na,1\nB,2\nb,3\nC,4\nA,5\nd,6\n")
    try bench.bench.write("b.csv", "k,v\nE,1\nF,2147483648\ne,3\nG,4\ng,5\nH,6\n")
    let more = ["--table", "t", "--key", "k", "--max-rejects", "unlimited", "--on-conflict"]
    #expect(Self.counts(try bench.report(["a.csv"], more + ["error"])) == [4, 0, 0, 0, 2])
    #expect(try bench.query("SELECT record FROM sheaf_reject ORDER BY 1") == [["3"], ["5"]])
    #expect(
      try bench.query("SELECT * FROM t ORDER BY k")
        == [["a", "1"], ["b", "2"], ["c", "4"], ["d", "6"]])
    _ = try bench.query("DELETE FROM sheaf_reject")
    #expect(
      Self.counts(try bench.report(["b.csv"], more + ["error", "--types", "v:text"]))
        == [3, 0, 0, 0, 3])
    #expect(try bench.query("SELECT record FROM sheaf_reject ORDER BY 1") == [["2"], ["3"], ["5"]])
    _ = try bench.query("TRUNCATE t, sheaf_input")
    #expect(Self.counts(try bench.report(["a.csv"], more + ["skip"])) == [4, 0, 2, 0, 0])
    _ = try bench.query("TRUNCATE t, sheaf_input")
    // Two rows of one key in one statement: they are found, and applied one after the other.
    #expect(Self.counts(try bench.report(["a.csv"], more + ["update"])) == [4, 2, 0, 0, 0])
    #expect(
      try bench.query("SELECT * FROM t ORDER BY k")
        == [["a", "5"], ["b", "3"], ["c", "4"], ["d", "6"]])
  }

  @Test(
    "Numbers that the server gives are taken where they are given, and stay where they cannot be changed",
    arguments: ["ALWAYS", "BY DEFAULT"])
  func identities(_ kind: String) throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query(
      "CREATE TABLE t (id int GENERATED \(kind) AS IDENTITY PRIMARY KEY, k int UNIQUE, v int)")
    try bench.bench.write("a.csv", "id,k,v\n7,1,1\n8,2,2\n7,1,3\n")
    try bench.bench.write("b.csv", "id,k,v\n17,1,9\n")
    for policy in ["error", "skip", "update", "replace"] {
      _ = try bench.query("TRUNCATE t")
      let more = ["--table", "t", "--on-conflict", policy, "--max-rejects", "1", "--key"]
      try bench.run(["a.csv"], more + ["id"])
      let last = policy == "error" || policy == "skip" ? "1" : "3"
      #expect(
        try bench.query("SELECT * FROM t ORDER BY 1") == [["7", "1", last], ["8", "2", "2"]])
      if policy == "error" || policy == "skip" { continue }
      // The other column is the key: the row gets another number.
      let isFixed = kind == "ALWAYS"
      let result = try bench.run(["b.csv"], more + ["k"], status: isFixed ? .usage : .done)
      #expect(!isFixed || result.errorText.contains("'id'"), "\(result.errorText)")
      #expect(
        try bench.value("SELECT id FROM t WHERE k = 1") == (isFixed ? "7" : "17"), "\(policy)")
    }
  }
}
