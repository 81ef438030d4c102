import Engine
import TestSupport
import Testing

@testable import Importer

/// A pending table whose visible one is changed by others: their own changes stay, the policy decides
/// where both have changed an object, and what cannot be decided is refused.
@Suite struct MergedImportTests {
  typealias Fields = ModelNight.Fields
  typealias Objects = ModelNight.Objects

  private static let columns = ModelNight.allColumns
  private static let types: [String: ColumnType] = ["id": .text, "a": .text, "b": .text, "n": .int]

  private static func csv(_ columns: [String], _ rows: [Fields]) -> String {
    ([columns] + rows).map { $0.joined(separator: ",") + "\n" }.joined()
  }

  /// The present contents by key.
  private static func read(_ folder: ImportFolder) throws -> Objects {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    return try read(database.snapshot().table("t"))
  }

  private static func read(_ table: Table) throws -> Objects {
    var objects: Objects = [:]
    try table.forEachRow { row in
      let fields = columns.map { row[$0].map { $0 == .null ? "" : text($0) } ?? "" }
      #expect(objects.updateValue(fields, forKey: fields[0]) == nil)
    }
    return objects
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .text(let text): text
    case .int(let number): "\(number)"
    default: "?"
    }
  }

  /// Has another writer commit a transaction.
  private static func write(
    _ folder: ImportFolder, _ body: (borrowing WriteTransaction, WritableTable) throws -> Void
  ) throws {
    let database = try Database.open(folder.database)
    defer { try? database.close() }
    try database.write { try body($0, $0.table("t")) }
  }

  private static func values(_ fields: Fields) -> [String: Value] {
    var values: [String: Value] = [:]
    for (name, field) in zip(columns, fields) {
      values[name] = field.isEmpty ? .null : name == "n" ? .int(Int64(field) ?? 0) : .text(field)
    }
    return values
  }

  private static func options(
    _ options: inout ImportOptions, _ policy: ConflictPolicy, resume: Bool = false,
    batches: Int = .max, columns: [String] = columns
  ) {
    let asked = CallCounter()
    (options.key, options.conflictPolicy) = ("id", policy)
    (options.batchSize, options.publication) = (.records(10), .end)
    (options.resume, options.shouldStop) = (resume, { asked.next() > batches })
    options.types = .named(types.filter { columns.contains($0.key) })
  }

  private static func begin(_ rows: [Fields]) throws -> ImportFolder {
    let folder = try ImportFolder()
    try folder.importCSV(csv(columns, rows), as: "first.csv") {
      $0.key = "id"
      $0.types = .named(types)
    }
    return folder
  }

  // MARK: Against the model

  /// Another writer's changes: objects are added, changed, deleted, and given other keys.
  private static func changeMeanwhile(
    _ folder: ImportFolder, _ random: inout SplitMix64, absent: Set<String>
  ) throws {
    try write(folder) { _, table in
      for _ in 0..<Int.random(in: 1..<12, using: &random) {
        let fields = ModelNight.row(Int.random(in: 0..<110, using: &random), columns, &random)
        guard let row = try table.row(forPrimaryKey: .text(fields[0])) else {
          try table.insert(values(fields))
          continue
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0..<3: try table.delete(row.key)
        case 3:
          let other = "k\(Int.random(in: 0..<130, using: &random))"
          if try table.row(forPrimaryKey: .text(other)) == nil {
            try table.update(row.key, ["id": .text(other)])
          }
        case 4..<6:
          try table.delete(row.key)
          try table.insert(values(fields))
        default:
          // Otherwise most nights would be refused.
          if absent.contains(fields[0]), Int.random(in: 0..<8, using: &random) > 0 { continue }
          try table.update(row.key, values(fields).filter { $0.key != "a" })
        }
      }
    }
  }

  @Test(
    "It is what a dictionary has, whatever both have done",
    arguments: Array(1...UInt64(Effort.rounds(8, long: 200))))
  func model(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    var (merges, refusals) = (0, 0)
    for _ in 0..<6 {
      let rows = (0..<50).map { ModelNight.row($0, Self.columns, &random) }
      let folder = try Self.begin(rows)
      let before = try Self.read(folder)
      let numbers = try Self.numbers(folder).keys
      let night = ModelNight.random(&random)
      let input = Self.csv(night.columns, night.records)
      func run(resume: Bool, batches: Int = .max) throws -> ImportReport {
        try folder.importCSV(input, as: "night.csv") {
          Self.options(
            &$0, night.policy, resume: resume, batches: batches, columns: night.columns)
          ($0.newerThan, $0.ignoresBlanks) = (night.newerThan ? "n" : nil, night.ignoresBlanks)
          ($0.deletesMissing, $0.keepVersions) = (night.deletesMissing, 2)
          if night.deletesMissing { $0.maxDeletes = .share(1) }
        }
      }
      #expect(try run(resume: false, batches: Int.random(in: 0..<5, using: &random)).isInterrupted)
      let own = night.applied(to: before)
      let absent = Set(before.keys).subtracting(night.records.map { $0[0] })
      try Self.changeMeanwhile(folder, &random, absent: night.deletesMissing ? absent : [])
      let theirs = try Self.read(folder)
      let given = try Self.numbers(folder)
      let note: Comment = "seed \(seed): \(night.policy), \(night)"
      guard let wanted = night.merged(before, theirs, own) else {
        refusals += 1
        #expect(throws: EngineError.self, note) { try run(resume: true) }
        #expect(try Self.read(folder) == theirs, note)
        continue
      }
      let report = try run(resume: true)
      let found = try Self.read(folder)
      #expect(found == wanted, note)
      expectBalanced(report)
      report.files.forEach { file in
        #expect(
          file.read == file.imported + file.updated + file.skipped + file.unchanged, note)
      }
      #expect(report.isPublished && report.objects == wanted.count, note)
      #expect(report.objects == report.objectsBefore + report.imported - report.deleted, note)
      if theirs != before { merges += 1 }
      #expect(report.merged != nil || theirs == before, note)
      try Self.expectTold(folder, theirs, wanted, note)
      try Self.expectSameNumbers(numbers, given, folder, note)
      try folder.expectSound()
    }
    #expect(merges > 0 || refusals > 2)
  }

  /// The primary keys by the objects' numbers, and the next number.
  private static func numbers(_ folder: ImportFolder) throws -> (keys: [Int64: String], next: Int64)
  {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    return try numbers(database.snapshot().table("t"))
  }

  private static func numbers(_ table: Table) throws -> (keys: [Int64: String], next: Int64) {
    var keys: [Int64: String] = [:]
    try table.forEachRow { keys[$0.key] = $0["id"].map(text) }
    return (keys, table.nextKey)
  }

  /// A number still stands for the object that had it, or for none.
  private static func expectSameNumbers(
    _ before: [Int64: String], _ theirs: (keys: [Int64: String], next: Int64),
    _ folder: ImportFolder, _ note: Comment
  ) throws {
    let now = try numbers(folder)
    for (number, key) in now.keys where number < theirs.next {
      #expect(before[number] == key || theirs.keys[number] == key, note)
    }
    #expect(now.next >= theirs.next, note)
  }

  /// The reported changes of the night lead from the others' contents to the result.
  private static func expectTold(
    _ folder: ImportFolder, _ theirs: Objects, _ wanted: Objects, _ note: Comment
  ) throws {
    let database = try Database.open(folder.database, options: .init(access: .readOnly))
    defer { try? database.close() }
    guard let kept = try database.keptVersions().last else { return }
    let old = try database.snapshot(at: .number(kept.number)).table("t")
    #expect(try read(old) == theirs, note)
    var told: Objects = theirs
    var (gone, now): (Set<String>, Objects) = ([], [:])
    try database.snapshot().table("t").forEachChange(since: old) { step in
      let fields = columns.map { step.object[$0].map { $0 == .null ? "" : text($0) } ?? "" }
      // An object may have kept its number and got the key of a deleted one.
      for change in step.properties where change.name == "id" {
        gone.insert(text(change.old))
      }
      if step.kind == .deleted { gone.insert(fields[0]) } else { now[fields[0]] = fields }
    }
    for key in gone { told[key] = nil }
    told.merge(now) { $1 }
    #expect(told == wanted, note)
  }

  // MARK: One by one

  private static let ten = (0..<10).map { ["k\($0)", "a\($0)", "b\($0)", "5"] }

  /// Imports some records, while another writer commits.
  private static func night(
    _ folder: ImportFolder, _ policy: ConflictPolicy, _ rows: [Fields],
    _ change: @escaping (inout ImportOptions) -> Void = { _ in },
    meanwhile: (borrowing WriteTransaction, WritableTable) throws -> Void
  ) throws -> ImportReport {
    // More than one batch; the import is interrupted after the first.
    let more = (0..<10).map { ["x\($0)", "", "", ""] }
    let csv = csv(columns, more + rows)
    let first = try folder.importCSV(csv, as: "night.csv") {
      options(&$0, policy, batches: 0)
      change(&$0)
    }
    #expect(first.isInterrupted)
    try write(folder, meanwhile)
    return try folder.importCSV(csv, as: "night.csv") {
      options(&$0, policy, resume: true)
      change(&$0)
    }
  }

  @Test("Each field is of who has changed it; a field that both have changed is the record's")
  func fields() throws {
    let folder = try Self.begin(Self.ten)
    let report = try Self.night(
      folder, .update,
      [["k1", "new", "b1", "5"], ["k2", "new", "b2", "5"], ["k3", "a3", "b3", "5"]]
    ) { _, table in
      for key in ["k1", "k2", "k3", "k4"] {
        let row = try table.row(forPrimaryKey: .text(key))
        let values: [String: Value] =
          key == "k1" ? ["b": .text("theirs")] : ["a": .text("theirs")]
        try table.update(row?.key ?? 0, values)
      }
      try table.insert(Self.values(["y", "theirs", "", ""]))
      try table.delete(table.row(forPrimaryKey: .text("k9"))?.key ?? 0)
    }
    let found = try Self.read(folder)
    #expect(found["k1"] == ["k1", "new", "theirs", "5"] && found["k2"]?[1] == "new")
    #expect(found["k3"]?[1] == "theirs" && found["k4"]?[1] == "theirs")
    #expect(found["y"]?[1] == "theirs" && found["k9"] == nil && found.count == 20)
    #expect(
      report.merged == ImportReport.Merged(inserted: 1, changed: 2, deleted: 1, ofBoth: 2))
    #expect(report.objects == 20 && report.unchanged == 1 && report.updated == 2)
  }

  @Test("A blank field leaves what somebody else has changed or made, also with replace")
  func blanks() throws {
    let folder = try Self.begin(Self.ten)
    _ = try Self.night(
      folder, .replace, [["k1", "new", "", "5"], ["y", "new", "", "6"]],
      { $0.ignoresBlanks = true }
    ) { _, table in
      let row = try table.row(forPrimaryKey: .text("k1"))
      try table.update(row?.key ?? 0, ["b": .text("theirs")])
      try table.insert(Self.values(["y", "theirs", "theirs", "7"]))
    }
    let found = try Self.read(folder)
    #expect(found["k1"] == ["k1", "new", "theirs", "5"])
    #expect(found["y"] == ["y", "new", "theirs", "6"])
  }

  @Test("With --newer-than, a record that is older than what somebody else has left loses")
  func older() throws {
    let folder = try Self.begin(Self.ten)
    _ = try Self.night(
      folder, .update, [["k1", "new", "new", "6"], ["k2", "new", "new", "8"]],
      { $0.newerThan = "n" }
    ) { _, table in
      for key in ["k1", "k2"] {
        let row = try table.row(forPrimaryKey: .text(key))
        try table.update(row?.key ?? 0, ["a": .text("theirs"), "n": .int(7)])
      }
    }
    let found = try Self.read(folder)
    #expect(found["k1"] == ["k1", "theirs", "b1", "7"])
    #expect(found["k2"] == ["k2", "new", "new", "8"])
  }

  /// Expects objects of the keys to have other numbers than the given ones, which no object has.
  private static func expectNew(
    _ folder: ImportFolder, _ keys: [String], _ given: [Int64]
  ) throws {
    do {
      let database = try Database.open(folder.database, options: .init(access: .readOnly))
      defer { try? database.close() }
      try read(database, keys, given)
    }
    try folder.expectSound()
  }

  private static func read(_ database: Database, _ keys: [String], _ given: [Int64]) throws {
    let table = try database.snapshot().table("t")
    for number in given {
      let found = try table.row(forKey: number)
      #expect(found == nil, "\(number)")
    }
    for key in keys {
      let found = try table.row(forPrimaryKey: .text(key))
      #expect(found.map { !given.contains($0.key) } == true, "\(key)")
    }
  }

  @Test("What the import has put in gets another number where somebody else was given it too")
  func numbers() throws {
    let folder = try Self.begin(Self.ten)
    var given: [Int64] = []
    _ = try Self.night(folder, .update, [["k1", "new", "b1", "5"]]) { _, table in
      for name in ["y", "z"] { given.append(try table.insert(Self.values([name, "", "", ""]))) }
      try table.delete(given[1])
    }
    try Self.expectNew(folder, ["x0", "x1", "y"], given)
  }

  @Test("What cannot be merged is refused, and says why; the table is as they have left it")
  func refused() throws {
    func expectRefused(
      _ reason: String, _ policy: ConflictPolicy, _ rows: [Fields],
      _ change: @escaping (inout ImportOptions) -> Void = { _ in },
      meanwhile: (borrowing WriteTransaction, WritableTable) throws -> Void
    ) throws {
      let folder = try Self.begin(Self.ten)
      var message = ""
      do {
        _ = try Self.night(folder, policy, rows, change, meanwhile: meanwhile)
      } catch EngineError.busy(_, let reason) {
        message = reason
      }
      #expect(message.contains(reason), "\(message)")
      #expect(message.contains("'t' was changed by somebody else"), "\(message)")
      #expect(try Self.read(folder)["x0"] == nil)
      let database = try Database.open(folder.database)
      #expect(try database.snapshot().pendingTables.count == 1)
      #expect(try database.abandonPending("t"))
      try database.close()
      try folder.expectSound()
    }
    func update(_ table: WritableTable, _ key: String, _ values: [String: Value]) throws {
      try table.update(table.row(forPrimaryKey: .text(key))?.key ?? 0, values)
    }
    try expectRefused("'y' was made", .error, [["y", "", "", ""]]) { _, table in
      try table.insert(Self.values(["y", "theirs", "", ""]))
    }
    try expectRefused(
      "'k2' was changed, and no input has it", .update, [["k1", "a1", "b1", "5"]],
      {
        ($0.deletesMissing, $0.maxDeletes) = (true, .share(1))
      }
    ) { _, table in try update(table, "k2", ["a": .text("theirs")]) }
    try expectRefused("--truncate", .update, [["k1", "", "", ""]], { $0.truncate = true }) {
      _, table in try update(table, "k2", ["a": .text("theirs")])
    }
    let runs = CallCounter()
    try expectRefused(
      "--truncate", .update, [["k1", "", "", ""]], { $0.truncate = runs.next() == 1 }
    ) {
      _, table in try update(table, "k2", ["a": .text("theirs")])
    }
    try expectRefused("its columns, its key or its indexes", .update, [["k1", "", "", ""]]) {
      _, table in try table.addIndex("a")
    }
  }

  @Test("A table without a key is refused")
  func withoutKey() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a\n1\n", as: "first.csv")
    func run(_ resume: Bool) throws -> ImportReport {
      let asked = CallCounter()
      return try folder.importCSV("a\n2\n3\n4\n", as: "night.csv") {
        ($0.publication, $0.batchSize, $0.resume) = (.end, .records(1), resume)
        $0.shouldStop = { !resume && asked.next() > 1 }
      }
    }
    #expect(try run(false).isInterrupted)
    try Self.write(folder) { _, table in try table.insert([.int(9)]) }
    #expect { try run(true) } throws: { "\($0)".contains("it has no key") }
    #expect(try folder.exportText() == "a\n1\n9\n")
  }

  @Test("A value that the import's new type does not have is refused")
  func retyped() throws {
    let folder = try ImportFolder()
    try folder.importCSV("id,n\na,1\nb,2\n", as: "first.csv") { $0.key = "id" }
    func run(_ resume: Bool) throws -> ImportReport {
      let asked = CallCounter()
      return try folder.importCSV("id,n\na,1.5\nc,2\nd,3\n", as: "night.csv") {
        ($0.publication, $0.batchSize, $0.resume) = (.end, .records(1), resume)
        ($0.key, $0.conflictPolicy) = ("id", .update)
        $0.shouldStop = { !resume && asked.next() > 1 }
      }
    }
    #expect(try run(false).isInterrupted)
    let large: Int64 = 9_007_199_254_740_993
    try Self.write(folder) { _, table in
      try table.insert(["id": .text("z"), "n": .int(large)])
    }
    #expect { try run(true) } throws: { "\($0)".contains("column 'n' has another type") }
    #expect(try folder.exportText().contains("z,\(large)"))
  }

  @Test("What somebody else has imported meanwhile is remembered")
  func memory() throws {
    let folder = try Self.begin(Self.ten)
    let other = Self.csv(Self.columns, [["y", "theirs", "", ""]])
    let csv = Self.csv(Self.columns, (0..<20).map { ["x\($0)", "", "", ""] })
    let first = try folder.importCSV(csv, as: "night.csv") {
      Self.options(&$0, .update, batches: 0)
    }
    #expect(first.isInterrupted)
    func others(resume: Bool) throws -> ImportReport {
      try folder.importCSV(other, as: "other.csv") {
        Self.options(&$0, .update)
        ($0.publication, $0.resume) = (.batches, resume)
      }
    }
    #expect(try others(resume: false).imported == 1)
    let report = try folder.importCSV(csv, as: "night.csv") {
      Self.options(&$0, .update, resume: true)
    }
    #expect(report.merged?.inserted == 1 && report.objects == 31)
    #expect(try others(resume: true).isNothingToDo)
    #expect(try Self.read(folder)["y"]?[1] == "theirs")
    try folder.expectSound()
  }
}
