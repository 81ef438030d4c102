/// How a cost grows with the records, from two imports of different lengths: what an import costs before its
/// first record is not paid again for every part.
struct TuneEstimate: Sendable, Equatable {
  private let records: Int
  private let value: Double
  private let perRecord: Double

  /// - Parameters:
  ///   - short: fewer records, and what they cost; nil, or no fewer: the cost is taken for proportional.
  ///   - long: more records.
  init(_ short: (records: Int, value: Double)?, _ long: (records: Int, value: Double)) {
    records = long.records
    value = long.value
    let proportional = long.records > 0 ? long.value / Double(long.records) : 0
    guard let short, short.records < long.records else {
      perRecord = proportional
      return
    }
    let slope = (long.value - short.value) / Double(long.records - short.records)
    perRecord = max(0, slope)
  }

  /// What more records than measured would cost.
  func value(_ count: Int) -> Double {
    max(value, value + perRecord * Double(count - records))
  }

  /// How many records can be had for a cost; at least one.
  func count(for cost: Double) -> Int {
    guard perRecord > 0 else { return .max / 2 }
    return Int(min(max(1, Double(records) + (cost - value) / perRecord), 1e15))
  }
}
