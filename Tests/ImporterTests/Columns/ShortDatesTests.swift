import Testing

@testable import Importer

/// Which of three short numbers are the day, the month and the year.
@Suite struct ShortDatesTests {
  @Test(
    "Dates with two-digit years have a format only where nothing else can be meant",
    arguments: [
      ("25.08.18 03.08.18", "%d.%m.%y"), ("3.8.18 25.8.18", "%d.%m.%y"), ("25.08.18 25.08.19", nil),
      ("8/25/18 8/3/18", "%m/%d/%y"), ("08/25/18 12/31/99", "%m/%d/%y"),
      ("25/08/18 03/08/18", "%d/%m/%y"),
      // 18 may be the day or the year.
      ("18/08/03 18/08/04", nil), ("18/08/03 18/09/25", nil), ("03/08/18 04/08/18", nil),
      ("25/08/18", nil), ("18/08/03 19/08/03 20/08/04", nil),
      ("25/08/18 03/09/19 30/12/18 04/01/19", "%d/%m/%y"),
      // Ten days of one month; a day of each month.
      ("18/08/18 19/08/18 20/08/18 21/08/18 22/08/18 23/08/18", "%d/%m/%y"),
      ("12/11/04 12/12/04 13/01/04 13/02/04 13/03/04", nil),
      ("13/03/04 13/02/04 13/01/04 12/12/04 12/11/04", nil),
      ("13/03/04 12/12/04 13/01/04 13/02/04 12/11/04", "%d/%m/%y"),
      // Ends of years.
      ("18/12/31 19/12/31 20/12/31 22/12/31 21/12/31", nil), ("18/03/31 22/03/31", nil),
      ("13/01/01 14/01/01 19/01/01", nil), ("13/01/01 30/01/01 19/01/01", "%d/%m/%y"),
      ("13/04/30 23/02/28 19/12/31 20/09/30 14/03/31 15/03/31 16/03/31 17/03/31", nil),
      // Days of ten years.
      (
        "01/01/10 14/02/19 25/03/11 17/04/12 28/05/13 30/06/14 22/07/15 11/08/16 19/09/17 "
          + "08/10/18 21/11/10 05/12/12 15/01/13 29/02/16", "%d/%m/%y"
      ),
      // Numbers of versions, parts and chapters.
      ("1.15.02 2.10.03", nil), ("1-13-02 2-14-03", nil), ("12-25-18 01-02-18", "%m-%d-%y"),
      ("25.08.18 x", nil), ("25.08.2018 03.08.18", nil), ("40.08.18 25.08.18", nil),
      ("25.13.18 03.08.18", nil), ("25.08.18.1 03.08.18.2", nil),
    ])
  func formats(text: String, format: String?) {
    let fields = text.split(separator: " ").map { Array($0.utf8) }
    #expect(ShortDates(fields)?.format == format, "\(text)")
  }

  @Test("Short dates with times are found")
  func withTimes() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a;b\n8/25/18 14:30;x\n8/3/18 2:05 PM;y\n8/4/18;z\n") {
      $0.header = .firstRecord
      $0.delimiter = ";"
    }
    #expect(try folder.types() == "a datetime, b text")
    try folder.expectSound()
  }

  @Test(
    "Dates that may mean several days are noted, with what says which",
    arguments: [
      ("1/2/20 3/4/20", "d:%d/%m/%y' or '%m/%d/%y'"), ("01.02.20 03.04.20", "d:%d.%m.%y'"),
      ("01/02/03", "d:%d/%m/%y' or '%m/%d/%y' or '%y/%m/%d'"),
      ("20-01-02 NA 20-01-03", "d:%d-%m-%y'"),
      // No note: the order is certain, or these are no dates but versions.
      ("1/22/20 3/4/20", nil), ("1/2/20 x", nil), ("1.0.12 1.4.33", nil), ("", nil),
      ("1.2 3.4", nil),
    ])
  func hints(text: String, hint: String?) {
    let fields = text.split(separator: " ").map { Array($0.utf8) }
    let found = ShortDates.hint(fields, "d")
    #expect((found == nil) == (hint == nil), "\(text): \(found ?? "nothing")")
    if let found, let hint { #expect(found.contains("--date-format '" + hint), "\(found)") }
  }

  /// One note for the column, with the option that helps; the next night notes only what can be
  /// changed.
  @Test func isNoted() throws {
    let folder = try ImportFolder()
    let text = "day,x:y\n1/2/20,1/2/20\n3/4/20,3/4/20\n"
    let report = try folder.importCSV(text)
    let notes = report.notes.filter { $0.contains("--date-format") }
    #expect(notes.count == 2 && notes[1].contains("--date-format 'x\\:y:%d/%m/%y'"), "\(notes)")
    #expect(try folder.types() == "day text, x:y text")
    let again = try folder.importCSV(text, as: "u.csv")
    #expect(!again.notes.contains { $0.contains("--date-format") })
    let other = try ImportFolder()
    let told = try other.importCSV("day,x\n1/2/20,1/2/20\n3/4/20,3/4/20\n") {
      $0.dateFormats = [.init("%d/%m/%y", column: "day")]
    }
    #expect(try other.types() == "day date, x text")
    #expect(told.notes.count { $0.contains("--date-format") } == 1)
  }
}
