import Engine
import Testing
import TestSupport

@testable import Importer

/// Imports with a primary key give what a dictionary gives to which the records are applied one after
/// the other, in batches and chunks of any size.
@Suite struct KeyedTableTests {
  /// Two inputs: the second has keys of the first, other columns, and surplus fields.
  private struct Inputs {
    let first: [UInt8]
    let second: [UInt8]

    init(seed: UInt64, keys: Int, records: Int) {
      var random = SplitMix64(seed: seed)
      func pick(_ words: [String]) -> String { words.randomElement(using: &random) ?? "" }
      func key() -> String {
        let number = Int.random(in: 0..<keys, using: &random)
        return pick(["", "\"\""]).isEmpty && Int.random(in: 0..<60, using: &random) == 0
          ? pick(["", "\"\""]) : pick(["k\(number)", "k\(number)", "\(number)", "0\(number)"])
      }
      var first = "id,a,b\n"
      for _ in 0..<records {
        first += "\(key()),\(pick(["1", "2", "", "\"\""])),\(pick(["x", "y", "4.10"]))\n"
      }
      var second = "c,id,b\n"
      for record in 0..<records {
        let c = record > records / 2 ? pick(["7", "8.5"]) : pick(["7", "7", ""])
        second += "\(c),\(key()),\(pick(["x", "4.10", ""]))"
        let kind = Int.random(in: 0..<40, using: &random)
        second += kind == 0 ? ",s" : kind == 1 ? ",,t" : kind == 2 ? ",\"u\"v" : ""
        second += "\n"
      }
      self.first = Array(first.utf8)
      self.second = Array(second.utf8)
    }
  }

  struct Cut: Sendable {
    let batch: ImportOptions.BatchSize
    let parsers: Int
    let chunkBytes: Int

    func change(_ options: inout ImportOptions, _ policy: ConflictPolicy) {
      options.batchSize = batch
      options.parsers = parsers
      options.limits = .init(chunkBytes: chunkBytes)
      options.key = "id"
      options.conflictPolicy = policy
      options.ragged = .extend
      options.maxRejects = .unlimited
    }
  }

  static let cuts: [Cut] = [
    .init(batch: .all, parsers: 1, chunkBytes: 4 << 20),
    .init(batch: .all, parsers: 4, chunkBytes: 200),
    .init(batch: .records(1000), parsers: 2, chunkBytes: 3000),
    .init(batch: .records(300), parsers: 3, chunkBytes: 4 << 20),
    .init(batch: .records(64), parsers: 2, chunkBytes: 4 << 20),
    .init(batch: .records(5), parsers: 4, chunkBytes: 500),
    .init(batch: .records(1), parsers: 1, chunkBytes: 4 << 20),
  ]

  @Test(
    "A keyed import gives what a dictionary gives, in each policy and however it is cut",
    arguments: ConflictPolicy.allCases, Effort.some([(3, 150), (40, 400), (250, 500)]))
  func everyCutGivesWhatADictionaryGives(
    policy: ConflictPolicy, size: (keys: Int, records: Int)
  ) throws {
    let seed = UInt64(size.keys &* 7 &+ size.records)
    let inputs = Inputs(seed: seed, keys: size.keys, records: size.records)
    var twin = KeyTwin(columns: ["id", "a", "b"], key: "id")
    twin.apply(inputs.first, policy)
    let firstRejects = twin.rejects.count
    twin.apply(inputs.second, policy)
    #expect(twin.rejects.count > 0 && twin.columns == ["id", "a", "b", "c", "extra1", "extra2"])
    #expect(
      [twin.skipped > 0, twin.updated > 0, twin.unchanged > 0]
        == [policy == .skip, !policy.leavesOut, !policy.leavesOut])
    var types: String?
    for cut in Self.cuts {
      let note: Comment = "\(policy), \(cut), seed \(seed)"
      let folder = try ImportFolder()
      let first = try folder.importCSV(inputs.first) { cut.change(&$0, policy) }
      let second = try folder.importCSV(inputs.second, as: "u.csv") {
        cut.change(&$0, policy)
        // The table's key counts.
        $0.key = nil
      }
      expectBalanced(first)
      expectBalanced(second)
      #expect(first.imported + second.imported == twin.imported, note)
      #expect(first.updated + second.updated == twin.updated, note)
      #expect(first.skipped + second.skipped == twin.skipped, note)
      #expect(first.unchanged + second.unchanged == twin.unchanged, note)
      #expect(first.rejected == firstRejects, note)
      #expect(second.rejected == twin.rejects.count - firstRejects, note)
      let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
      #expect(difference == nil, "\(difference ?? ""): \(note)")
      // Without the headers.
      let rejects: [UInt8] = ["t", "u"].flatMap { (name: String) -> [UInt8] in
        let file = (try? folder.read("\(name).rejects.csv")) ?? []
        return Array(file.drop { $0 != 0x0A }.dropFirst())
      }
      #expect(rejects == twin.rejects.flatMap { $0 + [0x0A] }, note)
      let own = try folder.types()
      if types == nil { types = own }
      #expect(own == types, note)
      try folder.expectSound()
    }
  }

  @Test(
    "A keyed import that is stopped again and again ends as one that was not",
    arguments: ConflictPolicy.allCases, Effort.some([3, 100, 300]))
  func stoppedAgainAndAgain(policy: ConflictPolicy, batch: Int) throws {
    let seed = UInt64(batch)
    let inputs = Inputs(seed: seed, keys: 60, records: 700)
    var twin = KeyTwin(columns: ["id", "a", "b"], key: "id")
    twin.apply(inputs.first, policy)
    let before = (twin.imported, twin.updated, twin.skipped, twin.unchanged, twin.rejects.count)
    twin.apply(inputs.second, policy)
    let folder = try ImportFolder()
    let cut = Cut(batch: .records(batch), parsers: 2, chunkBytes: 4 << 20)
    try folder.importCSV(inputs.first) { cut.change(&$0, policy) }
    var sum = before
    var random = SplitMix64(seed: seed)
    for run in 0..<300 {
      let most = Int.random(in: 1...max(1, 300 / batch), using: &random)
      let counter = CallCounter()
      let report = try folder.importCSV(inputs.second, as: "u.csv") {
        cut.change(&$0, policy)
        $0.resume = true
        $0.parsers = run % 4 + 1
        $0.shouldStop = { counter.next() >= most }
      }
      expectBalanced(report)
      sum.0 += report.imported
      sum.1 += report.updated
      sum.2 += report.skipped
      sum.3 += report.unchanged
      sum.4 += report.rejected
      if !report.isInterrupted { break }
    }
    #expect(sum.0 == twin.imported && sum.1 == twin.updated && sum.2 == twin.skipped)
    #expect(sum.3 == twin.unchanged && sum.4 == twin.rejects.count)
    let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
    #expect(difference == nil, "\(difference ?? ""), seed \(seed)")
    // The checkpoint has the same counts of this input.
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    let note = try database.snapshot().table("t").note(Checkpoint.completeNote)
    try database.close()
    let checkpoint = try #require(note.flatMap(Checkpoint.decode)?.last)
    #expect(checkpoint.records == 700 && checkpoint.isComplete)
    #expect(checkpoint.updated == twin.updated - before.1)
    #expect(checkpoint.skipped == twin.skipped - before.2)
    #expect(checkpoint.unchanged == twin.unchanged - before.3)
    try folder.expectSound()
  }

  /// A nightly job whose file hardly changes.
  @Test func theSameFileAgain() throws {
    let folder = try ImportFolder()
    func csv(_ changed: Int?) -> String {
      "id,name\n"
        + (1...3000).map { "\($0),\($0 == changed ? "other" : "name \($0 % 7)")\n" }.joined()
    }
    func update(_ options: inout ImportOptions) {
      options.key = "id"
      options.conflictPolicy = .update
    }
    let first = try folder.importCSV(csv(nil), update)
    #expect(first.imported == 3000)
    let size = try folder.read("t.sheaf").count
    for _ in 0..<18 {
      let again = try folder.importCSV(csv(nil), update)
      #expect(again.unchanged == 3000 && again.read == 3000 && again.imported == 0)
      // A version's few pages exist twice while the next one is written, and so do those of the list of
      // runs.
      #expect(try folder.read("t.sheaf").count <= size + 8192 + 16_384)
    }
    let changed = try folder.importCSV(csv(1234), update)
    #expect(changed.updated == 1 && changed.unchanged == 2999)
    #expect(try folder.exportText() == csv(1234))
    try folder.expectSound()
  }

  // MARK: The key of a table

  @Test("A key can be set on a table that has none, and counts from then on")
  func setOnATableThatHasNone() throws {
    let folder = try ImportFolder()
    try folder.importCSV("id,a\n1,x\n2,y\n")
    let again = try folder.importCSV("id,a\n2,z\n3,z\n", as: "u.csv") {
      $0.key = "id"
      $0.conflictPolicy = .replace
    }
    #expect(again.updated == 1 && again.imported == 1)
    #expect(try folder.exportText() == "id,a\n1,x\n2,z\n3,z\n")
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    #expect(try database.snapshot().table("t").keyColumn == "id")
    try database.close()
  }

  @Test(
    "A key that the objects of a table do not allow is refused, unless it is emptied",
    arguments: [
      ("id,a\n1,x\n2,y\n1,z\n", "id", "the objects"), ("id,a\n1,x\n,y\n", "id", "has none there"),
      ("a\n1\n", "id", "has none there"),
    ])
  func notSetWhereItCannotBe(csv: String, key: String, why: String) throws {
    let folder = try ImportFolder()
    try folder.importCSV(csv)
    let before = try folder.export()
    let error = try #require(throws: ImportError.self) {
      try folder.importCSV("id,a\n8,x\n", as: "u.csv") { $0.key = key }
    }
    guard case .invalidOption(let reason) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(reason.contains(why), "\(reason)")
    #expect(try folder.export() == before)
    // An emptied table accepts any key.
    try folder.importCSV("id,a\n8,x\n", as: "u.csv") {
      $0.key = key
      $0.truncate = true
    }
    #expect(try folder.exportText().contains("8"))
    try folder.expectSound()
  }

  /// A chunk of which only some rows are added says of their keys what a whole one says.
  @Test(
    "A key with blanks around it makes the key text, whatever becomes of the rows beside it",
    arguments: [ConflictPolicy.error, .skip, .update, .replace], ["id", "id,v"])
  func blanksBesideConflicts(policy: ConflictPolicy, key: String) throws {
    for beside in ["1,a", "3,a"] {
      let folder = try ImportFolder()
      try folder.importCSV("id,v\n1,a\n2,b\n") {
        $0.keys = key.split(separator: ",").map(String.init)
      }
      #expect(try folder.types() == "id int, v text")
      try folder.importCSV("id,v\n\(beside)\n 5,y\n", as: "u.csv") { options in
        (options.conflictPolicy, options.maxRejects, options.table) = (policy, .unlimited, "t")
      }
      #expect(try folder.types() == "id text, v text", "\(beside)")
      #expect(try folder.exportText().contains("\n 5,y\n"))
      try folder.expectSound()
    }
    // In one import, in a chunk of its own.
    let folder = try ImportFolder()
    let rows = (0..<3000).map { "\($0),a\n" }.joined()
    try folder.importCSV("id,v\n" + rows + "7,a\n 99999,b\n") { options in
      options.keys = key.split(separator: ",").map(String.init)
      (options.conflictPolicy, options.maxRejects) = (policy, .unlimited)
    }
    #expect(try folder.types() == "id text, v text")
  }

  @Test("An import cannot change the table's key")
  func anotherKeyOrNone() throws {
    let folder = try ImportFolder()
    try folder.importCSV("id,a\n1,x\n") { $0.key = "id" }
    for change in [
      { $0.key = "a" }, { $0.key = "ids" },
      {
        $0.types = .text; $0.key = "a"; $0.truncate = true
      },
    ] as [(inout ImportOptions) -> Void] {
      #expect(throws: ImportError.self) { try folder.importCSV("id,a\n2,y\n", as: "u.csv", change) }
    }
    #expect(throws: ImportError.self) { try folder.importCSV("a\ny\n", as: "u.csv") }
    #expect(throws: ImportError.self) {
      try folder.importCSV("id,a\n2,y\n", as: "u.csv") {
        $0.table = "other"
        $0.conflictPolicy = .skip
      }
    }
    #expect(try folder.exportText() == "id,a\n1,x\n")
    try folder.importCSV("id,a\n1,y\n", as: "u.csv") {
      $0.truncate = true
      $0.key = "id"
    }
    #expect(try folder.exportText() == "id,a\n1,y\n")
  }

  // MARK: Rejects and types

  @Test(
    "A record rejected for its key has its place, and whether the key exists or is empty",
    arguments: [1, 2, 1000])
  func rejectsSayWhoHasTheKey(batch: Int) throws {
    let folder = try ImportFolder()
    let csv = "a,id\nx,1\ny,2\n\"z\nz\",1\nu,\nv,\"\"\nw,\"2\"\n"
    let report = try folder.importCSV(csv) {
      $0.key = "id"
      $0.maxRejects = .count(4)
      $0.batchSize = .records(batch)
    }
    expectBalanced(report)
    #expect(report.imported == 2 && report.rejected == 4)
    #expect(try folder.text("t.rejects.csv") == "a,id\n\"z\nz\",1\nu,\nv,\"\"\nw,\"2\"\n")
    let reasons = try folder.text("t.rejects.csv.reasons.jsonl").split(separator: "\n")
    #expect(reasons.count == 4)
    #expect(
      reasons[0].contains(
        "\"record\":3,\"line\":4,\"position\":7,\"byteOffset\":19,\"column\":\"id\",\"value\":\"1\","
          + "\"reason\":\"the key '1' exists already: object "), "\(reasons[0])")
    #expect(reasons[1].contains("the key 'id' is empty"))
    #expect(reasons[2].contains("the key 'id' is empty"))
    #expect(reasons[3].contains("\"line\":8,\"position\":4") && reasons[3].contains("'2' exists"))
    try folder.importCSV(csv, as: "u.csv") {
      $0.dryRun = true
      $0.key = "id"
    }
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,id\nx,9\nx,1\n", as: "u.csv") { $0.key = "id" }
    }
    #expect(try folder.exportText() == "a,id\nx,1\ny,2\n")
  }

  /// Imported values widen the table's columns; those of skipped records do not.
  @Test(arguments: [1, 3, 300, 1000])
  func typesOfWhatIsKept(batch: Int) throws {
    let rows = (1...900).map { "\($0),\($0)\n" }.joined()
    for (policy, type) in [
      (ConflictPolicy.error, "int"), (.skip, "int"), (.replace, "text"), (.update, "text"),
    ] {
      let folder = try ImportFolder()
      try folder.importCSV("id,n\n" + rows + "7,seven\n") {
        $0.key = "id"
        $0.conflictPolicy = policy
        $0.batchSize = .records(batch)
        $0.maxRejects = .unlimited
      }
      #expect(try folder.types() == "id int, n \(type)", "\(policy)")
      try folder.expectSound()
    }
  }
}
