import Dispatch
import TestSupport
import Testing

@testable import Engine

@Suite("Realm's and YapDatabase's behaviour: asynchronous, threads", .timeLimit(.minutes(60)))
struct RealmThreadTests {
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
    // A transaction of a session that is open comes first, so the write can still be cancelled.
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
    #expect(all.contains { $0.hasPrefix("b: it was cancelled") })
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
    // Keeping the transaction does not compile; its table throws after its end.
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
    // The write saw the newest version; the long-lived read stayed on its own.
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
            // Read inside the transaction, which may have moved on to a version with more objects.
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
      // On the session's own thread it runs at once.
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
    // Work runs in order, and all of it before the thread ends.
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
    // Stopping on the thread itself returns at once, and releases the session.
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
