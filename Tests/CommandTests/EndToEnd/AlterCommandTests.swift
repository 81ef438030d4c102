import Base
import Engine
import Foundation
import Testing

@testable import Command

/// `sheaf alter`: types that are decided after the import, and other changes of columns.
@Suite struct AlterCommandTests {
  private func load(_ text: String, _ more: String...) throws -> Workbench {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet", "--keep-versions", "5"]
        + more, input: text)
    try bench.run(["keep", bench.database, "--versions", "5"])
    return bench
  }

  private func types(_ bench: Workbench) throws -> [String: String] {
    let columns = try bench.report(["info", bench.database])["tables"][0]["columns"]
    var types: [String: String] = [:]
    for index in 0..<columns.count {
      types[columns[index]["name"].text ?? ""] = columns[index]["type"].text
    }
    return types
  }

  private func alter(_ bench: Workbench, _ words: String...) throws -> Report {
    try bench.report(["alter", bench.database] + words)
  }

  /// Every type, from text and back: the spellings stay, queries know the type.
  @Test func types() throws {
    let text =
      "id,n,d,x,b,day,t,at,u\n"
      + "1,5,1.50,1.10,true,2026-01-02,10:11,2026-01-02T03:04:05Z,f81d4fae-7dec-11d0-a765-00a0c91e6bf6\n"
      + "2,-17,2,0.3,false,2025-12-31,23:59,2025-01-02T03:04:05Z,f81d4fae-7dec-11d0-a765-00a0c91e6bf7\n"
      + "3,,,,,,,,\n"
    let bench = try load(text, "--types", "text", "--key", "id")
    let report = try alter(
      bench, "--type", "n:int,d:double,x:decimal,b:bool", "--type",
      "day:date,t:time,at:datetime,u:uuid,id:int")
    #expect(report["changes"].count == 9 && report["misfitCount"].int == 0)
    #expect(
      try types(bench) == [
        "id": "int", "n": "int", "d": "double", "x": "decimal", "b": "bool", "day": "date",
        "t": "time", "at": "datetime", "u": "uuid",
      ])
    #expect(try bench.export() == text)
    func ids(_ filter: String) throws -> String {
      try bench.run(
        ["query", bench.database, filter, "--columns", "id", "--format", "csv", "--sort", "id"]
      ).outputText.split(separator: "\n").dropFirst().joined(separator: ",")
    }
    for (filter, expected) in [
      ("n < 0", "2"), ("n in (5, 6)", "1"), ("d == 1.5", "1"), ("x > 1", "1"), ("b", "1"),
      ("day >= 2026-01-01", "1"), ("t > '12:00'", "2"), ("at < '2026-01-01T00:00:00Z'", "2"),
      ("u is not null", "1,2"), ("id >= 2", "2,3"), ("n is null", "3"),
    ] {
      #expect(try ids(filter) == expected, "\(filter)")
    }
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
    // The next import keeps the types: a value that does not fit does not widen its column to text.
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update",
        "--quiet",
        "--schema", "freeze", "--max-rejects", "1", "--rejects", bench.path("r.csv"),
      ],
      input: text
        + "4,four,1,1,true,2026-01-01,10:00,2026-01-01T00:00:00Z,\n"
        + "5,6,1,1,true,2026-01-01,10:00,2026-01-01T00:00:00Z,\n"
    )
    #expect(try types(bench)["n"] == "int" && bench.text("r.csv").contains("4,four"))
    // A compaction changes nothing, with indexes and without; nor does the way back to text.
    _ = try alter(bench, "--index", "n,day")
    #expect(try ids("n < 0") == "2" && ids("day >= 2026-01-02") == "1")
    try bench.run(["compact", bench.database, "--quiet"])
    #expect(try ids("n < 0") == "2" && ids("day >= 2026-01-02") == "1")
    _ = try alter(bench, "--type", "n:text,day:text", "--no-index", "day")
    #expect(try ids("n == '5'") == "1" && ids("day begins with '2025'") == "2")
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
    try bench.run(["undo", bench.database])
    #expect(try types(bench)["n"] == "int")
  }

  @Test("Values that do not fit a new type are listed, and nothing is changed")
  func misfits() throws {
    let rows = (1...3000).map { "k\($0),\($0 % 1000 == 7 ? "n/a \($0)" : "\($0)"),2026-01-01\n" }
    let bench = try load("id,n,d\n" + rows.joined(), "--key", "id", "--types", "n:text")
    let file = try bench.read("t.sheaf")
    let result = try SheafProcess.run(
      ["alter", bench.database, "--type", "n:int,d:int", "--rename", "id:key", "--report", "json"])
    #expect(result.status == Command.ExitStatus.dataRefused.rawValue && result.errorText.isEmpty)
    let report = try Report(result.output)
    #expect(report["misfitCount"].int == 3003 && report["version"].isNull)
    let first = report["misfits"][0]
    #expect(first["column"].text == "n" && first["key"].text == "k7" && first["row"].int == 7)
    #expect(first["value"].text == "n/a 7" && report["misfits"].count == 1000)
    #expect(report["misfits"][3]["column"].text == "d")
    let text = try SheafProcess.run(["alter", bench.database, "--type", "n:int"])
    #expect(
      text.outputText.contains("k1007")
        && text.outputText.contains("3 values do not fit; nothing was changed"))
    #expect(try bench.read("t.sheaf") == file)
    // Values are what an import reads into a column of that type.
    let spelled = try load(
      "id,day,price\n1,24.12.2026,\"1.234,5\"\n2,01.02.2026,\"3,0\"\n", "--types", "text")
    try spelled.run([
      "alter", spelled.database, "--type", "day:date,price:double", "--decimal", "comma",
      "--thousands", "point",
    ])
    #expect(try types(spelled) == ["id": "text", "day": "date", "price": "double"])
    let found = try spelled.run(
      ["query", spelled.database, "day > 2026-03-01 and price > 1000", "--count"])
    #expect(found.outputText.contains("1"))
    // A key in another spelling would be another key.
    let keys = try load("id,v\n 1,a\n2,b\n", "--types", "text", "--key", "id")
    try keys.run(["alter", keys.database, "--dry-run", "--rename", "v:w"])
    let refused = try SheafProcess.run(["alter", keys.database, "--type", "id:int"])
    #expect(refused.status == 65 && refused.outputText.contains("1 value does not fit"))
  }

  @Test("Columns are renamed, dropped, indexed and given defaults in one run")
  func everythingElse() throws {
    let bench = try load("id,a,b,c\n1,x,5,p\n2,y,6,q\n")
    let report = try alter(
      bench, "--rename", "a:name", "--drop", "c", "--default", "b=9", "--key", "id", "--index",
      "name",
      "--type", "name:text")
    #expect(report["changes"].count == 6)
    #expect(try bench.export() == "id,name,b\n1,x,5\n2,y,6\n")
    try bench.run(
      [
        "import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update",
        "--quiet",
      ],
      input: "id,name\n2,z\n3,w\n")
    #expect(try bench.export() == "id,name,b\n1,x,5\n2,z,6\n3,w,9\n")
    let version = try bench.report(["info", bench.database])["version"].int
    let dry = try alter(bench, "--drop", "b", "--dry-run")
    #expect(dry["changes"].count == 1 && dry["dryRun"].bool == true)
    #expect(try alter(bench, "--rename", "name:name", "--key", "id")["version"].isNull)
    #expect(try bench.report(["info", bench.database])["version"].int == version)
    _ = try alter(bench, "--default", "b=", "--no-key")
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"], input: "id,name\n3,v\n")
    #expect(try bench.export().hasSuffix("3,w,9\n3,v,\n"))
    try bench.run(["alter", bench.database, "--key", "id"], status: .dataRefused)
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  @Test("A dry run only reads: it does not wait for a writer, and leaves the file as it is")
  func dryRunBesideAWriter() throws {
    let bench = try load("id,a\n1,x\n2,7\n", "--key", "id")
    let file = try bench.read("t.sheaf")
    let database = try Database.open(bench.database)
    let writer = try database.beginWrite()
    let words = ["alter", bench.database, "--dry-run", "--wait", "0", "--table", "t"]
    #expect(try SheafProcess.run(words + ["--index", "a"]).status == 0)
    let refused = try SheafProcess.run(words + ["--type", "a:int"])
    #expect(refused.status == 65 && refused.outputText.contains("x"))
    writer.rollBack()
    try database.close()
    #expect(try bench.read("t.sheaf") == file)
  }

  @Test("Wrong options of sheaf alter change nothing")
  func whatIsRefused() throws {
    let bench = try load("id,a,b\n1,x,5\n2,y,6\n", "--key", "id")
    let file = try bench.read("t.sheaf")
    for words in [
      [], ["--type", "none:int"], ["--type", "text"], ["--type", "a"], ["--rename", "a:b"],
      ["--rename", "none:c"], ["--drop", "id"], ["--drop", "none"], ["--drop", "a,b,id"],
      ["--default", "b=x"], ["--default", "none=1"], ["--default", "b"], ["--key", "none"],
      ["--index", "none"], ["--key", "a", "--no-key"], ["--table", "no", "--drop", "a"],
      ["--rename", "a:c", "--rename", "a:d"],
    ] {
      try bench.run(["alter", bench.database] + words, status: .usage)
    }
    try bench.run(["alter", bench.path("none.sheaf"), "--drop", "a"], status: .inputMissing)
    #expect(try bench.read("t.sheaf") == file)
  }

  /// All names change at once: a column may take the name that another gives up.
  @Test func namesThatChangePlaces() throws {
    let bench = try load("id,a,b,a'\n1,x,5,z\n", "--key", "id")
    let report = try alter(bench, "--rename", "a:b,b:a", "--index", "b")
    #expect(report["changes"].count == 3)
    #expect(try bench.export() == "id,b,a,a'\n1,x,5,z\n")
    _ = try alter(bench, "--rename", "b:c", "--rename", "a:b,id:a")
    #expect(try bench.export() == "a,c,b,a'\n1,x,5,z\n")
    for words in ["a:c,c:b", "a:b", "b:a'", "a:c,c:c", "none:a,a:none", "none:none"] {
      try bench.run(["alter", bench.database, "--rename", words], status: .usage)
    }
    #expect(try bench.export() == "a,c,b,a'\n1,x,5,z\n")
    #expect(try bench.report(["check", bench.database, "--deep"])["ok"].bool == true)
  }

  /// An import rejects them, too.
  @Test func emptyKeys() throws {
    let bench = try load("id,k,v\n1,a,x\n2,\"\",y\n")
    let file = try bench.read("t.sheaf")
    for key in ["k", "id,k"] {
      let refused = try bench.run(
        ["alter", bench.database, "--key", key, "--rename", "v:w"], status: .dataRefused)
      #expect(refused.errorText.contains("object 2 is empty there"))
      #expect(refused.errorText.contains("column 'k'"))
    }
    #expect(try bench.read("t.sheaf") == file)
    _ = try alter(bench, "--key", "id,v")
  }

  /// Later imports would reject each record with such a key.
  @Test(arguments: [
    ("k:decimal", "k,v\n1.50,a\n2.0,b\n", "object 1 is spelled '1.50' there, not as a decimal is"),
    (
      "k:uuid",
      "k,v\nf81d4fae-7dec-11d0-a765-00a0c91e6bf6,a\nF81D4FAE-7DEC-11D0-A765-00A0C91E6BF7,b\n",
      "object 2 is spelled 'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF7' there, not as a uuid is"
    ),
    ("k:decimal", "k,v\n\"$1,234.50\",a\n$2.50,b\n", "object 1 is spelled '$1,234.50' there"),
    ("k:double", "k,v\n1.5,a\n\" 2.5 \",b\n", "object 2 is spelled ' 2.5 ' there, with blanks"),
  ])
  func keysThatImportsReject(type: String, csv: String, why: String) throws {
    let bench = try load(csv, "--types", type)
    let file = try bench.read("t.sheaf")
    for key in ["k", "v,k"] {
      let refused = try bench.run(["alter", bench.database, "--key", key], status: .dataRefused)
      #expect(refused.errorText.contains(why), "\(refused.errorText)")
      let imported = try bench.run(
        ["import", "-", "--into", bench.database, "--table", "t", "--key", key],
        input: "k,v\n3,c\n",
        status: .usage)
      #expect(imported.errorText.contains(why), "\(imported.errorText)")
    }
    #expect(try bench.read("t.sheaf") == file)
    // As text they are keys.
    _ = try alter(bench, "--type", "k:text", "--key", "k")
    let again = try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--on-conflict", "update"],
      input: csv)
    #expect(again.outputText.contains("2 unchanged"), "\(again.outputText)")
  }

  /// The name ends at the first `=` that follows the name of a column.
  @Test func defaultsOfOddNames() throws {
    let bench = try load("id,a=b,a=c,c,c=d\n1,2,3,4,5\n", "--key", "id", "--types", "text")
    _ = try alter(
      bench, "--default", "a=b=7", "--default", "a=c==8", "--default", "c=d=9", "--rename", "id:=")
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"], input: "=\n2\n",
      status: .done)
    #expect(try bench.export() == "=,a=b,a=c,c,c=d\n1,2,3,4,5\n2,7,=8,d=9,\n")
    try bench.run(
      ["alter", bench.database, "--default", "a=b=1", "--default", "a=b=2"], status: .usage)
    let none = try bench.run(["alter", bench.database, "--default", "x=y=1"], status: .usage)
    #expect(none.errorText.contains("'x'"))
  }

  /// A default is replaced together with the type that the old one does not have.
  @Test func defaultsOfOtherTypes() throws {
    let bench = try load("id,p\n1,2\n", "--key", "id", "--types", "p:text")
    _ = try alter(bench, "--default", "p=x")
    try bench.run(["alter", bench.database, "--type", "p:int"], status: .usage)
    try bench.run(
      ["alter", bench.database, "--type", "p:int", "--default", "p=y"], status: .usage)
    let report = try alter(bench, "--type", "p:int", "--default", "p=5")
    #expect(report["changes"].count == 2)
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"], input: "id\n2\n")
    #expect(try bench.export() == "id,p\n1,2\n2,5\n" && types(bench)["p"] == "int")
  }

  /// The report says which value a spelling has in the column.
  @Test func defaultsOfNotations() throws {
    let bench = try load("id;p\n1;1.234,5\n2;2,25\n")
    let report = try alter(bench, "--default", "p=9.125", "--default", "id=7")
    let changes = (0..<report["changes"].count).compactMap { report["changes"][$0].text }
    #expect(
      changes == [
        "column 'p' has the default '9.125', which is 9125.0", "column 'id' has the default '7'",
      ])
  }

  /// A table that a program has declared cannot be changed.
  @Test func declaredTables() throws {
    let bench = try Workbench()
    let schema = Schema(
      version: 1, tables: [TableDefinition("t", columns: [Column("a", .int), Column("b", .text)])])
    var options = Database.Options()
    options.schema = schema
    let database = try Database.open(bench.database, options: options)
    try database.write { try $0.table("t").insert([.int(1), .text("x")]) }
    try database.close()
    for words in [
      ["--type", "a:text"], ["--rename", "a:c"], ["--drop", "b"], ["--key", "a"], ["--index", "a"],
    ] {
      let result = try bench.run(["alter", bench.database] + words, status: .usage)
      #expect(result.errorText.contains("a program has declared"))
    }
    try Database.open(bench.database, options: options).close()
  }

  /// The former key column may be null again, whether the table has another key now or none.
  @Test(arguments: [["--no-key"], ["--key", "id"]])
  func formerKeys(words: [String]) throws {
    let bench = try load("id,k,v\n1,a,x\n2,b,y\n", "--key", "k")
    try bench.run(["alter", bench.database] + words)
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"],
      input: "id,k,v\n3,,z\n")
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"], input: "id,v\n4,z\n")
    #expect(try bench.export() == "id,k,v\n1,a,x\n2,b,y\n3,,z\n4,,z\n")
    try bench.run(["check", bench.database, "--deep"])
  }

  @Test("Formats are for columns that get a type")
  func formatsWithoutType() throws {
    let bench = try load("id,d,e\n1,03/04/2018,5\n")
    for name in ["dd", "e"] {
      let refused = try bench.run(
        [
          "alter", bench.database, "--type", "d:date", "--date-format", "\(name):%d/%m/%Y",
        ], status: .usage)
      #expect(refused.errorText.contains("'\(name)', to which --type gives no type"))
    }
    try bench.run(
      ["alter", bench.database, "--type", "d:date", "--date-format", "d:%d/%m/%Y"])
  }

  @Test("Names that were given up are free in any order")
  func renamedInARing() throws {
    for order in ["x:b',a:b,b:c", "a:b,b:c,x:b'", "a:b,b:a"] {
      let bench = try load("a,b,x\n1,2,3\n")
      try bench.run(["alter", bench.database, "--rename", order])
      let header = try bench.export().split(separator: "\n")[0]
      #expect(header == (order == "a:b,b:a" ? "b,a,x" : "b,c,b'"))
    }
  }
}
