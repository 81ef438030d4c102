import Base
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import Engine

@Suite("Realm's behaviour: versions, freezing, references", .timeLimit(.minutes(60)))
struct RealmVersionTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  private func add(_ name: String) throws {
    try database.write { _ = try $0.table("apps").insert(["App": .text(name)]) }
  }

  private func isForeign(_ error: any Error) -> Bool {
    if case EngineError.foreign? = error as? EngineError { true } else { false }
  }

  // MARK: refresh, autorefresh

  @Test("refresh, autorefresh: advances and delivers; in a write it throws")
  func refresh() throws {
    let database = database
    let worker = try SessionThread(database)
    try worker.perform { session in
      session.autorefresh = false
      var told: [Int] = []
      let apps = try session.objects("apps")
      let token = try apps.observe { change in
        switch change {
        case .initial(let apps), .update(let apps, _): told.append((try? apps.count) ?? -1)
        case .deleted, .failed: told.append(-1)
        }
      }
      #expect(try !session.refresh())
      #expect(told == [10])
      let version = try session.version
      try database.write { _ = try $0.table("apps").insert(["App": .text("a")]) }
      try database.write { _ = try $0.table("apps").insert(["App": .text("b")]) }
      #expect(try apps.count == 10 && session.version == version)
      #expect(try session.refresh())
      // Both calls came at once, before it returned.
      #expect(told == [10, 12])
      try session.write { _ in
        #expect(throws: EngineError.insideTransaction(operation: "a refresh")) {
          try session.refresh()
        }
      }
      withExtendedLifetime(token) {}
    }
    // A thread without a run loop behaves the same, without observers.
    let session = try database.session()
    try add("c")
    let before = try session.objects("apps").count
    System.sleep(milliseconds: 20)
    #expect(try before == 12 && session.objects("apps").count == 12)
    #expect(try session.refresh())
    #expect(try session.objects("apps").count == 13)
  }

  /// Waits without blocking the main queue.
  @MainActor
  private func wait(_ condition: () throws -> Bool) async throws -> Bool {
    for _ in 0..<4000 {
      if try condition() { return true }
      try await Task.sleep(for: .milliseconds(5))
    }
    return false
  }

  @Test("refresh, autorefresh: by itself on the main queue")
  @MainActor
  func mainQueue() async throws {
    let session = try database.session()
    let apps = try session.objects("apps")
    let told = Told<Int>()
    let token = try apps.observe { change in
      if case .update(let apps, _) = change { told.add((try? apps.count) ?? -1) }
    }
    try await database.asyncWrite { _ = try $0.table("apps").insert(["App": .text("a")]) }
    #expect(try await wait { try apps.count == 11 && told.all.last == 11 })
    session.autorefresh = false
    try await database.asyncWrite { _ = try $0.table("apps").insert(["App": .text("b")]) }
    try await Task.sleep(for: .milliseconds(50))
    #expect(try apps.count == 11)
    session.autorefresh = true
    #expect(try await wait { try apps.count == 12 && told.all.last == 12 })
    let smuggled = Smuggled(session)
    let isRefused = try Background.run { isRefusedHere { _ = try smuggled.content.version } }
    #expect(isRefused == true)
    withExtendedLifetime(token) {}
  }

  @Test("refresh, autorefresh: by itself on a serial queue and on a session thread, also of others")
  func others() throws {
    let told = Told<String>()
    let queue = SessionQueue(database, DispatchQueue(label: "serial"))
    let worker = try SessionThread(database)
    let observe: @Sendable (Session, String) throws -> Void = { session, name in
      try session.keep(
        session.objects("apps").observe { change in
          if case .update(let apps, _) = change { told.add("\(name) \((try? apps.count) ?? -1)") }
        })
      // The first call comes here, so that the next one is for what follows.
      try session.refresh()
    }
    try queue.perform { try observe($0, "queue") }
    try worker.perform { try observe($0, "thread") }
    try add("a")
    #expect(Set(told.wait(2)) == ["queue 11", "thread 11"])
    // Another handle, like that of another process.
    let other = try Database.open(folder.path("t.sheaf"))
    try other.write { _ = try $0.table("apps").insert(["App": .text("b")]) }
    #expect(Set(told.wait(4).suffix(2)) == ["queue 12", "thread 12"])
    try other.close()
  }

  // MARK: freeze, thaw

  @Test("freeze, thaw: any thread; pins a version; a deleted object thaws to nil")
  func freezing() throws {
    let session = try database.session()
    let games = try session.objects("apps").filter("Category == 'GAME'")
      .sorted(by: .descending("Rating"))
    let best = try games[0]
    let (frozenBest, frozen, snapshot) = try (best.freeze(), games.freeze(), session.freeze())
    let version = try session.version
    #expect(frozenBest.isFrozen && frozen.isFrozen && snapshot.isFrozen)
    #expect(!best.isFrozen && !games.isFrozen)
    try session.write { _ in
      #expect(throws: EngineError.insideTransaction(operation: "freezing")) {
        _ = try games.freeze()
      }
      try best.delete()
      try games[0].set("Rating", to: .double(9))
    }
    #expect(try heldVersions(database).contains(version))
    let problems = Shared<String>()
    let threads = try (0..<4).map { _ in
      try Background {
        for _ in 0..<50 {
          let names = try frozen.objects.map { try $0["App"] }
          if names != [8, 6, 4, 2, 0].map({ .text("app \($0)") }) { problems.append("\(names)") }
          if try frozenBest["Rating"] != .double(4) { problems.append("rating") }
          if try snapshot.table("apps").count != 10 { problems.append("count") }
        }
      }
    }
    for thread in threads { try thread.join() }
    #expect(problems.list == [])
    #expect(try frozenBest.thaw(in: session) == nil)
    let second = try #require(try frozen[1].thaw(in: session))
    #expect(try second["Rating"] == .double(9) && frozen[1]["Rating"] == .double(3))
    #expect(try frozen.thaw(in: session).count == 4)
    #expect(throws: (any Error).self) { _ = try frozen[5] }
    // An object that is thawed inside a transaction can be changed there.
    try session.write { _ in try frozen[1].thaw(in: session)?.set("Rating", to: .double(2)) }
    #expect(try second["Rating"] == .double(2))
  }

  @Test("freeze, thaw: only in sessions of the same database, on their thread")
  func thawingElsewhere() throws {
    let session = try database.session()
    let frozen = try session.objects("apps").freeze()
    let other = try SessionTests.apps(folder, "other.sheaf").session()
    #expect { _ = try frozen.thaw(in: other) } throws: { isForeign($0) }
    #expect { _ = try frozen[0].thaw(in: other) } throws: { isForeign($0) }
    let smuggled = Smuggled(session)
    try Background {
      #expect(isRefusedHere { _ = try frozen.thaw(in: smuggled.content) })
      #expect(isRefusedHere { _ = try frozen[0].thaw(in: smuggled.content) })
    }.join()
    // A session at an older version than the frozen object does not have it.
    session.autorefresh = false
    try add("new")
    let later = try database.session()
    let new = try #require(try later.objects("apps").last).freeze()
    #expect(try new.thaw(in: session) == nil)
    try session.refresh()
    #expect(try new.thaw(in: session)?["App"] == .text("new"))
  }

  @Test("frozen lifetime: a frozen view keeps alive what it needs, after everything is closed")
  func frozenLifetime() throws {
    let path = folder.path("lifetime.sheaf")
    var database: Database? = try SessionTests.apps(folder, "lifetime.sheaf")
    var session: Session? = try database?.session()
    let results = try #require(try session?.objects("apps").filter("Rating >= 2").freeze())
    let object = try #require(try session?.objects("apps")[3].freeze())
    let snapshot = try #require(try session?.freeze())
    session = nil
    try database?.close()
    database = nil
    #expect(session == nil && database == nil)
    // Another handle writes over every page that it may.
    let other = try Database.open(path)
    for round in 0..<20 {
      try other.write { transaction in
        let apps = try transaction.table("apps")
        try apps.deleteAll()
        for number in 0..<50 { try apps.insert(["App": .text("\(round) \(number)")]) }
      }
    }
    try Background {
      let names = try results.objects.map { try $0["App"] }
      #expect(names == (4..<10).map { .text("app \($0)") })
      let (installs, last) = try (object["Installs"], snapshot.table("apps").row(forKey: 10))
      #expect(installs == .int(3) && last?["App"] == .text("app 9"))
      let rows = try results.rows()
      #expect(rows.count == 6)
    }.join()
    #expect(try other.check().problems == [])
    try other.close()
  }

  // MARK: References

  @Test("ThreadSafeReference: pins until resolved or released; deleted gives nil; resolves once")
  func references() throws {
    let worker = try SessionThread(database)
    let session = try database.session()
    let app = try #require(try session.object(in: "apps", key: 3))
    let games = try session.objects("apps").filter("Category == 'GAME'")
    let version = try session.version
    let reference = try ThreadSafeReference(to: app)
    var unused: ThreadSafeReference<Results>? = try ThreadSafeReference(to: games)
    #expect(unused != nil)
    for number in 0..<5 { try add("more \(number)") }
    try session.refresh()
    // The worker's session may still be at an older version.
    try worker.perform { _ = try $0.refresh() }
    #expect(try heldVersions(database).contains(version))
    try worker.perform { session in
      let app = try #require(try session.resolve(reference))
      #expect(try app["App"] == .text("app 2"))
      #expect(throws: EngineError.referenceResolved) { _ = try session.resolve(reference) }
    }
    #expect(throws: EngineError.referenceResolved) { _ = try session.resolve(reference) }
    #expect(try heldVersions(database).contains(version), "there is another reference")
    unused = nil
    #expect(unused == nil)
    #expect(try !heldVersions(database).contains(version))

    let late = try ThreadSafeReference(to: app)
    let results = try ThreadSafeReference(to: games)
    try session.write { _ in try app.delete() }
    try worker.perform { session in
      #expect(try session.resolve(late) == nil)
      let games = try #require(try session.resolve(results))
      #expect(try games.count == 4 && games.session === session)
    }
    let table = try ThreadSafeReference(to: games)
    try session.write { try $0.deleteTable("apps") }
    let resolved = try worker.perform { try $0.resolve(table) != nil }
    #expect(!resolved)
  }

  @Test("ThreadSafeReference: versions, transactions, other databases")
  func referenceRules() throws {
    let session = try database.session()
    let behind = try database.session()
    try session.write { _ in try session.insert(["App": .text("new")], into: "apps") }
    let new = try #require(try session.objects("apps").last)
    // A session that is behind moves on; a session that is ahead stays.
    let first = try behind.resolve(ThreadSafeReference(to: new))
    #expect(try first?["App"] == .text("new"))
    let reference = try ThreadSafeReference(to: new)
    try behind.write { _ in try first?.set("App", to: .text("newer")) }
    let version = try behind.version
    #expect(try behind.resolve(reference)?["App"] == .text("newer"))
    #expect(try behind.version == version && session.version < version)
    // Inside a transaction references can be resolved, not made.
    let inside = try ThreadSafeReference(to: new)
    try session.write { _ in
      #expect(throws: EngineError.insideTransaction(operation: "making a reference")) {
        _ = try ThreadSafeReference(to: new)
      }
      let again = try session.resolve(inside)
      try again?.set("App", to: .text("newest"))
    }
    #expect(try new["App"] == .text("newest"))
    // Another database refuses the reference; its own can still resolve it.
    let other = try SessionTests.apps(folder, "other.sheaf").session()
    let kept = try ThreadSafeReference(to: new)
    #expect { _ = try other.resolve(kept) } throws: { isForeign($0) }
    #expect(try session.resolve(kept) == new)
    try session.write { _ in try new.delete() }
    #expect { _ = try ThreadSafeReference(to: new) } throws: {
      if case EngineError.invalidated? = $0 as? EngineError { true } else { false }
    }
  }
}
