import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Commits of other processes are reported here promptly, without polling where the system allows it.
@Suite("Watching other processes", .serialized, .timeLimit(.minutes(60)))
struct WatcherTests {
  private static func create(_ path: String) throws -> Database {
    let database = try Database.open(path)
    try database.write { try $0.createTable("log", columns: [Column("what", .int)]) }
    return database
  }

  private static func insert(_ database: Database, _ value: Int64) throws -> UInt64 {
    let transaction = try database.beginWrite()
    try transaction.table("log").insert([.int(value)])
    return try transaction.commit()
  }

  /// A version that became visible, and when.
  private struct Sighting: Sendable {
    let version: UInt64
    let time: UInt64
  }

  private static func listen(_ database: Database) -> Shared<Sighting> {
    let seen = Shared<Sighting>()
    _ = database.listeners.add { [weak database] in
      let time = System.monotonicNanoseconds
      guard let version = try? database?.snapshot().version else { return }
      seen.append(Sighting(version: version, time: time))
    }
    return seen
  }

  private static func waitForFile(_ path: String) {
    while !FileManager.default.fileExists(atPath: path) { System.sleep(milliseconds: 1) }
  }

  @Test("A commit of another process is told within milliseconds")
  func latency() async throws {
    let folder = TemporaryFolder()
    let (path, go, times) = (folder.path("a.sheaf"), folder.path("go"), folder.path("times"))
    let database = try Self.create(path)
    let seen = Self.listen(database)
    _ = FileManager.default.createFile(atPath: go, contents: nil)
    await #expect(processExitsWith: .success) {
      [path = path as String, go = go as String, times = times as String] in
      Self.waitForFile(go)
      let database = try Database.open(path)
      let log = try System.open(times, .append)
      for value in 0..<100 as Range<Int64> {
        let version = try Self.insert(database, value)
        try withUnsafeBytes(of: (version, System.monotonicNanoseconds)) {
          try System.write(log, $0, path: times)
        }
        System.sleep(milliseconds: 5)
      }
      try database.close()
    }
    #expect(try database.newestVersion == 102)
    for _ in 0..<2000 where seen.list.last?.version != 102 { System.sleep(milliseconds: 1) }
    let sightings = seen.list
    #expect(sightings.last?.version == 102)
    #expect(sightings.map(\.version) == sightings.map(\.version).sorted())
    let commits = try Data(contentsOf: URL(fileURLWithPath: times)).withUnsafeBytes {
      Array($0.bindMemory(to: UInt64.self))
    }
    var delays: [Double] = []
    for index in stride(from: 0, to: commits.count, by: 2) {
      let sighting = try #require(sightings.first { $0.version >= commits[index] })
      delays.append((Double(sighting.time) - Double(commits[index + 1])) / 1e6)
    }
    delays.sort()
    let (median, worst) = (delays[delays.count / 2], delays[delays.count - 1])
    if System.environment("SHEAF_FIGURES") != nil {
      print("from commit elsewhere to listener here, ms: median \(median), worst \(worst)")
    }
    #expect(median < 5, "worst \(worst)")
    try database.close()
  }

  @Test("Handles of one process tell each other; a closed one is told nothing")
  func handles() throws {
    let folder = TemporaryFolder()
    let first = try Self.create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let seen = Self.listen(second)
    let watchers = first.coordination.word(Coordination.Offset.watchers)
    for _ in 0..<2000 where watchers.load() == 0 { System.sleep(milliseconds: 1) }
    let version = try Self.insert(first, 1)
    #expect(seen.wait(for: 1))
    #expect(seen.list.map(\.version) == [version])
    // A handle's own commit is reported once, by the handle itself.
    let own = try Self.insert(second, 2)
    System.sleep(milliseconds: 20)
    #expect(seen.list.map(\.version) == [version, own])
    let began = System.monotonicNanoseconds
    try second.close()
    #expect(System.monotonicNanoseconds - began < 900_000_000, "the thread is woken to end")
    #expect(watchers.load() == 0)
    _ = try Self.insert(first, 3)
    System.sleep(milliseconds: 20)
    #expect(seen.list.count == 2)
    try first.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("A listener may close its database, and may be its last owner")
  func closesInside() throws {
    let folder = TemporaryFolder()
    let other = try Self.create(folder.path("a.sheaf"))
    let closed = Shared<String>()
    for way in ["close", "release"] {
      let owner = Owner(try Database.open(folder.path("a.sheaf")))
      _ = owner.database?.listeners.add {
        if way == "close" { do { try owner.database?.close() } catch { closed.append("\(error)") } }
        owner.release()
        closed.append(way)
      }
      _ = try Self.insert(other, 1)
      #expect(closed.wait(for: way == "close" ? 1 : 2))
    }
    #expect(closed.list == ["close", "release"])
    try other.close()
  }

  private final class Owner: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var held: Database?
    var database: Database? { lock.withLock { held } }
    init(_ database: Database) { held = database }
    func release() {
      let last = lock.withLock {
        defer { held = nil }
        return held
      }
      withExtendedLifetime(last) {}
    }
  }

  @Test("A writer killed between publishing and waking is noticed all the same")
  func missedWakeUp() throws {
    let folder = TemporaryFolder()
    let first = try Self.create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let seen = Self.listen(second)
    // No watcher is listed, so that none is woken, as if the writer had died before it.
    System.sleep(milliseconds: 50)
    first.coordination.word(Coordination.Offset.watchers).store(0)
    let version = try Self.insert(first, 1)
    #expect(seen.wait(for: 1))
    #expect(seen.list.last?.version == version)
    try second.close()
    try first.close()
  }

  @Test("A commit while a listener is told of the one before is told next, not a second later")
  func commitWhileTold() throws {
    let folder = TemporaryFolder()
    let first = try Self.create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let times = Shared<UInt64>()
    _ = second.listeners.add {
      // On a thread of its own: a listener must not write.
      if times.list.isEmpty { try? Background { _ = try Self.insert(first, 2) }.join() }
      times.append(System.monotonicNanoseconds)
    }
    _ = try Self.insert(first, 1)
    #expect(times.wait(for: 2))
    let list = times.list
    #expect(list[1] - list[0] < 900_000_000)
    try second.close()
    try first.close()
  }

  @Test("Without its lock file nothing is written, and nobody else's is removed")
  func lostLockFile() throws {
    let folder = TemporaryFolder()
    let first = try Self.create(folder.path("a.sheaf"))
    let second = try Database.open(folder.path("a.sheaf"))
    let seen = Self.listen(second)
    let before = try Self.insert(first, 1)
    try FileManager.default.removeItem(atPath: folder.path("a.sheaf-lock"))
    // The lock file is removed, then made anew by a handle that sees no other.
    for _ in 0..<2 {
      for database in [first, second] {
        let error = #expect(throws: EngineError.self) { _ = try Self.insert(database, 2) }
        #expect("\(String(describing: error))".contains("lock file"))
        #expect(try database.snapshot().version == before)
      }
      _ = FileManager.default.createFile(atPath: folder.path("a.sheaf-lock"), contents: nil)
    }
    #expect(seen.wait(for: 1))
    try second.close()
    #expect(throws: EngineError.self) { try first.close() }
    #expect(folder.names() == ["a.sheaf", "a.sheaf-lock"])
    let third = try Database.open(folder.path("a.sheaf"))
    #expect(try Self.insert(third, 3) == before + 1)
    #expect(try third.check().problems == [])
    try third.close()
    #expect(folder.names() == ["a.sheaf"])
  }
}
