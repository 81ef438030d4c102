/// A set of page numbers, a bit each.
package struct PageSet {
  package init() {}

  private var words: [UInt64] = []
  package private(set) var count = 0
  /// No page below this word is in the set.
  private var firstWord = 0

  func contains(_ page: Int) -> Bool {
    let word = page >> 6
    return word < words.count && words[word] & (1 << UInt64(page & 63)) != 0
  }

  package mutating func insert(_ page: Int) {
    let word = page >> 6
    if word >= words.count {
      words.append(contentsOf: repeatElement(0, count: word + 1 - words.count))
    }
    let bit: UInt64 = 1 << UInt64(page & 63)
    if words[word] & bit == 0 {
      words[word] |= bit
      count += 1
      firstWord = min(firstWord, word)
    }
  }

  mutating func remove(_ page: Int) {
    let word = page >> 6
    guard word < words.count else { return }
    let bit: UInt64 = 1 << UInt64(page & 63)
    if words[word] & bit != 0 {
      words[word] &= ~bit
      count -= 1
    }
  }

  /// The first page of the first run of `length` members below `limit`.
  ///
  /// - Complexity: O(limit / 64 + members visited).
  mutating func firstRun(of length: Int, within limit: Int) -> Int? {
    guard count >= length else { return nil }
    while firstWord < words.count, words[firstWord] == 0 { firstWord += 1 }
    var run = 0
    var word = firstWord
    while word < words.count, word << 6 < limit {
      let bits = words[word]
      if bits == 0 {
        run = 0
      } else if bits == .max, run + 64 < length {
        run += 64
      } else {
        for bit in 0..<64 {
          let page = word << 6 + bit
          if page >= limit { return nil }
          run = bits & (1 << UInt64(bit)) == 0 ? 0 : run + 1
          if run == length { return page - length + 1 }
        }
      }
      word += 1
    }
    return nil
  }
}
