/// A set of page numbers, one bit each, that finds runs of members.
///
/// Above the words of 64 pages is a binary tree in heap order: each node has the lengths of the runs at the
/// beginning and at the end of its pages, and of the longest run anywhere.
package struct PageSet {
  /// The lengths of runs among a node's pages.
  struct Runs: Equatable {
    var first: Int
    var last: Int
    var longest: Int

    static let none = Runs(first: 0, last: 0, longest: 0)

    init(first: Int, last: Int, longest: Int) {
      (self.first, self.last, self.longest) = (first, last, longest)
    }

    init(word: UInt64) {
      first = (~word).trailingZeroBitCount
      last = (~word).leadingZeroBitCount
      longest = word == .max ? 64 : 0
      // Each round shortens every run by one page.
      var rest = word == .max ? 0 : word
      while rest != 0 {
        rest &= rest << 1
        longest += 1
      }
    }

    /// - Parameter half: the number of pages in each half.
    init(_ left: Runs, _ right: Runs, half: Int) {
      first = left.first == half ? half + right.first : left.first
      last = right.last == half ? half + left.last : right.last
      longest = max(left.longest, right.longest, left.last + right.first)
    }
  }

  package init() {}

  private(set) var words: [UInt64] = []
  package private(set) var count = 0
  /// The node at index 1 is the root; the children of node `n` are at `2 * n` and `2 * n + 1`; the nodes of
  /// words are in the second half. The first search builds them: a set that is never searched needs none.
  private(set) var nodes: [Runs] = []

  /// The number of words with nodes: a power of two.
  var capacity: Int { nodes.count / 2 }

  package func contains(_ page: Int) -> Bool {
    let word = page >> 6
    return word < words.count && words[word] & (1 << UInt64(page & 63)) != 0
  }

  /// - Complexity: O(log n), and amortized O(1) for the set's growth.
  package mutating func insert(_ page: Int) { insert(page..<page + 1) }

  /// - Complexity: O(pages / 64 · log n).
  package mutating func insert(_ pages: Range<Int>) {
    guard let last = pages.last else { return }
    if last >> 6 >= words.count { grow(to: last >> 6 + 1) }
    for word in pages.lowerBound >> 6...last >> 6 {
      set(word, to: words[word] | Self.mask(pages, of: word))
    }
  }

  /// - Complexity: O(log n).
  package mutating func remove(_ page: Int) { remove(page..<page + 1) }

  /// - Complexity: O(pages / 64 · log n).
  package mutating func remove(_ pages: Range<Int>) {
    guard let last = pages.last, pages.lowerBound >> 6 < words.count else { return }
    for word in pages.lowerBound >> 6...min(last >> 6, words.count - 1) {
      set(word, to: words[word] & ~Self.mask(pages, of: word))
    }
  }

  /// Removes all pages below a number for which a test returns true.
  ///
  /// - Complexity: O(pages) in addition to the tests, for a set that was not searched yet.
  package mutating func remove(below end: Int, where isLeaving: (Int) -> Bool) {
    for word in words.indices where word << 6 < end && words[word] != 0 {
      var leaving: UInt64 = 0
      for page in word << 6..<min(end, (word + 1) << 6) where isLeaving(page) {
        leaving |= 1 << UInt64(page & 63)
      }
      set(word, to: words[word] & ~leaving)
    }
  }

  /// The bits of a word that represent some of the pages.
  private static func mask(_ pages: Range<Int>, of word: Int) -> UInt64 {
    let above = UInt64.max << UInt64(max(pages.lowerBound - word << 6, 0))
    return above & (.max >> UInt64(max((word + 1) << 6 - pages.upperBound, 0)))
  }

  private mutating func set(_ word: Int, to bits: UInt64) {
    guard bits != words[word] else { return }
    count += bits.nonzeroBitCount - words[word].nonzeroBitCount
    words[word] = bits
    update(word)
  }

  private mutating func grow(to wordCount: Int) {
    words.append(contentsOf: repeatElement(0, count: wordCount - words.count))
    if wordCount > capacity { nodes = [] }
  }

  /// Makes the nodes of all words.
  private mutating func build() {
    var capacity = 64
    while capacity < words.count { capacity *= 2 }
    nodes = Array(repeating: .none, count: 2 * capacity)
    for word in words.indices { nodes[capacity + word] = Runs(word: words[word]) }
    var half = 64
    var level = capacity / 2
    while level > 0 {
      for node in level..<2 * level {
        nodes[node] = Runs(nodes[2 * node], nodes[2 * node + 1], half: half)
      }
      half *= 2
      level /= 2
    }
  }

  /// Updates the nodes above a word.
  private mutating func update(_ word: Int) {
    if nodes.isEmpty { return }
    var node = capacity + word
    var runs = Runs(word: words[word])
    var half = 64
    // While a node is unchanged, so are its ancestors.
    while runs != nodes[node] {
      nodes[node] = runs
      if node == 1 { return }
      node /= 2
      runs = Runs(nodes[2 * node], nodes[2 * node + 1], half: half)
      half *= 2
    }
  }

  /// The first page of the first run of `length` members; nil when there is none, or `length` is not
  /// positive.
  ///
  /// - Complexity: O(log n) for any distribution of members; O(n) for the first search, and when the set's
  ///   size has doubled.
  package mutating func firstRun(of length: Int) -> Int? {
    guard length > 0, length <= count else { return nil }
    if nodes.isEmpty { build() }
    guard nodes[1].longest >= length else { return nil }
    var node = 1
    var start = 0
    var half = capacity * 32
    while node < capacity {
      let (left, right) = (nodes[2 * node], nodes[2 * node + 1])
      node *= 2
      if left.longest < length {
        if left.last + right.first >= length { return start + half - left.last }
        node += 1
        start += half
      }
      half /= 2
    }
    // Where a run of that length begins. It is inside the word, or the loop above would have found it.
    var starts = words[node - capacity]
    for _ in 1..<length { starts &= starts >> 1 }
    return start + starts.trailingZeroBitCount
  }
}
