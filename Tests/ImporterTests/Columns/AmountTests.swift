import TestSupport
import Testing

@testable import Engine
@testable import Importer

/// Amounts of money, shares, long decimals and UUIDs: what is found in columns, what is noted, and what
/// is neither.
@Suite struct AmountTests {
  private func found(_ values: [String], delimiter: UInt8 = 0x3B) -> [String] {
    let finder = NotationFinder(toldFormats: [], toldNumbers: nil, delimiter: delimiter)
    return finder.candidates(values.map { Array($0.utf8) }).map {
      "\($0.reading.type.name) \($0.reading.notation?.description ?? "plain")"
    }
  }

  @Test(
    "Notations of amounts are found",
    arguments: [
      (["0", "$4.99"], "decimal $1,234.5"), (["$65,000", "$120,500"], "decimal $1,234.5"),
      (["1.234,56 €", "5,00 €"], "decimal 1.234,5 €"), (["€5"], "decimal €1,234.5"),
      (["CHF 1'234.50", "CHF 5.10"], "decimal CHF 1'234.5"),
      (["12 %", "12.5 %"], "decimal 1,234.5 %"),
      (["12,5%", "3%"], "decimal 1.234,5%"), (["($5.00)", "$7.10"], "decimal $1,234.5"),
      (["-$5", "$ 5"], "decimal $1,234.5"), (["1 234,50 zł", "5 zł"], "decimal 1 234,5 zł"),
      (["R$ 1.234,50"], "decimal R$ 1.234,5"), (["1234.5 USD", "7 USD"], "decimal 1,234.5 USD"),
      (["3.459%", "1%"], "decimal 1,234.5%"), (["0,089 €", "1,789 €"], "decimal 1.234,5 €"),
      (["0.12345678901234567891", "1.5"], "decimal plain"),
      (
        ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "F81D4FAE-7DEC-11D0-A765-00A0C91E6BF7"],
        "uuid plain"
      ),
      (["{f81d4fae-7dec-11d0-a765-00a0c91e6bf6}"], "uuid plain"),
    ])
  func isFound(values: [String], reading: String) {
    #expect(found(values) == [reading])
  }

  @Test(
    "May mean two things",
    arguments: [["€ 1.234"], ["1,789 €", "1,799 €"], ["$3.459", "$3.479"], ["1,234%"]])
  func isAmbiguous(values: [String]) {
    #expect(found(values).count == 2)
  }

  @Test(
    "Neither amount nor UUID",
    arguments: [
      ["$5", "€5"], ["$5", "5%"], ["5%", "7"], ["$5", "free"], ["$", "$5"], ["$5-$10"], ["TOP 10"],
      ["PHP 7"],
      ["$1,23,4"], ["5 kg"], ["$5.00.00"], ["12345678901234567890123"], ["1e400"],
      ["0.12345678901234567891", "12345678901234567890123"], ["0.12345678901234567891", "inf"],
      ["0.123456789012345678901234567890123456789"], ["f81d4fae7dec11d0a76500a0c91e6bf6"],
      ["f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "x"], ["5", "7"], ["$1.5e3x"], ["100%%"], [],
    ])
  func isNothing(values: [String]) {
    #expect(found(values) == [])
  }

  private static let id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf"

  @Test("Night after night, one table; what does not fit makes the column text")
  func nights() throws {
    let folder = try ImportFolder()
    func night(_ csv: String) throws -> String {
      let report = try folder.importCSV("p,u,l\n" + csv) { $0.header = .firstRecord }
      #expect(report.rejected == 0)
      return try folder.types()
    }
    let id = Self.id
    let types = "p decimal, u uuid, l decimal"
    #expect(try night("$1.50,\(id)6,0.12345678901234567891\n0,\(id)7,2\n") == types)
    #expect(try night("\"$2,000\",\(id)8,3\n,,\n") == types)
    #expect(try night(",,\n") == types)
    #expect(try night("€5,\(id)8,3\n") == "p text, u uuid, l decimal")
    #expect(try night("5,none,1e99\n") == "p text, u text, l text")
    let text = try folder.exportText()
    #expect(text.contains("\"$2,000\",\(id)8,3\n") && text.contains("5,none,1e99\n"))
    try folder.expectSound()
  }

  @Test("A value that is none, behind the first records")
  func late() throws {
    for (good, bad, type) in [
      ("$5", "€5", "decimal"), ("\(Self.id)6", "x", "uuid"),
      ("0.12345678901234567891", "12345678901234567890123456789012345678901", "decimal"),
    ] {
      let csv = "v,n\n" + (1...2500).map { "\(good),\($0)\n" }.joined()
      for batch in [ImportOptions.BatchSize.records(10), .records(1000), .all] {
        let folder = try ImportFolder()
        var report = try folder.importCSV(csv) { $0.batchSize = batch }
        #expect(try folder.types() == "v \(type), n int")
        report = try folder.importCSV(csv + "\(bad),1\n") {
          $0.batchSize = batch
          $0.truncate = true
        }
        #expect(try folder.types() == "v text, n int")
        #expect(report.columns[0].widened?.from.name == type, "\(batch): \(good)")
        #expect(try folder.exportText() == csv + "\(bad),1\n")
      }
    }
  }

  @Test("Types that are told are strict")
  func told() throws {
    let folder = try ImportFolder()
    let id = "f81d4fae7dec11d0a76500a0c91e6bf6"
    let report = try folder.importCSV(
      "a,u,b\n$5,\(id),1.50\n€7,\(id),2\n$6,x,3\n$7,\(id),x\n8,,1e99\n9,,1e3\n"
    ) {
      $0.types = .named(["a": .decimal, "u": .uuid, "b": .decimal])
      $0.maxRejects = .unlimited
      $0.header = .firstRecord
    }
    #expect(try folder.types() == "a decimal, u uuid, b decimal")
    #expect(report.imported == 2 && report.rejected == 4)
    let reasons = try folder.text("t.rejects.csv.reasons.jsonl")
    #expect(
      reasons.contains("'€7' in column 'a' is not a decimal; expected a number like $1,234.5"),
      "\(reasons)")
    #expect(reasons.contains("is not a uuid; expected 32 hexadecimal digits"), "\(reasons)")
  }

  @Test("NA among amounts and UUIDs is null")
  func missing() throws {
    let folder = try ImportFolder()
    let id = Self.id + "6"
    try folder.importCSV("p,u\n$5,\(id)\nNA,NA\n-,\(id)\n") { $0.header = .firstRecord }
    #expect(try folder.types() == "p decimal, u uuid")
    #expect(try folder.exportText() == "p,u\n$5,\(id)\n,\n,\(id)\n")
  }

  @Test(
    "Keys are compared as they are spelled: they stay text, or are spelled as their type has it")
  func keys() throws {
    let id = Self.id + "6"
    let texts = try ImportFolder()
    try texts.importCSV("u,n\n\(id),1\n\(id.uppercased()),2\n") { $0.key = "u" }
    #expect(try texts.types() == "u text, n int")
    let folder = try ImportFolder()
    var report = try folder.importCSV("u,n\n\(id),1\n\(id.uppercased()),2\n{\(id)},3\n") {
      $0.key = "u"
      $0.types = .named(["u": .uuid])
      $0.maxRejects = .unlimited
    }
    #expect(report.imported == 1 && report.rejected == 2)
    let reasons = try folder.text("t.rejects.csv.reasons.jsonl")
    #expect(reasons.contains("is not spelled as a uuid is"), "\(reasons)")
    report = try folder.importCSV("u,n\n\(id.uppercased()),2\n") { $0.maxRejects = .unlimited }
    #expect(report.rejected == 1)
    #expect(try folder.types() == "u uuid, n int")
  }

  @Test(
    "A program may make a key of UUIDs in any spelling, which are found by their value; an import refuses"
  )
  func laterKey() throws {
    let folder = try ImportFolder()
    let id = Self.id + "6"
    try folder.importCSV("u,n\n\(id.uppercased()),1\n\(Self.id)7,2\n")
    #expect(try folder.types() == "u uuid, n int")
    // It would reject the first record's key from then on.
    #expect(throws: ImportError.self) {
      try folder.importCSV("u,n\n\(Self.id)8,3\n") { $0.key = "u" }
    }
    let database = try Database.open(folder.database)
    defer { try? database.close() }
    try database.write { try $0.table("t").setKey("u") }
    let table = try database.snapshot().table("t")
    for use in [IndexPolicy.never, .always] {
      let reader = try ResultReader(Query(try Predicate("u == '\(id)'")), table, indexUse: use)
      #expect(try reader.count() == 1, "\(use)")
    }
  }
}
