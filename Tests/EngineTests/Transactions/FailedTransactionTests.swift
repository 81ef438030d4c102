import Foundation
import TestSupport
import Testing

@testable import Engine

/// A transaction in which an operation has failed stays failed, however the program handles the error;
/// a refused operation leaves it as it was.
@Suite("Failed transactions")
struct FailedTransactionTests {
  private static let noSpace: Int32 = 28

  private static func isFailed(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch EngineError.transactionFailed(let cause) {
      return !cause.isEmpty
    } catch {
      return false
    }
  }

  // MARK: Going on after an error

  @Test("The disk is full in the middle of a change of columns, and the program goes on")
  func fullDisk() throws {
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    let database = try Database.open(storage: storage)
    var random = SplitMix64(seed: 1)
    func word() -> Value {
      .text(String(random.next(), radix: 36) + String(random.next(), radix: 36))
    }
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("s", .text), Column("u", .text)])
      let table = try transaction.table("t")
      for _ in 0..<12_000 { try table.insert([word(), word()]) }
    }
    let isRolledBack = Self.isFailed {
      try database.write { transaction in
        let table = try transaction.table("t")
        for cluster in stride(from: 0, to: 11, by: 2) {
          for row in 0..<500 {
            try table.update(Int64(cluster * 1024 + row * 2 + 1), ["s": word()])
          }
        }
        storage.fail(after: 0, code: Self.noSpace)
        do {
          try table.addColumn(Column("more", .int, default: .int(1)))
          Issue.record("there was room")
        } catch EngineError.system {}
        // The program has freed space, and tries to continue.
        #expect(storage.failure != nil)
        #expect(Self.isFailed { try table.update(1, ["s": .text("done")]) })
        #expect(Self.isFailed { _ = try table.row(forKey: 1) })
      }
    }
    #expect(isRolledBack)
    #expect(try database.check().problems == [])
    for _ in 0..<6 {
      try database.write { transaction in
        let table = try transaction.table("t")
        for _ in 0..<1000 { try table.insert([word(), word()]) }
      }
    }
    #expect(try database.check().problems == [])
    #expect(try database.snapshot().table("t").count == 18_000)
  }

  @Test(
    "Any operation fails at any moment, the program tries to go on, and others follow",
    arguments: 0..<24 as Range<UInt64>)
  func random(seed: UInt64) throws {
    for seed in seed * 1000..<seed * 1000 + (Effort.isLong ? 200 : 1) { try history(seed) }
  }

  private func history(_ seed: UInt64) throws {
    var storage = FailingStorage(RecordingStorage(isRecording: false))
    var options = Database.Options.tiny
    options.limits.openClusters = 1
    var database = try Database.open(storage: storage, options: options)
    var changes = RandomChanges(seed: seed)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      for name in ["all", "few", "keyed"] {
        try changes.insert(30, into: name, transaction, &model)
      }
    }
    for round in 0..<Effort.rounds(30, long: 30) {
      let what = "seed \(seed), round \(round)"
      var next = model
      storage.fail(
        after: Int.random(in: 0..<60, using: &changes.random), code: Self.noSpace,
        kinds: Bool.random(using: &changes.random)
          ? FailingStorage.Kind.all : FailingStorage.Kind.changes)
      do {
        let transaction = try database.beginWrite()
        var hasFailed = false
        for _ in 0..<8 {
          var attempt = next
          do {
            try changes.any(transaction, &attempt)
            // An operation with nothing to do does not look at the failure.
            if !hasFailed { next = attempt }
          } catch let error as EngineError {
            #expect(storage.failure != nil, "\(what): \(error)")
            hasFailed = true
          }
        }
        if hasFailed {
          #expect(Self.isFailed { _ = try transaction.table("all") }, "\(what)")
        }
        if hasFailed, Bool.random(using: &changes.random) {
          transaction.rollBack()
        } else if hasFailed {
          do {
            try transaction.commit(durability: .full)
            Issue.record("\(what): a failed transaction was committed")
          } catch EngineError.transactionFailed {}
        } else {
          try transaction.commit(durability: .full)
          model = next
        }
      } catch EngineError.poisoned {
        // The slot may be on the disk or not: reopening the file shows which.
        let copy = RecordingStorage(
          (storage.inner as? RecordingStorage)?.content ?? [], isRecording: false)
        storage = FailingStorage(copy)
        database = try Database.open(storage: storage, options: options)
        if try next.difference(database.snapshot()) == nil { model = next }
      } catch is EngineError {
        #expect(storage.failure != nil, "\(what)")
      }
      storage.recover()
      try model.learnNextKeys(database)
      try #require(try database.check().problems == [], "\(what)")
      try #require(try model.difference(database.snapshot()) == nil, "\(what)")
    }
  }

  @Test("A query that cannot read a leaf ends the transaction")
  func unreadableQuery() throws {
    let storage = RecordingStorage(isRecording: false)
    var place = 0
    do {
      let database = try Database.open(storage: storage)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("s", .text)])
        for row in 0..<300 { try transaction.table("t").insert([.text("row \(row * row)")]) }
      }
      // In the last column, which is verified when it is read.
      try database.snapshot().table("t").forEachLeaf { leaf in
        place = Int(leaf.entry.reference.offset) + Int(leaf.entry.reference.length) / 2
      }
      try database.close()
    }
    try [UInt8](repeating: 0x55, count: 64).withUnsafeBytes { try storage.write($0, at: place) }
    let database = try Database.open(storage: storage)
    let transaction = try database.beginWrite()
    let table = try transaction.table("t")
    do {
      _ = try Query(column("s") == "row 4").keys(in: table)
      Issue.record("it was read")
    } catch EngineError.damaged {}
    #expect(Self.isFailed { _ = try table.count })
    do {
      try transaction.commit()
      Issue.record("it was committed")
    } catch EngineError.transactionFailed {}
  }

  @Test("What a failed transaction knew of free pages is not what the next one goes by")
  func mapOfFreePages() throws {
    struct Oops: Error {}
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    let database = try Database.open(storage: storage)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("s", .text)])
      try transaction.table("t").insert([.text("first")])
    }
    let map = try #require(database.memory.space)
    // A transaction that was cancelled has not failed.
    #expect(throws: Oops.self) {
      try database.write { transaction in
        try transaction.table("t").insert([.text("given up")])
        throw Oops()
      }
    }
    try database.write { _ = try $0.table("t").insert([.text("second")]) }
    #expect(database.memory.space === map)
    storage.fail(after: 0, code: Self.noSpace)
    #expect(throws: EngineError.self) {
      try database.write { _ = try $0.table("t").insert([.text("failed")]) }
    }
    #expect(storage.failure == .write)
    try database.write { _ = try $0.table("t").insert([.text("third")]) }
    #expect(database.memory.space !== map)
    #expect(try database.check().problems == [])
    #expect(try database.snapshot().table("t").count == 3)
  }

  // MARK: Every operation

  /// All public operations of a transaction, by their names in the sources.
  private static func operations(_ transaction: borrowing WriteTransaction, _ table: WritableTable)
    -> [(name: String, isFailed: Bool)]
  {
    struct Model: Codable { var s: String? }
    let query = Query()
    return [
      ("createTable", isFailed { try transaction.createTable("n", columns: [Column("a", .int)]) }),
      (
        "createTable",
        isFailed { try transaction.createTable(TableDefinition("n", columns: [Column("a", .int)])) }
      ),
      ("table", isFailed { _ = try transaction.table("t") }),
      ("renameTable", isFailed { try transaction.renameTable("t", to: "n") }),
      ("deleteTable", isFailed { try transaction.deleteTable("t") }),
      ("deleteAll", isFailed { try transaction.deleteAll() }),
      ("describe", isFailed { try transaction.describe("a test") }),
      ("keepBase", isFailed { try transaction.keepBase(most: 1) }),
      ("keepVersions", isFailed { try transaction.keepVersions(1) }),
      ("tag", isFailed { try transaction.tag("a") }),
      ("dropTag", isFailed { try transaction.dropTag("a") }),
      ("count", isFailed { _ = try table.count }),
      ("row", isFailed { _ = try table.row(forKey: 1) }),
      ("row", isFailed { _ = try table.row(at: 0) }),
      ("row", isFailed { _ = try table.row(forPrimaryKey: .text("a")) }),
      ("setKey", isFailed { try table.setKey("n") }),
      ("addIndex", isFailed { try table.addIndex("s") }),
      ("removeIndex", isFailed { try table.removeIndex("i") }),
      ("upsert", isFailed { try table.upsert(["id": .text("a")]) }),
      ("insert", isFailed { try table.insert([.text("b"), .null, .null, .int(1)]) }),
      ("insert", isFailed { try table.insert(["id": .text("b"), "n": .int(1)]) }),
      ("update", isFailed { try table.update(1, ["s": .text("x")]) }),
      ("delete", isFailed { try table.delete(1) }),
      ("deleteAll", isFailed { try table.deleteAll() }),
      ("deleteAll", isFailed { _ = try table.deleteAll(where: column("n") == 1) }),
      ("misfits", isFailed { _ = try table.misfits("s", as: .int) }),
      ("setType", isFailed { try table.setType("n", to: .text) }),
      ("insert", isFailed { try table.insert(Model(s: "x")) }),
      ("upsert", isFailed { try table.upsert(["id": .text("a"), "s": .text("y")]) }),
      ("update", isFailed { try table.update(1, Model(s: "x")) }),
      ("addColumn", isFailed { try table.addColumn(Column("new", .int)) }),
      ("renameColumn", isFailed { try table.renameColumn("s", to: "z") }),
      ("removeColumn", isFailed { try table.removeColumn("s") }),
      ("widenColumn", isFailed { try table.widenColumn("n", to: .text) }),
      ("setNullable", isFailed { try table.setNullable("s", false) }),
      ("setDefault", isFailed { try table.setDefault("s", .text("d")) }),
      ("removeKey", isFailed { try table.removeKey() }),
      ("forEachRow", isFailed { try table.forEachRow { _ in } }),
      ("count", isFailed { _ = try query.count(in: table) }),
      ("explain", isFailed { _ = try query.explain(in: table) }),
      ("forEachRow", isFailed { try query.forEachRow(in: table) { _ in } }),
      ("rows", isFailed { _ = try query.rows(in: table) }),
      ("keys", isFailed { _ = try query.keys(in: table) }),
      ("aggregates", isFailed { _ = try query.aggregates([.count("s")], in: table) }),
      ("groups", isFailed { _ = try query.groups(by: ["s"], in: table) }),
    ]
  }

  @Test("Every operation throws after one has failed")
  func everyOperation() throws {
    let storage = FailingStorage(RecordingStorage(isRecording: false))
    let database = try Database.open(storage: storage)
    try database.write { transaction in
      try transaction.createTable(
        "t",
        columns: [
          Column("id", .text), Column("s", .text), Column("i", .int),
          Column("n", .int, nullable: false),
        ], key: "id", indexes: ["i"])
      try transaction.table("t").insert([.text("a"), .text("s"), .int(1), .int(2)])
    }
    let transaction = try database.beginWrite()
    let table = try transaction.table("t")
    storage.fail(after: 0, code: Self.noSpace)
    #expect(throws: EngineError.self) {
      // The pending row is written so that it can be read, and there is no space for it.
      try table.insert([.text("new"), .null, .null, .int(1)])
      try table.addColumn(Column("filled", .int, default: .int(1)))
      try table.addIndex("s")
    }
    try #require(storage.failure != nil)
    let operations = Self.operations(transaction, table)
    for operation in operations {
      #expect(operation.isFailed, "\(operation.name) does not look at the transaction's failure")
    }
    do {
      try transaction.commit()
      Issue.record("it was committed")
    } catch EngineError.transactionFailed(let cause) {
      #expect(cause.contains("memory.sheaf"))
    }
    // A new operation must be added above.
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Sources/Engine/Transactions")
    var inSources: Set<String> = []
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path)
    where name.hasPrefix("WritableTable") || name.hasPrefix("WriteTransaction") {
      let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      for line in text.split(separator: "\n") {
        guard let start = line.range(of: "public func ") else { continue }
        inSources.insert(String(line[start.upperBound...].prefix { $0.isLetter }))
      }
    }
    #expect(inSources == Set(operations.map(\.name)))
  }

  // MARK: What was refused

  @Test("What is refused leaves the transaction as it was")
  func refusals() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .text), Column("n", .int, nullable: false)], key: "id",
        indexes: ["n"])
      let table = try transaction.table("t")
      for number in 0..<20 { try table.insert([.text("\(number)"), .int(Int64(number))]) }
    }
    try database.write { transaction in
      let table = try transaction.table("t")
      try table.update(3, ["n": .int(33)])
      try table.delete(5)
      func refused(_ body: () throws -> Void) {
        #expect(throws: EngineError.self) { try body() }
        #expect(throws: Never.self) { _ = try table.count }
      }
      refused { try table.insert([.text("7"), .int(1)]) }
      refused { try table.insert([.text("new"), .null]) }
      refused { try table.insert([.text("new"), .text("x")]) }
      refused { try table.insert([.text("new")]) }
      refused { try table.insert(["nothing": .int(1)]) }
      refused { try table.update(5, ["n": .int(1)]) }
      refused { try table.update(3, ["id": .text("9")]) }
      // None of these objects exists, and the key's index must not name them.
      refused { try table.update(5, ["id": .text("deleted")]) }
      refused { try table.update(400, ["id": .text("none")]) }
      refused { try table.update(-4, ["id": .text("negative")]) }
      #expect(try table.row(forPrimaryKey: .text("none")) == nil)
      #expect(try table.row(forPrimaryKey: .text("negative")) == nil)
      refused { try table.addColumn(Column("n", .int)) }
      refused { try table.addColumn(Column("must", .int, nullable: false)) }
      refused { try table.setKey("nothing") }
      refused { try table.widenColumn("id", to: .int) }
      refused { try table.setNullable("id", true) }
      refused { try transaction.createTable("t", columns: [Column("a", .int)]) }
      refused { try transaction.createTable("u", columns: [Column("a", .int)], indexes: ["b"]) }
      refused { _ = try transaction.table("none") }
      refused { try transaction.renameTable("t", to: "") }
      try table.update(4, ["n": .int(33)])
      refused { try table.setKey("n") }
      #expect(table.keyColumn == "id")
      try table.insert([.text("last"), .int(1)])
    }
    #expect(try database.check().problems == [])
    #expect(try database.snapshot().table("t").count == 20)
    #expect(try database.snapshot().table("t").row(forPrimaryKey: .text("none")) == nil)
  }

  @Test("An error after a change ends the transaction, also one that is a refusal as a rule")
  func refusalAfterChange() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write {
      try $0.createTable("t", columns: [Column("id", .text)], key: "id")
    }
    let transaction = try database.beginWrite()
    let table = try transaction.table("t")
    var failure: EngineError?
    // The rows are wrongly said to be new, which is found rows later, when entries of the index are
    // merged.
    for _ in 0..<100 where failure == nil {
      do {
        try Array("same".utf8).withUnsafeBytes { arena in
          try withUnsafePointer(to: TextSpan(offset: 0, length: 4)) {
            try table.editor.append(
              arena: arena, spans: UnsafeBufferPointer(start: $0, count: 1), rowCount: 1,
              keysAreNew: true)
          }
        }
      } catch let error as EngineError {
        failure = error
      }
    }
    guard case .invalidKey? = failure else {
      Issue.record("\(String(describing: failure))")
      return
    }
    var ending: (any Error)?
    do {
      try transaction.commit()
    } catch {
      ending = error
    }
    guard case .transactionFailed? = ending as? EngineError else {
      Issue.record("\(String(describing: ending))")
      return
    }
    #expect(try database.snapshot().table("t").count == 0)
  }
}
