import Testing

@testable import Importer

/// The shapes of cells, which are found in bytes before texts are made of them.
@Suite struct CellShapeTests {
  @Test(
    "Dates, times and moments have the shape of dates, in several languages",
    arguments: [
      "5 jan 2018", "5 Feb 2018", "5 MAR 2018", "April 5, 2018", "5. Mai 2018", "5 de mayo de 2018",
      "5 août 2018", "5 AOÛT 2018", "5 März 2018", "mon 5 dec 2018", "Tuesday, 5 June 2018",
      "2018-08-03T04:05:06Z", "12:30 pm", "12:30 Uhr", "5th of July 2018", "4:05 GMT", "12 am",
    ])
  func dates(cell: String) { #expect(CellShape(cell) == .date) }

  @Test(
    "Other cells have other shapes",
    arguments: [
      "4.0.3 and up", "10,000+ users", "5 jax 2018", "Room 5", "m 5 q", "5 mayflower 2018", "5 xt",
    ])
  func others(cell: String) { #expect(!CellShape(cell).isTyped, "\(CellShape(cell))") }

  @Test(
    "Spellings of numbers have the shape of numbers",
    arguments: [
      "-1.5e3", "1,234.50", "1 234", "1\u{A0}234", "1e\u{2212}5", "\u{2212}5", "1'234.5", "5E+7",
    ])
  func numbers(cell: String) { #expect(CellShape(cell) == .number) }

  @Test("Short words are found as a set finds them")
  func words() {
    let words = ["NULL", "NA", "-", "\\N", "#N/A"]
    let (short, set) = (ShortWords(words), Set(words.map { Array($0.utf8) }))
    let letters: [UInt8] = Array("NA-".utf8) + [0, 2]
    var fields: [[UInt8]] = [[]]
    for _ in 0..<5 {
      fields += fields.flatMap { field in letters.map { field + [$0] } }
    }
    for field in fields + words.map({ Array($0.utf8) }) {
      #expect(short.contains(field) == set.contains(field), "\(field)")
    }
  }
}
