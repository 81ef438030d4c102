import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Undisturbed imports into a PostgreSQL server.
@Suite struct ServerImportTests {
  @Test("A table is made of the types that all inputs have, and values come by what they mean")
  func creation() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write(
      "a.csv",
      "id,price,day,at,ok,time,note\n1,1.5,\"August 3, 2018\",2018-08-03T12:00:00+02:00,true,09:05,x\n"
    )
    try bench.bench.write(
      "b.csv", "id,price,day,at,ok,time,note\n2,7,,,,,\n+3,,\"May 1, 2020\",,,,\"\"\n")
    let report = try bench.report(
      ["a.csv", "b.csv"], ["--table", "t", "--create", "--batch-size", "1"])
    #expect(report["imported"].int == 3)
    #expect(report["file"].isNull && report["objects"].isNull)
    let types = try bench.query(
      "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY "
        + "ordinal_position")
    #expect(
      types.map(\.last) == [
        "bigint", "double precision", "date", "timestamp with time zone", "boolean",
        "time without time zone",
        "text",
      ])
    #expect(
      try bench.query("SET timezone = 'UTC'; SELECT * FROM t ORDER BY id") == [
        ["1", "1.5", "2018-08-03", "2018-08-03 10:00:00+00", "t", "09:05:00", "x"],
        ["2", "7", "", "", "", "", ""], ["3", "", "2020-05-01", "", "", "", ""],
      ])
    #expect(try bench.value("SELECT count(*) FROM t WHERE note IS NULL") == "1")
  }

  @Test(
    "Every text arrives to the letter, through any number of lanes and any size of batches",
    arguments: [
      ("1", "3", 40), ("7", "4", 2000), ("1000", "2", 5000), ("10000", "4", 5000),
    ])
  func texts(_ batch: String, _ lanes: String, _ count: Int) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(count))
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    let report = try bench.report(
      ["a.csv"], ["--table", "t", "--batch-size", batch, "--connections", lanes])
    #expect(report["read"].int == count && report["imported"].int == count)
    let size = Int(batch) ?? 1
    #expect(report["batches"].int == (count + size - 1) / size)
    try bench.expectRows(count, in: "t")
    #expect(try bench.value("SELECT count(*) FROM sheaf_range") == "0")
    #expect(
      try bench.query("SELECT done, records, imported FROM sheaf_input") == [
        ["t", "\(count)", "\(count)"]
      ])
    #expect(try bench.value("SELECT count(*) FROM sheaf_lease") == "0")
  }

  @Test("What parsers refuse and what the server refuses is rejected, in the order of the input")
  func rejects() throws {
    guard let bench = try ServerBench() else { return }
    var csv = "id,qty\n"
    for id in 1...500 {
      let quantity =
        id % 100 == 7 ? "99999" : id % 100 == 9 ? "x" : id % 100 == 11 ? "-1" : "\(id)"
      csv += "\(id),\(quantity)\(id % 100 == 13 ? ",more" : "")\n"
    }
    try bench.bench.write("a.csv", csv)
    // The server names the line of 99999, which its type cannot hold, and that of the check; the
    // deferred constraint names none.
    _ = try bench.query(
      "CREATE TABLE other (id int PRIMARY KEY); INSERT INTO other SELECT * FROM generate_series(1, "
        + "480); CREATE "
        + "TABLE t (id int REFERENCES other DEFERRABLE INITIALLY DEFERRED, qty smallint CHECK (qty >= 0))"
    )
    let result = try bench.run(["a.csv"], ["--table", "t"], status: .dataRefused)
    #expect(result.errorText.contains("a.csv:10:3"), "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
    let report = try bench.report(
      ["a.csv"], ["--table", "t", "--batch-size", "130", "--max-rejects", "unlimited"])
    #expect(report["rejected"].int == 40 && report["imported"].int == 460, "\(report)")
    #expect(try bench.value("SELECT count(*) FROM t") == "460")
    let lines = try bench.bench.text("rejects.2.csv").split(separator: "\n")
    let numbers = lines.dropFirst().compactMap { Int($0.prefix { $0 != "," }) }
    let expected = (1...500).filter { $0 > 480 || [7, 9, 11, 13].contains($0 % 100) }
    #expect(numbers == expected)
    let reasons = try bench.bench.text("rejects.2.csv.reasons.jsonl")
    #expect(
      reasons.contains("[22003]") && reasons.contains("[23514]") && reasons.contains("[23503]"))
    #expect(!reasons.contains("postgresql://"))
  }

  @Test("Rows may refer to others of their batch, in any order, and to those of batches before")
  func ownReferences() throws {
    guard let bench = try ServerBench() else { return }
    // Each row refers to the next one, the last row of a batch to the last one of the batch before.
    var csv = "id,parent,n\n"
    for id in 1...801 {
      let parent =
        switch id {
        case 57: "9999"
        // It refers to a row of the next batch.
        case 601: "801"
        case 200, 801: ""
        default: id % 200 == 0 ? "\(id - 200)" : "\(id + 1)"
        }
      csv += "\(id),\(parent),\(id)\n"
    }
    try bench.bench.write("a.csv", csv)
    _ = try bench.query(
      "CREATE TABLE t (id int PRIMARY KEY, parent int REFERENCES t, n int CHECK (n <> 450))")
    let more = ["--table", "t", "--batch-size", "200", "--max-rejects", "unlimited"]
    let report = try bench.report(["a.csv"], more)
    #expect("\(report)".contains("refers to itself"), "\(report)")
    func numbers(_ file: String) throws -> [Int] {
      try bench.bench.text(file).split(separator: "\n").dropFirst().compactMap {
        Int($0.prefix { $0 != "," })
      }
    }
    // With a refused row those that refer to it are refused, and no others.
    let refused = Array(1...57) + Array(401...450)
    #expect(try numbers("rejects.csv") == refused + [601])
    #expect(
      try bench.bench.text("rejects.csv.reasons.jsonl").contains("import the rejected records once")
    )
    #expect(try bench.value("SELECT count(*) FROM t") == "\(801 - refused.count - 1)")
    // The rows that they refer to exist now.
    try bench.bench.write("b.csv", bench.bench.text("rejects.csv"))
    try bench.run(["b.csv"], more)
    #expect(try numbers("rejects.2.csv") == refused)
    #expect(try bench.value("SELECT count(*) FROM t") == "\(801 - refused.count)")
  }

  @Test("A file of nothing but rows that the server refuses is rejected, row by row")
  func allRefused() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id\n" + (1...300).map { "\($0)\n" }.joined())
    _ = try bench.query("CREATE TABLE t (id int CHECK (id < 0))")
    let result = try bench.run(["a.csv"], ["--table", "t"], status: .dataRefused)
    #expect(result.errorText.contains("23514"), "\(result.errorText)")
    #expect(try bench.value("SELECT count(*) FROM sheaf_range") == "0")
    let report = try bench.report(["a.csv"], ["--table", "t", "--max-rejects", "unlimited"])
    #expect(report["rejected"].int == 300)
    #expect(try bench.value("SELECT count(*) FROM sheaf_reject") == "300")
  }

  @Test(
    "Rows that are too long for an index, and what triggers raise by codes of their own, are refused rows"
  )
  func otherCodes() throws {
    guard let bench = try ServerBench() else { return }
    // Values that do not compress.
    var random = SplitMix64(seed: 5)
    let long = (0..<400).map { _ in String(random.next(), radix: 36) }.joined()
    try bench.bench.write("a.csv", "id,text\n1,x\n2,\(long)\n3,no\n4,z\n")
    _ = try bench.query(
      "CREATE TABLE t (id int, text text); CREATE INDEX ON t (text); CREATE FUNCTION f() RETURNS "
        + "trigger LANGUAGE "
        + "plpgsql AS 'BEGIN IF NEW.text = ''no'' THEN RAISE ''not this'' USING ERRCODE = ''45000''; "
        + "END IF; RETURN "
        + "NEW; END'; CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
    let report = try bench.report(["a.csv"], ["--table", "t", "--max-rejects", "2"])
    #expect(report["imported"].int == 2 && report["rejected"].int == 2)
    #expect(try bench.query("SELECT id FROM t ORDER BY 1") == [["1"], ["4"]])
    let reasons = try bench.value("SELECT string_agg(reason, ' ') FROM sheaf_reject")
    #expect(reasons.contains("[54000]") && reasons.contains("not this [45000]"), "\(reasons)")
  }

  @Test(
    "Columns may be called what is used beside them",
    arguments: ["error", "skip", "update", "replace"])
  func ownNames(_ policy: String) throws {
    guard let bench = try ServerBench() else { return }
    let names = ["row", "round", "place", "key1", "target", "stage", "_row", "_round", "_place"]
    let header = names.map { "sheaf_" + $0 }.joined(separator: ",")
    try bench.bench.write("a.csv", "\(header)\n1,2,3,4,5,6,7,8,9\n1,3,4,5,6,7,8,9,10\n")
    try bench.run(
      ["a.csv"],
      [
        "--table", "sheaf_stage", "--create", "--key", "sheaf_row", "--on-conflict", policy,
        "--max-rejects", "1",
      ])
    let first = policy == "error" || policy == "skip"
    let row = first ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : [1, 3, 4, 5, 6, 7, 8, 9, 10]
    #expect(try bench.query("TABLE sheaf_stage") == [row.map(String.init)])
  }

  @Test("Names with anything in them are names")
  func names() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "\"a\"\"; DROP TABLE x; --\",\"b c\",select\n1,2,3\n")
    try bench.run(["a.csv"], ["--table", "we\"ird, line 9", "--create"])
    #expect(try bench.query("SELECT * FROM \"we\"\"ird, line 9\"") == [["1", "2", "3"]])
    let long = String(repeating: "x", count: 64)
    try bench.bench.write("b.csv", "\(long),b\n1,2\n")
    let result = try bench.run(["b.csv"], ["--table", "t", "--create"], status: .usage)
    #expect(result.errorText.contains("63"))
  }

  @Test("A point may be in the name of a table, of a schema and of both")
  func points() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id\n1\n")
    _ = try bench.query("CREATE SCHEMA a; CREATE SCHEMA \"a.b\"; CREATE SCHEMA \"c.d\"")
    // The table is made in the first existing schema of the search path; an existing table comes first.
    for (name, table) in [
      ("c.d.t", "\"c.d\".t"), ("c.d.t.u", "\"c.d\".\"t.u\""), ("a.b.t", "a.\"b.t\""),
      ("a.x", "a.x"),
    ] {
      try bench.run(["a.csv"], ["--table", name, "--create"])
      try bench.run(["a.csv"], ["--table", name])
      #expect(try bench.value("SELECT count(*) FROM \(table)") == "2", "\(name)")
    }
    _ = try bench.query("DROP TABLE a.\"b.t\"; CREATE TABLE \"a.b\".t (id int)")
    try bench.run(["a.csv"], ["--table", "a.b.t", "--create"])
    #expect(try bench.value("SELECT count(*) FROM \"a.b\".t") == "1")
    _ = try bench.query("CREATE TABLE \"a.b.t\" (id int)")
    try bench.run(["a.csv"], ["--table", "a.b.t"])
    #expect(try bench.value("SELECT count(*) FROM \"a.b.t\"") == "1")
    let result = try bench.run(["a.csv"], ["--table", "none.t", "--create"], status: .usage)
    #expect(result.errorText.contains("3F000"), "\(result.errorText)")
  }

  @Test(
    "A quote, an apostrophe or a backslash with an accent behind it ends no name and no text",
    arguments: ["\"", "'", "\\", "\\'", "\"\""])
  func accents(_ mark: String) throws {
    guard let bench = try ServerBench() else { return }
    let evil = "a\(mark)\u{301}; DROP TABLE x; --"
    _ = try bench.query("CREATE TABLE x (id int)")
    func field(_ text: String) -> String {
      "\"" + text.unicodeScalars.map { $0 == "\"" ? "\"\"" : String($0) }.joined() + "\""
    }
    // The mark is in names of files, columns, keys and tables, in values, and in rejected values.
    let file = "f\(mark)\u{301}.csv"
    try bench.bench.write(
      file, "\(field(evil)),n,t\n\(field(evil)),1,\(field(evil))\nb,\(field(evil)),c\n")
    try bench.run(
      [file],
      [
        "--table", evil, "--create", "--key", evil, "--on-conflict", "update", "--types", "n:int",
        "--max-rejects", "1", "--filename=f", "--header", "yes", "--escape", "\"",
      ])
    #expect(try bench.value("SELECT count(*) FROM x") == "0")
    let rows = try bench.query("SELECT \(field(evil)), n, t, f FROM \(field(evil))")
    #expect(
      rows.map { $0.map { Array($0.utf8) } }
        == [[evil, "1", evil, bench.bench.path(file)].map { Array($0.utf8) }])
    #expect(try bench.value("SELECT value FROM sheaf_reject").utf8.elementsEqual(evil.utf8))
    #expect(try bench.value("SELECT name FROM sheaf_input").utf8.contains(0xCC))
  }

  @Test("What stands for null in a file does so for a server", arguments: [true, false])
  func missing(_ isThere: Bool) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write(
      "a.csv", "id,n,x,day,t\n1,NA,1.5,\"May 1, 2020\",NA\n2,7,-,NA,x\n3,NULL,2,\"May 3, 2020\",\n")
    if isThere {
      _ = try bench.query("CREATE TABLE t (id int, n int, x numeric, day date, t text)")
    }
    try bench.run(["a.csv"], ["--table", "t"] + (isThere ? [] : ["--create"]))
    #expect(
      try bench.query("SELECT id, n, x, day, t, t IS NULL FROM t ORDER BY id") == [
        ["1", "", "1.5", "2020-05-01", "NA", "f"], ["2", "7", "", "", "x", "f"],
        ["3", "", "2", "2020-05-03", "", "t"],
      ])
  }

  @Test("Columns beside the fields, rules, amounts and UUIDs are what they are in a file")
  func addedAndRefused() throws {
    guard let bench = try ServerBench() else { return }
    let id = "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6"
    try bench.bench.write(
      "a.csv", "id,p,u\n1,\"$1,234.50\",\(id)\n2,$5,\n3,$-1,\(id)\n4,,\(id)\n,$7,\(id)\n")
    let more = [
      "--set", "src=x{record}", "--record-number=n", "--set", "at={now}", "--check", "p >= 0",
      "--not-null", "id", "--max-rejects", "unlimited",
    ]
    let report = try bench.report(["a.csv"], ["--table", "t", "--create"] + more)
    #expect(report["imported"].int == 3 && report["rejected"].int == 2)
    #expect(
      try bench.query("SELECT id, p, u, src, n, at > now() - interval '1 day' FROM t ORDER BY id")
        == [
          ["1", "1234.5", id.lowercased(), "x1", "1", "t"], ["2", "5", "", "x2", "2", "t"],
          ["4", "", id.lowercased(), "x4", "4", "t"],
        ])
    // A table without such a column.
    _ = try bench.query("CREATE TABLE other (id int, p text, u uuid)")
    let result = try bench.run(
      ["a.csv"], ["--table", "other", "--record-number=n"], status: .usage)
    #expect(result.errorText.contains("has no column 'n'"), "\(result.errorText)")
  }

  @Test("A row that a trigger takes away without a word is not said to be imported")
  func trigger() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(10))
    _ = try bench.query(
      "CREATE TABLE t (id int, text text); CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF "
        + "NEW.id = 5 THEN RETURN NULL; END IF; RETURN NEW; END'; CREATE TRIGGER x BEFORE INSERT ON "
        + "t FOR EACH "
        + "ROW EXECUTE FUNCTION f()")
    let result = try bench.run(["a.csv"], ["--table", "t"], status: .dataRefused)
    #expect(result.errorText.contains("took 9 of 10"))
    #expect(try bench.value("SELECT count(*) FROM t") == "0")
  }

  @Test("So it is where rows wait until their keys are compared", arguments: ["INSERT", "UPDATE"])
  func triggerOfKeys(_ event: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(10))
    _ = try bench.query(
      "CREATE TABLE t (id int PRIMARY KEY, text text); INSERT INTO t VALUES (5, 'old'), (6, 'old'); CREATE "
        + "FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id IN (5, 7) THEN RETURN "
        + "NULL; END IF; "
        + "RETURN NEW; END'; CREATE TRIGGER x BEFORE \(event) ON t FOR EACH ROW EXECUTE FUNCTION f()"
    )
    let result = try bench.run(
      ["a.csv"], ["--table", "t", "--key", "id", "--on-conflict", "update"], status: .dataRefused)
    let count = event == "INSERT" ? 8 : 9
    #expect(result.errorText.contains("took \(count) of 10"), "\(result.errorText)")
    #expect(try bench.query("SELECT id, text FROM t ORDER BY 1") == [["5", "old"], ["6", "old"]])
  }

  @Test(
    "What others do to the same keys meanwhile is counted as what it is")
  func othersAtTheSameKeys() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", ServerBench.rows(300))
    // Another transaction commits its rows after the statement that meets them has begun.
    _ = try bench.query(
      "CREATE TABLE t (id int PRIMARY KEY, text text); CREATE FUNCTION f() RETURNS trigger LANGUAGE "
        + "plpgsql AS "
        + "'BEGIN IF NEW.id = 1 AND current_setting(''application_name'') <> ''psql'' THEN WHILE NOT EXISTS "
        + "(SELECT 1 FROM t WHERE id = 250) LOOP PERFORM pg_sleep(0.01); END LOOP; END IF; RETURN "
        + "NEW; END'; CREATE "
        + "TRIGGER x BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()")
    let process = try SheafProcess(
      bench.words(
        ["a.csv"], ["--table", "t", "--key", "id", "--on-conflict", "update", "--report", "json"]))
    let isWaiting =
      "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%ON "
      + "CONFLICT%' AND "
      + "application_name LIKE 'sheaf%' AND wait_event = 'PgSleep'"
    try bench.await(isWaiting) { process.isRunning }
    _ = try bench.query("INSERT INTO t VALUES (250, 'x'), (251, 'x'), (240, 'plain')")
    let report = try Report(process.finish().output)
    #expect(report["imported"].int == 297 && report["updated"].int == 2)
    #expect(report["unchanged"].int == 1)
    try bench.expectRows(300, in: "t")
  }

  @Test(
    "Keys come to what they come to in a file", arguments: ["error", "skip", "replace", "update"],
    [("id", false), ("a,id", false), ("id", true), ("a,id", true)])
  func keys(_ policy: String, _ table: (key: String, isPartitioned: Bool)) throws {
    let (key, isPartitioned) = table
    guard let bench = try ServerBench() else { return }
    var random = SplitMix64(seed: 11)
    for name in ["a.csv", "b.csv"] {
      var csv = "id,a,b\n"
      for _ in 0..<200 {
        let texts = ["x", "y", ""]
        let id = Int.random(in: 0..<120, using: &random)
        csv +=
          "\(id),\(Int.random(in: 0..<3, using: &random)),\(texts.randomElement(using: &random) ?? "")\n"
      }
      try bench.bench.write(name, csv)
    }
    // In partitions `xmax` does not tell inserted rows; some partitions have their columns in another
    // order.
    let partitioning =
      isPartitioned
      ? " PARTITION BY HASH (id); CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, "
        + "REMAINDER 0); CREATE "
        + "TABLE t1 (b text, a bigint NOT NULL, id bigint NOT NULL); ALTER TABLE t ATTACH PARTITION "
        + "t1 FOR VALUES "
        + "WITH (MODULUS 2, REMAINDER 1)" : ""
    _ = try bench.query(
      "CREATE TABLE t (id bigint, a bigint, b text, PRIMARY KEY (\(key)))\(partitioning)")
    for size in key == "id" ? ["7", "1000"] : ["50"] {
      _ = try bench.query("TRUNCATE t")
      try? FileManager.default.removeItem(atPath: bench.bench.database)
      for name in ["a.csv", "b.csv"] {
        let more = [
          "--table", "t", "--key", key, "--on-conflict", policy, "--batch-size", size,
          "--max-rejects",
          "unlimited",
        ]
        let own = try bench.report([name], more)
        let file = try bench.bench.report(
          ["import", bench.bench.path(name), "--into", bench.bench.database] + more)
        for count in ["read", "imported", "updated", "skipped", "unchanged", "rejected"] {
          #expect(own[count].int == file[count].int, "\(policy) \(key) \(size) \(name) \(count)")
        }
      }
      let rows = try bench.query("SELECT id, a, b FROM t").map { $0.joined(separator: ",") }
        .sorted()
      let file = try bench.bench.export().split(separator: "\n").dropFirst().map(String.init)
        .sorted()
      #expect(rows == file, "\(policy) \(key) \(size)")
    }
  }

  @Test("A pipe is imported, night after night, and not twice by --resume")
  func pipe() throws {
    guard let bench = try ServerBench() else { return }
    let csv = ServerBench.rows(3000)
    let words = ["import", "-", "--into", bench.address(), "--table", "t"]
    try bench.bench.run(words + ["--create"], input: csv, status: .usage)
    try bench.bench.run(words + ["--create", "--types", "id:int,text:text"], input: csv)
    let again = try bench.bench.run(
      words + ["--resume", "--types", "id:int,text:text"], input: csv)
    #expect(!again.outputText.contains("other options"), "\(again.outputText)")
    let other = try bench.bench.run(words + ["--resume", "--null", "text 5"], input: csv)
    #expect(other.outputText.contains("input was imported completely before, with other options"))
    try bench.expectRows(3000, in: "t")
    // Other bytes are another input, which --resume must not continue.
    try bench.bench.run(words + ["--resume"], input: csv + "1,x\n", status: .dataRefused)
    try bench.bench.run(words, input: csv)
    #expect(try bench.value("SELECT count(*) FROM t") == "6000")
  }

  @Test("An input that has changed is not gone on with")
  func changed() throws {
    guard let bench = try ServerBench() else { return }
    let csv = ServerBench.rows(100_000)
    try bench.bench.write("a.csv", csv)
    _ = try bench.query("CREATE TABLE t (id int, text text)")
    try bench.run(["a.csv"], ["--table", "t"])
    // The same size and the same beginning.
    try bench.bench.write("a.csv", String(csv.dropLast(3)) + "zz\n")
    try bench.run(["a.csv"], ["--table", "t", "--resume"], status: .dataRefused)
    try bench.bench.write("a.csv", csv + "1,x\n")
    try bench.run(["a.csv"], ["--table", "t", "--resume"], status: .dataRefused)
    try bench.expectRows(100_000, in: "t")
  }
}
