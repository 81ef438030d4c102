import Engine
import Foundation
import Testing

@testable import Importer

/// Unusual or wrong inputs: each has the result that a user would expect.
@Suite struct BadInputTests {
  /// An input, and its table as CSV.
  @Test(arguments: [
    // No final record end, other record ends, a mixture of them.
    ("a,b\n1,2", "a,b\n1,2\n"), ("a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n3,4\n"),
    ("a,b\r1,2\r3,4\r", "a,b\n1,2\n3,4\n"), ("a,b\r\n1,2\n3,4\r5,6\n\n", "a,b\n1,2\n3,4\n5,6\n"),
    // A byte-order mark, also before a quoted name.
    ("\u{FEFF}a,b\n1,2\n", "a,b\n1,2\n"), ("\u{FEFF}\"a\",b\n1,2\n", "a,b\n1,2\n"),
    // Names: doubled, empty, blank, quoted with line ends and quotes in them.
    ("a,a,a\n1,2,x\n", "a,a_2,a_3\n1,2,x\n"), ("a,,b\n1,2,x\n", "a,column2,b\n1,2,x\n"),
    (" a ,b\n1,2\n", "a,b\n1,2\n"),
    (
      "\"two\nlines\",\"x\"\"y\"\n1,2\n",
      "\"two\nlines\",\"x\"\"y\"\n1,2\n"
    ),
    // A header alone, with and without a record end.
    ("a,b\n", "a,b\n"), ("a,b", "a,b\n"),
    // One row, one field.
    ("a\n1\n", "a\n1\n"), ("name\nx", "name\nx\n"),
    // With one column a blank line is a null, also right after the header.
    ("a\n\n1\n\n2\n", "a\n\n1\n\n2\n"), ("a\n\"\"\n1\n", "a\n\"\"\n1\n"),
    // With several columns blank lines before the header and between records do not count.
    ("\n\r\na,b\n\n1,2\n\n\n3,4\n", "a,b\n1,2\n3,4\n"),
    // All null, NUL bytes, quotes in the middle of a field.
    ("a,b\n,1\n,2\n", "a,b\n,1\n,2\n"), ("a,b\n\0,x\0y\n", "a,b\n\0,x\0y\n"),
    ("a,b\n5\" disk,x\n", "a,b\n\"5\"\" disk\",x\n"),
    // Other delimiters, found.
    ("a;b\n1;2,5\n", "a,b\n1,\"2,5\"\n"), ("a\tb\n1\t2\n", "a,b\n1,2\n"),
    ("a|b\n1|2\n", "a,b\n1,2\n"),
  ])
  func unusualButFine(input: String, table: String) throws {
    for batch in [1, 1000] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(input) {
        $0.batchSize = .records(batch)
        $0.header = .firstRecord
      }
      expectBalanced(report)
      #expect(try folder.exportText() == table)
      #expect(report.bytesRead == input.utf8.count)
      try folder.expectSound()
    }
  }

  @Test("Numbers and names that no input can have", arguments: [0, 1, 2, 3, 4, 5, 6, 7])
  func impossibleOptions(number: Int) throws {
    let folder = try ImportFolder()
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,b\n1,2\n") { options in
        switch number {
        case 0: options.headerLines = 0
        case 1: options.headerLines = .max
        case 2: options.headerLines = .min
        case 3: options.skipLines = -1
        case 4: options.skipFooter = -1
        case 5: options.limit = -1
        case 6: options.rejects = ""
        default: options.changes = ""
        }
      }
    }
    #expect(!folder.names().contains("t.sheaf"))
  }

  @Test("Without a header the columns are numbered or named by the option")
  func withoutAHeader() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV("1,2\n3,4\n") { _ in }
    #expect(report.dialect?.hasHeader == false)
    #expect(try folder.exportText() == "column1,column2\n1,2\n3,4\n")
    let named = try ImportFolder()
    try named.importCSV("1,2\n3,4\n") { $0.header = .names(["x", "y"]) }
    #expect(try named.exportText() == "x,y\n1,2\n3,4\n")
    // A malformed first record is treated like any other.
    for header in [ImportOptions.HeaderRule.absent, .names(["x", "y"])] {
      let odd = try ImportFolder()
      let rejected = try odd.importCSV([0xFF] + Array(",2\n3,4\n".utf8)) {
        $0.header = header
        $0.maxRejects = .unlimited
      }
      #expect((rejected.read, rejected.rejected) == (2, 1))
    }
  }

  @Test(
    "An input without records is an error", arguments: ["", "\n\n\r\n", "\u{FEFF}", "\u{FEFF}\n"])
  func nothingInIt(input: String) throws {
    let folder = try ImportFolder()
    #expect(throws: ImportError.emptyInput(path: folder.path("t.csv"))) {
      try folder.importCSV(input)
    }
    #expect(folder.names() == ["t.csv"])
  }

  @Test("A malformed header is an error with its line, and no database is created")
  func aHeaderThatCannotBeUsed() throws {
    for input in [
      Array("a,\"b\nc".utf8), [0xFF, 0x61, 0x0A], Array("\"a\"x,b\n".utf8),
    ] {
      let folder = try ImportFolder()
      let error = try #require(throws: ImportError.self) { try folder.importCSV(input) }
      guard case .malformedHeader(let position, _) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(position.line == 1)
      #expect(folder.names() == ["t.csv"])
    }
  }

  @Test("Ten thousand columns are imported")
  func tenThousandColumns() throws {
    let names = (1...10_000).map { "c\($0)" }.joined(separator: ",")
    let row = (1...10_000).map { $0 % 3 == 0 ? "" : String($0) }.joined(separator: ",")
    let csv = Array("\(names)\n\(row)\n\(row)\n".utf8)
    let folder = try ImportFolder()
    #expect(try folder.importCSV(csv).imported == 2)
    #expect(try folder.export() == csv)
    try folder.expectSound()
  }

  @Test("More columns than the limit are an error")
  func tooManyColumns() throws {
    let folder = try ImportFolder()
    let names = String(repeating: "a,", count: 65_600)
    let error = try #require(throws: ImportError.self) { try folder.importCSV(names + "\n") }
    #expect("\(error)".contains("65601 fields, more than 65536"))
  }

  @Test("A very long field is imported", arguments: [0, 1])
  func aVeryLongField(row: Int) throws {
    let long = "\"" + String(repeating: "all work, no play\n", count: 290_000) + "\""
    let rows = ["1,x\n", "2,\(long)\n", "3,y\n"]
    let csv = Array(("a,b\n" + rows[row...].joined()).utf8)
    for batch in [row == 0 ? 2 : 1000] {
      let folder = try ImportFolder()
      #expect(try folder.importCSV(csv) { $0.batchSize = .records(batch) }.imported == 3 - row)
      #expect(try folder.export() == csv)
      try folder.expectSound()
    }
  }

  /// Names and first records that are longer than the sample for the dialect.
  @Test func aVeryLongBeginning() throws {
    let long = String(repeating: "é,", count: 50_000)
    for csv in ["\"\(long)\",b\n1,2\n", "1;\"\(long)\n\"\n2;x\n"] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv)
      let isHeader = csv.hasPrefix("\"")
      #expect(report.imported == (isHeader ? 1 : 2))
      #expect(report.columns.count == 2)
      #expect(report.dialect?.hasHeader == isHeader)
    }
  }

  @Test("A record longer than allowed is an error with its line; the batches before it stay")
  func aRecordLongerThanAllowed() throws {
    for (field, isQuoted) in [(String(repeating: "x", count: 5000), false), ("\"open", true)] {
      var csv = "a,b\n"
      for record in 1...250 { csv += "\(record),x\n" }
      csv += "251,\(field)\n"
      for record in 252...2000 { csv += "\(record),x\n" }
      let folder = try ImportFolder()
      let error = try #require(throws: ImportError.self) {
        try folder.importCSV(csv) {
          $0.limits = .init(chunkBytes: 1000, maximumRecordBytes: 2000)
          $0.batchSize = .records(100)
        }
      }
      guard case .recordTooLong(let position, 2000, let insideQuotes) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(position.line == 252)
      #expect(insideQuotes == isQuoted)
      // The batches before stay.
      #expect(try folder.exportText().split(separator: "\n").count == 201)
      try folder.expectSound()
    }
  }

  @Test("The report has the record end of the input, not that of line breaks in quotes")
  func theRecordEndOfTheReport() throws {
    for (csv, end) in [
      ("\"a\nb\",c\r\n1,2\r\n", "\r\n"), ("a,b\r1,\"x\ny\"\r", "\r"), ("a,b\n", "\n"), ("a,b", nil),
    ] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(csv) { $0.header = .firstRecord }
      #expect(report.dialect?.recordEnd == end, "\(csv.debugDescription)")
    }
  }

  @Test("Given spellings of null are null")
  func spellingsOfNull() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV("a,b\nNA,1\n\"NA\",-\n,\"\"\nna,NA\n") {
      $0.nulls = ["NA", "-"]
    }
    #expect(report.columns.map(\.nulls) == [3, 2])
    #expect(try folder.exportText() == "a,b\n,1\n,\n,\"\"\nna,\n")
  }

  /// Lengths are compared first; texts that are too long are not compared.
  @Test func spellingsOfNullOfEveryLength() throws {
    let lengths = [1, 2, 62, 63, 64, 65, 126, 127, 128]
    let words = lengths.map { String(repeating: "x", count: $0) }
    for (word, length) in zip(words, lengths) {
      let folder = try ImportFolder()
      let report = try folder.importCSV("a\n" + words.joined(separator: "\n") + "\ny\n") {
        $0.nulls = [word]
        $0.header = .firstRecord
        $0.types = .text
      }
      #expect(report.columns.map(\.nulls) == [1], "\(length)")
      let exported = words.map { $0 == word ? "" : $0 }.joined(separator: "\n")
      let text = try folder.exportText().replacing("\"", with: "")
      #expect(text == "a\n\(exported)\ny\n", "\(length)")
    }
  }

  @Test("Missing and unreadable inputs are errors")
  func missingAndUnreadable() throws {
    let folder = try ImportFolder()
    for path in [folder.path("no.csv"), folder.path(""), folder.path("no/t.csv")] {
      let error = try #require(throws: ImportError.self) {
        try Importer.run(ImportOptions(inputs: [path], database: folder.database))
      }
      guard case .unreadableInput = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(folder.names() == [])
  }

  @Test(
    "A note tells that the only record was taken for names, unless that is known",
    arguments: [
      ("ann,oslo\n", true), ("id,name\u{2028}1,a\u{2028}2,b\n", true),
      ("id,\"name\n1,a\n2,b\"\n", true), ("id,name\n1,a\n", false),
    ])
  func onlyRecord(csv: String, isTold: Bool) throws {
    let folder = try ImportFolder()
    func isNoted(_ change: (inout ImportOptions) -> Void = { _ in }) throws -> Bool {
      try folder.importCSV(csv, change).notes.contains { $0.contains("its only record is taken") }
    }
    #expect(try isNoted() == isTold)
    // The table has these names now.
    #expect(try !isNoted())
    #expect(try !isNoted { ($0.table, $0.header) = ("u", .firstRecord) })
  }
}
