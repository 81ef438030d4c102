import Engine
import Foundation
import Testing

@testable import Command

/// `--types`, `--null`, `--date-format`, `--decimal`, `--thousands`, `--columns` and `--rename`, as scripts
/// use them.
@Suite struct ColumnOptionTests {
  private static let csv = """
    id;when;price;count;ok;note
    007;03/08/2018;1.234,5;1.234;yes;NA
    +5;04/08/2018;2,5;5;no;
    1e3;05/08/2018;-0,25;1.000.000;Yes;"NA"

    """

  private func bench(_ csv: String = csv) throws -> (Workbench, [String]) {
    let bench = try Workbench()
    try bench.write("in.csv", csv)
    return (bench, ["import", bench.path("in.csv"), "--into", bench.database, "--table", "t"])
  }

  private func types(_ report: Report) -> [String] {
    report["columns"].array.map { column in
      let spelled = column["spelled"].array.compactMap(\.text).joined(separator: "+")
      return (column["type"].text ?? "") + (spelled.isEmpty ? "" : " " + spelled)
    }
  }

  @Test("Notations that are found and those that are given read the same values")
  func whatIsTold() throws {
    let (bench, words) = try bench()
    let found = try bench.report(words)
    #expect(types(found) == ["text", "text", "double 1.234,5", "text", "bool yes/no", "text"])
    let told = try bench.report(
      words + [
        "--truncate", "--date-format", "%d/%m/%Y", "--decimal", "comma", "--thousands", "point",
        "--null", "NA", "--null", "N/A",
      ])
    #expect(
      types(told) == [
        "text", "date %d/%m/%Y", "double 1.234,5", "int 1.234", "bool yes/no", "text",
      ])
    #expect(told["columns"].array[5]["nulls"].int == 3)
    let exported = try bench.export()
    #expect(exported.contains("007,03/08/2018,\"1.234,5\",1.234,yes,\n"))
    #expect(exported.contains("+5,04/08/2018,\"2,5\",5,no,\n"))
    #expect(exported.contains("1e3,05/08/2018,\"-0,25\",1.000.000,Yes,\n"))
    let query = try bench.run(
      [
        "query", bench.database, "when >= 2018-08-04 and price < 0 and count == 1000000 and ok",
        "--format", "jsonl",
      ])
    #expect(
      query.outputText
        == #"{"id":"1e3","when":"2018-08-05","price":-0.25,"count":1000000,"ok":true,"note":null}"#
        + "\n")
    let values = try bench.run(["export", bench.database, "--values"]).outputText
    #expect(values.contains("1e3,2018-08-05,-0.25,1000000,true,\n"), "\(values)")
    try bench.run(["check", bench.database])
    let info = try bench.run(["info", bench.database]).outputText
    #expect(info.contains("spelled %d/%m/%Y"))
  }

  /// A value that its given type does not take is rejected, with its place, its text and what was
  /// expected.
  @Test func strictTypes() throws {
    let (bench, words) = try bench()
    let failed = try bench.run(words + ["--types", "count:int"], status: .dataRefused)
    #expect(failed.errorText.contains(":2:24 (byte 51): '1.234' in column 'count' is not an int"))
    #expect(failed.errorText.contains("expected a whole number like 42"))
    #expect(failed.errorText.contains("--decimal and --thousands"))
    let report = try bench.report(
      words + [
        "--types", "count:int,when:date", "--thousands", ".", "--date-format", "when:%d/%m/%Y",
        "--resume", "--truncate",
      ])
    #expect(report["imported"].int == 3)
    #expect(types(report)[1] == "date %d/%m/%Y")
    #expect(types(report)[3] == "int 1.234")
  }

  /// A format for a single column makes that column strict.
  @Test func dateFormats() throws {
    let (bench, words) = try bench(
      "a:b,day,at\n20180803,1/2/18,3.8.2018 4:05 PM\n20180804,13/2/18,3.8.2018 12:05 AM\n")
    let report = try bench.report(
      words + [
        "--date-format", "a\\:b:%Y%m%d", "--date-format", "day:%d/%m/%y", "--date-format",
        "at:%d.%m.%Y %I:%M %p",
      ])
    #expect(
      types(report) == ["date %Y%m%d", "date %d/%m/%y", "datetime %d.%m.%Y %I:%M %p"])
    let found = try bench.run([
      "query", bench.database,
      "`a:b` == 2018-08-04 and day == 2018-02-13 and at < '2018-08-03T01:00'",
      "--count",
    ])
    #expect(found.outputText == "1\n")
    for (format, problem) in [
      ("%Q", "%Q is none of its fields"), ("%d/%m", "needs one year"), ("nope:%F", "'nope'"),
      ("day:%F %H:%M:%S:%S", "stands twice"), ("%Y-%d-%m", "as another day"), ("", "not allowed"),
      ("day:", "not allowed"),
    ] {
      let text = try bench.run(words + ["--date-format", format], status: .usage).errorText
      #expect(text.contains(problem), "\(format): \(text)")
    }
  }

  @Test("Columns are chosen and renamed, also with commas and colons in names")
  func columnsAndNames() throws {
    let (bench, words) = try bench(
      "id,\"Last, first\",a:b,Rating\n1,x,2,3\n4,y,5,6\n")
    let report = try bench.report(
      words + [
        "--columns", "Rating,\"Last, first\",a:b", "--rename", "Rating:stars,\"Last, first\":name",
        "--rename", "a\\:b:c\\:d", "--types", "stars:text,c\\:d:double",
      ])
    #expect(report["columns"].array.compactMap { $0["name"].text } == ["stars", "name", "c:d"])
    #expect(types(report) == ["text", "text", "double"])
    #expect(try bench.export() == "stars,name,c:d\n3,x,2\n6,y,5\n")
    // The second import: columns in the table's order, those left out are null.
    try bench.run(words + ["--columns", "Last, first".quoted, "--rename", "\"Last, first\":name"])
    #expect(try bench.export() == "stars,name,c:d\n3,x,2\n6,y,5\n,x,\n,y,\n")
  }

  @Test(
    "Column options that do not fit the input create no database",
    arguments: [
      (
        ["--columns", "id,Ratng"], "has no column 'Ratng'; it has: id, Rating; did you mean Rating?"
      ),
      (["--columns", "id,id"], "--columns names 'id' twice"),
      (["--columns", "id", "--types", "Rating:text"], "leaves out 'Rating', which another option"),
      (["--columns", "id", "--key", "Rating"], "--columns leaves out 'Rating'"),
      (["--columns", ""], "--columns: \"\" is not allowed"),
      (["--rename", "Rting:x"], "did you mean Rating?"),
      (["--rename", "id:Rating"], "would both be called 'Rating'"),
      (["--rename", "id:a,id:b"], "--rename names 'id' twice"),
      (["--rename", "id"], "expected pairs of an old and a new name"),
      (["--rename", "id:a:b"], "expected pairs of an old and a new name"),
      (["--columns", "id", "--rename", "Rating:x"], "which --columns leaves out"),
      (["--rename", "id:x", "--types", "id:int"], "has no column 'id'"),
      (["--types", "Rating:number"], "expected infer, text, or a list of NAME:TYPE"),
      (["--types", "idd:int"], "did you mean id?"),
      (["--decimal", "comma", "--thousands", ","], "cannot be the same"),
      (["--decimal", "semicolon"], "expected point or comma"),
      (["--thousands", "x"], "expected one of"),
      (["--types", "Rating:int", "--date-format", "Rating:%F"], "is told to be an int"),
      (["--key", "id", "--date-format", "id:%F"], "compared as it is spelled"),
    ])
  func misuse(options: [String], problem: String) throws {
    let (bench, words) = try bench("id,Rating\n1,2\n")
    let text = try bench.run(words + options, status: .usage).errorText
    #expect(text.contains(problem), "\(text)")
    #expect(!bench.names().contains("t.sheaf"))
  }

  @Test("An added column may have the name of one that is not imported")
  func addedInPlaceOfAnother() throws {
    let bench = try Workbench()
    func load(_ words: String..., status: Command.ExitStatus = .done) throws {
      try bench.run(
        [
          "import", "-", "--into", bench.database, "--table", "t", "--quiet", "--truncate",
          "--set", "id=n{record}",
        ] + words, input: "id,v,w\n1,x,y\n2,z,\n", status: status)
    }
    try load("--columns", "v")
    #expect(try bench.export() == "v,id\nx,n1\nz,n2\n")
    try load("--columns", "v", "--rename", "v:id", status: .usage)
    try load("--columns", "v,id", status: .usage)
    try load("--columns", "v,id", "--rename", "id:number")
    #expect(try bench.export() == "v,id,number\nx,n1,1\nz,n2,2\n")
  }

  /// Spellings that a careless reader destroys.
  @Test func nothingIsDestroyed() throws {
    let csv = """
      zip,plus,exp,big,lead,neg,nan,null
      007,+5,1e3,12345678901234567890,.5,-0,NaN,NULL
      00123,+07,1E+3,9007199254740993,0.50,-0.0,NaN,\\N

      """
    let (bench, words) = try bench(csv)
    let report = try bench.report(words + ["--header", "yes"])
    #expect(try bench.export() == csv)
    #expect(types(report).suffix(1) == ["text"])
    let (mixed, more) = try self.bench("a,b\n1,x\nN/A,y\n")
    let noted = try mixed.report(more)
    #expect(noted["notes"].array.contains { ($0.text ?? "").contains("N/A is taken as null") })
    let (rare, others) = try self.bench("a,b\n1,x\nN.A.,y\n")
    let hinted = try rare.report(others)
    #expect(hinted["notes"].array.contains { ($0.text ?? "").contains("--null 'N.A.'") })
    #expect(try rare.export() == "a,b\n1,x\nN.A.,y\n")
  }
}

extension Report {
  /// The elements; none where there is no array.
  fileprivate var array: [Report] { (0..<max(count, 0)).map { self[$0] } }
}

extension String {
  fileprivate var quoted: String { "\"\(self)\"" }
}
