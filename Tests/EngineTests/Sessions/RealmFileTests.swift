import Dispatch
import Foundation
import Testing

@testable import Engine

@Suite("Realm's behaviour: files and limits; YapDatabase; threads", .timeLimit(.minutes(2)))
struct RealmFileTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  // MARK: Asynchronous writes

  @Test("async writes: queued in order, from anywhere; completion, cancel, refused grouping")
  func asyncWrites() throws {
    let database = database
    let session = try database.session()
    let told = Told<String>()
    let insert: @Sendable (String) -> PendingWrite = { name in
      database.asyncWrite(allowsGrouping: !name.hasSuffix("!")) {
        _ = try $0.table("apps").insert(["App": .text(name)])
      } completion: { result in
        switch result {
        case .success: told.add(name)
        case .failure(let error): told.add("\(name): \(error)")
        }
      }
    }
    // Inside a transaction of a session they come after it, so this one can be cancelled.
    try session.write { _ in
      _ = insert("a")
      let cancelled = insert("b")
      #expect(cancelled.cancel() && cancelled.isCancelled)
      _ = insert("c!")
      try session.insert(["App": .text("first")], into: "apps")
    }
    _ = insert("app 1")  // a key that is there
    let all = told.wait(4)
    #expect(all.filter { !$0.hasPrefix("b") }.map { $0.prefix(5) } == ["a", "c!", "app 1"])
    #expect(all.contains { $0.hasPrefix("b: the write was cancelled") })
    try session.refresh()
    let names = try session.objects("apps").objects.suffix(3).map { try $0["App"] }
    #expect(names == [.text("first"), .text("a"), .text("c!")])
  }

  @Test("async writes: of a session, completed where it lives, which sees them then")
  func asyncWritesOfSession() throws {
    let database = database
    let worker = try SessionThread(database)
    let told = Told<String>()
    let queue = SessionQueue(database, DispatchQueue(label: "async"))
    let write: @Sendable (Session, String) throws -> Void = { session, name in
      let apps = try session.objects("apps")
      try session.asyncWrite {
        try $0.table("apps").insert(["App": .text(name)])
      } completion: { result in
        do {
          let key = try result.get()
          told.add("\(name) \(try session.object(in: "apps", key: key) != nil) \(try apps.count)")
        } catch {
          told.add("\(error)")
        }
      }
    }
    try worker.perform { try write($0, "thread") }
    #expect(told.wait(1) == ["thread true 11"])
    try queue.perform { try write($0, "queue") }
    #expect(told.wait(2).last == "queue true 12")
    try queue.perform { try write($0, "queue") }
    #expect(told.wait(3).last?.contains("has an object with the key 'queue'") == true)
    try Background {
      let session = try database.session()
      #expect { try write(session, "nowhere") } throws: {
        if case EngineError.cannotObserve? = $0 as? EngineError { true } else { false }
      }
    }.join()
    #expect(try database.snapshot().table("apps").count == 12)
  }

  @Test("async writes: from an observer and a thread without a loop, and awaited")
  func asyncWritesElsewhere() async throws {
    let database = database
    let worker = try SessionThread(database)
    let told = Told<Int>()
    try await worker.perform { session in
      try session.keep(
        try session.objects("apps").observe { change in
          if case .update(let apps, _) = change { told.add((try? apps.count) ?? -1) }
          if case .initial = change {
            database.asyncWrite { _ = try $0.table("apps").insert(["App": .text("seen")]) }
          }
        })
    }
    try await database.asyncWrite { _ = try $0.table("apps").insert(["App": .text("awaited")]) }
    for _ in 0..<2000 where told.all.last != 12 {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(told.all.last == 12)
    try database.close()
    await #expect(throws: EngineError.closed(path: database.path)) {
      try await database.asyncWrite { _ in }
    }
  }

  // MARK: Files

  @Test(
    "shouldCompactOnLaunch: asked with both sizes; skipped if others hold the file, and says so")
  func compactionAtOpen() throws {
    try database.write { transaction in
      let apps = try transaction.table("apps")
      for number in 0..<3000 { try apps.insert(["App": .text("a longer name \(number &* 7919)")]) }
    }
    try database.write { try $0.deleteAll() }
    let path = folder.path("t.sheaf")
    let asked = Shared<[Int]>()
    var options = Database.Options()
    options.shouldCompact = { total, used in
      asked.append([total, used])
      return used < total / 2
    }
    // This session has it open.
    let session = try database.session()
    let second = try Database.open(path, options: options)
    #expect(second.compactionAtOpen?.decision == .skippedInUse)
    #expect(second.compactionAtOpen?.reason != nil)
    #expect(try session.objects("apps").isEmpty)
    try second.close()
    // The file is copied before closing gives the free end back.
    let copy = folder.path("copy.sheaf")
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let alone = try Database.open(copy, options: options)
    #expect(alone.compactionAtOpen?.decision == .compacted)
    #expect(try #require(alone.compactionAtOpen).after < 30_000)
    #expect(asked.list.count == 2 && asked.list.allSatisfy { $0[0] > $0[1] && $0[1] > 0 })
    #expect(try alone.compact().decision == .compacted)
    let held = try alone.session()
    #expect(try alone.compact().decision == .skippedInUse)
    #expect(try held.objects("apps").isEmpty)
    try alone.close()
  }

  @Test("writeCopy(toFile:): a compact copy while others write; an existing destination throws")
  func writeCopy() throws {
    let session = try database.session()
    let copy = folder.path("copy.sheaf")
    try session.write { _ in
      try session.insert(["App": .text("not in the copy")], into: "apps")
      let database = database
      try Background { try database.writeCopy(to: copy) }.join()
    }
    let opened = try Database.open(copy)
    #expect(try opened.snapshot().table("apps").count == 10)
    #expect(try opened.check().problems == [])
    try opened.close()
    #expect { try database.writeCopy(to: copy) } throws: {
      if case EngineError.system? = $0 as? EngineError { true } else { false }
    }
    #expect(try Database.open(copy).snapshot().table("apps").count == 10)
  }

  @Test("maximumNumberOfActiveVersions: unlimited by default; throws, and recovers")
  func activeVersions() throws {
    let path = folder.path("limit.sheaf")
    try SessionTests.apps(folder, "limit.sheaf").close()
    var options = Database.Options()
    #expect(options.maximumActiveVersions == nil)
    options.maximumActiveVersions = 4
    let database = try Database.open(path, options: options)
    let session = try database.session()
    let app = try session.objects("apps")[0]
    func write(_ value: Int64) throws {
      try session.write { _ in try app.set("Installs", to: .int(value)) }
    }
    // Frozen objects, references and idle sessions all count, and are released each in its own way.
    var frozen: FrozenObject? = try app.freeze()
    try write(1)
    let reference = try ThreadSafeReference(to: app)
    try write(2)
    let idle = try database.session()
    try write(3)
    #expect(try database.activeVersions().count == 4)
    let oldest = try #require(frozen?.version)
    let tooMany = EngineError.tooManyVersions(
      path: database.path, active: 5, limit: 4,
      oldest: VersionHolder(process: System.processIdentifier, version: oldest))
    #expect(throws: tooMany) { try write(4) }
    #expect(throws: tooMany) { try database.write { try $0.table("apps").deleteAll() } }
    try session.beginWrite()
    let added = try session.insert(["App": .text("rolled back")], into: "apps")
    #expect(throws: tooMany) { try session.commitWrite() }
    // Rolled back, out of the transaction, and at the version before.
    #expect(try added.isInvalidated && !session.isInWriteTransaction)
    #expect(try app["Installs"] == .int(3) && session.objects("apps").count == 10)
    #expect(try frozen?["Installs"] == .int(0))
    frozen = nil
    try write(5)
    _ = try idle.resolve(reference)
    try write(6)
    try idle.refresh()
    try write(7)
    #expect(try app["Installs"] == .int(7))
    try database.close()
  }

  @Test("deleteFiles: refused while a session is there, done after")
  func deleteFiles() throws {
    let path = folder.path("gone.sheaf")
    let database = try SessionTests.apps(folder, "gone.sheaf")
    var session: Session? = try database.session()
    var frozen: FrozenResults? = try session?.objects("apps").freeze()
    for step in 0..<3 {
      #expect("step \(step)") { try Database.deleteFiles(at: path) } throws: {
        if case EngineError.busy? = $0 as? EngineError { true } else { false }
      }
      if step == 0 { try database.close() }
      if step == 1 { session = nil }
    }
    #expect(try session == nil && frozen?.count == 10)
    frozen = nil
    #expect(frozen == nil)
    #expect(try Database.deleteFiles(at: path))
    #expect(try !Database.deleteFiles(at: path))
    #expect(!folder.names().contains { $0.hasPrefix("gone") })
  }

  @Test("deleteAll, isEmpty: objects go, tables stay; sessions see it when they move on")
  func deleteAll() throws {
    let session = try database.session()
    let other = try database.session()
    let app = try other.objects("apps")[0]
    #expect(try !database.isEmpty)
    try session.write { _ in try session.deleteAll() }
    #expect(try database.isEmpty && session.freeze().isEmpty && session.tableNames == ["apps"])
    #expect(try app["App"] == .text("app 0"))
    try other.refresh()
    #expect(try app.isInvalidated && other.objects("apps").isEmpty)
    // Objects that come later get new keys: the old accessor stays invalid.
    try session.write { _ in try session.insert(["App": .text("next")], into: "apps") }
    try other.refresh()
    #expect(try app.isInvalidated && !database.isEmpty)
  }

  @Test("schema validation, migrations by version")
  func schema() throws {
    let path = folder.path("schema.sheaf")
    var options = Database.Options()
    options.schema = Schema(
      version: 1, tables: [TableDefinition("people", columns: [Column("name", .text)])])
    let first = try Database.open(path, options: options)
    try first.write { _ = try $0.table("people").insert(["name": .text("Ada Lovelace")]) }
    try first.close()
    let columns = [Column("first", .text), Column("name", .text)]
    options.schema = Schema(version: 1, tables: [TableDefinition("people", columns: columns)])
    #expect {
      _ = try Database.open(path, options: options)
    } throws: {
      if case EngineError.schemaMismatch? = $0 as? EngineError {
        "\($0)".contains("first")
      } else {
        false
      }
    }
    options.schema = Schema(version: 2, tables: [TableDefinition("people", columns: columns)])
    options.migration = { transaction, old in
      let people = try transaction.table("people")
      #expect(old == 1)
      try people.addColumn(Column("first", .text, default: .text("Ada")))
      try people.removeColumn("name")
      try people.addColumn(Column("name", .text, default: .text("Lovelace")))
    }
    let second = try Database.open(path, options: options)
    let session = try second.session()
    #expect(try session.objects("people")[0].row().values == [.text("Ada"), .text("Lovelace")])
    try second.close()
    options.schema?.version = 1
    #expect(
      throws: EngineError.newerSchema(path: second.path, fileVersion: 2, declaredVersion: 1)
    ) { _ = try Database.open(path, options: options) }
  }

  @Test("Commit there: no history, no fixed steps; here many commits leave the file small")
  func growth() throws {
    let session = try database.session()
    let app = try session.objects("apps")[0]
    for number in 0..<1000 as Range<Int64> {
      try session.write(durability: Durability.none) { _ in
        try app.set("Installs", to: .int(number))
      }
    }
    let use = try database.fileUse()
    #expect(use.total < 100_000, "\(use)")
    #expect(try heldVersions(database) == [session.version])
    #expect(try database.check().problems == [])
  }

  // MARK: YapDatabase

  @Test("YapDatabase: a connection is shared by threads and serialises its transactions")
  func connection() throws {
    let connection = database.connection()
    let inside = Shared<Int>()
    let threads = try (0..<4).map { _ in
      try Background {
        for _ in 0..<25 {
          try connection.write { transaction in
            inside.append(1)
            let apps = try transaction.table("apps")
            guard case .int(let installs)? = try apps.row(forKey: 1)?["Installs"] else { return }
            try apps.update(1, ["Installs": .int(installs + 1)])
            inside.append(-1)
          }
          try connection.read { snapshot in
            inside.append(1)
            let count = try snapshot.table("apps").count
            #expect(count == 10)
            inside.append(-1)
          }
        }
      }
    }
    for thread in threads { try thread.join() }
    #expect(inside.list.count == 400)
    #expect(stride(from: 0, to: 400, by: 2).allSatisfy { inside.list[$0] == 1 })
    #expect(try connection.read { try $0.table("apps").row(forKey: 1)?["Installs"] } == .int(100))
  }

  @Test("YapDatabase: a transaction is passed to helpers and never kept")
  func transactionIsPassed() throws {
    func helper(_ transaction: borrowing WriteTransaction) throws {
      _ = try transaction.table("apps").insert(["App": .text("by a helper")])
    }
    // Keeping the transaction does not compile; a table of it throws after its end.
    var kept: WritableTable?
    try database.write { transaction in
      try helper(transaction)
      kept = try transaction.table("apps")
    }
    #expect(throws: EngineError.transactionEnded) { _ = try kept?.count }
    #expect(throws: EngineError.transactionEnded) { try kept?.insert(["App": .text("late")]) }
    let session = try database.session()
    try session.write { transaction in
      kept = try transaction.table("apps")
      try session.cancelWrite()
      #expect(throws: EngineError.transactionEnded) { _ = try transaction.table("apps") }
    }
    #expect(throws: EngineError.transactionEnded) { try kept?.deleteAll() }
    #expect(try session.objects("apps").count == 11)
  }

  @Test("YapDatabase: an update starts from the newest version; asynchronous reads and writes")
  func newestInside() throws {
    let database = database
    let session = try database.session()
    let connection = database.connection()
    try connection.beginLongLivedRead()
    try database.write { try $0.table("apps").update(1, ["Installs": .int(7)]) }
    let told = Told<Value>()
    connection.asyncWrite { transaction in
      let apps = try transaction.table("apps")
      told.add(try apps.row(forKey: 1)?["Installs"] ?? .null)
      try apps.update(1, ["Installs": .int(8)])
    }
    connection.asyncRead {
      try $0.table("apps").row(forKey: 1)?["Installs"] ?? .null
    } completion: {
      if case .success(let value) = $0 { told.add(value) }
    }
    // The write saw the newest version; the long-lived read is where it was.
    #expect(told.wait(2) == [.int(7), .int(0)])
    let app = try #require(try session.object(in: "apps", key: 1))
    #expect(try app["Installs"] == .int(0))
    try database.write { try $0.table("apps").update(1, ["Installs": .int(9)]) }
    #expect(try session.write { _ in try app["Installs"] } == .int(9))
  }

  // MARK: Threads

  @Test("Realm practice: a dedicated thread owns its session, takes work, observes and writes")
  func sessionThread() throws {
    let worker = try SessionThread(database, name: "uploads")
    let told = Told<String>()
    try worker.perform { session in
      let pending = try session.objects("apps").filter("Category == 'PENDING'")
      try session.keep(
        pending.observe { change in
          guard case .update(let pending, _) = change else { return }
          do {
            // Read inside: the write may have moved on to a version with more of them.
            let names = try session.write { _ in
              let names = try pending.objects.map { try $0["App"] }
              try pending.setAll(["Category": .text("DONE")])
              return names
            }
            for name in names { told.add("\(name)") }
          } catch {
            told.add("\(error)")
          }
        })
      // On the thread itself it runs at once.
      #expect(try worker.perform { try $0.version } == session.version)
    }
    for number in 0..<3 {
      try database.write { transaction in
        _ = try transaction.table("apps").insert([
          "App": .text("\(number)"), "Category": .text("PENDING"),
        ])
      }
    }
    #expect(told.wait(3) == (0..<3).map { #"text("\#($0)")"# })
    // Work comes in the order of asking, and all of it before the end.
    let order = Shared<Int>()
    for number in 0..<20 { try worker.async { _ in order.append(number) } }
    worker.stop()
    #expect(order.list == Array(0..<20))
    worker.stop()
    let closed = EngineError.closed(path: database.path)
    #expect(throws: closed) { try worker.async { _ in } }
    #expect(throws: closed) { try worker.perform { _ in } }
    #expect(
      try Query(Predicate("Category == 'DONE'")).count(in: database.snapshot().table("apps")) == 3)
    #expect(try heldVersions(database) == [])
  }

  @Test(
    "Realm practice: errors come back; a thread that is released ends; a closed database starts none"
  )
  func sessionThreadEnds() async throws {
    let database = database
    struct Oops: Error {}
    var worker: SessionThread? = try SessionThread(database)
    #expect(throws: Oops.self) { try worker?.perform { _ in throw Oops() } }
    await #expect(throws: Oops.self) { try await worker?.perform { _ in throw Oops() } }
    // Stopping on the thread itself returns at once, and lets go of the session.
    let other = try SessionThread(database)
    try await other.perform { _ in other.stop() }
    worker = nil
    #expect(worker == nil)
    for _ in 0..<2000 where try !heldVersions(database).isEmpty {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(try heldVersions(database) == [])
    try database.close()
    #expect(throws: EngineError.closed(path: database.path)) { _ = try SessionThread(database) }
  }
}
