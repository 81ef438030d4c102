import Importer
import TestSupport
import Testing

/// Runs of blanks as delimiters, from input to database and rejects.
@Suite struct WhitespaceImportTests {
  /// A table of padded columns, and the same table as plain CSV.
  private static func table(_ seed: UInt64, rows: Int) -> (padded: String, plain: String) {
    var random = SplitMix64(seed: seed)
    var (padded, plain) = (" id   name value\t\n", "id,name,value\n")
    func blanks() -> String {
      String(repeating: " ", count: Int.random(in: 1...40, using: &random))
    }
    let names = ["x", "long-name", "\"a b\"", "\"\"", "é", "5\"", "#1"]
    for row in 0..<rows {
      let name = names.randomElement(using: &random) ?? ""
      let value = "\(Int.random(in: -999...99_999, using: &random)).5"
      padded += (Bool.random(using: &random) ? blanks() : "") + "\(row)" + blanks() + name
      padded += "\t" + blanks() + value
      padded += ["", " ", "\t", "  \t "].randomElement(using: &random) ?? ""
      padded += row % 7 == 0 ? "\r\n" : "\n"
      if row % 11 == 0 { padded += blanks() + "\n" }
      plain += "\(row),\(name == "5\"" ? "\"5\"\"\"" : name),\(value)\n"
    }
    return (padded, plain)
  }

  @Test("Any number of parsers gives the same rows", arguments: [1, 2, 3, 7])
  func anyNumberOfParsers(parsers: Int) throws {
    let (padded, plain) = Self.table(UInt64(parsers), rows: 5000)
    let folder = try ImportFolder()
    let report = try folder.importCSV(Array(padded.utf8)) {
      $0.delimiter = ImportOptions.whitespace
      $0.parsers = parsers
      $0.batchSize = .records(333)
    }
    #expect(report.imported == 5000 && report.rejected == 0)
    expectBalanced(report)
    let twin = try ImportFolder()
    try twin.importCSV(plain)
    #expect(firstDifference(try folder.export(), try twin.export()) == nil)
    #expect(try folder.types() == twin.types())
    try folder.expectSound()
  }

  /// Records with a field too few or too many, or text behind a quote, are rejected as they were
  /// written.
  @Test func whatDoesNotFitIsRejected() throws {
    let folder = try ImportFolder()
    let text = "a  b  c\n1  2  3\n  1    2 \n \n 1 2 3  4\n \"x\"y 1 2\n1 2 \"open\n"
    let report = try folder.importCSV(text) {
      $0.delimiter = "whitespace"
      $0.header = .firstRecord
      $0.maxRejects = .unlimited
    }
    #expect(report.imported == 1 && report.rejected == 4)
    #expect(
      try folder.text("t.rejects.csv")
        == "a  b  c\n  1    2 \n 1 2 3  4\n \"x\"y 1 2\n1 2 \"open\n\n")
  }

  @Test("Ragged records between blanks are padded or extended")
  func raggedRecords() throws {
    for (ragged, expected) in [
      (ImportOptions.Ragged.pad, "a,b\n1,2\n3,\n"), (.extend, "a,b,extra1\n1,2,\n3,,\n4,5,6\n"),
    ] {
      let folder = try ImportFolder()
      try folder.importCSV("a   b\n 1  2\n   3   \n4  5  6\n") {
        $0.delimiter = "whitespace"
        $0.ragged = ragged
        $0.maxRejects = .unlimited
      }
      #expect(try folder.exportText() == expected)
    }
  }

  /// In a table of one column a line of blanks is a null, as an empty line is.
  @Test func oneColumn() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a\n x \n   \n\ny\n") { $0.delimiter = "whitespace" }
    #expect(try folder.exportText() == "a\nx\n\n\ny\n")
  }
}
