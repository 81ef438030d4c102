import Base
import Dispatch
import TestSupport
import Testing

@testable import Engine

// What users of Realm expect, and what a session does: a test for each point, named after it.
// scripts/compile-errors has what does not compile (Tests/CompileErrors).

/// Whether `body` throws because of the wrong thread.
func isRefusedHere(_ body: () throws -> Void) -> Bool {
  do { try body() } catch EngineError.wrongThread { return true } catch {}
  return false
}

/// The versions that are held.
func heldVersions(_ database: Database) throws -> Set<UInt64> {
  Set(try database.coordination.heldVersions().map(\.record.version))
}

/// Carries a value to another thread, which the compiler would refuse.
struct Smuggled<Content>: @unchecked Sendable {
  let content: Content
  init(_ content: Content) { self.content = content }
}

@Suite("Realm's behaviour: sessions and writing", .timeLimit(.minutes(60)))
struct RealmBehaviourTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  private struct Refused: Error {}

  @Test("opening on a thread (or serial queue): elsewhere everything throws")
  func opening() throws {
    let database = database
    let queue = DispatchQueue(label: "own")
    #expect(throws: EngineError.wrongThread(what: "a session of a queue")) {
      _ = try database.session(on: queue)
    }
    let smuggled = try queue.sync { Smuggled(try database.session(on: queue)) }
    // On its queue the session works, whichever thread runs the queue.
    for _ in 0..<10 {
      DispatchQueue.global().sync {
        queue.sync {
          #expect(!isRefusedHere { _ = try smuggled.content.objects("apps").count })
        }
      }
    }
    #expect(isRefusedHere { _ = try smuggled.content.version })
    DispatchQueue(label: "other").sync {
      #expect(isRefusedHere { try smuggled.content.refresh() })
    }
    let worker = try SessionThread(database)
    let owned = try worker.perform { Smuggled($0) }
    #expect(isRefusedHere { _ = try owned.content.objects("apps") })
    queue.sync { #expect(isRefusedHere { _ = try owned.content.tableNames }) }
    worker.stop()
    #expect(isRefusedHere { _ = try owned.content.tableNames })
  }

  @Test("opening on a thread (or serial queue): concurrent queues")
  func concurrentQueues() throws {
    // A global queue is refused.
    let database = database
    let global = SessionQueue(database, .global())
    #expect { try global.perform { _ in } } throws: {
      "\($0)".contains("needs a serial queue")
    }
    let told = Told<String>()
    global.async { result in
      if case .failure(let error) = result { told.add("\(error)") }
    }
    #expect(told.wait(1).first?.contains("needs a serial queue") == true)
    // On another concurrent queue the session runs its work alone.
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let session = SessionQueue(database, queue)
    let inside = Shared<Int>()
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<20 {
        do {
          try session.perform { session in
            inside.append(1)
            try session.refresh()
            if try session.objects("apps").filter("Category == 'GAME'").count != 5 {
              Issue.record("not five games")
            }
            inside.append(-1)
          }
        } catch {
          Issue.record(error)
        }
      }
    }
    #expect(inside.list.count == 320)
    #expect(stride(from: 0, to: 320, by: 2).allSatisfy { inside.list[$0] == 1 })
  }

  @Test("opening on a thread (or serial queue): a transaction over several blocks of a queue")
  func severalBlocks() throws {
    let database = database
    let queue = SessionQueue(database, DispatchQueue(label: "blocks"))
    try queue.perform { try $0.beginWrite() }
    try queue.perform { session in
      try session.insert(["App": .text("one")], into: "apps")
      #expect(throws: EngineError.nestedTransaction(path: database.path)) {
        try database.write { _ in }
      }
    }
    // Readers do not see it before the commit, and do not wait for it.
    #expect(try database.snapshot().table("apps").count == 10)
    try queue.perform { _ = try $0.commitWrite() }
    #expect(try database.snapshot().table("apps").count == 11)
  }

  @Test("write {}: refreshes first; one writer, first come first served")
  func writeOrder() throws {
    let database = database
    let session = try database.session()
    let order = Shared<Int>()
    try session.beginWrite()
    var threads: [Background] = []
    for who in 0..<6 {
      let tickets = database.coordination.word(Coordination.Offset.nextTicket)
      let before = tickets.load()
      threads.append(
        try Background {
          let session = try database.session()
          let app = try #require(try session.object(in: "apps", key: 1))
          try session.write { _ in
            order.append(who)
            // The transactions before have added one each: nothing is lost.
            guard case .int(let installs) = try app["Installs"] else { return }
            #expect(installs == Int64(who) + 100)
            try app.set("Installs", to: .int(installs + 1))
          }
        })
      // The next thread asks once this one has its ticket.
      for _ in 0..<20_000 where tickets.load() == before { System.sleep(milliseconds: 1) }
    }
    try session.object(in: "apps", key: 1)?.set("Installs", to: .int(100))
    try session.commitWrite()
    for thread in threads { try thread.join() }
    #expect(order.list == Array(0..<6))
    try session.refresh()
    #expect(try session.object(in: "apps", key: 1)?["Installs"] == .int(106))
  }

  @Test("write {}: an error rolls back and is rethrown; the block may commit or cancel by itself")
  func writeEnds() throws {
    let session = try database.session()
    let apps = try session.objects("apps")
    let version = try session.version
    #expect(throws: Refused.self) {
      try session.write { _ in
        try session.delete(apps)
        #expect(try apps.isEmpty)
        throw Refused()
      }
    }
    #expect(try apps.count == 10 && session.version == version)
    #expect(try !session.isInWriteTransaction)
    try session.write { _ in
      try apps[0].delete()
      try session.commitWrite()
      #expect(try !session.isInWriteTransaction)
      #expect(throws: EngineError.noTransaction(operation: "a deletion")) { try apps[0].delete() }
    }
    #expect(try apps.count == 9)
    // A later error does not undo the commit.
    #expect(throws: Refused.self) {
      try session.write { _ in
        try apps[0].delete()
        try session.commitWrite()
        throw Refused()
      }
    }
    #expect(try apps.count == 8)
    try session.write { _ in
      try apps[0].delete()
      try session.cancelWrite()
    }
    #expect(try apps.count == 8)
  }

  @Test("write {}: nested throws; beginning can throw")
  func writeMisuse() throws {
    let session = try database.session()
    let other = try database.session()
    let nested = EngineError.nestedTransaction(path: database.path)
    try session.write { _ in
      #expect(throws: nested) { try session.write { _ in } }
      #expect(throws: nested) { try session.beginWrite() }
      #expect(throws: nested) { try other.write { _ in } }
      #expect(throws: nested) { try database.write { _ in } }
      #expect(throws: nested) { _ = try database.beginWrite() }
      #expect(throws: nested) { try database.connection().write { _ in } }
      #expect(throws: nested) { _ = try database.compact() }
      #expect(throws: nested) { try database.close() }
      try session.insert(["App": .text("after all that")], into: "apps")
    }
    #expect(try session.objects("apps").count == 11)
    try database.write { _ in
      #expect(throws: nested) { try session.write { _ in } }
    }
    let reader = try Database.open(folder.path("t.sheaf"), options: .init(access: .readOnly))
    let reading = try reader.session()
    #expect(throws: EngineError.readOnly(path: reader.path)) { try reading.beginWrite() }
    #expect(throws: EngineError.readOnly(path: reader.path)) { try reading.write { _ in } }
    try reader.close()
    #expect(throws: EngineError.closed(path: reader.path)) { try reading.beginWrite() }
    #expect(throws: EngineError.closed(path: reader.path)) { try reading.refresh() }
    // Its version is still readable.
    #expect(try reading.objects("apps").count == 11)
  }

  @Test(
    "commitWrite, cancelWrite: a cancellation invalidates added objects; outside a write it throws")
  func cancelling() throws {
    let session = try database.session()
    #expect(throws: EngineError.noTransaction(operation: "a commit")) { try session.commitWrite() }
    #expect(throws: EngineError.noTransaction(operation: "a cancellation")) {
      try session.cancelWrite()
    }
    try session.beginWrite()
    let added = try session.insert(["App": .text("added")], into: "apps")
    let deleted = try #require(try session.object(in: "apps", key: 1))
    try deleted.delete()
    #expect(try !added.isInvalidated && deleted.isInvalidated)
    try session.cancelWrite()
    #expect(try added.isInvalidated && !deleted.isInvalidated)
    for use in [
      { _ = try added["App"] }, { _ = try added.row() }, { _ = try added.freeze() },
      { _ = try ThreadSafeReference(to: added) }, { _ = try added.observe { _ in } },
    ] as [() throws -> Void] {
      #expect { try use() } throws: {
        if case EngineError.invalidated? = $0 as? EngineError { true } else { false }
      }
    }
    // The key is not given again; the old accessor does not show the next object.
    try session.beginWrite()
    let next = try session.insert(["App": .text("next")], into: "apps")
    #expect(try next.key == added.key + 1 && added.isInvalidated)
    #expect(throws: (any Error).self) { try added.set("App", to: .text("wrong")) }
    #expect(throws: (any Error).self) { try added.delete() }
    try session.commitWrite()
    #expect(try next["App"] == .text("next"))
    #expect(throws: EngineError.noTransaction(operation: "a commit")) { try session.commitWrite() }
  }

  @Test("commitWrite, cancelWrite: tables created and removed")
  func cancellingTables() throws {
    let session = try database.session()
    let apps = try session.objects("apps")
    let app = try apps[0]
    let made = try session.write { transaction in
      try transaction.createTable("other", columns: [Column("a", .int)])
      let made = try session.insert(["a": .int(1)], into: "other")
      try transaction.deleteTable("apps")
      #expect(try apps.isInvalidated && app.isInvalidated)
      #expect(throws: EngineError.noSuchTable(name: "apps", known: ["other"])) {
        _ = try session.objects("apps")
      }
      try session.cancelWrite()
      return made
    }
    #expect(try made.isInvalidated && !apps.isInvalidated && !app.isInvalidated)
    #expect(try session.tableNames == ["apps"])
    try session.write { try $0.renameTable("apps", to: "programs") }
    // Results found under the old name belong to the same table.
    #expect(try apps.count == 10 && app["App"] == .text("app 0"))
    try session.write { try $0.deleteTable("programs") }
    #expect(try apps.isInvalidated && app.isInvalidated)
    #expect { _ = try apps.count } throws: {
      if case EngineError.invalidated? = $0 as? EngineError { true } else { false }
    }
  }

  @Test("modifying outside a write throws, and nothing changes")
  func modifyingOutside() throws {
    let session = try database.session()
    let apps = try session.objects("apps")
    let app = try apps[0]
    let changes: [() throws -> Void] = [
      { try app.set("Rating", to: .null) }, { try app.set(["Rating": .null]) },
      { try app.delete() }, { try apps.setAll(["Rating": .null]) },
      { try session.insert(["App": .text("x")], into: "apps") },
      { try session.upsert(["App": .text("x")], into: "apps") },
      { try session.delete(apps) }, { try session.delete(apps.filter("Rating > 1")) },
      { try session.deleteAll() },
    ]
    let version = try session.version
    for (number, change) in changes.enumerated() {
      #expect("change \(number)") { try change() } throws: {
        if case EngineError.noTransaction? = $0 as? EngineError { true } else { false }
      }
    }
    #expect(try apps.count == 10 && session.version == version && database.newestVersion == version)
    // A session of another database cannot change this one's objects.
    let other = try SessionTests.apps(folder, "other.sheaf").session()
    try other.write { _ in
      #expect(throws: EngineError.noTransaction(operation: "a change")) {
        try app.set("Rating", to: .null)
      }
      #expect(throws: EngineError.foreign(what: "results", expected: "session")) {
        try other.delete(apps)
      }
    }
    #expect(throws: EngineError.foreign(what: "an object", expected: "session")) {
      _ = try other.objects("apps").firstIndex(of: app)
    }
  }
}
