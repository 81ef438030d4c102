import TestSupport
import Testing

@testable import Engine
@testable import Importer

/// Inputs and the tables they go into.
@Suite struct TableTests {
  @Test(
    "Columns are matched by name; missing ones are null, and new ones are added",
    arguments: [1, 1000])
  func columnsAreMatchedByName(batch: Int) throws {
    let folder = try ImportFolder()
    func add(_ csv: String) throws {
      try folder.importCSV(csv) {
        $0.batchSize = .records(batch)
        $0.header = .firstRecord
      }
    }
    try add("a,b,c\n1,x,2018-08-03\n")
    try add("c,a,b\n2019-01-01,2,y\n")
    try add("b\nz\n")
    try add("d,a\nnew,3\n")
    #expect(
      try folder.exportText()
        == "a,b,c,d\n1,x,2018-08-03,\n2,y,2019-01-01,\n,z,,\n3,,,new\n")
    #expect(try folder.types() == "a int, b text, c date, d text")
    try folder.expectSound()
    try add("a,c\n4.5,soon\n")
    #expect(try folder.types() == "a double, b text, c text, d text")
    #expect(try folder.exportText().hasSuffix("3,,,new\n4.5,,soon,\n"))
  }

  /// A column without a value so far takes the type of its first values.
  @Test func anEmptyColumnHasNoTypeYet() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n,x\n,y\n")
    #expect(try folder.types() == "a text, b text")
    try folder.importCSV("a,b\n5,x\n")
    #expect(try folder.types() == "a int, b text")
  }

  @Test("A column of ints from an earlier import becomes one of doubles when a double arrives")
  func integersOfAnEarlierImportWidenToDouble() throws {
    for values in [["1", "2", "3"], ["7", "7", "7"], ["+5", "1", "-3"]] {
      let folder = try ImportFolder()
      try folder.importCSV("a,b\n" + values.map { "\($0),x\n" }.joined())
      try folder.importCSV("a,b\n0.5,x\n")
      #expect(try folder.types() == "a double, b text", "\(values)")
    }
  }

  @Test("A given type that contradicts the table's is refused, unless the table is emptied")
  func strictTypesAgainstTheTable() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\n")
    let strict = ImportOptions.TypeRule.named(["a": .date])
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,b\n2018-08-03,x\n") { $0.types = strict }
    }
    #expect(try folder.exportText() == "a,b\n1,x\n")
    try folder.importCSV("a,b\n2018-08-03,x\n") {
      $0.types = strict
      $0.truncate = true
    }
    #expect(try folder.types() == "a date, b text")
    #expect(try folder.exportText() == "a,b\n2018-08-03,x\n")
    #expect(throws: ImportError.noSuchColumn(name: "c", known: ["a", "b"])) {
      try folder.importCSV("a,b\n") { $0.types = .named(["c": .int]) }
    }
  }

  @Test("A table is emptied once, together with the first batch that is committed")
  func truncateEmptiesInTheFirstBatch() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\n2,y\n")
    // The input is malformed from the start: nothing is committed, so the table is not emptied either.
    #expect(throws: ImportError.self) {
      try folder.importCSV("a,b\n3\n", as: "u.csv") { $0.truncate = true }
    }
    #expect(try folder.exportText() == "a,b\n1,x\n2,y\n")
    let report = try folder.importCSV("a,b\n4,z\n", as: "u.csv") { $0.truncate = true }
    #expect(report.objects == 1)
    #expect(try folder.exportText() == "a,b\n4,z\n")
    // The first import's objects are gone, so it is not complete any more.
    let again = try folder.importCSV("a,b\n1,x\n2,y\n") { $0.resume = true }
    #expect(again.imported == 2)
    // Two inputs empty the table once.
    try folder.importCSV("a,b\n5,v\n") {
      $0.truncate = true
      $0.inputs.append(folder.path("u.csv"))
    }
    #expect(try folder.exportText() == "a,b\n5,v\n4,z\n")
    try folder.expectSound()
  }

  /// Between two inputs no record is half read, and still the transaction of both is undone.
  @Test func truncateInterruptedBetweenInputs() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\n")
    try folder.write("u.csv", Array("a,b\n2,y\n".utf8))
    let told = Guarded(0)
    let report = try folder.importCSV("a,b\n3,z\n") {
      $0.truncate = true
      $0.inputs.append(folder.path("u.csv"))
      $0.progress = { _ in told.withLock { $0 += 1 } }
      // Called for the record when it is read, and at the input's end.
      $0.shouldStop = { told.withLock { $0 >= 2 } }
    }
    #expect(report.isInterrupted && report.files.count == 1)
    #expect(report.imported == 0 && report.batches == 0)
    #expect(try folder.exportText() == "a,b\n1,x\n")
    try folder.expectSound()
  }

  private static let threeRows = "a,b\n1,x\n2,y\n3,z\n"

  /// Imports three rows in batches of one. Another handle changes the table after the first; the import
  /// must end.
  private func expectDisturbance(
    of folder: ImportFolder, by change: @escaping @Sendable (Database) throws -> Void
  ) throws {
    let isDone = Guarded(false)
    let error = #expect(throws: EngineError.self) {
      try folder.importCSV(Self.threeRows) {
        $0.batchSize = .records(1)
        $0.durability = .full
        $0.progress = { _ in
          let wasDone = isDone.withLock { isDone in
            defer { isDone = true }
            return isDone
          }
          if wasDone { return }
          do {
            let other = try Database.open(folder.database)
            try change(other)
            try other.close()
          } catch {
            Issue.record(error)
          }
        }
      }
    }
    let text = error.map { "\($0)" } ?? ""
    #expect(text.contains("table 't' was changed by somebody else during the import"), "\(text)")
  }

  /// A column of texts without values becomes one of numbers, unless somebody has put a text there.
  @Test(arguments: [false, true])
  func textsOfOthersBetweenBatches(isFirst: Bool) throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b,c\n1,,x\n")
    #expect(try folder.types() == "a int, b text, c text")
    let isDone = Guarded(false)
    // The numbers come behind the first records, by which types are chosen.
    let count = 100_000
    let csv = "a,b,c\n" + (2..<count).map { "\($0),,x\n" }.joined() + "0,5,x\n"
    func options(_ options: inout ImportOptions) {
      options.resume = true
      options.progress = { _ in
        let wasDone = isDone.withLock { isDone in
          defer { isDone = true }
          return isDone
        }
        if wasDone { return }
        do {
          let other = try Database.open(folder.database)
          try other.write { transaction in
            try transaction.table("t").insert(["a": .int(-9), isFirst ? "b" : "c": .text("abc")])
          }
          try other.close()
        } catch { Issue.record(error) }
      }
    }
    if isFirst {
      let error = #expect(throws: EngineError.self) {
        try folder.importCSV(csv, as: "u.csv", options)
      }
      #expect("\(String(describing: error))".contains("changed by somebody else"))
      try folder.importCSV(csv, as: "u.csv", options)
      #expect(try folder.types() == "a int, b text, c text")
      #expect(try folder.exportText().contains("\n-9,abc,\n"))
    } else {
      try folder.importCSV(csv, as: "u.csv", options)
      #expect(try folder.types() == "a int, b int, c text")
    }
    #expect(try folder.exportText().split(separator: "\n").count == 1 + 1 + 1 + count - 1)
    try folder.expectSound()
  }

  /// The table was emptied between two batches: the rest of an input must not become a table.
  @Test func beginningsOfOthersBetweenBatches() throws {
    let folder = try ImportFolder()
    try expectDisturbance(
      of: folder,
      by: { other in
        // The first step of an import with --truncate.
        try other.write { transaction in
          let table = try transaction.table("t")
          try table.deleteAll()
          try table.editor.setNote("imports", nil)
          try table.insert([.int(9), .text("q")])
        }
      })
    #expect(try folder.exportText() == "a,b\n9,q\n")
    try folder.expectSound()
  }

  /// The table got another column between two batches: the plan does not fit any more.
  @Test func columnsOfOthersBetweenBatches() throws {
    let folder = try ImportFolder()
    try expectDisturbance(
      of: folder,
      by: { other in
        try other.write { try $0.table("t").addColumn(Column("c", .int)) }
      })
    #expect(try folder.exportText() == "a,b,c\n1,x,\n")
    #expect(try folder.importCSV(Self.threeRows) { $0.resume = true }.imported == 2)
    #expect(try folder.exportText() == "a,b,c\n1,x,\n2,y,\n3,z,\n")
  }

  @Test("Tables are named by their files or by the option")
  func tablesOfOneFile() throws {
    let folder = try ImportFolder()
    try folder.importCSV("a,b\n1,x\n", as: "first.v1.csv") { $0.table = nil }
    try folder.importCSV("c\n2\n", as: ".hidden.csv") { $0.table = nil }
    try folder.importCSV("d\n3\n") { $0.table = "a table, \"named\"" }
    #expect(try folder.exportText(table: "first") == "a,b\n1,x\n")
    #expect(try folder.exportText(table: "hidden") == "c\n2\n")
    #expect(try folder.exportText(table: "a table, \"named\"") == "d\n3\n")
    try folder.expectSound()
  }

  @Test("The limit of records counts from the input's start")
  func aLimit() throws {
    let folder = try ImportFolder()
    let csv = "a,b\n" + (1...500).map { "\($0),x\n" }.joined()
    for (limit, count) in [(0, 0), (120, 120), (120, 120), (450, 450), (1000, 500)] {
      let report = try folder.importCSV(csv) {
        $0.limit = limit
        $0.resume = true
        $0.batchSize = .records(100)
      }
      #expect(report.objects == count)
    }
    #expect(try folder.exportText() == csv)
    let done = try folder.importCSV(csv) { $0.resume = true }
    #expect(done.resumedAt?.isComplete == true && done.read == 0 && done.objects == 500)
  }

  /// Work for a column must not go through all columns: that took minutes.
  @Test(.timeLimit(.minutes(60))) func aVeryWideTable() throws {
    let folder = try ImportFolder()
    let columns = 40_000
    func line(_ field: (Int) -> String) -> String {
      (0..<columns).map(field).joined(separator: ",") + "\n"
    }
    let csv = line { "c\($0)" } + line { "\($0 % 97)" } + line { "\($0 % 89)" }
    try folder.importCSV(csv)
    #expect(try folder.exportText() == csv)
  }

  /// Each change of the schema copies it: the types of all columns are one change.
  @Test func typesAreSetTogether() throws {
    let folder = try ImportFolder()
    let database = try Database.open(folder.database)
    var options = ImportOptions(inputs: [], database: folder.database)
    // One transaction, which stays open after the batch.
    options.truncate = true
    let transaction = ImportTransaction(database, options, table: "t")
    let columns = (0..<30).map { index in
      ImportPlan.PlannedColumn(
        name: "c\(index)", identifier: UInt32(index + 1), strictType: nil, isNullable: true,
        isNew: true, isGuessed: true)
    }
    let plan = try ImportPlan(
      file: "t.csv", dialect: Dialect(), ragged: .reject, header: [], endsWithDelimiter: false,
      nulls: [], fieldCount: columns.count, fields: nil, columns: columns, keyColumns: [],
      extras: ExtraColumns(nextIdentifier: 31, taken: []), encodes: false,
      batchRecords: nil)
    let destination = DatabaseDestination(
      transaction, plan: plan, conflict: ConflictRule(policy: .error), expected: nil,
      goesOnFrom: nil, truncates: false, keepsContents: false, input: "t.csv", isLastInput: true)
    try destination.begin()
    let editor = try #require(transaction.table?.editor)
    let before = editor.schemaChangeCount
    let types = ColumnTypes(columns.map { _ in ColumnTypes.State(strictType: .int) })
    let checkpoint = Checkpoint(
      input: .init(name: 1), options: 2, byteOffset: 5, checksum: 3, line: 4)
    #expect(try destination.commit(types, checkpoint, mayJoin: false) == .waits)
    #expect(editor.schema.columns.allSatisfy { $0.type == .int })
    #expect(editor.schemaChangeCount == before + 1)
    transaction.rollBack()
    try database.close()
  }

  /// Notes with forged numbers: none may be used to allocate memory or to compute.
  @Test func damagedNotesAreRefused() throws {
    let own = Checkpoint(
      input: .init(name: 1, size: 5), options: 2, byteOffset: 5, checksum: 3, line: 4)
    let sound = Checkpoint.encode([own])
    #expect(Checkpoint.decode(sound) == [own])
    for count in [0, 2, 0x7FFF_FFFF, UInt32.max] {
      var bytes = sound
      for index in 0..<4 {
        bytes[1 + index] = UInt8(truncatingIfNeeded: count >> (8 * UInt32(index)))
      }
      #expect(Checkpoint.decode(bytes) == nil, "\(count) checkpoints")
    }
    // Numbers of 63 bits, in place of the ten small ones behind the flags.
    let numbers = 5 + 25
    for place in 0..<10 {
      for largest in [[UInt8](repeating: 0xFF, count: 8) + [0x7F], [0xFF, 0xFF, 0xFF, 0xFF, 0x7F]] {
        let bytes = Array(sound[..<(numbers + place)] + largest + sound[(numbers + place + 1)...])
        guard let read = Checkpoint.decode(bytes)?.first else { continue }
        // Accepted numbers can be added.
        #expect(read.rejected + read.updated + read.skipped + read.unchanged <= read.records)
        #expect(read.line < Int.max / 4 && read.byteOffset < Int.max / 4)
      }
    }
  }
}
