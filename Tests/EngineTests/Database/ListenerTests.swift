import Base
import TestSupport
import Testing

@testable import Engine

/// Listeners are called after a newer version has become visible in this process, never before. A
/// handle can read its own commits before they are durable, and their pages are not written over.
@Suite("Commit listeners", .timeLimit(.minutes(60)))
struct ListenerTests {
  private static let columns = [Column("what", .int)]

  /// The versions that listeners were called with, in order.
  private final class Seen: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var versions: [UInt64] = []
    private var problems: [String] = []
    var list: [UInt64] { lock.withLock { versions } }
    var failures: [String] { lock.withLock { problems } }

    func look(_ database: Database) {
      do {
        let version = try database.snapshot().version
        lock.withLock { versions.append(version) }
      } catch {
        lock.withLock { problems.append("\(error)") }
      }
    }
  }

  private func create(_ storage: any Storage) throws -> Database {
    let database = try Database.open(storage: storage)
    try database.write { try $0.createTable("log", columns: Self.columns) }
    return database
  }

  private func insert(_ database: Database, _ value: Int64, _ durability: Durability) throws {
    try database.write(durability: durability) { try $0.table("log").insert([.int(value)]) }
  }

  @Test(
    "A listener is called after each commit, in each durability", arguments: Durability.allCases)
  func commits(durability: Durability) throws {
    let database = try create(RecordingStorage(isRecording: false))
    let seen = Seen()
    let id = database.listeners.add { [weak database] in
      if let database { seen.look(database) }
    }
    for value in 0..<20 as Range<Int64> {
      try insert(database, value, durability)
      if durability == .group { try database.flush() }
      #expect(seen.list.last == UInt64(value) + 3)
    }
    #expect(try database.newestVersion == 22)
    database.listeners.remove(id)
    let count = seen.list.count
    try insert(database, 99, .full)
    #expect(seen.list.count == count)
    #expect(seen.list == seen.list.sorted())
    #expect(seen.failures == [])
    try database.close()
  }

  @Test("A rolled back transaction tells nobody; a compaction does")
  func others() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("log", columns: Self.columns) }
    let seen = Seen()
    _ = database.listeners.add { [weak database] in
      if let database { seen.look(database) }
    }
    try database.beginWrite().rollBack()
    #expect(seen.list == [])
    #expect(try database.compact().decision == .compacted)
    #expect(seen.list == [try database.newestVersion])
    #expect(seen.failures == [])
    try database.close()
  }

  @Test("A handle reads its own commit before the flush, and its pages stay as they are")
  func ownWrites() throws {
    let storage = RecordingStorage(isRecording: false, flushMilliseconds: 20)
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { transaction in
      try transaction.createTable("log", columns: Self.columns)
      for value in 0..<200 { try transaction.table("log").insert([.int(Int64(value))]) }
    }
    var held: [(Int64, Snapshot)] = []
    var ahead = 0
    for round in 1...60 as ClosedRange<Int64> {
      try database.write(durability: .group) { transaction in
        let table = try transaction.table("log")
        for key in 1...200 { try table.update(Int64(key), ["what": .int(round)]) }
      }
      let own = try database.snapshot()
      #expect(try own.table("log").row(forKey: 7)?["what"] == .int(round))
      if try database.parts.pipeline.durableVersion < own.version { ahead += 1 }
      held.append((round, own))
      if held.count > 8 { held.remove(at: 3) }
    }
    for (round, snapshot) in held {
      try snapshot.table("log").forEachRow { #expect($0.values == [.int(round)]) }
    }
    #expect(ahead > 0, "every commit was durable before it could be read")
    held = []
    try database.flush()
    #expect(try database.parts.pipeline.durableVersion == database.newestVersion)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test(
    "A version that was flushed and not published is published before its predecessor's pages go")
  func unpublished() throws {
    let folder = TemporaryFolder()
    let writer = try Database.open(folder.path("a.sheaf"))
    let reader = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    try writer.write { try $0.createTable("log", columns: Self.columns) }
    let before = try #require(writer.coordination.visible.load())
    try insert(writer, 1, .full)
    // A writer that is killed between its flush and its publication leaves this.
    writer.coordination.visible.store(before)
    try writer.close()
    let next = try Database.open(folder.path("a.sheaf"))
    #expect(try reader.newestVersion == before.version)
    try next.beginWrite().rollBack()
    #expect(try reader.newestVersion == before.version + 1)
    try next.close()
    try reader.close()
  }
}
