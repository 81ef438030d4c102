/// Says of most codes that a run does not have them, without a look into the run: a Bloom filter whose
/// bits for one code lie in one word (Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom
/// Filters", 2007), so that asking costs one access to memory.
///
/// Kept in memory only, by the writer that wrote the run. An import of new keys so hardly ever reads the
/// index: of ten million random keys each would otherwise be searched in every large run, whose pages
/// would all be mapped.
///
/// Thread rule: confined to the writer.
package struct KeyFilter {
  /// About one absent code in thirty passes.
  private static let bitsEach = 10
  private var words: [UInt64]

  /// - Parameter capacity: how many codes there will be at most.
  package init(capacity: Int) {
    words = [UInt64](repeating: 0, count: max(1, Self.byteCount(capacity) / 8))
  }

  /// Bytes of memory for so many codes.
  package static func byteCount(_ capacity: Int) -> Int {
    (max(capacity, 0) / 64 + 1) * bitsEach * 8
  }

  package var byteCount: Int { words.count * 8 }

  /// The word of a code, and its four bits there.
  @inline(__always)
  private static func place(_ code: Int64, words count: Int) -> (word: Int, bits: UInt64) {
    var hash = UInt64(bitPattern: code) &* 0x9E37_79B9_7F4A_7C15
    hash = (hash ^ (hash &>> 32)) &* 0xD6E8_FEB8_6659_FD93
    let word = Int(truncatingIfNeeded: hash.multipliedFullWidth(by: UInt64(count)).high)
    // The product has used up the high bits: these are low ones, mixed once more.
    let low = (hash &* 0xC2B2_AE3D_27D4_EB4F) &>> 40
    let one: UInt64 = 1
    let bits =
      one &<< (low & 63) | one &<< (low &>> 6 & 63) | one &<< (low &>> 12 & 63)
      | one &<< (low &>> 18 & 63)
    return (word, bits)
  }

  package mutating func insert(_ entries: UnsafeBufferPointer<IndexEntry>) {
    let count = words.count
    words.withUnsafeMutableBufferPointer { words in
      for entry in entries {
        let (word, bits) = Self.place(entry.code, words: count)
        words[word] |= bits
      }
    }
  }

  /// False when the code was never inserted.
  package func mayContain(_ code: Int64) -> Bool {
    let (word, bits) = Self.place(code, words: words.count)
    return words[word] & bits == bits
  }
}
