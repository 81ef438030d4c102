/// A discrete distribution, evaluated at a position: 0 is its start and 2^32 its end. Entry `i` has a share
/// of the positions equal to its weight over the sum of all weights.
struct WeightTable: Sendable {
  /// The sums of the weights up to and including each entry.
  private let sums: [UInt64]
  private let total: UInt64
  /// For each value of the position's highest byte, the first entry it can mean.
  private let guide: [Int]

  /// - Parameter weights: at least one that is not 0; their sum stays below 2^32.
  init(_ weights: [Int]) {
    var sums: [UInt64] = []
    var sum: UInt64 = 0
    for weight in weights {
      sum += UInt64(weight)
      sums.append(sum)
    }
    var guide: [Int] = []
    var index = 0
    for high in 0..<256 {
      let target = (UInt64(high) << 24) &* sum >> 32
      while index < sums.count - 1, sums[index] <= target { index += 1 }
      guide.append(index)
    }
    self.sums = sums
    self.total = sum
    self.guide = guide
  }

  func index(at position: UInt32) -> Int {
    let target = (UInt64(position) &* total) >> 32
    var index = guide[Int(position >> 24)]
    while sums[index] <= target { index += 1 }
    return index
  }
}
