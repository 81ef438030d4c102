import Engine
import Testing

@testable import Importer

/// Types that a program has declared stay, also in an empty table: values that do not fit are rejected.
/// Types that an import has guessed may be guessed anew.
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

  @Test("Declared types stay whatever the input has", arguments: [1, 1000], [false, true])
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
    // The program finds the table that it has declared.
    let database = try open(folder)
    let row = try database.read { try $0.table("t").row(at: truncate ? 0 : 2) }
    let day = try #require(CalendarDate(year: 2018, month: 8, day: 3))
    let expected: [Value] = [.text("12345"), .double(5), .data([0x37]), .date(day), .int(1)]
    #expect(row?.values == expected)
    try database.close()
    try folder.expectSound()
  }

  /// With other types the program could not open the file.
  @Test(arguments: [false, true])
  func areNeverWidened(truncate: Bool) throws {
    let folder = try ImportFolder()
    try open(folder).close()
    let report = try folder.importCSV("n,day,stars\n1,2018-08-03,1\n0.5,soon,2\n7,,0.5\n2,soon,1\n")
    {
      $0.truncate = truncate
      $0.maxRejects = .unlimited
    }
    #expect(report.imported == 2 && report.rejected == 2)
    #expect(report.columns.allSatisfy { $0.widened == nil })
    #expect(try folder.types() == declared)
    // Nor do types change in a table that has values, or with all columns as text.
    let again = try folder.importCSV("n,day,stars\nx,2018-08-04,3\n8,2018-08-04,3\n") {
      $0.types = .text
      $0.maxRejects = .unlimited
    }
    #expect(again.imported == 1 && again.rejected == 1)
    try open(folder).close()
    #expect(throws: ImportError.self) {
      try folder.importCSV("n\n1\n") { $0.types = .named(["n": .text]) }
    }
    #expect(throws: ImportError.self) { try folder.importCSV("n\n1\n") { $0.key = "n" } }
    try open(folder).close()
  }

  /// A column that an import adds does not keep the program from opening the file.
  @Test func othersAreAllowed() throws {
    let folder = try ImportFolder()
    try open(folder).close()
    try folder.importCSV("n,note,more\n1,a,b\n")
    try folder.importCSV("a,b\n1,2\n") { $0.table = "another" }
    #expect(try folder.types() == declared + ", note text, more text")
    for _ in 0..<2 {
      let database = try open(folder)
      try database.write { try $0.table("t").insert(["n": .int(2)]) }
      #expect(try database.snapshot().tableNames == ["t", "another"])
      try database.close()
    }
    // The next import may widen columns that an import has added.
    try folder.importCSV("n,note\n3,5\n") { _ in }
    var options = Database.Options()
    options.schema = Self.schema
    options.schema?.allowsOthers = false
    #expect(throws: EngineError.self) { try Database.open(folder.database, options: options) }
    try open(folder).close()
    try folder.expectSound()
  }

  /// A program's first start finds a file that imports have made.
  @Test(arguments: [0, 1] as [UInt64])
  func importCameFirst(version: UInt64) throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,2\n") { $0.table = "another" }
    var options = Database.Options()
    options.schema = Self.schema
    options.schema?.version = version
    options.migration = { _, _ in Issue.record("there is nothing to migrate") }
    for _ in 0..<2 {
      let database = try Database.open(folder.database, options: options)
      #expect(try database.snapshot().tableNames == ["another", "t"])
      try database.close()
    }
    // A table made by an import belongs to the program once the program declares it as it is.
    let made = Schema(
      version: version,
      tables: Self.schema.tables + [
        TableDefinition("another", columns: [Column("a", .int), Column("b", .int)])
      ])
    options.schema = made
    try Database.open(folder.database, options: options).close()
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,b\nx,2\n3,4\n") { $0.table = "another" }
    }
    let report = try folder.importCSV("a,b\nx,2\n3,4\n") {
      $0.table = "another"
      $0.maxRejects = .unlimited
    }
    #expect(report.rejected == 1 && report.imported == 1)
    try Database.open(folder.database, options: options).close()
  }

  /// Bytes columns stay the same, whatever is imported beside them.
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

  /// A type given by name is chosen; a guessed one is not, nor one by `--types text`.
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
