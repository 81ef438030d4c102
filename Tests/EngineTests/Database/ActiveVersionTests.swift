import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Who holds which version, and its cost; a limit that throws and recovers; the writer keeps exactly
/// the pages that held versions reach.
@Suite("Active versions", .timeLimit(.minutes(60)))
struct ActiveVersionTests {
  private static let columns = [Column("what", .int), Column("text", .text)]

  private static func fill(_ database: Database, _ count: Int) throws {
    try database.write { transaction in
      try transaction.createTable("log", columns: columns)
      for value in 0..<count {
        try transaction.table("log").insert([.int(Int64(value)), .text("row \(value &* 7919)")])
      }
    }
  }

  private static func update(
    _ database: Database, _ key: Int64, _ value: Int64, _ durability: Durability = .none
  ) throws {
    try database.write(durability: durability) {
      try $0.table("log").update(key, ["what": .int(value)])
    }
  }

  @Test("Versions, holders and pinned bytes")
  func holders() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"), options: .tiny)
    try Self.fill(database, 300)
    let newest = try database.newestVersion
    let alone = try database.activeVersions()
    #expect(alone == [.init(version: newest, isNewest: true, holders: [], pinnedBytes: 0)])
    var old: [Snapshot] = try (0..<3).map { _ in try database.snapshot() }
    for key in 1...300 { try Self.update(database, Int64(key), -1) }
    var later: Snapshot? = try database.snapshot()
    for key in 1...300 { try Self.update(database, Int64(key), -2) }
    let other = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    let elsewhere = try other.snapshot()
    try database.flush()
    let own = System.processIdentifier
    var versions = try database.activeVersions()
    let known = try #require(later?.version)
    #expect(versions.map(\.version) == [newest, known, known + 300].sorted())
    #expect(versions.map(\.isNewest) == [false, false, true])
    #expect(versions[0].holders.map(\.process) == [own])
    // The other handle could see no newer version before the flush.
    // The snapshots of a handle share a slot.
    #expect(versions[0].holders.map(\.snapshots) == [2] && elsewhere.version == newest)
    #expect(versions[1].holders.map(\.snapshots) == [1])
    #expect(versions[2].holders.isEmpty && versions[2].pinnedBytes == 0)
    #expect(versions[0].pinnedBytes > 0 && versions[1].pinnedBytes > 0)
    #expect(try versions.map(\.pinnedBytes).reduce(0, +) == database.fileUse().pinned)
    // Another handle reports the same.
    #expect(try other.activeVersions() == versions)
    let first = versions[0].pinnedBytes
    withExtendedLifetime(later) {}
    later = nil
    versions = try database.activeVersions()
    #expect(versions.map(\.version) == [newest, known + 300])
    #expect(versions[0].pinnedBytes >= first)
    #expect(try versions[0].pinnedBytes == database.fileUse().pinned)
    // Optimized code releases objects after their last use.
    withExtendedLifetime((old, elsewhere)) {}
    old = []
    #expect(old.isEmpty)
    try other.close()
    try database.close()
  }

  @Test("While own commits are on their way to the disk")
  func undurable() throws {
    let storage = RecordingStorage(isRecording: false, flushMilliseconds: 5)
    let database = try Database.open(storage: storage, options: .tiny)
    try Self.fill(database, 100)
    for round in 0..<40 as Range<Int64> {
      try Self.update(database, round + 1, -1, .group)
      let own = try database.snapshot()
      let versions = try database.activeVersions()
      #expect(versions.count { $0.isNewest } == 1)
      #expect(versions.first { $0.version == own.version }?.holders.first?.snapshots == 1)
    }
    try database.close()
  }

  @Test("A limit on versions throws, changes nothing, and lets go once one is released")
  func limit() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var options = Database.Options()
    options.maximumActiveVersions = 3
    let database = try Database.open(path, options: options)
    try Self.fill(database, 10)
    var held = [try database.snapshot(), try database.snapshot()]
    for round in 0..<10 as Range<Int64> { try Self.update(database, 1, round) }
    held.append(try database.snapshot())
    let oldest = held[0].version
    try Self.update(database, 1, 100)
    held.append(try database.snapshot())
    #expect(
      throws: EngineError.tooManyVersions(
        path: database.path, active: 4, limit: 3,
        oldest: VersionHolder(process: System.processIdentifier, version: oldest))
    ) {
      try Self.update(database, 1, 200)
    }
    #expect(try database.snapshot().table("log").row(forKey: 1)?["what"] == .int(100))
    // A transaction without changes is not refused; another handle has its own limit.
    try database.write { _ in }
    let other = try Database.open(path)
    try Self.update(other, 2, 5, .full)
    try other.close()
    let outcome = Shared<String>()
    database.asyncWrite {
      _ = try $0.table("log").delete(1)
    } completion: {
      outcome.append("\($0)")
    }
    #expect(outcome.wait(for: 1))
    #expect(outcome.list.first?.contains("versions alive (at most 3)") == true)
    held.removeFirst(2)
    for round in 0..<5 as Range<Int64> { try Self.update(database, 1, round) }
    #expect(try database.snapshot().table("log").row(forKey: 1)?["what"] == .int(4))
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("The writer's map is exact, however the file was opened", arguments: 1..<5 as Range<UInt64>)
  func exactness(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var random = SplitMix64(seed: seed)
    var databases = [
      try Database.open(path, options: .tiny), try Database.open(path, options: .tiny),
    ]
    try Self.fill(databases[0], 200)
    var held: [Snapshot] = []
    for round in 0..<120 {
      let database = databases[Int.random(in: 0..<2, using: &random)]
      for _ in 0..<Int.random(in: 1..<4, using: &random) {
        let key = Int64.random(in: 1...200, using: &random)
        try Self.update(database, key, Int64(round), .full)
      }
      switch Int.random(in: 0..<6, using: &random) {
      case 0, 1: held.append(try database.snapshot())
      case 2 where !held.isEmpty: held.remove(at: .random(in: 0..<held.count, using: &random))
      case 3:
        let index = Int.random(in: 0..<2, using: &random)
        try databases[index].close()
        databases[index] = try Database.open(path, options: .tiny)
      default: break
      }
      // The chosen handle may have been closed.
      let writer = databases[Int.random(in: 0..<2, using: &random)]
      let transaction = try writer.beginWrite()
      let space = try #require(writer.memory.space)
      let parts = try writer.parts
      let walked = try SpaceMap.walking(
        parts.blocks, newest: transaction.state.base, held: held.map(\.record))
      #expect(
        space.pageCount - space.freePageCount == walked.pageCount - walked.freePageCount,
        "seed \(seed), round \(round), \(held.count) held")
      transaction.rollBack()
    }
    let kept = held.count
    held = []
    for database in databases {
      #expect(try database.check().problems == [], "seed \(seed)")
      try database.close()
    }
    #expect(kept > 0, "seed \(seed)")
  }

  @Test("The writer's map is exact with many small tables, whose blocks are moved together")
  func manyTables() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try database.write { transaction in
      for number in 0..<60 {
        try transaction.createTable("t\(number)", columns: [Column("a", .int)])
      }
    }
    for round in 0..<200 {
      try database.write(durability: Durability.none) {
        try $0.table("t\(round * 7 % 60)").insert([.int(Int64(round))])
      }
    }
    try database.flush()
    let transaction = try database.beginWrite()
    let space = try #require(database.memory.space)
    let blocks = try database.parts.blocks
    let walked = try SpaceMap.walking(blocks, newest: transaction.state.base, held: [])
    let used = space.pageCount - space.freePageCount
    let reached = walked.pageCount - walked.freePageCount
    #expect(used == reached)
    transaction.rollBack()
    try database.close()
  }

  @Test("One old snapshot through 5,000 commits, by handles that come and go: the file is bounded")
  func bounded() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var options = Database.Options.tiny
    options.durability = .none
    let keeper = try Database.open(path, options: .init(access: .create))
    try Self.fill(keeper, 300)
    let old = try keeper.snapshot()
    func length() throws -> Int { try System.status(path: path).size }
    var early = 0
    for handle in 0..<20 {
      let database = try Database.open(path, options: options)
      for round in 0..<250 {
        try Self.update(database, Int64((round * 7 + handle) % 300 + 1), Int64(round))
      }
      if handle == 1 { early = try length() }
      try database.close()
    }
    // At most: the old version's pages, the newest version twice (one copy is being written), and a
    // little.
    let use = try keeper.fileUse()
    #expect(try length() <= early + 4 * Layout.pageBytes, "it grew from \(early)")
    #expect(try length() <= use.pinned + 2 * use.used + 64 * Layout.pageBytes)
    #expect(try old.table("log").row(forKey: 300)?["what"] == .int(299))
    #expect(try keeper.check().problems == [])
    #expect(try keeper.newestVersion == 5_002)
    try keeper.close()
  }
}
