import Base
import Testing
import TestSupport

@testable import Engine

@Suite("Sessions")
struct SessionTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws {
    database = try Self.apps(folder)
  }

  /// Ten apps, `app 0` to `app 9`, every other one a game.
  static func apps(_ folder: TemporaryFolder, _ name: String = "t.sheaf") throws -> Database {
    let database = try Database.open(folder.path(name))
    try database.write(durability: Durability.none) { transaction in
      try transaction.createTable(
        "apps",
        columns: [
          Column("App", .text), Column("Category", .text), Column("Rating", .double),
          Column("Installs", .int),
        ], key: "App")
      let apps = try transaction.table("apps")
      for number in 0..<10 {
        try apps.insert([
          .text("app \(number)"), .text(number % 2 == 0 ? "GAME" : "TOOL"),
          .double(Double(number) / 2), .int(Int64(number)),
        ])
      }
    }
    return database
  }

  @Test("A session stays on its version until it is refreshed")
  func version() throws {
    let session = try database.session()
    session.autorefresh = false
    let apps = try session.objects("apps")
    let version = try session.version
    try onAnotherThread { database in
      try database.write { _ = try $0.table("apps").insert(["App": .text("other")]) }
    }
    #expect(try apps.count == 10)
    #expect(try session.version == version)
    #expect(try session.refresh())
    #expect(try apps.count == 11)
    #expect(try session.version == version + 1)
    #expect(try !session.refresh())
  }

  @Test("Objects are live: values, deletion")
  func objects() throws {
    let session = try database.session()
    let app = try #require(try session.object(in: "apps", primaryKey: .text("app 3")))
    #expect(try app["Rating"] == .double(1.5))
    try onAnotherThread { database in
      try database.write { transaction in
        let apps = try transaction.table("apps")
        try apps.update(4, ["Rating": .double(5)])
      }
    }
    #expect(try app["Rating"] == .double(1.5))
    try session.refresh()
    #expect(try app["Rating"] == .double(5))
    #expect(throws: EngineError.self) { try app["Ratings"] }
    try onAnotherThread { database in
      try database.write { _ = try $0.table("apps").delete(4) }
    }
    #expect(try !app.isInvalidated)
    try session.refresh()
    #expect(try app.isInvalidated)
    #expect { try app["Rating"] } throws: { error in
      guard case EngineError.invalidated? = error as? EngineError else { return false }
      return true
    }
  }

  @Test("Results are live: filters, orders, limits, positions")
  func results() throws {
    let session = try database.session()
    let games = try session.objects("apps").filter("Category == 'GAME'")
    let best = try games.sorted(by: .descending("Rating")).limited(to: 2)
    #expect(try games.count == 5)
    #expect(try best.objects.map { try $0["App"] } == [.text("app 8"), .text("app 6")])
    #expect(try best[1]["App"] == .text("app 6"))
    #expect(throws: EngineError.self) { try best[2] }
    #expect(throws: EngineError.self) { try best.filter("Installs > 3") }
    try session.write { _ in
      // Objects leave the results while they are walked.
      for app in try games.objects { try app.set("Category", to: .text("PLAY")) }
      #expect(try games.isEmpty)
      let added = try session.insert(
        ["App": .text("new"), "Category": .text("GAME")], into: "apps")
      #expect(try games.first == added)
      #expect(try games.firstIndex(of: added) == 0)
      #expect(try best.count == 1)
    }
    #expect(try games.count == 1)
    #expect(try session.objects("apps").last?["App"] == .text("new"))
    #expect(try session.objects("apps").aggregates(.sum("Installs")) == [.int(45)])
    #expect(try session.objects("apps").distinct(by: "Category").count == 3)
    #expect(throws: EngineError.self) { try session.objects("app") }
    #expect(throws: QueryError.self) { try session.objects("apps").filter("Rating >") }
    #expect(throws: (any Error).self) { try session.objects("apps").filter("Stars > 3") }
  }

  @Test("A write refreshes first, and rolls back on an error")
  func writing() throws {
    let session = try database.session()
    session.autorefresh = false
    try onAnotherThread { database in
      try database.write { try $0.table("apps").update(1, ["Installs": .int(100)]) }
    }
    let app = try #require(try session.object(in: "apps", key: 1))
    #expect(try app["Installs"] == .int(0))
    try session.write { _ in
      guard case .int(let installs) = try app["Installs"] else { return }
      try app.set("Installs", to: .int(installs + 1))
    }
    #expect(try app["Installs"] == .int(101))
    struct Refused: Error {}
    var added: Object?
    #expect(throws: Refused.self) {
      try session.write { _ in
        try app.set("Installs", to: .int(-1))
        added = try session.insert(["App": .text("never")], into: "apps")
        #expect(try added?.isInvalidated == false)
        throw Refused()
      }
    }
    #expect(try app["Installs"] == .int(101))
    #expect(try added?.isInvalidated == true)
    // The next object gets another key; the old accessor does not show it.
    try session.write { _ in
      let next = try session.insert(["App": .text("next")], into: "apps")
      #expect(try next.key == #require(added).key + 1)
      #expect(try added?.isInvalidated == true)
      #expect(throws: EngineError.self) { try added?["App"] }
    }
  }

  @Test("beginWrite, commitWrite and cancelWrite, and what is out of order")
  func explicitTransactions() throws {
    let session = try database.session()
    #expect(throws: EngineError.noTransaction(operation: "a commit")) { try session.commitWrite() }
    #expect(throws: EngineError.noTransaction(operation: "a cancellation")) {
      try session.cancelWrite()
    }
    let app = try #require(try session.object(in: "apps", key: 1))
    #expect(throws: EngineError.noTransaction(operation: "a change")) {
      try app.set("Installs", to: .int(1))
    }
    #expect(throws: EngineError.noTransaction(operation: "a deletion")) { try app.delete() }
    #expect(throws: EngineError.noTransaction(operation: "an insertion")) {
      try session.insert([:], into: "apps")
    }
    try session.beginWrite()
    #expect(try session.isInWriteTransaction)
    #expect(throws: EngineError.nestedTransaction(path: database.path)) {
      try session.beginWrite()
    }
    #expect(throws: EngineError.nestedTransaction(path: database.path)) {
      try session.write { _ in }
    }
    #expect(throws: EngineError.nestedTransaction(path: database.path)) {
      try database.write { _ in }
    }
    #expect(throws: EngineError.insideTransaction(operation: "a refresh")) {
      try session.refresh()
    }
    #expect(throws: EngineError.insideTransaction(operation: "freezing")) { try app.freeze() }
    try app.delete()
    #expect(try app.isInvalidated)
    try session.cancelWrite()
    #expect(try !app.isInvalidated)
    #expect(try !session.isInWriteTransaction)
    try session.beginWrite()
    try app.delete()
    try session.commitWrite()
    #expect(try app.isInvalidated)
    // A block may end the transaction itself.
    try session.write { _ in
      try session.deleteAll()
      #expect(try session.objects("apps").count == 0)
      try session.cancelWrite()
    }
    #expect(try session.objects("apps").count == 9)
    // A session that is released in a transaction rolls it back and lets others write.
    do {
      let other = try database.session()
      try other.beginWrite()
      try other.deleteAll()
    }
    #expect(try database.write { try $0.table("apps").count } == 9)
  }

  @Test("A session sees its own commit before it is durable")
  func ownCommits() throws {
    let session = try database.session()
    for durability in [Durability.group, .none, .full] {
      for _ in 0..<5 {
        let before = try session.objects("apps").count
        try session.write(durability: durability) { _ in
          try session.insert(["App": .text("\(durability) \(before)")], into: "apps")
        }
        #expect(try session.objects("apps").count == before + 1)
        try session.refresh()
        #expect(try session.objects("apps").count == before + 1)
      }
    }
  }

  @Test("What belongs to another thread is refused there")
  func confinement() throws {
    let session = try database.session()
    let apps = try session.objects("apps")
    let app = try apps[0]
    struct Smuggled: @unchecked Sendable {
      let session: Session
      let apps: Results
      let app: Object
    }
    let smuggled = Smuggled(session: session, apps: apps, app: app)
    try onAnotherThread { _ in
      func isRefused(_ body: () throws -> Void) -> Bool {
        do { try body() } catch EngineError.wrongThread { return true } catch {}
        return false
      }
      let (session, apps, app) = (smuggled.session, smuggled.apps, smuggled.app)
      #expect(isRefused { _ = try session.refresh() })
      #expect(isRefused { _ = try session.version })
      #expect(isRefused { _ = try session.objects("apps") })
      #expect(isRefused { try session.beginWrite() })
      #expect(isRefused { try session.write { _ in } })
      #expect(isRefused { _ = try session.freeze() })
      #expect(isRefused { _ = try session.isInWriteTransaction })
      #expect(isRefused { _ = try apps.count })
      #expect(isRefused { _ = try apps[0] })
      #expect(isRefused { _ = try apps.keys() })
      #expect(isRefused { _ = try apps.observe { _ in } })
      #expect(isRefused { _ = try apps.freeze() })
      #expect(isRefused { _ = try app["App"] })
      #expect(isRefused { _ = try app.isInvalidated })
      #expect(isRefused { try app.set("App", to: .null) })
      #expect(isRefused { try app.delete() })
      #expect(isRefused { _ = try app.freeze() })
      #expect(isRefused { _ = try ThreadSafeReference(to: app) })
    }
  }

  /// Runs `body` on a thread of its own, and waits.
  private func onAnotherThread(_ body: @escaping @Sendable (Database) throws -> Void) throws {
    let database = database
    let failure = Failure()
    let thread = try Thread(name: "other") {
      do { try body(database) } catch { failure.set(error) }
    }
    thread.join()
    try failure.check()
  }
}

/// An error that one thread leaves for another.
final class Failure: @unchecked Sendable {
  private let lock = Lock()
  private var error: (any Error)?

  func set(_ error: any Error) { lock.withLock { self.error = error } }

  func check() throws { if let error = lock.withLock({ error }) { throw error } }
}
