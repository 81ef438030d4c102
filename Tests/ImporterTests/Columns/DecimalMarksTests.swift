import Engine
import Importer
import Testing

/// What points and commas in numbers mean, as other columns of the input show.
@Suite struct DecimalMarksTests {
  @Test(
    "A mark before three digits means what the decimal marks of the other columns say",
    arguments: [
      // A comma between thousands, since other columns have decimal points, in any notation.
      ("1.50;1,234\n2.5;567\n", "a double, b int 1,234", "\"a\":1.50,\"b\":1234"),
      ("1,234.5;1,234\n2;5,678\n", "a double 1,234.5, b int 1,234", "\"a\":1234.5,\"b\":1234"),
      ("1,234,567;1,234\n2;5,678\n", "a int 1,234, b int 1,234", "\"a\":1234567,\"b\":1234"),
      ("0.500;1,234\n0.25;5,678\n", "a double, b int 1,234", "\"a\":0.500,\"b\":1234"),
      // A decimal comma, since other columns have it.
      ("1,50;1,234\n2,5;5,678\n", "a double 1,5, b double 1,5", "\"a\":1.5,\"b\":1.234"),
      // A point before three digits may be one between thousands there.
      ("1,50;1.234\n2,5;5.678\n", "a double 1,5, b text", "\"a\":1.5,\"b\":\"1.234\""),
      ("1.234,5;1.234\n2;-5.678\n", "a double 1.234,5, b text", "\"a\":1234.5,\"b\":\"1.234\""),
      // No: other points, both marks elsewhere, nothing elsewhere, whole numbers elsewhere, texts.
      ("1,50;1.234\n2,5;5.67\n", "a double 1,5, b double", "\"a\":1.5,\"b\":1.234"),
      ("1,50;0.234\n2,5;5.678\n", "a double 1,5, b double", "\"a\":1.5,\"b\":0.234"),
      ("1.234;1,234\n2.345;5,678\n", "a double, b text", "\"a\":1.234,\"b\":\"1,234\""),
      ("1.234;1.234\n2.345;5,67\n", "a text, b double 1.234,5", "\"a\":\"1.234\",\"b\":1234"),
      ("12;1,234\n5;5,678\n", "a int, b text", "\"a\":12,\"b\":\"1,234\""),
      ("v1.5;1,234\nv2;5,678\n", "a text, b text", "\"a\":\"v1.5\",\"b\":\"1,234\""),
      ("1.5;1,789 €\n2.5;1,799 €\n", "a double, b text", "\"a\":1.5,\"b\":\"1,789 €\""),
    ])
  func meaning(lines: String, types: String, first: String) throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV("a;b\n" + lines) {
      $0.header = .firstRecord
      $0.delimiter = ";"
    }
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    let columns = try database.snapshot().table("t").columns.map { column in
      column.name + " " + column.type.name
        + (column.notation.map { " " + $0.patterns.joined(separator: "+") } ?? "")
    }
    try database.close()
    #expect(columns.joined(separator: ", ") == types, "\(lines)")
    #expect(report.rejected == 0)
    #expect(try folder.exportText(.jsonl).split(separator: "\n")[0].hasPrefix("{\(first)"))
  }

  /// A third column with both marks leaves the columns as they were.
  @Test func bothMarks() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a;b;c\n1,50;1.234;1.5\n2,5;5.678;2.5\n") { $0.delimiter = ";" }
    #expect(try folder.types() == "a double, b double, c double")
  }

  /// What the user gives counts more, and so does the table.
  @Test func whatIsToldStays() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a;b\n1,50;1.234\n2,5;5.678\n") {
      $0.delimiter = ";"
      $0.types = .named(["b": .double])
    }
    #expect(try folder.types() == "a double, b double")
    let told = try ImportFolder()
    try told.importCSV("a;b\n1.50;1,234\n2.5;5,678\n") {
      $0.delimiter = ";"
      $0.types = .named(["b": .text])
    }
    #expect(try told.types() == "a double, b text")
    // An existing column keeps its type.
    let there = try ImportFolder()
    try there.importCSV("a;b\n1,50;1.25\n") { $0.delimiter = ";" }
    let report = try there.importCSV("a;b\n1,50;1.234\n") { $0.delimiter = ";" }
    #expect(try there.types() == "a double, b double")
    #expect(!report.notes.contains { $0.contains("it is text") }, "\(report.notes)")
  }

  /// Every night reads numbers alike, also a night whose other columns show nothing.
  @Test func nights() throws {
    let folder = try ImportFolder()
    for night in ["1.5;1,234\n", "7;2,345\n", "1.25;1,234,567\n"] {
      let report = try folder.importCSV("a;b\n" + night) { $0.delimiter = ";" }
      #expect(report.rejected == 0)
    }
    #expect(try folder.types() == "a double, b int")
  }
}
