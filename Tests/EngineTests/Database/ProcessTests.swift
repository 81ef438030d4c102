import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A process's locks and versions end with it, however it ends; other processes see whole transactions.
///
/// While a child runs, this process works on a thread of its own: waiting for a child blocks one of the
/// few threads of tasks.
@Suite("Processes", .serialized, .timeLimit(.minutes(60)))
struct ProcessTests {
  private static let columns = [Column("what", .int)]

  private static func insert(_ database: Database, _ value: Int, _ durability: Durability = .full)
    throws
  {
    try database.write(durability: durability) {
      // Two objects a transaction: readers see an even number.
      for _ in 0..<2 { try $0.table("log").insert([.int(Int64(value))]) }
    }
  }

  private static func create(_ path: String) throws -> Database {
    let database = try Database.open(path)
    try database.write { try $0.createTable("log", columns: columns) }
    return database
  }

  private static func die() -> Never {
    kill(getpid(), SIGKILL)
    while true { sleep(1) }
  }

  private static func values(_ snapshot: Snapshot) throws -> [Int] {
    var values: [Int] = []
    try snapshot.table("log").forEachRow { row in
      if case .int(let value) = row.values[0] { values.append(Int(value)) }
    }
    return values
  }

  @Test("A killed reader pins nothing")
  func killedReader() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path)
    try Self.insert(database, 1)
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      let snapshots = try (0..<20).map { _ in try database.snapshot() }
      withExtendedLifetime(snapshots) { _ = kill(getpid(), SIGKILL) }
    }
    #expect(try database.activeVersions().allSatisfy { $0.isNewest && $0.holders.isEmpty })
    for value in 2..<30 { try Self.insert(database, value) }
    #expect(try database.fileUse().pinned == 0)
    #expect(try database.check().problems == [])
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("A living reader of another process keeps its version, until it dies")
  func livingReader() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let (ready, go) = (folder.path("ready"), folder.path("go"))
    let database = try Self.create(path)
    try Self.insert(database, 1)
    let parent = try Background {
      while !FileManager.default.fileExists(atPath: ready) {
        System.sleep(milliseconds: 2)
      }
      let holders = try database.activeVersions().flatMap(\.holders)
      #expect(holders.count == 1)
      #expect(holders.first.map { $0.snapshots == 1 && !$0.isThisProcess } == true)
      for value in 2..<102 { try Self.insert(database, value) }
      #expect(try database.compact().decision == .skippedInUse)
      #expect(try database.fileUse().pinned > 0)
      // The new handle has to find out what the other process holds.
      let second = try Database.open(path)
      try second.write { try $0.table("log").deleteAll() }
      try second.write { transaction in
        for value in 0..<202 { try transaction.table("log").insert([.int(Int64(value))]) }
      }
      try second.close()
      _ = FileManager.default.createFile(atPath: go, contents: nil)
    }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, ready = ready as String, go = go as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      let snapshot = try database.snapshot()
      _ = FileManager.default.createFile(atPath: ready, contents: nil)
      while !FileManager.default.fileExists(atPath: go) { System.sleep(milliseconds: 2) }
      // A hundred commits later the snapshot is read for the first time.
      guard try Self.values(snapshot) == [1, 1] else { exit(3) }
      guard try Self.values(database.snapshot()).count == 202 else { exit(4) }
      Self.die()
    }
    try parent.join()
    try Self.insert(database, 7)
    #expect(try database.fileUse().pinned == 0)
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("A writer killed inside its transaction leaves the turn and the contents", arguments: 0..<3)
  func killedWriter(variant: Int) async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path)
    try Self.insert(database, 1)
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, variant = variant as Int] in
      let database = try Database.open(path, options: .tiny)
      // Commits without a flush are lost with the process.
      if variant == 1 { try Self.insert(database, 2, .none) }
      let transaction = try database.beginWrite()
      let table = try transaction.table("log")
      for value in 0..<(variant == 2 ? 3000 : 3) { try table.insert([.int(Int64(value))]) }
      Self.die()
    }
    #expect(try Self.values(database.snapshot()) == [1, 1])
    try Self.insert(database, 5)
    #expect(try Self.values(database.snapshot()) == [1, 1, 5, 5])
    #expect(try database.check().problems == [])
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Killed at any moment of its commits: what was promised is there", arguments: 0..<6)
  func killedAnywhere(round: Int) async throws {
    let folder = TemporaryFolder()
    let (path, promises) = (folder.path("a.sheaf"), folder.path("promises"))
    try Self.create(path).close()
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String, promises = promises as String, round = round as Int] in
      let database = try Database.open(path)
      let log = try System.open(promises, .append)
      let killer = try Base.Thread(name: "killer") {
        System.sleep(milliseconds: UInt32(3 + round * 7))
        Self.die()
      }
      for value in 0..<100_000 {
        try Self.insert(database, value, round % 2 == 0 ? .full : .group)
        if round % 2 == 1 && value % 10 == 9 { try database.flush() }
        guard round % 2 == 0 || value % 10 == 9 else { continue }
        try withUnsafeBytes(of: Int64(value)) { try System.write(log, $0, path: promises) }
      }
      killer.join()
    }
    let promised = (try? Data(contentsOf: URL(fileURLWithPath: promises)))?.count ?? 0
    let database = try Database.open(path)
    #expect(try database.check().problems == [])
    let values = try Self.values(database.snapshot())
    #expect(values == (0..<values.count / 2).flatMap { [$0, $0] })
    #expect(values.count / 2 >= promised / 8 * (round % 2 == 0 ? 1 : 10))
    try Self.insert(database, -1)
    #expect(try Self.values(database.snapshot()).count == values.count + 2)
    try database.close()
    #expect(folder.names() == ["a.sheaf", "promises"] || promised == 0)
  }

  @Test("Readers in another process see whole transactions, in order, while this one writes")
  func readersElsewhere() async throws {
    let folder = TemporaryFolder()
    let (path, stop) = (folder.path("a.sheaf"), folder.path("stop"))
    let database = try Self.create(path)
    let parent = try Background {
      for value in 0..<600 {
        try Self.insert(database, value, Durability.allCases[value % 3])
        if value % 20 == 0 { System.sleep(milliseconds: 1) }
      }
      try database.flush()
      _ = FileManager.default.createFile(atPath: stop, contents: nil)
    }
    await #expect(processExitsWith: .success) {
      [path = path as String, stop = stop as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      var last = 0
      var reads = 0
      var isOver = false
      while !isOver || reads < 3 {
        isOver = FileManager.default.fileExists(atPath: stop)
        let values = try Self.values(database.snapshot())
        guard values.count % 2 == 0, values.count >= last,
          values == (0..<values.count / 2).flatMap({ [$0, $0] })
        else { exit(3) }
        last = values.count
        reads += 1
      }
      exit(last == 1200 ? 0 : 4)
    }
    try parent.join()
    try database.close()
  }

  @Test("Writers of two processes take turns and lose nothing")
  func writersElsewhere() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path)
    let parent = try Background {
      for value in 1000..<1100 {
        try Self.insert(database, value, Durability.allCases[value % 3])
        System.sleep(milliseconds: 1)
      }
      try database.flush()
    }
    await #expect(processExitsWith: .success) { [path = path as String] in
      let database = try Database.open(path)
      for value in 0..<100 { try Self.insert(database, value, Durability.allCases[value % 3]) }
      try database.close()
    }
    try parent.join()
    let values = try Self.values(database.snapshot())
    #expect(values.filter { $0 < 1000 } == (0..<100).flatMap { [$0, $0] })
    #expect(values.filter { $0 >= 1000 } == (1000..<1100).flatMap { [$0, $0] })
    #expect(try database.check().problems == [])
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }
}
