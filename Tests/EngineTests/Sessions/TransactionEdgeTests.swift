import Base
import Dispatch
import Testing
import TestSupport

@testable import Engine

/// Transactions of sessions that end in unusual ways, and what observers see of their beginning.
@Suite("The edges of sessions' transactions")
struct TransactionEdgeTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  @Test("Results of a table that a cancelled transaction made never show another table")
  func cancelledTable() throws {
    let session = try database.session()
    try session.beginWrite()
    try session.write(making: "draft", in: database)
    let drafts = try session.objects("draft")
    let some = try drafts.filter("a != ''")
    #expect(try drafts.count == 1)
    let object = try drafts[0]
    try session.cancelWrite()
    #expect(try drafts.isInvalidated)
    // The next table gets the same number, and its first object the same key.
    try session.write { transaction in
      try transaction.createTable("other", columns: [Column("a", .text)])
      try session.insert(["a": .text("other")], into: "other")
      #expect(try drafts.isInvalidated)
    }
    #expect(try drafts.isInvalidated)
    #expect(try some.isInvalidated)
    #expect(try object.isInvalidated)
    #expect(throws: EngineError.self) { try drafts.count }
    #expect(throws: EngineError.self) { try some.keys() }
    #expect(throws: EngineError.self) { try drafts.freeze() }
    #expect(throws: EngineError.self) { try ThreadSafeReference(to: drafts) }
    #expect(throws: EngineError.self) { try object.freeze() }
    #expect(try session.objects("other").count == 1)
  }

  @Test("Results of a table that a transaction made go on when it is committed")
  func committedTable() throws {
    let session = try database.session()
    try session.beginWrite()
    try session.write(making: "draft", in: database)
    let drafts = try session.objects("draft")
    try session.commitWrite()
    #expect(try drafts.count == 1)
    #expect(try drafts.freeze().count == 1)
    #expect(try session.resolve(ThreadSafeReference(to: drafts))?.count == 1)
  }

  @Test("A list of objects that a cancelled transaction had added gives none that came later")
  func cancelledList() throws {
    let session = try database.session()
    try session.beginWrite()
    try session.insert(["App": .text("draft")], into: "apps")
    let list = try session.objects("apps").objects
    try session.cancelWrite()
    try session.write { _ in try session.insert(["App": .text("other")], into: "apps") }
    #expect(try list.last?.isInvalidated == true)
    #expect(try list.first?["App"] == .text("app 0"))
  }

  @Test("write ends the transaction that its closure has begun after ending the first")
  func begunAnew() throws {
    let session = try database.session()
    try session.write { _ in
      try session.commitWrite()
      try session.beginWrite()
      try session.insert(["App": .text("second")], into: "apps")
    }
    #expect(try !session.isInWriteTransaction)
    #expect(try session.objects("apps").count == 11)
    struct Refused: Error {}
    #expect(throws: Refused.self) {
      try session.write { _ in
        try session.cancelWrite()
        try session.beginWrite()
        try session.insert(["App": .text("third")], into: "apps")
        throw Refused()
      }
    }
    #expect(try !session.isInWriteTransaction)
    #expect(try session.objects("apps").count == 11)
  }

  @Test("Limits and offsets below 0 are refused, also behind others")
  func limits() throws {
    let apps = try database.session().objects("apps")
    let page = try apps.limited(to: 3, offset: 5)
    for (limit, offset) in [(1, -5), (1, Int.min), (-1, 0), (Int.min, 0)] {
      #expect(throws: EngineError.self) { try apps.limited(to: limit, offset: offset) }
      #expect(throws: EngineError.self) { try page.limited(to: limit, offset: offset) }
    }
    #expect(throws: EngineError.self) { try page.distinct(by: "Category") }
    #expect(try page.limited(to: .max, offset: 1).count == 2)
    #expect(Set([try apps[0], try apps[0], try apps[1]]).count == 2)
    #expect(try page.limited(to: .max, offset: .max).isEmpty)
  }

  @Test("null is nobody's primary key, and asking for it breaks no rule")
  func nullKey() throws {
    let session = try database.session()
    var kept: WritableTable?
    try session.write { transaction in
      try transaction.createTable("keyless", columns: [Column("a", .text)])
      #expect(try session.object(in: "apps", primaryKey: .null) == nil)
      #expect(throws: EngineError.self) { try session.object(in: "keyless", primaryKey: .null) }
      let keyless = try transaction.table("keyless")
      #expect(throws: EngineError.self) { try keyless.row(forPrimaryKey: .null) }
      kept = try transaction.table("apps")
      #expect(try kept?.row(forPrimaryKey: .null) == nil)
    }
    #expect(throws: EngineError.self) { try kept?.row(forPrimaryKey: .null) }
  }

  @Test("A transaction's table is refused on another thread, and goes on where it belongs")
  func tableElsewhere() throws {
    struct Smuggled: @unchecked Sendable { let table: WritableTable }
    let queue = DispatchQueue(label: "tables")
    try database.write { transaction in
      let smuggled = Smuggled(table: try transaction.table("apps"))
      try Background {
        #expect(throws: EngineError.wrongThread(what: "a table of a write transaction")) {
          try smuggled.table.insert(["App": .text("smuggled")])
        }
        #expect(throws: EngineError.self) { try smuggled.table.row(forKey: 1) }
        #expect(throws: EngineError.self) { try smuggled.table.delete(1) }
        #expect(throws: EngineError.self) { try smuggled.table.count }
        #expect(throws: EngineError.self) {
          try Query(column("Installs") > 3).count(in: smuggled.table)
        }
      }.join()
      // The same thread, acting for another queue.
      try queue.sync { _ = try smuggled.table.insert(["App": .text("at home")]) }
      #expect(try smuggled.table.count == 11)
    }
    // A queue's next block may run on another thread.
    let sessions = SessionQueue(database, queue)
    try sessions.perform { try $0.beginWrite() }
    try Background {
      try sessions.perform { session in
        try session.insert(["App": .text("next block")], into: "apps")
        try session.commitWrite()
      }
    }.join()
    #expect(try database.snapshot().table("apps").count == 12)
  }

  @Test("What others commit while write waits is told of outside its transaction")
  func observerOfWaitingWriter() throws {
    let worker = try SessionThread(database)
    let told = Told<String>()
    try worker.perform { session in
      try session.keep(
        session.objects("apps").observe { change in
          guard case .update(let apps, let changes) = change else { return told.add("initial") }
          do {
            // Both are refused inside a transaction.
            _ = try apps.freeze()
            try session.write { _ in }
            told.add("\(changes.insertions.count) inserted")
          } catch {
            told.add("\(error)")
          }
        })
    }
    #expect(told.wait(1) == ["initial"])
    let transaction = try database.beginWrite()
    try transaction.table("apps").insert(["App": .text("from outside")])
    try worker.async { session in
      do {
        try session.write { _ in
          #expect(try session.objects("apps").count == 11)
          try session.insert(["App": .text("from inside")], into: "apps")
        }
      } catch {
        told.add("\(error)")
      }
    }
    // Nothing tells when it waits. If the commit came too late, the observer is called twice.
    System.sleep(milliseconds: 100)
    try transaction.commit()
    let calls = told.wait(2).dropFirst()
    #expect(calls.allSatisfy { $0.hasSuffix("inserted") }, "\(calls)")
  }
}

extension Session {
  /// Makes a table with one object in the open transaction.
  fileprivate func write(making table: String, in database: Database) throws {
    guard let transaction else { throw EngineError.noTransaction(operation: "a table") }
    try transaction.createTable(table, [Column("a", .text)], keys: [], indexes: [])
    try insert(["a": .text("x")], into: table)
  }
}
