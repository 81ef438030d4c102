/// Counts durations in buckets 1.6% wide: a percentile then takes neither memory for each duration nor
/// sorting beside the measured work.
struct Latencies {
  /// The number of buckets for each power of two.
  private static let steps = 64
  private var buckets = [UInt64](repeating: 0, count: 64 * Latencies.steps)
  private(set) var count: UInt64 = 0
  private var longest: UInt64 = 0

  mutating func add(_ nanoseconds: UInt64) {
    buckets[Self.bucket(nanoseconds)] &+= 1
    count &+= 1
    longest = max(longest, nanoseconds)
  }

  /// The duration that a share of all do not exceed, to the width of a bucket.
  func percentile(_ share: Double) -> UInt64 {
    let wanted = UInt64((Double(count) * share).rounded(.up))
    var seen: UInt64 = 0
    for (index, found) in buckets.enumerated() {
      seen &+= found
      if seen >= wanted, found > 0 { return min(Self.upperBound(index), longest) }
    }
    return longest
  }

  func json(_ name: String) -> String {
    let shares = [("p50", 0.5), ("p99", 0.99), ("p999", 0.999)]
    return (shares.map { ($0.0, percentile($0.1)) } + [("max", longest)])
      .map { "\"\(name)_\($0.0)_ns\":\($0.1)" }.joined(separator: ",")
  }

  private static func bucket(_ value: UInt64) -> Int {
    if value < UInt64(steps) { return Int(value) }
    let power = 63 - value.leadingZeroBitCount
    let step = Int(truncatingIfNeeded: value >> UInt64(power - 6)) - steps
    return (power - 5) * steps + step
  }

  /// The longest duration of a bucket.
  private static func upperBound(_ bucket: Int) -> UInt64 {
    if bucket < 2 * steps { return UInt64(bucket) }
    let power = UInt64(bucket / steps - 1)
    return ((UInt64(bucket % steps + steps) &+ 1) << power) &- 1
  }
}
