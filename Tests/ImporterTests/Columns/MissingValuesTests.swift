import Engine
import Importer
import Testing

/// Spellings that count as missing values without an option.
@Suite struct MissingValuesTests {
  @Test(
    "A word for a missing value is null among values of a type, and a text among texts",
    arguments: [
      ("NA\n5\n-7", "int", "\n5\n-7"), ("5\n-\n1.5", "double", "5\n\n1.5"),
      ("NULL\n2018-08-03", "date", "\n2018-08-03"), ("\\N\ntrue", "bool", "\ntrue"),
      ("N/A\n25/08/2018\nn/a", "date", "\n25/08/2018\n"), (" NA \n 5", "int", "\n 5"),
      ("#N/A\n1,5", "double", "\n1,5"), ("NA\nyes\nno", "bool", "\nyes\nno"),
      ("NA\ninf\n1.5", "double", "\ninf\n1.5"),
      // Texts, ambiguous dates, and words that are alone or in quotes stay as they are.
      ("NA\nDE", "text", "NA\nDE"), ("-\n03/08/2018", "text", "-\n03/08/2018"),
      ("NA\nNA", "text", "NA\nNA"), ("\"NA\"\n5", "text", "NA\n5"),
      ("NA\n\"NA\"\n5", "text", "NA\nNA\n5"), ("?\n5", "text", "?\n5"),
      ("None\n5", "text", "None\n5"), ("007\nNA", "text", "007\nNA"),
      ("+4930123456\nNA", "text", "+4930123456\nNA"),
    ])
  func words(values: String, type: String, exported: String) throws {
    let folder = try ImportFolder()
    func csv(_ values: String) -> String {
      let lines = values.split(separator: "\n", omittingEmptySubsequences: false)
      return "a;b\n" + lines.map { "\($0);x\n" }.joined()
    }
    let report = try folder.importCSV(csv(values)) {
      $0.header = .firstRecord
      $0.delimiter = ";"
    }
    #expect(try folder.types() == "a \(type), b text", "\(values)")
    let text = try folder.exportText().replacing("\"", with: "").replacing(",x", with: ";x")
    #expect(text.replacing("a,b", with: "a;b") == csv(exported), "\(values)")
    let isNull = type != "text"
    #expect(
      report.notes.contains { $0.contains("is taken as null") } == isNull, "\(report.notes)")
  }

  @Test(
    "A word for a missing value is null also in a column that is there",
    arguments: [
      ("5\nNA", "NA\n-", "int"), ("5", "NA", "int"), ("5\n6", "1.5\nNA\n2", "double"),
      ("2020-01-01", "2020-01-01T10:00:00Z\nNA", "datetime"), ("1.5\nNA", "7\nNA", "double"),
      ("13/04/2020\nNA", "05/06/2020\nNA", "date"), ("1.234,5\nNA\n2,25", "2,5\nNA", "double"),
      ("yes\nno\nNA", "yes\nNA", "bool"), ("5\n\"\"", "\"\"\n\"\"", "int"),
      // Numbers among those of the table.
      ("1.5", "inf", "double"), ("1.5", "50.", "double"), ("1.5\nNA", "NA\n-inf", "double"),
      ("5", "inf\n7", "double"), ("5", "50.\n7", "text"), ("5", "inf", "text"),
      ("5", "NA\ninf", "text"), ("5", "NA\ninf\n7", "text"), ("1.5", "NA\ninf\n7", "double"),
      ("1.234,5\n2,25", "inf", "double"),
    ])
  func storedTypes(first: String, second: String, type: String) throws {
    let folder = try ImportFolder()
    for values in [first, second] {
      let isQuoted = values.contains("\"")
      let lines = values.split(separator: "\n").map {
        isQuoted && !$0.hasPrefix("\"") ? "\"\($0)\"" : "\($0)"
      }
      let csv = isQuoted ? "\"a\";\"b\"\n" : "a;b\n"
      let end = isQuoted ? ";\"x\"\n" : ";x\n"
      try folder.importCSV(csv + lines.map { $0 + end }.joined()) {
        $0.header = .firstRecord
        $0.delimiter = ";"
      }
    }
    #expect(try folder.types() == "a \(type), b text")
    #expect(try folder.exportText().contains("NA") == (type == "text" && second.contains("NA")))
  }

  @Test("Texts of the table stay texts, and no option is advised that would not change it")
  func storedTexts() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\nabc,x\nNA,x\n") { $0.header = .firstRecord }
    let report = try folder.importCSV("a,b\n2.5,x\nNA,x\n") { $0.header = .firstRecord }
    #expect(try folder.types() == "a text, b text" && report.notes == [])
    #expect(try folder.exportText() == "a,b\nabc,x\nNA,x\n2.5,x\nNA,x\n")
    // It is where the column is not text yet.
    let other = try ImportFolder()
    try other.importCSV("a,b\n2.5,x\n")
    let notes = try other.importCSV("a,b\n2.5,x\nNone,x\n").notes
    #expect(notes.contains { $0.contains("with --null 'None'") }, "\(notes)")
  }

  /// A spelling that was read as null is lost: a later text is rejected, and the error says how to keep
  /// it.
  @Test func aTextBehindThem() throws {
    func csv(_ last: String) -> String {
      "code,n\nNA,1\n" + (1...2500).map { "\($0),\($0)\n" }.joined() + "\(last),0\nNA,3\n7,4\n"
    }
    for batch in [ImportOptions.BatchSize.records(10), .records(1000), .all] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv("DE")) {
        $0.batchSize = batch
        $0.maxRejects = .unlimited
      }
      #expect(report.rejected == 1 && report.imported == 2503)
      #expect(try folder.types() == "code int, n int")
      let reasons = try folder.text("t.rejects.csv.reasons.jsonl")
      #expect(reasons.contains("'DE' in column 'code' is not an int"), "\(reasons)")
      #expect(reasons.contains("--types 'code:text'"), "\(reasons)")
      #expect(report.columns[0].nulls == 2)
      // A further number is accepted.
      let wider = try ImportFolder()
      let widened = try wider.importCSV(csv("1.5")) { $0.batchSize = batch }
      #expect(widened.rejected == 0)
      #expect(try wider.types() == "code double, n int")
    }
    // In quotes it is a text, also behind the first records.
    let quoted = try ImportFolder()
    let report = try quoted.importCSV(csv("\"NA\"")) { $0.maxRejects = .unlimited }
    #expect(report.rejected == 1 && report.columns[0].nulls == 2)
    let kept = try ImportFolder()
    try kept.importCSV(csv("DE")) { $0.types = .named(["code": .text]) }
    #expect(try kept.exportText() == csv("DE"))
  }

  /// The next night finds the column's type; a text column stays text.
  @Test func nextNight() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\nNA,y\n") { $0.header = .firstRecord }
    try folder.importCSV("a,b\nNA,x\n2,y\n") { $0.header = .firstRecord }
    #expect(try folder.exportText() == "a,b\n1,x\n,y\n,x\n2,y\n")
    let texts = try ImportFolder()
    try texts.importCSV("a,b\nDE,x\nNA,y\n") { $0.header = .firstRecord }
    try texts.importCSV("a,b\nNA,x\n2,y\n") { $0.header = .firstRecord }
    #expect(try texts.exportText() == "a,b\nDE,x\nNA,y\nNA,x\n2,y\n")
    // In an emptied table the types may be guessed anew.
    try texts.importCSV("a,b\nNA,x\n2,y\n") {
      $0.header = .firstRecord
      $0.truncate = true
    }
    #expect(try texts.types() == "a int, b text")
  }

  /// An import interrupted anywhere, also while all values were null so far, resumes to the same
  /// result.
  @Test(arguments: [
    ("1.5", 0), ("2018-08-03", 1), ("2018-08-03 10:00", 1), ("25/08/2018", 2), ("DE", 0), ("x", 1),
  ])
  func resumed(last: String, kind: Int) throws {
    func csv() -> String {
      let values = ["7", "2018-01-05", "13/01/2018"]
      let lines = (1...900).map { $0 < 700 ? "NA,\($0)\n" : "\(values[kind]),\($0)\n" }
      return "a,n\n" + lines.joined() + (901...1500).map { "\(values[kind]),\($0)\n" }.joined()
        + "\(last),0\nNA,0\n"
    }
    let whole = try ImportFolder()
    func options(_ options: inout ImportOptions) {
      options.batchSize = .records(100)
      options.header = .firstRecord
      options.maxRejects = .unlimited
      options.limits = .init(chunkBytes: 300)
    }
    let all = try whole.importCSV(csv()) { options(&$0) }
    for stop in [1, 5, 8, 12, 14] {
      let folder = try ImportFolder()
      let asked = CallCounter()
      let report = try folder.importCSV(csv()) {
        options(&$0)
        $0.shouldStop = { asked.next() > stop }
      }
      #expect(report.isInterrupted)
      try folder.importCSV(csv()) {
        options(&$0)
        $0.resume = true
      }
      #expect(try folder.types() == whole.types(), "\(stop)")
      #expect(try folder.exportText() == whole.exportText(), "\(stop)")
      try folder.expectSound()
    }
    #expect(all.rejected == (last == "DE" || last == "x" ? 1 : 0))
  }

  /// Where every field is in quotes, quotes do not make an empty field a text.
  @Test func emptyFieldsInQuotes() throws {
    let folder = try ImportFolder()
    let csv = "\"n\",\"t\"\n\"7\",\"\"\n\"\",\"x\"\n\"9\",\"y\"\n"
    let report = try folder.importCSV(csv) { $0.header = .firstRecord }
    #expect(try folder.types() == "n int, t text")
    #expect(try folder.exportText() == "n,t\n7,\"\"\n,x\n9,y\n")
    #expect(report.notes.contains { $0.contains("an empty field in quotes is taken as null") })
    let told = try ImportFolder()
    try told.importCSV(csv) {
      $0.header = .firstRecord
      $0.types = .named(["n": .double])
    }
    #expect(try told.types() == "n double, t text")
    // Where other fields have no quotes, a field in quotes is a text.
    for csv in ["n,t\n\"\",x\n7,\n,y\n", "n,t\n\"\",x\n7,z\n", "n,t\n\"\",\"x\"\n\"7\",\n"] {
      let mixed = try ImportFolder()
      try mixed.importCSV(csv) { $0.header = .firstRecord }
      #expect(try mixed.types() == "n text, t text", "\(csv)")
      #expect(try mixed.exportText().hasPrefix("n,t\n\"\","))
    }
  }
}
