import Testing

@testable import Importer

/// Which of three short numbers is the day, the month and the year.
@Suite struct ShortDatesTests {
  @Test(arguments: [
    ("25.08.18 03.08.18", "%d.%m.%y"), ("3.8.18 25.8.18", "%d.%m.%y"), ("25.08.18 25.08.19", nil),
    ("8/25/18 8/3/18", "%m/%d/%y"), ("08/25/18 12/31/99", "%m/%d/%y"),
    ("25/08/18 03/08/18", "%d/%m/%y"),
    // 18 may be the day or the year.
    ("18/08/03 18/08/04", nil), ("18/08/03 18/09/25", nil), ("03/08/18 04/08/18", nil),
    ("25/08/18", nil),
    // Versions, parts, chapters.
    ("1.15.02 2.10.03", nil), ("1-13-02 2-14-03", nil), ("12-25-18 01-02-18", "%m-%d-%y"),
    ("25.08.18 x", nil), ("25.08.2018 03.08.18", nil), ("40.08.18 25.08.18", nil),
    ("25.13.18 03.08.18", nil), ("25.08.18.1 03.08.18.2", nil),
  ])
  func formats(text: String, format: String?) {
    let fields = text.split(separator: " ").map { Array($0.utf8) }
    #expect(ShortDates(fields)?.format == format, "\(text)")
  }

  @Test func withTimes() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a;b\n8/25/18 14:30;x\n8/3/18 2:05 PM;y\n8/4/18;z\n") {
      $0.header = .firstRecord
      $0.delimiter = ";"
    }
    #expect(try folder.types() == "a datetime, b text")
    try folder.expectSound()
  }
}
