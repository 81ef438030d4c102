#if DEBUG
  import Base
  import Foundation
  import TestSupport
  import Testing

  @testable import Engine

  /// The invariants of the files `+Invariants.swift` hold after any operation, checked in more depth
  /// than by debug builds; and each is found when it is broken on purpose.
  @Suite("Invariants")
  struct InvariantTests {
    private static func broken(_ body: () throws -> Void) -> String? {
      do {
        try body()
        return nil
      } catch {
        return (error as? BrokenInvariant)?.what
      }
    }

    // MARK: Random histories

    @Test("Pages: taken, filled, dropped and held at random", arguments: 0..<8 as Range<UInt64>)
    func pages(seed: UInt64) throws {
      var random = SplitMix64(seed: seed)
      let space = SpaceMap(version: 1)
      var blocks: [Range<Int>] = []
      var held: [UInt64] = []
      for version in 2..<200 as Range<UInt64> {
        space.reclaim(([version - 1] + held).map { $0...$0 })
        try space.checkInvariants()
        var added: [Range<Int>] = []
        for _ in 0..<Int.random(in: 0..<4, using: &random) {
          let pages = space.take(.random(in: 1...5, using: &random))
          var start = pages.lowerBound * Layout.pageBytes
          let end = pages.upperBound * Layout.pageBytes
          while start < end, Int.random(in: 0..<5, using: &random) > 0 {
            let length = min(end - start, .random(in: 1...6000, using: &random))
            added.append(start..<start + length)
            start += length
          }
          try space.checkInvariants()
        }
        if Int.random(in: 0..<4, using: &random) == 0 {
          space.rollBack()
        } else {
          var dropped: [Range<Int>] = []
          for _ in 0..<Int.random(in: 0..<5, using: &random) where !blocks.isEmpty {
            dropped.append(blocks.remove(at: .random(in: 0..<blocks.count, using: &random)))
          }
          try space.commit(version: version, added: added, dropped: dropped)
          blocks += added
        }
        try space.checkInvariants()
        if Int.random(in: 0..<5, using: &random) == 0 { held.append(version) }
        if held.count > 3 { held.remove(at: .random(in: 0..<held.count, using: &random)) }
        if Int.random(in: 0..<9, using: &random) == 0 { _ = space.trim() }
        try space.checkInvariants()
      }
    }

    @Test("Trees and indexes after every change", arguments: 0..<8 as Range<UInt64>)
    func trees(seed: UInt64) throws {
      var options = Database.Options.tiny
      if seed % 2 == 0 { options.limits.overlayFrom = 4096 }
      let database = try Database.open(
        storage: RecordingStorage(isRecording: false), options: options)
      var changes = RandomChanges(seed: seed)
      var model = Model()
      try database.write { transaction in
        try changes.createTable("few", RandomChanges.fewColumns, transaction, &model)
        try changes.createTable("keyed", RandomChanges.keyedColumns, transaction, &model)
      }
      for _ in 0..<20 {
        try database.write { transaction in
          for _ in 0..<6 {
            try changes.any(transaction, &model)
            for name in model.tables.keys {
              let tree = try transaction.table(name).editor.tree
              try tree.checkInvariants()
              try tree.checkKeys()
            }
          }
        }
        let snapshot = try database.snapshot()
        let blocks = IndexBlocks(snapshot.blocks, end: snapshot.record.end)
        for table in snapshot.catalogue.tables {
          for run in table.index { try run.checkInvariants(blocks, sharesCodes: false) }
          for index in table.valueIndexes {
            for run in index.runs { try run.checkInvariants(blocks, sharesCodes: true) }
          }
        }
        let space = try #require(database.memory.space)
        try space.checkInvariants()
      }
    }

    @Test("Reader slots: taken and given back at random")
    func slots() throws {
      var random = SplitMix64(seed: 5)
      let coordination = try Coordination(privateFor: "memory")
      var held: [(slot: Int, record: VersionRecord)] = []
      for version in 1..<300 as Range<UInt64> {
        let record = VersionRecord(
          version: version, root: BlockReference(offset: 8192, length: 64, checksum: version),
          end: 1 << 20)
        if Bool.random(using: &random) || held.isEmpty {
          held.append((try coordination.hold { record }.slot, record))
        } else {
          coordination.release(held.remove(at: .random(in: 0..<held.count, using: &random)).slot)
        }
        for (slot, record) in held { try coordination.checkHolding(record, in: slot) }
        try coordination.checkInvariants()
      }
    }

    // MARK: Broken on purpose

    @Test("A page that is counted as used while a held version keeps it is told")
    func writtenPage() throws {
      let space = SpaceMap(version: 1)
      let page = space.take(1).lowerBound
      let bytes = page * Layout.pageBytes..<page * Layout.pageBytes + 100
      try space.commit(version: 2, added: [bytes], dropped: [])
      try space.commit(version: 3, added: [], dropped: [bytes])
      space.reclaim([2...3])
      #expect(Self.broken(space.checkInvariants) == nil)
      space.countLive([bytes])
      let told = try #require(Self.broken(space.checkInvariants))
      #expect(told.contains("page \(page)") && told.contains("kept for a held version"), "\(told)")
    }

    @Test("A count, a key or a mark that is wrong in a tree in memory is told")
    func tree() throws {
      let database = try Database.open(
        storage: RecordingStorage(isRecording: false), options: .tiny)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("a", .int)])
        let table = try transaction.table("t")
        for key in 0..<100 as Range<Int64> { try table.insert([.int(key)]) }
      }
      let transaction = try database.beginWrite()
      let table = try transaction.table("t")
      try table.update(50, ["a": .int(0)])
      let tree = table.editor.tree
      try tree.checkInvariants()
      let root = try #require(tree.root)
      let changed = try #require(
        root.children.firstIndex { if case .node = $0.content { true } else { false } })
      root.children[changed].count += 1
      #expect(Self.broken(tree.checkInvariants)?.contains("said to be") == true)
      root.children[changed].count -= 1
      root.isChanged = false
      #expect(Self.broken(tree.checkInvariants)?.contains("is not changed") == true)
      root.isChanged = true
      root.children.swapAt(0, 1)
      #expect(Self.broken(tree.checkKeys)?.contains("behind") == true)
      root.children.swapAt(0, 1)
      #expect(Self.broken(tree.checkInvariants) == nil)
      transaction.rollBack()
    }

    @Test("An overlay whose deleted rows do not ascend is told")
    func overlay() throws {
      var options = Database.Options()
      options.limits.overlayFrom = 0
      let database = try Database.open(
        storage: RecordingStorage(isRecording: false), options: options)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("a", .int)])
        for key in 0..<20 as Range<Int64> { try transaction.table("t").insert([.int(key)]) }
      }
      let table = try database.snapshot().table("t")
      var told: [String?] = []
      try table.forEachLeaf { leaf in
        let overlay = try OpenOverlay(leaf, columnIDs: table.schema.columnIDs)
        #expect(overlay.delete(3) && overlay.delete(7))
        told.append(Self.broken(overlay.checkInvariants))
        var builder = try OverlayBuilder(overlay)
        let block = try builder.encode(merging: 0)
        var bytes = try #require(block)
        let place = OverlayBlock.headerBytes
        bytes.swapAt(place, place + 4)
        try bytes.withUnsafeBytes { bytes in
          let lying = Leaf(base: leaf.cluster, try Overlay([try OverlayBlock(bytes)]))
          let open = try OpenOverlay(lying, columnIDs: table.schema.columnIDs)
          told.append(Self.broken(open.checkInvariants))
        }
      }
      #expect(told.count == 2 && told.first == .some(nil))
      #expect(told.last??.contains("deleted row 2 behind 6") == true, "\(told)")
    }

    @Test("A reader slot that says another version, and one that nobody looks at, are told")
    func slot() throws {
      let coordination = try Coordination(privateFor: "memory")
      let record = VersionRecord(
        version: 7, root: BlockReference(offset: 8192, length: 64, checksum: 1), end: 1 << 20)
      let slot = try coordination.hold { record }.slot
      func told() -> String? {
        Self.broken { try coordination.checkHolding(record, in: slot) }
      }
      #expect(told() == nil)
      coordination.readerWord(slot, 1).store(8)
      #expect(told()?.contains("it says 8") == true)
      coordination.readerWord(slot, 1).store(7)
      coordination.readerWord(slot, 5).store(0)
      #expect(told()?.contains("another root or end") == true)
      #expect(Self.broken(coordination.checkInvariants) == nil)
      coordination.readerWord(9, 0).store(coordination.token)
      #expect(Self.broken(coordination.checkInvariants)?.contains("slot 9 is taken") == true)
    }

    @Test("A run whose last code is too low, or whose number of entries is wrong, is told")
    func run() throws {
      let database = try Database.open(
        storage: RecordingStorage(isRecording: false), options: .tiny)
      try database.write { transaction in
        try transaction.createTable("t", columns: [Column("a", .int)], indexes: ["a"])
        for key in 0..<40 as Range<Int64> { try transaction.table("t").insert([.int(key)]) }
      }
      let snapshot = try database.snapshot()
      let blocks = IndexBlocks(snapshot.blocks, end: snapshot.record.end)
      var run = try #require(snapshot.catalogue.tables.first?.valueIndexes.first?.runs.first)
      func told() -> String? {
        Self.broken { [run] in try run.checkInvariants(blocks, sharesCodes: true) }
      }
      #expect(told() == nil)
      run.lastCode -= 1
      #expect(told()?.contains("beyond") == true)
    }

    @Test("Strict mode ends the process at the commit that wrote what is wrong")
    func strict() async {
      await #expect(processExitsWith: .success) {
        unsetenv("SHEAF_STRICT")
        try Self.commitAnEntryOfNothing()
      }
      await #expect(processExitsWith: .failure) {
        setenv("SHEAF_STRICT", "1", 1)
        try Self.commitAnEntryOfNothing()
      }
    }

    /// Commits an index entry of an object that never existed.
    private static func commitAnEntryOfNothing() throws {
      let database = try Database.open(storage: RecordingStorage(isRecording: false))
      try database.write { transaction in
        try transaction.createTable("a", columns: [Column("id", .text)], key: "id")
        let table = try transaction.table("a")
        try table.insert([.text("5")])
        table.editor.index.add(IndexEntry(code: 6, object: 1000))
      }
    }

    @Test("A broken invariant ends the process")
    func ends() async {
      await #expect(processExitsWith: .failure) {
        Invariants.require { () throws(BrokenInvariant) in throw BrokenInvariant(what: "this") }
      }
    }
  }
#endif
