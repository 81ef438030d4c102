import Base
import Dispatch
import Testing
import TestSupport

@testable import Engine

/// What counts as the same: values, objects, keys that were given, threads that wait for each other.
@Suite("What is the same", .timeLimit(.minutes(60)))
struct IdentityTests {
  let folder = TemporaryFolder()
  let database: Database

  private struct Oops: Error {}

  init() throws {
    database = try Database.open(folder.path("a.sheaf"))
    try database.write {
      try $0.createTable("t", columns: [Column("a", .int), Column("k", .text)])
    }
  }

  @Test("Texts are equal byte for byte, as keys and groups are")
  func values() throws {
    let (one, two) = (Value.text("\u{E9}"), Value.text("e\u{301}"))
    #expect(one != two && one == .text("\u{E9}"))
    #expect(Set([one, two, .text("\u{E9}"), .text("")]).count == 3)
    // Long texts, for which no short cut applies.
    let long = String(repeating: "x", count: 100)
    #expect(Value.text(long + "\u{E9}") != .text(long + "e\u{301}"))
    #expect(Value.text(long) == .text(String(repeating: "x", count: 99) + "x"))
    // Equal values have equal hashes.
    let notNumbers = [Value.double(.nan), .double(-Double.nan), .double(.signalingNaN)]
    #expect(Set(notNumbers).count == 1 && Set([Value.double(0), .double(-0.0)]).count == 1)
    var random = SplitMix64(seed: 7)
    let pieces = [
      "\u{E9}", "e\u{301}", "a", "\u{1F468}\u{200D}\u{1F469}", "\r\n", "\u{0}", "\u{AC00}",
    ]
    for _ in 0..<2000 {
      let texts = (0..<2).map { _ in
        (0..<Int.random(in: 0...3, using: &random)).map { _ in
          pieces[Int.random(in: 0..<pieces.count, using: &random)]
        }.joined()
      }
      let isSame = Array(texts[0].utf8) == Array(texts[1].utf8)
      #expect((Value.text(texts[0]) == .text(texts[1])) == isSame)
      if isSame { #expect(Value.text(texts[0]).hashValue == Value.text(texts[1]).hashValue) }
    }
    try database.write {
      for text in ["\u{E9}", "e\u{301}", "\u{E9}"] { try $0.table("t").insert(["k": .text(text)]) }
    }
    let table = try database.snapshot().table("t")
    let groups = try Query().groups(by: ["k"], in: table)
    let counts = Dictionary(uniqueKeysWithValues: groups.map { ($0.values[0], $0.count) })
    #expect(counts == [one: 2, two: 1])
    #expect(try table.row(at: 0) != table.row(at: 1))
  }

  @Test("Distinct results keep their other columns")
  func distinct() throws {
    struct App: Codable, Equatable { var a: Int, k: String }
    try database.write {
      for number in 0..<6 { try $0.table("t").insert(App(a: number, k: "k\(number % 2)")) }
    }
    let session = try database.session()
    let kinds = try session.objects("t").distinct(by: "k")
    let expected = [App(a: 0, k: "k0"), App(a: 1, k: "k1")]
    #expect(try kinds.decode(App.self) == expected)
    #expect(try kinds.objects.map { try $0.decode(App.self) } == expected)
    #expect(try kinds.rows()[1]["a"] == .int(1) && kinds.count == 2)
    #expect(try kinds.freeze().rows().map(\.columnNames) == [["a", "k"], ["a", "k"]])
    #expect(try kinds.sorted(by: .descending("k")).keys() == [2, 1])
    #expect(throws: EngineError.self) { try kinds.sorted(by: .descending("a")) }
    // A query names its columns, as before.
    var query = Query()
    (query.isDistinct, query.columns) = (true, ["k"])
    #expect(
      try query.rows(in: database.snapshot().table("t")).map(\.values) == [
        [.text("k0")], [.text("k1")],
      ])
  }

  @Test("A key that a cancelled transaction gave is not given again, by no handle of the process")
  func cancelled() throws {
    let session = try database.session()
    try session.write { _ in try session.insert(["a": .int(0)], into: "t") }
    try session.beginWrite()
    let draft = try session.insert(["a": .int(1)], into: "t")
    try session.cancelWrite()
    let other = try session.write { _ in try session.insert(["a": .int(2)], into: "t") }
    #expect(draft.key == 2 && other.key == 3)
    #expect(draft != other && other == other && Set([draft, other]).count == 2)
    #expect(try draft.isInvalidated && !other.isInvalidated)
    #expect(try session.objects("t").firstIndex(of: draft) == nil)
    #expect(try session.objects("t").firstIndex(of: other) == 1)
    #expect(try database.check().isSound)
    // Another handle does not give the numbers either, not even for a table that was deleted in the
    // transaction; changes alone write the number.
    try session.beginWrite()
    let second = try session.insert(["a": .int(5)], into: "t")
    try session.delete(session.objects("t"))
    try #require(try session.object(in: "t", key: second.key) == nil)
    try session.cancelWrite()
    #expect(throws: Oops.self) {
      try database.write { transaction in
        let key = try transaction.table("t").insert(["a": .int(7)])
        #expect(key == second.key + 1)
        try transaction.deleteTable("t")
        throw Oops()
      }
    }
    let elsewhere = try Database.open(folder.path("a.sheaf"))
    try elsewhere.write { try $0.table("t").update(1, ["a": .int(8)]) }
    #expect(try elsewhere.snapshot().table("t").nextKey == second.key + 2)
    let given = try elsewhere.write { try $0.table("t").insert(["a": .int(6)]) }
    try elsewhere.close()
    try session.refresh()
    #expect(given == second.key + 2)
    let found = try #require(try session.object(in: "t", key: given))
    #expect(try second != found && second.isInvalidated && !found.isInvalidated)
    #expect(try session.objects("t").firstIndex(of: second) == nil)
  }

  @Test(
    "An object of a cancelled transaction is not the one to which another process gives its key")
  func cancelledElsewhere() async throws {
    struct Draft: @unchecked Sendable { let object: Object }
    let queue = SessionQueue(database, DispatchQueue(label: "cancelled"))
    let draft = try await queue.perform { session in
      try session.beginWrite()
      let object = try session.insert(["a": .int(1)], into: "t")
      try session.cancelWrite()
      return Draft(object: object)
    }
    await #expect(processExitsWith: .success) { [path = database.path as String] in
      let other = try Database.open(path)
      try other.write { _ = try $0.table("t").insert(["a": .int(2)]) }
      try other.close()
    }
    let (value, isSame, isInvalidated) = try await queue.perform { session in
      try session.refresh()
      let found = try session.object(in: "t", key: draft.object.key)
      return (try found?["a"], found == draft.object, try draft.object.isInvalidated)
    }
    #expect(value == .int(2) && !isSame && isInvalidated)
  }

  @Test("A thread that waits for the caller is not waited for")
  func ring() throws {
    let (x, y, z) = (
      try SessionThread(database), try SessionThread(database), try SessionThread(database)
    )
    #expect(throws: EngineError.nestedPerform(path: database.path)) {
      try x.perform { _ in try y.perform { _ in try x.perform { _ in 1 } } }
    }
    #expect(throws: EngineError.nestedPerform(path: database.path)) {
      try x.perform { _ in try y.perform { _ in try z.perform { _ in try x.perform { _ in 1 } } } }
    }
    // No ring: a session itself, one behind the other, and the same again.
    #expect(try x.perform { _ in try x.perform { _ in try y.perform { _ in 2 } } } == 2)
    #expect(try x.perform { _ in try y.perform { _ in try z.perform { _ in 3 } } } == 3)
    #expect(try y.perform { _ in try x.perform { _ in 4 } } == 4)
    // Stopping a thread that waits does not wait either.
    try x.perform { _ in try y.perform { _ in x.stop() } }
    #expect(throws: EngineError.closed(path: database.path)) { try x.perform { _ in 5 } }
    // Two threads ask each other at once: the second one gets an error.
    for _ in 0..<200 {
      let answers = Shared<Bool>()
      let threads = try [(y, z), (z, y)].map { one, other in
        try Background {
          do {
            _ = try one.perform { _ in try other.perform { _ in 6 } }
            answers.append(true)
          } catch EngineError.nestedPerform { answers.append(false) }
        }
      }
      for thread in threads { try thread.join() }
      #expect(answers.list.count == 2 && answers.list.contains(true))
    }
    y.stop()
    z.stop()
  }

  @Test("A queue whose work waits for the caller is not waited for")
  func ringOfQueues() throws {
    let (a, b) = (
      SessionQueue(database, DispatchQueue(label: "a")),
      SessionQueue(database, DispatchQueue(label: "b"))
    )
    let thread = try SessionThread(database)
    let nested = EngineError.nestedPerform(path: database.path)
    #expect(throws: nested) {
      try a.perform { _ in try b.perform { _ in try a.perform { _ in 1 } } }
    }
    #expect(throws: nested) {
      try a.perform { _ in try thread.perform { _ in try a.perform { _ in 1 } } }
    }
    // The thread itself runs the work of the queue.
    #expect(try thread.perform { _ in try a.perform { _ in try thread.perform { _ in 1 } } } == 1)
    // Through a queue without a session.
    let plain = DispatchQueue(label: "plain")
    #expect(throws: nested) {
      try a.perform { _ in try plain.sync { try a.perform { _ in 1 } } }
    }
    // Work that was given to the queue itself.
    let told = Told<Bool>()
    a.queue.async {
      do {
        try b.perform { _ in try a.perform { _ in } }
        told.add(false)
      } catch { told.add(error as? EngineError == nested) }
    }
    #expect(told.wait(1) == [true])
    // The thread waits for the queue first, and then its work asks the thread; others go on.
    for isSession in [true, false] {
      let (entered, other) = (DispatchSemaphore(value: 0), Told<Bool>())
      let work: @Sendable () -> Void = {
        entered.signal()
        // Long enough for the thread to wait.
        System.sleep(milliseconds: 100)
        do {
          try thread.perform { _ in }
          other.add(false)
        } catch { other.add(error as? EngineError == nested) }
      }
      if isSession { a.async { _ in work() } } else { a.queue.async { work() } }
      entered.wait()
      #expect(try thread.perform { _ in try a.perform { _ in 5 } } == 5)
      #expect(other.wait(1) == [true])
      #expect(try b.perform { _ in 6 } == 6)
    }
    // No ring: a queue itself, one behind the other, and the same again.
    #expect(try a.perform { _ in try a.perform { _ in try b.perform { _ in 2 } } } == 2)
    #expect(try b.perform { _ in try a.perform { _ in try thread.perform { _ in 3 } } } == 3)
    #expect(try a.perform { _ in try b.perform { _ in 4 } } == 4)
    // A queue whose target is the session's.
    let above = SessionQueue(database, DispatchQueue(label: "above", target: a.queue))
    #expect(throws: EngineError.self) {
      try above.perform { _ in try a.perform { try $0.version } }
    }
    // Two threads ask each other's queue at once: the second one gets an error.
    for _ in 0..<200 {
      let answers = Shared<Bool>()
      let threads = try [(a, b), (b, a)].map { one, other in
        try Background {
          do {
            _ = try one.perform { _ in try other.perform { _ in 6 } }
            answers.append(true)
          } catch EngineError.nestedPerform { answers.append(false) }
        }
      }
      for thread in threads { try thread.join() }
      #expect(answers.list.count == 2 && answers.list.contains(true))
    }
    thread.stop()
  }

  @Test(
    "Closing waits for the transactions of other threads, and lets none begin",
    arguments: [false, true])
  func closing(hasWritten: Bool) throws {
    if hasWritten { try database.write { _ = try $0.table("t").insert(["a": .int(9)]) } }
    let path = folder.path("b.sheaf")
    try Database.open(path).close()
    let database = hasWritten ? database : try Database.open(path)
    let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let order = Shared<String>()
    let writer = try Background {
      try database.write {
        begun.signal()
        end.wait()
        try $0.createTable("late", columns: [Column("x", .int)])
        order.append("written")
      }
    }
    begun.wait()
    let closer = try Background {
      try database.close()
      order.append("closed")
    }
    // A transaction that was asked for earlier would wait for the other one.
    while !database.lock.withLock({ database.shared.isClosed }) { System.sleep(milliseconds: 1) }
    System.sleep(milliseconds: 30)
    #expect(order.list.isEmpty)
    #expect(throws: EngineError.closed(path: database.path)) { try database.write { _ in } }
    end.signal()
    try writer.join()
    try closer.join()
    #expect(order.list == ["written", "closed"])
    let again = try Database.open(database.path)
    #expect(try again.snapshot().tableNames.contains("late") && again.check().isSound)
    try again.close()
  }
}
