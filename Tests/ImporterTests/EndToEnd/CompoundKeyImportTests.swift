import Engine
import Testing
import TestSupport

@testable import Importer

/// Imports with a primary key of several columns give what a dictionary of tuples gives, in batches and
/// chunks of any size.
@Suite struct CompoundKeyImportTests {
  private static let keys = ["store", "sku"]

  /// Parts that run together to equal texts, look like numbers, are quoted, null or empty.
  private static func input(
    _ random: inout SplitMix64, _ header: String, records: Int, wide: Bool = false,
    mayBeBad: Bool = true
  ) -> [UInt8] {
    func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
    var text = header + "\n"
    for _ in 0..<records {
      let isBad = mayBeBad && Int.random(in: 0..<40, using: &random) == 0
      let store = isBad ? pick(["", "\"\""]) : pick(["a", "ab", "1", "01", "\"a\"\"b\""])
      let sku =
        pick(["b", "bc", "c", "1", "\"b,c\""] + (mayBeBad ? ["\"\""] : []))
      let number = Int.random(in: 0..<(wide ? 90 : 6), using: &random)
      let fields = [
        "store": store, "sku": sku.hasSuffix("\"") ? sku : sku + "\(number)",
        "a": pick(["1", "2", "", "\"\""]), "b": pick(["x", "y", "4.10", ""]),
      ]
      let names = header.split(separator: ",").map(String.init)
      text += names.map { fields[$0] ?? "" }.joined(separator: ",") + "\n"
    }
    return Array(text.utf8)
  }

  private static let cuts = [1, 2, 4, 6].map { KeyedTableTests.cuts[$0] }

  @Test(
    "A key of several columns gives what a dictionary gives, however the import is cut",
    arguments: ConflictPolicy.allCases, Effort.seeds(1..<2))
  func everyCutGivesWhatADictionaryGives(policy: ConflictPolicy, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let first = Self.input(&random, "sku,a,store", records: 250, wide: true)
    let second = Self.input(&random, "b,store,a,sku", records: 300, wide: true)
    var twin = KeyTwin(columns: ["sku", "a", "store"], keys: Self.keys)
    twin.apply(first, policy)
    let firstRejects = twin.rejects.count
    twin.apply(second, policy)
    #expect(firstRejects > 0 && twin.imported > 100)
    for cut in Self.cuts {
      let note: Comment = "\(policy), \(cut), seed \(seed)"
      let folder = try ImportFolder()
      let reports = try [first, second].enumerated().map { index, input in
        try folder.importCSV(input, as: "\(index).csv") {
          cut.change(&$0, policy)
          // The table's key counts; the same columns in another order are the same key.
          $0.keys = index == 0 ? Self.keys : Self.keys.reversed()
        }
      }
      for report in reports { expectBalanced(report) }
      func sum(_ count: (ImportReport) -> Int) -> Int { reports.reduce(0) { $0 + count($1) } }
      #expect(
        [sum(\.imported), sum(\.updated), sum(\.skipped), sum(\.unchanged), sum(\.rejected)]
          == [twin.imported, twin.updated, twin.skipped, twin.unchanged, twin.rejects.count], note)
      let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
      #expect(difference == nil, "\(difference ?? ""): \(note)")
      try folder.expectSound()
    }
  }

  @Test("A keyed import that is stopped again and again ends as one that was not")
  func stoppedAgainAndAgain() throws {
    var random = SplitMix64(seed: 5)
    let input = Self.input(&random, "store,sku,a,b", records: 400)
    var twin = KeyTwin(columns: ["store", "sku", "a", "b"], keys: Self.keys)
    twin.apply(input, .update)
    let folder = try ImportFolder()
    var imported = 0
    for run in 0..<200 {
      let counter = CallCounter()
      let most = Int.random(in: 1...20, using: &random)
      let report = try folder.importCSV(input) {
        KeyedTableTests.cuts[4].change(&$0, .update)
        $0.keys = Self.keys
        ($0.batchSize, $0.resume, $0.parsers) = (.records(10), true, run % 3 + 1)
        $0.shouldStop = { counter.next() >= most }
      }
      imported += report.imported
      if !report.isInterrupted { break }
    }
    #expect(imported == twin.imported)
    #expect(try folder.export() == Array(twin.csv.utf8))
    try folder.expectSound()
  }

  @Test("Objects whose keys are missing are deleted", arguments: [false, true])
  func missingOnesAreDeleted(publishes: Bool) throws {
    var random = SplitMix64(seed: publishes ? 6 : 7)
    var twin = KeyTwin(columns: ["store", "sku", "a"], keys: Self.keys)
    let folder = try ImportFolder()
    for records in [200, 150, 20] {
      let input = Self.input(&random, "store,sku,a", records: records, mayBeBad: publishes)
      let rejects = twin.rejects.count
      twin.apply(input, .update)
      let before = twin.objects.count
      twin.deleteMissing(from: input)
      let report = try folder.importCSV(input) {
        ($0.keys, $0.conflictPolicy, $0.maxRejects) = (Self.keys, .update, .unlimited)
        if publishes {
          ($0.publication, $0.batchSize) = (.end, .records(30))
        } else {
          ($0.deletesMissing, $0.maxDeletes) = (true, .share(1))
        }
      }
      #expect(report.rejected == twin.rejects.count - rejects)
      if publishes {
        // The import deletes nothing, so the twin continues from the table's contents.
        twin = KeyTwin(columns: ["store", "sku", "a"], keys: Self.keys)
        twin.apply(try folder.export(), .update)
        #expect(report.imported + report.updated + report.unchanged > 0)
      } else {
        #expect(report.deleted == before - twin.objects.count)
        #expect(try folder.export() == Array(twin.csv.utf8))
      }
      try folder.expectSound()
    }
  }

  /// A nightly job with texts, days and numbers in its key.
  @Test func theSameFileAgain() throws {
    let folder = try ImportFolder()
    func csv(_ changed: Int?) -> String {
      "day,store,n,value\n"
        + (0..<1200).map {
          "2026-11-\(10 + $0 % 20),s\($0 / 20 % 6),\($0 / 120),\($0 == changed ? -1 : $0)\n"
        }.joined()
    }
    func change(_ options: inout ImportOptions) {
      options.keys = ["store", "day", "n"]
      options.conflictPolicy = .update
    }
    #expect(try folder.importCSV(csv(nil), change).imported == 1200)
    let size = try folder.read("t.sheaf").count
    for _ in 0..<3 {
      let again = try folder.importCSV(csv(nil), change)
      #expect(again.unchanged == 1200 && again.imported == 0 && again.updated == 0)
      #expect(try folder.read("t.sheaf").count <= size + 8192 + 16_384)
    }
    let changed = try folder.importCSV(csv(700), change)
    #expect(changed.updated == 1 && changed.unchanged == 1199)
    #expect(try folder.exportText() == csv(700))
    #expect(try folder.types().contains("day date"))
    try folder.expectSound()
  }

  /// A part is compared by its spelling, whatever type its column has.
  @Test func aPartIsWidened() throws {
    let folder = try ImportFolder()
    func change(_ options: inout ImportOptions) {
      options.keys = ["store", "sku"]
      options.conflictPolicy = .update
    }
    try folder.importCSV("store,sku,n\n1,2,a\n12,3,b\n", change)
    let wider = try folder.importCSV(
      "store,sku,n\n1,2,c\n1,x,d\n12,3,b\n1,2.5,e\n", as: "u.csv", change)
    #expect(wider.updated == 1 && wider.unchanged == 1 && wider.imported == 2)
    #expect(try folder.exportText() == "store,sku,n\n1,2,c\n12,3,b\n1,x,d\n1,2.5,e\n")
    try folder.expectSound()
  }

  @Test("The index of a key finds a number by its value, however it is spelled")
  func theIndexFindsEverySpelling() throws {
    let folder = try ImportFolder()
    try folder.importCSV("store,n,x\ns1,+5,a\ns1,6,b\ns2,5,c\ns1,-5,d\n") {
      ($0.keys, $0.types) = (["store", "n"], .named(["n": .int]))
    }
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    let table = try database.snapshot().table("t")
    for (filter, count) in [
      ("store == 's1' and n == 5", 1), ("store == 's1' and n in (5, 6, -5)", 3),
      ("store in ('s1', 's2') and n == 5", 2), ("store == 's2' and n == 6", 0),
    ] {
      let query = Query(try Predicate(filter))
      #expect(try query.explain(in: table).contains("'store', 'n'"))
      #expect(try ResultReader(query, table, indexUse: .always).count() == count, "\(filter)")
    }
    try database.close()
  }

  @Test("A record rejected for its key names the part that is empty, or the key that exists")
  func whatIsRejectedSaysWhichPart() throws {
    let folder = try ImportFolder()
    let report = try folder.importCSV("a,b,c\n1,,x\n,2,x\n1,\"\",x\n1,2,x\n1,2,y\n1,3,z\n1,3,z\n") {
      $0.keys = ["b", "a"]
      $0.maxRejects = .unlimited
    }
    #expect(report.imported == 2 && report.rejected == 5)
    let text = try folder.text("t.rejects.csv.reasons.jsonl")
    let reasons = text.split(separator: "\n").map(String.init)
    #expect(reasons.count == 5)
    for (reason, wanted) in zip(
      reasons,
      [
        "the key's column 'b' is empty", "the key's column 'a' is empty",
        "the key's column 'b' is empty", "the key '2, 1' ", "the key '3, 1' ",
      ])
    {
      #expect(reason.contains(wanted), "\(reason)")
    }
    #expect(reasons[3].contains("\"column\":\"b, a\"") && reasons[3].contains("\"value\":\"2, 1\""))
    #expect(try folder.exportText() == "a,b,c\n1,2,x\n1,3,z\n")
  }

  @Test("Columns that repeat or are missing cannot become the key; the table stays as it was")
  func keysThatAreNoneAreRefused() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b,c\n1,1,x\n1,2,x\n2,1,y\n")
    let before = try folder.export()
    for (keys, why) in [(["a", "c"], "both have '1, x'"), (["a", "none"], "none")] {
      let error = try #require(throws: ImportError.self) {
        try folder.importCSV("a,b,c\n8,8,8\n", as: "u.csv") {
          ($0.keys, $0.conflictPolicy) = (keys, .update)
        }
      }
      #expect("\(error)".contains(why), "\(error)")
      #expect(try folder.export() == before)
    }
  }

  @Test("An import may name no other key than the table's, and has to have all its parts")
  func theTablesKeyIsTheKey() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b,c\n1,1,x\n1,2,y\n") { $0.keys = ["a", "b"] }
    for keys in [["a"], ["a", "b", "c"], ["a", "c"]] {
      let error = try #require(throws: ImportError.self) {
        try folder.importCSV("a,b,c\n8,8,8\n", as: "u.csv") { $0.keys = keys }
      }
      #expect("\(error)".contains("has the key 'a, b', not"), "\(error)")
    }
    // A part of the key is missing: nothing says how new a record is.
    #expect(throws: ImportError.self) { try folder.importCSV("a,c\n8,8\n", as: "u.csv") }
    let error = try #require(throws: ImportError.self) {
      try folder.importCSV("a,b,c\n8,8,8\n", as: "u.csv") {
        ($0.conflictPolicy, $0.newerThan) = (.update, "b")
      }
    }
    #expect("\(error)".contains("--newer-than 'b'"), "\(error)")
    #expect(try folder.exportText() == "a,b,c\n1,1,x\n1,2,y\n")
  }

  /// `verify` looks up every record by its whole key.
  @Test func everyRecordIsVerified() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b,c\na,bc,1\nab,c,2\n") { $0.keys = ["a", "b"] }
    try folder.write("u.csv", Array("a,b,c\nab,c,2\na,bc,9\nabc,,3\na,b,1\n".utf8))
    var options = ImportOptions(inputs: [folder.path("u.csv")], database: folder.database)
    options.table = "t"
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    let report = try Importer.verify(options, against: database.snapshot().table("t"))
    try database.close()
    #expect(report.counts.found == 1 && report.counts.differing == 1)
    #expect(report.counts.missing == 2)
    #expect(report.problems.contains { $0.key == "a, bc" })
  }
}
