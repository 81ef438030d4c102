import Foundation
import TestSupport
import Testing

@testable import Command

/// Columns that are added to a server's table while it is loaded.
@Suite struct ServerColumnTests {
  @Test("Surplus fields come into columns of their own, of the types that they have")
  func extend() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id,t\n1,a\n2,b,7\n3\n4,c,8,x\n5,d,,\n")
    let more = ["--table", "t", "--ragged", "extend", "--delimiter", ",", "--header", "yes"]
    let report = try bench.report(["a.csv"], more + ["--create"])
    #expect(report["imported"].int == 5 && report["rejected"].int == 0, "\(report)")
    #expect(
      try bench.query("SELECT id, t, extra1, extra2 FROM t ORDER BY id")
        == [
          ["1", "a", "", ""], ["2", "b", "7", ""], ["3", "", "", ""], ["4", "c", "8", "x"],
          ["5", "d", "", ""],
        ])
    #expect(
      try bench.query(
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = 't' ORDER BY "
          + "ordinal_position") == [
          ["id", "bigint"], ["t", "text"], ["extra1", "bigint"], ["extra2", "text"],
        ])
    // A wider file adds a column; a value that does not fit its column is rejected.
    try bench.bench.write("b.csv", "id,t\n6,e,y\n7,f,9,z,2020-01-02\n")
    let wider = try bench.report(["b.csv"], more + ["--max-rejects", "1"])
    #expect(wider["imported"].int == 1 && wider["rejected"].int == 1, "\(wider)")
    #expect(
      try bench.query("SELECT id, extra1, extra2, extra3 FROM t WHERE id > 5")
        == [["7", "9", "z", "2020-01-02"]])
    // An input that was begun before the column was added resumes all the same.
    try bench.run(["a.csv"], more + ["--resume"])
    #expect(try bench.value("SELECT count(*) FROM t") == "6")
  }

  @Test(
    "A pipe has the columns for surplus fields that the table has, and longer records are rejected")
  func extendedPipe() throws {
    guard let bench = try ServerBench() else { return }
    _ = try bench.query("CREATE TABLE t (id int, extra1 text)")
    let result = try bench.bench.run(
      [
        "import", "-", "--into", bench.address(), "--table", "t", "--ragged", "extend",
        "--max-rejects", "1",
        "--rejects", bench.bench.path("r.csv"), "--delimiter", ",", "--header", "yes",
      ], input: "id\n1\n2,a\n3,b,c\n")
    #expect(result.status == 0, "\(result.errorText)")
    #expect(try bench.query("SELECT * FROM t ORDER BY id") == [["1", ""], ["2", "a"]])
    #expect(try bench.bench.text("r.csv").contains("3,b,c"))
    #expect(try bench.bench.text("r.csv.reasons.jsonl").contains("extra1"))
  }

  @Test("Columns that the table does not have are added with --new-columns, and without it refused")
  func newColumns() throws {
    guard let bench = try ServerBench() else { return }
    try bench.bench.write("a.csv", "id,we\"ird; x,day\n1,2.5,2020-01-02\n")
    try bench.bench.write("b.csv", "id,n\n2,7\n")
    _ = try bench.query("CREATE TABLE t (id int)")
    let result = try bench.run(["a.csv"], ["--table", "t"], status: .usage)
    #expect(result.errorText.contains("--new-columns"), "\(result.errorText)")
    let dry = try bench.report(["a.csv", "b.csv"], ["--table", "t", "--new-columns", "--dry-run"])
    #expect(dry["imported"].int == 2)
    #expect(try bench.query("SELECT * FROM t") == [])
    for _ in 0..<2 {
      try bench.run(["a.csv", "b.csv"], ["--table", "t", "--new-columns", "--resume"])
    }
    #expect(
      try bench.query("SELECT id, \"we\"\"ird; x\" + 1, day + 1, n + 1 FROM t ORDER BY id") == [
        ["1", "3.5", "2020-01-03", ""], ["2", "", "", "8"],
      ])
    // An input that can be read only once needs its types given.
    let pipe = ["import", "-", "--into", bench.address(), "--table", "t", "--new-columns"]
    try bench.bench.run(pipe, input: "id,other\n1,2\n", status: .usage)
    try bench.bench.run(pipe + ["--types", "id:int,other:int"], input: "id,other\n1,2\n")
    #expect(try bench.value("SELECT sum(other) FROM t") == "2")
    let long = String(repeating: "x", count: 64)
    try bench.bench.write("c.csv", "id,\(long)\n1,2\n")
    try bench.run(["c.csv"], ["--table", "t", "--new-columns"], status: .usage)
  }

  @Test("A header that nothing but its words shows is doubted until the table has its names")
  func doubtedHeader() throws {
    guard let bench = try ServerBench() else { return }
    func isDoubted(_ csv: String, _ words: String...) throws -> Bool {
      try bench.bench.write("a.csv", csv)
      let notes = try bench.report(["a.csv"], ["--table", "t"] + words)["notes"]
      return (0..<notes.count).contains { notes[$0].text?.contains("--header no") == true }
    }
    let fruit = "apple,red\npear,green\nplum,blue\ncherry,pink\n"
    #expect(try isDoubted(fruit, "--create", "--dry-run"))
    #expect(try isDoubted(fruit, "--create"))
    #expect(try !isDoubted("apple,red\nfig,violet\nlime,yellow\nmelon,orange\n", "--create"))
    #expect(try !isDoubted("apple,red\nfig,violet\nlime,gold\nmelon,orange\n", "--dry-run"))
    let other = "apple,blue\nkiwi,brown\nsloe,black\nquince,gold\n"
    #expect(try isDoubted(other, "--new-columns", "--dry-run"))
    #expect(try isDoubted(other, "--new-columns"))
  }
}
