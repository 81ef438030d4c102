import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// A kept version stays the same, to the letter, until it is let go; it costs the pages that have
/// changed since, which come free with it.
@Suite("Kept versions")
struct KeptVersionTests {
  private static let columns = [Column("name", .text), Column("stars", .int)]

  private static func fill(_ database: Database, _ count: Int) throws {
    try database.write { transaction in
      try transaction.createTable("a", columns: columns)
      for row in 0..<count {
        try transaction.table("a").insert([.text("row \(row)"), .int(Int64(row))])
      }
    }
  }

  private static func stars(_ snapshot: Snapshot, _ key: Int64) throws -> Value? {
    try snapshot.table("a").value(forKey: key, column: "stars")
  }

  /// Sets one value and keeps the version before.
  @discardableResult
  private static func step(
    _ database: Database, _ key: Int64, _ value: Int64, most: Int? = nil
  ) throws -> UInt64 {
    try database.write { transaction in
      try transaction.keepBase(most: most)
      try transaction.describe("step \(value)")
      try transaction.table("a").update(key, ["stars": .int(value)])
      return transaction.baseVersion
    }
  }

  @Test(
    "A version that was restored reaches as far as its blocks, which lie behind all that is newer")
  func restoredEnd() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    var random = SplitMix64(seed: 5)
    func make(_ name: String, _ count: Int) throws {
      let blob = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      try database.write { transaction in
        try transaction.createTable(name, columns: [Column("blob", .data)])
        _ = try transaction.table(name).insert([.data(blob)])
      }
    }
    try make("hole", 200_000)
    try make("last", 300_000)
    try database.write { try $0.deleteTable("hole") }
    let digest = try Model.digest(database.snapshot())
    let kept = try database.write { transaction in
      try transaction.keepBase(most: 5)
      try transaction.deleteTable("last")
      return transaction.baseVersion
    }
    #expect(try database.snapshot().record.end < 200_000)
    try database.restore(.number(kept), .all)
    #expect(try database.snapshot().record.end > 500_000)
    #expect(try Model.digest(database.snapshot()) == digest)
    #expect(try database.check(deep: true).problems == [])
  }

  @Test("What the writer knows of the file's use is what a walk finds")
  func knownUse() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 100)
    var (held, kept): ([Snapshot], Int) = ([], 0)
    for step in 1...12 as ClosedRange<Int64> {
      try Self.step(database, step * 7, -step, most: 3)
      if step % 4 == 0 { held.append(try database.snapshot()) }
      // Pages count as kept once the next transaction has looked for free pages.
      try database.write { try $0.table("a").update(100, ["stars": .int(-step)]) }
      let use = try database.trimAndTellUse()
      #expect(try use == database.fileUse(), "step \(step)")
      // Pages that also have newer blocks do not count.
      kept += use.kept
    }
    #expect(kept > 0)
    held = []
  }

  @Test("Versions are kept, read, named and let go")
  func story() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path, options: .tiny)
    try Self.fill(database, 100)
    #expect(try database.keptVersions() == [])
    #expect(try database.snapshot().record.hasHistory == false)
    let first = try Self.step(database, 1, -1, most: 2)
    let second = try Self.step(database, 1, -2, most: 2)
    let kept = try database.keptVersions()
    #expect(kept.map(\.number) == [first, second])
    #expect(kept.map(\.madeBy) == ["", "step -1"])
    #expect(kept[0].made == nil && kept[1].made != nil)
    #expect(try database.snapshot().madeBy == "step -2")
    #expect(try Self.stars(database.snapshot(at: .number(first)), 1) == .int(0))
    #expect(try Self.stars(database.snapshot(at: .number(second)), 1) == .int(-1))
    try database.write { try $0.tag("good", version: first) }
    let third = try Self.step(database, 1, -3, most: 2)
    // Versions with tags do not count.
    #expect(try database.keptVersions().map(\.number) == [first, second, third])
    let fourth = try Self.step(database, 1, -4, most: 2)
    #expect(try database.keptVersions().map(\.number) == [first, third, fourth])
    #expect(throws: EngineError.self) { try database.snapshot(at: .number(second)) }
    #expect(try Self.stars(database.snapshot(at: .tag("good")), 1) == .int(0))
    #expect(try database.snapshot(at: VersionName("good")).version == first)
    #expect(try database.check(deep: true).problems == [])
    try database.close()

    let again = try Database.open(path, options: .tiny)
    #expect(try again.keptVersions().map(\.number) == [first, third, fourth])
    #expect(try Self.stars(again.snapshot(at: .tag("good")), 1) == .int(0))
    try again.write { try $0.dropTag("good") }
    #expect(try again.keptVersions().map(\.number) == [first, third, fourth])
    try again.write { try $0.keepVersions(0) }
    #expect(try again.keptVersions() == [])
    // The file has the earlier format again.
    #expect(try again.snapshot().record.hasHistory == false)
    #expect(try again.check().problems == [])
    try again.close()
  }

  @Test("What a moment means")
  func moments() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 3)
    var numbers: [UInt64] = []
    for round in 1...3 { numbers.append(try Self.step(database, 1, Int64(round), most: 9)) }
    let snapshot = try database.snapshot()
    let made = try #require(snapshot.made)
    let before = try #require(
      DateTime(microsecondsSince1970: made.microsecondsSince1970 - 3_600_000_000))
    #expect(try database.snapshot(at: .time(made)).version == snapshot.version)
    // The time of the first version is unknown: so is which version was newest an hour ago.
    #expect(throws: EngineError.self) { try database.snapshot(at: .time(before)) }
    // The first version that is kept was the newest until then.
    let tagged = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(tagged, 3)
    try tagged.write { try $0.tag("good") }
    let moment = try #require(tagged.snapshot().made)
    // The next change is made later than in the same second.
    repeat {
      try tagged.write { try $0.table("a").update(1, ["stars": .int(7)]) }
    } while try tagged.snapshot().made == moment
    #expect(
      try Self.stars(tagged.snapshot(at: .time(moment)), 1)
        == Self.stars(tagged.snapshot(at: .tag("good")), 1))
    #expect(VersionName("12") == .number(12))
    #expect(VersionName("2026-11-23") != .tag("2026-11-23"))
    #expect(VersionName("before-the-flood") == .tag("before-the-flood"))
  }

  @Test("Refused: numbers, moments and strange characters as tags; versions that are not kept")
  func refusals() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 3)
    for tag in ["", "7", "2026-01-01", "a\nb", String(repeating: "x", count: 101)] {
      #expect(throws: EngineError.self, "\(tag)") { try database.write { try $0.tag(tag) } }
    }
    #expect(throws: EngineError.self) { try database.write { try $0.tag("a", version: 1) } }
    #expect(throws: EngineError.self) { try database.write { try $0.dropTag("a") } }
    #expect(throws: EngineError.self) { try database.write { try $0.keepVersions(-1) } }
    #expect(throws: EngineError.self) { try database.write { try $0.keepVersions(1001) } }
    try database.write { try $0.tag("a") }
    try database.write { try $0.table("a").update(1, ["stars": .int(5)]) }
    // A refusal that is caught keeps nothing either.
    try database.write { transaction in
      #expect(throws: EngineError.self) { try transaction.tag("a") }
      try transaction.table("a").update(1, ["stars": .int(6)])
    }
    #expect(try database.keptVersions().map(\.tags) == [["a"]])
    try database.write { try $0.dropTag("a") }
    #expect(try database.keptVersions() == [])
  }

  @Test(
    "A version that is let go while it is read stays readable, and its pages come free afterwards")
  func letGoWhileRead() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path, options: .tiny)
    try Self.fill(database, 300)
    let kept = try Self.step(database, 1, -1, most: 1)
    for key in 1...300 as ClosedRange<Int64> {
      try database.write(durability: Durability.none) {
        try $0.table("a").update(key, ["stars": .int(-2)])
      }
    }
    let other = try Database.open(path, options: .init(access: .readOnly))
    try database.flush()
    let bytes = try database.keptBytes()
    #expect(bytes.all > 0 && bytes.alone == [kept: bytes.all])
    #expect(try database.fileUse().kept == bytes.all && database.fileUse().pinned == 0)
    var held: Snapshot? = try other.snapshot(at: .number(kept))
    try database.write { try $0.keepVersions(0) }
    #expect(try database.fileUse().kept == 0)
    #expect(try database.fileUse().pinned == bytes.all)
    for key in 1...300 as ClosedRange<Int64> {
      try database.write(durability: Durability.none) {
        try $0.table("a").update(key, ["stars": .int(-3)])
      }
    }
    for key in 1...300 as ClosedRange<Int64> {
      let found = try held.flatMap { try Self.stars($0, key) }
      #expect(found == .int(key - 1))
    }
    held = nil
    try database.write { try $0.table("a").update(1, ["stars": .int(9)]) }
    #expect(try database.fileUse().pinned == 0)
    try other.close()
    try database.close()
  }

  @Test("A table that was deleted comes back with the keys and columns that were given since taken")
  func deletedTable() throws {
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 2)
    let first = try Self.step(database, 1, -1, most: 5)
    try database.write { transaction in
      let table = try transaction.table("a")
      _ = try table.insert([.text("third"), .int(3)])
      try table.addColumn(Column("more", .int))
    }
    try Self.step(database, 3, -3, most: 5)
    try database.write { try $0.deleteTable("a") }
    try database.restore(.number(first))
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(try table.count == 2)
      #expect(try table.insert([.text("another"), .int(4)]) == 4)
      try table.addColumn(Column("other", .int))
      #expect(table.editor.schema.columnIDs == [1, 2, 4])
    }
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }

  /// A restored version keeps the end of the version before it: the file is not cut below that while a
  /// reader may hold it, and is cut afterwards.
  @Test(
    "A restored version can be looked at when what it took back is gone", arguments: [true, false])
  func restoredAndKept(isHeld: Bool) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var database = try Database.open(path, options: .tiny)
    try Self.fill(database, 10)
    let first = try Self.step(database, 1, -1, most: 1)
    for row in 0..<300 as Range<Int64> {
      try database.write { try $0.table("a").insert([.text("more \(row)"), .int(row)]) }
    }
    try database.restore(.number(first))
    let restored = try database.snapshot().version
    try database.close()
    let long = try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    database = try Database.open(path, options: .tiny)
    let other = try Database.open(path, options: .init(access: .readOnly))
    var held: Snapshot? = isHeld ? try other.snapshot() : nil
    if isHeld { try database.write { try $0.keepVersions(0) } }
    for step in 2..<4 as Range<Int64> {
      if isHeld {
        try database.write { try $0.table("a").update(1, ["stars": .int(step)]) }
      } else if step == 2 {
        // The version before the restoration is let go here.
        try Self.step(database, 1, step, most: 1)
      }
      #expect(try database.trimAndTellUse() == database.fileUse())
      #expect(try database.fileUse().total > 0 && !database.activeVersions().isEmpty)
      #expect(try database.keptVersions().map(\.number) == (isHeld ? [] : [restored]))
      _ = try database.keptBytes()
    }
    let found = try held.map { try Self.stars($0, 1) }
    #expect(found == nil || found == .some(.int(0)))
    #expect(try database.check(deep: true).problems == [])
    // It is let go, too: the file is as short as possible.
    held = nil
    try other.close()
    try database.write { try $0.keepVersions(0) }
    try database.write { try $0.table("a").update(1, ["stars": .int(7)]) }
    try database.close()
    let short = try #require(FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    // The last writes may be where the end was.
    #expect(!isHeld || short < long)
  }

  /// A compaction numbers the file's newest version above those that it keeps.
  @Test(
    "A kept version of a compacted file is held by who reads it, too", arguments: [false, true])
  func readAfterCompaction(isReadOnly: Bool) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path, options: .tiny)
    try Self.fill(database, 300)
    let kept = try Self.step(database, 1, -1, most: 1)
    for key in 1...300 as ClosedRange<Int64> {
      try database.write(durability: Durability.none) {
        try $0.table("a").update(key, ["stars": .int(-2)])
      }
    }
    #expect(try database.compact().decision == .compacted)
    let other = try isReadOnly ? Database.open(path, options: .init(access: .readOnly)) : database
    let held = try other.snapshot(at: .number(kept))
    try database.write { try $0.keepVersions(0) }
    for round in 0..<3 as Range<Int64> {
      for key in 1...300 as ClosedRange<Int64> {
        try database.write(durability: Durability.none) {
          try $0.table("a").update(key, ["stars": .int(round)])
        }
      }
    }
    #expect(try database.fileUse().pinned > 0)
    for key in 1...300 as ClosedRange<Int64> {
      #expect(try Self.stars(held, key) == .int(key - 1))
    }
    withExtendedLifetime(held) {}
    if isReadOnly { try other.close() }
    try database.close()
  }

  /// A reader without the writer's lock file holds the version by a lock on the file itself.
  @Test("A kept version is held by a reader of a file with several names")
  func readByAnotherName() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path, options: .tiny)
    try Self.fill(database, 300)
    let kept = try Self.step(database, 1, -1, most: 1)
    try database.flush()
    try FileManager.default.createDirectory(
      atPath: folder.path("other"), withIntermediateDirectories: false)
    try FileManager.default.linkItem(atPath: path, toPath: folder.path("other/b.sheaf"))
    let other = try Database.open(folder.path("other/b.sheaf"), options: .init(access: .readOnly))
    let held = try other.snapshot(at: .number(kept))
    #expect(throws: EngineError.self) { try other.snapshot(at: .number(kept + 100)) }
    try database.write { try $0.keepVersions(0) }
    for round in 0..<3 as Range<Int64> {
      for key in 1...300 as ClosedRange<Int64> {
        try database.write { try $0.table("a").update(key, ["stars": .int(round)]) }
      }
    }
    for key in 1...300 as ClosedRange<Int64> {
      #expect(try Self.stars(held, key) == .int(key - 1))
    }
    withExtendedLifetime(held) {}
    try other.close()
    try database.close()
  }

  @Test("Numbers, columns and keys that were given are not given again after going back")
  func nothingIsGivenAgain() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 10)
    let kept = try Self.step(database, 1, -1, most: 5)
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(try table.insert([.text("new"), .null]) == 11)
      try table.addColumn(Column("more", .int))
      try transaction.createTable("b", columns: [Column("x", .int)])
    }
    let column = try #require(try database.snapshot().table("a").schema.columnIDs.last)
    let result = try database.restore(.number(kept), .all)
    #expect(result.tables.map(\.name) == ["a", "b"])
    #expect(try database.snapshot().tableNames == ["a"])
    try database.write { transaction in
      let table = try transaction.table("a")
      #expect(try table.insert([.text("other"), .null]) == 12)
      try table.addColumn(Column("else", .int))
      try transaction.createTable("c", columns: [Column("x", .int)])
    }
    let snapshot = try database.snapshot()
    #expect(try (snapshot.table("a").schema.columnIDs.last ?? 0) > column)
    // The third version is kept by the restoration.
    #expect(try snapshot.table("c").number == 4)
    #expect(try database.check(deep: true).problems == [])
    // The way back: what was undone is there again.
    try database.restore(.number(result.before), .all)
    #expect(try database.snapshot().tableNames == ["a", "b"])
    #expect(try database.snapshot().table("a").row(forKey: 11)?["name"] == .text("new"))
  }

  @Test("What goes back is found by comparing trees, also columns that were removed")
  func differences() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 200)
    let kept = try Self.step(database, 7, -1, most: 5)
    try database.write { transaction in
      let table = try transaction.table("a")
      for key in 20..<60 as Range<Int64> { try table.delete(key) }
      for row in 0..<30 { try table.insert([.text("new \(row)"), .int(0)]) }
    }
    try database.write { try $0.table("a").removeColumn("stars") }
    var snapshots = [try database.snapshot(at: .number(kept)), try database.snapshot()]
    try database.restore(.number(kept))
    snapshots.append(try database.snapshot())
    try database.write { try $0.table("a").removeColumn("stars") }
    snapshots.append(try database.snapshot())
    let full = try snapshots.map { try FullTable($0.table("a")) }
    for old in full {
      for new in full {
        let difference = try TableDifference(from: old.table, to: new.table)
        #expect(
          SlowDifference.problem(difference, old, new) == nil,
          "from version \(old.table.version) to \(new.table.version)")
      }
    }
    let same = try TableDifference(from: full[0].table, to: full[2].table)
    #expect(same.isEmpty && same.cost.leavesOpened == 0)
  }

  @Test("A kept version costs the pages that have changed")
  func cost() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("a", columns: Self.columns) }
    for batch in 0..<20 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        for row in 0..<1000 {
          try table.insert([.text("row \(batch * 7919 + row * 31) \(row)"), .int(Int64(row))])
        }
      }
    }
    let used = try database.fileUse().used
    for night in 1...10 { try Self.step(database, Int64(night * 900), -5, most: 10) }
    let use = try database.fileUse()
    #expect(try database.keptVersions().count == 10)
    // Some blocks of a few pages for each version.
    #expect(use.kept <= 10 * 12 * Layout.pageBytes && use.used <= used + 24 * Layout.pageBytes)
    #expect(use.needed >= use.kept + use.used - use.gaps)
    try database.close()
  }

  @Test(
    "A power cut goes back to a version that keeps what it kept", arguments: 1..<4 as Range<UInt64>)
  func powerCut(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) { transaction, model in
      try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      try changes.insert(20, into: "apps", transaction, &model)
    }
    for round in 0..<40 {
      let durability: Durability = [.full, .none, .group][round % 3]
      try journal.commit(durability) { transaction, model in
        // At most one stays: later versions let go what the durable version keeps.
        if round % 2 == 0 { try transaction.keepBase(most: 1 + round % 3) }
        if round == 20 { try transaction.tag("middle") }
        if round == 30 { try transaction.dropTag("middle") }
        for _ in 0..<2 { try changes.any(transaction, &model) }
      }
      if round % 13 == 12 { try journal.reopen() }
    }
    try journal.close()
    // Each state passes the check, which reads all kept versions.
    try journal.verifyCuts(seed: seed, states: 600)
  }
}
