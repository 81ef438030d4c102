import Testing

@testable import Command

/// The kinds of `sheaf sample`: the same rows for a seed everywhere, with the traits that they promise.
@Suite struct SampleTests {
  static func bytes(_ shape: SampleShape, seed: UInt64, rows count: Int) -> [UInt8] {
    func make(_ rows: some SampleRows) -> [UInt8] {
      var rows = rows
      var buffer = Array(rows.header.utf8)
      for _ in 0..<count { rows.appendRow(to: &buffer) }
      return buffer
    }
    return switch shape {
    case .apps: make(AppRows(seed: seed))
    case .numbers: make(NumberRows(seed: seed))
    case .text: make(TextRows(seed: seed))
    }
  }

  /// FNV-1a, 64 bits.
  private func digest(_ bytes: [UInt8]) -> UInt64 {
    bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
  }

  /// These numbers must never change: a seed gives the same rows everywhere and for ever.
  @Test(
    arguments: [
      (.apps, 1, 0xFEFC_CA27_6D46_7B89), (.apps, 2, 0xCCB7_6333_D4CB_A0B4),
      (.numbers, 1, 0x4A6D_F7B6_C2DB_BEAF), (.text, 1, 0xBDAA_BFEE_C1B1_631B),
    ] as [(SampleShape, UInt64, UInt64)])
  func aSeedGivesTheSameRowsEverywhere(shape: SampleShape, seed: UInt64, expected: UInt64) {
    let found = digest(Self.bytes(shape, seed: seed, rows: 300))
    #expect(found == expected, "\(shape) \(seed): \(String(found, radix: 16))")
  }

  @Test(
    "Fewer rows of a sample are the first rows of more; another seed gives other rows",
    arguments: SampleShape.allCases)
  func fewerRowsAreTheFirstOfMore(shape: SampleShape) {
    let many = Self.bytes(shape, seed: 3, rows: 800)
    for count in [0, 1, 2, 799] {
      #expect(many.starts(with: Self.bytes(shape, seed: 3, rows: count)), "\(count) rows")
    }
    #expect(!many.starts(with: Self.bytes(shape, seed: 4, rows: 2)))
  }

  @Test(
    "Every sample is well-formed CSV of its width", arguments: SampleShape.allCases,
    [0, 5, 2, UInt64.max])
  func noRecordIsMalformed(shape: SampleShape, seed: UInt64) throws {
    let count = shape == .text ? 300 : 2000
    let records = try #require(TinyCSV.records(Self.bytes(shape, seed: seed, rows: count)))
    let width = [SampleShape.apps: 13, .numbers: 20, .text: 2][shape]
    #expect(records.count == count + 1)
    #expect(records.allSatisfy { $0.count == width }, "seed \(seed)")
    for record in records {
      for field in record {
        let text = String(validating: field, as: UTF8.self)
        #expect(text != nil, "seed \(seed)")
        let controls = field.contains { $0 < 0x20 && $0 != 0x0A || $0 == 0x7F }
        #expect(!controls, "seed \(seed): \(text ?? "")")
      }
    }
  }

  @Test("sheaf sample without options prints samples/googleplaystore.csv")
  func theSampleFileIsTheDefaultOutput() throws {
    let result = try SheafProcess.run(["sample"])
    #expect(result.status == 0)
    // `==` on the arrays would print twelve megabytes in a failure.
    let isSame = result.output == (try Repository.read("samples/googleplaystore.csv"))
    #expect(isSame)
    #expect((5_700_000...6_100_000).contains(result.output.count))
  }

  @Test("The sample of numbers has its kinds of columns")
  func numbersHaveTheirTraits() throws {
    let records = try #require(TinyCSV.records(Self.bytes(.numbers, seed: 1, rows: 2000)))
    let columns = (0..<20).map { column in
      records.dropFirst().map { String(decoding: $0[column], as: UTF8.self) }
    }
    #expect(columns[0].compactMap { Int($0) } == Array(1...2000))
    #expect(columns[5].contains { $0.hasPrefix("-") })
    #expect(columns[7].allSatisfy { $0.count == 15 })
    #expect((1000...1800).contains(columns[18].count { $0.isEmpty }))
    #expect((200...600).contains(columns[19].count { $0.isEmpty }))
    for (column, values) in columns.enumerated() {
      let given = values.filter { !$0.isEmpty }
      #expect(given.allSatisfy { Double($0) != nil }, "column \(column)")
      #expect(!given.contains("-0"), "column \(column)")
    }
    #expect(columns[12].contains { $0.split(separator: ".").last?.count == 6 })
  }

  @Test("The sample of prose has newlines, quotes, commas and other letters")
  func proseHasItsTraits() throws {
    let bytes = Self.bytes(.text, seed: 1, rows: 500)
    #expect((900...1150).contains(bytes.count / 500))
    let texts = try #require(TinyCSV.records(bytes)).dropFirst().map { $0[1] }
    #expect(texts.contains { $0.contains(0x0A) })
    #expect(texts.contains { $0.contains(UInt8(ascii: "\"")) })
    #expect(texts.contains { $0.contains(UInt8(ascii: ",")) })
    #expect(texts.contains { $0.contains { $0 >= 0x80 } })
  }
}

/// The sample has the traits of the list of apps that it replaces, over as many rows.
@Suite struct AppSampleTests {
  private static let rows = 10_840

  private struct Column {
    let counts: [String: Int]
    let meanBytes: Double
    let longest: Int

    init(_ values: [String]) {
      counts = values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
      meanBytes = Double(values.reduce(0) { $0 + $1.utf8.count }) / Double(values.count)
      longest = values.map(\.utf8.count).max() ?? 0
    }
  }

  private static let records: [[String]] =
    (TinyCSV.records(SampleTests.bytes(.apps, seed: 1, rows: rows)) ?? []).map { record in
      record.map { String(decoding: $0, as: UTF8.self) }
    }

  private static let columns: [Column] =
    records.isEmpty
    ? []
    : records[0].indices.map { index in Column(records.dropFirst().map { $0[index] }) }

  @Test("The sample's header is that of the original")
  func theHeader() {
    #expect(
      Self.records.first?.joined(separator: ",")
        == "App,Category,Rating,Reviews,Size,Installs,Type,Price,Content Rating,Genres,"
        + "Last Updated,Current Ver,Android Ver")
  }

  /// Distinct values, mean bytes, longest, and the most frequent value with its count.
  @Test(
    arguments: [
      (0, 9_659, 22.5, 194, nil, 0), (1, 33, 9.0, 19, "FAMILY", 1972), (2, 40, 2.8, 3, "NaN", 1474),
      (3, 6_001, 3.7, 8, "0", 596), (4, 461, 5.7, 18, "Varies with device", 1695),
      (5, 21, 7.9, 14, "1,000,000+", 1579), (6, 3, 4.0, 4, "Free", 10_039),
      (7, 92, 1.3, 7, "0", 10_040), (8, 6, 7.8, 15, "Everyone", 8714),
      (9, 119, 10.4, 37, "Tools", 842), (10, 1_377, 13.9, 18, "August 3, 2018", 326),
      (11, 2_785, 6.6, 50, "Varies with device", 1459), (12, 34, 11.3, 18, "4.1 and up", 2451),
    ] as [(Int, Int, Double, Int, String?, Int)])
  func aColumn(
    index: Int, distinct: Int, mean: Double, longest: Int, frequent: String?, count: Int
  ) throws {
    try #require(Self.columns.count == 13)
    let column = Self.columns[index]
    let share = Double(column.counts.count) / Double(distinct)
    #expect((0.8...1.25).contains(share), "\(column.counts.count) distinct")
    #expect(abs(column.meanBytes - mean) <= max(0.4, mean * 0.04), "mean \(column.meanBytes)")
    #expect(column.longest <= longest)
    guard let frequent else { return }
    let found = Double(column.counts[frequent] ?? 0) / Double(count)
    #expect((0.8...1.2).contains(found), "\(frequent): \(column.counts[frequent] ?? 0)")
    #expect(column.counts.values.max() ?? 0 <= (column.counts[frequent] ?? 0) * 5 / 4)
  }

  @Test("Names repeat at most 16 times, and have commas, quotes, line breaks, emoji and Chinese")
  func namesAreHardAndMostlyDistinct() throws {
    try #require(Self.columns.count == 13)
    let names = Self.columns[0].counts
    #expect((5...16).contains(names.values.max() ?? 0))
    #expect(names.keys.contains { $0.contains(",") })
    #expect(names.keys.contains { $0.contains("\"") })
    #expect(names.keys.contains { $0.contains("\n") })
    #expect(names.keys.contains { $0.unicodeScalars.contains { $0.value > 0x1F000 } })
    #expect(
      names.keys.contains { $0.unicodeScalars.contains { (0x4E00...0x9FFF).contains($0.value) } })
  }

  @Test("Between 300 and 900 of 10,840 rows repeat an earlier one")
  func rowsRepeatNowAndThen() {
    let distinct = Set(Self.records.map { $0.joined(separator: "\u{1}") }).count
    #expect((300...900).contains(Self.records.count - distinct))
  }

  @Test("Numbers of reviews are distributed as in the original")
  func reviewsHaveAHeavyTail() {
    let reviews = Self.records.dropFirst().compactMap { Int($0[3]) }.sorted()
    #expect(reviews.count == Self.rows)
    #expect((500...6000).contains(reviews[Self.rows / 2]))
    #expect((10_000_000...78_158_306).contains(reviews[Self.rows - 1]))
    // Apps with few installations do not have a million reviews.
    let rare = Self.records.dropFirst().filter { $0[5] == "10+" }.compactMap { Int($0[3]) }
    #expect(rare.allSatisfy { $0 < 10_000 })
  }

  @Test("A row of the sample has 120 to 128 bytes on average")
  func aRowIsAboutAsLongAsInTheOriginal() {
    let bytes = SampleTests.bytes(.apps, seed: 7, rows: 5000).count
    #expect((120...128).contains(bytes / 5000))
  }

  @Test("Days become dates of the proleptic calendar")
  func datesAreRight() {
    #expect(AppColumns.longDate(daysSince1970: 17_751) == "\"August 8, 2018\"")
    #expect(AppColumns.longDate(daysSince1970: 16_860) == "\"February 29, 2016\"")
    #expect(AppColumns.longDate(daysSince1970: 16_861) == "\"March 1, 2016\"")
    #expect(AppColumns.longDate(daysSince1970: 17_531) == "\"December 31, 2017\"")
    #expect(AppColumns.longDate(daysSince1970: 17_532) == "\"January 1, 2018\"")
  }
}
