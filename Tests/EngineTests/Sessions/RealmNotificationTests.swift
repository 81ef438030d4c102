import Base
import Dispatch
import TestSupport
import Testing

@testable import Engine

@Suite("Realm's behaviour: notifications", .timeLimit(.minutes(60)))
struct RealmNotificationTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  typealias Event = ObservingTests.Event

  // MARK: write(withoutNotifying:)

  @Test("write(withoutNotifying:): skips the named tokens for that commit")
  func silentWrite() throws {
    let worker = try SessionThread(database)
    let (told, other, tables) = (Told<Event>(), Told<Event>(), Told<String>())
    try worker.perform { session in
      let apps = try session.objects("apps")
      let token = try apps.observe { told.add(Event($0)) }
      try session.keep(apps.observe { other.add(Event($0)) })
      let whole = try session.observe { change in
        if case .update(let changes) = change { tables.add("\(changes.changed)") }
      }
      let object = try apps[0].observe { change in
        if case .update = change { tables.add("object") }
      }
      try session.write(withoutNotifying: [token, whole, object]) { _ in
        try session.insert(["App": .text("silent")], into: "apps")
        try apps[0].set("Installs", to: .int(5))
      }
      // The same with beginWrite and commitWrite.
      try session.beginWrite()
      try session.insert(["App": .text("silent too")], into: "apps")
      try session.commitWrite(withoutNotifying: [token, whole])
      try session.keep(token)
      try session.keep(whole)
      try session.keep(object)
    }
    #expect(other.wait(3).count == 3)
    #expect(told.all == [.initial(10)] && tables.all == [])
    try database.write { try $0.table("apps").update(1, ["Installs": .int(6)]) }
    #expect(
      told.wait(2).last
        == .update(12, ChangeSet(modifications: [0], newModifications: [0])))
    #expect(Set(tables.wait(2)) == [#"["apps"]"#, "object"])
  }

  @Test("write(withoutNotifying:): a token of another session throws, and nothing is written")
  func foreignToken() throws {
    let database = database
    let worker = try SessionThread(database)
    let foreign = EngineError.foreign(what: "a notification token", expected: "session")
    try worker.perform { session in
      let other = try database.session()
      let token = try other.objects("apps").observe(on: DispatchQueue(label: "q")) { _ in }
      #expect(throws: foreign) {
        try session.write(withoutNotifying: [token]) { _ in try session.deleteAll() }
      }
      #expect(throws: foreign) { try session.keep(token) }
      try session.beginWrite()
      try session.insert(["App": .text("kept")], into: "apps")
      #expect(throws: foreign) { try session.commitWrite(withoutNotifying: [token]) }
      // The transaction is still open.
      #expect(try session.isInWriteTransaction)
      try session.commitWrite()
      #expect(try session.objects("apps").count == 11)
    }
  }

  // MARK: Observing

  @Test("observe on a collection: initial, updates, filter and order, until the token is released")
  func collection() throws {
    let database = database
    let worker = try SessionThread(database)
    let told = Told<Event>()
    let tokens = Told<Smuggled<NotificationToken>>()
    try worker.perform { session in
      let best = try session.objects("apps").filter("Category == 'GAME'")
        .sorted(by: .descending("Rating")).limited(to: 3)
      tokens.add(Smuggled(try best.observe { told.add(Event($0)) }))
      #expect(told.all == [], "not before it returns")
    }
    #expect(told.wait(1) == [.initial(3)])
    // app 8, app 6, app 4: the first one falls behind, and app 2 enters the window.
    try database.write { try $0.table("apps").update(9, ["Rating": .double(0.5)]) }
    #expect(told.wait(2).last == .update(3, ChangeSet(deletions: [0], insertions: [2])))
    // A change that is undone between two deliveries is no change.
    try worker.perform { _ in
      try database.write { try $0.table("apps").update(9, ["Rating": .double(9)]) }
      try database.write { try $0.table("apps").update(9, ["Rating": .double(0.5)]) }
    }
    try worker.perform { _ in }
    try worker.perform { session in
      #expect(told.all.count == 2)
      tokens.all[0].content.stop()
    }
    try database.write { try $0.table("apps").deleteAll() }
    try worker.perform { try $0.refresh() }
    #expect(told.all.count == 2)
  }

  @Test("observe on a collection: a token that is released ends its observer")
  func release() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    try worker.perform { session in
      var token: NotificationToken? = try session.objects("apps").observe { told.add(Event($0)) }
      try session.refresh()
      #expect(token != nil && told.all.count == 1)
      token = nil
      try session.write { _ in try session.insert(["App": .text("a")], into: "apps") }
    }
    try worker.perform { try $0.refresh() }
    #expect(told.all == [.initial(10)])
    // Also a token whose observer was never called; releasing it on another thread does no harm.
    let smuggled = try worker.perform { session in
      _ = try session.objects("apps").observe { told.add(Event($0)) }
      return Smuggled<[NotificationToken]>([
        try session.objects("apps").observe { told.add(Event($0)) }
      ])
    }
    #expect(told.wait(2).count == 2)
    withExtendedLifetime(smuggled) {}
    #expect(told.all.last == .initial(11))
  }

  @Test("observe on an object and the database: property changes, key paths, deletion, tables")
  func objectAndDatabase() throws {
    let worker = try SessionThread(database)
    let (told, tables) = (Told<String>(), Told<String>())
    try worker.perform { session in
      let app = try #require(try session.object(in: "apps", key: 4))
      try session.keep(
        app.observe(keyPaths: ["Rating"]) { change in
          switch change {
          case .initial(let app): told.add("initial \((try? app["Rating"]) ?? .null)")
          case .update(_, let changes):
            told.add(changes.map { "\($0.name) \($0.old) \($0.new)" }.joined())
          case .deleted: told.add("deleted")
          case .failed(let error): told.add("\(error)")
          }
        })
      try session.keep(
        session.observe { change in
          if case .update(let changes) = change {
            tables.add("\(changes.created) \(changes.changed) \(changes.deleted)")
          }
        })
      try session.refresh()
      #expect(throws: (any Error).self) { _ = try app.observe(keyPaths: ["Stars"]) { _ in } }
    }
    try database.write { try $0.table("apps").update(4, ["Installs": .int(1)]) }
    #expect(tables.wait(1) == [#"[] ["apps"] []"#])
    try database.write {
      try $0.table("apps").update(4, ["Installs": .int(2), "Rating": .double(5)])
    }
    #expect(told.wait(2) == ["initial double(1.5)", "Rating double(1.5) double(5.0)"])
    try database.write { _ = try $0.table("apps").delete(4) }
    #expect(told.wait(3).last == "deleted")
    try database.write { try $0.deleteTable("apps") }
    #expect(tables.wait(4).last == #"[] [] ["apps"]"#)
    #expect(told.all.count == 3)
  }

  @Test("observe with a queue: frozen results, one call at a time, coalesced, key paths")
  func queues() throws {
    let session = try database.session()
    let told = Told<Event>()
    let inside = Shared<Int>()
    // On a concurrent queue, too, calls come one at a time.
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let all = try session.objects("apps").observe(on: queue, keyPaths: ["Rating"]) { change in
      inside.append(1)
      if case .update(let apps, _) = change { #expect(apps.isFrozen) }
      told.add(Event(frozen: change))
      System.sleep(milliseconds: 5)
      inside.append(-1)
    }
    _ = told.wait(1)
    for number in 0..<60 {
      try database.write(durability: Durability.none) { transaction in
        _ = try transaction.table("apps").insert(["App": .text("more \(number)")])
        try transaction.table("apps").update(1, ["Installs": .int(Int64(number))])
      }
    }
    // A list that the change sets update, in whatever portions they came.
    var count = 10
    for number in 2...100 where count < 70 {
      guard case .update(let total, let changes)? = told.wait(number).dropFirst(number - 1).first
      else { break }
      #expect(changes.deletions.isEmpty && changes.modifications.isEmpty)
      count += changes.insertions.count
      #expect(total == count)
    }
    #expect(count == 70)
    #expect(told.all.count < 60, "nothing was coalesced")
    all.stop()
    queue.sync(flags: .barrier) {}
    let steps = inside.list
    #expect(stride(from: 0, to: steps.count, by: 2).allSatisfy { steps[$0] == 1 })
    #expect(stride(from: 1, to: steps.count, by: 2).allSatisfy { steps[$0] == -1 })
  }

  @Test("observe: where nothing runs that could deliver, it throws")
  func nowhere() throws {
    let database = database
    @Sendable func isRefused(_ body: () throws -> NotificationToken) -> Bool {
      do { _ = try body() } catch EngineError.cannotObserve { return true } catch {}
      return false
    }
    try Background {
      let session = try database.session()
      let apps = try session.objects("apps")
      #expect(isRefused { try session.observe { _ in } })
      #expect(isRefused { try apps.observe { _ in } })
      #expect(isRefused { try apps[0].observe { _ in } })
      // On a queue it works everywhere.
      let told = Told<Int>()
      let token = try apps[0].observe(on: DispatchQueue(label: "q")) { _ in told.add(1) }
      #expect(told.wait(1) == [1])
      withExtendedLifetime(token) {}
    }.join()
  }
}
