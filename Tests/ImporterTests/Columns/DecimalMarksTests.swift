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
      // Amounts and shares show it too, and a word for null hides nothing.
      ("1,50 €;1.234\n2,50 €;5.678\n", "a decimal 1.234,5 €, b text", "\"a\":1.5,\"b\":\"1.234\""),
      ("1,5%;1.234\n2,25%;5.678\n", "a decimal 1.234,5%, b text", "\"a\":0.015,\"b\":\"1.234\""),
      ("$1.50;1,234\n$2.25;567\n", "a decimal $1,234.5, b int 1,234", "\"a\":1.5,\"b\":1234"),
      ("5 €;1.234\n7 €;5.678\n", "a decimal 1,234.5 €, b double", "\"a\":5,\"b\":1.234"),
      ("1,50;1.234\n2,5;NA\n", "a double 1,5, b text", "\"a\":1.5,\"b\":\"1.234\""),
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

  /// A column of whole numbers in the table is no evidence that points in it are decimal ones, nor is one at
  /// the beginning of an input.
  @Test(
    "A later point before three digits is no decimal one beside decimal commas", arguments: [2, 0])
  func laterPoints(nights: Int) throws {
    for (other, later) in [("1,5", "2,75"), ("1,5", "2"), ("1,50 €", "2,75 €")] {
      let folder = try ImportFolder()
      let whole = (0..<1500).map { "\(900 + $0 % 90);\(other)\n" }.joined()
      let points = "1.234;\(later)\n"
      let parts = nights == 0 ? [whole + points] : [whole, points]
      var notes: [String] = []
      for part in parts {
        let report = try folder.importCSV("v;w\n" + part) { $0.delimiter = ";" }
        #expect(report.rejected == 0)
        notes = report.notes
      }
      #expect(try folder.types().hasPrefix("v text, w "), "\(other)")
      #expect(try folder.exportText(.jsonl).contains("{\"v\":\"1.234\","))
      #expect(notes.contains { $0.contains("'v' was int and is text now") }, "\(notes)")
      #expect(notes.contains { $0.contains("is text: '1.234' may be 1234") }, "\(notes)")
    }
    // Beside null words it would be read as another number without a note: it is rejected.
    let folder = try ImportFolder()
    let rows = "NA;1,5\n" + (0..<1500).map { "\($0);1,5\n" }.joined() + "1.234;1,5\n"
    let report = try folder.importCSV("v;w\n" + rows) {
      $0.delimiter = ";"
      $0.maxRejects = .unlimited
    }
    #expect(try report.rejected == 1 && folder.types() == "v int, w double")
    // In the first records the column becomes text with them; other doubles are doubles.
    for (first, second, type, value) in [
      ("5;1,5\n6;2,5\n", "NA;1,5\n1.234;2,5\n7;3,5\n", "text", "\"1.234\""),
      ("5;1,5\n6;2,5\n", "NA;1,5\n1e5;2,5\n7;3,5\n", "double", "1e5"),
      ("", "NA;1,5\n1e5;2,5\n7;3,5\n", "double", "1e5"),
      ("100;1,5\n2000;2,5\n", "1e5;1,5\n3;3,5\n", "double", "1e5"),
      ("", "1e5;1,5\n2E3;2,5\n", "double", "1e5"),
      (";1,5\n;2,5\n", "1.234;1,5\n", "text", "\"1.234\""),
      ("", (0..<1500).map { _ in ";1,5\n" }.joined() + "1.234;1,5\n", "text", "\"1.234\""),
    ] {
      let folder = try ImportFolder()
      for lines in [first, second] where !lines.isEmpty {
        let report = try folder.importCSV("v;w\n" + lines) { $0.delimiter = ";" }
        #expect(report.rejected == 0)
      }
      #expect(try folder.types() == "v \(type), w double", "\(first)\(second)")
      let exported = try folder.exportText(.jsonl)
      #expect(exported.contains("{\"v\":\(value),"), "\(exported.suffix(200))")
    }
    // What the user says of numbers is no doubt.
    for option: (inout ImportOptions) -> Void in [
      { $0.decimalMark = .point }, { $0.hasNoThousands = true },
    ] {
      let told = try ImportFolder()
      try told.importCSV("v;w\n5;a\n6;b\n") { $0.delimiter = ";" }
      try told.importCSV("v;w;x\n1.234;c;1,5 €\n2;d;2,75 €\n") {
        $0.delimiter = ";"
        option(&$0)
      }
      #expect(try told.types().hasPrefix("v double, w text"))
    }
    // The table's points stay points.
    let double = try ImportFolder()
    try double.importCSV("v;w\n1.5;a\n") { $0.delimiter = ";" }
    try double.importCSV("v;w;x\n1.234;b;1,5\n2;c;2,75\n") { $0.delimiter = ";" }
    #expect(try double.types() == "v double, w text, x double")
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
