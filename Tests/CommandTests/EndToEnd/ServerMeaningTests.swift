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
}
