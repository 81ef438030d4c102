import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A backup is the same database in another place, whatever happened to the database and to the copy's
/// disk.
@Suite("Backups")
struct BackupTests {
  private func expect(_ problem: String?, _ what: @autoclosure () -> String) throws {
    if let problem { throw EngineError.invalidArgument("\(what()): \(problem)") }
  }

  private func create(
    _ database: Database, _ changes: inout RandomChanges, _ model: inout Model
  ) throws {
    try database.write { transaction in
      try changes.createTable("all", RandomChanges.columns, transaction, &model)
      try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
    }
  }

  /// How a copy differs from its database: in the newest version, or in kept ones.
  private func difference(_ source: Database, _ copy: Database) throws -> String? {
    let (one, other) = (try source.snapshot(), try copy.snapshot())
    if one.version != other.version { return "version \(other.version) for \(one.version)" }
    if try Model.digest(one) != Model.digest(other) { return "the newest version" }
    let (kept, copied) = (try one.keptVersions, try other.keptVersions)
    if kept != copied { return "kept: \(copied) for \(kept)" }
    if try one.keptVersionsLimit != other.keptVersionsLimit { return "the limit" }
    for version in kept {
      let name = VersionName.number(version.number)
      if try Model.digest(source.snapshot(at: name)) != Model.digest(copy.snapshot(at: name)) {
        return "version \(version.number)"
      }
    }
    return try copy.check(deep: true).problems.first
  }

  @Test("Of two first backups at once, the later one brings the other's copy up to date")
  func twoAtOnce() throws {
    for replacing in [false, true] {
      let folder = TemporaryFolder()
      let copyPath = folder.path("copy.sheaf")
      let database = try Database.open(folder.path("a.sheaf"), options: .tiny)
      try database.write { try $0.createTable("t", columns: [Column("n", .int)]) }
      var other: Result<BackupResult, any Error>?
      let own = try database.backup(to: copyPath, replacing: replacing) {
        if other == nil { other = Result { try database.backup(to: copyPath) } }
        return false
      }
      #expect(try other?.get().decision == .copied)
      #expect(own.decision == (replacing ? .copied : .unchanged))
      let copy = try Database.open(copyPath, options: .init(access: .readOnly))
      try expect(difference(database, copy), "replacing \(replacing)")
      try copy.close()
      try database.close()
    }
  }

  @Test(
    "Random histories, with kept versions, going back and compactions",
    arguments: Effort.seeds(500..<506))
  func histories(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let (path, copyPath) = (folder.path("a.sheaf"), folder.path("copy.sheaf"))
    var changes = RandomChanges(seed: seed)
    var model = Model()
    let database = try Database.open(path, options: .tiny)
    try create(database, &changes, &model)
    var held: (Database, Snapshot, UInt64)?
    for round in 0..<Effort.rounds(25, long: 300) {
      switch Int.random(in: 0..<8, using: &changes.random) {
      case 0: _ = try database.compactInUse(.tiny, waiting: Waiting(seconds: 0))
      case 1: _ = try database.compact(keepsVersions: Bool.random(using: &changes.random))
      case 2:
        if let kept = try database.keptVersions().randomElement(using: &changes.random) {
          do {
            _ = try database.restore(.number(kept.number), .all)
          } catch EngineError.unchanged {}
        }
      case 3: _ = try database.write { try $0.tag("tag \(round)", version: nil) }
      default: break
      }
      let keeps = Bool.random(using: &changes.random)
      try database.write { transaction in
        if keeps { try transaction.keepBase(most: 3) }
        // After a restoration the model is another one: any new rows will do.
        let table = try transaction.table("few")
        for _ in 0..<Int.random(in: 1...9, using: &changes.random) {
          let key = try table.insert(changes.row(RandomChanges.fewColumns))
          if key > 4, Bool.random(using: &changes.random) { _ = try table.delete(key - 3) }
        }
        let all = try transaction.table("all")
        let key = try all.insert(changes.row(RandomChanges.columns))
        if key > 2 { try? all.update(max(1, key / 2), ["number": .int(7)]) }
      }
      let before = try held.map { try Model.digest($0.1) }
      let result = try database.backup(to: copyPath)
      try expect(
        result.decision == (round == 0 ? .copied : .updated) ? nil : "\(result)", "seed \(seed)")
      if let held, let before {
        // A reader of the copy keeps the version before.
        try expect(before == held.2 ? nil : "changed", "a snapshot of the copy")
        try expect(try Model.digest(held.1) == before ? nil : "changed", "a snapshot, afterwards")
      }
      let copy = try Database.open(copyPath, options: Database.Options(access: .readOnly))
      try expect(try difference(database, copy), "seed \(seed), round \(round)")
      if round % 3 == 0 {
        try held?.0.close()
        let snapshot = try copy.snapshot()
        held = (copy, snapshot, try Model.digest(snapshot))
      } else {
        try copy.close()
      }
      try expect(
        try database.backup(to: copyPath).decision == .unchanged ? nil : "again", "round \(round)")
    }
    try held?.0.close()
    held = nil
    try database.close()
    try FileManager.default.removeItem(atPath: path)
    try expectRestored(copyPath, to: path, &changes)
  }

  /// Restores a database, and makes a backup of it into the copy that it was restored from.
  private func expectRestored(
    _ copyPath: String, to path: String, _ changes: inout RandomChanges
  ) throws {
    let restored = try Database.restore(copyPath, to: path)
    let again = try Database.open(path, options: .tiny)
    let copy = try Database.open(copyPath, options: Database.Options(access: .readOnly))
    #expect(restored.version == (try again.snapshot().version))
    #expect(try difference(again, copy) == nil)
    #expect(try CopiedBlocks(in: again.snapshot()) == nil)
    // The replaced contents are forgotten.
    let newest = try copy.snapshot()
    var memory = try #require(try CopiedBlocks(in: newest))
    let places = memory.checksums.count
    let versions = try [newest.record] + newest.history().kept.map(\.record)
    _ = try memory.blocks(
      of: versions.map { try VersionRoots($0, newest.blocks) }, newest.blocks)
    #expect(places <= 3 * memory.checksums.count + 10, "\(places), \(memory.checksums.count)")
    try copy.close()
    // After the restoration the database equals the copy.
    #expect(try again.backup(to: copyPath).decision == .unchanged)
    // A restored database is backed up into the copy that it was restored from.
    try again.write { _ = try $0.table("few").insert(changes.row(RandomChanges.fewColumns)) }
    #expect(try again.backup(to: copyPath).decision == .updated)
    try again.close()
  }

  @Test("What has not changed is not read, and costs nothing")
  func skipped() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let copyPath = folder.path("copy.sheaf")
    var random = SplitMix64(seed: 5)
    var database = try Database.open(path, options: .tiny)
    try database.write { try $0.createTable("t", columns: [Column("text", .text)]) }
    try database.write { transaction in
      let table = try transaction.table("t")
      for _ in 0..<2000 {
        _ = try table.insert([.text("row \(UInt64.random(in: 0 ... .max, using: &random))")])
      }
    }
    try database.close()
    database = try Database.open(path, options: .tiny)
    _ = try database.backup(to: copyPath)
    try database.write { try $0.table("t").update(1990, ["text": .text("changed")]) }
    let digest = try Model.digest(database.snapshot())
    // A subtree far from the changes: the backup must not read it.
    let tree = try database.snapshot().table("t").tree
    #expect(tree.root.level > 2)
    let child = try tree.entries(tree.root.entry, level: tree.root.level)[0]
    try database.close()
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    try handle.seek(toOffset: child.reference.offset)
    try handle.write(contentsOf: Data(repeating: 0xEE, count: Int(child.reference.length)))
    try handle.close()
    var options = Database.Options.tiny
    options.access = .readOnly
    database = try Database.open(path, options: options)
    #expect(try database.backup(to: copyPath).decision == .updated)
    try database.close()
    let copy = try Database.open(copyPath, options: options)
    #expect(try Model.digest(copy.snapshot()) == digest)
    #expect(try copy.check(deep: true).problems == [])
    try copy.close()
  }

  @Test("A second backup costs what has changed")
  func cost() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try OnlineCompactionTests.fill(database, .randomUpdates)
    try database.write { transaction in
      let table = try transaction.table("t0")
      for id in 0..<20_000 {
        _ = try table.insert([.int(Int64(id &* 7919)), .text("more \(id &* 31)"), .null, .null])
      }
    }
    let first = try database.backup(to: folder.path("copy.sheaf"))
    try database.write { try $0.table("t0").update(12_000, ["stars": .int(1)]) }
    let second = try database.backup(to: folder.path("copy.sheaf"))
    #expect(second.decision == .updated)
    #expect(second.bytesCopied < first.bytesCopied / 6, "\(first) \(second)")
    #expect(second.bytesSkipped > first.bytesCopied / 2, "\(first) \(second)")
    try database.close()
  }

  // MARK: The copy's side

  /// A database in memory, and copies of it on a storage.
  private final class Pair {
    let database: Database
    var changes: RandomChanges
    var model = Model()

    init(seed: UInt64) throws {
      changes = RandomChanges(seed: seed)
      database = try Database.open(
        storage: RecordingStorage(isRecording: false), options: .tiny)
    }

    func change() throws {
      try database.write { transaction in
        try transaction.keepBase(most: 2)
        for _ in 0..<6 { try changes.any(transaction, &model) }
      }
    }

    func copyWhole(to storage: any Storage) throws {
      try database.withHeldVersions { snapshot in
        _ = try whole(snapshot).write(
          to: storage, database.parts.pipeline.identity, remembers: true)
      }
    }

    func update(_ copy: Database) throws -> BackupResult {
      try database.withHeldVersions { snapshot in
        try copy.update(
          from: whole(snapshot), database.parts.pipeline.identity, Waiting(seconds: 5))
      }
    }

    private func whole(_ snapshot: Snapshot) throws -> WholeCopy {
      WholeCopy(
        source: try VersionRoots(snapshot.record, snapshot.blocks), blocks: snapshot.blocks,
        shouldStop: { false })
    }
  }

  @Test(
    "A power cut leaves the copy's former version or the new one", arguments: [61, 62] as [UInt64])
  func powerCuts(seed: UInt64) throws {
    let pair = try Pair(seed: seed)
    try create(pair.database, &pair.changes, &pair.model)
    for _ in 0..<5 { try pair.change() }
    let whole = RecordingStorage(isRecording: false)
    try pair.copyWhole(to: whole)
    let storage = RecordingStorage(whole.content)
    var digests = [try Model.digest(pair.database.snapshot())]
    storage.mark(.tookOver(0))
    let copy = try Database.open(storage: storage, options: .tiny)
    for number in 1...4 {
      for _ in 0..<3 { try pair.change() }
      digests.append(try Model.digest(pair.database.snapshot()))
      storage.mark(.began(number))
      _ = try pair.update(copy)
      storage.mark(.acknowledged(number))
    }
    try copy.close()
    let beginning: [RecordingStorage.Entry] = [
      .replaced(whole.content), .nameFlushed, .acknowledged(0),
    ]
    var cut = PowerCut(beginning + storage.log, seed: seed)
    var count = 0
    try cut.forEachState(from: 3, each: Effort.rounds(5, long: 60), exhaustive: 3) { state in
      count += 1
      var options = Database.Options.tiny
      options.access = .existing
      let found = try Database.open(
        storage: RecordingStorage(state.image, isRecording: false), options: options)
      let digest = try Model.digest(found.snapshot())
      let number = digests.firstIndex(of: digest)
      #expect(
        number.map(state.allowed.contains) == true,
        "\(state.description): contents \(number ?? -1) instead of \(state.allowed)")
      if count % 5 == 0 { #expect(try found.check(deep: true).problems == []) }
    }
    #expect(count > 50)
  }

  @Test("The copy's disk fails at each operation in turn", arguments: [5, 28] as [Int32])
  func faults(code: Int32) throws {
    var number = 0
    while true {
      let pair = try Pair(seed: 71)
      try create(pair.database, &pair.changes, &pair.model)
      for _ in 0..<4 { try pair.change() }
      let whole = RecordingStorage(isRecording: false)
      try pair.copyWhole(to: whole)
      let storage = FailingStorage(whole)
      var copy = try Database.open(storage: storage, options: .tiny)
      let before = try Model.digest(copy.snapshot())
      for _ in 0..<3 { try pair.change() }
      storage.fail(after: number, code: code)
      do {
        _ = try pair.update(copy)
        #expect(storage.failure == nil, "operation \(number) failed, and nobody says so")
      } catch is EngineError {
        #expect(storage.failure != nil, "operation \(number)")
      } catch is SystemError {
        #expect(storage.failure != nil, "operation \(number)")
      }
      let hasFailed = storage.failure != nil
      storage.recover()
      copy = try Database.open(
        storage: RecordingStorage(whole.content, isRecording: false), options: .tiny)
      let after = try Model.digest(copy.snapshot())
      let wanted = try Model.digest(pair.database.snapshot())
      #expect(after == before || after == wanted, "operation \(number)")
      #expect(try copy.check(deep: true).problems == [], "operation \(number)")
      if hasFailed {
        _ = try pair.update(copy)
        #expect(try Model.digest(copy.snapshot()) == wanted, "operation \(number)")
      } else {
        #expect(after == wanted)
        break
      }
      number += 1
    }
    #expect(number > 4)
  }

  @Test(
    "The copy's disk keeps something else than what was written, and the copy stays what it was")
  func wrongBits() throws {
    let pair = try Pair(seed: 72)
    try create(pair.database, &pair.changes, &pair.model)
    for _ in 0..<4 { try pair.change() }
    let whole = RecordingStorage(isRecording: false)
    try pair.copyWhole(to: whole)
    let before = try Model.digest(pair.database.snapshot())
    for _ in 0..<3 { try pair.change() }
    let wanted = try Model.digest(pair.database.snapshot())
    var options = Database.Options.tiny
    // Strict mode would read what the disk has kept wrong.
    options.isWrongOnPurpose = true
    var refused = 0
    for place in stride(from: 0, to: whole.content.count + 30_000, by: 89 * Effort.stride) {
      let storage = RecordingStorage(whole.content, isRecording: false)
      let copy = try Database.open(
        storage: WrongStorage(storage, wrongAt: place), options: options)
      let isDone = (try? pair.update(copy)) != nil
      if !isDone { refused += 1 }
      // The slot and its root are written last: the other slot is still right.
      let other = try Database.open(
        storage: RecordingStorage(storage.content, isRecording: false), options: .tiny)
      let after = try Model.digest(other.snapshot())
      #expect(after == before || isDone, "byte \(place)")
      let problems = try other.check(deep: true).problems
      #expect(problems.allSatisfy { $0.hasPrefix("slot") }, "byte \(place): \(problems)")
      _ = try pair.update(other)
      #expect(try Model.digest(other.snapshot()) == wanted, "byte \(place)")
      #expect(try other.check(deep: true).problems.filter { !$0.hasPrefix("slot") } == [])
    }
    #expect(refused > 50 / Effort.stride)
  }

  @Test("The disk of a first copy keeps something else than what was written, and there is none")
  func firstWrongBits() throws {
    let pair = try Pair(seed: 73)
    try create(pair.database, &pair.changes, &pair.model)
    for _ in 0..<4 { try pair.change() }
    let wanted = try Model.digest(pair.database.snapshot())
    let whole = RecordingStorage(isRecording: false)
    try pair.copyWhole(to: whole)
    var refused = 0
    for place in stride(from: 0, to: whole.content.count, by: 47 * Effort.stride) {
      let storage = RecordingStorage(isRecording: false)
      guard (try? pair.copyWhole(to: WrongStorage(storage, wrongAt: place))) != nil else {
        refused += 1
        continue
      }
      // A slot, of which there are two, or unused bytes.
      let copy = try Database.open(
        storage: RecordingStorage(storage.content, isRecording: false), options: .tiny)
      #expect(try Model.digest(copy.snapshot()) == wanted, "byte \(place)")
      let problems = try copy.check(deep: true).problems
      #expect(problems.allSatisfy { $0.hasPrefix("slot") }, "byte \(place): \(problems)")
    }
    #expect(refused > 50 / Effort.stride)
  }

  @Test("Entries that an index has lost and got again")
  func equalIndexLeaves() throws {
    let folder = TemporaryFolder()
    let (path, copyPath) = (folder.path("a.sheaf"), folder.path("copy.sheaf"))
    let database = try Database.open(path, options: .tiny)
    try database.write { transaction in
      try transaction.createTable(
        "t", columns: [Column("id", .int), Column("n", .int)], key: "id", indexes: ["n"])
      _ = try transaction.table("t").insert([.int(7), .int(5)])
    }
    _ = try database.backup(to: copyPath)
    for round in 0..<12 {
      for value in [.null, .int(5)] as [Value] {
        try database.write { transaction in
          try transaction.table("t").update(1, ["n": value])
          if round % 3 == 2 {
            _ = try transaction.table("t").insert([
              .int(Int64(round * 10 + (value == .null ? 1 : 2))), .int(5),
            ])
          }
        }
        #expect(try database.backup(to: copyPath).decision == .updated)
        let copy = try Database.open(copyPath, options: Database.Options(access: .readOnly))
        #expect(try difference(database, copy) == nil, "round \(round)")
        try copy.close()
      }
    }
    try database.close()
  }

  @Test("A damaged block is not copied, and the copy stays what it was")
  func damaged() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let copyPath = folder.path("copy.sheaf")
    var database = try Database.open(path)
    try OnlineCompactionTests.fill(database, .largeBatches)
    _ = try database.backup(to: copyPath)
    let digest = try Model.digest(database.snapshot())
    try database.write { transaction in
      let table = try transaction.table("t0")
      for id in 0..<3000 {
        _ = try table.insert([.int(Int64(id)), .text("x \(id)"), .null, .null])
      }
    }
    let table = try database.snapshot().table("t0")
    var last: NodeEntry?
    try table.tree.walk { entry, level in
      if level == 0 { last = entry }
    }
    try database.close()
    let entry = try #require(last)
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    // The change is in the last column, of which the parent node knows nothing.
    try handle.seek(toOffset: entry.reference.offset + UInt64(entry.reference.length) - 20)
    try handle.write(contentsOf: Data(repeating: 0xEE, count: 8))
    try handle.close()
    database = try Database.open(path)
    #expect(throws: EngineError.self) { _ = try database.backup(to: copyPath) }
    let copy = try Database.open(copyPath, options: Database.Options(access: .readOnly))
    #expect(try Model.digest(copy.snapshot()) == digest)
    #expect(try copy.check(deep: true).problems == [])
    try copy.close()
    try database.close()
  }
}
