import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

@Suite("Realm's behaviour: files and limits", .timeLimit(.minutes(60)))
struct RealmFileTests {
  let folder = TemporaryFolder()
  let database: Database

  init() throws { database = try SessionTests.apps(folder) }

  @Test(
    "shouldCompactOnLaunch: asked with both sizes; skipped if others hold the file, and says so")
  func compactionAtOpen() throws {
    try database.write { transaction in
      let apps = try transaction.table("apps")
      for number in 0..<3000 { try apps.insert(["App": .text("a longer name \(number &* 7919)")]) }
    }
    try database.write { try $0.deleteAll() }
    let path = folder.path("t.sheaf")
    let asked = Shared<[Int]>()
    var options = Database.Options()
    options.shouldCompact = { total, used in
      asked.append([total, used])
      return used < total / 2
    }
    // This session keeps the file open.
    let session = try database.session()
    let second = try Database.open(path, options: options)
    #expect(second.compactionAtOpen?.decision == .skippedInUse)
    #expect(second.compactionAtOpen?.reason != nil)
    #expect(try session.objects("apps").isEmpty)
    try second.close()
    // The file is copied before closing cuts off its free end.
    let copy = folder.path("copy.sheaf")
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let alone = try Database.open(copy, options: options)
    #expect(alone.compactionAtOpen?.decision == .compacted)
    #expect(try #require(alone.compactionAtOpen).after < 30_000)
    #expect(asked.list.count == 2 && asked.list.allSatisfy { $0[0] > $0[1] && $0[1] > 0 })
    #expect(try alone.compact().decision == .compacted)
    let held = try alone.session()
    #expect(try alone.compact().decision == .skippedInUse)
    #expect(try held.objects("apps").isEmpty)
    try alone.close()
  }

  @Test("writeCopy(toFile:): a compact copy while others write; an existing destination throws")
  func writeCopy() throws {
    let session = try database.session()
    let copy = folder.path("copy.sheaf")
    try session.write { _ in
      try session.insert(["App": .text("not in the copy")], into: "apps")
      let database = database
      try Background { try database.writeCopy(to: copy) }.join()
    }
    let opened = try Database.open(copy)
    #expect(try opened.snapshot().table("apps").count == 10)
    #expect(try opened.check().problems == [])
    try opened.close()
    #expect { try database.writeCopy(to: copy) } throws: {
      if case EngineError.system? = $0 as? EngineError { true } else { false }
    }
    #expect(try Database.open(copy).snapshot().table("apps").count == 10)
  }

  @Test("maximumNumberOfActiveVersions: unlimited by default; throws, and recovers")
  func activeVersions() throws {
    let path = folder.path("limit.sheaf")
    try SessionTests.apps(folder, "limit.sheaf").close()
    var options = Database.Options()
    #expect(options.maximumActiveVersions == nil)
    options.maximumActiveVersions = 4
    let database = try Database.open(path, options: options)
    let session = try database.session()
    let app = try session.objects("apps")[0]
    func write(_ value: Int64) throws {
      try session.write { _ in try app.set("Installs", to: .int(value)) }
    }
    // Frozen objects, references and idle sessions all hold versions; each is released in its own way.
    var frozen: FrozenObject? = try app.freeze()
    try write(1)
    let reference = try ThreadSafeReference(to: app)
    try write(2)
    let idle = try database.session()
    try write(3)
    #expect(try database.activeVersions().count == 4)
    let oldest = try #require(frozen?.version)
    let tooMany = EngineError.tooManyVersions(
      path: database.path, active: 5, limit: 4,
      oldest: VersionHolder(process: System.processIdentifier, version: oldest))
    #expect(throws: tooMany) { try write(4) }
    #expect(throws: tooMany) { try database.write { try $0.table("apps").deleteAll() } }
    try session.beginWrite()
    let added = try session.insert(["App": .text("rolled back")], into: "apps")
    #expect(throws: tooMany) { try session.commitWrite() }
    // The object was rolled back; the session is outside the transaction, at the version before.
    #expect(try added.isInvalidated && !session.isInWriteTransaction)
    #expect(try app["Installs"] == .int(3) && session.objects("apps").count == 10)
    #expect(try frozen?["Installs"] == .int(0))
    frozen = nil
    try write(5)
    _ = try idle.resolve(reference)
    try write(6)
    try idle.refresh()
    try write(7)
    #expect(try app["Installs"] == .int(7))
    try database.close()
  }

  @Test("deleteFiles: refused while a session is there, done after")
  func deleteFiles() throws {
    let path = folder.path("gone.sheaf")
    let database = try SessionTests.apps(folder, "gone.sheaf")
    var session: Session? = try database.session()
    var frozen: FrozenResults? = try session?.objects("apps").freeze()
    for step in 0..<3 {
      #expect("step \(step)") { try Database.deleteFiles(at: path) } throws: {
        if case EngineError.busy? = $0 as? EngineError { true } else { false }
      }
      if step == 0 { try database.close() }
      if step == 1 { session = nil }
    }
    #expect(try session == nil && frozen?.count == 10)
    frozen = nil
    #expect(frozen == nil)
    #expect(try Database.deleteFiles(at: path))
    #expect(try !Database.deleteFiles(at: path))
    #expect(!folder.names().contains { $0.hasPrefix("gone") })
  }

  @Test("deleteAll, isEmpty: objects go, tables stay; sessions see it when they move on")
  func deleteAll() throws {
    let session = try database.session()
    let other = try database.session()
    let app = try other.objects("apps")[0]
    #expect(try !database.isEmpty)
    try session.write { _ in try session.deleteAll() }
    #expect(try database.isEmpty && session.freeze().isEmpty && session.tableNames == ["apps"])
    #expect(try app["App"] == .text("app 0"))
    try other.refresh()
    #expect(try app.isInvalidated && other.objects("apps").isEmpty)
    // Later objects get new keys: the old accessor stays invalid.
    try session.write { _ in try session.insert(["App": .text("next")], into: "apps") }
    try other.refresh()
    #expect(try app.isInvalidated && !database.isEmpty)
  }

  @Test("schema validation, migrations by version")
  func schema() throws {
    let path = folder.path("schema.sheaf")
    var options = Database.Options()
    options.schema = Schema(
      version: 1, tables: [TableDefinition("people", columns: [Column("name", .text)])])
    let first = try Database.open(path, options: options)
    try first.write { _ = try $0.table("people").insert(["name": .text("Ada Lovelace")]) }
    try first.close()
    let columns = [
      Column("first", .text, default: .text("Ada")),
      Column("name", .text, default: .text("Lovelace")),
    ]
    options.schema = Schema(version: 1, tables: [TableDefinition("people", columns: columns)])
    #expect {
      _ = try Database.open(path, options: options)
    } throws: {
      if case EngineError.schemaMismatch? = $0 as? EngineError {
        "\($0)".contains("first")
      } else {
        false
      }
    }
    options.schema = Schema(version: 2, tables: [TableDefinition("people", columns: columns)])
    options.migration = { transaction, old in
      let people = try transaction.table("people")
      #expect(old == 1)
      try people.addColumn(columns[0])
      try people.removeColumn("name")
      try people.addColumn(columns[1])
    }
    let second = try Database.open(path, options: options)
    let session = try second.session()
    #expect(try session.objects("people")[0].row().values == [.text("Ada"), .text("Lovelace")])
    try second.close()
    options.schema?.version = 1
    #expect(
      throws: EngineError.newerSchema(path: second.path, fileVersion: 2, declaredVersion: 1)
    ) { _ = try Database.open(path, options: options) }
  }

  @Test("Commit there: no history, no fixed steps; here many commits leave the file small")
  func growth() throws {
    let session = try database.session()
    let app = try session.objects("apps")[0]
    for number in 0..<1000 as Range<Int64> {
      try session.write(durability: Durability.none) { _ in
        try app.set("Installs", to: .int(number))
      }
    }
    let use = try database.fileUse()
    // The file grew once by its smallest step.
    #expect(use.total < 400_000 && use.used < 50_000, "\(use)")
    #expect(try heldVersions(database) == [session.version])
    #expect(try database.check().problems == [])
  }

  @Test("Commit there: a killed process pins its version; here it pins nothing and stops nobody")
  func killed() async throws {
    let path = folder.path("t.sheaf")
    let told = Told<Int>()
    // Other processes see only durable commits.
    try database.flush()
    let worker = try SessionThread(database)
    let database = database
    try await worker.perform { session in
      try session.keep(
        session.objects("apps").observe { change in
          if case .update(let apps, _) = change { told.add((try? apps.count) ?? -1) }
        })
      try session.refresh()
    }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [path = path as String] in
      let database = try Database.open(path)
      let session = try database.session()
      let frozen = try session.objects("apps").freeze()
      let reference = try ThreadSafeReference(to: session.objects("apps")[0])
      try session.write { _ in try session.insert(["App": .text("promised")], into: "apps") }
      try session.beginWrite()
      try session.insert(["App": .text("never committed")], into: "apps")
      withExtendedLifetime((frozen, reference)) { _ = kill(getpid(), SIGKILL) }
    }
    // The session's observer was called for the other process's commit, and for nothing else.
    #expect(told.wait(1) == [11])
    try await worker.perform { session in
      let count = try session.objects("apps").count
      let held = try heldVersions(database)
      #expect(try count == 11 && held == [session.version])
      try session.write { _ in try session.insert(["App": .text("next")], into: "apps") }
    }
    #expect(told.wait(2) == [11, 12])
    #expect(try database.check().problems == [])
  }
}
