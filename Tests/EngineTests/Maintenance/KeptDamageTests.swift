import Base
import Foundation
import TestSupport
import Testing

@testable import Engine

/// Damage to a kept version is found and named, and does not affect the newest version.
@Suite("Damage to kept versions")
struct KeptDamageTests {
  private static func options(_ storage: RecordingStorage) throws -> Database {
    try Database.open(storage: storage, options: .tiny)
  }

  /// A file that keeps three versions, and their digests.
  private func sample() throws -> (bytes: [UInt8], digests: [UInt64: UInt64], newest: UInt64) {
    let storage = RecordingStorage(isRecording: false)
    let database = try Self.options(storage)
    try EveryEncoding.fill(database)
    for round in 0..<3 as Range<Int64> {
      try database.write { transaction in
        try transaction.keepBase(most: 5)
        try transaction.describe("round \(round)")
        if round == 1 { try transaction.tag("tag") }
        for name in transaction.tableNames {
          let table = try transaction.table(name)
          var keys: [Int64] = []
          try table.editor.forEachRow { keys.append($0.key) }
          for key in keys where key % 3 == round { try table.delete(key) }
        }
      }
    }
    var digests: [UInt64: UInt64] = [:]
    for kept in try database.keptVersions() {
      digests[kept.number] = try Model.digest(database.snapshot(at: .number(kept.number)))
    }
    let newest = try Model.digest(database.snapshot())
    try database.close()
    return (storage.content, digests, newest)
  }

  /// The bytes of blocks that only a kept version has.
  private func keptBytes(_ bytes: [UInt8]) throws -> [Int] {
    let storage = RecordingStorage(bytes, isRecording: false)
    let blocks = try BlockReader(storage: storage)
    let newest = try VersionRoots(Recovery.run(storage).record, blocks)
    var own: Set<UInt64> = []
    try newest.forEachBlock(blocks) { reference, _, _ in own.insert(reference.offset) }
    var places: Set<Int> = []
    for kept in try newest.history(blocks).kept {
      try VersionRoots(kept.record, blocks).forEachBlock(blocks) { reference, _, _ in
        if own.contains(reference.offset) { return }
        places.formUnion(Int(reference.offset)..<Int(reference.offset) + Int(reference.length))
      }
    }
    return places.sorted()
  }

  @Test(
    "Bytes of kept versions flipped: the check names the version, and the newest is what it was")
  func flips() throws {
    let (bytes, digests, newest) = try sample()
    #expect(try Self.options(RecordingStorage(bytes, isRecording: false)).check().problems == [])
    let places = try keptBytes(bytes)
    #expect(places.count > 1000)
    for place in stride(from: 0, to: places.count, by: Effort.step(37)).map({
      places[$0]
    }) {
      var damaged = bytes
      damaged[place] ^= 1 << UInt8(place % 8)
      let storage = RecordingStorage(damaged, isRecording: false)
      let database = try Self.options(storage)
      let report = try database.check()
      #expect(!report.isSound, "byte \(place)")
      #expect(report.problems.allSatisfy { $0.contains("which is kept") }, "\(report.problems)")
      #expect(try Model.digest(database.snapshot()) == newest, "byte \(place)")
      for (version, digest) in digests {
        do {
          let found = try Model.digest(database.snapshot(at: .number(version)))
          #expect(found == digest, "version \(version) reads as another, byte \(place)")
        } catch is EngineError {}
      }
      // The file can be written to, or is refused with the version's name; nothing is written over kept
      // pages.
      do {
        try database.write { try $0.createTable("another", columns: [Column("x", .int)]) }
        #expect(try Model.digest(database.snapshot()) != newest)
      } catch EngineError.damaged(_, _, let reason) {
        #expect(reason.contains("which is held or kept"), "\(reason)")
      }
      #expect(storage.viewsOutside == [])
    }
  }

  @Test("A kept version that cannot be read is left out by a compaction that keeps none")
  func dropped() throws {
    let folder = TemporaryFolder()
    let path = folder.path("a.sheaf")
    let (bytes, _, newest) = try sample()
    var damaged = bytes
    // All of its blocks, also the nodes.
    for place in try keptBytes(bytes) { damaged[place] = 0x55 }
    try Data(damaged).write(to: URL(fileURLWithPath: path))
    let database = try Database.open(path, options: .tiny)
    #expect(try !database.check().isSound)
    #expect(throws: EngineError.self) {
      try database.write { try $0.createTable("another", columns: [Column("x", .int)]) }
    }
    #expect(throws: EngineError.self) { try database.compact() }
    #expect(try database.compact(keepsVersions: false).decision == .compacted)
    #expect(try database.check(deep: true).problems == [])
    #expect(try Model.digest(database.snapshot()) == newest)
    try database.write { try $0.createTable("another", columns: [Column("x", .int)]) }
    try database.close()
  }

  /// A forged history under right checksums: nothing traps, and no forged entry is taken for a version.
  @Test("Every byte of a history forged with checksums that fit")
  func forgedHistory() throws {
    let (bytes, digests, newest) = try sample()
    let storage = RecordingStorage(bytes, isRecording: false)
    let blocks = try BlockReader(storage: storage)
    let record = try Recovery.run(storage).record
    let chain = try VersionRoots(record, blocks).historyBlocks(blocks)
    try #require(chain.count == 2, "it has no part")
    try forgeBytes(bytes, of: chain[0], [chain[0]], record, digests, newest)
    try forgeBytes(bytes, of: chain[1], chain.reversed(), record, digests, newest)
  }

  /// - Parameter chain: the block, and those of the history whose checksums depend on its.
  private func forgeBytes(
    _ bytes: [UInt8], of block: BlockReference, _ chain: [BlockReference], _ record: VersionRecord,
    _ digests: [UInt64: UInt64], _ newest: UInt64
  ) throws {
    let (start, length) = (Int(block.offset), Int(block.length))
    var random = SplitMix64(seed: 5)
    for place in stride(from: start, to: start + length, by: Effort.isShort ? 24 : 1) {
      for value in [
        bytes[place] ^ 1, bytes[place] ^ 0x80, 0, 0xFF, UInt8.random(in: 0...255, using: &random),
      ]
      where value != bytes[place] {
        var forged = bytes
        forged[place] = value
        forge(&forged, chain, record)
        let storage = RecordingStorage(forged, isRecording: false)
        let database = try Self.options(storage)
        #expect(try Model.digest(database.snapshot()) == newest)
        let isSound = try database.check().isSound
        for version in digests.keys {
          do {
            let found = try Model.digest(database.snapshot(at: .number(version)))
            #expect(!isSound || found == digests[version], "byte \(place - start), \(value)")
          } catch is EngineError {}
        }
        _ = try? database.keptBytes()
        _ = try? database.fileUse()
        do {
          try database.write { try $0.createTable("another", columns: [Column("x", .int)]) }
          // Nothing was written over the versions that certainly exist.
          #expect(try Model.digest(database.snapshot()) != newest)
        } catch is EngineError {}
        do { try database.restore(nil, .all) } catch is EngineError {}
        #expect(storage.viewsOutside == [], "byte \(place - start), \(value)")
      }
    }
  }

  /// Corrects the checksums: those of a part in the history and of the history in the catalogue, that of the
  /// catalogue in the slots, and those of the slots.
  private func forge(_ bytes: inout [UInt8], _ chain: [BlockReference], _ record: VersionRecord) {
    func sum(_ range: Range<Int>) -> [UInt8] {
      let sum = Checksum.of(Array(bytes[range]))
      return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    }
    func range(_ block: BlockReference) -> Range<Int> {
      Int(block.offset)..<Int(block.offset) + Int(block.length)
    }
    let root = range(record.root)
    for (block, parent) in zip(chain, chain.dropFirst().map(range) + [root]) {
      let old = (0..<8).map { UInt8(truncatingIfNeeded: block.checksum >> (8 * $0)) }
      for place in parent
      where place + 8 <= parent.upperBound && Array(bytes[place..<place + 8]) == old {
        bytes.replaceSubrange(place..<place + 8, with: sum(range(block)))
      }
    }
    for slot in [0, Layout.pageBytes] {
      bytes.replaceSubrange(slot + 48..<slot + 56, with: sum(root))
      bytes.replaceSubrange(slot + 72..<slot + 80, with: sum(slot..<slot + 72))
    }
  }
}
