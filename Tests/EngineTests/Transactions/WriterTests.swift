import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// One writer at a time, in order, among threads, handles and processes. Readers never wait and see
/// whole transactions only. Locks of a dead process are released.
@Suite("Writers and readers", .timeLimit(.minutes(60)))
struct WriterTests {
  private let columns = [Column("who", .int), Column("what", .int)]

  private func create(_ path: String) throws -> Database {
    let database = try Database.open(path)
    try database.write { try $0.createTable("log", columns: columns) }
    return database
  }

  @Test("Four threads on two handles lose nothing", arguments: Durability.allCases)
  func manyWriters(durability: Durability) throws {
    let folder = TemporaryFolder()
    let first = try create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let problems = Shared<String>()
    let rounds = 40
    let threads = try (0..<4).map { who in
      try Thread(name: "writer") {
        let database = who % 2 == 0 ? first : second
        do {
          for round in 0..<rounds {
            try database.write(durability: durability) {
              let table = try $0.table("log")
              // Two objects a transaction: readers see an even number.
              for _ in 0..<2 { try table.insert([.int(Int64(who)), .int(Int64(round))]) }
            }
          }
          try database.flush()
        } catch {
          problems.append("\(who): \(error)")
        }
      }
    }
    let isOver = Shared<Bool>()
    let reader = try Thread(name: "reader") {
      do {
        var last = 0
        while isOver.list.isEmpty {
          for database in [first, second] {
            let table = try database.snapshot().table("log")
            var count = 0
            try table.forEachRow { _ in count += 1 }
            if count != table.count || count % 2 != 0 { problems.append("\(count) objects") }
            if database === first {
              if count < last { problems.append("\(count) after \(last)") }
              last = count
            }
          }
        }
      } catch {
        problems.append("reader: \(error)")
      }
    }
    for thread in threads { thread.join() }
    isOver.append(true)
    reader.join()
    #expect(problems.list == [])
    try first.close()
    try second.close()
    let database = try Database.open(folder.path("a.sheaf"))
    #expect(try database.check().problems == [])
    var seen: [Int64: [Int64]] = [:]
    try database.snapshot().table("log").forEachRow { row in
      if case .int(let who) = row.values[0], case .int(let what) = row.values[1] {
        seen[who, default: []].append(what)
      }
    }
    let expected = (0..<Int64(rounds)).flatMap { [$0, $0] }
    for who in 0..<4 { #expect(seen[Int64(who)] == expected) }
    try database.close()
  }

  @Test("Writers come in the order of asking", arguments: [1, 2])
  func order(handles: Int) throws {
    let folder = TemporaryFolder()
    let databases =
      [try create(folder.path("a.sheaf"))]
      + (try (1..<handles).map { _ in try Database.open(folder.path("a.sheaf")) })
    let order = Shared<Int>()
    let problems = Shared<String>()
    var threads: [Base.Thread] = []
    do {
      let holder = try databases[0].beginWrite()
      for who in 0..<8 {
        let database = databases[who % handles]
        let tickets = database.coordination.word(Coordination.Offset.nextTicket)
        let before = tickets.load()
        threads.append(
          try Thread(name: "writer") {
            do {
              try database.write { _ in order.append(who) }
            } catch {
              problems.append("\(error)")
            }
          })
        // The next thread starts once this one has its ticket.
        for _ in 0..<10_000 where tickets.load() == before { System.sleep(milliseconds: 1) }
      }
      holder.rollBack()
    }
    for thread in threads { thread.join() }
    #expect(problems.list == [])
    #expect(order.list == Array(0..<8))
    for database in databases { try database.close() }
  }

  @Test("A writer without flushes lets another handle in between")
  func noneLetsOthersIn() throws {
    let folder = TemporaryFolder()
    let first = try create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let problems = Shared<String>()
    let insert: @Sendable (Database, Int64, Durability) -> Void = { database, who, durability in
      do {
        for round in 0..<30 {
          try database.write(durability: durability) {
            try $0.table("log").insert([.int(who), .int(Int64(round))])
          }
        }
      } catch {
        problems.append("\(error)")
      }
    }
    insert(first, 0, .none)
    let other = try Thread(name: "other") { insert(second, 1, .full) }
    System.sleep(milliseconds: 20)
    // If the right to write were not passed on, this would wait for a writer that waits for our flush.
    insert(first, 0, .none)
    let more = try Thread(name: "more") { insert(first, 2, .none) }
    insert(first, 3, .none)
    more.join()
    try first.flush()
    other.join()
    #expect(problems.list == [])
    try first.close()
    try second.close()
    let database = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    #expect(try database.snapshot().table("log").count == 150)
    try database.close()
  }

  @Test("Many writers in a hurry never wait for each other in a circle")
  func hurry() throws {
    let folder = TemporaryFolder()
    let databases =
      [try create(folder.path("a.sheaf"))]
      + (try (0..<3).map { _ in try Database.open(folder.path("a.sheaf")) })
    let problems = Shared<String>()
    let threads = try (0..<8).map { who in
      try Thread(name: "writer") {
        do {
          for _ in 0..<150 { try databases[who % 4].beginWrite().rollBack() }
        } catch {
          problems.append("\(error)")
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(problems.list == [])
    for database in databases { try database.close() }
  }

  @Test("Closing inside a transaction of the same thread throws instead of waiting for ever")
  func closeInside() throws {
    let folder = TemporaryFolder()
    let database = try create(folder.path("a.sheaf"))
    try database.write { transaction in
      try transaction.table("log").insert([.int(1), .int(1)])
      let nested = EngineError.nestedTransaction(path: database.path)
      #expect(throws: nested) { try database.close() }
      #expect(throws: nested) { try database.trim() }
      #expect(throws: nested) { _ = try database.compact() }
    }
    #expect(try database.snapshot().table("log").count == 1)
    try database.close()
    #expect(throws: EngineError.closed(path: database.path)) { try database.write { _ in } }
    #expect(throws: EngineError.closed(path: database.path)) { _ = try database.snapshot() }
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("A handle released without closing tells its completions")
  func released() throws {
    // Often: the thread that watches other writers, which the commit starts, must not hold it.
    for round in 0..<200 {
      let folder = TemporaryFolder()
      let outcomes = Shared<String?>()
      do {
        let database = try create(folder.path("a.sheaf"))
        let transaction = try database.beginWrite()
        try transaction.table("log").insert([.int(1), .int(1)])
        try transaction.commit(durability: Durability.none) { outcomes.append($0) }
        System.sleep(microseconds: UInt32(round))
      }
      #expect(outcomes.list.count == 1 && outcomes.list[0] != nil, "round \(round)")
    }
  }

  @Test("A reader that names a version which is gone, for a moment, does not fail a writer")
  func readerInBetween() throws {
    let folder = TemporaryFolder()
    let database = try create(folder.path("a.sheaf"))
    let gone = try database.snapshot().record
    for index in 0..<50 {
      try database.write { transaction in
        for _ in 0..<20 { try transaction.table("log").insert([.int(Int64(index)), .int(0)]) }
      }
      if index % 10 == 9 { try database.write { try $0.table("log").deleteAll() } }
    }
    try database.trim()
    // The state of a reader that is interrupted between publishing its version and looking again.
    let (slot, _) = try database.coordination.hold { gone }
    let release = try Thread(name: "reader") {
      System.sleep(milliseconds: 20)
      database.coordination.release(slot)
    }
    let other = try Database.open(folder.path("a.sheaf"))
    try other.write { try $0.table("log").insert([.int(1), .int(1)]) }
    #expect(try other.check().problems == [])
    release.join()
    try other.close()
    try database.close()
  }

  @Test("A writer killed while it publishes a version leaves readers the one before")
  func halfPublished() throws {
    let memory = UnsafeMutableRawPointer.allocate(
      byteCount: VersionCell.encodedBytes, alignment: 64)
    defer { memory.deallocate() }
    memory.initializeMemory(as: UInt64.self, repeating: 0, count: VersionCell.encodedBytes / 8)
    let cell = VersionCell(memory)
    #expect(cell.load() == nil)
    let record: (UInt64) -> VersionRecord = {
      VersionRecord(
        version: $0, root: BlockReference(offset: $0 * 8, length: UInt32($0), checksum: ~$0),
        end: $0 * 4096)
    }
    for version in 1..<10 as Range<UInt64> {
      // Every prefix of a publication's stores, as left by a process that died between two of them.
      for stores in 0..<5 {
        let left = UnsafeMutableRawPointer.allocate(
          byteCount: VersionCell.encodedBytes, alignment: 64)
        defer { left.deallocate() }
        left.copyMemory(from: memory, byteCount: VersionCell.encodedBytes)
        for index in 0..<stores {
          let start = 8 + Int(version & 1) * 40
          left.storeBytes(of: UInt64.max, toByteOffset: start + index * 8, as: UInt64.self)
        }
        #expect(VersionCell(left).load() == (version == 1 ? nil : record(version - 1)))
        VersionCell(left).store(record(100))
        #expect(VersionCell(left).load() == record(100))
      }
      cell.store(record(version))
      #expect(cell.load() == record(version))
    }
  }

  // MARK: Compaction among threads

  @Test("A compaction that is skipped forgets what it knew of free pages, if others have written")
  func skippedCompaction() throws {
    let folder = TemporaryFolder()
    let first = try create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    for round in 0..<6 as Range<Int64> {
      try first.write { transaction in
        for _ in 0..<50 { try transaction.table("log").insert([.int(1), .int(round)]) }
      }
      for _ in 0..<3 {
        try second.write { transaction in
          for _ in 0..<500 { try transaction.table("log").insert([.int(2), .int(round)]) }
        }
      }
      #expect(try first.compact().decision == .skippedInUse)
      try first.write { try $0.table("log").insert([.int(3), .int(round)]) }
      #expect(try first.check().problems == [])
      #expect(try second.snapshot().table("log").count == 1551 * Int(round + 1))
    }
    try first.close()
    try second.close()
  }

  @Test("A writer that waited while the file was compacted writes into the new file")
  func waitingDuringCompaction() throws {
    let folder = TemporaryFolder()
    let database = try create(folder.path("a.sheaf"))
    let results = Shared<String>()
    let holder = try database.beginWrite()
    let compactor = try Thread(name: "compactor") {
      do { results.append("\(try database.compact().decision)") } catch {
        results.append("\(error)")
      }
    }
    System.sleep(milliseconds: 30)
    let writer = try Thread(name: "writer") {
      do {
        try database.write { try $0.table("log").insert([.int(7), .int(7)]) }
      } catch {
        results.append("\(error)")
      }
    }
    System.sleep(milliseconds: 30)
    try holder.commit()
    compactor.join()
    writer.join()
    #expect(results.list == ["compacted"])
    #expect(try database.snapshot().table("log").count == 1)
    try database.close()
    let again = try Database.open(folder.path("a.sheaf"))
    #expect(try again.snapshot().table("log").count == 1)
    try again.close()
  }

  @Test("Snapshots taken during a compaction stay readable, and writing goes on")
  func snapshotsDuringCompaction() throws {
    let folder = TemporaryFolder()
    let database = try create(folder.path("a.sheaf"))
    try database.write { transaction in
      for index in 0..<3000 {
        try transaction.table("log").insert([.int(Int64(index)), .int(0)])
      }
    }
    var decisions: Set<String> = []
    for delay in 0..<10 as Range<UInt32> {
      let snapshots = Shared<Snapshot>()
      let problems = Shared<String>()
      let reader = try Thread(name: "reader") {
        System.sleep(milliseconds: delay)
        do { snapshots.append(try database.snapshot()) } catch { problems.append("\(error)") }
      }
      let decision = try database.compact().decision
      decisions.insert(decision.rawValue)
      reader.join()
      #expect(problems.list == [])
      for snapshot in snapshots.list {
        var count = 0
        try snapshot.table("log").forEachRow { _ in count += 1 }
        #expect(count >= 3000)
      }
      try database.write { try $0.table("log").insert([.int(-1), .int(1)]) }
      // Another handle, which knows nothing yet, has to respect held versions, too.
      let other = try Database.open(folder.path("a.sheaf"))
      try other.write { try $0.table("log").insert([.int(-1), .int(1)]) }
      #expect(try other.check().problems == [], "after \(decision)")
      try other.close()
    }
    #expect(decisions.contains("compacted"))
    try database.close()
  }
}
