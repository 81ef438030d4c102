import Testing
import TestSupport

@testable import Engine

/// Columns of all kinds that are encoded and read back, by rows, by columns and by parts.
@Suite struct ClusterRoundTripTests {
  /// Everything that a cluster returns for a column equals a slow look at the spellings.
  private func expect(
    _ cluster: EncodedCluster, holds columns: [[Spelling]], _ note: String
  ) throws {
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    #expect(ClusterReader.verifyHeader(guarded.readOnly, checksum: cluster.headerChecksum))
    let reader = try ClusterReader(guarded.readOnly)
    try reader.validate()
    #expect(try examine(columns) == cluster.columns.map(\.spellings), "\(note)")
    let decoded = DecodedColumn()
    for (index, column) in columns.enumerated() {
      let opened = try reader.open(id: UInt32(index + 1))
      decoded.decode(opened, rows: 0..<column.count)
      var observation = TypeObservation()
      var nulls = 0
      for (row, spelling) in column.enumerated() {
        let single = opened.withSpelling(row) { $0.map(Array.init) }
        try #require(single == spelling, "\(note) column \(index) row \(row)")
        try #require(decoded[row].map(Array.init) == spelling, "\(note) column \(index) row \(row)")
        #expect(opened.isNull(row) == (spelling == nil))
        guard let spelling else {
          nulls += 1
          continue
        }
        observation.insert(SlowClassifier.classify(spelling), row: row)
        for type in ColumnType.allCases {
          let expected = Value(spelling: spelling, type: type)
          #expect(
            (try? opened.value(row, as: Reading(type))) == expected,
            "\(note) \(spelling) as \(type)")
        }
      }
      for type in ColumnType.allCases {
        let reads = column.allSatisfy { $0.map { Value(spelling: $0, type: type) != nil } ?? true }
        #expect(
          ((try? opened.validate(as: Reading(type))) != nil) == reads, "\(note) \(index) as \(type)"
        )
      }
      let facts = cluster.columns[index].spellings
      #expect(opened.nullCount == nulls && facts.nullCount == nulls)
      #expect(facts.observation == observation, "\(note) column \(index)")
      expectBounds(opened.statistics, observation.classes, column, "\(note) column \(index)")
    }
  }

  /// Statistics against a slow minimum and maximum.
  private func expectBounds(
    _ statistics: ColumnStatistics, _ classes: TypeSet, _ column: [Spelling], _ note: String
  ) {
    let spellings = column.compactMap { $0 }
    func values(_ type: ColumnType) -> [Value] {
      spellings.compactMap { Value(spelling: $0, type: type) }
    }
    if spellings.isEmpty {
      #expect(statistics == .none, "\(note)")
    } else if classes.isSubset(of: [.int, .bigInt]) {
      let ints = values(.int).compactMap { if case .int(let int) = $0 { int } else { nil } }
      #expect(statistics.kind == .integers && statistics.integers == bounds(ints), "\(note)")
    } else if classes.fits(.double) {
      // NaN is never a bound.
      let doubles = values(.double).compactMap {
        if case .double(let x) = $0, !x.isNaN { x } else { nil }
      }
      #expect(statistics.kind == .doubles && statistics.numbers == bounds(doubles), "\(note)")
    } else if classes == .date {
      let days = values(.date).compactMap {
        if case .date(let date) = $0 { Int64(date.daysSince1970) } else { nil }
      }
      #expect(statistics.kind == .days && statistics.integers == bounds(days), "\(note)")
    } else if classes.isSubset(of: [.date, .dateTime]) {
      let moments = values(.dateTime).compactMap {
        if case .dateTime(let moment) = $0 { moment.microsecondsSince1970 } else { nil }
      }
      #expect(statistics.kind == .moments && statistics.integers == bounds(moments), "\(note)")
    } else {
      let prefixes = spellings.map { spelling in
        (0..<8).reduce(0 as UInt64) { $0 << 8 | UInt64($1 < spelling.count ? spelling[$1] : 0) }
      }
      #expect(statistics.textPrefixes == bounds(prefixes), "\(note)")
    }
  }

  private func bounds<Element: Comparable>(_ values: [Element]) -> ClosedRange<Element>? {
    guard let low = values.min(), let high = values.max() else { return nil }
    return low...high
  }

  @Test("Generated columns come back from a cluster", arguments: Effort.seeds(1..<25))
  func generatedColumns(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    for effort in [EncodingEffort.fast, .thorough] {
      let builder = ClusterBuilder(effort: effort)
      let rows = Int.random(in: 0...150, using: &generator.random)
      let columns = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: rows) }
      let cluster = try encode(columns, with: builder)
      try expect(cluster, holds: columns, "seed \(seed), \(effort), \(rows) rows,")
    }
  }

  @Test("Columns of 9,000 rows decode to what was encoded, also from the middle")
  func manyRowsGrowTheTables() throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: 99))
    let rows = 9000
    let columns: [[Spelling]] = [
      (0..<rows).map { Array("row \($0 % 4999) of many".utf8) },
      generator.column(kind: 3, rows: rows),
      (0..<rows).map { $0 % 100 == 0 ? nil : Array("\($0)".utf8) },
      (0..<rows).map { Array("name \($0 % 89 == 0 ? 0 : $0) of many".utf8) },
      (0..<rows).map { $0 % 3 == 0 ? nil : Array("\(1 << ($0 % 41))".utf8) },
      (0..<rows).map { Array(["x", "y", "zz", "\($0 % 700)"][$0 * 7 % 11 & 3].utf8) },
      (0..<rows).map { Array("\($0 / 400)".utf8) },
    ]
    for effort in [EncodingEffort.fast, .thorough] {
      let builder = ClusterBuilder(effort: effort)
      let cluster = try encode(columns, with: builder)
      let guarded = try GuardedBytes(cluster.bytes)
      defer { withExtendedLifetime(guarded) {} }
      let reader = try ClusterReader(guarded.readOnly)
      let decoded = DecodedColumn()
      for (index, column) in columns.enumerated() {
        decoded.decode(try reader.open(id: UInt32(index + 1)), rows: 0..<rows)
        for row in stride(from: 0, to: rows, by: 7) {
          try #require(decoded[row].map(Array.init) == column[row], "column \(index) row \(row)")
        }
        decoded.decode(try reader.open(id: UInt32(index + 1)), rows: 4000..<4500)
        for row in 4000..<4500 {
          try #require(decoded[row - 4000].map(Array.init) == column[row], "\(index) row \(row)")
        }
      }
      try reader.validate()
    }
  }

  @Test("Any range of a column's rows is decoded", arguments: [EncodingEffort.fast, .thorough])
  func partsOfAColumn(effort: EncodingEffort) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: 7))
    let columns = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: 700) }
    let cluster = try encode(columns, with: ClusterBuilder(effort: effort))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let reader = try ClusterReader(guarded.readOnly)
    let decoded = DecodedColumn()
    for (index, column) in columns.enumerated() {
      let opened = try reader.open(id: UInt32(index + 1))
      for range in [0..<0, 0..<1, 5..<137, 16..<48, 128..<129, 127..<384, 699..<700, 333..<1500] {
        decoded.decode(opened, rows: range)
        let expected = Array(column[range.clamped(to: 0..<700)])
        #expect(decoded.count == expected.count)
        for row in expected.indices { #expect(decoded[row].map(Array.init) == expected[row]) }
      }
      #expect(opened.isNull(700) && opened.isNull(-1) && opened.isNull(Int.max))
    }
  }

  @Test(
    "A column is decoded part by part, in any order, without decoding its dictionary again",
    arguments: [EncodingEffort.fast, .thorough])
  func continuedColumn(effort: EncodingEffort) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: 8))
    var columns = (0..<ColumnGenerator.kinds).map { generator.column(kind: $0, rows: 900) }
    // Many entries that are compressed, few of which a part has.
    columns.append((0..<900).map { Array("the name number \($0 % 500) of many, \($0 % 500)".utf8) })
    let cluster = try encode(columns, with: ClusterBuilder(effort: effort))
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let reader = try ClusterReader(guarded.readOnly)
    let decoded = DecodedColumn()
    for (index, column) in columns.enumerated() {
      let opened = try reader.open(id: UInt32(index + 1))
      var seen: Set<UInt8> = []
      // Also a first part without rows, which reads no codes.
      decoded.decode(opened, rows: 0..<(index % 2 == 0 ? 64 : 0), part: .first)
      for range in [64..<128, 0..<1, 500..<777, 5..<5, 128..<129, 300..<900, 0..<900] {
        decoded.decode(opened, rows: range, part: .next)
        let expected = Array(column[range])
        let spellings = (0..<decoded.count).map { decoded[$0].map(Array.init) }
        try #require(spellings == expected, "column \(index), \(range)")
        _ = decoded.allText { text in
          seen.formUnion(text)
          return true
        }
        #expect(seen.isSuperset(of: expected.compactMap { $0 }.joined()))
        let total = expected.reduce(0) { $0 + ($1?.count ?? 0) }
        #expect(decoded.mostBytes >= total, "column \(index), \(range)")
        // Changed rows are not in the dictionary, whose entries stay what they are.
        if range.count == 277 {
          decoded.replace(3, with: nil)
          [UInt8]("other".utf8).withUnsafeBytes { decoded.replace(5, with: $0) }
          var changed = expected
          (changed[3], changed[5]) = (nil, Array("other".utf8))
          #expect((0..<277).map { decoded[$0].map(Array.init) } == changed, "column \(index)")
        }
        if range.count == 600 { decoded.remove(2) { $0 * 7 } }
      }
    }
  }

  @Test("Text that several parts of a column share is tested once, and what is added to it")
  func testedText() throws {
    let names: [Spelling] = (0..<900).map {
      Array("the name number \($0 % 500) of many, \($0 % 500)\($0 == 499 ? "!" : "")".utf8)
    }
    let cluster = try encode([names], with: ClusterBuilder(effort: .thorough))
    try cluster.bytes.withUnsafeBytes { bytes in
      let column = try ClusterReader(bytes).open(id: 1)
      let decoded = DecodedColumn()
      var tested = 0
      func isPlain() -> Bool {
        decoded.allText { text in
          tested += text.count
          return !text.contains(UInt8(ascii: "!"))
        }
      }
      decoded.decode(column, rows: 0..<100, part: .first)
      #expect(isPlain() && tested > 0)
      let first = tested
      decoded.decode(column, rows: 0..<90, part: .next)
      #expect(isPlain() && tested == first)
      decoded.decode(column, rows: 450..<500, part: .next)
      #expect(!isPlain() && tested > first && tested < 2 * first)
      decoded.decode(column, rows: 0..<90, part: .next)
      #expect(!isPlain(), "the text is that of earlier rows, too")
      decoded.decode(column, rows: 0..<90)
      #expect(isPlain())
    }
  }

  @Test("Null and the empty text differ")
  func nullAndEmptyDiffer() throws {
    let columns: [[Spelling]] = [[nil, [], nil, []], [[], [], [], []], [nil, nil, nil, nil]]
    try expect(try encode(columns), holds: columns, "empty")
  }

  @Test("A column that a cluster lacks reads as null")
  func absentColumnsAreNull() throws {
    let cluster = try encode([[[65]]])
    try cluster.bytes.withUnsafeBytes { bytes in
      let reader = try ClusterReader(bytes)
      #expect(try reader.column(id: 9) == nil)
      let absent = try reader.open(id: 9)
      #expect(absent.isNull(0) && absent.nullCount == 1)
      #expect(try absent.value(0, as: .int) == .null)
    }
  }
}

/// The keys of a cluster.
@Suite struct ClusterKeyTests {
  @Test(
    "Keys are found by row and by offset, dense or sparse, and missing ones are not",
    arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
  func generatedKeys(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let largest: Int64 = [1, 2, 9, 1000, 1 << 40, 1 << 55].randomElement(using: &random) ?? 1
    var offsets: [Int64] = [0]
    for _ in 0..<100 {
      offsets.append(offsets[offsets.count - 1] + Int64.random(in: 1...largest, using: &random))
    }
    let cluster = try encode([offsets.map { _ in [65] }], keyOffsets: offsets)
    let guarded = try GuardedBytes(cluster.bytes)
    defer { withExtendedLifetime(guarded) {} }
    let keys = try ClusterReader(guarded.readOnly).keys()
    #expect(keys.isDense == (largest == 1), "seed \(seed)")
    for (row, offset) in offsets.enumerated() {
      #expect(keys.offset(row) == offset, "seed \(seed)")
      #expect(keys.row(offset) == row, "seed \(seed)")
      let next = row + 1 < offsets.count ? offsets[row + 1] : Int64.max
      if offset + 1 < next { #expect(keys.row(offset + 1) == nil, "seed \(seed)") }
      #expect(keys.firstRow(notBelow: offset + 1) == row + 1, "seed \(seed)")
    }
    #expect(keys.row(-1) == nil && keys.firstRow(notBelow: -5) == 0)
  }

  @Test("Keys that do not ascend, or are not one for each row, are refused")
  func keysMustAscend() {
    let column: [[Spelling]] = [[[65], [66]]]
    for offsets in [[0], [1, 1], [1, 0], [-1, 0], [0, 1, 2]] as [[Int64]] {
      #expect(throws: ClusterError.invalidKeys) { try encode(column, keyOffsets: offsets) }
    }
  }
}
