import Base
import Testing
import TestSupport

@testable import Engine

/// Making a cluster of columns of spans.
@Suite struct ClusterBuilderTests {
  private func encode(
    _ spans: [TextSpan], rows: Int, ids: [UInt32], columns: Int? = nil, arena: [UInt8] = [65, 66]
  ) throws -> EncodedCluster {
    try arena.withUnsafeBytes { bytes in
      try spans.withUnsafeBufferPointer { matrix in
        try ClusterBuilder().encode(
          arena: bytes, spans: matrix.baseAddress.unsafelyUnwrapped, rowCount: rows,
          columnCount: columns ?? ids.count, columnIDs: ids)
      }
    }
  }

  @Test("A span outside the text is refused, with its column and row")
  func spansOutsideTheArenaAreRefused() {
    for (offset, length) in [(0, 3), (2, 1), (3, 0), (1, UInt32.max)] as [(UInt32, UInt32)] {
      let spans = [TextSpan(offset: 0, length: 1), TextSpan(offset: offset, length: length)]
      #expect(throws: ClusterError.spanOutside(column: 0, row: 1)) {
        try encode(spans, rows: 2, ids: [1])
      }
    }
  }

  @Test("Columns are stored and opened by identifier; repeated ones and wrong counts throw")
  func columnsAreKeptByIdentifier() throws {
    let spans = [TextSpan(offset: 0, length: 1), TextSpan(offset: 1, length: 1)]
    let cluster = try encode(spans, rows: 1, ids: [9, 4])
    #expect(cluster.columns.map(\.id) == [9, 4])
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      #expect(try (0..<2).map { try reader.column(at: $0).id } == [4, 9])
      #expect(try reader.open(id: 9).value(0, as: .text) == .text("A"))
      #expect(try reader.open(id: 4).value(0, as: .text) == .text("B"))
    }
    #expect(throws: ClusterError.self) { try encode(spans, rows: 1, ids: [4, 4]) }
    #expect(throws: ClusterError.self) { try encode(spans, rows: 1, ids: [4], columns: 2) }
    #expect(throws: ClusterError.self) {
      try encode(spans, rows: ClusterFormat.maximumRows + 1, ids: [4])
    }
  }

  @Test("A cluster without rows, or without columns, is sound")
  func noRowsAndNoColumns() throws {
    let empty = try encode([.null], rows: 0, ids: [1])
    try empty.bytes.withUnsafeBytes { try ClusterReader($0).validate() }
    let bare = try encode([.null], rows: 3, ids: [])
    try bare.bytes.withUnsafeBytes { try ClusterReader($0).validate() }
  }

  /// The bytes of a cluster, written by hand. They may change only together with the file's version.
  @Test func bytesOfASmallCluster() throws {
    let arena = Array("1042".utf8)
    let spans = [
      TextSpan(offset: 0, length: 2), TextSpan(offset: 2, length: 1),
      TextSpan(offset: 3, length: 1),
    ]
    let cluster = try encode(spans, rows: 3, ids: [7], arena: arena)
    var expected: [UInt8] = []
    func add(_ value: some FixedWidthInteger) {
      withUnsafeBytes(of: value.littleEndian) { expected += $0 }
    }
    // Integers 10, 4, 2 in plain form: base 2, 4 bits each: 8, 2, 0.
    let segment: [UInt8] = [0, 2, 0, 0, 0, 0, 0, 0, 0, 4, 0x28, 0x00]
    for value in [76, 3, 1] as [UInt32] { add(value) }
    expected += [0, 0, 0, 0]
    add(0 as UInt32)
    add(0 as UInt32)
    add(0 as UInt64)
    add(7 as UInt32)
    expected += [1, 1, 0, 0]
    add(76 as UInt32)
    add(UInt32(segment.count))
    add(Checksum.of(segment))
    add(0 as UInt32)
    add(2 as UInt64)
    add(10 as UInt64)
    let header = expected
    expected += segment
    expected += [0, 0, 0, 0, 0, 0, 0, 0]
    #expect(cluster.bytes == expected)
    #expect(cluster.headerLength == 76 && cluster.headerChecksum == Checksum.of(header))
  }

  /// Encoded bytes do not depend on the hash table's random seed or on earlier clusters.
  @Test(arguments: [EncodingEffort.fast, .thorough])
  func encodingIsDeterministic(effort: EncodingEffort) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: 11))
    let columns = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: 200) }
    let builder = ClusterBuilder(effort: effort)
    let first = try EngineTests.encode(columns, with: builder).bytes
    _ = try EngineTests.encode(columns.reversed(), with: builder)
    #expect(try EngineTests.encode(columns, with: builder).bytes == first)
    let fresh = ClusterBuilder(effort: effort)
    #expect(try EngineTests.encode(columns, with: fresh).bytes == first)
  }
}

/// Rows that become a cluster, compared with a plain list of rows.
@Suite struct RowBufferTests {
  @Test(
    "A row buffer has the keys and spellings that a plain model has",
    arguments: [1, 2, 3, 4] as [UInt64])
  func behavesLikeAPlainModel(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let ids: [UInt32] = [3, 1, 8]
    var buffer = RowBuffer(columnIDs: ids)
    var model: [(key: Int64, row: [Spelling])] = []
    let builder = ClusterBuilder()
    for step in 0..<300 {
      let values = ids.map { _ -> Value in
        let kind = Int.random(in: 0..<ColumnGenerator.kinds, using: &generator.random)
        return kind < 3 ? .null : .data(generator.spelling(kind: kind))
      }
      let spellings = values.map { $0 == .null ? nil : $0.spelling }
      switch Int.random(in: 0..<10, using: &generator.random) {
      case 0..<5:
        let key = (model.last?.key ?? 100) + Int64.random(in: 2...4, using: &generator.random)
        try buffer.append(key: key, values: values)
        model.append((key, spellings))
      case 5:
        // From the spans of a parser.
        let key = (model.last?.key ?? 100) + 1
        var bytes: [UInt8] = []
        let spans = spellings.map { spelling -> TextSpan in
          guard let spelling else { return .null }
          bytes += spelling
          let offset = UInt32(bytes.count - spelling.count)
          return TextSpan(offset: offset, length: UInt32(spelling.count))
        }
        let guarded = try GuardedBytes(bytes)
        defer { withExtendedLifetime(guarded) {} }
        try spans.withUnsafeBufferPointer { row in
          try buffer.append(
            key: key, base: guarded.readOnly.baseAddress.unsafelyUnwrapped,
            row: row.baseAddress.unsafelyUnwrapped)
        }
        model.append((key, spellings))
      case 6, 7:
        guard !model.isEmpty else { continue }
        let row = Int.random(in: model.indices, using: &generator.random)
        try buffer.set(row: row, column: 1, to: values[1])
        model[row].row[1] = spellings[1]
      case 8:
        let removed = Int.random(in: 2...9, using: &generator.random)
        buffer.removeRows { $0 % removed == 0 }
        model = model.enumerated().filter { $0.offset % removed != 0 }.map(\.element)
      default:
        // Encoded into a cluster and read back.
        guard let firstKey = model.first?.key else { continue }
        let cluster = try buffer.encode(with: builder)
        buffer = RowBuffer(columnIDs: ids)
        try cluster.bytes.withUnsafeBytes { bytes in
          let reader = try ClusterReader(bytes)
          let half = reader.rowCount / 2
          try buffer.append(reader, firstKey: firstKey, rows: 0..<half)
          try buffer.append(reader, firstKey: firstKey, rows: half..<reader.rowCount)
        }
      }
      try #require(buffer.keys == model.map(\.key), "seed \(seed) step \(step)")
      for (row, expected) in model.enumerated().suffix(3) {
        try #require(buffer.row(ofKey: expected.key) == row)
      }
      try #require(buffer.row(ofKey: 99) == nil && buffer.row(ofKey: .max) == nil)
      for (row, expected) in model.enumerated() where step % 10 == 0 || row == model.count - 1 {
        let found = ids.indices.map { buffer.spelling(row: row, column: $0) }
        try #require(found == expected.row, "seed \(seed) step \(step) row \(row)")
      }
    }
  }

  @Test("Keys further apart than an offset can hold are refused as they are encoded")
  func keysThatDoNotAscendAreRefused() throws {
    var buffer = RowBuffer(columnIDs: [1])
    try buffer.append(key: .min, values: [.int(1)])
    try buffer.append(key: .max, values: [.int(2)])
    #expect(throws: ClusterError.invalidKeys) { try buffer.encode(with: ClusterBuilder()) }
  }
}
