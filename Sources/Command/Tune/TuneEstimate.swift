/// The growth of a cost with the records, from two imports of different lengths. The two separate the fixed
/// cost of an import from the cost of its records.
struct TuneEstimate: Sendable, Equatable {
  private let records: Int
  private let value: Double
  private let perRecord: Double

  /// - Parameters:
  ///   - short: fewer records and their cost; nil, or no fewer: the cost is assumed to be proportional.
  ///   - long: more records and their cost.
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

  /// The estimated cost of a number of records.
  func value(_ count: Int) -> Double {
    max(value, value + perRecord * Double(count - records))
  }

  /// The number of records for a cost; at least one.
  func count(for cost: Double) -> Int {
    guard perRecord > 0 else { return .max / 2 }
    return Int(min(max(1, Double(records) + (cost - value) / perRecord), 1e15))
  }
}
