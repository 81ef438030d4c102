import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A handle whose flush has failed commits nothing more, and does not keep others from writing.
@Suite("A handle that failed", .timeLimit(.minutes(60)))
struct FailedHandleTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.path("a.sheaf") }

  /// A database with an empty table, and a commit of ten objects that is not durable.
  private func create() throws -> Database {
    let database = try Database.open(path, options: .init(durability: .none))
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    try database.flush()
    try database.write { transaction in
      for value in 0..<10 as Range<Int64> { try transaction.table("t").insert([.int(value)]) }
    }
    return database
  }

  /// Makes every flush fail from now on.
  ///
  /// - Returns: a descriptor that keeps the locks of what was open.
  private func breakFlush(_ database: Database) throws -> Int32 {
    let storage = try #require(try database.parts.storage as? FileStorage)
    let kept = try System.duplicate(storage.descriptor, path: path)
    let ends = try System.pipe()
    #expect(dup2(ends.writing, storage.descriptor) == storage.descriptor)
    System.close(ends.reading)
    System.close(ends.writing)
    return kept
  }

  private func expectPoisoned(_ body: () throws -> Void) {
    let error = #expect(throws: EngineError.self) { try body() }
    guard case .poisoned = error else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  private func rows(_ snapshot: Snapshot) throws -> [Int64] {
    var rows: [Int64] = []
    try snapshot.table("t").forEachRow { row in
      if case .int(let value) = row.values[0] { rows.append(value) }
    }
    return rows
  }

  /// Has another handle write much, on a thread of its own.
  private func write(_ other: Database, _ done: Shared<Bool>) throws -> Background {
    try Background {
      for _ in 0..<20 {
        try other.write { transaction in
          for value in 100..<110 as Range<Int64> {
            try transaction.table("t").insert([.int(value)])
          }
        }
      }
      done.append(true)
    }
  }

  @Test("Another handle writes, once nobody reads what came to nothing any more")
  func letsGo() throws {
    let failed = try create()
    let other = try Database.open(path)
    var held: Snapshot? = try failed.snapshot()
    let durable = try other.snapshot()
    let session = try failed.session()
    #expect(try session.objects("t").count == 10)
    let kept = try breakFlush(failed)
    defer { System.close(kept) }
    expectPoisoned { try failed.flush() }
    // A new snapshot has what the other handles see.
    #expect(try failed.snapshot().table("t").count == 0)
    #expect(try failed.newestVersion == other.newestVersion)
    let done = Shared<Bool>()
    let writer = try write(other, done)
    System.sleep(milliseconds: 100)
    #expect(try rows(#require(held)) == Array(0..<10))
    #expect(try session.objects("t").count == 10)
    #expect(done.list.isEmpty, "the pages of what is read")
    #expect(try session.refresh())
    #expect(try session.objects("t").count == 0)
    System.sleep(milliseconds: 50)
    #expect(done.list.isEmpty, "the pages of what is read")
    held = nil
    try #require(done.wait(for: 1))
    try writer.join()
    #expect(try rows(durable) == [])
    #expect(try failed.snapshot().table("t").count == 200)
    expectPoisoned { try failed.write { _ in } }
    expectPoisoned { try failed.trim() }
    #expect(try other.check().problems == [])
    expectPoisoned { try failed.close() }
    try other.close()
  }

  @Test("Sessions and observers that move by themselves leave what came to nothing")
  func observers() throws {
    let failed = try create()
    let other = try Database.open(path)
    let counts = Shared<Int>()
    let queued = Shared<Int>()
    let thread = try SessionThread(failed)
    try thread.perform { session in
      let results = try session.objects("t")
      try session.keep(
        results.observe { change in
          if case .initial(let results) = change { counts.append((try? results.count) ?? -1) }
          if case .update(let results, _) = change { counts.append((try? results.count) ?? -1) }
        })
      try session.keep(
        results.observe(on: DispatchQueue(label: "q")) { change in
          if case .initial(let results) = change { queued.append((try? results.count) ?? -1) }
          if case .update(let results, _) = change { queued.append((try? results.count) ?? -1) }
        })
    }
    #expect(counts.wait(for: 1) && counts.list == [10])
    #expect(queued.wait(for: 1) && queued.list == [10])
    let kept = try breakFlush(failed)
    defer { System.close(kept) }
    expectPoisoned { try failed.flush() }
    let done = Shared<Bool>()
    let writer = try write(other, done)
    try #require(done.wait(for: 1))
    try writer.join()
    #expect(counts.wait(for: 2) && queued.wait(for: 2))
    thread.stop()
    expectPoisoned { try failed.close() }
    try other.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Observers see the next commit of another handle, however many came to nothing")
  func observersAfterMany() throws {
    let failed = try create()
    for value in 10..<40 as Range<Int64> {
      try failed.write { try $0.table("t").insert([.int(value)]) }
    }
    let other = try Database.open(path)
    let told = Shared<UInt64>()
    let id = failed.listeners.add { [weak failed] in
      if let version = try? failed?.snapshot().version { told.append(version) }
    }
    let kept = try breakFlush(failed)
    defer { System.close(kept) }
    expectPoisoned { try failed.flush() }
    #expect(told.wait(for: 1))
    let before = told.list.count
    let version = try other.write { transaction in
      try transaction.table("t").insert([.int(1)])
      return transaction.baseVersion + 1
    }
    #expect(told.wait(for: before + 1))
    #expect(told.list.last == version)
    failed.listeners.remove(id)
    expectPoisoned { try failed.close() }
    try other.close()
  }

  @Test("A handle that was released without being closed keeps nobody waiting either")
  func released() throws {
    var failed: Database? = try create()
    var held: Snapshot? = try failed?.snapshot()
    let other = try Database.open(path)
    failed = nil
    let done = Shared<Bool>()
    let writer = try write(other, done)
    System.sleep(milliseconds: 100)
    #expect(done.list.isEmpty)
    #expect(try rows(#require(held)) == Array(0..<10))
    held = nil
    try #require(done.wait(for: 1))
    try writer.join()
    #expect(try other.snapshot().table("t").count == 200)
    #expect(try other.check().problems == [])
    try other.close()
  }

  @Test("Without a descriptor for the folder, the first write fails and the next one does not")
  func noDescriptor() throws {
    let memory = RecordingStorage()
    _ = try Database.open(storage: memory)
    let storage = FailingStorage(memory)
    let database = try Database.open(storage: storage)
    func create() throws {
      try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    }
    storage.fail(after: 1, code: EMFILE, kinds: [.flush])
    let error = #expect(throws: EngineError.self) { try create() }
    guard case .system(let cause) = error, cause.operation == "open" else {
      Issue.record("\(String(describing: error))")
      return
    }
    try create()
    try database.flush()
    #expect(try database.snapshot().tableNames == ["t"])
    // A flush that fails there is another thing.
    let other = FailingStorage(memory)
    let poisoned = try Database.open(storage: other)
    other.fail(after: 1, code: EIO, kinds: [.flush])
    expectPoisoned { try poisoned.write { try $0.createTable("u", columns: []) } }
    expectPoisoned { try poisoned.write { try $0.createTable("u", columns: []) } }
  }
}
