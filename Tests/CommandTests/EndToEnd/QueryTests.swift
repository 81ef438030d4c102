import Foundation
import Testing

@testable import Command

/// `sheaf query` and `sheaf export --where`, run as a person would.
@Suite("sheaf query") struct QueryTests {
  @Test("JSON Lines has each name once")
  func namesOfJSON() throws {
    let bench = try Workbench()
    try bench.write("a.csv", "k,v\n1,x\n")
    try bench.run(["import", bench.path("a.csv"), "--into", bench.database, "--quiet"])
    for words in [
      ["export", bench.database, "--columns", "k,k"],
      ["query", bench.database, "--columns", "k,k"],
      ["query", bench.database, "--group-by", "k,k"],
    ] {
      let refused = try bench.run(words + ["--format", "jsonl"], status: .usage)
      #expect(refused.errorText.contains("'k' is named twice"))
      #expect(try bench.run(words + ["--format", "csv"]).outputText.hasPrefix("k,k"))
    }
  }

  static let csv = """
    App,Rating,Reviews,Category,Content Rating
    Zebra Photo,4.5,100,GAME,Teen
    "Quote ""x"", comma",NaN,+5,TOOLS,Everyone
    写真,4.10,1000000,TOOLS,Teen
    photo 📱,,7,GAME,""
    Ünder,3.9,,GAME,

    """

  private func bench() throws -> Workbench {
    let bench = try Workbench()
    try bench.write("t.csv", Self.csv)
    try bench.run(
      ["import", bench.path("t.csv"), "--into", bench.database, "--quiet", "--types", "infer"])
    return bench
  }

  private func query(_ arguments: String...) throws -> String {
    let bench = try bench()
    return try bench.run(["query", bench.database] + arguments).outputText
  }

  @Test("Without an expression all objects are printed, aligned, null apart from empty")
  func table() throws {
    #expect(
      try query() == """
        App               Rating  Reviews  Category  Content Rating
        ────────────────  ──────  ───────  ────────  ──────────────
        Zebra Photo          4.5      100  GAME      Teen
        Quote "x", comma     NaN       +5  TOOLS     Everyone
        写真                4.10  1000000  TOOLS     Teen
        photo 📱               ∅        7  GAME
        Ünder                3.9        ∅  GAME      ∅

        5 objects

        """)
  }

  @Test(
    "Counting",
    arguments: [
      ("Rating >= 4.1", "2\n"), ("Rating == 4.1", "1\n"), ("not Rating >= 4.1", "1\n"),
      ("Rating is nan or Rating is null", "2\n"), ("Reviews == 5", "1\n"), ("", "5\n"),
      ("App contains[c] 'photo'", "2\n"), ("App contains 'photo'", "1\n"),
      ("`Content Rating` == ''", "1\n"), ("App like '写_'", "1\n"),
      ("App begins with[c] 'ü'", "1\n"),
      ("Category in ('GAME') and Reviews > 50", "1\n"),
    ])
  func count(expression: String, expected: String) throws {
    #expect(try query(expression, "--count") == expected)
  }

  @Test("Columns, sort, offset, limit, and what is said of the rest")
  func sorted() throws {
    #expect(
      try query(
        "Reviews > 0", "--columns", "Reviews,App", "--sort", "Category,Reviews:desc",
        "--limit", "2", "--offset", "1") == """
          Reviews  App
          ───────  ────────
                7  photo 📱
          1000000  写真

          2 of 4 objects

          """)
    #expect(
      try query("--sort", "Rating:desc", "--columns", "Rating", "--format", "csv")
        == "Rating\n4.5\n4.10\n3.9\nNaN\n\n")
    #expect(
      try query("--distinct", "--columns", "Category", "--sort", "Category:desc", "--format", "csv")
        == "Category\nTOOLS\nGAME\n")
  }

  @Test("JSON Lines and CSV are those of an export")
  func formats() throws {
    let bench = try bench()
    let expression = "Rating > 4 or Reviews is null"
    for format in ["csv", "jsonl"] {
      let queried = try bench.run(["query", bench.database, expression, "--format", format])
      let exported = try bench.export("--where", expression, "--format", format)
      #expect(queried.outputText == exported)
    }
    #expect(
      try bench.export("--where", expression, "--columns", "App,Reviews", "--format", "jsonl")
        == """
        {"App":"Zebra Photo","Reviews":100}
        {"App":"写真","Reviews":1000000}
        {"App":"Ünder","Reviews":null}

        """)
    #expect(
      try bench.export("--where", expression, "--limit", "1", "--no-header")
        == "Zebra Photo,4.5,100,GAME,Teen\n")
    #expect(
      try bench.run(["query", bench.database, "--count", "--format", "jsonl"]).outputText
        == "{\"count\":5}\n")
  }

  @Test("Groups and sums")
  func groups() throws {
    #expect(
      try query("--group-by", "Category", "--sum", "Reviews", "--avg", "Rating") == """
        Category  count  sum(Reviews)  avg(Rating)
        ────────  ─────  ────────────  ───────────
        GAME          3           107          4.2
        TOOLS         2       1000005          4.1

        """)
    #expect(
      try query("--group-by", "Content Rating", "--sort", "Content Rating", "--limit", "2") == """
        Content Rating  count
        ──────────────  ─────
                            1
        Everyone            1

        2 of 4 groups

        """)
    #expect(
      try query(
        "Category == 'GAME'", "--min", "App,Rating", "--max", "Reviews", "--format", "jsonl")
        == "{\"min(App)\":\"Zebra Photo\",\"min(Rating)\":3.9,\"max(Reviews)\":100}\n")
    #expect(try query("Reviews < 0", "--sum", "Reviews", "--format", "csv") == "sum(Reviews)\n\n")
  }

  @Test("No two columns of a result have the same name")
  func groupsByColumnsCalledLikeResults() throws {
    let bench = try Workbench()
    try bench.run(
      ["import", "-", "--into", bench.database, "--table", "t", "--quiet"],
      input: "count,sum(n),n\n5,a,1\n5,a,2\n7,a,4\n")
    func query(_ words: String...) throws -> String {
      try bench.run(["query", bench.database] + words).outputText
    }
    let words = ["--group-by", "count,sum(n)", "--sum", "n", "--format"]
    #expect(
      try query("--group-by", "count", "--format", "jsonl")
        == "{\"count\":5,\"count_2\":2}\n{\"count\":7,\"count_2\":1}\n")
    let csv = try bench.run(["query", bench.database] + words + ["csv", "--sort", "count_2"])
    #expect(csv.outputText == "count,sum(n),count_2,sum(n)_2\n7,a,1,4\n5,a,2,3\n")
    let text = try bench.run(["query", bench.database] + words + ["table"]).outputText
    #expect(text.hasPrefix("count  sum(n)  count_2  sum(n)_2\n"))
  }

  @Test(
    "Mistakes are told in one line, with status 64",
    arguments: [
      (["Rating >"], "expression, column 9: expected a value"),
      (["Ratin > 4"], "expression, column 1: there is no column 'Ratin'; did you mean Rating?"),
      (["Content Rating == 'Teen'"], "in backquotes: `Content Rating`"),
      (["Rating > '4'"], "expression, column 10: column 'Rating' is a double"),
      (["--columns", "Nothing"], "has no column 'Nothing'; its columns: App"),
      (["--sort", "Nothing:desc"], "has no column 'Nothing'"),
      (["--sum", "App"], "the sum is of numbers only, and column 'App' is a text"),
      (["--group-by", "App", "--count"], "--count goes with objects"),
      (["--group-by", "App", "--distinct"], "--columns and --distinct go with objects"),
      (
        ["--group-by", "App", "--sort", "Rating"], "has no column 'Rating'; its columns: App, count"
      ),
      (["--distinct", "--columns", "App", "--sort", "Rating"], "sorted by their own columns only"),
      (["--format", "xml"], "expected table, csv or jsonl"),
      (["--limit", "-1"], "--limit: \"-1\" is not allowed"),
      (["Rating > 4", "more"], "unexpected argument \"more\""),
      (["--table", "none"], "there is no table 'none'"),
    ])
  func mistakes(arguments: [String], message: String) throws {
    let bench = try bench()
    let result = try bench.run(["query", bench.database] + arguments, status: .usage)
    #expect(result.output.isEmpty)
    #expect(result.errorText.contains(message), "\(result.errorText)")
  }

  @Test("A bad expression empties no file")
  func outputIsKept() throws {
    let bench = try bench()
    try bench.write("out.csv", "precious")
    try bench.run(
      ["export", bench.database, "--where", "Ratin > 4", "--output", bench.path("out.csv")],
      status: .usage)
    #expect(try bench.text("out.csv") == "precious")
  }

  @Test("A database that is missing, or none")
  func noDatabase() throws {
    let bench = try bench()
    try bench.run(["query", bench.path("none.sheaf")], status: .inputMissing)
    try bench.run(["query", bench.path("t.csv")], status: .dataRefused)
  }

  @Test("A closed pipe ends it quietly")
  func closedPipe() throws {
    let bench = try Workbench()
    try bench.run(["sample", "--rows", "20000", "--output", bench.path("s.csv")])
    try bench.run(["import", bench.path("s.csv"), "--into", bench.database, "--quiet"])
    let process = try SheafProcess(["query", bench.database])
    process.closeOutput(after: 10_000)
    let result = process.finish()
    #expect(result.status == 0 && result.error.isEmpty)
    #expect(
      try bench.run(["query", bench.database, "--columns", "App", "--format", "csv"]).output
        == (try bench.run(["export", bench.database, "--columns", "App"]).output))
  }

  @Test(
    "Widths of texts on a terminal",
    arguments: [
      ("abc", 3), ("Größe", 5), ("写真", 4), ("📱", 2), ("👩‍👩‍👧", 2), ("e\u{301}", 1), ("한글", 4),
      ("❤️", 2), ("ｱ", 1), ("Ａ", 2), ("\u{200B}", 0), ("🇩🇪", 2), ("", 0),
    ])
  func widths(text: String, width: Int) {
    #expect(DisplayWidth.of(text) == width)
  }

  @Test("Cut texts say so, and never take more room")
  func cut() {
    #expect(DisplayWidth.cut("abcdef", to: 6) == "abcdef")
    #expect(DisplayWidth.cut("abcdefg", to: 6) == "abcde…")
    #expect(DisplayWidth.cut("写真写真", to: 6) == "写真…")
    #expect(DisplayWidth.cut("写真写真", to: 7) == "写真写…")
    for width in 1...9 {
      #expect(DisplayWidth.of(DisplayWidth.cut("a写📱e\u{301}bcd", to: width)) <= width)
    }
  }
}
