import Base
import Testing
import TestSupport

@testable import Engine

/// Clusters with changed bytes, with wrong checksums and with right ones.
@Suite struct ClusterDamageTests {
  private func sample(_ seed: UInt64, rows: Int) throws -> [UInt8] {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let columns = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: rows) }
    var key: Int64 = -1
    let keys = (0..<rows).map { _ in
      key += Int64.random(in: 1...3, using: &generator.random)
      return key
    }
    let builder = ClusterBuilder(effort: seed % 3 == 0 ? .fast : .thorough)
    return try encode(columns, keyOffsets: keys, with: builder).bytes
  }

  /// Every single changed byte is noticed, except in the padding.
  @Test func checksumsNoticeEveryByte() throws {
    let columns: [[Spelling]] = [
      (0..<30).map { Array("\($0 * 3)".utf8) }, (0..<30).map { Array("t\($0 % 3)".utf8) },
      (0..<30).map { Array("a long text that has the number \($0 * $0) in it".utf8) },
    ]
    let cluster = try encode(columns, with: ClusterBuilder(effort: .thorough))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    for index in 0..<cluster.bytes.count - ClusterFormat.padding {
      guarded.bytes[index] ^= 0x10
      let isNoticed: Bool
      if ClusterReader.verifyHeader(guarded.readOnly, checksum: cluster.headerChecksum) {
        isNoticed = (try? ClusterReader(guarded.readOnly).validate()) == nil
      } else {
        isNoticed = true
      }
      #expect(isNoticed, "byte \(index)")
      guarded.bytes[index] ^= 0x10
    }
  }

  /// Forged bytes under right checksums: a read throws or returns something, and never leaves the
  /// cluster, which ends at a guarded page.
  @Test(arguments: Effort.seeds(1..<13))
  func hostileBytesWithRightChecksums(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let rows = Int.random(in: 1...(seed % 4 == 0 ? 260 : 40), using: &random)
    let bytes = try sample(seed, rows: rows)
    let guarded = try GuardedBytes(bytes)
    defer { withExtendedLifetime(guarded) {} }
    let headerLength = ClusterFormat.headerLength(columns: ColumnGenerator.kinds)
    var accepted = 0
    for _ in 0..<(rows > 40 ? 30 : 100) {
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        // Half of the changes are in the small header and at the beginnings of segments.
        let position =
          Bool.random(using: &random)
          ? Int.random(in: 0..<headerLength, using: &random)
          : Int.random(in: bytes.indices, using: &random)
        let change: UInt8 = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
        guarded.bytes[position] =
          Bool.random(using: &random) ? change : guarded.bytes[position] &+ 1
      }
      correctChecksums(guarded.bytes)
      if readEverything(guarded.readOnly) { accepted += 1 }
      guarded.bytes.copyBytes(from: bytes)
    }
    // The test is of use only if many changes pass the checks.
    #expect(accepted > 10, "seed \(seed)")
  }

  /// Corrects the checksums of all segments that are inside the cluster.
  private func correctChecksums(_ bytes: UnsafeMutableRawBufferPointer) {
    func number(_ offset: Int) -> Int {
      Int(bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
    func correct(offset: Int, length: Int, at place: Int) {
      guard offset + length <= bytes.count else { return }
      let sum = Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
      bytes.storeBytes(of: sum, toByteOffset: place, as: UInt64.self)
    }
    correct(offset: number(16), length: number(20), at: 24)
    for column in 0..<ColumnGenerator.kinds {
      let entry = ClusterFormat.headerLength(columns: column)
      correct(offset: number(entry + 8), length: number(entry + 12), at: entry + 16)
    }
  }

  /// Whether all of it could be read.
  private func readEverything(_ bytes: UnsafeRawBufferPointer) -> Bool {
    do {
      let reader = try ClusterReader(bytes)
      var isReadable = true
      let rows = min(reader.rowCount, 200)
      if let keys = try? reader.keys() {
        for row in 0..<rows { _ = keys.offset(row) }
        _ = keys.row(17)
      }
      let decoded = DecodedColumn()
      var length = 0
      for position in 0..<min(reader.columnCount, 40) {
        guard let column = try? reader.open(reader.column(at: position)) else {
          isReadable = false
          continue
        }
        decoded.decode(column, rows: 0..<rows)
        for row in 0..<rows { length += decoded[row]?.reduce(0) { $0 | Int($1) } ?? 0 }
        for row in stride(from: 0, to: rows, by: rows > 40 ? 11 : 1) {
          length += column.withSpelling(row) { $0?.reduce(0) { $0 | Int($1) } ?? 0 }
          for type in ColumnType.allCases { _ = try? column.value(row, as: Reading(type)) }
        }
      }
      if reader.rowCount < 1000 {
        try? reader.validate()
        var buffer = RowBuffer(columnIDs: (1...ColumnGenerator.kinds).map { UInt32($0) })
        try? buffer.append(reader, firstKey: .max - 5, rows: 0..<reader.rowCount)
      }
      return isReadable && length >= 0
    } catch {
      return false
    }
  }

  @Test("A truncated cluster is refused without a trap")
  func shortAndEmptyInputs() throws {
    let bytes = try sample(3, rows: 5)
    for length in 0..<min(bytes.count, 1200) {
      let guarded = try GuardedBytes(bytes[..<length])
      defer { withExtendedLifetime(guarded) {} }
      #expect(throws: (any Error).self) { try ClusterReader(guarded.readOnly).validate() }
      _ = ClusterReader.verifyHeader(guarded.readOnly, checksum: 0)
    }
  }

  @Test("Each column's checksum is compared once")
  func segmentsAreHashedOnce() throws {
    let cluster = try encode([[[65], [66]]], keyOffsets: [0, 9])
    let parts = VerifiedParts(
      table: try VerifiedTable(path: ""), offset: 8192, checksum: cluster.headerChecksum)
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes, verified: parts)
      #expect(!parts.contains(1) && !parts.contains(2))
      _ = try reader.open(id: 1)
      #expect(!parts.contains(1) && parts.contains(2))
      _ = try reader.keys()
      #expect(parts.contains(1) && parts.contains(2) && !parts.contains(3))
    }
    var damaged = cluster.bytes
    damaged[damaged.count - ClusterFormat.padding - 1] ^= 1
    try damaged.withUnsafeBytes { bytes in
      // Parts in the table of verified blocks are not verified again.
      _ = try ClusterReader(bytes, verified: parts).open(id: 1)
      #expect(throws: ClusterError.self) { try ClusterReader(bytes).open(id: 1) }
    }
  }

  @Test("Parts of blocks that share a word of the table are never taken for each other")
  func verifiedParts() throws {
    let table = try VerifiedTable(path: "")
    var random = SplitMix64(seed: 7)
    var known: Set<[UInt64]> = []
    // 40 parts take three words; 300,000 blocks more than the table has.
    for _ in 0..<300_000 {
      let block = [random.next() % 100_000 * 4096, random.next() % 4, random.next() % 40]
      let parts = VerifiedParts(table: table, offset: Int(block[0]), checksum: block[1])
      if parts.contains(Int(block[2])) { #expect(known.contains(block), "\(block)") }
      parts.insert(Int(block[2]))
      known.insert(block)
      if !parts.contains(Int(block[2])) { Issue.record("\(block) was just inserted") }
    }
  }
}
