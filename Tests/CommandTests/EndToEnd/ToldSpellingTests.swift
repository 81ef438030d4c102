import Testing

@testable import Command

/// How numbers and dates are spelled, as the user says, beside what the values and the table's columns say.
@Suite struct ToldSpellingTests {
  private func words(_ bench: Workbench, _ more: [String]) -> [String] {
    ["import", "-", "--into", bench.database, "--table", "t"] + more
  }

  private func load(
    _ bench: Workbench, _ values: [String], _ more: [String] = [],
    status: Command.ExitStatus = .done
  ) throws -> SheafProcess.Result {
    try bench.run(
      words(bench, ["--delimiter", ";", "--max-rejects", "9"] + more),
      input: "id;v\n" + values.enumerated().map { "\($0 + 1);\($1)\n" }.joined(), status: status)
  }

  /// The values as they are computed with.
  private func values(_ bench: Workbench) throws -> [String] {
    try bench.run(["export", bench.database, "--columns", "v", "--format", "jsonl"]).outputText
      .split(separator: "\n").map { String($0.dropFirst(5).dropLast()) }
  }

  @Test(
    "Where a format has an order of day and month, values of the other are none of its dates",
    arguments: [
      ("%d/%m/%Y", "06/07/2018", "03/25/2018"), ("%m/%d/%Y", "06/07/2018", "25/03/2018"),
      ("%d-%m-%Y", "06-07-2018", "03-25-2018"), ("%d/%m/%y", "06/07/18", "03/25/2018"),
    ])
  func dates(format: String, date: String, other: String) throws {
    let day = format.hasPrefix("%d") ? "\"2018-07-06\"" : "\"2018-06-07\""
    for told in ["v:\(format)", format] {
      let bench = try Workbench()
      let more = ["--date-format", told] + (told == format ? ["--types", "v:date"] : [])
      let report = try load(bench, [date, other, "2018-08-01"], more + ["--report", "json"])
      #expect(try Report(report.output)["rejected"].int == 1, "\(report.outputText)")
      #expect(try values(bench) == [day, "\"2018-08-01\""])
    }
    // Without a type the column is none of dates.
    let bench = try Workbench()
    _ = try load(bench, [date, other], ["--date-format", format])
    #expect(try values(bench) == ["\"\(date)\"", "\"\(other)\""])
  }

  @Test("The order of a format counts for dates with and without a time, whatever type is given")
  func orderBesideTimes() throws {
    for (format, type, values, expected) in [
      ("%m/%d/%Y", "datetime", ["25/08/2018 10:00", "03/04/2018 11:00"], ["2018-03-04T11:00:00Z"]),
      ("%m/%d/%Y %H:%M", "date", ["25/08/2018", "03/04/2018"], ["2018-03-04"]),
      ("%d/%m/%Y", "datetime", ["08/25/2018 10:00", "03/04/2018 11:00"], ["2018-04-03T11:00:00Z"]),
      (
        "%m/%d/%Y", "datetime", ["03/04/2018 11:00", "03/05/2018"],
        ["2018-03-04T11:00:00Z", "2018-03-05T00:00:00Z"]
      ),
      ("%Y%m%d", "datetime", ["20180803"], ["2018-08-03T00:00:00Z"]),
      (
        "%B %d, %Y", "datetime", ["August 3, 2018", "2018-08-03 10:00"],
        ["2018-08-03T00:00:00Z", "2018-08-03T10:00:00Z"]
      ),
    ] {
      let bench = try Workbench()
      _ = try load(bench, values, ["--types", "v:\(type)", "--date-format", format])
      #expect(try self.values(bench) == expected.map { "\"\($0)\"" }, "\(format) \(values)")
    }
    // Without a format, too: a date alone is the moment when it begins.
    let bench = try Workbench()
    _ = try load(bench, ["25/08/2018 10:00", "26/08/2018"], ["--types", "v:datetime"])
    #expect(
      try values(bench) == ["\"2018-08-25T10:00:00Z\"", "\"2018-08-26T00:00:00Z\""])
    // A column of the other order reads no value that may be of either.
    for more in [[], ["--types", "v:datetime"]] {
      let refused = try load(
        bench, ["03/04/2018 11:00"], ["--date-format", "%m/%d/%Y"] + more, status: .usage)
      #expect(refused.errorText.contains("would be read as others than '%m/%d/%Y' says"))
      _ = try load(bench, ["2018-03-04 11:00"], ["--date-format", "%m/%d/%Y"] + more)
    }
  }

  @Test("What is told of a date that does not fit reads it")
  func advice() throws {
    let bench = try Workbench()
    let refused = try load(bench, ["2018-08-25", "25/08/2018 10:00"], ["--types", "v:date"])
    #expect(refused.status == 0)
    let reasons = try bench.text("stdin.rejects.csv.reasons.jsonl")
    #expect(reasons.contains("--types 'v:datetime' takes dates with times"), "\(reasons)")
  }

  @Test("--thousands none beside a column whose thousands are separated")
  func noThousandsBesideSome() throws {
    let bench = try Workbench()
    _ = try load(bench, ["1,234", "2,345.5"])
    #expect(try values(bench) == ["1234.0", "2345.5"])
    let refused = try load(bench, ["1,234"], ["--thousands", "none"], status: .usage)
    #expect(refused.errorText.contains("--thousands none"), "\(refused.errorText)")
    _ = try load(bench, ["12.5"], ["--thousands", "none"])
  }

  @Test("With --thousands none a sign between thousands makes no number")
  func noThousands() throws {
    for (values, type, shown) in [
      (["1,234,567"], "text", ["\"1,234,567\""]), (["1,234.5"], "text", ["\"1,234.5\""]),
      (["$1,234.50", "$5.00"], "text", ["\"$1,234.50\"", "\"$5.00\""]),
      (["$4.50", "$5.00"], "decimal", ["4.5", "5"]), (["1.234,5"], "text", ["\"1.234,5\""]),
      (["1,5", "2,25"], "double", ["1.5", "2.25"]), (["1,234"], "double", ["1.234"]),
      (["1234.5"], "double", ["1234.5"]),
    ] {
      let bench = try Workbench()
      _ = try load(bench, values, ["--thousands", "none"])
      #expect(try self.values(bench) == shown, "\(values)")
      let info = try bench.report(["info", bench.database])
      #expect(info["tables"][0]["columns"][1]["type"].text == type, "\(values)")
    }
    // Later ones are none either.
    let bench = try Workbench()
    _ = try load(bench, ["$4.50", "$5.00"], ["--thousands", "none"])
    _ = try load(bench, ["$1,234.50"], ["--thousands", "none"])
    #expect(try values(bench).contains("\"$1,234.50\""))
  }

  @Test("Digits are dates where a format for all columns says so, until one of them is none")
  func digitDates() throws {
    let bench = try Workbench()
    let format = ["--date-format", "%Y%m%d"]
    _ = try load(bench, ["20180607", "20190708"], format)
    #expect(try values(bench) == ["\"2018-06-07\"", "\"2019-07-08\""])
    // The next night needs no option; a number that is none is kept as it is spelled.
    _ = try load(bench, ["20200101"])
    #expect(try values(bench).last == "\"2020-01-01\"")
    let report = try load(bench, ["20200102", "77"], format)
    #expect(report.outputText.contains("column 'v' was date and is text now"))
    #expect(try values(bench).suffix(2) == ["\"20200102\"", "\"77\""])
    // Numbers of other lengths, and those that are no days, are numbers, as in a table that has them.
    for numbers in [["20180607", "180607"], ["20180607", "20181399"], ["1", "2"]] {
      let bench = try Workbench()
      _ = try load(bench, numbers, format + ["--date-format", "%y%m%d"])
      #expect(try values(bench) == numbers)
      _ = try load(bench, ["20180608"], format)
      #expect(try values(bench).last == "20180608")
    }
    let late = try Workbench()
    let days = (0..<1500).map { "201801\(10 + $0 % 20)" }
    let widened = try load(late, days + ["5"], format)
    #expect(widened.outputText.contains("column 'v' was date and is text now"))
    #expect(try values(late).count == 1501)
  }

  @Test(
    "Amounts and shares are spelled as --decimal and --thousands say",
    arguments: [
      (["1.234%", "12.500%"], ["--decimal", "comma", "--thousands", "."], ["12.34", "125"]),
      (["$1,234", "$5,678"], ["--decimal", "comma"], ["1.234", "5.678"]),
      (["1.234 €", "5.678 €"], ["--decimal", "comma", "--thousands", "."], ["1234", "5678"]),
      (["1.234 €", "5.678 €"], ["--decimal", "point"], ["1.234", "5.678"]),
      (["1.234,50 €"], ["--types", "v:decimal", "--decimal", "comma"], ["1234.5"]),
      (
        ["1.234,50"], ["--types", "v:decimal", "--decimal", "comma", "--thousands", "."], ["1234.5"]
      ),
    ] as [([String], [String], [String])])
  func amounts(spelled: [String], more: [String], expected: [String]) throws {
    let bench = try Workbench()
    _ = try load(bench, spelled, more)
    let found = try values(bench)
    #expect(found.count == expected.count)
    for (one, other) in zip(found, expected) {
      let number = one.split(separator: "\"").joined()
      #expect(Double(number) == Double(other), "\(found)")
    }
  }

  @Test(
    "An input whose values a column would read as others than the user says is refused",
    arguments: [
      (
        ["1,5", "1.234,5"], [], ["1.234", "5.678"], ["--decimal", "point", "--thousands", "none"]
      ),
      (["1,5", "1.234,5"], [], ["7", "8"], ["--decimal", "point"]),
      (["1,5"], [], ["1,234"], ["--thousands", ","]),
      (["$1,234.5"], [], ["1.234"], ["--decimal", "comma", "--thousands", "."]),
      (["1.5"], ["--types", "v:decimal"], ["1.234"], ["--decimal", "comma", "--thousands", "."]),
      (["1.5%"], [], ["1.234%"], ["--decimal", "comma", "--thousands", "."]),
      (["03/25/2018"], [], ["06/07/2018"], ["--date-format", "%d/%m/%Y"]),
      (["25/03/2018"], [], ["06/07/2018"], ["--date-format", "%m/%d/%Y"]),
    ] as [([String], [String], [String], [String])])
  func beside(first: [String], types: [String], then: [String], more: [String]) throws {
    let bench = try Workbench()
    _ = try load(bench, first, types)
    let before = try values(bench)
    let text = try load(bench, then, more, status: .usage).errorText
    #expect(text.contains("column 'v' of the table") && text.contains("read as others"), "\(text)")
    #expect(try values(bench) == before)
    // A type that the user has chosen stays.
    if types.isEmpty { _ = try load(bench, then, more + ["--truncate"]) }
  }

  @Test(
    "An input that is spelled as the table's column goes on, whatever is said of the others",
    arguments: [
      (["1.234,5 €"], ["1.234,50 €", "2 €"], ["--decimal", "point"]),
      (["1,5", "1.234,5"], ["1.234,5", "2,5"], ["--decimal", "comma", "--thousands", "."]),
      (["03/25/2018"], ["06/07/2018"], ["--date-format", "%m/%d/%Y"]),
      (["03/25/2018"], ["06/07/2018"], ["--date-format", "%Y%m%d"]),
    ] as [([String], [String], [String])])
  func alike(first: [String], then: [String], more: [String]) throws {
    let bench = try Workbench()
    _ = try load(bench, first)
    let type = try bench.report(["info", bench.database])["tables"][0]["columns"][1]["type"].text
    _ = try load(bench, then, more)
    let now = try bench.report(["info", bench.database])["tables"][0]["columns"][1]["type"].text
    #expect(now == type)
  }

  @Test("A column that becomes text because of --decimal is noted")
  func textByOption() throws {
    let bench = try Workbench()
    _ = try load(bench, ["1.5"])
    let text = try load(bench, ["2,5"], ["--decimal", "comma"]).outputText
    #expect(text.contains("column 'v' was double and is text now"), "\(text)")
    #expect(try !load(bench, ["2,5"], ["--decimal", "comma"]).outputText.contains("is text now"))
  }

  @Test("alter gives a column of the same type another notation, and only when told")
  func altered() throws {
    let bench = try Workbench()
    _ = try load(bench, ["06/07/2018"], ["--date-format", "v:%m/%d/%Y"])
    let alter = ["alter", bench.database, "--type"]
    #expect(try bench.run(alter + ["v:date"]).outputText.contains("nothing to change"))
    #expect(try values(bench) == ["\"2018-06-07\""])
    let told = try bench.run(alter + ["v:date", "--date-format", "v:%d/%m/%Y"]).outputText
    #expect(told.contains("column 'v' is read as '%d/%m/%Y'"), "\(told)")
    #expect(try values(bench) == ["\"2018-07-06\""])
    let numbers = try Workbench()
    _ = try load(numbers, ["1.234,5", "2.345,5"])
    let words = ["alter", numbers.database, "--type", "v:double"]
    #expect(try numbers.run(words).outputText.contains("column 'v' stays double"))
    #expect(try numbers.run(words).outputText.contains("nothing to change"))
    let refused = try SheafProcess.run(words + ["--decimal", "point"])
    #expect(refused.status == 65 && refused.outputText.contains("2 values do not fit"))
    #expect(try values(numbers) == ["1234.5", "2345.5"])
  }

  @Test("A type that is chosen as it is stays, also where no value has shown it")
  func chosen() throws {
    let bench = try Workbench()
    _ = try load(bench, [""], ["--types", "text"])
    let alter = ["alter", bench.database, "--type", "v:text"]
    #expect(try bench.run(alter).outputText.contains("column 'v' stays text"))
    #expect(try bench.run(alter).outputText.contains("nothing to change"))
    _ = try load(bench, ["15"])
    #expect(try values(bench) == ["null", "\"15\""])
  }
}
