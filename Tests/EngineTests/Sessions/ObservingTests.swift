import Base
import Dispatch
import Foundation
import Testing
import TestSupport

@testable import Engine

/// The events that observers received, from any thread.
final class Told<Event: Sendable>: @unchecked Sendable {
  private let lock = Lock()
  private var events: [Event] = []

  func add(_ event: Event) {
    lock.withLock {
      events.append(event)
      lock.wakeAll()
    }
  }

  var all: [Event] { lock.withLock { events } }

  /// Waits for as many events.
  func wait(_ count: Int) -> [Event] {
    let end = Date().addingTimeInterval(20)
    return lock.withLock {
      while events.count < count, Date() < end { lock.wait(milliseconds: 100) }
      return events
    }
  }
}

@Suite("Observing")
struct ObservingTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  @Test("A commit that fails does not keep the changes of others from an observer")
  func failedCommit() throws {
    let folder = TemporaryFolder()
    var options = Database.Options()
    options.maximumActiveVersions = 2
    let database = try Database.open(folder.path("few.sheaf"), options: options)
    try database.write { try $0.createTable("t", columns: [Column("k", .int)]) }
    let held = [try database.snapshot()]
    let thread = try SessionThread(database)
    let told = Told<String>()
    try thread.perform { session in
      try session.keep(
        session.objects("t").observe { change in
          guard case .initial = change else { return told.add("changed") }
          // A change of another, and a transaction in which nothing is delivered.
          do {
            try database.write { _ = try $0.table("t").insert([.int(1)]) }
            try session.beginWrite()
          } catch { told.add("\(error)") }
          told.add("initial")
        })
    }
    #expect(told.wait(1) == ["initial"])
    Thread.sleep(forTimeInterval: 0.1)
    try thread.perform { session in
      let another = try database.snapshot()
      try session.insert(["k": .int(2)], into: "t")
      #expect(throws: EngineError.self) { try session.commitWrite() }
      withExtendedLifetime((held, another)) {}
    }
    #expect(told.wait(2) == ["initial", "changed"])
    thread.stop()
    try database.close()
  }

  @Test("Observing on a queue after the database was closed")
  func afterClosing() throws {
    let session = try database.session()
    let results = try session.objects("apps")
    try database.close()
    #expect(throws: EngineError.closed(path: database.path)) {
      try results.observe(on: DispatchQueue(label: "q")) { _ in }
    }
  }

  enum Event: Equatable, Sendable {
    case initial(Int)
    case update(Int, ChangeSet)
    case deleted
    case failed

    init(_ change: ResultsChange<Results>) {
      switch change {
      case .initial(let results): self = .initial((try? results.count) ?? -1)
      case .update(let results, let changes): self = .update((try? results.count) ?? -1, changes)
      case .deleted: self = .deleted
      case .failed: self = .failed
      }
    }

    init(frozen change: ResultsChange<FrozenResults>) {
      switch change {
      case .initial(let results): self = .initial((try? results.count) ?? -1)
      case .update(let results, let changes): self = .update((try? results.count) ?? -1, changes)
      case .deleted: self = .deleted
      case .failed: self = .failed
      }
    }
  }

  @Test("Results on a session thread: initial, updates with positions, key paths")
  func results() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    let ratings = Told<Event>()
    try worker.perform { session in
      let games = try session.objects("apps").filter("Category == 'GAME'")
      try session.keep(games.observe { told.add(Event($0)) })
      try session.keep(games.observe(keyPaths: ["Rating"]) { ratings.add(Event($0)) })
    }
    #expect(told.wait(1) == [.initial(5)])
    try database.write { transaction in
      let apps = try transaction.table("apps")
      try apps.delete(1)  // app 0, the first game
      try apps.update(5, ["Installs": .int(77)])  // app 4, the third
      try apps.insert(["App": .text("z"), "Category": .text("GAME")])
      try apps.update(2, ["Category": .text("GAME")])  // app 1 becomes a game
    }
    let changes = ChangeSet(
      deletions: [0], insertions: [0, 5], modifications: [2], newModifications: [2])
    #expect(told.wait(2).last == .update(6, changes))
    let narrow = ChangeSet(deletions: [0], insertions: [0, 5])
    #expect(ratings.wait(2).last == .update(6, narrow))
    // Only one observer is called for a change to another column.
    try database.write { try $0.table("apps").update(5, ["Installs": .int(78)]) }
    #expect(told.wait(3).count == 3)
    try database.write { try $0.table("apps").update(5, ["Rating": .double(1)]) }
    #expect(told.wait(4).count == 4)
    #expect(ratings.wait(3).count == 3)
    // A change to another table or object is no event.
    try database.write { try $0.table("apps").update(4, ["Rating": .double(1)]) }
    try worker.perform { try $0.refresh() }
    #expect(told.all.count == 4)
    worker.stop()
    try database.write { try $0.table("apps").update(5, ["Rating": .double(2)]) }
    #expect(told.all.count == 4)
    #expect(throws: EngineError.closed(path: database.path)) { try worker.perform { _ in } }
  }

  @Test("An object: property changes with old and new values, deletion")
  func object() throws {
    let queue = SessionQueue(database, DispatchQueue(label: "object"))
    let told = Told<[PropertyChange]>()
    let ended = Told<Bool>()
    try queue.perform { session in
      let app = try #require(try session.object(in: "apps", key: 3))
      try session.keep(
        app.observe { change in
          switch change {
          case .initial: told.add([])
          case .update(_, let changes): told.add(changes)
          case .deleted: ended.add(true)
          case .failed: ended.add(false)
          }
        })
    }
    #expect(told.wait(1) == [[]])
    try database.write { transaction in
      try transaction.table("apps").update(3, ["Installs": .int(9), "Rating": .null])
    }
    #expect(
      told.wait(2).last == [
        PropertyChange(name: "Rating", old: .double(1), new: .null),
        PropertyChange(name: "Installs", old: .int(2), new: .int(9)),
      ])
    try database.write { _ = try $0.table("apps").delete(3) }
    #expect(ended.wait(1) == [true])
  }

  @Test("On a queue, with frozen results, whatever the session does")
  func onQueue() throws {
    let session = try database.session()
    let told = Told<Event>()
    var token: NotificationToken? = try session.objects("apps").observe(
      on: DispatchQueue(label: "observer")
    ) { told.add(Event(frozen: $0)) }
    #expect(told.wait(1) == [.initial(10)])
    try session.write { _ in try session.object(in: "apps", key: 1)?.delete() }
    #expect(told.wait(2).last == .update(9, ChangeSet(deletions: [0])))
    token?.stop()
    token = nil
    try session.write { _ in try session.object(in: "apps", key: 2)?.delete() }
    DispatchQueue(label: "observer").sync {}
    #expect(told.all.count == 2)
  }

  @Test("Where nothing could deliver, observing is refused")
  func refused() throws {
    let session = try database.session()
    #expect { _ = try session.objects("apps").observe { _ in } } throws: { error in
      if case EngineError.cannotObserve? = error as? EngineError { return true }
      return false
    }
    let worker = try SessionThread(database)
    try worker.perform { session in
      let apps = try session.objects("apps")
      #expect(throws: (any Error).self) { _ = try apps.observe(keyPaths: ["Nothing"]) { _ in } }
      try session.write { _ in
        #expect(throws: EngineError.insideTransaction(operation: "observing")) {
          _ = try apps.observe { _ in }
        }
      }
    }
  }

  @Test("A silent write leaves out its tokens, and only them")
  func silence() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    let other = Told<Event>()
    let queued = Told<Event>()
    let queue = DispatchQueue(label: "queued")
    struct Tokens: @unchecked Sendable { let silent: [NotificationToken] }
    let tokens = try worker.perform { session in
      let apps = try session.objects("apps")
      let silent = try apps.observe { told.add(Event($0)) }
      try session.keep(apps.observe { other.add(Event($0)) })
      let queued = try apps.observe(on: queue) { queued.add(Event(frozen: $0)) }
      return Tokens(silent: [silent, queued])
    }
    #expect(told.wait(1) == [.initial(10)])
    #expect(queued.wait(1) == [.initial(10)])
    for round in 0..<5 {
      try worker.perform { session in
        try session.write(withoutNotifying: tokens.silent) { _ in
          try session.insert(["App": .text("silent \(round)")], into: "apps")
        }
        return
      }
      #expect(other.wait(2 * round + 2).count == 2 * round + 2)
      let count = 10 + 2 * round
      try database.write { transaction in
        _ = try transaction.table("apps").insert(["App": .text("loud \(round)")])
      }
      let changes = ChangeSet(insertions: [count + 1])
      #expect(told.wait(round + 2).last == .update(count + 2, changes), "round \(round)")
      #expect(queued.wait(round + 2).last == .update(count + 2, changes), "round \(round)")
      #expect(other.wait(2 * round + 3).count == 2 * round + 3)
    }
    // The token of another session is refused, and nothing is written.
    let second = try SessionThread(database)
    try second.perform { session in
      #expect(throws: EngineError.foreign(what: "a notification token", expected: "session")) {
        try session.write(withoutNotifying: tokens.silent) { _ in try session.deleteAll() }
      }
      let count = try session.objects("apps").count
      #expect(count == 20)
    }
    try worker.perform { _ in tokens.silent.forEach { $0.stop() } }
  }

  @Test("A token kept under a name is found again on its thread, to be silent or to stop")
  func named() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    try worker.perform { session in
      let apps = try session.objects("apps")
      let first = try apps.observe { _ in }
      try session.keep(first, as: "apps")
      // The new observer replaces the one of that name.
      try session.keep(apps.observe { told.add(Event($0)) }, as: "apps")
    }
    #expect(told.wait(1) == [.initial(10)])
    try worker.perform { session in
      let token = try #require(try session.token(keptAs: "apps"))
      try session.write(withoutNotifying: [token]) { _ in
        try session.insert(["App": .text("silent")], into: "apps")
      }
      let none = try session.token(keptAs: "nothing")
      #expect(none == nil)
    }
    try worker.perform { session in
      try session.write { _ in try session.insert(["App": .text("loud")], into: "apps") }
      return
    }
    #expect(told.wait(2).last == .update(12, ChangeSet(insertions: [11])))
    try worker.perform { session in
      try session.token(keptAs: "apps")?.stop()
      try session.write { _ in try session.insert(["App": .text("after")], into: "apps") }
      return
    }
    worker.stop()
    #expect(told.wait(2).count == 2)
  }

  @Test("A call may write, and others are told of both")
  func writingInside() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    let after = Told<Event>()
    try worker.perform { session in
      let apps = try session.objects("apps")
      try session.keep(
        apps.observe { change in
          told.add(Event(change))
          guard case .update(let apps, let changes) = change, changes.insertions.count == 1 else {
            return
          }
          do {
            let moved = try session.refresh()
            #expect(!moved)
            try session.write { _ in try apps.last?.set("Category", to: .text("SEEN")) }
          } catch {
            Issue.record(error)
          }
        })
      try session.keep(apps.observe { after.add(Event($0)) })
    }
    _ = told.wait(1)
    try database.write { transaction in
      _ = try transaction.table("apps").insert(["App": .text("new")])
    }
    #expect(
      told.wait(3) == [
        .initial(10), .update(11, ChangeSet(insertions: [10])),
        .update(11, ChangeSet(modifications: [10], newModifications: [10])),
      ])
    #expect(after.wait(2) == [.initial(10), .update(11, ChangeSet(insertions: [10]))])
    let seen = Query(column("Category") == "SEEN")
    #expect(try seen.count(in: database.snapshot().table("apps")) == 1)
  }

  @Test(
    "A silent write inside a call leaves out its own commit, not the one that the call is about")
  func silenceInside() throws {
    let worker = try SessionThread(database)
    let after = Told<Event>()
    try worker.perform { session in
      let apps = try session.objects("apps")
      // The first observer writes before the other one was called.
      try session.keep(
        apps.observe { change in
          guard case .update(_, let changes) = change, changes.insertions == [10] else { return }
          do {
            let other = try #require(try session.token(keptAs: "other"))
            try session.write(withoutNotifying: [other]) { _ in
              try session.insert(["App": .text("silent")], into: "apps")
            }
          } catch {
            Issue.record(error)
          }
        })
      try session.keep(apps.observe { after.add(Event($0)) }, as: "other")
    }
    _ = after.wait(1)
    try database.write { transaction in
      _ = try transaction.table("apps").insert(["App": .text("loud")])
    }
    #expect(after.wait(2) == [.initial(10), .update(12, ChangeSet(insertions: [10, 11]))])
    worker.stop()
  }

  @Test("The database: changed tables; that a refresh is needed")
  func wholeDatabase() throws {
    let worker = try SessionThread(database)
    let told = Told<String>()
    try worker.perform { session in
      try session.keep(
        session.observe { change in
          switch change {
          case .update(let tables): told.add("\(tables.created) \(tables.changed)")
          case .refreshRequired: told.add("refresh")
          case .failed: told.add("failed")
          }
        })
    }
    try database.write { try $0.createTable("other", columns: [Column("a", .int)]) }
    #expect(told.wait(1) == [#"["other"] []"#])
    try worker.perform { session in session.autorefresh = false }
    try database.write { transaction in
      _ = try transaction.table("other").insert([.int(1)])
    }
    #expect(told.wait(2).last == "refresh")
    try worker.perform { session in
      let other = try session.objects("other")
      let before = try other.count
      try session.refresh()
      let after = try other.count
      #expect(before == 0 && after == 1)
    }
    #expect(told.wait(3).last == #"[] ["other"]"#)
  }

  @Test("Released, a session with observers lets go of its version")
  func release() throws {
    let queue = SessionQueue(database, DispatchQueue(label: "release"))
    weak var released: Session?
    try queue.perform { session in
      let apps = try session.objects("apps")
      // The call refers to the session.
      try session.keep(apps.observe { _ in _ = try? session.version })
    }
    struct Box: @unchecked Sendable { weak var session: Session? }
    let box = try queue.perform { Box(session: $0) }
    released = box.session
    #expect(released != nil)
    let worker = try SessionThread(database)
    try worker.perform { session in
      try session.keep(try session.objects("apps").observe { _ in _ = try? session.version })
    }
    let other = try worker.perform { Box(session: $0) }
    worker.stop()
    #expect(other.session == nil)
  }

  @Test("Who waits for another thread inside a transaction is not left waiting for ever")
  func nestedWait() throws {
    let worker = try SessionThread(database)
    let queue = SessionQueue(database, DispatchQueue(label: "nested"))
    let nested = EngineError.nestedTransaction(path: database.path)
    let session = try database.session()
    try session.write { _ in
      #expect(throws: nested) { try worker.perform { try $0.beginWrite() } }
      #expect(throws: nested) { try queue.perform { try $0.beginWrite() } }
      let count = try worker.perform { try $0.objects("apps").count }
      #expect(count == 10)
    }
    try worker.perform { session in try session.write { _ in try session.deleteAll() } }
    try queue.perform { session in try session.write { _ in try session.deleteAll() } }
  }

  @Test("Calls come together when a session passes over versions")
  func coalescing() throws {
    let worker = try SessionThread(database)
    let told = Told<Event>()
    try worker.perform { session in
      try session.keep(try session.objects("apps").observe { told.add(Event($0)) })
    }
    _ = told.wait(1)
    let database = database
    try worker.perform { _ in
      // On the session's own thread nothing is delivered meanwhile.
      for number in 0..<20 {
        try database.write(durability: Durability.none) { transaction in
          _ = try transaction.table("apps").insert(["App": .text("more \(number)")])
        }
      }
    }
    #expect(told.wait(2) == [.initial(10), .update(30, ChangeSet(insertions: Array(10..<30)))])
  }
}
