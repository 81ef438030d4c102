import Base
import Testing

@testable import Engine

/// A tree is walked part by part, also if its nodes are sound by themselves and do not fit together.
@Suite("Parts of a tree")
struct TreePartsTests {
  /// Makes nodes with entries of leaves that are never read.
  private struct Forger {
    let storage = RecordingStorage(isRecording: false)
    var end = Layout.pageBytes * 2

    static func leaf(_ key: Int64) -> NodeEntry {
      NodeEntry(
        firstKey: key, count: 1,
        reference: BlockReference(offset: 8192, length: 64, checksum: UInt64(bitPattern: key)))
    }

    mutating func node(level: Int, _ entries: [NodeEntry]) throws -> NodeEntry {
      let bytes = Node.encode(level: level, entries[...])
      let reference = BlockReference(
        offset: UInt64(end), length: UInt32(bytes.count), checksum: Checksum.of(bytes))
      let offset = end
      end += Layout.pageBytes
      try storage.resize(to: end)
      try bytes.withUnsafeBytes { try storage.write($0, at: offset) }
      return NodeEntry(
        firstKey: entries[0].firstKey, count: entries.reduce(0) { $0 + $1.count },
        reference: reference)
    }

    func tree(_ root: NodeEntry, level: Int) throws -> TreeReader {
      TreeReader(
        blocks: try BlockReader(storage: storage), root: TreeRoot(level: level, entry: root),
        end: UInt64(end))
    }
  }

  /// The first keys of all leaves; every part is opened.
  private func keys(_ tree: TreeReader) throws -> [Int64] {
    var parts = TreeParts(tree)
    var keys: [Int64] = []
    while let part = parts.part {
      if part.level > 0 {
        try parts.descend()
      } else {
        #expect(parts.position == UInt64(keys.count))
        keys.append(part.entry.firstKey)
        parts.skip()
      }
    }
    return keys
  }

  private func expectOverlap(_ tree: TreeReader) throws {
    #expect {
      try keys(tree)
    } throws: {
      ($0 as? BlockError)?.what == "the node's keys reach beyond those of the next one"
    }
  }

  @Test("Parts come in the order of keys, and can be skipped or opened")
  func inOrder() throws {
    var forger = Forger()
    let left = try forger.node(level: 1, [1, 3, 9].map(Forger.leaf))
    let right = try forger.node(level: 1, [10, 12].map(Forger.leaf))
    let root = try forger.node(level: 2, [left, right])
    let tree = try forger.tree(root, level: 2)
    #expect(try keys(tree) == [1, 3, 9, 10, 12])
    var parts = TreeParts(tree)
    try parts.descend()
    #expect(parts.part?.end == 10)
    parts.skip()
    #expect(parts.position == 3 && parts.part?.end == nil)
  }

  /// Each node is sound and its counts add up, but the first node's last key is above the second one's
  /// first key.
  @Test(arguments: [10, 11, 40] as [Int64])
  func overlapping(key: Int64) throws {
    var forger = Forger()
    let left = try forger.node(level: 1, [1, 3, key].map(Forger.leaf))
    let right = try forger.node(level: 1, [10, 12].map(Forger.leaf))
    let root = try forger.node(level: 2, [left, right])
    let tree = try forger.tree(root, level: 2)
    try expectOverlap(tree)
  }

  /// The bound is passed to the last child of each node.
  @Test func overlappingBelow() throws {
    var forger = Forger()
    let inner = try forger.node(level: 1, [3, 25].map(Forger.leaf))
    let left = try forger.node(
      level: 2, [try forger.node(level: 1, [1, 2].map(Forger.leaf)), inner])
    let right = try forger.node(level: 2, [try forger.node(level: 1, [20].map(Forger.leaf))])
    let root = try forger.node(level: 3, [left, right])
    let tree = try forger.tree(root, level: 3)
    try expectOverlap(tree)
  }
}
