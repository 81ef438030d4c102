import Engine

/// One measured import, and the compaction after it.
struct TuneRun: Sendable, Equatable {
  let round: Int
  let combination: TuneCombination
  let records: Int
  let rejected: Int
  let transactions: Int
  /// Times of the whole process that imported.
  let seconds: Double
  let userSeconds: Double
  let systemSeconds: Double
  let bytesWritten: Int
  /// Before compaction.
  let fileBytes: Int
  let compactedBytes: Int
  let compactSeconds: Double
  /// The most memory of the process that imported.
  let peakMemory: Int

  /// All values of a run, under their names in `results.json` and `results.csv`.
  var fields: [(name: String, value: JSONValue)] {
    [
      ("round", .int(round)), ("batchSize", combination.batchSize.json),
      ("durability", .string(combination.durability.rawValue)), ("records", .int(records)),
      ("rejected", .int(rejected)), ("transactions", .int(transactions)),
      ("seconds", .double(seconds)), ("userSeconds", .double(userSeconds)),
      ("systemSeconds", .double(systemSeconds)), ("bytesWritten", .int(bytesWritten)),
      ("fileBytes", .int(fileBytes)), ("compactedBytes", .int(compactedBytes)),
      ("compactSeconds", .double(compactSeconds)), ("peakMemory", .int(peakMemory)),
    ]
  }

  static let names = [
    "round", "batchSize", "durability", "records", "rejected", "transactions", "seconds",
    "userSeconds", "systemSeconds", "bytesWritten", "fileBytes", "compactedBytes",
    "compactSeconds", "peakMemory",
  ]

  var json: JSONValue { .object(fields.map { .init(key: $0.name, value: $0.value) }) }
}

/// A number with a middle between any two values.
protocol Measured: Comparable, Sendable {
  static func middle(_ lower: Self, _ upper: Self) -> Self
}

extension Int: Measured {
  static func middle(_ lower: Int, _ upper: Int) -> Int { lower + (upper - lower) / 2 }
}

/// Seconds, to the microsecond, as they are measured.
extension Double: Measured {
  static func middle(_ lower: Double, _ upper: Double) -> Double {
    ((lower + upper) * 5e5).rounded() / 1e6
  }
}

/// The median of a few runs, and their range.
struct Spread<Value: Measured>: Sendable {
  let median: Value
  let minimum: Value
  let maximum: Value

  /// Nil without values.
  init?(_ values: [Value]) {
    let sorted = values.sorted()
    guard let first = sorted.first, let last = sorted.last else { return nil }
    minimum = first
    maximum = last
    median = Value.middle(sorted[(sorted.count - 1) / 2], sorted[sorted.count / 2])
  }

  func json(_ make: (Value) -> JSONValue) -> JSONValue {
    ["median": make(median), "min": make(minimum), "max": make(maximum)]
  }
}

/// The runs of one combination together.
///
/// When the runs read only a part of the input, times, sizes and bytes are estimated for all of it; memory is
/// not.
struct TuneSummary: Sendable {
  let combination: TuneCombination
  let runs: Int
  /// The records that each run read.
  let records: Int
  let isScaled: Bool
  /// A run on fewer records, for the estimate; nil without one.
  let part: TuneRun?
  let seconds: Spread<Double>
  let bytesWritten: Spread<Int>
  let fileBytes: Spread<Int>
  let compactedBytes: Spread<Int>
  let compactSeconds: Spread<Double>
  let peakMemory: Spread<Int>

  /// Nil without runs.
  ///
  /// - Parameters:
  ///   - total: the records of the whole input.
  ///   - parts: runs on fewer records than the others; without one, the cost is assumed to be proportional.
  init?(_ combination: TuneCombination, _ all: [TuneRun], total: Int, parts: [TuneRun] = []) {
    let runs = all.filter { $0.combination == combination }
    let records = runs.first?.records ?? 0
    let part = records == total ? nil : parts.first { $0.combination == combination }
    func estimate(_ own: Double, _ short: Double?) -> Double {
      TuneEstimate(short.map { (part?.records ?? 0, $0) }, (records, own)).value(total)
    }
    func sizes(_ path: KeyPath<TuneRun, Int>) -> Spread<Int>? {
      Spread(
        runs.map { run in
          let own = run[keyPath: path]
          if records == total { return own }
          let all = estimate(Double(own), part.map { Double($0[keyPath: path]) })
          return Int(min(all, 1e18).rounded())
        })
    }
    func times(_ path: KeyPath<TuneRun, Double>) -> Spread<Double>? {
      Spread(
        runs.map { run in
          let own = run[keyPath: path]
          return records == total
            ? own : (estimate(own, part?[keyPath: path]) * 1e6).rounded() / 1e6
        })
    }
    guard let seconds = times(\.seconds), let bytesWritten = sizes(\.bytesWritten),
      let fileBytes = sizes(\.fileBytes), let compactedBytes = sizes(\.compactedBytes),
      let compactSeconds = times(\.compactSeconds),
      let peakMemory = Spread(runs.map(\.peakMemory))
    else { return nil }
    self.combination = combination
    self.runs = runs.count
    self.records = records
    isScaled = records != total
    self.part = part
    self.seconds = seconds
    self.bytesWritten = bytesWritten
    self.fileBytes = fileBytes
    self.compactedBytes = compactedBytes
    self.compactSeconds = compactSeconds
    self.peakMemory = peakMemory
  }

  var json: JSONValue {
    [
      "batchSize": combination.batchSize.json,
      "durability": .string(combination.durability.rawValue), "runs": .int(runs),
      "records": .int(records), "scaled": .bool(isScaled), "part": .optional(part, \.json),
      "seconds": seconds.json { .double($0) },
      "bytesWritten": bytesWritten.json { .int($0) },
      "fileBytes": fileBytes.json { .int($0) },
      "compactedBytes": compactedBytes.json { .int($0) },
      "compactSeconds": compactSeconds.json { .double($0) },
      "peakMemory": peakMemory.json { .int($0) },
    ]
  }
}
