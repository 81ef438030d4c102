import Foundation
import TestSupport
import Testing

@testable import Engine

/// All slots for snapshots are taken: nothing is lost, their holders can be listed, and work goes on
/// once some are released.
@Suite("All snapshots held", .serialized, .timeLimit(.minutes(60)))
struct SnapshotLimitTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws {
    database = try Database.open(folder.path("a.sheaf"))
    try database.write {
      try $0.createTable("t", columns: [Column("n", .int)])
      try $0.table("t").insert(["n": .int(0)])
    }
  }

  private func isBusy(_ body: () throws -> Void) -> Bool {
    do {
      try body()
      return false
    } catch {
      if case EngineError.busy? = error as? EngineError { return true }
      return false
    }
  }

  private func all() throws -> AllPlaces {
    let held = try AllPlaces(of: database)
    #expect(isBusy { _ = try database.snapshot() })
    return held
  }

  @Test("Snapshots of one version take one place for each handle, whoever takes them")
  func shared() throws {
    let other = try Database.open(folder.path("a.sheaf"), options: .init(access: .readOnly))
    var held = try (0..<5000).map { _ in try database.snapshot() }
    held += try (0..<100).map { _ in try other.snapshot() }
    let sessions = try (0..<3000).map { _ in try database.session() }
    #expect(try database.activeVersions().map { $0.holders.map(\.snapshots) } == [[2]])
    // A snapshot that shares a slot keeps its version like any other.
    let table = try held[4711].table("t")
    held = []
    for number in 1...50 {
      try database.write { try $0.table("t").update(1, ["n": .int(Int64(number))]) }
    }
    #expect(try table.value(forKey: 1, column: "n") == .int(0))
    #expect(try sessions[0].object(in: "t", key: 1)?["n"] == .int(0))
    #expect(try database.snapshot().table("t").value(forKey: 1, column: "n") == .int(50))
    let versions = try database.activeVersions().map { $0.holders.map(\.snapshots) }
    #expect(versions == [[1], []])
    withExtendedLifetime(table) {}
    // Several threads at once may take some more slots, but never a wrong version.
    let threads = try (0..<8).map { _ in
      try Background { [database] in
        var own: [Snapshot] = []
        for _ in 0..<2000 {
          let before = try database.newestVersion
          let snapshot = try database.snapshot()
          #expect(snapshot.version >= before)
          #expect(try snapshot.table("t").value(forKey: 1, column: "n") != .null)
          own.append(snapshot)
          if own.count == 50 { own = [] }
        }
      }
    }
    for number in 51...150 {
      try database.write(durability: .group) {
        try $0.table("t").update(1, ["n": .int(Int64(number))])
      }
    }
    for thread in threads { try thread.join() }
    try other.close()
  }

  @Test("Whoever holds them is told; checks and sizes are there too")
  func looking() throws {
    let held = try all()
    #expect(held.count == 2048)
    let versions = try database.activeVersions()
    #expect(versions.map { $0.holders.map(\.snapshots) } == [[2048]])
    #expect(try database.check().isSound)
    #expect(try database.fileUse().total > 0 && database.tableUse("t").objects == 1)
    #expect(try database.compact().decision == .skippedInUse)
    // Writing needs no slot.
    try database.write { try $0.table("t").insert(["n": .int(1)]) }
    #expect(try database.activeVersions().map(\.holders.count) == [1, 0])
    try withExtendedLifetime(held) { try database.close() }
  }

  @Test("A reference is resolved at its own version, which is held already")
  func reference() throws {
    let (old, other) = try (database.session(), database.session())
    try database.write { try $0.table("t").update(1, ["n": .int(1)]) }
    try other.refresh()
    let object = try #require(try other.object(in: "t", key: 1))
    let reference = try ThreadSafeReference(to: object)
    try database.write { try $0.table("t").update(1, ["n": .int(2)]) }
    let held = try all()
    let resolved = try #require(try old.resolve(reference))
    #expect(try resolved["n"] == .int(1) && old.version == other.version)
    withExtendedLifetime(held) {}
  }

  /// The session's commit succeeds, although it cannot read it yet.
  @Test("A session's commit stands, and it sees it once there is room")
  func sessions() throws {
    let worker = try SessionThread(database)
    let told = Shared<Int>()
    let database = database
    let session: @Sendable (Session) throws -> NotificationToken = { session in
      let token = try session.objects("t").observe { change in
        if case .update(let objects, _) = change { told.append((try? objects.count) ?? -1) }
      }
      try session.keep(token)
      try session.refresh()
      return token
    }
    try worker.perform { it in
      let silent = try session(it)
      let loud = try session(it)
      var held: AllPlaces? = try AllPlaces(of: database)
      let (count, before) = try (it.objects("t").count, it.version)
      let version = try it.write(withoutNotifying: [silent]) { transaction in
        try it.insert(["n": .int(1)], into: "t")
        #expect(try it.objects("t").count == count + 1)
        return transaction.baseVersion + 1
      }
      // It stays on its version, as everything does that finds no slot.
      #expect(try it.version == before && it.objects("t").count == count)
      #expect(try database.newestVersion == version)
      #expect(try !it.isInWriteTransaction)
      #expect(isBusy { _ = try it.refresh() })
      // The next transaction begins from the newest version, or throws the reason.
      #expect(isBusy { try it.beginWrite() })
      #expect(try !it.isInWriteTransaction)
      try database.write { try $0.table("t").insert(["n": .int(2)]) }
      #expect((held?.count ?? 0) > 2000)
      held = nil
      #expect(try it.refresh())
      #expect(try it.objects("t").count == count + 2)
      try it.write { _ in try it.insert(["n": .int(3)], into: "t") }
      withExtendedLifetime(loud) {}
    }
    // Each observer got both commits, perhaps in one call.
    #expect(told.wait(for: 2))
    let count = try worker.perform { try $0.objects("t").count }
    #expect(count == 4)
    worker.stop()
    #expect(try database.check().problems == [])
    try database.close()
  }

  @Test("Those of a killed process make room at once, also for who only reads")
  func killed() async throws {
    let path = folder.path("a.sheaf")
    // Other processes see only durable commits.
    try database.flush()
    let reader = try Database.open(path, options: .init(access: .readOnly))
    await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
      let database = try Database.open(path, options: .init(access: .readOnly))
      let held = try AllPlaces(of: database)
      if held.count == 2048 { withExtendedLifetime(held) { _ = kill(getpid(), SIGKILL) } }
    }
    #expect(try reader.snapshot().table("t").count == 1)
    try reader.close()
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }

  @Test("Limits and paths that make no sense are refused, and touch nothing")
  func nonsense() throws {
    for limit in [0, -1, Int.min] {
      var options = Database.Options()
      options.maximumActiveVersions = limit
      #expect(throws: EngineError.self) { try Database.open(folder.path("b"), options: options) }
    }
    // Not by `path`, which would change its spelling.
    let cut = folder.path("b") + "\0c"
    #expect(throws: EngineError.self) { try Database.open(cut) }
    #expect(throws: EngineError.self) { try database.writeCopy(to: cut) }
    #expect(throws: EngineError.self) {
      try Database.deleteFiles(at: folder.path("a.sheaf") + "\0c")
    }
    try database.close()
    #expect(folder.names() == ["a.sheaf"])
  }
}
