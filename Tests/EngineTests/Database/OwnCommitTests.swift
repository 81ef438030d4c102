import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Commits that are not durable yet: their own handle reads them, and nobody has to wait for them.
@Suite("Commits on their way", .timeLimit(.minutes(60)))
struct OwnCommitTests {
  private static func create(_ path: String, _ durability: Durability) throws -> Database {
    let database = try Database.open(path, options: .init(durability: durability))
    try database.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    return database
  }

  @Test("A handle reads its own commit at once", arguments: Durability.allCases)
  func ownCommits(durability: Durability) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Self.create(path, durability)
    let told = Shared<Int>()
    let id = database.listeners.add {
      // A listener must not wait for a thread that may wait for the listener.
      if let count = try? database.snapshot().table("t").count { told.append(count) }
    }
    let other = try Database.open(path, options: .init(access: .readOnly))
    let session = try database.session()
    for round in 1...200 {
      let count = try database.write { transaction in
        try transaction.table("t").insert([.int(Int64(round))])
        return try transaction.table("t").count
      }
      #expect(try database.read { try $0.table("t").count } == count)
      #expect(told.list.last == count)
      try session.refresh()
      #expect(try session.objects("t").count == count)
      #expect(try other.newestVersion <= database.newestVersion)
    }
    try database.flush()
    #expect(try other.newestVersion == database.newestVersion)
    database.listeners.remove(id)
    try other.close()
    try database.close()
  }

  @Test("A handle that sits on commits without flushes makes way, on the same thread too")
  func makesWay() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let options = Database.Options(durability: .none)
    let idle = try Database.open(path, options: options)
    try idle.write { try $0.createTable("t", columns: [Column("a", .int)]) }
    let second = try Database.open(path)
    let began = System.monotonicNanoseconds
    for round in 0..<20 as Range<Int64> {
      try second.write { try $0.table("t").insert([.int(round)]) }
      try idle.write { try $0.table("t").insert([.int(round)]) }
    }
    // The thread is woken: looking once a second by itself would take twice as long.
    #expect(System.monotonicNanoseconds - began < 10_000_000_000)
    #expect(try second.newestVersion == idle.newestVersion - 1, "the last one is not durable")
    try second.close()
    #expect(try idle.check().problems == [])
    #expect(try idle.snapshot().table("t").count == 40)
    try idle.close()
  }

  @Test("A process that sits on commits without flushes makes way for another")
  func makesWayElsewhere() async throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let idle = try Self.create(path, .none)
    await #expect(processExitsWith: .success) { [path = path as String] in
      let database = try Database.open(path)
      try database.write { try $0.table("t").insert([.int(2)]) }
      try database.close()
    }
    #expect(try idle.snapshot().table("t").count == 1)
    try idle.close()
  }
}
