import Engine
import Foundation
import Testing
import TestSupport

/// `sheaf export --salvage` after damage to a block of any kind: exactly the rows that do not need the
/// block are exported, and exactly the other keys are reported.
@Suite("Salvage")
struct SalvageTests {
  private static let rowCount = 4000

  /// A block, and the keys of the objects that depend on it.
  private struct Block {
    let kind: String
    let bytes: Range<Int>
    let keys: Set<Int64>
  }

  /// Several hundred small clusters under a tree of three levels, some of them with changes beside them.
  private static func make(_ path: String) throws -> [Block] {
    var options = Database.Options()
    options.limits.clusterRows = 10
    options.limits.nodeCapacity = 8
    options.limits.overlayFrom = 0
    options.limits.overlayBytes = 2000...2000
    let database = try Database.open(path, options: options)
    for start in stride(from: 0, to: rowCount, by: 10) {
      try database.write(durability: .group) { transaction in
        if start == 0 {
          try transaction.createTable(
            "t", columns: [Column("id", .int), Column("word", .text), Column("noise", .text)],
            key: "id")
        }
        let table = try transaction.table("t")
        for row in start..<start + 10 {
          try table.insert([
            .int(Int64(row + 1)), .text("word \(row % 7)"), .text("\(row &* 7919 % 10007)x\(row)"),
          ])
        }
      }
    }
    try database.write { transaction in
      let table = try transaction.table("t")
      for key in stride(from: Int64(205), to: 2500, by: 400) {
        try table.update(key, ["word": .text("changed")])
        try table.delete(key + 1)
      }
    }
    let blocks = try blocks(try database.snapshot())
    try database.close()
    return blocks
  }

  private static func blocks(_ snapshot: Snapshot) throws -> [Block] {
    var blocks: [Block] = []
    let table = try snapshot.table("t")
    var open: [(entry: NodeEntry, level: Int, keys: Set<Int64>)] = []
    func finish(downTo level: Int) {
      while let last = open.last, last.level <= level {
        open.removeLast()
        let start = Int(last.entry.reference.offset)
        blocks.append(
          Block(
            kind: "node of level \(last.level)",
            bytes: start..<start + Int(last.entry.reference.length), keys: last.keys))
        if !open.isEmpty { open[open.count - 1].keys.formUnion(last.keys) }
      }
    }
    var overlay: NodeEntry?
    try table.tree.walk { entry, level in
      if level > 0 {
        finish(downTo: level)
        open.append((entry, level, []))
        return
      }
      let start = Int(entry.reference.offset)
      let bytes = start..<start + Int(entry.reference.length)
      if entry.reference.isOverlay {
        // The newest of its blocks is first.
        let leaf = overlay ?? entry
        overlay = leaf
        blocks.append(Block(kind: "overlay", bytes: bytes, keys: try keys(leaf, table)))
        return
      }
      let own = try keys(overlay ?? entry, table)
      overlay = nil
      blocks.append(Block(kind: "cluster", bytes: bytes, keys: own))
      open[open.count - 1].keys.formUnion(own)
    }
    finish(downTo: 16)
    return blocks
  }

  private static func keys(_ entry: NodeEntry, _ table: Table) throws -> Set<Int64> {
    let leaf = try Leaf(entry, table.tree.blocks, end: table.tree.end)
    let keys = try leaf.keys()
    return Set((0..<leaf.rowCount).map(keys.key))
  }

  /// The lines of an export by key, which is the first column.
  private static func rows(_ text: String) -> [Int64: Substring] {
    var rows: [Int64: Substring] = [:]
    for line in text.split(separator: "\n").dropFirst() {
      rows[Int64(line.prefix { $0 != "," }) ?? -1] = line
    }
    return rows
  }

  /// The reported ranges of keys.
  private static func told(_ error: String) -> [(keys: ClosedRange<Int64>, objects: Int)] {
    error.split(separator: "\n").compactMap { line in
      guard let match = line.firstMatch(of: /: ([\d,]+) objects? left out, keys (\d+) to (\d+):/),
        let first = Int64(match.2), let last = Int64(match.3)
      else { return nil }
      return (first...last, Int(match.1.filter { $0 != "," }) ?? -1)
    }
  }

  @Test("Rows of sound blocks come, all others are told of, whichever kind of block is damaged")
  func everyKind() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    let blocks = try Self.make(path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let whole = Self.rows(try SheafProcess.run(["export", path]).outputText)
    let sound = try SheafProcess.run(["export", path, "--salvage"])
    #expect(sound.status == 0 && sound.errorText == "")
    #expect(Self.rows(sound.outputText) == whole)
    #expect(whole.count == Self.rowCount - 6)

    let seed = UInt64.random(in: 0 ... .max)
    var random = SplitMix64(seed: seed)
    let kinds = Dictionary(grouping: blocks, by: \.kind)
    #expect(kinds.keys.count >= 5, "\(kinds.keys)")
    for (kind, blocks) in kinds.sorted(by: { $0.key < $1.key }) {
      for count in [1, 3] {
        let chosen = blocks.shuffled(using: &random).prefix(count)
        var damaged = bytes
        for block in chosen {
          // No checksum covers the padding of a cluster.
          damaged[Int.random(in: block.bytes.dropLast(8), using: &random)] ^= 0x10
        }
        try damaged.write(to: URL(fileURLWithPath: path))
        let lost = chosen.reduce(into: Set<Int64>()) { $0.formUnion($1.keys) }
        let what = "\(count) \(kind), seed \(seed)"
        let result = try SheafProcess.run(["export", path, "--salvage"])
        #expect(result.status == 65, "\(what)")
        let expected = whole.filter { !lost.contains($0.key) }
        #expect(Self.rows(result.outputText) == expected, "\(what)")
        let told = Self.told(result.errorText)
        #expect(told.reduce(0) { $0 + $1.objects } == lost.count, "\(what): \(result.errorText)")
        for key in whole.keys {
          #expect(told.contains { $0.keys.contains(key) } == lost.contains(key), "\(what): \(key)")
        }
        #expect(try SheafProcess.run(["export", path]).status == 65, "\(what)")
        let check = try SheafProcess.run(["check", path])
        #expect(check.status == 65 && check.errorText.contains("--salvage"), "\(what)")
      }
    }
  }

  @Test("Other columns are read beside a damaged one; filters, limits and formats go with it")
  func oneColumn() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    let blocks = try Self.make(path)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let cluster = try #require(blocks.first { $0.kind == "cluster" && $0.keys.contains(101) })
    // Segments are in the order of the columns: the last one ends before the padding.
    bytes[cluster.bytes.upperBound - 9] ^= 1
    try bytes.write(to: URL(fileURLWithPath: path))
    func export(_ options: String...) throws -> SheafProcess.Result {
      try SheafProcess.run(["export", path, "--salvage"] + options)
    }
    let all = try export()
    #expect(all.status == 65 && all.errorText.contains("column 'noise'"), "\(all.errorText)")
    #expect(Self.rows(all.outputText).count == Self.rowCount - 6 - cluster.keys.count)
    let others = try export("--columns", "id,word")
    #expect(others.status == 0 && others.errorText == "")
    #expect(Self.rows(others.outputText).count == Self.rowCount - 6)
    #expect(try export("--columns", "id", "--where", "noise != \"\"").status == 65)
    #expect(try export("--limit", "20").status == 0)
    let lines = try export("--format", "jsonl", "--table", "t", "--where", "id between 95 and 115")
    #expect(lines.status == 65)
    #expect(
      lines.outputText.split(separator: "\n").count == 21
        - cluster.keys.count { (95...115).contains($0) })
    let saved = folder.path("saved.csv")
    #expect(try export("--output", saved).status == 65)
    #expect(try Data(contentsOf: URL(fileURLWithPath: saved)) == Data(all.output))
  }

  @Test("A damaged schema is told with the objects of its table, a damaged slot with the version")
  func above() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    _ = try Self.make(path)
    let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    let database = try Database.open(path, options: .init(access: .readOnly))
    var schema: BlockReference?
    let snapshot = try database.snapshot()
    try VersionRoots(snapshot.record, snapshot.blocks).forEachBlock(snapshot.blocks) {
      block, kind, _ in
      if kind == .schema { schema = block }
    }
    try database.close()
    var damaged = bytes
    damaged[Int(try #require(schema).offset) + 40] ^= 1
    try damaged.write(to: URL(fileURLWithPath: path))
    var result = try SheafProcess.run(["export", path, "--salvage"])
    #expect(result.status == 65 && result.output.isEmpty)
    #expect(
      result.errorText.contains("3,994 objects left out, keys 1 to 4000"), "\(result.errorText)")

    damaged = bytes
    damaged[20] ^= 1
    try damaged.write(to: URL(fileURLWithPath: path))
    result = try SheafProcess.run(["export", path, "--salvage"])
    #expect(result.status == 65)
    #expect(result.errorText.contains("a newer one may be lost"), "\(result.errorText)")
    #expect(Self.rows(result.outputText).count == Self.rowCount - 6)
  }

  @Test("Without slots nothing can be saved, and the check does not advise it")
  func withoutSlots() throws {
    let folder = TemporaryFolder()
    let path = folder.path("t.sheaf")
    _ = try Self.make(path)
    var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
    bytes.replaceSubrange(0..<8192, with: Data(count: 8192))
    try bytes.write(to: URL(fileURLWithPath: path))
    let result = try SheafProcess.run(["check", path])
    #expect(result.status == 65)
    #expect(result.errorText.contains("restore a copy: what says where its tables are is gone"))
    #expect(!result.errorText.contains("--salvage"))
    #expect(try SheafProcess.run(["export", path, "--salvage"]).status == 65)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
  }

  @Test("An import into a file that was there without contents says that it begins anew")
  func emptied() throws {
    let bench = try Workbench()
    let words = ["import", bench.path("a.csv"), "--into", bench.database]
    try bench.write("a.csv", "a\n1\n")
    for bytes in [0, 100, 8192, 12_288] {
      try Data(count: bytes).write(to: URL(fileURLWithPath: bench.database))
      let report = try bench.report(words)
      let note = "was there, with nothing in it: a new database was begun in it"
      #expect(report["notes"][0].text?.hasSuffix(note) == (bytes < 12_288 ? true : nil))
    }
    let report = try bench.report(words)
    #expect(report["notes"].count == 0)
  }
}
