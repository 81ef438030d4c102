import Engine
import Testing
import TestSupport

@testable import Importer

/// An interrupted import resumes to the result of an uninterrupted one.
@Suite struct ResumeTests {
  private static func input(records: Int, seed: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: seed)
    var csv = "a,b,c\n"
    for record in 1...records {
      let number = record > 500 ? "\(record).5" : String(record)
      let text = Bool.random(using: &random) ? "\"two\nlines\"" : "x"
      // A column is null until late, then has a type of its own; some records are rejected.
      csv +=
        "\(number),\(text),\(record > 700 ? "2018-08-03" : "")\(record % 90 == 0 ? ",more" : "")\n"
    }
    return Array(csv.utf8)
  }

  private func stopped(after batches: Int) -> @Sendable () -> Bool {
    let count = CallCounter()
    return { count.next() >= batches }
  }

  @Test(
    "An import that is stopped again and again ends as one that was not",
    arguments: Effort.some([1, 7, 100, 256, 1000]), [ImportOptions.Ragged.reject, .extend])
  func stoppedAgainAndAgain(batch: Int, ragged: ImportOptions.Ragged) throws {
    let csv = Self.input(records: batch == 1 ? 300 : 1500, seed: UInt64(batch))
    func change(_ options: inout ImportOptions) {
      options.batchSize = .records(batch)
      options.maxRejects = .unlimited
      options.ragged = ragged
    }
    let whole = try ImportFolder()
    let all = try whole.importCSV(csv, change)
    expectBalanced(all)
    let folder = try ImportFolder()
    var random = SplitMix64(seed: 3)
    var reports: [ImportReport] = []
    for _ in 0..<200 {
      let batches = Int.random(in: 1...max(1, 400 / batch), using: &random)
      let report = try folder.importCSV(csv) {
        change(&$0)
        $0.resume = true
        $0.shouldStop = stopped(after: batches)
        // The options that may change between runs.
        $0.parsers = reports.count % 4 + 1
        $0.durability = Durability.allCases[reports.count % 3]
      }
      expectBalanced(report)
      reports.append(report)
      if !report.isInterrupted { break }
      #expect(report.read == batch * batches)
      #expect(report.compaction.decision == .disabled)
    }
    #expect(reports.last?.isInterrupted == false)
    #expect(reports.reduce(0) { $0 + $1.read } == all.read)
    #expect(reports.reduce(0) { $0 + $1.rejected } == all.rejected)
    #expect(reports.reduce(0) { $0 + $1.bytesRead } == all.bytesRead)
    #expect(reports.last?.objects == all.objects)
    #expect(try folder.export() == whole.export())
    #expect(try folder.export(.jsonl) == whole.export(.jsonl))
    #expect(try folder.types() == whole.types())
    if ragged == .reject {
      #expect(try folder.read("t.rejects.csv") == whole.read("t.rejects.csv"))
      #expect(
        try folder.read("t.rejects.csv.reasons.jsonl").filter { $0 == 0x0A }.count == all.rejected)
    }
    try folder.expectSound()
  }

  /// The columns that the first run has added do not move the fields of the second one.
  @Test func surplusFieldsStayInTheirColumn() throws {
    let csv = "id,extra1\n" + (1...500).map { "\($0),a,s\($0)\n" }.joined()
    let folder = try ImportFolder()
    func load(_ isStopped: Bool) throws -> ImportReport {
      try folder.importCSV(csv) {
        $0.ragged = .extend
        $0.batchSize = .records(10)
        $0.resume = true
        if isStopped { $0.shouldStop = stopped(after: 7) }
      }
    }
    for _ in 1...3 { #expect(try load(true).isInterrupted) }
    #expect(try !load(false).isInterrupted)
    #expect(try folder.exportText() == csv.replacing("id,extra1\n", with: "id,extra1,extra1_2\n"))
    try folder.expectSound()
  }

  @Test("Changed inputs and options are not resumed")
  func whatCannotBeResumed() throws {
    let folder = try ImportFolder()
    let csv = Self.input(records: 8000, seed: 1)
    func resume(_ bytes: [UInt8], _ change: (inout ImportOptions) -> Void) throws -> ImportReport {
      try folder.importCSV(bytes) {
        $0.ragged = .pad
        $0.maxRejects = .unlimited
        $0.resume = true
        change(&$0)
      }
    }
    _ = try resume(csv) { $0.shouldStop = { true } }
    let before = try folder.export()
    // Other options, and other bytes.
    for change in [
      { $0.types = .text }, { $0.ragged = .extend }, { $0.nulls = ["x"] },
      { $0.header = .names(["p", "q", "r"]) },
    ] as [(inout ImportOptions) -> Void] {
      #expect(throws: ImportError.self) { _ = try resume(csv, change) }
    }
    // A byte of the committed part differs.
    let changed = csv[..<40] + [csv[40] ^ 1] + csv[41...]
    #expect(throws: ImportError.self) { _ = try resume(Array(changed)) { _ in } }
    #expect(throws: ImportError.self) { _ = try resume(Array(csv[..<300])) { _ in } }
    #expect(try folder.export() == before)
    let rest = try resume(csv) { _ in }
    #expect(rest.resumedAt?.record == 1000)
    #expect(rest.imported + rest.rejected == 7000)
    #expect(try resume(csv) { _ in }.resumedAt?.isComplete == true)
  }

  /// Complete inputs are left out.
  @Test func severalInputs() throws {
    let folder = try ImportFolder()
    let inputs = (1...3).map { file in
      "a,b\n" + (1...250).map { "\(file),\($0)\n" }.joined()
    }
    for (index, input) in inputs.enumerated() {
      try folder.write("\(index).csv", Array(input.utf8))
    }
    var runs = 0
    while true {
      // `shouldStop` is called for each complete input, too.
      let stop = stopped(after: 6)
      let report = try folder.importCSV(inputs[0], as: "0.csv") {
        $0.inputs = (0..<3).map { folder.path("\($0).csv") }
        $0.batchSize = .records(100)
        $0.resume = true
        $0.shouldStop = stop
      }
      runs += 1
      if !report.isInterrupted || runs > 20 { break }
    }
    #expect(runs > 2)
    let rows = inputs.map { $0.dropFirst(4) }.joined()
    let difference = firstDifference(try folder.export(), Array("a,b\n\(rows)".utf8))
    #expect(difference == nil, "\(difference ?? "") in \(runs) runs")
  }

  @Test(
    "Complete inputs that were imported with other options are left out, and named",
    arguments: [1, 3])
  func otherOptions(count: Int) throws {
    let folder = try ImportFolder()
    for index in 0..<count {
      try folder.write("\(index).csv", Array("a,b\n1,x\n\(10 + index),y\n".utf8))
    }
    func again(_ change: (inout ImportOptions) throws -> Void) throws -> [String] {
      let inputs = (0..<count).map { folder.path("\($0).csv") }
      var options = ImportOptions(inputs: inputs, database: folder.database)
      options.resume = true
      options.filter = try RecordRule("a < 5")
      try change(&options)
      let report = try Importer.run(options)
      #expect(report.imported == 0 || report.resumedAt == nil)
      return report.notes.filter { $0.contains("other options") }
    }
    #expect(try again { _ in } == [])
    #expect(try again { _ in } == [])
    // Defaults may be spelled out, and what says nothing of records may differ.
    #expect(
      try again {
        $0.batchSize = .records(7)
        $0.durability = .none
      } == [])
    let changes: [(inout ImportOptions) throws -> Void] = [
      { $0.filter = nil }, { $0.filter = try RecordRule("a < 50") }, { $0.columns = ["a"] },
      { $0.nulls = ["x"] }, { $0.rules = [try RecordRule("a > 0")] }, { $0.delimiter = ";" },
      { $0.header = .absent }, { $0.trimsFields = true }, { $0.renames = ["a": "c"] },
    ]
    for (index, change) in changes.enumerated() {
      let notes = try again(change)
      #expect(notes.count == 1, "change \(index)")
      #expect(notes.first?.contains(count == 1 ? "0.csv was" : "0.csv and 2 more were") == true)
    }
    // What an import without `resume` does counts.
    #expect(try again { ($0.filter, $0.resume, $0.truncate) = (nil, false, true) } == [])
    #expect(try again { $0.filter = nil } == [])
    #expect(try again { _ in }.count == 1)
  }

  /// Bytes behind a last record that was rejected for its quotes may belong to it, even behind a line end.
  @Test func grownBehindAReject() throws {
    for (input, isRefused) in [
      ("a,b\n1,2\n3,\"\n", true), ("a,b\n1,2\n3,\"4\" x\n", true), ("a,b\n1,2\n3\n", false),
      ("a,b\n3,\"\"x\n1,2\n", false),
    ] {
      let folder = try ImportFolder()
      _ = try folder.importCSV(Array(input.utf8)) { $0.maxRejects = .unlimited }
      func goOn() throws {
        _ = try folder.importCSV(Array((input + "5,6\n").utf8)) {
          $0.maxRejects = .unlimited
          $0.resume = true
        }
      }
      if isRefused {
        let error = #expect(throws: ImportError.self) { try goOn() }
        #expect("\(String(describing: error))".contains("may have been cut off"))
      } else {
        try goOn()
      }
      #expect(try folder.exportText() == (isRefused ? "a,b\n1,2\n" : "a,b\n1,2\n5,6\n"))
    }
  }
}
