import Base
import TestSupport
import Testing

@testable import Engine

/// A pending table is invisible, costs its changes, and replaces the visible one in a single commit;
/// damage to it is found, and does not affect the visible table.
@Suite("Pending tables")
struct PendingTableTests {
  private static let columns = [Column("name", .text), Column("stars", .int)]

  private static func fill(_ database: Database, _ count: Int, table: String = "a") throws {
    try database.write { transaction in
      try transaction.createTable(table, columns: columns, key: "name")
      for row in 0..<count {
        try transaction.table(table).insert([.text("row \(row)"), .int(Int64(row))])
      }
    }
  }

  private static func sum(_ snapshot: Snapshot) throws -> Int64 {
    var sum: Int64 = 0
    try snapshot.table("a").forEachRow { if case .int(let stars)? = $0["stars"] { sum += stars } }
    return sum
  }

  @Test("Batches go to it, and all of them are seen at once")
  func story() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var database = try Database.open(path)
    try Self.fill(database, 5000)
    let before = try Self.sum(database.snapshot())
    let used = try database.fileUse().used
    let listeners = try database.snapshot().version
    try database.write { transaction in
      let table = try transaction.beginPending("a", describedAs: "a test")
      try table.update(1, ["stars": .int(-1)])
      try table.insert([.text("new"), .int(7)])
    }
    #expect(try database.fileUse().used <= used + 16 * Layout.pageBytes)
    for key in 2...4 as ClosedRange<Int64> {
      try database.write { transaction in
        let table = try #require(try transaction.pendingTable("a"))
        try table.update(key, ["stars": .int(-1)])
      }
    }
    #expect(try Self.sum(database.snapshot()) == before)
    #expect(try database.snapshot().tableNames == ["a"])
    let pending = try database.snapshot().pendingTables
    #expect(pending.map(\.name) == ["a"] && pending[0].objects == 5001)
    #expect(
      pending[0].madeBy == "a test" && pending[0].begun != nil && pending[0].since == listeners)
    #expect(try database.snapshot().record.format == 3)
    #expect(try database.check(deep: true).problems == [])
    try database.close()
    database = try Database.open(path)
    #expect(try Self.sum(database.snapshot()) == before)
    let last = try database.snapshot()
    try database.write { try $0.publishPending("a") }
    #expect(try Self.sum(database.snapshot()) == before - 0 - 1 - 2 - 3 - 4 + 7)
    #expect(try Self.sum(last) == before)
    #expect(try database.snapshot().pendingTables == [])
    #expect(try database.snapshot().record.format == 1)
    #expect(try database.check(deep: true).problems == [])
    // Keys are found, and new ones follow those of the pending table.
    #expect(try database.write { try $0.table("a").insert([.text("newer"), .int(0)]) } == 5002)
    try database.close()
  }

  private static func twoTables() throws -> Database {
    let database = try Database.open(storage: RecordingStorage(isRecording: false))
    try Self.fill(database, 3000)
    try Self.fill(database, 3000, table: "other")
    return database
  }

  /// A check or a backup holds pending tables by themselves, and may release the version first. Another
  /// reader may have locked that version, of which only the number is known then.
  @Test("Who holds a pending table does not hold the version of its number")
  func heldWithoutItsVersion() throws {
    let database = try Self.twoTables()
    try database.write { _ = try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    let old = try database.snapshot()
    let pending = try #require(try old.history().pending.first).records(in: old.record).pending
    try database.write { try $0.table("other").deleteAll() }
    let newest = try database.snapshot()
    #expect(pending.version == old.version && old.version < newest.version)
    #expect(try Self.keepsAll(newest, held: [pending], locked: old.version))
    #expect(try Self.keepsAll(newest, held: [], locked: old.version))
  }

  /// Whether a writer that comes now keeps all pages while somebody has locked a version.
  ///
  /// - Parameter held: the versions whose roots others hold.
  private static func keepsAll(
    _ newest: Snapshot, held: [VersionRecord], locked version: UInt64
  ) throws -> Bool {
    let locked = [version...version]
    let space = try SpaceMap.walking(
      newest.blocks, newest: newest.record, held: held, locked: locked)
    space.reclaim(locked + [newest.version...newest.version])
    return space.hasUnknownPages && space.freePageCount == 0
  }

  /// A check without the lock file reads the pending tables of a version whose number alone is locked.
  @Test("A version's root does not tell what its pending tables have")
  func lockedWithItsPendingTable() throws {
    let database = try Self.twoTables()
    let plain = try database.snapshot()
    try database.write { _ = try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    let old = try database.snapshot()
    try database.abandonPending("a")
    try database.write { try $0.table("other").deleteAll() }
    let newest = try database.snapshot()
    #expect(try Self.keepsAll(newest, held: [old.record], locked: old.version))
    // The others have no pending table: their own roots tell all.
    #expect(try !Self.keepsAll(newest, held: [plain.record], locked: plain.version))
  }

  /// Changes by another writer are never lost.
  @Test("Refused when somebody else has changed the table", arguments: 0..<9)
  func changedMeanwhile(change: Int) throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 30)
    try database.write { try $0.createTable("other", columns: Self.columns) }
    try database.write { try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    try database.write { transaction in
      let table = try transaction.table("a")
      switch change {
      case 0: try table.update(2, ["stars": .int(-2)])
      case 1: try table.delete(2)
      case 2: try table.insert([.text("x"), .int(0)])
      case 3: try table.deleteAll()
      case 4: try table.addColumn(Column("more", .int))
      case 5: try table.addIndex("stars")
      case 6: try table.editor.setNote("note", [1])
      case 7:
        // The same objects, but one more key was given.
        let key = try table.insert([.text("x"), .int(0)])
        try table.delete(key)
      default: try transaction.deleteTable("a")
      }
      try transaction.table("other").insert([.text("x"), .int(0)])
    }
    let seen = try Model.digest(database.snapshot())
    do {
      try database.write { try $0.publishPending("a") }
      Issue.record("change \(change) was written over")
    } catch EngineError.busy(_, let reason) {
      #expect(reason.contains("'a' was") && reason.contains("by somebody else"), "\(reason)")
    }
    #expect(try Model.digest(database.snapshot()) == seen)
    #expect(try database.check(deep: true).problems == [])
    #expect(try database.write { try $0.abandonPending("a") })
    #expect(try Model.digest(database.snapshot()) == seen)
    #expect(try database.check(deep: true).problems == [])
  }

  @Test(
    "Changes to other tables do no harm, nor do versions that are kept meanwhile, nor going back to them"
  )
  func besideOthers() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 30)
    try database.write { try $0.createTable("other", columns: Self.columns) }
    try database.write { try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    try database.write { transaction in
      try transaction.tag("meanwhile")
      try transaction.table("other").insert([.text("x"), .int(0)])
    }
    let kept = try Model.digest(database.snapshot(at: .tag("meanwhile")))
    for key in 2..<25 as Range<Int64> {
      try database.write { try $0.pendingTable("a")?.update(key, ["stars": .int(-1)]) }
    }
    #expect(try Model.digest(database.snapshot(at: .tag("meanwhile"))) == kept)
    try database.write { transaction in
      try transaction.keepBase(most: 3)
      try transaction.publishPending("a")
    }
    // The histories of kept versions refer to blocks that are gone, without harm.
    #expect(try database.check(deep: true).problems == [])
    #expect(try database.snapshot().record.format == 8)
    let step = try database.restore(nil, .onlyChanged)
    #expect(step.tables.map(\.name) == ["a"])
    #expect(try Self.sum(database.snapshot()) == (0..<30).reduce(0) { $0 + Int64($1) })
    #expect(try Model.digest(database.snapshot(at: .tag("meanwhile"))) == kept)
    #expect(try database.check(deep: true).problems == [])
  }

  @Test("What both tables had comes free when one of them goes, without opening the file anew")
  func pagesComeFree() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 400)
    for round in 0..<8 {
      try database.write { transaction in
        let table = try transaction.beginPending("a")
        for key in 1...400 as ClosedRange<Int64> {
          try table.update(key, ["stars": .int(Int64(round) * 1000 + key)])
        }
      }
      try database.write { transaction in
        if round % 2 == 0 {
          try transaction.publishPending("a")
        } else {
          _ = try transaction.abandonPending("a")
        }
      }
      let key = Int64(round) + 1
      try database.write { try $0.table("a").update(key, ["stars": .int(0)]) }
      // Freed pages do not stay frozen: the writer's map has what a walk finds.
      let space = try #require(database.memory.space)
      #expect(space.frozen.count == 0, "round \(round)")
      #expect(try database.trimAndTellUse() == database.fileUse(), "round \(round)")
    }
  }

  /// The next transaction moves the few bytes that are left in a page, except blocks that both tables
  /// have.
  @Test("Night after night, in sparse pages", arguments: [1, 2, 3] as [UInt64])
  func nights(seed: UInt64) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    var random = SplitMix64(seed: seed)
    var database = try Database.open(path)
    try Self.fill(database, 60)
    var sum = try Self.sum(database.snapshot())
    for night in 0..<Effort.rounds(40, long: 1000) {
      try database.close()
      database = try Database.open(path)
      func change(_ table: WritableTable) throws {
        let (key, value) = (Int64.random(in: 1...60, using: &random), Int64(night))
        if case .int(let old)? = try table.row(forKey: key)?["stars"] { sum += value - old }
        try table.update(key, ["stars": .int(value)])
      }
      if Bool.random(using: &random) { try database.write { try change($0.table("a")) } }
      try database.write { transaction in
        if Bool.random(using: &random) { try transaction.keepBase(most: 2) }
        try change(transaction.beginPending("a"))
      }
      if Bool.random(using: &random) {
        try database.write { try change(#require(try $0.pendingTable("a"))) }
      }
      try database.write { try $0.publishPending("a") }
      #expect(try Self.sum(database.snapshot()) == sum, "night \(night), seed \(seed)")
      #expect(try database.check(deep: true).problems == [], "night \(night), seed \(seed)")
    }
    try database.close()
  }

  @Test("Both tables may let go of what they had together in one transaction")
  func droppedByBoth() throws {
    let database = try Database.open(storage: RecordingStorage(isRecording: false), options: .tiny)
    try Self.fill(database, 60)
    let before = try Self.sum(database.snapshot())
    try database.write { transaction in
      let pending = try transaction.beginPending("a")
      try pending.update(1, ["stars": .int(-1)])
      try transaction.table("a").update(1, ["stars": .int(-5)])
    }
    try database.write { transaction in
      for key in 2...30 as ClosedRange<Int64> {
        try transaction.pendingTable("a")?.update(key, ["stars": .int(-1)])
        try transaction.table("a").update(key, ["stars": .int(key)])
      }
    }
    #expect(try Self.sum(database.snapshot()) == before - 0 - 5 + 29)
    #expect(try database.check(deep: true).problems == [])
    let reason = try database.snapshot().pendingTables.map(\.name)
    #expect(reason == ["a"])
    #expect(throws: EngineError.self) { try database.write { try $0.publishPending("a") } }
    #expect(try database.write { try $0.abandonPending("a") })
    #expect(try Self.sum(database.snapshot()) == before - 0 - 5 + 29)
    #expect(try database.check(deep: true).problems == [])
  }

  @Test("What is pending stays readable for who holds it, whatever becomes of it")
  func held() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let writer = try Database.open(path, options: .tiny)
    try Self.fill(writer, 200)
    try writer.write { try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    let reader = try Database.open(path, options: .init(access: .readOnly))
    let held = try #require(try reader.pendingSnapshot(of: "a"))
    let digest = try Model.digest(held)
    try writer.close()
    // The new handle has to walk the file to find free pages.
    let next = try Database.open(path, options: .tiny)
    for key in 2...150 as ClosedRange<Int64> {
      try next.write(durability: Durability.none) {
        try $0.pendingTable("a")?.update(key, ["stars": .int(-2)])
      }
    }
    try next.flush()
    #expect(try Model.digest(held) == digest)
    #expect(try next.activeVersions().contains { $0.pinnedBytes > 0 })
    try next.write { try $0.publishPending("a") }
    for key in 1...150 as ClosedRange<Int64> {
      try next.write(durability: Durability.none) {
        try $0.table("a").update(key, ["stars": .int(-3)])
      }
    }
    #expect(try Model.digest(held) == digest)
    #expect(try next.check(deep: true).problems == [])
    try next.close()
    try reader.close()
  }

  @Test("A compaction takes it along, with what it shares")
  func compacted() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try Self.fill(database, 20_000)
    #expect(try database.compact().decision == .compacted)
    let alone = try database.fileUse().total
    try database.write { try $0.beginPending("a").update(1, ["stars": .int(-1)]) }
    let digest = try Model.digest(#require(try database.pendingSnapshot(of: "a")))
    for keeps in [true, false] {
      #expect(try database.compact(keepsVersions: keeps).decision == .compacted)
      #expect(try Model.digest(#require(try database.pendingSnapshot(of: "a"))) == digest)
      #expect(try database.fileUse().total < alone + alone / 2)
      #expect(try database.check(deep: true).problems == [])
    }
    let copy = folder.path("copy.sheaf")
    try database.writeCopy(to: copy)
    let other = try Database.open(copy)
    #expect(try other.snapshot().pendingTables == [] && other.snapshot().record.format == 1)
    try other.close()
    try database.write { try $0.publishPending("a") }
    #expect(try Model.digest(database.snapshot()) == digest)
    #expect(try database.check(deep: true).problems == [])
    try database.close()
  }

  @Test(
    "A power cut goes back to a version with what was pending beside it",
    arguments: 1..<4 as Range<UInt64>)
  func powerCut(seed: UInt64) throws {
    var changes = RandomChanges(seed: seed)
    let journal = try Journal()
    try journal.commit(.full) { transaction, model in
      try changes.createTable("apps", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      try changes.insert(20, into: "apps", transaction, &model)
      try changes.insert(20, into: "keyed", transaction, &model)
    }
    var pending: Model?
    for round in 0..<36 {
      let durability: Durability = [.full, .none, .group][round % 3]
      try journal.commit(durability) { transaction, model in
        switch round % 9 {
        case 0:
          var own = Model()
          own.tables["keyed"] = model.tables["keyed"]
          _ = try transaction.beginPending("keyed")
          pending = own
        case 4: try changes.insert(2, into: "apps", transaction, &model)
        case 8 where round == 17:
          try transaction.abandonPending("keyed")
          pending = nil
        case 8:
          if round == 26 { try transaction.keepBase(most: 1) }
          try transaction.publishPending("keyed")
          model.tables["keyed"] = pending?.tables["keyed"]
          pending = nil
        default:
          changes.pending = ["keyed"]
          if var own = pending {
            for _ in 0..<3 { try changes.any(transaction, &own) }
            pending = own
          }
          changes.pending = []
        }
      }
      if round % 13 == 12 { try journal.reopen() }
    }
    try journal.close()
    // Each state passes the check, which reads pending tables.
    try journal.verifyCuts(seed: seed, states: 400)
  }

  // MARK: Damage

  private func sample() throws -> (bytes: [UInt8], visible: UInt64, pending: UInt64) {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    try Self.fill(database, 60)
    try database.write { transaction in
      let table = try transaction.beginPending("a", describedAs: "a test")
      for key in 1...20 as ClosedRange<Int64> { try table.update(key, ["stars": .int(-1)]) }
    }
    try database.write { try $0.pendingTable("a")?.insert([.text("x"), .int(0)]) }
    let visible = try Model.digest(database.snapshot())
    let pending = try Model.digest(#require(try database.pendingSnapshot(of: "a")))
    try database.close()
    return (storage.content, visible, pending)
  }

  /// Opens the file and does everything possible with the pending table: nothing traps, and no forged
  /// table is published.
  private func use(_ bytes: [UInt8], visible: UInt64, pending: UInt64, _ what: String) throws
    -> Bool
  {
    let storage = RecordingStorage(bytes, isRecording: false)
    var options = Database.Options.tiny
    // In strict mode a commit would report damage that the pending table had before.
    options.isWrongOnPurpose = true
    let database = try Database.open(storage: storage, options: options)
    #expect(try Model.digest(database.snapshot()) == visible, "\(what)")
    let isSound = try database.check(deep: true).isSound
    do {
      if let snapshot = try database.pendingSnapshot(of: "a") {
        let found = try Model.digest(snapshot)
        #expect(!isSound || found == pending || found == visible, "\(what)")
      }
    } catch is EngineError {}
    do {
      try database.write { try $0.publishPending("a") }
      let found = try Model.digest(database.snapshot())
      #expect(!isSound || found == pending || found == visible, "\(what), published")
    } catch is EngineError {}
    #expect(storage.viewsOutside == [], "\(what)")
    return isSound
  }

  @Test("Bytes of a pending table flipped: the check says so, and the visible one is what it was")
  func flips() throws {
    let (bytes, visible, pending) = try sample()
    #expect(try use(bytes, visible: visible, pending: pending, "as it was"))
    let storage = RecordingStorage(bytes, isRecording: false)
    let blocks = try BlockReader(storage: storage)
    let newest = try Recovery.run(storage).record
    let roots = try VersionRoots(newest, blocks)
    var own: Set<UInt64> = []
    try roots.forEachBlock(blocks) { reference, _, _ in own.insert(reference.offset) }
    var places: [Int] = []
    for record in try roots.history(blocks).records(in: newest) {
      try VersionRoots(record, blocks).forEachBlock(blocks) { reference, _, _ in
        if own.insert(reference.offset).inserted {
          places += Int(reference.offset)..<Int(reference.offset) + Int(reference.length)
        }
      }
    }
    #expect(places.count > 500)
    for place in stride(from: 0, to: places.count, by: Effort.step(61)).map({
      places[$0]
    }) {
      var damaged = bytes
      damaged[place] ^= 1 << UInt8(place % 8)
      #expect(
        try !use(damaged, visible: visible, pending: pending, "byte \(place)"), "byte \(place)")
    }
  }

  @Test("Every byte of a history with something pending forged, with checksums that fit")
  func forged() throws {
    let (bytes, visible, pending) = try sample()
    let storage = RecordingStorage(bytes, isRecording: false)
    let blocks = try BlockReader(storage: storage)
    let record = try Recovery.run(storage).record
    let history = try #require(try VersionRoots(record, blocks).catalogue.history)
    let start = Int(history.offset)
    var unsound = 0
    for place in stride(from: start, to: start + Int(history.length), by: Effort.step(2)) {
      for value in [bytes[place] ^ 1, bytes[place] ^ 0x80, 0xFF] where value != bytes[place] {
        var forged = bytes
        forged[place] = value
        Self.forge(&forged, history, record)
        if try !use(forged, visible: visible, pending: pending, "byte \(place - start): \(value)") {
          unsound += 1
        }
      }
    }
    #expect(unsound > (Effort.isShort ? 20 : 100))
  }

  private static func forge(
    _ bytes: inout [UInt8], _ history: BlockReference, _ record: VersionRecord
  ) {
    func sum(_ range: Range<Int>) -> [UInt8] {
      let sum = Checksum.of(Array(bytes[range]))
      return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    }
    func range(_ block: BlockReference) -> Range<Int> {
      Int(block.offset)..<Int(block.offset) + Int(block.length)
    }
    let old = (0..<8).map { UInt8(truncatingIfNeeded: history.checksum >> (8 * $0)) }
    let root = range(record.root)
    for place in root where place + 8 <= root.upperBound && Array(bytes[place..<place + 8]) == old {
      bytes.replaceSubrange(place..<place + 8, with: sum(range(history)))
    }
    for slot in [0, Layout.pageBytes] {
      bytes.replaceSubrange(slot + 48..<slot + 56, with: sum(root))
      bytes.replaceSubrange(slot + 72..<slot + 80, with: sum(slot..<slot + 72))
    }
  }
}
