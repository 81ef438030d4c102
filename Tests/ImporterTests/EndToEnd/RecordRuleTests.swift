import Engine
import TestSupport
import Testing

@testable import Importer

/// Records that are rejected because of their values: `--check` and `--not-null`.
@Suite struct RecordRuleTests {
  private func rules(_ expressions: String...) throws -> [RecordRule] {
    try expressions.map { try RecordRule($0) }
  }

  private let csv = #"""
    id,price,qty,name
    1,5.00,3,a
    2,-1,3,b
    3,,3,c
    4,7.5,x,d
    5,7,2000,e
    6,8,5,
    7,8,,"g, ""h"""

    """#

  @Test("What is false is rejected, what is unknown passes, and every reject says why")
  func reasons() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV(csv) {
      $0.rules = try rules("price >= 0 and qty < 1000", "name != 'd'")
      $0.requiredColumns = ["name"]
      $0.types = .named(["qty": .int])
      $0.maxRejects = .unlimited
    }
    #expect(report.imported == 3 && report.rejected == 4)
    #expect(
      try folder.exportText() == "id,price,qty,name\n1,5.00,3,a\n3,,3,c\n7,8,,\"g, \"\"h\"\"\"\n")
    let reasons = try folder.text("t.rejects.csv.reasons.jsonl").split(separator: "\n")
    for (reason, words) in zip(
      reasons,
      [
        "the record does not pass --check 'price >= 0 and qty < 1000'",
        "'x' in column 'qty' is not an int",
        "the record does not pass --check 'price >= 0 and qty < 1000'",
        "null where column 'name' allows none",
      ])
    {
      #expect(reason.contains(words), "\(reason)")
    }
    #expect(
      reasons[0].contains("\"record\":2,\"line\":3,") && reasons[0].contains("\"column\":null"))
    let rejects = "id,price,qty,name\n2,-1,3,b\n4,7.5,x,d\n5,7,2000,e\n6,8,5,\n"
    #expect(try folder.text("t.rejects.csv") == rejects)
    try folder.expectSound()
  }

  /// Whatever the batches, parsers and kind of import, the rows are those of a query over all.
  @Test(arguments: Effort.seeds(1..<6), [false, true])
  func asAQueryHasIt(seed: UInt64, isKeyed: Bool) throws {
    var random = SplitMix64(seed: seed)
    let rows = (1...Int.random(in: 1...2500, using: &random)).map { id in
      let word = ["x", "\"y\"\"z\"", "", "\"\""].randomElement(using: &random) ?? ""
      let number =
        Int.random(in: 0..<5, using: &random) == 0
        ? "" : "\(Int.random(in: -9...9, using: &random))"
      return "\(id),\(number),\(word),$\(Int.random(in: 1...9, using: &random)).50\n"
    }
    let csv = "id,n,w,p\n" + rows.joined()
    let expressions = [
      "n > 0", "n is null or p < 5", "not (w == 'x' and n < 3)", "w contains '\"'", "p == '$2.50'",
    ]
    let expression = expressions.randomElement(using: &random) ?? ""
    let batch =
      [ImportOptions.BatchSize.records(7), .records(1000), .all].randomElement(using: &random)
      ?? .all
    func change(_ options: inout ImportOptions) {
      options.header = .firstRecord
      options.batchSize = batch
      options.maxRejects = .unlimited
      if isKeyed { options.key = "id" }
    }
    let (whole, checked) = (try ImportFolder(), try ImportFolder())
    try whole.importCSV(csv, change)
    let report = try checked.importCSV(csv) {
      change(&$0)
      $0.rules = try rules(expression)
    }
    let database = try Database.open(whole.database)
    defer { try? database.close() }
    let table = try database.snapshot().table("t")
    var refused: Set<Int64> = []
    for row in try Query(.not(try Predicate(expression))).rows(in: table) {
      if case .int(let id)? = row["id"] { refused.insert(id) }
    }
    let kept = rows.enumerated().filter { !refused.contains(Int64($0.offset + 1)) }.map(\.element)
    let note = "seed \(seed), \(expression), \(batch)"
    #expect(report.rejected == refused.count && report.imported == kept.count, "\(note)")
    // Quotes without need are not written.
    func plain(_ text: String) -> String { text.replacing("\"\"", with: "") }
    #expect(plain(try checked.exportText()) == plain("id,n,w,p\n" + kept.joined()), "\(note)")
  }

  @Test("A compared column keeps the type of its first values; what does not fit is rejected")
  func types() throws {
    let good = (1...2000).map { "\($0),x\n" }.joined()
    let folder = try ImportFolder()
    let report = try folder.importCSV("n,w\n" + good + "abc,y\n1.5,z\n7,w\n") {
      $0.rules = try rules("n > 0")
      $0.maxRejects = .unlimited
    }
    #expect(try folder.types() == "n int, w text")
    #expect(report.rejected == 2 && report.imported == 2001)
    #expect(
      report.notes.contains { $0.contains("as --where, --check or --newer-than compares it") },
      "\(report.notes)")
    // The next night, too; and the table's type counts, not that of the night's first values.
    let next = try folder.importCSV("n,w\n-1,x\nabc,y\n5,z\n") {
      $0.rules = try rules("n > 0")
      $0.maxRejects = .unlimited
      $0.header = .firstRecord
    }
    #expect(next.rejected == 2 && next.imported == 1)
  }

  @Test("What no record can be asked is refused before there is a database")
  func mistakes() throws {
    for expression in ["prise > 0", "name > 5", "price is true", "price contains 'x'"] {
      let folder = try ImportFolder()
      #expect(throws: ImportError.self, "\(expression)") {
        try folder.importCSV(csv) { $0.rules = try rules(expression) }
      }
      #expect(folder.names() == ["t.csv"])
    }
    let folder = try ImportFolder()
    #expect(throws: ImportError.self) {
      try folder.importCSV(csv) { $0.requiredColumns = ["nme"] }
    }
    #expect(throws: QueryError.self) { try rules("price >") }
  }

  @Test("Another rule is another import")
  func resumed() throws {
    let folder = try ImportFolder()
    let csv = "n\n" + (1...900).map { "\($0)\n" }.joined()
    let stops = CallCounter()
    try folder.importCSV(csv) {
      $0.header = .firstRecord
      $0.batchSize = .records(100)
      $0.rules = try rules("n > 0")
      $0.shouldStop = { stops.next() > 4 }
    }
    #expect(throws: ImportError.self) {
      try folder.importCSV(csv) {
        $0.header = .firstRecord
        $0.batchSize = .records(100)
        $0.rules = try rules("n > 1")
        $0.resume = true
      }
    }
    try folder.importCSV(csv) {
      $0.header = .firstRecord
      $0.batchSize = .records(100)
      $0.rules = try rules("n > 0")
      $0.resume = true
    }
    #expect(try folder.exportText() == csv)
  }
}
