/// A set of a leaf's rows, one bit each.
///
/// Thread rule: a plain value.
package struct RowBits: Sendable, Equatable {
  /// The number of rows in the leaf. Bits after the last row are never set.
  package let count: Int
  private var words: [UInt64]

  /// - Complexity: O(rows / 64).
  package init(count: Int, all: Bool) {
    self.count = count
    words = Array(repeating: all ? .max : 0, count: (count + 63) >> 6)
    if all { clearTail() }
  }

  /// The rows for which `isIn` is true.
  @inline(__always)
  package init(count: Int, where isIn: (Int) -> Bool) {
    self.count = count
    words = Array(unsafeUninitializedCapacity: (count + 63) >> 6) { words, initialized in
      for index in words.indices {
        let first = index &<< 6
        var word: UInt64 = 0
        for bit in 0..<min(64, count &- first) {
          word |= (isIn(first &+ bit) ? 1 : 0) &<< UInt64(truncatingIfNeeded: bit)
        }
        words.initializeElement(at: index, to: word)
      }
      initialized = words.count
    }
  }

  private mutating func clearTail() {
    guard count & 63 != 0, !words.isEmpty else { return }
    words[words.count - 1] &= ~(UInt64.max << UInt64(count & 63))
  }

  package var isEmpty: Bool { words.allSatisfy { $0 == 0 } }
  package var isFull: Bool { population == count }

  /// The number of rows in the set.
  package var population: Int { words.reduce(0) { $0 &+ $1.nonzeroBitCount } }

  /// The number of rows of a range that are in the set.
  ///
  /// - Complexity: O(rows / 64).
  package func population(_ range: Range<Int>) -> Int {
    let range = range.clamped(to: 0..<count)
    var total = 0
    var row = range.lowerBound
    while row < range.upperBound {
      let end = min(row & ~63 + 64, range.upperBound)
      let word = words[row >> 6] >> UInt64(row & 63)
      total += (word << UInt64(64 - (end - row))).nonzeroBitCount
      row = end
    }
    return total
  }

  package subscript(row: Int) -> Bool {
    get { words[row >> 6] >> UInt64(row & 63) & 1 != 0 }
    set {
      let bit = (1 as UInt64) << UInt64(row & 63)
      if newValue { words[row >> 6] |= bit } else { words[row >> 6] &= ~bit }
    }
  }

  /// Gives rows the answers of others. Rows that the set does not have are passed over.
  ///
  /// - Parameter forEach: calls its argument with numbers of rows in `other` and in this set.
  @inline(__always)
  package mutating func replace(by other: RowBits, _ forEach: ((Int, Int) -> Void) -> Void) {
    let count = count
    words.withUnsafeMutableBufferPointer { words in
      other.words.withUnsafeBufferPointer { others in
        forEach { source, row in
          guard row >= 0, row < count, source >= 0, source < other.count else { return }
          let answer = others[source &>> 6] &>> UInt64(truncatingIfNeeded: source & 63) & 1
          let shift = UInt64(truncatingIfNeeded: row & 63)
          words[row &>> 6] = words[row &>> 6] & ~(1 &<< shift) | answer &<< shift
        }
      }
    }
  }

  /// The rows that are left when some are removed.
  ///
  /// - Parameter removed: ascending.
  /// - Complexity: O(rows).
  package func removing(_ removed: [UInt32]) -> RowBits {
    if removed.isEmpty { return self }
    var next = 0
    var source = 0
    return RowBits(count: max(count - removed.count, 0)) { _ in
      while next < removed.count, Int(removed[next]) == source {
        next += 1
        source += 1
      }
      source += 1
      return source <= count && self[source - 1]
    }
  }

  /// - Precondition: both are of one leaf.
  package mutating func formIntersection(_ other: RowBits) {
    for index in words.indices { words[index] &= other.words[index] }
  }

  package mutating func formUnion(_ other: RowBits) {
    for index in words.indices { words[index] |= other.words[index] }
  }

  /// The first row of the set that is not before `row`.
  package func next(from row: Int) -> Int? {
    var index = row >> 6
    guard index < words.count else { return nil }
    var word = words[index] & (UInt64.max << UInt64(row & 63))
    while word == 0 {
      index += 1
      if index == words.count { return nil }
      word = words[index]
    }
    return index << 6 + word.trailingZeroBitCount
  }

  /// The last row in the set.
  package var last: Int? {
    for index in words.indices.reversed() where words[index] != 0 {
      return index << 6 + 63 - words[index].leadingZeroBitCount
    }
    return nil
  }

  /// Removes the first `dropped` rows of the set, and all after the next `kept`.
  package mutating func slice(dropping dropped: Int, keeping kept: Int) {
    var position = 0
    let end = dropped.addingReportingOverflow(kept)
    let limit = end.overflow ? Int.max : end.partialValue
    for index in words.indices {
      let population = words[index].nonzeroBitCount
      if position >= dropped, position &+ population <= limit {
        position &+= population
        continue
      }
      var word = words[index]
      var remaining: UInt64 = 0
      while word != 0 {
        if position >= dropped, position < limit { remaining |= word & (0 &- word) }
        word &= word &- 1
        position &+= 1
      }
      words[index] = remaining
    }
  }
}
