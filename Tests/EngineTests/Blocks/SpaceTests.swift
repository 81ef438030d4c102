import Base
import TestSupport
import Testing

@testable import Engine

/// No page is written that the durable version, a version on its way, or a held version reaches (I1,
/// I3). Pages that no version needs are used again.
@Suite("Space")
struct SpaceTests {
  /// Checks every write against the pages that must not be written, which it computes itself.
  private final class GuardedStorage: Storage, @unchecked Sendable {
    // @unchecked: what changes is guarded by `lock`.
    let inner: RecordingStorage
    private let lock = Lock()
    private var held: [UInt64: (pages: Set<Int>, count: Int)] = [:]
    /// The versions that both slots name; and those that a slot names without a flush behind it.
    private var durable: Set<Int> = []
    private var pending: Set<Int>?
    private var found: [String] = []
    private(set) var guardedWrites = 0

    var path: String { inner.path }
    var violations: [String] { lock.withLock { found } }

    init(_ inner: RecordingStorage) { self.inner = inner }

    private func pages(_ record: VersionRecord) throws -> Set<Int> {
      let blocks = try BlockReader(storage: inner)
      var pages: Set<Int> = []
      try VersionRoots(record, blocks).forEachBlock(blocks) { reference, _, _ in
        pages.formUnion(reference.pages(within: record.end) ?? 0..<0)
      }
      return pages
    }

    func hold(_ record: VersionRecord) throws {
      let pages = try pages(record)
      lock.withLock {
        held[record.version] = (pages, (held[record.version]?.count ?? 0) + 1)
      }
    }

    func release(_ version: UInt64) {
      lock.withLock {
        held[version]?.count -= 1
        if held[version]?.count == 0 { held[version] = nil }
      }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(SystemError) {
      if offset < Layout.firstBlockOffset {
        if case .valid(let slot) = CommitSlot.read(bytes) {
          let pages = (try? pages(slot.record)) ?? []
          lock.withLock {
            if pages.isEmpty { found.append("slot of version \(slot.record.version): unreadable") }
            pending = pages
          }
        }
      } else {
        let first = offset / Layout.pageBytes
        let last = (offset + bytes.count - 1) / Layout.pageBytes
        lock.withLock {
          guardedWrites += 1
          for page in first...last {
            if durable.contains(page) { found.append("page \(page) of the durable version") }
            if pending?.contains(page) == true { found.append("page \(page) of a named version") }
            for (version, entry) in held where entry.pages.contains(page) {
              found.append("page \(page) of the held version \(version)")
            }
          }
        }
      }
      try inner.write(bytes, at: offset)
    }

    func flush() throws(SystemError) {
      let confirmed = lock.withLock { pending }
      inner.flush()
      lock.withLock {
        if let confirmed { durable = confirmed }
        if pending == confirmed { pending = nil }
      }
    }

    func resize(to length: Int) throws(SystemError) {
      lock.withLock {
        let all = durable.union(pending ?? []).union(held.values.flatMap(\.pages))
        if let last = all.max(), (last + 1) * Layout.pageBytes > length {
          found.append("cut to \(length), page \(last) is needed")
        }
      }
      try inner.resize(to: length)
    }

    func length() throws(SystemError) -> Int { inner.length() }
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int)
      throws(SystemError) -> Int
    { inner.read(into: buffer, at: offset) }
    func view(at offset: Int, count: Int) -> UnsafeRawBufferPointer? {
      inner.view(at: offset, count: count)
    }
  }

  @Test("No write touches a page that somebody needs", arguments: Effort.seeds(1..<7))
  func pages(seed: UInt64) throws {
    let storage = GuardedStorage(
      RecordingStorage(isRecording: false, flushMilliseconds: seed % 2 == 0 ? 1 : 0))
    let database = try Database.open(storage: storage, options: .tiny)
    var changes = RandomChanges(seed: seed)
    var model = Model()
    var held: [(Snapshot, Model)] = []
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.columns, transaction, &model)
      try changes.createTable("b", RandomChanges.fewColumns, transaction, &model)
      try changes.createTable("k", RandomChanges.keyedColumns, transaction, &model)
    }
    for round in 0..<150 {
      let durability: Durability = [.full, .group, .none][(round + Int(seed)) % 3]
      var next = model
      try database.write(durability: durability) { transaction in
        for _ in 0..<3 { try changes.any(transaction, &next) }
      }
      model = next
      switch Int.random(in: 0..<8, using: &changes.random) {
      case 0:
        let snapshot = try database.snapshot()
        try storage.hold(snapshot.record)
        // With group durability the snapshot may be older than the model.
        if durability == .full {
          held.append((snapshot, model))
        } else {
          storage.release(snapshot.version)
        }
      case 1 where !held.isEmpty:
        let (snapshot, then) = held.remove(at: .random(in: 0..<held.count, using: &changes.random))
        #expect(try then.difference(snapshot) == nil, "seed \(seed)")
        storage.release(snapshot.version)
      case 2:
        let use = try database.trimAndTellUse()
        // `fileUse` walks the file anew.
        #expect(try use == database.fileUse(), "seed \(seed)")
      default: break
      }
    }
    for (snapshot, then) in held { #expect(try then.difference(snapshot) == nil, "seed \(seed)") }
    try database.close()
    #expect(storage.violations == [], "seed \(seed)")
    #expect(storage.guardedWrites > 100)
  }

  @Test("A snapshot held through 10,000 commits keeps its pages and no others")
  func boundedFile() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    var changes = RandomChanges(seed: 1)
    var model = Model()
    try database.write { transaction in
      try changes.createTable("a", RandomChanges.fewColumns, transaction, &model)
      try changes.insert(300, into: "a", transaction, &model)
    }
    let then = model
    var old: Snapshot? = try database.snapshot()
    func commits(_ range: Range<Int>) throws {
      for round in range {
        try database.write(durability: round % 50 == 0 ? .full : Durability.none) {
          try $0.table("a").update(Int64(round % 300 + 1), ["stars": .int(Int64(round))])
        }
      }
    }
    // Until the file has overlays of all ages.
    try commits(0..<2000)
    let early = storage.length()
    try commits(2000..<10_000)
    #expect(storage.length() == early, "the file grew under a held snapshot")
    let use = try database.fileUse()
    #expect(use.pinned > 0)
    #expect(use.used + use.pinned + use.free == use.total)
    #expect(try old.flatMap { try then.difference($0) } == nil)
    old = nil
    try commits(0..<60)
    #expect(try database.fileUse().pinned == 0)
    #expect(storage.length() == early)
    try database.close()
    let again = try Database.open(storage: storage, options: .tiny)
    #expect(try again.check().problems == [])
    #expect(try again.snapshot().table("a").count == 300)
    #expect(storage.length() < early, "closing gives free pages at the end back")
  }

  @Test("The pages of a table that is emptied again and again are used again by the same handle")
  func emptied() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    try database.write { try $0.createTable("a", columns: [Column("text", .text)]) }
    var early = 0
    for round in 0..<40 {
      try database.write(durability: Durability.none) { transaction in
        let table = try transaction.table("a")
        try table.deleteAll()
        for row in 0..<100 {
          try table.insert([.text("\(row) " + String(repeating: "x", count: 200))])
        }
      }
      if round == 5 { early = storage.length() }
    }
    #expect(storage.length() == early)
    #expect(try database.check().problems == [])
  }

  @Test("Many versions held at once, released in any order, pin nothing in the end")
  func manyHeld() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    var changes = RandomChanges(seed: 2)
    var model = Model()
    try database.write { try changes.createTable("a", RandomChanges.fewColumns, $0, &model) }
    var held: [(Snapshot, Model)] = []
    for _ in 0..<120 {
      try database.write(durability: Durability.none) { try changes.any($0, &model) }
      held.append((try database.snapshot(), model))
    }
    do {
      let places = try AllPlaces(of: database)
      #expect(places.count > 1000)
    }
    for (snapshot, then) in held.shuffled(using: &changes.random) {
      #expect(try then.difference(snapshot) == nil)
    }
    held.shuffle(using: &changes.random)
    while !held.isEmpty {
      held.removeLast(min(held.count, 10))
      try database.write(durability: Durability.none) { try changes.any($0, &model) }
      for (snapshot, then) in held.prefix(3) { #expect(try then.difference(snapshot) == nil) }
    }
    try database.write { try changes.setNote("a", $0, &model) }
    #expect(try database.fileUse().pinned == 0)
    #expect(try model.difference(database.snapshot()) == nil)
  }
}
