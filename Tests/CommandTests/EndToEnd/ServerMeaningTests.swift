import TestSupport
import Testing

@testable import Command

/// Values are stored in a server's columns by their meaning.
@Suite struct ServerMeaningTests {
  @Test("A domain is loaded as the type that it is made of, through any number of domains")
  func domains() throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query(
      "CREATE DOMAIN price AS numeric(10,2) CHECK (VALUE >= 0); CREATE DOMAIN net AS price; CREATE "
        + "DOMAIN day AS "
        + "date; CREATE DOMAIN flag AS boolean; CREATE DOMAIN word AS text; CREATE DOMAIN list AS "
        + "int[]; CREATE "
        + "TABLE t (p net, d day, f flag, w word, l list)")
    try bench.bench.write(
      "a.csv",
      "p,d,f,w,l\n\"$1,234.50\",\"August 3, 2018\",yes,\" x \",{1}\n\"$2,000.00\",\"May 1, 2020\",no,yes,{}\n"
        + "$-1.00,\"May 2, 2020\",no,1.0,{}\n")
    let report = try bench.report(["a.csv"], ["--table", "t", "--max-rejects", "1"])
    #expect(report["imported"].int == 2, "\(report)")
    #expect(
      try bench.query("SELECT * FROM t ORDER BY d") == [
        ["1234.50", "2018-08-03", "t", " x ", "{1}"], ["2000.00", "2020-05-01", "f", "yes", "{}"],
      ])
    #expect(try bench.bench.text("rejects.csv.reasons.jsonl").contains("[23514]"))
  }

  /// Numbers in the notations of several countries, and their sum.
  private static let numbers = [
    ("p;x\n1,5;a\n2,25;b\n-3,5;\n", "0.25"), ("p;x\n1.234,5;a\n7;b\n", "1241.5"),
    ("p,x\n\"1,234.50\",a\n2000,b\n\"3,000\",c\n", "6234.50"), ("p;x\n1,5;a\nNA;b\n2,5;c\n", "4.0"),
  ]

  @Test(
    "Numbers with decimal commas, or with commas between thousands, are read as in an import into a file",
    arguments: numbers, ["--create", "double precision", "numeric", "price"])
  func separators(_ input: (csv: String, sum: String), _ type: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", input.csv)
    let creates = type == "--create"
    if !creates {
      _ = try bench.query("CREATE DOMAIN price AS numeric; CREATE TABLE t (p \(type), x text)")
    }
    // `--check` compares numbers, too; a null satisfies no condition.
    let check = input.csv.contains("NA") ? [] : ["--check", "p > -4"]
    let more = ["--table", "t"] + check
    let report = try bench.report(["a.csv"], more + (creates ? ["--create"] : []))
    #expect(report["rejected"].int == 0, "\(report)")
    #expect(try bench.value("SELECT sum(p::numeric) = \(input.sum) FROM t") == "t")
    // A later run reads the values in the same way.
    try bench.run(["a.csv"], more + ["--resume"])
  }

  @Test("Numbers are found beside a word for which a file's column would be text")
  func besideWords() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "p;x\n1,234.5;a\nNone;b\n2,000.5;c\n")
    _ = try bench.query("CREATE TABLE t (p double precision, x text)")
    let report = try bench.report(["a.csv"], ["--table", "t", "--max-rejects", "1"])
    #expect(report["rejected"].int == 1, "\(report)")
    #expect(try bench.value("SELECT sum(p) FROM t") == "3235")
  }

  @Test(
    "Numbers that may mean two things are refused, and so are those of a type that the user gave",
    arguments: [
      ("p;x\n1,234;a\n", []), ("p;x\n1,5;a\n", ["--types", "p:double"]),
      ("p;x\n1,5;a\n", ["--decimal", "point"]),
      // Lists, in a file whose delimiter is the comma.
      ("p,x\n\"1,5\",a\n", []),
    ])
  func unclear(_ csv: String, _ more: [String]) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", csv)
    _ = try bench.query("CREATE TABLE t (p double precision, x text)")
    let result = try bench.run(["a.csv"], ["--table", "t"] + more, status: .dataRefused)
    #expect(result.errorText.contains("--decimal"), "\(result.errorText)")
  }

  private static let doubt = "'1.234' may be 1234 where other"

  private static func notes(_ report: Report) -> String {
    (0..<report["notes"].count).compactMap { report["notes"][$0].text }.joined(separator: "\n")
  }

  @Test(
    "A point before three digits is no number where other columns, or other inputs, have decimal commas",
    arguments: [
      ["id;p;r\n1;1.234;1,5\n2;5.678;2,75\n"],
      ["id;p\n1;1,5\n2;2,75\n", "id;p\n5;1.234\n6;2.750\n"],
      ["id;p\n5;1.234\n6;2.750\n", "id;p\n1;1,5\n2;2,75\n"],
    ])
  func pointsBesideCommas(_ inputs: [String]) throws {
    guard let bench = try ServerBench() else { return }
    var names: [String] = []
    for (number, csv) in inputs.enumerated() {
      names.append("\(number).csv")
      try bench.bench.write("\(number).csv", csv)
    }
    let report = try bench.report(names, ["--table", "t", "--create"])
    #expect(Self.notes(report).contains(Self.doubt), "\(report)")
    #expect(report["rejected"].int == 0)
    #expect(try bench.value("SELECT pg_typeof(p) FROM t LIMIT 1") == "text")
    #expect(try bench.value("SELECT count(*) FROM t WHERE p LIKE '1.234'") == "1")
  }

  @Test(
    "Such a point is rejected in a column of numbers that is there, unless the user says what it is",
    arguments: ["double precision", "numeric", "int"])
  func pointsInColumns(_ type: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id;p;r\n1;1.234;1,5\n2;5.678;2,75\n3;7;1,25\n")
    _ = try bench.query("CREATE TABLE t (id int, p \(type), r double precision)")
    let more = ["--table", "t", "--max-rejects", "2"]
    let report = try bench.report(["a.csv"], more)
    #expect(try bench.query("SELECT * FROM t") == [["3", "7", "1.25"]])
    #expect(type == "int" || Self.notes(report).contains(Self.doubt), "\(report)")
    #expect(try bench.bench.text("rejects.csv.reasons.jsonl").contains("--decimal"))
    if type == "int" { return }
    _ = try bench.query("TRUNCATE t")
    try bench.run(["a.csv"], more + ["--types", "p:double"])
    #expect(try bench.value("SELECT sum(p)::numeric FROM t") == "13.912")
    _ = try bench.query("TRUNCATE t")
    try bench.run(["a.csv"], more + ["--decimal", "comma", "--thousands", "."])
    #expect(try bench.value("SELECT sum(p) FROM t") == "6919")
  }

  @Test(
    "So is one behind the first records, which are whole numbers there",
    arguments: ["double precision", "numeric"])
  func laterPoints(_ type: String) throws {
    guard let bench = try ServerBench() else { return }
    let rows = (1...3_000).map { "\($0);\($0);\($0 == 7 ? "NA" : "8");1,5" }
    let later = ["3001;1.234;9;1,5", "3002;2,5;9;1,5", "3003;4;9.875;1,5"]
    try bench.bench.write("a.csv", (["id;p;q;r"] + rows + later + [""]).joined(separator: "\n"))
    _ = try bench.query("CREATE TABLE t (id int, p \(type), q \(type), r double precision)")
    let report = try bench.report(["a.csv"], ["--table", "t", "--max-rejects", "2"])
    #expect(report["rejected"].int == 2, "\(report)")
    #expect(try bench.bench.text("rejects.csv.reasons.jsonl").contains("--decimal"))
    #expect(try bench.query("SELECT id, p, q FROM t WHERE id > 3000") == [["3002", "2.5", "9"]])
    #expect(try bench.value("SELECT count(*) FROM t WHERE q IS NULL") == "1")
  }

  @Test("Points that other points explain are decimal points")
  func clearPoints() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id;p\n1;1,5\n2;2,75\n")
    try bench.bench.write("b.csv", "id;p\n5;1.234\n6;2.75\n")
    try bench.bench.write("c.csv", "id;p;q\n7;3.125;0.5\n")
    _ = try bench.report(["a.csv", "b.csv", "c.csv"], ["--table", "t", "--create"])
    #expect(try bench.value("SELECT sum(p) FROM t") == "11.359")
  }

  @Test(
    "Values of a table that is made are read by what its types were found with",
    arguments: [
      ("id,d\n1,25.08.18\n2,26.09.18\n3,03.08.18\n", "2018-08-25 2018-09-26 2018-08-03"),
      ("id,d\n1,8/25/18\n2,9/26/18\n3,8/3/18\n", "2018-08-25 2018-09-26 2018-08-03"),
      (
        "id,d\n1,8/25/18 3:45 PM\n2,9/26/18 4:00 AM\n",
        "2018-08-25 15:45:00+00 2018-09-26 04:00:00+00"
      ),
      ("id;d;r\n1;1,234;1.5\n2;5,678;2.75\n", "1234 5678"),
      ("id;d;r\n1;1,234;1,5\n2;5,678;2,75\n", "1.234 5.678"),
    ])
  func created(_ csv: String, _ values: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", csv)
    let more = ["--table", "t", "--create"]
    #expect(try bench.report(["a.csv"], more + ["--dry-run"])["rejected"].int == 0)
    #expect(try bench.report(["a.csv"], more)["rejected"].int == 0)
    let zone = "SET timezone = 'UTC'; "
    let all = "SELECT string_agg(d::text, ' ' ORDER BY id) FROM t"
    #expect(try bench.value(zone + all) == values)
    // Into the table that is there now, and into columns of wider types.
    #expect(try bench.report(["a.csv"], more)["rejected"].int == 0)
    let wider = values.contains("-") ? "timestamp with time zone" : "double precision"
    _ = try bench.query("TRUNCATE t; ALTER TABLE t ALTER d TYPE \(wider)")
    #expect(try bench.report(["a.csv"], more)["rejected"].int == 0)
  }

  @Test("Dates whose day only later values show are text, and nothing is rejected")
  func lateDates() throws {
    guard let bench = try ServerBench() else { return }
    let lines = (1...1500).map { "\($0),\($0 < 1400 ? "03/08/2018" : "25/08/2018")\n" }
    try bench.bench.write("a.csv", "id,d\n" + lines.joined())
    let report = try bench.report(["a.csv"], ["--table", "t", "--create"])
    #expect(report["imported"].int == 1500, "\(report)")
    #expect(try bench.value("SELECT d FROM t WHERE id = 1500") == "25/08/2018")
  }

  @Test(
    "Words that are taken as null are noted",
    arguments: ["--create", "int", "double precision", "numeric"])
  func nullWords(_ type: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id;p\n1;NA\n2;5\n3;NULL\n4;-\n")
    if type != "--create" { _ = try bench.query("CREATE TABLE t (id int, p \(type))") }
    let report = try bench.report(["a.csv"], ["--table", "t", "--create"])
    #expect(Self.notes(report).contains("-, NA, NULL is taken as null"), "\(report)")
    #expect(try bench.value("SELECT count(*) FROM t WHERE p IS NULL") == "3")
    // In a column of texts they stay.
    _ = try bench.query("CREATE TABLE u (id int, p text)")
    let other = try bench.report(["a.csv"], ["--table", "u"])
    #expect(Self.notes(other) == "")
    #expect(try bench.value("SELECT count(*) FROM u WHERE p IS NULL") == "0")
  }

  @Test("A word is null beside whole numbers with commas, in a column of doubles")
  func nullWordsAmongThousands() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id;p\n1;NA\n2;1,234,567\n")
    _ = try bench.query("CREATE TABLE t (id int, p double precision)")
    #expect(try bench.report(["a.csv"], ["--table", "t"])["rejected"].int == 0)
    #expect(try bench.query("SELECT p FROM t ORDER BY id") == [[""], ["1234567"]])
  }

  @Test(
    "A note says why a column is text that is made, and none does for one that is there",
    arguments: ["1,234", "1,789 €", "03/08/2018", "03/08/18", "None\n2;5"])
  func reasons(_ value: String) throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id;p\n1;\(value)\n")
    let more = ["--table", "t", "--create"]
    #expect(Self.notes(try bench.report(["a.csv"], more + ["--dry-run"])).contains("text"))
    #expect(Self.notes(try bench.report(["a.csv"], more)).contains("text"))
    #expect(!Self.notes(try bench.report(["a.csv"], more)).contains("text"))
  }

  @Test("A note says which inputs or values make a column text")
  func mixtures() throws {
    guard let bench = try ServerBench() else { return }
    let lines = (1...1200).map { "\($0);\($0 == 1150 ? "x" : "7")\n" }
    try bench.bench.write("a.csv", "id;p\n" + lines.joined())
    try bench.bench.write("b.csv", "id;p\n1;7\n")
    try bench.bench.write("c.csv", "id;p\n1;1,5\n2;2,5\n")
    let late = try bench.report(["a.csv"], ["--table", "t", "--create"])
    #expect(Self.notes(late).contains("because of a value at line 1151"), "\(late)")
    let mixed = try bench.report(["b.csv", "c.csv"], ["--table", "u", "--create"])
    #expect(Self.notes(mixed).contains("double (1,5), and int in the inputs before"), "\(mixed)")
  }
}
