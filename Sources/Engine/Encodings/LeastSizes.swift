/// The fewest bytes that a dictionary of numbers of one scale can take, before there is one, if its indices
/// are not coded (`EncodingEffort.fast`).
struct LeastSizes {
  private let rowCount: Int
  private let hasNulls: Bool
  private let scan: TypedScan

  /// - Parameter scan: the number of each row; null rows, and misfits, have those of others.
  init(_ column: GatheredColumn, _ scan: TypedScan) {
    rowCount = column.rowCount
    hasNulls = column.nullCount > 0
    self.scan = scan
  }

  /// Returns whether a dictionary of at least `entries` entries, of at least `total` bytes, is larger than
  /// `limit`, whatever the form of its indices and entries.
  ///
  /// - Parameter mayBeDigits: whether the entries may be packed as digits.
  func exceed(_ limit: Int, entries: Int, total: Int, mayBeDigits: Bool) -> Bool {
    if !mayBeDigits {
      return exceed(limit, entries: entries, bytes: PackedStrings.headerSize &+ total)
    }
    // So many different entries need so many combinations of digits.
    let least = entries &* BitPacking.width(entries &- 1) &>> 3
    if exceed(limit, entries: entries, bytes: least) { return true }
    let digits = total &- entries &* sharedDigits
    return digits &>> 1 > least && exceed(limit, entries: entries, bytes: digits &>> 1)
      && lastDigits > 4
  }

  /// - Parameter bytes: the fewest bytes of the entries.
  private func exceed(_ limit: Int, entries: Int, bytes: Int) -> Bool {
    let left = limit &- DictionaryEncoding.headerSize &- bytes
    let width = DictionaryEncoding.width(entries: entries, hasNulls: hasNulls)
    return 1 &+ BitPacking.byteCount(rowCount, width: width) > left
      && FreshIndices.size(rowCount: rowCount, entryCount: entries, width: width) > left
      && RunIndices.size(rowCount: rowCount, runs: runs, width: width) > left
  }

  /// Where nulls or misfits interrupt a run there are more.
  private var runs: Int {
    var count = 1
    for row in 1..<max(rowCount, 1) where scan.numbers[row] != scan.numbers[row &- 1] {
      count &+= 1
    }
    return count
  }

  /// How many digits at the front are the same in all numbers, and take nothing when they are packed. In
  /// columns of numbers that have some in common although they are not of one length, there may be more.
  private var sharedDigits: Int {
    var (low, high) = (scan.low.magnitude, scan.high.magnitude)
    if scan.low < 0, scan.high >= 0 { return 0 }
    var (shared, isLonger) = (0, false)
    // From the last digit on, those before the last difference.
    while low > 0 || high > 0 {
      if (low == 0) != (high == 0) { isLonger = true }
      shared = low % 10 == high % 10 ? shared &+ 1 : 0
      (low, high) = (low / 10, high / 10)
    }
    return isLonger ? 0 : shared &+ (scan.low < 0 ? 1 : 0)
  }

  /// How many different digits numbers end with: with more than four, each digit takes four bits.
  private var lastDigits: Int {
    var seen = 0
    for row in 0..<rowCount {
      seen |= 1 &<< Int(truncatingIfNeeded: scan.numbers[row].magnitude % 10)
    }
    return seen.nonzeroBitCount
  }
}
