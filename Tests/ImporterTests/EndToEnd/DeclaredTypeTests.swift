import Engine
import Testing

@testable import Importer

/// Types that somebody has chosen stay when objects are imported, also into an empty table; they are
/// widened where values need it, and the report says so. Types that an import has guessed may be guessed anew.
@Suite("Imports into tables with declared types")
struct DeclaredTypeTests {
  private static let schema = Schema(
    version: 1,
    tables: [
      TableDefinition(
        "t",
        columns: [
          Column("zip", .text), Column("stars", .double, default: .double(3)),
          Column("raw", .data), Column("day", .date), Column("n", .int),
        ])
    ])

  private func open(_ folder: ImportFolder) throws -> Database {
    var options = Database.Options()
    options.schema = Self.schema
    return try Database.open(folder.database, options: options)
  }

  private let declared = "zip text, stars double, raw data, day date, n int"

  @Test(arguments: [1, 1000], [false, true])
  func stayAsTheyAre(batch: Int, truncate: Bool) throws {
    let folder = try ImportFolder()
    try open(folder).close()
    for zip in ["", "12345"] {
      let report = try folder.importCSV(
        "zip,stars,raw,day,n\n\(zip),5,7,2018-08-03,1\n,-1,,,\n"
      ) {
        $0.batchSize = .records(batch)
        $0.truncate = truncate
      }
      #expect(report.columns.allSatisfy { $0.widened == nil })
      #expect(report.columns.map(\.type) == Self.schema.tables[0].columns.map(\.type))
      #expect(try folder.types() == declared)
    }
    // The program finds what it has declared.
    let database = try open(folder)
    let row = try database.read { try $0.table("t").row(at: truncate ? 0 : 2) }
    let day = try #require(CalendarDate(year: 2018, month: 8, day: 3))
    let expected: [Value] = [.text("12345"), .double(5), .data([0x37]), .date(day), .int(1)]
    #expect(row?.values == expected)
    try database.close()
    try folder.expectSound()
  }

  @Test func areWidenedAndTheReportSaysSo() throws {
    let folder = try ImportFolder()
    try open(folder).close()
    let report = try folder.importCSV("n,day,stars\n1,2018-08-03,1\n0.5,soon,2\n")
    #expect(try folder.types() == "zip text, stars double, raw data, day text, n double")
    #expect(
      report.columns.map(\.widened) == [
        .init(from: .int, to: .double, line: 3), .init(from: .date, to: .text, line: 3), nil,
      ])
  }

  /// Bytes that are no text stay what they are, whatever is imported beside them.
  @Test func bytesStayBytes() throws {
    let folder = try ImportFolder()
    let database = try open(folder)
    try database.write { try $0.table("t").insert(["raw": .data([0xFF, 0xFE])]) }
    try database.close()
    try folder.importCSV("raw\nabc\n")
    #expect(try folder.types() == declared)
    let again = try open(folder)
    try again.read {
      let rows = try Query().rows(in: $0.table("t"))
      #expect(rows.map { $0["raw"] } == [.data([0xFF, 0xFE]), .data(Array("abc".utf8))])
    }
    try again.close()
    try folder.expectSound()
  }

  /// A type given by name is chosen; one that was guessed, or `--types text`, is not.
  @Test func whatAnImportHasChosen() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n5,5\n") { $0.types = .named(["a": .text]) }
    #expect(try folder.types() == "a text, b int")
    try folder.importCSV("a,b,c\n5,2018-08-03,x\n") { $0.truncate = true }
    #expect(try folder.types() == "a text, b date, c text")
    try folder.importCSV("c\n5\n") { $0.truncate = true }
    #expect(try folder.types() == "a text, b date, c int")
    try folder.importCSV("a,b,c\n5,6,7\n") {
      $0.types = .text
      $0.truncate = true
    }
    try folder.importCSV("a,b,c\n5,6,7\n") { $0.truncate = true }
    #expect(try folder.types() == "a text, b int, c int")
  }
}
