import Base
import Testing
import TestSupport

@testable import Engine

/// Several runs of an index become one.
@Suite("Merging of runs")
struct RunMergerTests {
  @Test("Stretches are put into one order as by sorting all of them")
  func stretches() {
    var random = SplitMix64(seed: 31)
    var stretches = MergedStretches()
    for round in 0..<300 {
      var all: [IndexEntry] = []
      stretches.removeAll()
      for _ in 0..<Int.random(in: 0...9, using: &random) {
        let spread = Int64.random(in: 1...300, using: &random)
        let entries = (0..<Int.random(in: 0...60, using: &random)).map { _ in
          IndexEntry(
            code: .random(in: -spread...spread, using: &random),
            object: .random(in: 0...3, using: &random))
        }.sorted()
        let first = Int.random(in: 0...entries.count, using: &random)
        stretches.add(entries[first...])
        all += entries[first...]
      }
      #expect(Array(stretches.merged()) == all.sorted(), "round \(round) of seed 31")
    }
  }

  @Test(
    "Every object has one entry in all runs, whatever became one, and hardly any that is gone",
    arguments: 0..<12)
  func entriesOfAllRuns(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed) &+ 50)
    var options = Database.Options.tiny
    options.indexLimits.leafEntries = [1, 3, 16][seed % 3]
    options.indexLimits.recentEntries = [8, 100][seed % 2]
    options.indexLimits.smallestRun = 4
    options.indexLimits.smallFanout = 3
    options.indexLimits.largeFanout = 2
    // Sixteen codes, which most keys share; or a code for each key.
    let code = KeyCode(low: 1, high: 2, bits: [4, 40][seed / 2 % 2])
    options.indexLimits.keyCode = code
    let database = try Database.open(
      storage: RecordingStorage(isRecording: false), options: options)
    try database.write { try $0.createTable("a", columns: [Column("id", .text)], key: "id") }
    var twin: [IndexEntry] = []
    var present: [Int64] = []
    var number = 0
    let ascends = seed % 4 == 3
    for _ in 0..<25 {
      try database.write { transaction in
        let table = try transaction.table("a")
        for _ in 0..<Int.random(in: 1...40, using: &random) {
          number += 1
          let key = ascends ? "\(number)" : "key \(number)"
          let object = try table.insert([.text(key)])
          let entry = Array(key.utf8).withUnsafeBytes {
            IndexEntry(code: code.code($0), object: object)
          }
          twin.insert(entry, at: twin.firstIndex { $0 > entry } ?? twin.endIndex)
          present.append(object)
        }
        if Bool.random(using: &random), let gone = present.randomElement(using: &random) {
          #expect(try table.delete(gone))
          present.removeAll { $0 == gone }
        }
      }
      let snapshot = try database.snapshot()
      let blocks = IndexBlocks(snapshot.blocks, end: snapshot.record.end)
      var found: [IndexEntry] = []
      for run in try snapshot.table("a").keyRuns {
        try run.checkInvariants(blocks, sharesCodes: false)
        try blocks.walk(run) { entry, level in
          if level == 0 { found += try blocks.entries(entry) }
        }
      }
      let objects = Set(present)
      #expect(Set(found.map(\.object)).count == found.count)
      #expect(
        found.filter { objects.contains($0.object) }.sorted()
          == twin.filter { objects.contains($0.object) })
      #expect(Set(found.map(\.object)).isSubset(of: twin.map(\.object)))
    }
    #expect(try database.check().problems == [])
  }

  /// Runs in a storage of their own, without a table.
  private struct Runs {
    let storage = RecordingStorage(isRecording: false)
    let writer: BlockWriter
    var limits = IndexLimits()

    init(leafEntries: Int) {
      writer = BlockWriter(storage: storage, space: SpaceMap(version: 1), length: 0)
      limits.leafEntries = leafEntries
      limits.nodeCapacity = 3
    }

    func write(_ entries: [IndexEntry], sharesCodes: Bool) throws -> IndexRun? {
      let output = RunWriter(writer, limits, sharesCodes: sharesCodes)
      try entries.withUnsafeBufferPointer(output.append)
      return try output.finish()
    }

    func blocks() throws -> IndexBlocks {
      try writer.writeOut()
      return IndexBlocks(try BlockReader(storage: storage), end: UInt64(writer.length))
    }

    func entries(_ run: IndexRun?, sharesCodes: Bool) throws -> [IndexEntry] {
      guard let run else { return [] }
      let blocks = try blocks()
      try run.checkInvariants(blocks, sharesCodes: sharesCodes)
      var found: [IndexEntry] = []
      try blocks.walk(run) { entry, level in
        if level == 0 { found += try blocks.entries(entry) }
      }
      return found
    }
  }

  /// A merge's filter, if one is given, leaves out every third object.
  private static func removeThirds(_ entries: inout [IndexEntry]) {
    entries.removeAll { $0.object % 3 == 0 }
  }

  @Test("Runs become one as by sorting all of their entries", arguments: 0..<24)
  func merging(seed: Int) throws {
    var random = SplitMix64(seed: UInt64(seed) &+ 70)
    let (sharesCodes, filtersAll) = (seed % 2 == 1, seed % 6 == 5)
    let spread: Int64 = [8, 60, 2000][seed % 3]
    for _ in 0..<20 {
      let runs = Runs(leafEntries: [1, 2, 5, 40][seed / 6])
      var all: Set<[Int64]> = []
      var sources: [IndexRun] = []
      func make(_ count: Int) -> [IndexEntry] {
        let base = Int64.random(in: 0...1, using: &random) * spread
        var made: Set<[Int64]> = []
        for _ in 0..<count {
          let code = base + Int64.random(in: 0..<spread, using: &random)
          made.insert([code, .random(in: 0...9, using: &random)])
        }
        all.formUnion(made)
        return made.map { IndexEntry(code: $0[0], object: $0[1]) }.sorted()
      }
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        let run = try runs.write(
          make(.random(in: 0...90, using: &random)), sharesCodes: sharesCodes)
        if let run { sources.append(run) }
      }
      let output = RunWriter(runs.writer, runs.limits, sharesCodes: sharesCodes)
      let movesLeaves = Bool.random(using: &random)
      var merger = RunMerger(
        try runs.blocks(), output, filtersAll: filtersAll, movesLeaves: movesLeaves)
      for run in sources { try merger.add(run) }
      merger.add(make(.random(in: 0...90, using: &random)))
      try merger.run(Self.removeThirds)
      let merged = try output.finish()
      let given = all.map { IndexEntry(code: $0[0], object: $0[1]) }.sorted()
      var codes: [Int64: Int] = [:]
      for entry in given { codes[entry.code, default: 0] += 1 }
      let expected = given.filter { entry in
        !(filtersAll || !sharesCodes && codes[entry.code] != 1) || entry.object % 3 != 0
      }
      let found = try runs.entries(merged, sharesCodes: sharesCodes)
      if movesLeaves, !sharesCodes, !filtersAll {
        // A leaf that was taken over unchanged has all its entries.
        #expect(found.filter(expected.contains) == expected, "seed \(seed)")
        #expect(found.allSatisfy(given.contains), "seed \(seed)")
      } else {
        #expect(found == expected, "seed \(seed)")
      }
    }
  }

  @Test("A leaf that goes on with the last code of the one before is damage, where none is shared")
  func sharedByDamage() throws {
    let runs = Runs(leafEntries: 2)
    let run = try #require(
      try runs.write((1...4).map { IndexEntry(code: 7, object: $0) }, sharesCodes: true))
    for sharesCodes in [true, false] {
      let output = RunWriter(runs.writer, runs.limits, sharesCodes: sharesCodes)
      var merger = RunMerger(
        try runs.blocks(), output, filtersAll: false, movesLeaves: false)
      try merger.add(run)
      var isDamage = false
      do { try merger.run { _ in } } catch is DecodingFailure { isDamage = true }
      #expect(isDamage == !sharesCodes)
    }
  }
}
