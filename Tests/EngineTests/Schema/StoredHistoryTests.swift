import Base
import TestSupport
import Testing

@testable import Engine

/// The history of kept versions lies in a block of its own and in parts, which later histories share.
@Suite("A history and its parts")
struct StoredHistoryTests {
  /// A file that only grows.
  private struct Blocks {
    private(set) var bytes = [UInt8](repeating: 0, count: Layout.slotCount * Layout.pageBytes)
    /// The blocks of the newest history.
    private(set) var live: Set<BlockReference> = []
    private(set) var written = 0

    mutating func put(_ block: [UInt8]) -> BlockReference {
      let reference = BlockReference(
        offset: UInt64(bytes.count), length: UInt32(block.count), checksum: Checksum.of(block))
      bytes += block
      live.insert(reference)
      written += 1
      return reference
    }

    mutating func drop(_ block: BlockReference) { #expect(live.remove(block) != nil) }

    var end: UInt64 { UInt64(Layout.pages(holding: bytes.count) * Layout.pageBytes) }

    func reader() throws -> BlockReader {
      let padding = [UInt8](repeating: 0, count: Int(end) - bytes.count)
      return try BlockReader(storage: RecordingStorage(bytes + padding, isRecording: false))
    }
  }

  private static func root(_ version: UInt64) -> KeptRoot {
    let place = BlockReference(offset: 8192 + version, length: 10, checksum: version &* 77)
    let record = VersionRecord(version: version, root: place, end: 1 << 30, hasHistory: true)
    let made = VersionOrigin(secondsSince1970: Int64(version), what: "import \(version).csv")
    return KeptRoot(record: record, made: made, isAutomatic: version % 3 > 0)
  }

  @Test("Random changes, read back after each", arguments: Effort.seeds(1..<6))
  func againstTheHistory(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let most = Int.random(in: 1...9, using: &random)
    var blocks = Blocks()
    var stored = StoredHistory()
    var history = History()
    var reference: BlockReference?
    var version: UInt64 = 1
    for _ in 0..<Effort.rounds(150, long: 3000) {
      history.limit = UInt32.random(in: 0...9, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0: history.kept.removeAll { _ in Bool.random(using: &random) }
      case 1: history.kept.removeFirst(history.kept.count / 3)
      case 2...4:
        guard let place = history.kept.indices.randomElement(using: &random) else { continue }
        history.kept.remove(at: place)
      case 5...7:
        guard let place = history.kept.indices.randomElement(using: &random) else { continue }
        history.kept[place].tags = version % 2 == 0 ? [] : ["tag \(version)"]
      default:
        for _ in 0...Int.random(in: 0...4, using: &random) {
          history.kept.append(Self.root(version))
          version += UInt64.random(in: 1...3, using: &random)
        }
      }
      version += 1
      let written = stored.write(history, mostInPart: most) { block, _ in blocks.put(block) }
      if let reference { blocks.drop(reference) }
      written.dropped.forEach { blocks.drop($0) }
      reference = written.reference
      #expect((reference == nil) == history.isEmpty)
      guard let reference else {
        #expect(blocks.live.isEmpty)
        continue
      }
      let reader = try blocks.reader()
      let record = VersionRecord(version: version, root: reference, end: blocks.end)
      stored = try StoredHistory(reference, of: record, reader)
      #expect(stored.history == history, "seed \(seed)")
      let parts = try reader.withCopy(of: reference, end: blocks.end) {
        try StoredHistory.parts(of: $0)
      }
      #expect(blocks.live == Set(parts + [reference]), "seed \(seed)")
    }
  }

  @Test("One more kept version writes one block, and now and then a part")
  func oneMore() throws {
    var blocks = Blocks()
    var stored = StoredHistory()
    var history = History()
    for version in 1...1000 as ClosedRange<UInt64> {
      history.kept.append(Self.root(version))
      _ = stored.write(history) { block, _ in blocks.put(block) }
    }
    #expect(blocks.written == 1000 + 1000 / StoredHistory.mostInPart)
    // One block for all would be 40 MB.
    #expect(blocks.bytes.count < 2_000_000)
  }

  @Test("Parts of which little is left are joined")
  func joined() throws {
    var blocks = Blocks()
    var stored = StoredHistory()
    var history = History()
    var counts: [Int] = []
    for version in 1...3000 as ClosedRange<UInt64> {
      var root = Self.root(version)
      root.isAutomatic = true
      // One version of each part stays.
      if version % 32 == 5 { root.tags = ["tag \(version)"] }
      history.kept.append(root)
      history.letGo(beyond: 100)
      let before = blocks.bytes.count
      let written = stored.write(history) { block, _ in blocks.put(block) }
      counts.append(blocks.bytes.count - before)
      guard let reference = written.reference, version % 500 == 0 else { continue }
      let parts = try blocks.reader().withCopy(of: reference, end: blocks.end) {
        try StoredHistory.parts(of: $0)
      }
      #expect(parts.count <= history.kept.count / 16 + 2, "\(parts.count) of \(history.kept.count)")
    }
    #expect(counts.suffix(1000).reduce(0, +) < 1000 * 9000)
  }

  @Test("A file that keeps many versions grows by as much with each")
  func growth() throws {
    let folder = TemporaryFolder()
    let database = try Database.open(folder.path("a.sheaf"))
    try database.write { try $0.createTable("a", columns: [Column("x", .int)]) }
    var kept: [Int] = []
    for round in 1...400 as ClosedRange<Int64> {
      try database.write(durability: Durability.none) { transaction in
        try transaction.keepBase(most: 1000)
        try transaction.describe("import /somewhere/apps.csv into a")
        try transaction.table("a").insert([.int(round)])
      }
      if round % 200 == 0 { kept.append(try database.fileUse().kept) }
    }
    #expect(kept[1] - kept[0] < kept[0] * 5 / 4, "\(kept)")
    #expect(try database.check(deep: true).problems == [])
    #expect(try database.keptVersions().count == 400)
    let snapshot = try database.snapshot(at: .number(102))
    #expect(try snapshot.table("a").count == 100)
    try database.close()
  }

  @Test("A compaction in use moves the parts of a history that no kept version has")
  func moved() throws {
    let storage = RecordingStorage(isRecording: false)
    let database = try Database.open(storage: storage, options: .tiny)
    func insert(_ count: Int, keeps: Bool) throws {
      try database.write { transaction in
        if keeps { try transaction.keepBase(most: 9) }
        let table = try transaction.table("a")
        for number in 0..<count { try table.insert([.int(Int64(number)), .text("\(number)")]) }
      }
    }
    try database.write {
      try $0.createTable("a", columns: [Column("x", .int), Column("y", .text)])
    }
    for _ in 0..<2 { try insert(1, keeps: true) }
    try insert(3000, keeps: false)
    func parts() throws -> [BlockReference] {
      let snapshot = try database.snapshot()
      let roots = try VersionRoots(snapshot.record, snapshot.blocks)
      return Array(try roots.historyBlocks(snapshot.blocks).dropFirst())
    }
    // What follows lies behind the pages that are held: also the part, which is written again.
    var held: Snapshot? = try database.snapshot()
    try database.write { transaction in
      for key in 3..<2900 as Range<Int64> { try transaction.table("a").delete(key) }
    }
    let first = try database.keptVersions()[0].number
    try database.write { try $0.tag("first", version: first) }
    let before = (try parts(), try Model.digest(database.snapshot()))
    #expect(before.0.count == 1 && held != nil)
    held = nil
    _ = try database.compactInUse()
    let after = try parts()
    #expect(after.count == 1 && after != before.0)
    #expect(after[0].offset < before.0[0].offset && after[0].checksum == before.0[0].checksum)
    #expect(try database.check(deep: true).problems == [])
    #expect(try Model.digest(database.snapshot()) == before.1)
    #expect(try database.keptVersions().count == 2)
    try database.close()
  }
}
