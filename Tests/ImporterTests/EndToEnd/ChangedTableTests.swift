import Engine
import Testing

@testable import Importer

/// After every kind of change to an imported table it is exported, checked, queried, compacted and
/// imported into as before.
@Suite("Changed tables and imports")
struct ChangedTableTests {
  private static let count = 3000

  private static func csv(_ rows: Range<Int> = 0..<count) -> String {
    var csv = "id,size,when,word\n"
    for row in rows {
      csv += "\(row),\(row % 50).5\(row % 2 == 0 ? "0" : ""),2018-0\(row % 9 + 1)-11,w\(row % 9)\n"
    }
    return csv
  }

  /// The expected CSV: chosen and renamed columns, with others behind them.
  private static func expected(
    _ csv: String, _ columns: [(from: String, to: String)], added: (name: String, value: String)?
  ) -> String {
    let lines = csv.split(separator: "\n").map { $0.split(separator: ",").map(String.init) }
    let places = columns.compactMap { column in lines[0].firstIndex(of: column.from) }
    return lines.enumerated().map { number, fields in
      var row =
        number == 0 ? columns.map { $0.to } : places.map { fields[$0] }
      if let added { row.append(number == 0 ? added.name : added.value) }
      return row.joined(separator: ",") + "\n"
    }.joined()
  }

  enum Change: String, CaseIterable {
    case rename, remove, addNull, addDefault, widen, key, noKey, notNull, renameTable, several
  }

  private func make(_ change: Change, _ transaction: borrowing WriteTransaction) throws -> String {
    let table = try transaction.table("t")
    let all = [("id", "id"), ("size", "size"), ("when", "when"), ("word", "word")]
    switch change {
    case .rename:
      try table.renameColumn("size", to: "Größe")
      return Self.expected(
        Self.csv(), [("id", "id"), ("size", "Größe"), ("when", "when"), ("word", "word")],
        added: nil)
    case .remove:
      try table.removeColumn("size")
      return Self.expected(
        Self.csv(), [("id", "id"), ("when", "when"), ("word", "word")], added: nil)
    case .addNull:
      try table.addColumn(Column("more", .int))
      return Self.expected(Self.csv(), all, added: ("more", ""))
    case .addDefault:
      try table.addColumn(Column("more", .double, nullable: false, default: .double(2.5)))
      return Self.expected(Self.csv(), all, added: ("more", "2.5"))
    case .widen:
      for column in ["id", "size", "when"] { try table.widenColumn(column, to: .text) }
    case .key: try table.setKey("id")
    case .noKey:
      try table.setKey("id")
      try table.removeKey()
    case .notNull: for column in table.columns { try table.setNullable(column.name, false) }
    case .renameTable:
      try transaction.renameTable("t", to: "u")
      try transaction.createTable("t", columns: [Column("x", .int)])
      try transaction.deleteTable("t")
      try transaction.renameTable("u", to: "t")
    case .several:
      try table.widenColumn("id", to: .double)
      try table.removeColumn("when")
      try table.addColumn(Column("more", .text, default: .text("x")))
      try table.renameColumn("word", to: "when")
      return Self.expected(
        Self.csv(), [("id", "id"), ("size", "size"), ("word", "when")], added: ("more", "x"))
    }
    return Self.csv()
  }

  @Test("Export, check, query, use, compaction", arguments: Change.allCases)
  func reads(change: Change) throws {
    let folder = try ImportFolder()
    try folder.importCSV(Self.csv()) { $0.batchSize = .records(500) }
    var database = try Database.open(folder.database)
    // Overlays, before the change and after it.
    func touch() throws {
      try database.write { transaction in
        let table = try transaction.table("t")
        for key in stride(from: 7, to: 3000, by: 400) {
          let row = try #require(try table.row(forKey: Int64(key)))
          let name = table.columns[0].name
          try table.update(Int64(key), [name: row.values[0]])
        }
      }
    }
    let isSpellingKept = change != .several
    try touch()
    let expected = try database.write { try make(change, $0) }
    // A double that is written again gets its canonical spelling.
    if isSpellingKept { try touch() }
    try database.close()
    for isCompacted in [false, true] {
      #expect(try folder.exportText() == expected)
      try folder.expectSound()
      database = try Database.open(folder.database)
      try expectReadable(database, nulls: change == .addNull ? Self.count : 0)
      if !isCompacted { #expect(try database.compact().decision == .compacted) }
      try database.close()
    }
  }

  private func expectReadable(_ database: Database, nulls: Int) throws {
    let table = try database.snapshot().table("t")
    let word = try #require(table.columns.last { $0.name == "word" || $0.name == "when" })
    #expect(try Query(column(word.name) == "w4").count(in: table) == (Self.count + 4) / 9)
    let use = try database.tableUse("t")
    #expect(use.columns.map(\.column) == table.columns)
    #expect(use.objects == Self.count)
    for column in use.columns {
      #expect(column.nulls == (column.column.name == "more" ? nulls : 0))
    }
  }

  @Test("An import goes into the changed table; columns it does not know get their default")
  func importing() throws {
    let folder = try ImportFolder()
    try folder.importCSV(Self.csv(0..<50))
    let database = try Database.open(folder.database)
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.removeColumn("size")
      try table.addColumn(Column("more", .int, default: .int(4)))
      try table.setDefault("word", .text("none"))
    }
    try database.close()
    // `size` comes back as a new column, without the old values.
    let report = try folder.importCSV(Self.csv(50..<60), as: "more.csv")
    #expect(report.imported == 10)
    let lines = try folder.exportText().split(separator: "\n").map(String.init)
    #expect(lines[0] == "id,when,word,more,size")
    #expect(lines[50] == "49,2018-05-11,w4,4,")
    #expect(lines[51] == "50,2018-06-11,w5,4,0.50")
    #expect(lines.count == 61)
    try folder.expectSound()
  }

  @Test("An import widens a column with a default, which stays readable")
  func widening() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\n")
    let database = try Database.open(folder.database)
    try database.write { try $0.table("t").setDefault("a", .int(5)) }
    try database.close()
    try folder.importCSV("a,b\nword,y\n", as: "more.csv")
    let again = try Database.open(folder.database)
    let key = try again.write { try $0.table("t").insert(["b": .text("z")]) }
    #expect(try again.snapshot().table("t").row(forKey: key)?["a"] == .text("5"))
    try again.close()
    try folder.expectSound()
  }
}
