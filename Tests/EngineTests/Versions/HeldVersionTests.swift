import Base
import TestSupport
import Testing

@testable import Engine

/// A held version stays as it is, however its taking coincides with commits and flushes.
@Suite("Held versions", .timeLimit(.minutes(60)))
struct HeldVersionTests {
  /// A storage that lets flushes through one by one while it is shut.
  private final class GatedStorage: Storage, @unchecked Sendable {
    // @unchecked: what changes is guarded by `lock`.
    private let inner = RecordingStorage(isRecording: false)
    private let lock = Lock()
    private var isShut = false
    private var allowed = 0
    private var waiting = 0

    var path: String { inner.path }
    /// The number of flushes that wait.
    var waitingFlushes: Int { lock.withLock { waiting } }

    func shut() { lock.withLock { isShut = true } }

    func open() {
      lock.withLock {
        isShut = false
        lock.wakeAll()
      }
    }

    func allow(_ count: Int) {
      lock.withLock {
        allowed += count
        lock.wakeAll()
      }
    }

    func flush() throws(SystemError) {
      lock.withLock {
        waiting += 1
        while isShut, allowed == 0 { lock.wait() }
        if isShut { allowed -= 1 }
        waiting -= 1
      }
      inner.flush()
    }

    func length() throws(SystemError) -> Int { inner.length() }
    func resize(to length: Int) throws(SystemError) { try inner.resize(to: length) }
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      try inner.write(bytes, at: offset)
    }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
      throws(SystemError) -> Int
    { inner.read(into: buffer, at: offset) }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      inner.view(at: offset, count: count)
    }
  }

  /// A closure that runs once between a writer's two looks.
  private final class Moment: @unchecked Sendable {
    // @unchecked: guarded by `lock`.
    private let lock = Lock()
    private var action: (@Sendable () -> Void)?

    func set(_ action: @escaping @Sendable () -> Void) { lock.withLock { self.action = action } }

    func come() {
      let action = lock.withLock {
        defer { self.action = nil }
        return self.action
      }
      action?()
    }
  }

  private static func wait(_ isTrue: () -> Bool) -> Bool {
    for _ in 0..<10_000 {
      if isTrue() { return true }
      System.sleep(milliseconds: 1)
    }
    return false
  }

  private static func fill(_ database: Database, _ durability: Durability) throws {
    try database.write(durability: durability) { transaction in
      let table = try transaction.table("t")
      for key in 1...200 as ClosedRange<Int64> {
        try table.update(key, ["v": .int(Int64(transaction.baseVersion + 1))])
      }
    }
  }

  @Test(
    "A version that becomes visible, is taken and is replaced between a writer's two looks is kept")
  func betweenLooks() throws {
    let storage = GatedStorage()
    let moment = Moment()
    var options = Database.Options.tiny
    options.betweenLooks = { moment.come() }
    let database = try Database.open(storage: storage, options: options)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("v", .int)])
      for _ in 0..<200 { try transaction.table("t").insert([.int(0)]) }
    }
    storage.shut()
    try Self.fill(database, .group)
    #expect(Self.wait { storage.waitingFlushes == 1 }, "version 3 is on its way")
    try Self.fill(database, .group)
    let taken = Shared<Snapshot>()
    let coordination = database.coordination
    moment.set {
      storage.allow(2)
      guard Self.wait({ coordination.visible.load()?.version == 3 }) else { return }
      // As a reader in another process does.
      if let (slot, record) = try? coordination.hold({ coordination.visible.load()! }),
        let snapshot = try? Snapshot(
          hold: VersionHold(record: record, slot: slot, coordination: coordination),
          blocks: database.parts.blocks)
      {
        taken.append(snapshot)
      }
      storage.allow(2)
      _ = Self.wait { coordination.visible.load()?.version == 4 }
    }
    for _ in 0..<3 { try Self.fill(database, .none) }
    let snapshot = try #require(taken.list.first)
    #expect(snapshot.version == 3)
    #expect(try Checker.run(snapshot.record, BlockReader(storage: storage)).problems == [])
    var values: Set<Value> = []
    try snapshot.table("t").forEachRow { values.insert($0.values[0]) }
    #expect(values == [.int(3)])
    storage.open()
    try database.close()
  }

  @Test("What a flush is making durable is kept, however many commits come meanwhile")
  func target() throws {
    let storage = GatedStorage()
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("v", .int)])
      for _ in 0..<200 { try transaction.table("t").insert([.int(0)]) }
    }
    storage.shut()
    try Self.fill(database, .group)
    #expect(Self.wait { storage.waitingFlushes == 1 }, "version 3 is on its way")
    for _ in 0..<2 { try Self.fill(database, .none) }
    let kept = try database.parts.pipeline.keptVersions().map(\.version)
    #expect(Set(kept) == [2, 3, 5])
    storage.open()
    try database.close()
  }

  @Test("Whoever holds a version looks again until it is the newest")
  func looksAgain() throws {
    let coordination = try Coordination(privateFor: "memory")
    var newest = [3, 5, 5].map { (version: UInt64) in
      VersionRecord(
        version: version, root: BlockReference(offset: 8192, length: 1, checksum: 1), end: 12288)
    }
    let (slot, record) = try coordination.hold { newest.removeFirst() }
    #expect(record.version == 5 && newest.isEmpty)
    #expect(try coordination.heldVersions().map(\.record) == [record])
    coordination.release(slot)
  }

  @Test("A version whose number was given again after a flush that failed is another one")
  func numberGivenAgain() throws {
    let coordination = try Coordination(privateFor: "memory")
    var newest = [(7, 1), (7, 2), (7, 2)].map { (version: UInt64, checksum: UInt64) in
      let root = BlockReference(offset: 8192, length: 1, checksum: checksum)
      return VersionRecord(version: version, root: root, end: 12288)
    }
    let last = newest[2]
    let (slot, record) = try coordination.hold { newest.removeFirst() }
    #expect(record == last && newest.isEmpty)
    #expect(try coordination.heldVersions().map(\.record) == [last])
    coordination.release(slot)
  }

  @Test("Whoever takes the place of a killed process does not hold what that one held")
  func placeOfTheDead() throws {
    let folder = TemporaryFolder()
    let first = try Database.open(folder.path("a.sheaf"))
    let coordination = first.coordination
    let (slot, _) = try coordination.hold { try first.parts.pipeline.visible() }
    // As left by a dead process that had the slot which the next handle takes.
    coordination.word(Coordination.Offset.readers + slot * 64).store(999 << 16 | 2)
    let second = try Database.open(folder.path("a.sheaf"))
    #expect(try coordination.heldVersions() == [])
    try second.close()
    try first.close()
  }

  @Test("What a writer that was killed has not shown is shown before the next one writes")
  func flushedAndNotShown() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    let before = try database.parts.pipeline.visible()
    try database.write { try $0.createTable("t", columns: [Column("v", .int)]) }
    // As left by a process killed between its flush and its publication.
    database.coordination.visible.store(before)
    let other = try Database.open(folder.path("a.sheaf"))
    let transaction = try other.beginWrite()
    #expect(other.coordination.visible.load()?.version == before.version + 1)
    transaction.rollBack()
    try other.close()
    try database.close()
  }

  @Test("Nothing is written over a version that readers were shown and that no slot has any more")
  func shownAndLost() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"), options: .tiny)
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("v", .int)])
      for _ in 0..<200 { try transaction.table("t").insert([.int(0)]) }
    }
    var lost = try database.parts.pipeline.visible()
    lost.version += 1
    database.coordination.visible.store(lost)
    let other = try Database.open(folder.path("a.sheaf"), options: .tiny)
    let error = #expect(throws: EngineError.self) { try Self.fill(other, .full) }
    #expect("\(String(describing: error))".contains("which has been read, is in neither"))
    try other.close()
    try database.close()
  }

  @Test("Versions taken at any moment read as they were committed", arguments: Durability.allCases)
  func anyMoment(durability: Durability) throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let database = try Database.open(path)
    let other = try Database.open(path, options: .init(access: .readOnly))
    try database.write { transaction in
      try transaction.createTable("t", columns: [Column("v", .int), Column("s", .text)])
      try transaction.table("t").insert([.int(2), .text("2")])
    }
    let isOver = Shared<Bool>()
    let problems = Shared<String>()
    let readers = try [database, other, other].map { database in
      try Background {
        while isOver.list.isEmpty, problems.list.isEmpty {
          let snapshot = try database.snapshot()
          let table = try snapshot.table("t")
          for _ in 0..<3 {
            let row = try table.row(forKey: 1)
            guard row?["v"] != .int(Int64(snapshot.version)) else { continue }
            problems.append("version \(snapshot.version): \(String(describing: row?["v"]))")
          }
        }
      }
    }
    let end =
      System.monotonicNanoseconds + (Effort.isLong ? 20 : 1)
      * 1_000_000_000
    while System.monotonicNanoseconds < end, problems.list.isEmpty {
      try database.write(durability: durability) { transaction in
        let version = transaction.baseVersion + 1
        try transaction.table("t").update(1, ["v": .int(Int64(version)), "s": .text("\(version)")])
      }
    }
    isOver.append(true)
    for reader in readers { try reader.join() }
    #expect(problems.list == [])
    try other.close()
    try database.close()
  }
}
