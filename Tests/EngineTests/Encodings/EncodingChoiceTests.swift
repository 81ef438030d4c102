import Testing
import TestSupport

@testable import Engine

/// The choice between encodings: the one that takes the fewest bytes.
@Suite struct EncodingChoiceTests {
  private func column(_ texts: some Sequence<String>) -> [Spelling] { texts.map { Array($0.utf8) } }

  private func encoding(
    _ column: [Spelling], _ effort: EncodingEffort = .fast
  ) throws -> ColumnEncoding {
    try encode([column], with: ClusterBuilder(effort: effort)).columns[0].encoding
  }

  @Test("Each encoding is chosen for its values")
  func eachEncodingIsChosen() throws {
    #expect(try encoding(column((0..<50).map { _ in "same" })) == .constant)
    #expect(try encoding((0..<50).map { _ in nil }) == .constant)
    #expect(try encoding(column((0..<99).map { "\($0 * 37)" })) == .integers)
    #expect(try encoding(column((0..<99).map { "\($0 * 7).\($0 % 10)" })) == .decimals)
    #expect(try encoding(column((10..<99).map { "August \($0 % 30 + 1), 2018" })) == .dates)
    let prose = column((0..<99).map { "of row number \($0 * $0) this is the text \($0 % 7)" })
    #expect(try encoding(prose) == .packedText && encoding(prose, .thorough) == .symbolText)
    #expect(try encoding(column((0..<99).map { "\($0 * 7).\($0 % 90 + 10)e-7" })) != .doubles)
    #expect(try encoding(column((1..<99).map { "\(Double($0) * 1.0123456789e-7)" })) == .doubles)
    #expect(try encoding(column((0..<99).map { ["GAME", "TOOLS"][$0 % 2] })) == .dictionary)
    #expect(try encoding(column((0..<99).map { "\($0) name" })) == .packedText)
    #expect(try encoding(column((0..<199).map { "name \($0 * 77)" })) == .symbolText)
    #expect(try encoding(column((10..<99).map { "2018-01-\($0 % 20 + 10)" })) == .dates)
    #expect(
      try encoding(column((10..<99).map { "2018-01-02 03:04:\($0 % 49 + 10)" })) == .dateTimes)
  }

  @Test("A column of 200 integers stays one with 2 other fields, and not with 20 more")
  func aFewMisfitsAreExceptions() throws {
    var numbers = column((0..<200).map { "\($0 * 37)" })
    numbers[17] = Array("NaN".utf8)
    numbers[80] = Array("+5".utf8)
    #expect(try encoding(numbers) == .integers)
    for row in 0..<20 { numbers[row * 3] = Array("Varies with device".utf8) }
    #expect(try encoding(numbers) != .integers)
  }

  /// A single huge number must not widen the others.
  @Test func outliersAreExceptions() throws {
    let small = column((0..<400).map { "\(($0 * 7919) % 1000)" })
    var outlier = small
    outlier[100] = Array("9007199254740991".utf8)
    let sizes = try [small, outlier].map { try encode([$0]).columns[0].byteCount }
    #expect(sizes[1] < sizes[0] + 60)
  }

  /// Nulls take a mark each wherever they are, and do not change bounds, differences or exceptions.
  @Test func nullsTakeTheirMarks() throws {
    func size(_ column: [Spelling]) throws -> Int {
      try encode([column], with: ClusterBuilder()).columns[0].byteCount
    }
    let rows = 400
    let marks = rows / 8 + 16
    let sequence = column((0..<rows).map { "\(5_000_000 + $0)" })
    let front = sequence.enumerated().map { $0 < 10 ? nil : $1 }
    // A difference of 0 among those of 1 costs a bit a row.
    #expect(try size(front) < size(sequence) + marks + rows / 8)
    let few = sequence.enumerated().map { $0 % 9 == 4 ? nil : $1 }
    #expect(try size(few) < size(sequence) + marks + rows / 4)
    // An outlier is one exception, however many nulls follow.
    var outlier = column((0..<rows).map { "\(($0 * 7919) % 1000)" })
    let small = try size(outlier)
    outlier[100] = Array("9007199254740991".utf8)
    for row in 101..<170 { outlier[row] = nil }
    #expect(try size(outlier) < small + marks + 60)
    let prices = column((0..<rows).map { "\($0 * 37 % 1000).\($0 % 90 + 10)" })
    let gaps = prices.enumerated().map { $0 < 5 || $0 % 7 == 0 ? nil : $1 }
    #expect(try size(gaps) < size(prices) + marks)
  }

  /// The gain by each form of numbers and indices, in bytes a row.
  @Test func formsPay() throws {
    func size(_ column: [Spelling], _ effort: EncodingEffort) throws -> Double {
      let segment = try encode([column], with: ClusterBuilder(effort: effort)).columns[0]
      return Double(segment.byteCount) / Double(column.count)
    }
    let rows = 4000
    var random = SplitMix64(seed: 5)
    let sequence = column((0..<rows).map { "\(5_000_000 + $0)" })
    #expect(try size(sequence, .fast) < 0.03)
    let tails = column(
      (0..<rows).map { _ in
        "\(UInt64.random(in: 0...UInt64.max, using: &random) >> (4 + UInt64.random(in: 0..<60, using: &random)))"
      })
    #expect(try size(tails, .thorough) < 0.75 * size(tails, .fast))
    let runs = column((0..<rows).map { ["GAME", "FAMILY", "TOOLS"][$0 / 300 % 3] })
    #expect(try size(runs, .fast) < 0.03)
    let skewed = column((0..<rows).map { $0 % 16 == 0 ? "$\($0 % 7).99" : "0" })
    #expect(try size(skewed, .thorough) < 0.2)
    let mostlyNew = column((0..<rows).map { "name \($0 % 50 == 0 ? 0 : $0 * 7919)" })
    #expect(try size(mostlyNew, .fast) < size(Array(Set(mostlyNew)), .fast) + 0.3)
    let trimmed = column((0..<rows).map { "\(Double($0 * 7919 % 100_000) / 100)".dropZero })
    let padded = column((0..<rows).map { "\($0 * 7919 % 1000).\($0 % 90 + 10)" })
    #expect(try size(trimmed, .fast) < size(padded, .fast) + 0.1)
  }

  /// An encoding that is not even tried cannot be smaller, down to the last bit and row.
  @Test func narrowEscapes() throws {
    func size(_ column: [Spelling]) throws -> Int {
      try encode([column], with: ClusterBuilder()).columns[0].byteCount
    }
    let rows = 1024
    var random = SplitMix64(seed: 7)
    // Numbers of 20 bits whose differences take 19.
    var number = 0
    let walk = column(
      (0..<rows).map { _ in
        let most = 1 << 18
        number += .random(
          in: max(1 - most, -number)...min(most - 1, 1 << 20 - 1 - number), using: &random)
        return "\(number)"
      })
    #expect(try size(walk) < rows * 20 / 8)
    // One number in sixteen may need many more bits than the others.
    func wide(_ count: Int) -> [Spelling] {
      column(
        (0..<rows).map { row in
          let isWide = row % 16 == 0 && row / 16 < count || row == 1 && count > rows / 16
          return "\((isWide ? 1 << 40 : 0) + Int.random(in: 0..<512, using: &random))"
        })
    }
    let (most, tooMany) = (try size(wide(rows / 16)), try size(wide(rows / 16 + 1)))
    #expect(most + 500 < tooMany, "\(most), \(tooMany)")
  }

  /// A dictionary of numbers is given up as soon as its entries take more than the numbers, not before.
  @Test func dictionariesOfNumbersEndWhereTheyTakeMore() throws {
    let rows = 1024
    var random = SplitMix64(seed: 9)
    // 15 digits each, 50 bits between the bounds.
    let different = (0..<rows).map { row -> Spelling in
      let ends = [100_000_000_000_000, 999_999_999_999_999]
      let number = row < 2 ? ends[row] : Int.random(in: ends[0]...ends[1], using: &random)
      return Array("\(number)".utf8)
    }
    let numbers = try encode([different], with: ClusterBuilder()).columns[0]
    #expect(numbers.encoding == .integers)
    let room =
      numbers.byteCount - DictionaryEncoding.headerSize - PackedStrings.headerSize - rows / 8
    let most = room / 15
    func repeating(_ count: Int) -> [Spelling] { (0..<rows).map { different[$0 % count] } }
    #expect(try encoding(repeating(most)) == .dictionary)
    #expect(try encoding(repeating(most + 1)) == .integers)
    // A null does not count as the number before it.
    let gaps = repeating(most - 40).enumerated().map { $0 % 3 == 1 ? nil : $1 }
    #expect(try encoding(gaps) == .dictionary)
  }

  /// Entries that are packed as digits take less than their spellings, also those that are no numbers.
  @Test func dictionariesOfDigits() throws {
    func column(_ entries: [String]) throws -> ColumnEncoding {
      var random = SplitMix64(seed: 3)
      let rows = (0..<1000).map { row in
        Array(
          entries[row < entries.count ? row : Int.random(in: 0..<entries.count, using: &random)]
            .utf8)
      }
      return try encoding(rows.shuffled(using: &random).map { $0 as Spelling })
    }
    let numbers = (0..<260).map { "\(1000 + $0 * 7919 % 8999)" }
    #expect(try column(numbers) == .dictionary)
    // A number with zeros in front is none.
    let zeros = (0..<15).map { "0\(100 + $0 * 53)" }
    #expect(try column(Array(numbers[..<255]) + zeros) == .dictionary)
  }

  /// Dictionaries of numbers are counted out beforehand, by the fewest bytes that they can take.
  @Test(arguments: Effort.seeds(1..<41))
  func dictionariesThatAreNotBegun(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    for round in 0..<40 {
      let rows = [40, 300, 1000].randomElement(using: &random) ?? 1
      let (low, most) = (
        Int.random(in: -300...3000, using: &random), 1 << Int.random(in: 1..<14, using: &random)
      )
      let distinct = (0..<Int.random(in: 1...min(rows, most), using: &random)).map { _ in
        low + Int.random(in: 0..<most, using: &random)
      }
      let (step, run) = (
        [1, 10, 100].randomElement(using: &random) ?? 1, Int.random(in: 1...30, using: &random)
      )
      let isRun = Bool.random(using: &random)
      var last = distinct[0]
      let hasNulls = Int.random(in: 0..<4, using: &random) == 0
      let misfits =
        Int.random(in: 0..<3, using: &random) == 0 ? ["NA", "none of all these numbers"] : []
      let column = (0..<rows).map { row -> Spelling in
        if hasNulls, row % 7 == 3 { return nil }
        if !misfits.isEmpty, row % 40 == 5 { return Array(misfits[row / 40 % 2].utf8) }
        if !isRun || row % run == 0 { last = distinct.randomElement(using: &random) ?? 0 }
        return Array("\(last * step)".utf8)
      }
      let chosen = try encode([column], with: ClusterBuilder(effort: .fast)).columns[0]
      // What is larger than the plain dictionary was not even tried.
      let values = column.compactMap { $0 }
      let candidates = SlowSizes.candidates(column, .fast).filter { $0.0 != "constant" }
      for (name, size) in candidates where Set(values).count > 1 {
        // Few long runs take less than a bit a row, for which dictionaries are given up.
        if name == "runs", size < rows / 8 + 200 { continue }
        #expect(
          chosen.byteCount <= size + 4,
          "seed \(seed), round \(round): \(chosen.encoding) has \(chosen.byteCount), \(name) \(size)"
        )
      }
    }
  }

  /// Differences that overflow would wrap around to small numbers.
  @Test func differencesThatOverflow() throws {
    let numbers = column(
      (0..<200 as Range<Int64>).map { "\($0 % 2 == 0 ? Int64.max - $0 : Int64.min + $0)" })
    for effort in [EncodingEffort.fast, .thorough] {
      let segment = try encode([numbers], with: ClusterBuilder(effort: effort)).columns[0]
      #expect(segment.byteCount > 4 * numbers.count, "\(effort)")
    }
  }

  /// Of two encodings of equal size the one that is read as numbers is taken.
  @Test func ties() throws {
    // With its exception the column takes 43 bytes as two-digit text; with 17 rows it takes 44, as
    // numbers too.
    func texts(_ rows: Int) -> [Spelling] {
      column((0..<rows).map { $0 == 3 ? "xx" : "\(10 + $0 * 89 / (rows - 1))" })
    }
    #expect(try encoding(texts(16)) == .packedText)
    #expect(try encoding(texts(17)) == .integers)
  }

  @Test("Decimals of one scale take less space than of several")
  func decimalScales() throws {
    let mixed = column(
      (0..<99).map { ["4", "4.5", "4.25"][$0 % 3] + "\($0 % 7 + 1)" + "\($0 % 9)" })
    #expect(try encoding(mixed) == .decimals)
    let uniform = column((0..<99).map { "\($0).\($0 % 90 + 10)" })
    #expect(try encode([uniform]).columns[0].byteCount < encode([mixed]).columns[0].byteCount)
  }

  /// No other applicable encoding is smaller than the chosen one.
  @Test(arguments: Effort.seeds(1..<41))
  func choiceIsTheSmallest(seed: UInt64) throws {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    let effort: EncodingEffort = seed % 2 == 0 ? .fast : .thorough
    let builder = ClusterBuilder(effort: effort)
    for kind in 0..<ColumnGenerator.kinds {
      let rows = Int.random(in: 1...300, using: &generator.random)
      let column = generator.column(kind: kind, rows: rows)
      let chosen = try encode([column], with: builder).columns[0]
      let candidates = SlowSizes.candidates(column, effort)
      if candidates[0].0 == "constant" {
        // A constant is always taken: it is the fastest to read, even where a long number packs better.
        #expect(chosen.encoding == .constant, "seed \(seed) kind \(kind)")
        continue
      }
      for (name, size) in candidates {
        #expect(
          chosen.byteCount <= size + 4,
          "seed \(seed) \(effort) kind \(kind): \(chosen.encoding) has \(chosen.byteCount), \(name) \(size)"
        )
      }
    }
  }
}

extension String {
  fileprivate var dropZero: String { hasSuffix(".0") ? String(dropLast(2)) : self }
}

/// The sizes of all encodings that fit a column, from the tables of the format's page: the twin of the
/// choice.
enum SlowSizes {
  static func candidates(_ column: [Spelling], _ effort: EncodingEffort) -> [(String, Int)] {
    let values = column.compactMap { $0 }
    var result: [(String, Int)] = []
    if values.isEmpty { return [("constant", 1)] }
    if values.count == column.count, Set(values).count == 1 {
      result.append(("constant", 1 + values[0].count))
    }
    let nulls = values.count < column.count ? (column.count + 7) / 8 : 0
    result.append(("packed text", nulls + strings(column.map { $0?.count ?? 0 })))
    let distinct = Set(values)
    let entries = 5 + strings(distinct.map(\.count))
    for (name, size) in indices(column, distinct.count, hasNulls: nulls > 0, effort) {
      result.append((name, entries + size))
    }
    for (name, header, number) in [
      ("integers", 10, integer), ("dates", 11, date), ("doubles", 0, double),
    ] as [(String, Int, ([UInt8]) -> Int64?)] {
      let fitting = values.compactMap(number)
      let misfits = values.filter { number($0) == nil }.map(\.count)
      guard misfits.count <= values.count / 16, let low = fitting.min(), let high = fitting.max()
      else { continue }
      // Doubles are tried only where decimals do not fit.
      let isDecimal = values.filter { isCanonical($0) }.count >= values.count - values.count / 16
      if name == "doubles" && isDecimal { continue }
      let width = name == "doubles" ? 64 : bits(UInt64(bitPattern: high &- low))
      var size = nulls + header + packed(column.count, width)
      if !misfits.isEmpty {
        size += 5 + packed(misfits.count, bits(UInt64(column.count - 1))) + strings(misfits)
        // The planner computes the price of exceptions before it knows their shortest length.
        size += packed(misfits.count, bits(UInt64(column.map { $0?.count ?? 0 }.max() ?? 0)))
      }
      result.append((name, size))
      if name == "integers" && misfits.isEmpty && nulls == 0 {
        result += forms(fitting, effort)
      }
    }
    return result
  }

  /// The forms of numbers that are not plain.
  private static func forms(_ numbers: [Int64], _ effort: EncodingEffort) -> [(String, Int)] {
    var result: [(String, Int)] = []
    let starts = numbers.indices.filter { $0 % 128 == 0 }.map { numbers[$0] }
    let inner = numbers.indices.filter { $0 % 128 != 0 }
    let deltas = inner.map { numbers[$0].subtractingReportingOverflow(numbers[$0 - 1]) }
    if !deltas.contains(where: { $0.overflow }) {
      let sizes = [starts, deltas.map(\.partialValue)].map { list -> Int in
        bits(UInt64(bitPattern: (list.max() ?? 0) &- (list.min() ?? 0)))
      }
      let size = 19 + packed(starts.count, sizes[0]) + packed(numbers.count, sizes[1])
      result.append(("deltas", size))
    }
    if effort == .thorough, let low = numbers.min() {
      var counts = [Int](repeating: 0, count: 65)
      for number in numbers { counts[bits(UInt64(bitPattern: number &- low))] += 1 }
      let rest = counts.enumerated().reduce(0) { $0 + $1.element * max(0, $1.offset - 1) }
      result.append(("sized", 9 + 65 + coded(counts, rows: numbers.count, besides: rest)))
    }
    return result
  }

  private static func indices(
    _ column: [Spelling], _ entries: Int, hasNulls: Bool, _ effort: EncodingEffort
  ) -> [(String, Int)] {
    let rows = column.count
    let width = bits(UInt64(entries - (hasNulls ? 0 : 1)))
    let runs = 1 + (1..<max(rows, 1)).filter { column[$0] != column[$0 - 1] }.count
    var result = [("dictionary", 1 + packed(rows, width))]
    let ranks = packed((rows - 1) / 512, bits(UInt64(entries)))
    result.append(("fresh", (rows + 7) / 8 + 2 + ranks + packed(rows - entries, width)))
    result.append(
      ("runs", 6 + packed(runs - 1, bits(UInt64(rows))) + packed(runs, width)))
    if effort == .thorough && entries <= rows / 2 {
      var counts: [Spelling: Int] = [:]
      for spelling in column { counts[spelling, default: 0] += 1 }
      result.append(("coded", 4 + coded(Array(counts.values), rows: rows)))
    }
    return result
  }

  /// Rows in prefix codes, by David Huffman's algorithm with a list. The header counts at its largest
  /// size.
  private static func coded(_ counts: [Int], rows: Int, besides: Int = 0) -> Int {
    var weights = counts.filter { $0 > 0 }.sorted()
    var cost = besides
    while weights.count > 1 {
      let sum = weights.removeFirst() + weights.removeFirst()
      cost += sum
      weights.insert(sum, at: weights.firstIndex { $0 >= sum } ?? weights.count)
    }
    return 2 + 20 + 5 + packed((rows - 1) / 128, bits(UInt64(cost))) + (cost + 7) / 8
  }

  private static func bits(_ maximum: UInt64) -> Int { 64 - maximum.leadingZeroBitCount }
  private static func packed(_ count: Int, _ width: Int) -> Int { (count * width + 7) / 8 }

  private static func strings(_ lengths: [Int]) -> Int {
    let total = lengths.reduce(0, +)
    let width = bits(UInt64((lengths.max() ?? 0) - (lengths.min() ?? 0)))
    let starts = width == 0 || lengths.isEmpty ? 0 : (lengths.count - 1) / 16
    return 10 + packed(lengths.count, width) + packed(starts, bits(UInt64(total))) + total
  }

  private static func isCanonical(_ bytes: [UInt8]) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    let digits = text.hasPrefix("-") ? text.dropFirst() : Substring(text)
    let parts = digits.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 2,
      parts.allSatisfy({ part in !part.isEmpty && part.utf8.allSatisfy { $0 &- 48 < 10 } })
    else { return false }
    if parts[0].count > 1 && parts[0].hasPrefix("0") { return false }
    if parts.count == 2 && parts[1].count > 18 { return false }
    guard let mantissa = Int64((text.hasPrefix("-") ? "-" : "") + parts.joined()) else {
      return false
    }
    return !(text.hasPrefix("-") && mantissa == 0)
  }

  private static func integer(_ bytes: [UInt8]) -> Int64? {
    guard let int = Int64(String(decoding: bytes, as: UTF8.self)) else { return nil }
    return Array("\(int)".utf8) == bytes ? int : nil
  }

  private static func date(_ bytes: [UInt8]) -> Int64? {
    guard case .date(let date)? = Value(spelling: bytes, type: .date) else { return nil }
    return Int64(date.daysSince1970)
  }

  private static func double(_ bytes: [UInt8]) -> Int64? {
    guard let value = Double(String(decoding: bytes, as: UTF8.self)), value.isFinite else {
      return nil
    }
    return Array(value.description.utf8) == bytes ? Int64(bitPattern: value.bitPattern) : nil
  }
}
