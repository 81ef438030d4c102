import Base
import Foundation
import TestSupport
import Testing

@testable import Command

/// Queries of a server as inputs.
@Suite struct ServerQueryTests {
  /// A bench with a server, and the URLs of its queries.
  private struct Queries {
    let server: ServerBench
    var bench: Workbench { server.bench }

    init?() throws {
      guard let server = try ServerBench() else { return nil }
      self.server = server
    }

    func url(_ query: String, port: UInt16? = nil) -> String {
      server.server.address(password: "SECRET", database: server.database, port: port) + "?query="
        + query.replacing("%", with: "%25").replacing("&", with: "%26")
    }

    @discardableResult
    func run(
      _ query: String, _ more: [String] = [], status: Command.ExitStatus = .done,
      sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> SheafProcess.Result {
      let result = try bench.run(
        ["import", url(query), "--into", bench.database] + more, status: status,
        sourceLocation: sourceLocation)
      #expect(!result.outputText.contains("SECRET"), sourceLocation: sourceLocation)
      #expect(!result.errorText.contains("SECRET"), sourceLocation: sourceLocation)
      return result
    }

    /// What an export has after an import of a query.
    func export(_ query: String, _ more: [String] = []) throws -> String {
      try? FileManager.default.removeItem(atPath: bench.database)
      try run(query, more)
      return try bench.export()
    }

    func types() throws -> [String] {
      let info = try bench.run(["info", bench.database, "--report", "json"])
      let columns = try Report(info.output)["tables"][0]["columns"]
      return (0..<columns.count).map { columns[$0]["type"].text ?? "?" }
    }
  }

  @Test("Columns have the server's names and types, and values what they mean there")
  func types() throws {
    guard let queries = try Queries() else { return }
    let csv = try queries.export(
      "SELECT 7::smallint AS s, 9223372036854775807 AS b, 1.50::numeric(9,2) AS n, 3::numeric AS w, "
        + "0.1::float8 AS d, true AS o, DATE '2018-08-03' AS day, TIMESTAMPTZ '2018-08-03 12:00:00.5+02' AS "
        + "at, TIMESTAMP '2018-08-03 12:00:00' AS local, TIME '09:05' AS time, "
        + "'F81D4FAE-7DEC-11D0-A765-00A0C91E6BF6'::uuid AS u, '007' AS t, ARRAY[1,2] AS a, '{\"x\":1}'::json "
        + "AS j, 'NaN'::float8 AS nan")
    #expect(
      try queries.types() == [
        "int", "int", "decimal", "decimal", "double", "bool", "date", "datetime", "datetime",
        "time",
        "uuid", "text", "text", "text", "double",
      ])
    #expect(
      csv
        == "s,b,n,w,d,o,day,at,local,time,u,t,a,j,nan\n7,9223372036854775807,1.50,3,0.1,true,2018-08-03,"
        + "2018-08-03T10:00:00.500000Z,2018-08-03 12:00:00,09:05:00,f81d4fae-7dec-11d0-a765-00a0c91e6bf6,"
        + "007,\"{1,2}\",\"{\"\"x\"\":1}\",NaN\n")
    let values = try queries.bench.export("--values")
    #expect(values.contains(",true,2018-08-03,2018-08-03T10:00:00.500000Z,2018-08-03T12:00:00Z,"))
  }

  @Test("Infinities come home as those of a CSV do, and names and texts that say so stay")
  func infinities() throws {
    guard let queries = try Queries() else { return }
    let csv = try queries.export(
      "SELECT 'Infinity'::float8 AS \"Infinity\", '-Infinity'::float4 AS f, 'Infinity' AS t UNION "
        + "ALL SELECT 1.5, "
        + "'NaN', 'x,\"Infinity'")
    #expect(try queries.types() == ["double", "double", "text"])
    #expect(csv == "Infinity,f,t\ninf,-inf,Infinity\n1.5,NaN,\"x,\"\"Infinity\"\n")
    // The way back, and into another server's table.
    let address = queries.server.address()
    _ = try queries.server.query("CREATE TABLE t (\"Infinity\" float8, f float8, t text)")
    try queries.bench.run(["export", queries.bench.database, "--into", address, "--as", "t"])
    try queries.bench.run(["import", queries.url("TABLE t"), "--into", address, "--table", "t"])
    #expect(
      try queries.server.query("SELECT *, count(*) FROM t GROUP BY 1, 2, 3 ORDER BY 3")
        == [
          ["Infinity", "-Infinity", "Infinity", "2"], ["1.5", "NaN", "x,\"Infinity", "2"],
        ])
  }

  @Test(
    "A table's own spelling changes no value of a query",
    arguments: [
      ("1.234,5\n7", "9.125::float8", "9.125"), ("1.234,5\n7", "12.5::numeric", "12.5"),
      ("1.234,5\n7", "-0.001::float8", "-0.001"), ("1.234,5\n7", "1e30::float8", "1e+30"),
      ("1.234,5\n7", "1234::int", "1234.0"), ("1.234,5\n7", "'Infinity'::float8", "inf"),
      ("\"1.234,56 €\"\n\"2,50 €\"", "1.234::numeric", "1.234"),
      ("\"1.234,56 €\"\n\"2,50 €\"", "1.234::float8", "1.234"),
      ("2%\n3%", "0.125::numeric", "0.125"), ("$5.00\n\"$1,234.50\"", "7.125::numeric", "7.125"),
      ("1,5\n2,25", "7.125::float8", "7.125"), ("yes\nno", "true", "true"),
      ("yes\nno", "false", "false"),
      ("August 3, 2018\nMay 4, 2019", "DATE '2020-01-02'", "2020-01-02"),
      (
        "August 3, 2018 3:45 PM\nMay 4, 2019 9:05 AM", "TIMESTAMPTZ '2020-01-02 10:00+00'",
        "2020-01-02T10:00:00Z"
      ),
      (
        "2020-01-02 10:00:00+00\n2020-01-03 10:00:00+00", "TIMESTAMPTZ '2020-01-02 10:00:00.25+00'",
        "2020-01-02T10:00:00.250000Z"
      ),
    ])
  func otherSpellings(values: String, value: String, expected: String) throws {
    guard let queries = try Queries() else { return }
    let lines = values.split(separator: "\n").enumerated().map { "\($0);\($1)\n" }
    try queries.bench.write("a.csv", "id;x\n" + lines.joined())
    let table = ["--table", "t"]
    try queries.bench.run(
      ["import", queries.bench.path("a.csv"), "--into", queries.bench.database] + table)
    let types = try queries.types()
    try queries.run("SELECT 9 AS id, \(value) AS x", table)
    #expect(try queries.types() == types)
    let last = try queries.bench.export("--values").split(separator: "\n").last
    #expect(last == "9,\(expected)")
    try queries.bench.run(["check", queries.bench.database, "--deep"])
  }

  @Test("A word for null is that of the query, and not of its spelling in the table")
  func nulls() throws {
    guard let queries = try Queries() else { return }
    try queries.bench.write("a.csv", "id;x\n1;1.234,5\n2;2,5\n")
    try queries.bench.run([
      "import", queries.bench.path("a.csv"), "--into", queries.bench.database, "--table", "t",
    ])
    try queries.run(
      "SELECT 3 AS id, -999.5::float8 AS x UNION ALL SELECT 4, 9.125",
      ["--table", "t", "--null", "-999.5"])
    #expect(try queries.bench.export().hasSuffix("\n3,\n4,\"9,125\"\n"))
    try queries.run(
      "SELECT true AS b, TIMESTAMPTZ '1970-01-01 00:00+00' AS v",
      ["--table", "u", "--null", "t", "--null", "1970-01-01 00:00:00+00", "--set", "c=x"])
    let rows = try queries.bench.run(["export", queries.bench.database, "--table", "u"])
    #expect(rows.outputText == "b,v,c\n,,x\n")
  }

  @Test("Whole numbers with points between thousands take no query's numbers with decimal points")
  func wholeNumbers() throws {
    guard let queries = try Queries() else { return }
    try queries.bench.write("a.csv", "id;x\n1;1.234\n2;5.678.901\n")
    try queries.bench.run([
      "import", queries.bench.path("a.csv"), "--into", queries.bench.database, "--table", "t",
      "--decimal", "comma", "--thousands", ".",
    ])
    #expect(try queries.types() == ["int", "int"])
    let result = try queries.run(
      "SELECT 9 AS id, 9.125::float8 AS x", ["--table", "t"], status: .usage)
    #expect(result.errorText.contains("bigint"), "\(result.errorText)")
    try queries.run("SELECT 9 AS id, 9125::bigint AS x", ["--table", "t"])
    #expect(try queries.bench.export("--values").hasSuffix("\n9,9125\n"))
  }

  @Test("Moments with and without fractions are values on any night; bools and decimals also keys")
  func moments() throws {
    guard let queries = try Queries() else { return }
    func night(_ first: Int, _ fraction: String, _ more: [String] = []) throws -> String {
      try queries.run(
        "SELECT a, a % 2 = 0 AS b, 1.50 AS n, TIMESTAMPTZ '2020-01-01 12:00+00' + CASE WHEN a > 1400 THEN "
          + "\(fraction) ELSE 0 END * INTERVAL '1 second' AS v, a % 3 = 0 AS w FROM "
          + "generate_series(\(first), 1500) AS x (a)",
        ["--key", "a,b,n", "--on-conflict", "update"] + more
      ).outputText
    }
    _ = try night(2, "0.5")
    // Types that may be widened have the same spellings.
    for schema in ["add", "evolve", "freeze"] {
      #expect(try night(2, "0.5", ["--schema", schema]).contains("1,499 unchanged"), "\(schema)")
    }
    #expect(try night(1, "0.25", ["--schema", "evolve"]).contains("100 updated"))
    #expect(try queries.types() == ["int", "bool", "decimal", "datetime", "bool"])
    let lines = try queries.bench.export().split(separator: "\n")
    #expect(lines.count == 1501)
    #expect(lines[1] == "2,true,1.5,2020-01-01T12:00:00Z,false")
    #expect(lines[1499] == "1500,true,1.5,2020-01-01T12:00:00.250000Z,true")
    // A moment has several spellings, and would be several keys.
    let key = try queries.run(
      "SELECT TIMESTAMPTZ '2020-01-01 12:00+00' AS k", ["--table", "k", "--key", "k"],
      status: .dataRefused)
    #expect(key.errorText.contains("2020-01-01 12:00:00+00"))
    // From one server into another.
    _ = try queries.server.query("CREATE TABLE t (a int, v timestamptz, b bool)")
    try queries.bench.run([
      "import",
      queries.url(
        "SELECT a, TIMESTAMPTZ '2020-01-01 12:00+00' + CASE WHEN a > 1400 THEN 0.5 ELSE 0 END * INTERVAL "
          + "'1 second' AS v, a > 7 AS b FROM generate_series(1, 1500) AS x (a)"), "--into",
      queries.server.address(), "--table", "t",
    ])
    #expect(
      try queries.server.query(
        "SELECT count(*), count(DISTINCT v), sum(b::int) FROM t") == [["1500", "2", "1493"]])
  }

  @Test("Values are spelled the same way, whatever the settings of the role are")
  func settings() throws {
    guard let queries = try Queries() else { return }
    let database = queries.server.database
    _ = try queries.server.query(
      "ALTER DATABASE \(database) SET IntervalStyle = 'sql_standard'; ALTER DATABASE \(database) SET "
        + "bytea_output "
        + "= 'escape'; ALTER DATABASE \(database) SET DateStyle = 'German'; ALTER DATABASE \(database) SET "
        + "extra_float_digits = -15; ALTER DATABASE \(database) SET client_encoding = 'LATIN1'; "
        + "ALTER DATABASE "
        + "\(database) SET standard_conforming_strings = off")
    #expect(
      try queries.export(
        "SELECT INTERVAL '-1 day' AS i, 'é'::bytea AS b, DATE '2018-08-03' AS d, 0.1::float8 + 0.2 "
          + "AS f, 'é' AS t "
          + "FROM pg_sleep(0.01)")
        == "i,b,d,f,t\n-1 days,\\xc3a9,2018-08-03,0.30000000000000004,é\n")
    // The server gets the same style: in another, `-1 day 02:00` would be less than a day.
    try queries.bench.write("a.csv", "i,t\n-1 day 02:00,back\\slash\n")
    _ = try queries.server.query("CREATE TABLE t (i interval, t text)")
    try queries.bench.run(
      ["import", queries.bench.path("a.csv"), "--into", queries.server.address(), "--table", "t"])
    #expect(
      try queries.server.query("SELECT extract(epoch FROM i)::int, t FROM t")
        == [["-79200", "back\\slash"]])
  }

  @Test("Types are the server's also where no row, or only nulls, tell them")
  func empty() throws {
    guard let queries = try Queries() else { return }
    let csv = try queries.export("SELECT 1 AS a, 'x' AS b, now() AS c WHERE false")
    #expect(csv == "a,b,c\n")
    #expect(try queries.types() == ["int", "text", "datetime"])
    #expect(try queries.export("SELECT NULL::numeric AS a, 1 AS b") == "a,b\n,1\n")
    #expect(try queries.types() == ["decimal", "int"])
    // A type that the user gives counts more.
    #expect(try queries.export("SELECT 1 AS a, 2 AS b", ["--types", "b:text"]) == "a,b\n1,2\n")
    #expect(try queries.types() == ["int", "text"])
    #expect(try queries.export("SELECT 1 AS a, 2 AS b", ["--types", "text"]) == "a,b\n1,2\n")
    #expect(try queries.types() == ["text", "text"])
    #expect(
      try queries.export("SELECT 1 AS a, 2 AS b", ["--columns", "b", "--rename", "b:c"]) == "c\n2\n"
    )
    #expect(try queries.types() == ["int"])
  }

  @Test(
    "Every text comes home to the letter, whatever it looks like",
    arguments: [
      [
        "a,b", "x;y", "\ttab", " blanks ", "two\nlines", "cr\rcr\n", "quote\"", "\"quoted\"", "'",
        "\\",
      ],
      ["\\.", "\\N", "NULL", "NA", "-", "", "#comment", "sep=;", "007", "1,234"],
      ["e\u{301}", "[1]", "{\"a\": 1}", "<html>", "--", "%", "a\u{1}b", "😀"],
      ["", "", ""], ["t", "t", "t"], ["a\n\nb", "\n", "\r"],
    ])
  func texts(_ texts: [String]) throws {
    guard let queries = try Queries() else { return }
    let values = texts.map { text in
      "(E'"
        + text.unicodeScalars.map {
          switch $0 {
          case "'": "''"
          case "\\": "\\\\"
          case "\n": "\\n"
          case "\r": "\\r"
          default: String($0)
          }
        }.joined() + "')"
    }
    // As the only column, where an empty line is a null, and beside others.
    for list in ["t", "t, 1 AS n", "1 AS n, t"] {
      let query =
        "SELECT \(list) FROM (VALUES \(values.joined(separator: ", ")), (NULL)) AS x (t)"
      _ = try queries.export(query)
      let rows = try queries.bench.run(
        ["export", queries.bench.database, "--format", "jsonl", "--columns", "t"])
      let found = try rows.outputText.split(separator: "\n").map { line in
        try #require(
          try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])["t"]
          as? String
      }
      #expect(
        found.map { $0.map { Array($0.utf8) } } == texts.map { Array($0.utf8) } + [nil], "\(list)")
    }
  }

  @Test("A row that says what the header says is a row, and names are taken as they are")
  func names() throws {
    guard let queries = try Queries() else { return }
    #expect(
      try queries.export("SELECT 'a' AS a, 'b' AS b UNION ALL SELECT 'a', 'b'")
        == "a,b\na,b\na,b\n")
    // A byte-order mark is one at the beginning of a file only.
    #expect(
      try queries.export("SELECT E'\\ufeffa' AS t, 1 AS n")
        .utf8.elementsEqual("t,n\n\u{FEFF}a,1\n".utf8))
    #expect(
      try queries.export("SELECT 1 AS \"x,\"\"y\", 2 AS \"two\nlines\", 3 AS a, 4 AS a")
        == "\"x,\"\"y\",\"two\nlines\",a,a_2\n1,2,3,4\n")
    // Blanks belong to names: these are three columns.
    #expect(
      try queries.export("SELECT 1 AS \" a\", 2 AS a, 3 AS \" \"") == " a,a, \n1,2,3\n")
  }

  @Test("What goes out comes back")
  func home() throws {
    guard let queries = try Queries() else { return }
    try queries.bench.write("a.csv", ServerBench.rows(5000))
    try queries.bench.run(["import", queries.bench.path("a.csv"), "--into", queries.bench.database])
    let csv = try queries.bench.export()
    try queries.server.run(["a.csv"], ["--table", "t", "--create"])
    #expect(try queries.export("SELECT * FROM t ORDER BY id -- all of it") == csv)
    // A second run adds the same rows; --truncate replaces them; with a key they meet their objects.
    try queries.run("TABLE t")
    #expect(try queries.bench.export().split(separator: "\n").count > 10_000)
    try queries.run("SELECT * FROM t ORDER BY id;", ["--truncate"])
    #expect(try queries.bench.export() == csv)
    try queries.run("SELECT * FROM t WHERE id % 2 = 0", ["--key", "id", "--on-conflict", "update"])
    #expect(try queries.bench.export() == csv)
    // From one server into another.
    let address = queries.server.address()
    try queries.bench.run(
      [
        "import", queries.url("SELECT id, text FROM t"), "--into", address, "--table", "u",
        "--create",
      ])
    try queries.server.expectRows(5000, in: "u")
  }

  @Test("The password is nowhere, and the query is what the input is called")
  func passwords() throws {
    guard let queries = try Queries() else { return }
    let line = queries.bench.path("runs.jsonl")
    let result = try queries.run(
      "SELECT 1 AS a UNION ALL SELECT NULL",
      [
        "--filename=f", "--not-null", "a", "--max-rejects", "1", "--report", "json",
        "--report-file", line,
      ])
    let name =
      "postgresql://sheaf@127.0.0.1:\(queries.server.server.port)/\(queries.server.database)?query=SELECT 1 AS "
      + "a UNION ALL SELECT NULL"
    let report = try Report(result.output)
    #expect(report["inputs"][0].text == name && report["table"].text == "query")
    #expect(try queries.bench.export() == "a,f\n1,\(name)\n")
    #expect(queries.bench.names().contains("query.rejects.csv"))
    for file in queries.bench.names() {
      let text = String(decoding: try queries.bench.read(file), as: UTF8.self)
      #expect(!text.contains("SECRET"), "\(file)")
    }
  }

  @Test(
    "What cannot be asked is said in the server's words",
    arguments: [
      ("SELECT * FROM none", 64, "42P01"), ("SELEC 1", 64, "42601"),
      ("SELECT 1; DROP TABLE x", 64, "42601"), ("SELECT 1) AS q; DROP TABLE x; --", 64, "42601"),
      ("SELECT 1) TO PROGRAM 'touch /tmp/never' --", 64, "42601"),
      ("INSERT INTO x VALUES (1) RETURNING id", 64, "42601"),
      ("SELECT setval('s', 7)", 66, "25006"), ("SELECT", 64, "no columns"), (" ; ", 64, "empty"),
    ])
  func refused(_ query: String, _ status: Int32, _ words: String) throws {
    guard let queries = try Queries() else { return }
    _ = try queries.server.query("CREATE TABLE x (id int); CREATE SEQUENCE s")
    let result = try SheafProcess.run(
      ["import", queries.url(query), "--into", queries.bench.database])
    #expect(result.status == status && result.errorText.contains(words), "\(result.errorText)")
    #expect(!result.errorText.contains("SECRET"))
    #expect(queries.bench.names() == [])
    #expect(try queries.server.value("SELECT count(*) FROM x") == "0")
  }

  @Test("An error in the middle ends the import; with --truncate the table is as it was")
  func middle() throws {
    guard let queries = try Queries() else { return }
    try queries.run("SELECT 1 AS a")
    let result = try queries.run(
      "SELECT 1 / (4000 - a) AS a FROM generate_series(1, 5000) AS x (a)", ["--truncate"],
      status: .dataRefused)
    #expect(result.errorText.contains("22012"), "\(result.errorText)")
    #expect(try queries.bench.export() == "a\n1\n")
    // Batches that were committed before the failure stay, as for a pipe.
    try queries.run(
      "SELECT 1 / (4000 - a) AS a FROM generate_series(1, 5000) AS x (a)", status: .dataRefused)
    let count = try queries.bench.export().split(separator: "\n").count - 2
    #expect(count % 1000 == 0 && count < 4000)
  }

  @Test("A connection that is lost in the middle is no end of the rows")
  func lost() throws {
    guard let queries = try Queries() else { return }
    guard
      let proxy = CuttingProxy(to: queries.server.server.port, statement: "COPY", { _ in .after })
    else { return }
    let url = queries.url("SELECT a FROM generate_series(1, 9000000) AS x (a)", port: proxy.port)
    let result = try queries.bench.run(
      ["import", url, "--into", queries.bench.database], status: .inputOutput)
    #expect(result.errorText.contains("lost"), "\(result.errorText)")
    #expect(proxy.cutCount == 1)
  }

  @Test("A signal ends a query that says nothing, and no way to go on is promised")
  func interrupted() throws {
    guard let queries = try Queries() else { return }
    let query =
      "SELECT a, CASE WHEN a > 50000 THEN pg_sleep(60)::text END AS b FROM generate_series(1, 90000) AS x (a)"
    let process = try SheafProcess([
      "import", queries.url(query), "--into", queries.bench.database,
    ])
    for _ in 0..<1500 where (try? queries.bench.read("t.sheaf").count) ?? 0 < 20_000 {
      System.sleep(milliseconds: 20)
    }
    process.signal(SIGTERM)
    let result = process.finish()
    #expect(result.status == 143, "\(result.errorText)")
    #expect(!result.outputText.contains("--resume") && !result.outputText.contains("SECRET"))
    #expect(result.outputText.contains("--truncate"), "\(result.outputText)")
  }
}
