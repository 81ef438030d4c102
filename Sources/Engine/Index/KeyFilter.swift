/// Excludes most codes that a run lacks without reading the run: a Bloom filter whose bits for one code are
/// in one block of four words (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters",
/// 2007). A query costs one memory access, or two when a block crosses a cache line.
///
/// Only the writer that wrote the run keeps the filter, in memory. So an import of new keys hardly ever reads
/// the index: otherwise each of ten million random keys would be looked up in every large run, whose pages
/// would all be mapped.
///
/// Thread rule: a plain value; only the writer changes it.
package struct KeyFilter: Sendable {
  /// About one absent code in two hundred passes. With 10 bits in single words it was one in thirty, and
  /// looking these up took a considerable part of an import's time at 10,000,000 keys.
  private static let bitsEach = 12
  private static let blockWords = 4
  private var words: [UInt64]

  /// - Parameter capacity: the largest number of codes.
  package init(capacity: Int) {
    words = [UInt64](repeating: 0, count: Self.byteCount(capacity) / 8)
  }

  /// Bytes of memory for a number of codes: whole blocks.
  package static func byteCount(_ capacity: Int) -> Int {
    (max(capacity, 0) / 64 + 1) * bitsEach * 8
  }

  package var byteCount: Int { words.count * 8 }

  /// The first word of a code's block, and 48 bits that select two bits of each word.
  @inline(__always)
  private static func place(_ code: Int64, words count: Int) -> (word: Int, places: UInt64) {
    var hash = UInt64(bitPattern: code) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ (hash &>> 32)) &* 0xD6E8_FEB8_6659_FD93
    let blocks = UInt64(count / blockWords)
    let block = Int(truncatingIfNeeded: hash.multipliedFullWidth(by: blocks).high)
    // The product has used the high bits; these are low ones, mixed again.
    return (block &* blockWords, (hash &* 0xC2B2_AE3D_27D4_EB4F) &>> 16)
  }

  /// The bits of a block's first, second, third or fourth word.
  @inline(__always)
  private static func bits(_ places: UInt64, _ word: UInt64) -> UInt64 {
    let one: UInt64 = 1
    let own = places &>> (word &* 12)
    return one &<< (own & 63) | one &<< (own &>> 6 & 63)
  }

  package mutating func insert(_ entries: UnsafeBufferPointer<IndexEntry>) {
    let count = words.count
    words.withUnsafeMutableBufferPointer { words in
      for entry in entries {
        let (word, places) = Self.place(entry.code, words: count)
        words[word] |= Self.bits(places, 0)
        words[word &+ 1] |= Self.bits(places, 1)
        words[word &+ 2] |= Self.bits(places, 2)
        words[word &+ 3] |= Self.bits(places, 3)
      }
    }
  }

  /// Returns false when the code was never inserted.
  package func mayContain(_ code: Int64) -> Bool {
    let (word, places) = Self.place(code, words: words.count)
    // Each word excludes at least half of the remaining absent codes.
    for number in 0..<Self.blockWords {
      let bits = Self.bits(places, UInt64(truncatingIfNeeded: number))
      if words[word &+ number] & bits != bits { return false }
    }
    return true
  }
}
