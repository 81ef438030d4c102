import Engine
import Testing

@testable import Importer

/// Inputs whose columns differ from those of the table: each difference is reported.
@Suite("Inputs that drift") struct DriftTests {
  private func folder(_ csv: String = "id,price,name\n1,2,a\n2,3,b\n") throws -> ImportFolder {
    let folder = try ImportFolder()
    let report = try folder.importCSV(csv)
    #expect(report.notes == [], "the first input makes the table")
    return folder
  }

  /// The notes of a report, without the input's name.
  private func notes(_ report: ImportReport, _ folder: ImportFolder) -> [String] {
    report.notes.map { $0.replacing(folder.path("t.csv") + ": ", with: "") }
  }

  private func refusal(
    _ folder: ImportFolder, _ csv: String, _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> String {
    let before = try folder.export()
    var text = "nothing was thrown"
    do {
      _ = try folder.importCSV(csv, change)
    } catch let error as ImportError {
      if case .unlikeTable = error { text = error.description } else { text = "other: \(error)" }
    }
    #expect(try folder.export() == before)
    return text
  }

  @Test("Columns that are new, missing, or named almost alike")
  func columns() throws {
    let folder = try folder()
    let report = try folder.importCSV("id,Price ,more,name\n3,4,5,c\n")
    #expect(
      notes(report, folder) == [
        "the table does not have the column 'more' yet: it is added",
        "column 'Price' is added beside the table's column 'price', whose name differs in case or blanks "
          + "only; if they are the same: --rename Price:price",
        "the input does not have the table's column 'price': new objects get null there",
      ])
    #expect(report.files[0].notes == notes(report, folder))
    #expect(report.files[0].columns.map(\.name) == ["id", "Price", "more", "name"])
    #expect(report.files[0].dialect == report.dialect && report.dialect != nil)
    // The remedy that the note names.
    let other = try self.folder()
    let renamed = try other.importCSV("id,Price,name\n3,4,c\n") { $0.renames = ["Price": "price"] }
    #expect(renamed.notes == [])
    #expect(try other.exportText() == "id,price,name\n1,2,a\n2,3,b\n3,4,c\n")
    // Only the name that it gets may be like another one.
    let costs = try self.folder()
    let away = try costs.importCSV("id,price,name\n3,4,c\n") { $0.renames = ["price": "cost"] }
    #expect(
      notes(away, costs) == [
        "the table does not have the column 'cost' yet: it is added",
        "the input does not have the table's column 'price': new objects get null there",
      ])
    let like = try costs.importCSV("id,price,name\n3,4,c\n") { $0.renames = ["price": "Name"] }
    #expect(
      notes(like, costs)[0]
        == "column 'Name' is added beside the table's column 'name', whose name differs "
        + "in case or blanks only; if they are the same: --rename price:name")
    // A column that is left out by an option is not missing.
    let chosen = try other.importCSV("id,price,name\n4,5,d\n") { $0.columns = ["id", "name"] }
    #expect(chosen.notes == [])
  }

  @Test("Objects that are replaced lose what the input does not have, and the note says so")
  func replaced() throws {
    let folder = try ImportFolder()
    _ = try folder.importCSV("id,price\n1,2\n2,3\n") { $0.keys = ["id"] }
    let report = try folder.importCSV("id\n1\n") { $0.conflictPolicy = .replace }
    #expect(
      notes(report, folder) == [
        "the input does not have the table's column 'price': new and replaced objects get null there"
      ])
    #expect(try folder.exportText() == "id,price\n1,\n2,3\n")
  }

  @Test("Later numbers mean what they would mean in one file with the table's whole numbers")
  func numbersAfterWholeOnes() throws {
    for (later, type) in [
      (["1,234", "2,500"], "text"), (["12,5", "7,25"], "double"), (["1,234.5"], "double"),
      (["1,234,567"], "int"), (["$5.00", "$6.50"], "decimal"), (["12.5"], "double"),
      (["12.5%"], "text"), (["0.12345678901234567891"], "decimal"),
    ] {
      let rows = (["5", "7"] + later).map { "\($0);x\n" }
      func load(_ folder: ImportFolder, _ rows: ArraySlice<String>) throws -> ImportReport {
        try folder.importCSV("n;t\n" + rows.joined()) { $0.delimiter = ";" }
      }
      let (whole, parts) = (try ImportFolder(), try ImportFolder())
      _ = try load(whole, rows[...])
      _ = try load(parts, rows[..<2])
      #expect(try parts.types() == "n int, t text")
      _ = try load(parts, rows[2...])
      #expect(try whole.types() == "n \(type), t text", "\(later)")
      #expect(try parts.types() == whole.types(), "\(later)")
      #expect(try parts.exportText() == whole.exportText())
      #expect(try parts.exportText(.jsonl) == whole.exportText(.jsonl))
    }
  }

  @Test("A header that nothing but its words shows is doubted until the table has its names")
  func doubtedHeader() throws {
    let folder = try ImportFolder()
    let isDoubted = { (csv: String) in
      try folder.importCSV(csv).notes.contains { $0.contains("--header no") }
    }
    #expect(try isDoubted("apple,red\npear,green\nplum,blue\ncherry,pink\n"))
    #expect(try !isDoubted("apple,red\nfig,violet\nlime,yellow\nmelon,orange\n"))
    #expect(try isDoubted("apple,blue\nkiwi,brown\nsloe,black\nquince,gold\n"))
  }

  @Test("A header of which an option names a column is not doubted")
  func namedHeader() throws {
    let csv = "apple,red\npear,green\nplum,blue\ncherry,pink\n"
    let named: [(inout ImportOptions) -> Void] = [
      { $0.columns = ["red"] }, { $0.keys = ["apple"] }, { $0.types = .named(["red": .text]) },
      { $0.renames = ["apple": "fruit"] },
    ]
    for setting in named {
      let notes = try ImportFolder().importCSV(csv, setting).notes
      #expect(!notes.contains { $0.contains("--header no") }, "\(notes)")
    }
    let others = try ImportFolder().importCSV(csv) { $0.types = .text }.notes
    #expect(others.contains { $0.contains("--header no") }, "\(others)")
  }

  @Test("Blanks inside and characters that are not seen are no other name either")
  func blanks() throws {
    for name in ["unit  price", "UnitPrice", "unit\u{A0}price", "\u{200B}Unit Price", "UNIT PRICE"]
    {
      let folder = try folder("id,unit price\n1,2\n")
      let report = try folder.importCSV("id,\(name)\n3,4\n")
      #expect(
        report.notes.contains { $0.contains("beside the table's column 'unit price'") }, "\(name)")
    }
  }

  @Test("A dry run notes the same, and refuses the same")
  func dryRun() throws {
    let folder = try folder()
    let report = try folder.importCSV("id,more,name\n3,4,c\n") { $0.dryRun = true }
    #expect(report.notes.count == 2)
    #expect(try refusal(folder, "x,y\n1,2\n") { $0.dryRun = true }.contains("no name is the same"))
  }

  @Test("A column that had a type before, widened by this run's first record")
  func widened() throws {
    let folder = try folder()
    let report = try folder.importCSV("id,price,name\n3,4.5,c\n4,soon,d\n")
    #expect(
      notes(report, folder) == [
        "column 'price' was int and is text now, because of a value at line 2"
      ])
    #expect(report.columns[1].widened == .init(from: .int, to: .text, line: 2))
    // Also if the sample suggests other spellings.
    let other = try self.folder()
    let comma = try other.importCSV("id;price;name\n3;4,5;c\n4;5,5;d\n")
    #expect(comma.columns[1].widened?.from == .int && comma.columns[1].widened?.line == 2)
    // By a later input.
    try other.write("a.csv", Array("id,name\n5,e\n".utf8))
    try other.write("b.csv", Array("id,name\nsix,f\n".utf8))
    try other.write("c.csv", Array("id,name\n7,g\n".utf8))
    let several = try other.importCSV("id,name\n8,h\n") {
      $0.inputs = ["a.csv", "b.csv", "c.csv"].map(other.path)
    }
    #expect(
      several.files.map { $0.notes.filter { $0.contains("was int") } } == [
        [], ["column 'id' was int and is text now, because of a value at line 2"], [],
      ])
    #expect(
      several.files.map { $0.columns.map(\.name) } == Array(repeating: ["id", "name"], count: 3))
  }

  @Test("An input that shares no name with the table")
  func otherTable() throws {
    let folder = try folder()
    #expect(
      try refusal(folder, "x,y\n1,2\n").contains("no name is the same; is it the right file?"))
    #expect(try refusal(folder, "ID,NAME\n1,2\n").hasSuffix("--rename ID:id,NAME:name"))
    #expect(
      try refusal(folder, "x,y\n1,2\n") { $0.truncate = true }.contains("no name is the same"))
    #expect(try refusal(folder, "1,2\n3,4\n").contains("it seems to have no header"))
    #expect(
      try refusal(folder, "id,y\n1,2\n") { $0.columns = ["y"] }.contains("no name is the same"))
    let report = try folder.importCSV("x,y\n7,8\n") { $0.newColumns = true }
    #expect(report.notes.count == 2)
    #expect(try folder.exportText().hasSuffix(",,,7,8\n"))
  }

  @Test("Records without names go into a table without names by position")
  func byPosition() throws {
    // The first record of texts looks like a header.
    let folder = try folder("a1,2,x\n5,6,y\n")
    let typed = try folder.importCSV("q,7,z\nr,8,w\n")
    #expect(typed.notes == [] && typed.imported == 2)
    let text = try ImportFolder()
    try text.importCSV("a,b\na,c\n")
    let second = try text.importCSV("d,e\nf,g\n")
    #expect(second.imported == 2 && second.dialect?.hasHeader == false)
    #expect(second.notes.count == 1 && second.notes[0].contains("begins with 'd', was imported"))
    #expect(try text.exportText() == "column1,column2\na,b\na,c\nd,e\nf,g\n")
    // The same again, and with several inputs.
    try text.write("u.csv", Array("h,i\n".utf8))
    let more = try text.importCSV("j,k\n") { $0.inputs = ["t.csv", "u.csv"].map(text.path) }
    #expect(more.imported == 2)
    // The same input is recognized.
    let again = try text.importCSV("j,k\n") { $0.resume = true }
    #expect(again.isNothingToDo)
    try text.expectSound()
  }

  @Test("A header that has lost a name does not move values into the columns beside their own")
  func aLostName() throws {
    let rows = "x,1,2\ny,3,4\nz,5,6\n"
    let folder = try folder("a,b,c\n" + rows)
    #expect(try refusal(folder, "a,b\n" + rows).contains("no column 'column1'"))
    // A table that began in this way continues in it.
    let named = try ImportFolder()
    let first = try named.importCSV("b,c\n" + rows)
    #expect(first.imported == 3 && first.notes.contains { $0.contains("names of rows") })
    #expect(try named.importCSV("b,c\n" + rows).imported == 3)
    #expect(try named.exportText().hasPrefix("column1,b,c\nx,1,2\n"))
  }

  @Test("What does not fit a table without names is refused, not lost")
  func notByPosition() throws {
    let folder = try folder("a1,2,x\n5,6,y\n")
    #expect(try refusal(folder, "q,n/a,z\nr,8,w\n").contains("--header no if it is a record"))
    #expect(try refusal(folder, "id,price,name\nr,8,w\n").contains("--header no if it is a record"))
    #expect(
      try refusal(folder, "r,8\ns,9\n").contains("have 2 fields, and the table has 3 columns"))
    #expect(try refusal(folder, "r,8,9,1\n2,3,4,5\n").contains("add the others with --new-columns"))
    #expect(try folder.importCSV("q,n/a,z\nr,8,w\n") { $0.header = .absent }.imported == 2)
    let padded = try folder.importCSV("r,8\ns,9\n") { $0.ragged = .pad }
    #expect(padded.notes.count == 1 && padded.imported == 2)
    #expect(
      try folder.importCSV("id,price,name\nr,8,w\n") {
        $0.header = .firstRecord
        $0.newColumns = true
      }.imported == 1)
  }

  @Test("A column that the table needs and the input has lost is the input's fault")
  func missing() throws {
    let folder = try ImportFolder()
    try folder.importCSV("id,price\n1,2\n") { $0.key = "id" }
    func lost(_ csv: String, _ change: (inout ImportOptions) -> Void = { _ in }) throws -> String? {
      do {
        _ = try folder.importCSV(csv, change)
      } catch ImportError.missingColumn(_, let name, _) {
        return name
      }
      return nil
    }
    #expect(try lost("number,price\n1,2\n") == "id")
    #expect(try lost("number,price\n1,2\n") { $0.key = "id" } == "id")
    #expect(try lost("id,cost\n1,2\n") { $0.types = .named(["price": .int]) } == "price")
    #expect(try lost("id,cost\n1,2\n") { $0.columns = ["id", "price"] } == "price")
    #expect(try lost("id,cost\n1,2\n") { $0.renames = ["Preis": "price"] } == "Preis")
    #expect(
      throws: ImportError.noSuchColumn(name: "nobody", known: ["id", "price"])
    ) { try folder.importCSV("id,price\n1,2\n") { $0.types = .named(["nobody": .int]) } }
  }
}
