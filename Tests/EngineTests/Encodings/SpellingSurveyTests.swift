import TestSupport
import Testing

@testable import Engine

/// Classes and bounds that are found in one pass, compared with those of one value after the other.
@Suite struct SpellingSurveyTests {
  /// Reads each spelling as a value, and compares the values.
  private static func twin(_ spellings: [[UInt8]]) -> (TypeObservation, ColumnStatistics) {
    var observation = TypeObservation()
    for (row, spelling) in spellings.enumerated() {
      observation.insert(SlowClassifier.classify(spelling), row: row)
    }
    let kind = ColumnStatistics.kind(observation.classes)
    func bounds(_ type: ColumnType, _ number: (Value) -> Int64?) -> ColumnStatistics {
      let numbers = spellings.compactMap { Value(spelling: $0, type: type).flatMap(number) }
      guard let low = numbers.min(), let high = numbers.max() else { return .none }
      return ColumnStatistics(kind: kind, integers: low...high)
    }
    switch kind {
    case .none: return (observation, .none)
    case .integers:
      return (observation, bounds(.int) { if case .int(let int) = $0 { int } else { nil } })
    case .days:
      return (
        observation,
        bounds(.date) { if case .date(let day) = $0 { Int64(day.daysSince1970) } else { nil } }
      )
    case .moments:
      return (
        observation,
        bounds(.dateTime) {
          if case .dateTime(let moment) = $0 { moment.microsecondsSince1970 } else { nil }
        }
      )
    case .doubles:
      var (low, high) = (Double.infinity, -Double.infinity)
      for spelling in spellings {
        guard case .double(let double) = Value(spelling: spelling, type: .double) else { continue }
        if double < low { low = double }
        if double > high { high = double }
      }
      return (
        observation,
        ColumnStatistics(kind: kind, minimum: low.bitPattern, maximum: high.bitPattern)
      )
    case .text:
      let prefixes = spellings.map { spelling in
        (spelling.prefix(8) + [UInt8](repeating: 0, count: 8)).prefix(8)
          .reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
      }
      return (
        observation,
        ColumnStatistics(
          kind: kind, minimum: prefixes.min() ?? 0, maximum: prefixes.max() ?? 0)
      )
    }
  }

  private static func expectSame(_ spellings: [[UInt8]], _ comment: String) {
    let (observation, statistics) = twin(spellings)
    var survey = SpellingSurvey()
    var collector = StatisticsCollector(statistics.kind)
    var fits = true
    for (row, spelling) in spellings.enumerated() {
      spelling.withUnsafeBytes { bytes in
        survey.add(SpellingView(bytes), row: row)
        fits = collector.add(SpellingView(bytes)) && fits
      }
    }
    #expect(survey.observation == observation, "\(comment)")
    #expect(isSame(survey.statistics, statistics), "\(comment): \(survey.statistics) \(statistics)")
    guard statistics.kind != .none else { return }
    #expect(fits && isSame(collector.result, statistics), "\(comment): \(collector.result)")
  }

  private static func isSame(_ one: ColumnStatistics, _ other: ColumnStatistics) -> Bool {
    // The order decides between 0 and -0.
    one == other || (one.kind == other.kind && one.numbers != nil && one.numbers == other.numbers)
  }

  @Test("Columns of every kind, and mixtures of two", arguments: Effort.seeds(1..<5))
  func mixtures(seed: UInt64) {
    var generator = ColumnGenerator(random: SplitMix64(seed: seed))
    for round in 0..<400 {
      let kinds = (0..<2).map { _ in
        Int.random(in: 0..<ColumnGenerator.kinds, using: &generator.random)
      }
      var spellings = (0..<Int.random(in: 1...40, using: &generator.random)).map { row in
        generator.spelling(kind: kinds[row % 7 == 6 && round % 2 == 0 ? 1 : 0])
      }
      if round % 3 == 0 {
        let row = Int.random(in: spellings.indices, using: &generator.random)
        spellings[row] = [0x20] + spellings[row] + [0x20]
      }
      Self.expectSame(spellings, "seed \(seed), round \(round): \(spellings)")
    }
  }

  @Test("Numbers in every form, and what is nearly one")
  func forms() {
    let numbers = [
      "5", "-5", "0", "-0", "+5", "0.0", "-0.0", ".5", "5.", "-7.", "1e3", "1E-3", "1.5e+10",
      "9007199254740993", "9223372036854775807", "9223372036854775808", "1e308", "-1e308",
      "4.9e-324", "NaN", "nan", "inf", "-inf", "Infinity", "1e400", "0.1234567890123456789",
      "123456789012345678.5", " 7", "7 ", "12345678901234567890123", "0.00000000000000000000001",
      "1e22", "1e23", "1e-22", "1e-23", "18446744073709551615e-10",
    ].map { Array($0.utf8) }
    for one in numbers {
      Self.expectSame([one], String(decoding: one, as: UTF8.self))
      for other in numbers {
        Self.expectSame([one, other, one], String(decoding: one + [0x20] + other, as: UTF8.self))
      }
    }
  }

  @Test("Numbers of 17 digits that differ in the last one, in any order")
  func neighbours() {
    var random = SplitMix64(seed: 3)
    for base in [
      "0.1234567890123456", "123.45678901234567", "-98765432.109876543", "1234567890123456.7",
    ] {
      for order in 0..<3 {
        var spellings = (0..<300).map { step -> [UInt8] in
          var digits = Array(base.utf8)
          // Counts up in the last three digits, and over the point of the last text.
          var carry = step
          for place in digits.indices.reversed() where digits[place] &- 0x30 < 10 {
            let sum = Int(digits[place] &- 0x30) + carry % 10
            digits[place] = UInt8(0x30 + sum % 10)
            carry = carry / 10 + sum / 10
            if carry == 0 { break }
          }
          return digits
        }
        if order == 1 { spellings.reverse() }
        if order == 2 { spellings.shuffle(using: &random) }
        Self.expectSame(spellings, "\(base), order \(order)")
        // Far from one of the bounds, and near the other.
        for other in ["-1000000000000.5", "1000000000000.5"] {
          Self.expectSame([Array(other.utf8)] + spellings, "\(other), \(base), order \(order)")
        }
      }
    }
  }

  @Test("Dates and date-times, some of them none")
  func dates() {
    let good = ["2018-08-03", "0000-01-01", "9999-12-31", "2020-02-29", "2018-08-03T04:05:06Z"]
    let other = ["2019-02-29", "2018-08-03 25:00", "2018-08-03T04:05:06.1234567Z", "1", "text"]
    for one in good {
      for two in good + other {
        Self.expectSame([Array(one.utf8), Array(two.utf8)], "\(one) \(two)")
      }
    }
  }
}
