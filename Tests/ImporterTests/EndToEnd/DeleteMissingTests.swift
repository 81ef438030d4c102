import Engine
import Testing
import TestSupport

@testable import Importer

/// A table becomes equal to its inputs, or stays what it was.
@Suite struct DeleteMissingTests {
  private static func input(_ random: inout SplitMix64, keys: Range<Int>, records: Int) -> [UInt8] {
    var text = "id,a\n"
    for _ in 0..<records {
      text += "k\(Int.random(in: keys, using: &random)),\(Int.random(in: 0..<9, using: &random))\n"
    }
    return Array(text.utf8)
  }

  private static func change(_ options: inout ImportOptions) {
    options.table = "t"
    options.key = "id"
    options.conflictPolicy = .update
    options.deletesMissing = true
    options.maxDeletes = .share(1)
  }

  @Test(
    "It is what a dictionary has, however it is cut",
    arguments: [ConflictPolicy.update, .replace, .skip], Effort.some([1, 2, 3] as [UInt64]))
  func twin(policy: ConflictPolicy, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let inputs = [
      Self.input(&random, keys: 0..<300, records: 400),
      Self.input(&random, keys: 100..<400, records: 400),
      Self.input(&random, keys: 0..<90_000, records: 500),
      Self.input(&random, keys: 0..<500, records: 5),
    ]
    for cut in KeyedTableTests.cuts {
      var twin = KeyTwin(columns: ["id", "a"], key: "id")
      let folder = try ImportFolder()
      for (index, input) in inputs.enumerated() {
        twin.apply(input, policy)
        let before = twin.objects.count
        twin.deleteMissing(from: input)
        let report = try folder.importCSV(input, as: "\(index).csv") {
          cut.change(&$0, policy)
          Self.change(&$0)
          ($0.conflictPolicy, $0.batchSize, $0.maxRejects) = (policy, nil, .count(0))
        }
        expectBalanced(report)
        let note: Comment = "\(policy), \(cut), seed \(seed), input \(index)"
        #expect(report.deleted == before - twin.objects.count, note)
        #expect(report.objects == report.objectsBefore + report.imported - report.deleted, note)
        #expect(report.objects == twin.objects.count && report.batches == 1, note)
        let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
        #expect(difference == nil, "\(difference ?? ""): \(note)")
      }
      try folder.expectSound()
    }
  }

  @Test(
    "Published at the end it is the same, however often it was interrupted",
    arguments: [ConflictPolicy.update, .replace, .skip], Effort.some([1, 2] as [UInt64]))
  func published(policy: ConflictPolicy, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let inputs = [
      Self.input(&random, keys: 0..<300, records: 400),
      Self.input(&random, keys: 100..<400, records: 400),
      Self.input(&random, keys: 0..<90_000, records: 500),
    ]
    var interruptions = 0
    for (number, cut) in KeyedTableTests.cuts.enumerated() where number % 3 == Int(seed) {
      var twin = KeyTwin(columns: ["id", "a"], key: "id")
      let folder = try ImportFolder()
      for (index, input) in inputs.enumerated() {
        let note: Comment = "\(policy), \(cut), seed \(seed), input \(index)"
        let seen = index > 0 ? try folder.export() : []
        twin.apply(input, policy)
        let before = twin.objects.count
        twin.deleteMissing(from: input)
        func run(resume: Bool, batches: Int) throws -> ImportReport {
          let asked = CallCounter()
          return try folder.importCSV(input, as: "\(index).csv") {
            cut.change(&$0, policy)
            Self.change(&$0)
            ($0.conflictPolicy, $0.maxRejects, $0.publication) = (policy, .count(0), .end)
            ($0.resume, $0.shouldStop) = (resume, { asked.next() > batches })
          }
        }
        var stop = Int.random(in: 0..<6, using: &random)
        var report = try run(resume: index == 1, batches: stop)
        while report.isInterrupted {
          interruptions += 1
          expectBalanced(report)
          #expect(report.deleted == 0 && !report.isPublished, note)
          if index > 0 { #expect(try folder.export() == seen, note) }
          stop = stop * 2 + 1
          report = try run(resume: true, batches: stop)
        }
        expectBalanced(report)
        #expect(report.isPublished && report.deleted == before - twin.objects.count, note)
        #expect(report.objects == report.objectsBefore + report.imported - report.deleted, note)
        #expect(report.objects == twin.objects.count && report.pending == nil, note)
        let difference = firstDifference(try folder.export(), Array(twin.csv.utf8))
        #expect(difference == nil, "\(difference ?? ""): \(note)")
      }
      try folder.expectSound()
    }
    #expect(interruptions > 0)
  }

  @Test("What is pending of inputs that are not named any more does not become visible")
  func otherInputs() throws {
    let folder = try ImportFolder()
    try folder.importCSV("id,a\nk1,1\nk2,1\nk3,1\n") { Self.change(&$0) }
    try folder.write("u.csv", Array("id,a\nk1,2\n".utf8))
    try folder.write("v.csv", Array("id,a\nk2,2\nk9,2\n".utf8))
    func run(_ names: [String], resume: Bool, batches: Int = .max) throws -> ImportReport {
      var options = ImportOptions(inputs: names.map(folder.path), database: folder.database)
      Self.change(&options)
      (options.publication, options.batchSize, options.resume) = (.end, .records(1), resume)
      let asked = CallCounter()
      options.shouldStop = { asked.next() > batches }
      return try Importer.run(options)
    }
    #expect(try run(["v.csv", "u.csv"], resume: false, batches: 2).isInterrupted)
    let alone = try run(["u.csv"], resume: true)
    #expect(alone.notes.contains { $0.contains("v.csv, which is not named now") })
    #expect(alone.deleted == 2 && alone.isPublished)
    #expect(try folder.exportText() == "id,a\nk1,2\n")
    let both = try run(["v.csv", "u.csv"], resume: true)
    #expect(both.imported == 2 && both.deleted == 0)
    #expect(try folder.exportText() == "id,a\nk1,2\nk2,2\nk9,2\n")
    // The input of the deleted objects is imported again.
    let old = try folder.importCSV("id,a\nk1,1\nk2,1\nk3,1\n") {
      Self.change(&$0)
      ($0.deletesMissing, $0.maxDeletes, $0.resume, $0.conflictPolicy) = (false, nil, true, .skip)
    }
    #expect(old.imported == 1 && old.skipped == 2)
    // A table may become empty only with the option.
    for allows in [false, true] {
      let empty = {
        try folder.importCSV("id,a\n", as: "w.csv") {
          Self.change(&$0)
          ($0.publication, $0.allowsEmpty) = (.end, allows)
        }
      }
      if allows {
        #expect(try empty().objects == 0)
      } else {
        #expect(throws: ImportError.self) { try empty() }
      }
    }
    try folder.expectSound()
  }

  @Test("Keys of all inputs together stay, and inputs that were imported before are read again")
  func severalInputs() throws {
    let folder = try ImportFolder()
    let paths = try [("a.csv", 0..<60), ("b.csv", 50..<120), ("c.csv", 110..<150)].map {
      try folder.write($0, Array(("id,a\n" + $1.map { "k\($0),1\n" }.joined()).utf8))
      return folder.path($0)
    }
    func run(_ paths: [String], resume: Bool) throws -> ImportReport {
      var options = ImportOptions(inputs: paths, database: folder.path("t.sheaf"))
      Self.change(&options)
      options.resume = resume
      return try Importer.run(options)
    }
    #expect(try run(paths, resume: false).objects == 150)
    // Complete inputs delete nothing.
    let again = try run(paths, resume: true)
    #expect(again.isNothingToDo && again.deleted == 0 && again.objects == 150)
    // One input has changed: the objects of the others are not missing.
    try folder.write("b.csv", Array(("id,a\n" + (50..<100).map { "k\($0),2\n" }.joined()).utf8))
    let changed = try run(paths, resume: true)
    #expect((changed.deleted, changed.updated, changed.objects) == (10, 50, 140))
    // Fewer inputs have fewer keys, whether or not they were imported before.
    let fewer = try run([paths[2], paths[0]], resume: true)
    #expect((fewer.deleted, fewer.objects) == (40, 100))
    #expect(try run([paths[2]], resume: true).deleted == 60)
    // An input that was imported before, with another one imported since.
    #expect(try run([paths[0]], resume: true).objects == 60)
    #expect(try run([paths[0]], resume: true).isNothingToDo)
    let back = try run([paths[2]], resume: true)
    #expect((back.imported, back.deleted, back.objects) == (40, 60, 40))
    // If two inputs have a key the last one counts.
    try folder.write("d.csv", Array("id,a\nk120,9\n".utf8))
    let both = [paths[2], folder.path("d.csv")]
    #expect(try run(both, resume: true).objects == 40)
    #expect(try run(both.reversed(), resume: true).updated >= 1)
    try folder.expectSound()
  }

  @Test(
    "What may be a mistake ends the import, and changes nothing",
    arguments: [
      (200, 181, nil, 0, true), (200, 179, nil, 0, false), (99, 1, nil, 0, true),
      (100, 89, nil, 0, false), (100, 90, nil, 0, true),
      (200, 190, .count(10), 0, true), (200, 189, .count(10), 0, false),
      (30, 27, .share(0.1), 0, true), (30, 26, .share(0.1), 0, false),
      (50, 50, .count(0), 0, true), (50, 49, .count(0), 0, false),
      (200, 100, .share(1), 0.5, true), (200, 99, .share(1), 0.5, false),
      (200, 0, .share(1), 0, false),
    ] as [(Int, Int, ImportOptions.Portion?, Double, Bool)])
  func limits(
    before: Int, left: Int, most: ImportOptions.Portion?, least: Double, isDone: Bool
  ) throws {
    for (isDry, publication) in [
      (true, ImportOptions.Publication.batches), (false, .batches), (false, .end),
    ] {
      let folder = try ImportFolder()
      let old = Array(("id,a\n" + (0..<before).map { "k\($0),1\n" }.joined()).utf8)
      try folder.importCSV(old) { Self.change(&$0) }
      let export = try folder.export()
      // Values change as well: readers must see none of it.
      let new = Array(("id,a\n" + (0..<left).map { "k\($0),2\n" }.joined()).utf8)
      func again() throws -> ImportReport {
        try folder.importCSV(new, as: "u.csv") {
          Self.change(&$0)
          ($0.maxDeletes, $0.minRecords, $0.dryRun) = (most, .share(least), isDry)
          $0.publication = publication
        }
      }
      if isDone {
        #expect(try again().deleted == before - left)
      } else {
        #expect(throws: ImportError.self) { try again() }
      }
      #expect(try (folder.export() == export) == (isDry || !isDone))
    }
  }

  @Test("An input whose objects were deleted comes in again, although it was imported before")
  func forgotten() throws {
    let folder = try ImportFolder()
    let inputs = ["a": "id,a\n1,1\n2,1\n", "b": "id,a\n3,1\n4,1\n"]
    func run(_ name: String, deletes: Bool) throws -> ImportReport {
      try folder.importCSV(Array((inputs[name] ?? "").utf8), as: "\(name).csv") {
        Self.change(&$0)
        ($0.deletesMissing, $0.maxDeletes, $0.resume) = (deletes, deletes ? .share(1) : nil, true)
      }
    }
    for name in ["a", "b"] { #expect(try run(name, deletes: false).imported == 2) }
    #expect(try run("a", deletes: true).deleted == 2)
    let again = try run("b", deletes: false)
    #expect(again.imported == 2 && again.objects == 4)
    #expect(try run("a", deletes: false).isNothingToDo)
  }

  @Test("Few records are refused also where there is no table yet; limits that make no sense, too")
  func firstNight() throws {
    let folder = try ImportFolder()
    for portions in [
      (nil, .count(3)), (nil, .share(.nan)), (.share(2), .count(0)), (.count(-1), .count(0)),
    ] as [(ImportOptions.Portion?, ImportOptions.Portion)] {
      #expect(throws: ImportError.self) {
        try folder.importCSV(Array("id,a\n1,1\n2,1\n".utf8)) {
          Self.change(&$0)
          ($0.maxDeletes, $0.minRecords) = portions
        }
      }
    }
    // If nothing is missing a rejected record does no harm.
    let report = try folder.importCSV(Array("id,a\n1,1\n2,1,3\n".utf8)) {
      Self.change(&$0)
      ($0.minRecords, $0.maxRejects) = (.count(2), .unlimited)
    }
    #expect(report.rejected == 1 && report.objects == 1)
  }

  @Test("With a rejected record nobody knows what is missing")
  func rejects() throws {
    let folder = try ImportFolder()
    try folder.importCSV(Array("id,a\n1,1\n2,1\n3,1\n".utf8)) { Self.change(&$0) }
    let error = #expect(throws: ImportError.self) {
      try folder.importCSV(Array("id,a\n1,2\n2,2,2\n".utf8), as: "u.csv") {
        Self.change(&$0)
        $0.maxRejects = .unlimited
      }
    }
    guard case .rejectedBeforeDeletion(1, let path)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(path.hasSuffix("u.rejects.csv"))
    #expect(try String(decoding: folder.export(), as: UTF8.self) == "id,a\n1,1\n2,1\n3,1\n")
  }

  @Test("An input of nothing among several is a reason to end")
  func emptyInputs() throws {
    let folder = try ImportFolder()
    try folder.importCSV(Array("id,a\n1,1\n2,1\n".utf8)) { Self.change(&$0) }
    try folder.write("u.csv", Array("id,a\n1,1\n".utf8))
    for nothing in ["", "id,a\n"] {
      try folder.write("v.csv", Array(nothing.utf8))
      for names in [["u.csv", "v.csv"], ["v.csv", "u.csv"]] {
        var options = ImportOptions(
          inputs: names.map(folder.path), database: folder.path("t.sheaf"))
        Self.change(&options)
        let error = #expect(throws: ImportError.self) { try Importer.run(options) }
        #expect("\(String(describing: error))".contains("v.csv"))
        #expect(try String(decoding: folder.export(), as: UTF8.self) == "id,a\n1,1\n2,1\n")
      }
    }
    // Where nothing is missing, an input without records does no harm.
    try folder.write("u.csv", Array("id,a\n1,1\n2,2\n".utf8))
    var options = ImportOptions(
      inputs: ["u.csv", "v.csv"].map(folder.path), database: folder.path("t.sheaf"))
    Self.change(&options)
    #expect(try Importer.run(options).deleted == 0)
    #expect(try String(decoding: folder.export(), as: UTF8.self) == "id,a\n1,1\n2,2\n")
  }

  @Test("An interrupted run deletes nothing")
  func interrupted() throws {
    let folder = try ImportFolder()
    try folder.importCSV(Array("id,a\n1,1\n2,1\n".utf8)) { Self.change(&$0) }
    let text = "id,a\n" + (3..<20_000).map { "\($0),1\n" }.joined()
    let report = try folder.importCSV(Array(text.utf8), as: "u.csv") {
      Self.change(&$0)
      $0.limits = .init(chunkBytes: 3000)
      $0.shouldStop = { true }
    }
    #expect(report.isInterrupted && report.deleted == 0 && report.objects == 2)
    #expect(try String(decoding: folder.export(), as: UTF8.self) == "id,a\n1,1\n2,1\n")
  }
}
