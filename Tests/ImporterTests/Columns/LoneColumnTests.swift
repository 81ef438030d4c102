import TestSupport
import Testing

@testable import Engine
@testable import Importer

/// Tables of one column whose values have commas or blanks, and tables of two that look like them.
@Suite struct LoneColumnTests {
  private static let stamps = (1...7).map { "2020-01-0\($0) 12:30:00" }

  /// Whether lines are values of one column, and whether that is certain; nil if they are not.
  private func verdict(_ lines: [String], _ delimiter: String = ",", isWhole: Bool = true) -> Bool?
  {
    guard let pattern = ShortPattern(Array(delimiter.utf8)) else { return nil }
    let sample = lines.joined(separator: "\n") + (isWhole ? "\n" : "")
    return LoneColumn(Array(sample.utf8), isWhole: isWhole, delimiter: pattern)?.isCertain
  }

  @Test(
    "One column",
    arguments: [
      ["1.234,56 €", "2.345,67 €", "12,50 €"], ["price", "1.234,56 €", "12,50 €"], ["1.234,56 €"],
      ["price", "1,5", "2,5", "3,25"], ["price", "1,5", "NA", "2,75"], ["1,5", "2", "3,25"],
      ["v", "1,234.56", "2,345.67"], ["$1,234.56", "$2,345.67"], ["n", "$1,234.56", "$22.00"],
      ["share", "12,5%", "13,5%"], ["n", "1,234,567.00", "99.50"], ["v", "1,234", "2,345"],
      ["unit price", "12,05", "3,99"], ["unit price", "1.234,5", "3,99"],
      ["unit price", "12,50", "3,99", "104,75"],
      ["date", "August 3, 2018", "May 5, 2019"], ["August 3, 2018", "May 5, 2019"],
      ["price", "1,5", " ", "\"2,75\""],
    ])
  func isOne(lines: [String]) {
    #expect(verdict(lines) == true)
  }

  @Test(
    "Several columns, or one: a note",
    arguments: [
      ["1,234.56", "2,345.67"], ["12,50", "3,99", "104,05"], ["12,5%", "13,5%"], ["$5,3", "$4,12"],
      ["unit price", "1,5", "2,5", "3,25"], ["sensor 7", "1,2", "3,4"],
      ["unit price", "12,50", "13,99", "14,75"], ["€5,123", "€1,2"], ["T", "", "1,2", "3,4"],
    ])
  func isUncertain(lines: [String]) {
    #expect(verdict(lines) == false)
  }

  @Test(
    "Several columns",
    arguments: [
      ["1,5", "2,5"], ["x,y", "1,5", "2,6"], ["1,234", "2,345"], ["Smith, John", "Doe, Jane"],
      ["name", "Smith, John"], ["2020-01-02,12:30", "2020-01-03,12:31"],
      ["price", "\"1\",5", "\"2\",7"],
      ["#price", "1,5"], ["price", "1,5", "free, of course"], ["1,2,3", "1,2"], ["price"], [],
      ["price", "1", "2"], ["$5,x", "$6,y"], ["-1,-5", "2,-7"],
      ["12345678901234567890123", "1,5;x"],
    ])
  func isNone(lines: [String]) {
    #expect(verdict(lines) == nil)
  }

  /// Blanks are delimiters only if nothing else is.
  @Test func blanks() {
    #expect(verdict(["timestamp"] + Self.stamps, " ") == true)
    #expect(verdict(Self.stamps, " ") == true)
    #expect(verdict(["12 €", "15 €"], " ") == true)
    #expect(verdict(["3:45 PM", "11:45 AM"], " ") == true)
    #expect(verdict(["1 234", "2 345"], " ") == nil && verdict(["a 1", "b 2"], " ") == nil)
    #expect(verdict(["start time"] + Self.stamps, " ") == nil)
    #expect(verdict(["price", "1,5", "2,5"], ";") == nil)
  }

  /// A truncated line tells nothing, nor do lines behind it.
  @Test func cutLines() {
    #expect(verdict(["price", "1,5", "2,"], isWhole: false) == true)
    let long = String(repeating: "1", count: 100)
    #expect(verdict(["price", "1,5", long]) == nil && verdict([long, "1,5"]) == nil)
    #expect(LoneColumn.unused(Array("a\tb".utf8)) == [0x3B])
    #expect(LoneColumn.unused(Array("a\tb;|\u{1F}".utf8)) == nil)
  }

  @Test("The whole import: values, types and to the letter")
  func imports() throws {
    for (text, types) in [
      ("price\n1.234,56 €\n12,50 €\n", "price decimal"), ("price\n1,5\n\n2,75\n", "price double"),
      ("date\nAugust 3, 2018\n", "date date"),
    ] {
      let folder = try ImportFolder()
      let report = try folder.importCSV(text) { _ in }
      #expect(report.rejected == 0 && report.notes.contains { $0.contains("--delimiter ','") })
      #expect(try folder.types() == types)
      let exported = try folder.exportText().replacing("\"", with: "")
      #expect(exported == text)
    }
  }

  /// A delimiter that is given is used.
  @Test func isTold() throws {
    let folder = try ImportFolder()
    try folder.importCSV("price\n1,5\n2,5\n") {
      $0.delimiter = ","
      $0.header = .names(["a", "b"])
      $0.skipLines = 1
    }
    #expect(try folder.types() == "a int, b int")
    let other = try ImportFolder()
    try other.importCSV("1,5\n2\n3,25\n") {
      $0.header = .names(["a", "b"])
      $0.ragged = .pad
    }
    #expect(try other.types() == "a int, b int")
  }
}
