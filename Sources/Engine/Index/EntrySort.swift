extension IndexEntry {
  /// Fewer entries are sorted by comparison.
  private static let fewEntries = 256
  /// A digit's bits: its counters stay in the first cache.
  private static let digitBits = 11

  /// Sorts entries by code. If the objects already ascend, as for keys in the order of an input, it sorts
  /// digit by digit, from the lowest. Each pass keeps the order of the previous one (LSD radix sort; Knuth,
  /// "The Art of Computer Programming", volume 3, 5.2.5), so that objects of one code stay ascending.
  ///
  /// - Complexity: O(n) for each 11 bits in which the codes differ; O(n log n) if the objects do not ascend.
  package static func sort(_ entries: inout [IndexEntry]) {
    guard entries.count >= fewEntries, let bounds = bounds(entries) else { return entries.sort() }
    if bounds.areSorted { return }
    let bits = BitPacking.width(UInt64(bitPattern: bounds.high &- bounds.low))
    let count = entries.count
    entries.withUnsafeMutableBufferPointer { entries in
      withUnsafeTemporaryAllocation(of: IndexEntry.self, capacity: count) { other in
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 1 << digitBits) { starts in
          guard var source = entries.baseAddress, var target = other.baseAddress else { return }
          for shift in stride(from: 0, to: bits, by: digitBits) {
            if pass(source, target, count, starts, base: bounds.low, shift) {
              swap(&source, &target)
            }
          }
          if source != entries.baseAddress { target.update(from: source, count: count) }
        }
      }
    }
  }

  /// The lowest and the highest code; nil when the objects do not ascend.
  private static func bounds(
    _ entries: [IndexEntry]
  ) -> (low: Int64, high: Int64, areSorted: Bool)? {
    guard entries.count <= Int(Int32.max) else { return nil }
    var (low, high) = (Int64.max, Int64.min)
    var last = IndexEntry(code: .min, object: .min)
    var areSorted = true
    for entry in entries {
      low = min(low, entry.code)
      high = max(high, entry.code)
      if entry.object <= last.object { return nil }
      if entry.code < last.code { areSorted = false }
      last = entry
    }
    return (low, high, areSorted)
  }

  /// Moves entries to their places by one digit of their codes.
  ///
  /// - Returns: false, without any move, when all entries have the same digit.
  private static func pass(
    _ source: UnsafeMutablePointer<IndexEntry>, _ target: UnsafeMutablePointer<IndexEntry>,
    _ count: Int, _ starts: UnsafeMutableBufferPointer<Int32>, base: Int64, _ shift: Int
  ) -> Bool {
    guard let starts = starts.baseAddress else { return false }
    func digit(_ entry: IndexEntry) -> Int {
      Int(truncatingIfNeeded: UInt64(bitPattern: entry.code &- base) &>> UInt64(shift))
        & (1 << digitBits - 1)
    }
    starts.update(repeating: 0, count: 1 << digitBits)
    for index in 0..<count { starts[digit(source[index])] &+= 1 }
    if starts[digit(source[0])] == count { return false }
    var sum: Int32 = 0
    for value in 0..<1 << digitBits {
      let next = sum &+ starts[value]
      starts[value] = sum
      sum = next
    }
    for index in 0..<count {
      let entry = source[index]
      let place = digit(entry)
      target[Int(starts[place])] = entry
      starts[place] &+= 1
    }
    return true
  }
}
