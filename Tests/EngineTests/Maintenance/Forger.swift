import Base
import TestSupport
import Testing

@testable import Engine

/// Changes bytes of a database file and then puts right every checksum on the way to the slots.
struct Forger {
  private(set) var bytes: [UInt8]
  /// The ranges that checksums cover, leaves first, and where each checksum is.
  private var covered: [(range: Range<Int>, sums: [Int])] = []

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    try collect()
  }

  mutating func forge(_ random: inout SplitMix64) {
    // A leaf or a node, or the slots.
    guard let target = covered.randomElement(using: &random) else { return }
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let position = Int.random(in: target.range, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: bytes[position] = .random(in: 0...255, using: &random)
      case 1: bytes[position] = [0, 255, 127, 128].randomElement(using: &random) ?? 0
      case 2: bytes[position] &+= 1
      default: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      }
    }
    for part in covered {
      let sum = Checksum.of(Array(bytes[part.range]))
      for place in part.sums {
        for index in 0..<8 { bytes[place + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
      }
    }
  }

  /// Finds every covered range in the sound file: the bytes of its checksum occur only once.
  private mutating func collect() throws {
    let storage = RecordingStorage(bytes, isRecording: false)
    let recovered = try Recovery.run(storage)
    let blocks = try BlockReader(storage: storage)
    var nodes: [Range<Int>] = []
    var clusters: [Range<Int>] = []
    try VersionRoots(recovered.record, blocks).forEachBlock(blocks) { block, kind, _ in
      let range = Int(block.offset)..<Int(block.offset) + Int(block.length)
      if kind == .cluster { clusters.append(range) } else { nodes.append(range) }
    }
    for cluster in clusters {
      let view = try #require(storage.view(at: cluster.lowerBound, count: cluster.count))
      let reader = try ClusterReader(view)
      for position in 0..<reader.columnCount {
        let column = try reader.column(at: position)
        let start = cluster.lowerBound + column.offset
        add(start..<start + column.byteCount)
      }
      let header = try #require(ClusterReader.header(of: view))
      add(cluster.lowerBound..<cluster.lowerBound + header.count)
    }
    // The walk is top down: the children's checksums are corrected before their parents'.
    for node in nodes.reversed() { add(node) }
    for slot in 0..<Layout.slotCount {
      let start = slot * Layout.pageBytes
      covered.append((start..<start + 72, [start + 72]))
    }
  }

  private mutating func add(_ range: Range<Int>) {
    guard !range.isEmpty else { return }
    let sum = Checksum.of(Array(bytes[range]))
    let pattern = (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    var places: [Int] = []
    bytes.withUnsafeBytes { all in
      for start in 0..<all.count - 8 where all[start] == pattern[0] {
        if (1..<8).allSatisfy({ all[start + $0] == pattern[$0] }) { places.append(start) }
      }
    }
    if !places.isEmpty { covered.append((range, places)) }
  }
}
