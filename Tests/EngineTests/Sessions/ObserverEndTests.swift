import Base
import Dispatch
import Testing
import TestSupport

@testable import Engine

/// Observers that end, that find no slot for a snapshot, or whose columns are renamed.
@Suite("Ends of observers", .timeLimit(.minutes(60)))
struct ObserverEndTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws {
    database = try Database.open(folder.path("a.sheaf"), options: .init(durability: .none))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("a", .int), Column("b", .text)])
      for number in 0..<20 {
        try transaction.table("t").insert(["a": .int(Int64(number)), "b": .text("x\(number % 3)")])
      }
    }
  }

  private func change(_ key: Int64 = 1, _ value: Int64) throws {
    try database.write { try $0.table("t").update(key, ["a": .int(value)]) }
  }

  /// An object that an observer's call holds; a weak reference tells when it is released.
  private final class Held: Sendable {}

  private func holders() throws -> [Int] {
    try database.activeVersions().flatMap { $0.holders.map(\.snapshots) }
  }

  @Test("A stopped one holds neither version nor call, also while its token is kept")
  func stopped() throws {
    let worker = try SessionThread(database)
    let queue = DispatchQueue(label: "observers")
    let told = Told<Int>()
    let names = (0..<8).map { "observer \($0)" }
    weak var released: Held?
    do {
      let held = Held()
      released = held
      try worker.perform { session in
        let (results, object) = (try session.objects("t"), try session.object(in: "t", key: 1))
        let filtered = try results.filter("a >= 0")
        let tokens = [
          try results.observe { _ in withExtendedLifetime(held) { told.add(0) } },
          try filtered.observe { _ in withExtendedLifetime(held) { told.add(1) } },
          try filtered.observe(on: queue) { _ in withExtendedLifetime(held) { told.add(2) } },
          try object?.observe { _ in withExtendedLifetime(held) { told.add(3) } },
          try object?.observe(on: queue) { _ in withExtendedLifetime(held) { told.add(4) } },
        ].compactMap { $0 }
        for (name, token) in zip(names, tokens) { try session.keep(token, as: name) }
        try session.keep(
          session.observe { _ in withExtendedLifetime(held) { told.add(5) } }, as: names[7])
      }
    }
    #expect(Set(told.wait(5)).count == 5)
    try change(1, 100)
    _ = told.wait(11)
    #expect(try worker.perform { try $0.token(keptAs: names[7]) != nil })
    #expect(released != nil)
    let count = try worker.perform { session in
      for name in names { try session.token(keptAs: name)?.stop() }
      return try names.compactMap { try session.token(keptAs: $0) }.count
    }
    #expect(count == 0)
    queue.sync {}
    try change(1, 101)
    try worker.perform { _ = try $0.refresh() }
    #expect(released == nil)
    // Only the session's own version is held.
    let newest = try database.newestVersion
    #expect(try database.activeVersions().map(\.version) == [newest])
    #expect(try holders() == [1])
    worker.stop()
  }

  @Test("More observers than there are places may be kept and stopped")
  func many() throws {
    let worker = try SessionThread(database)
    let told = DispatchSemaphore(value: 0)
    for number in 0..<2100 {
      try worker.perform { session in
        try session.refresh()
        try session.keep(session.objects("t").observe { _ in told.signal() }, as: "\(number)")
      }
      told.wait()
      try worker.perform { try $0.token(keptAs: "\(number)")?.stop() }
      if number % 10 == 0 { try change(1, Int64(number)) }
    }
    try worker.perform { _ = try $0.refresh() }
    #expect(try database.activeVersions().count == 1)
    worker.stop()
  }

  @Test("What was deleted or failed is let go without being stopped")
  func ended() throws {
    let worker = try SessionThread(database)
    let queue = DispatchQueue(label: "observers")
    let told = Told<String>()
    weak var released: Held?
    do {
      let held = Held()
      released = held
      try worker.perform { session in
        let filtered = try session.objects("t").filter("b == 'x1'")
        let object = try session.object(in: "t", key: 1)
        @Sendable func add(_ event: Any) {
          withExtendedLifetime(held) { told.add(String("\(event)".prefix(7))) }
        }
        try session.keep(filtered.observe { add($0) })
        try session.keep(filtered.observe(on: queue) { add($0) })
        if let object {
          try session.keep(object.observe { add($0) })
          try session.keep(object.observe(on: queue) { add($0) })
        }
      }
    }
    _ = told.wait(4)
    // The filter's column is removed, which cannot be reported. The object is deleted.
    try database.write {
      try $0.table("t").removeColumn("b")
      try $0.table("t").delete(1)
    }
    #expect(told.wait(8).dropFirst(4).sorted() == ["deleted", "deleted", "failed(", "failed("])
    try worker.perform { _ = try $0.refresh() }
    queue.sync {}
    try change(2, 5)
    try worker.perform { _ = try $0.refresh() }
    queue.sync {}
    #expect(released == nil)
    #expect(try database.activeVersions().count == 1)
    #expect(told.all.count == 8)
    worker.stop()
  }

  @Test("A moment without room ends nobody, and what happened meanwhile is told")
  func full() throws {
    let worker = try SessionThread(database)
    let queue = DispatchQueue(label: "observers")
    let (local, queued) = (Told<Int>(), Told<Int>())
    try worker.perform { session in
      let results = try session.objects("t")
      try session.keep(
        results.observe {
          if case .update(let objects, _) = $0 { local.add((try? objects.count) ?? -1) }
          if case .failed = $0 { local.add(-2) }
        })
      try session.keep(
        results.observe(on: queue) {
          if case .update(let objects, _) = $0 { queued.add((try? objects.count) ?? -1) }
          if case .failed = $0 { queued.add(-2) }
        })
    }
    try worker.perform { _ = try $0.refresh() }
    queue.sync {}
    var places: AllPlaces? = try AllPlaces(of: database)
    try database.write { _ = try $0.table("t").insert(["a": .int(1)]) }
    System.sleep(milliseconds: 40)
    #expect(local.all.isEmpty && queued.all.isEmpty)
    #expect((places?.count ?? 0) > 2000)
    places = nil
    // No other commit comes: they look again by themselves.
    #expect(local.wait(1) == [21] && queued.wait(1) == [21])
    try database.write { _ = try $0.table("t").insert(["a": .int(1)]) }
    #expect(local.wait(2) == [21, 22] && queued.wait(2) == [21, 22])
    worker.stop()
  }

  @Test("Columns are followed when they are given other names, also each other's")
  func renamed() throws {
    let worker = try SessionThread(database)
    let queue = DispatchQueue(label: "observers")
    let told = (0..<6).map { _ in Told<[Int]>() }
    @Sendable func tell<Collection>(_ told: Told<[Int]>, _ change: ResultsChange<Collection>) {
      switch change {
      case .update(_, let changes): told.add(changes.newModifications)
      case .initial: told.add([])
      default: told.add([-1])
      }
    }
    try worker.perform { session in
      let all = try session.objects("t")
      let filtered = try all.filter("a >= 0").sorted(by: .ascending("b"))
      try session.keep(all.observe(keyPaths: ["a"]) { tell(told[0], $0) })
      try session.keep(filtered.observe(keyPaths: ["a"]) { tell(told[1], $0) })
      try session.keep(all.observe(on: queue, keyPaths: ["a"]) { tell(told[2], $0) })
      try session.keep(filtered.observe(on: queue, keyPaths: ["a"]) { tell(told[3], $0) })
      if let object = try session.object(in: "t", key: 1) {
        try session.keep(
          object.observe(keyPaths: ["a"]) {
            if case .update(_, let changes) = $0 { told[4].add(changes.map { $0.name.count }) }
          })
      }
      // The results that a call receives have their objects and the new names.
      try session.keep(
        filtered.observe {
          guard case .update(let objects, let changes) = $0 else { return }
          told[5].add(
            changes.newModifications.map { position in
              let isRight = try? objects.filter("alpha == 77")[0].key == objects[position].key
              return isRight == true ? 1 : 0
            })
        })
    }
    for told in told.prefix(4) { #expect(told.wait(1) == [[]]) }
    // Renamed before the first call, between two calls, and two columns at once.
    try database.write {
      let table = try $0.table("t")
      try table.renameColumn("a", to: "c")
      try table.renameColumn("b", to: "a")
      try table.renameColumn("c", to: "alpha")
    }
    try worker.perform { _ = try $0.refresh() }
    try database.write { try $0.table("t").update(1, ["a": .text("x0")]) }
    try database.write { try $0.table("t").update(1, ["alpha": .int(77)]) }
    for told in told.prefix(4) { #expect(told.wait(2) == [[], [0]]) }
    #expect(told[4].wait(1) == [[5]])
    #expect(told[5].wait(1).last == [1])
    worker.stop()
  }

  @Test("Live results, frozen ones and references follow names too")
  func liveNames() throws {
    let session = try database.session()
    let results = try session.objects("t").filter("a >= 10").sorted(by: .descending("a"))
    let frozen = try results.freeze()
    let reference = try ThreadSafeReference(to: results)
    let keys = try results.keys()
    try database.write {
      let table = try $0.table("t")
      try table.renameColumn("a", to: "c")
      try table.addColumn(Column("a", .int))
    }
    try session.refresh()
    #expect(try results.keys() == keys && results.count == keys.count && keys.count == 10)
    #expect(try results.rows().map(\.key) == keys)
    #expect(try results.filter("c < 12").count == 2)
    #expect(try results.aggregates(.count("c")) == [.int(10)])
    #expect(try frozen.keys() == keys && frozen.thaw(in: session).keys() == keys)
    #expect(try session.resolve(reference)?.keys() == keys)
    try database.write { try $0.table("t").removeColumn("c") }
    try session.refresh()
    // Another column with the earlier name is not taken for the renamed one.
    try database.write {
      try $0.table("t").renameColumn("a", to: "q")
      try $0.table("t").addColumn(Column("c", .int))
    }
    #expect(throws: EngineError.self) { try results.keys() }
    try session.refresh()
    #expect(throws: EngineError.self) { try results.keys() }
  }

  @Test("Results in a call are those that the observer knows: no query is run for them")
  func knownObjects() throws {
    let worker = try SessionThread(database)
    let told = Told<[Int64]>()
    try worker.perform { session in
      let sorted = try session.objects("t").filter("a >= 0").sorted(by: .descending("a"))
      try session.keep(
        sorted.observe { change in
          switch change {
          case .initial(let objects), .update(let objects, _):
            let isKnown = try? objects.knowsObjects
            told.add(isKnown == true ? (try? objects.keys()) ?? [] : [-1])
            let isOtherKnown = try? session.objects("t").filter("a >= 0").knowsObjects
            #expect(isOtherKnown == false)
          default: told.add([])
          }
        })
    }
    #expect(told.wait(1) == [(1...20).reversed()])
    try change(1, 100)
    #expect(told.wait(2)[1] == [1] + (2...20).reversed())
    try database.write { try $0.table("t").delete(20) }
    #expect(told.wait(3)[2] == [1] + (2...19).reversed())
    worker.stop()
  }
}
