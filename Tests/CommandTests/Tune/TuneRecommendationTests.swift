import Engine
import TestSupport
import Testing

@testable import Command

/// The recommendation of `sheaf tune`, compared with its rule, which is written here once more.
@Suite struct TuneRecommendationTests {
  private static func results(
    _ sizes: [CountOrAll], _ durabilities: [Durability], _ runs: [TuneRun], total: Int
  ) -> TuneResults {
    let settings = TuneSettings(
      input: "in.csv", batchSizes: sizes, durabilities: durabilities, repeats: 3, limit: nil,
      maxSeconds: 30, importWords: [])
    var results = TuneResults(settings: settings, machine: TuneMachine(folder: "."))
    results.records = total
    results.runs = runs
    results.isComplete = true
    return results
  }

  private static func run(
    _ size: CountOrAll, _ durability: Durability, seconds: Double, records: Int, bytes: Int = 1000
  ) -> TuneRun {
    TuneRun(
      round: 1, combination: TuneCombination(batchSize: size, durability: durability),
      records: records, rejected: 0, transactions: 1, seconds: seconds, userSeconds: 0,
      systemSeconds: 0, bytesWritten: bytes, fileBytes: bytes, compactedBytes: bytes / 2,
      compactSeconds: 0.5, peakMemory: 5_000_000)
  }

  @Test("The smallest batch within 5% of the fastest is chosen, with a doubt if chance did it")
  func theSmallestWithinFivePercent() throws {
    let sizes: [CountOrAll] = [.count(1), .count(10), .count(100), .all]
    let seconds = [3.0, 1.051, 1.05, 1.0]
    let results = Self.results(
      sizes, [.full],
      zip(sizes, seconds).map { Self.run($0, .full, seconds: $1, records: 500) }, total: 500)
    let found = try #require(TuneRecommendation(results))
    #expect(found.main.chosen.combination.batchSize == .count(100))
    #expect(found.main.fastest.combination.batchSize == .all)
    #expect(found.headline == "100 objects a transaction, durability full")
    #expect(found.reasons.contains { $0.contains("at most the batch being written, 100 records") })
    #expect(!found.reasons.contains { $0.hasPrefix("Doubt:") })
    // Chance alone excluded the smaller batch.
    let noisy =
      results.runs + [0.9, 1.3].map { Self.run(.count(10), .full, seconds: $0, records: 500) }
    let doubted = try #require(TuneRecommendation(Self.results(sizes, [.full], noisy, total: 500)))
    #expect(doubted.main.chosen.combination.batchSize == .count(100))
    #expect(doubted.reasons.contains { $0.hasPrefix("Doubt: 10 objects a transaction ") })
    #expect(TuneRecommendation(Self.results(sizes, [.full], [], total: 500)) == nil)
  }

  @Test("Any results give a recommendation that the rule allows", arguments: 1...20)
  func anyRuns(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let sizes: [CountOrAll] = [.count(1), .count(7), .count(50), .count(400), .all]
    let durabilities = Durability.allCases.filter { _ in random.next() % 3 > 0 }
    let total = 1000
    var runs: [TuneRun] = []
    var times: [String: [Double]] = [:]
    for durability in durabilities {
      for size in sizes {
        // A part of the input stands for all of it.
        let records = random.next() % 2 == 0 ? total : 250
        for _ in 0..<Int(random.next() % 4) {
          let seconds = 0.1 + Double(random.next() % 1000) / 10_000
          runs.append(Self.run(size, durability, seconds: seconds, records: records))
          times["\(durability) \(size.word)", default: []]
            .append(records == total ? seconds : seconds * 4)
        }
      }
    }
    runs.shuffle(using: &random)
    let results = Self.results(sizes, durabilities, runs, total: total)
    let found = TuneRecommendation(results)
    #expect((found == nil) == runs.isEmpty, "seed \(seed)")
    for choice in found?.choices ?? [] {
      let durability = choice.chosen.combination.durability
      var medians: [(size: CountOrAll, median: Double)] = []
      for size in sizes {
        let sorted = (times["\(durability) \(size.word)"] ?? []).sorted()
        if sorted.isEmpty { continue }
        let half = sorted.count / 2
        let median = sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
        medians.append((size, median))
      }
      let fastest = medians.map(\.median).min() ?? 0
      let expected = medians.first { $0.median <= fastest * 1.05 }
      #expect(choice.chosen.combination.batchSize == expected?.size, "seed \(seed)")
      #expect(abs(choice.chosen.seconds.median - (expected?.median ?? 0)) < 2e-6, "seed \(seed)")
    }
    // The default of `sheaf import`, or the strictest that was measured.
    let measured = Durability.allCases.filter { durability in
      runs.contains { $0.combination.durability == durability }
    }
    let main = measured.contains(.group) ? .group : measured.first
    #expect(found?.main.chosen.combination.durability == main, "seed \(seed)")
  }

  @Test("Results of a part are scaled to the whole input")
  func partsAreMultiplied() throws {
    let combination = TuneCombination(batchSize: .count(1), durability: .none)
    let runs = [1.0, 2, 4].map {
      Self.run(.count(1), .none, seconds: $0, records: 250, bytes: 1001)
    }
    let summary = try #require(TuneSummary(combination, runs, total: 1000))
    #expect(summary.isScaled && summary.runs == 3 && summary.records == 250)
    // An import's fixed cost is not multiplied.
    let fixed = TuneEstimate((100, 1.1), (400, 1.4))
    #expect(abs(fixed.value(10_000) - 11) < 1e-9 && fixed.count(for: 11) == 10_000)
    #expect(TuneEstimate(nil, (100, 2)).value(1000) == 20)
    #expect(TuneEstimate((100, 2), (100, 2)).value(1000) == 20)
    #expect(TuneEstimate((100, 3), (400, 2)).value(1000) == 2)
    #expect(summary.seconds.median == 8 && summary.seconds.minimum == 4)
    #expect(summary.seconds.maximum == 16 && summary.compactSeconds.median == 2)
    #expect(summary.fileBytes.median == 4004 && summary.compactedBytes.median == 2000)
    #expect(summary.peakMemory.median == 5_000_000)
  }

  @Test("Times and markup are formatted for people")
  func numbersForPeople() {
    #expect(TuneFormat.seconds(0.0243) == "24.3 ms" && TuneFormat.seconds(1.234) == "1.23 s")
    #expect(TuneFormat.seconds(0.99949) == "999 ms" && TuneFormat.seconds(0.9996) == "1.00 s")
    #expect(TuneFormat.seconds(81.12) == "81.1 s" && TuneFormat.seconds(1234.5) == "1,235 s")
    #expect(TuneFormat.seconds(.nan) == "unknown" && TuneFormat.seconds(.infinity) == "unknown")
    // A combining mark does not hide the character before it.
    #expect(Markup.escaped("<\u{338}a&\"'\u{1B}") == "&lt;\u{338}a&amp;&quot;&#39;\\u{1b}")
  }
}
