/// Merges ascending stretches of entries into one order: two adjacent ones become one, until one is left
/// (Knuth, "The Art of Computer Programming", volume 3, 5.2.4).
///
/// Unsafe for speed: the entries of a large run pass here several times in the life of a table. Everything is
/// within the first `count` places of `entries` and `other`.
///
/// Thread rule: confined; its memory is reused.
struct MergedStretches: ~Copyable {
  // Without memory initially: a small transaction has a few hundred entries.
  private var entries = Scratch<IndexEntry>(capacity: 0)
  private var other = Scratch<IndexEntry>(capacity: 0)
  private var count = 0
  /// The end of each stretch.
  private var ends: [Int] = []

  mutating func removeAll() {
    count = 0
    ends.removeAll(keepingCapacity: true)
  }

  /// Adds a stretch of ascending entries.
  mutating func add(_ stretch: ArraySlice<IndexEntry>) {
    guard let first = stretch.first else { return }
    // Keys that ascend from run to run are already in order.
    if let end = ends.last, entries.pointer[end - 1] <= first { ends.removeLast() }
    let total = count + stretch.count
    let target = entries.reserve(total, keeping: count) + count
    stretch.withUnsafeBufferPointer {
      if let start = $0.baseAddress { target.update(from: start, count: $0.count) }
    }
    count = total
    ends.append(total)
  }

  /// All added entries, ascending. Of equal ones, those of the stretch added first come first. Valid until
  /// the next call.
  ///
  /// - Complexity: O(n log stretches).
  mutating func merged() -> UnsafeBufferPointer<IndexEntry> {
    while ends.count > 1 {
      let target = other.reserve(count)
      var start = 0
      var kept: [Int] = []
      for pair in stride(from: 0, to: ends.count, by: 2) {
        let middle = ends[pair]
        let end = pair + 1 < ends.count ? ends[pair + 1] : middle
        Self.merge(entries.pointer, start, middle, end, into: target)
        kept.append(end)
        start = end
      }
      ends = kept
      swap(&entries, &other)
    }
    return UnsafeBufferPointer(start: UnsafePointer(entries.pointer), count: count)
  }

  /// Merges `start..<middle` with `middle..<end`, to the same places of another memory.
  private static func merge(
    _ source: UnsafeMutablePointer<IndexEntry>, _ start: Int, _ middle: Int, _ end: Int,
    into target: UnsafeMutablePointer<IndexEntry>
  ) {
    var left = source + start
    var right = source + middle
    var place = target + start
    let (leftEnd, rightEnd) = (source + middle, source + end)
    while left < leftEnd, right < rightEnd {
      // Without a branch, which random keys would make mispredicted half of the time.
      let takesRight = right.pointee < left.pointee
      place.pointee = (takesRight ? right : left).pointee
      right += takesRight ? 1 : 0
      left += takesRight ? 0 : 1
      place += 1
    }
    place.update(from: left, count: leftEnd - left)
    place += leftEnd - left
    place.update(from: right, count: rightEnd - right)
  }
}
