/// Moves small blocks together when they are left in pages whose other bytes are no longer needed.
///
/// A page comes free when its last block does. A lasting block of a small transaction, such as a cluster of
/// few rows, lies beside nodes that the next transaction replaces; it would keep a whole page for as long as
/// it lives. So the writer of a block that refers to others checks where those lie: once the ones in sparse
/// pages keep some pages more than they need, it copies them, byte for byte, to where the transaction writes.
/// The copies share pages, so a block is moved a few times until its page is full, and its bytes are written
/// a few times at most.
///
/// Thread rule: only the transaction's thread uses it.
struct Gatherer {
  /// How many pages moving must free, for each block that refers to others; otherwise nothing is moved.
  static let leastGain = 3
  /// Longer blocks fill most of their pages by themselves.
  private static let longest = 2 * Layout.pageBytes

  let writer: BlockWriter

  /// Moves blocks where that frees enough pages, and updates their references.
  ///
  /// - Parameter references: blocks of the version that the transaction began from, or of its own; the latter
  ///   are not moved.
  /// - Returns: the old places; the caller drops them.
  /// - Complexity: O(references); moved blocks are read and written.
  /// - Throws: `BlockError`, `SystemError`.
  func gather(_ references: inout [BlockReference]) throws -> [BlockReference] {
    var sparse: [Int] = []
    var pages: [Int] = []
    var bytes = 0
    for index in references.indices where isCandidate(references[index]) {
      sparse.append(index)
      bytes += Int(references[index].length)
      pages += references[index].pages(within: .max) ?? 0..<0
    }
    // Blocks share pages: each of these counts once. Fewer need not be looked at.
    let least = Layout.pages(holding: bytes) + Self.leastGain
    guard pages.count >= least, Set(pages).count >= least else { return [] }
    return try sparse.map { index in
      let old = references[index]
      references[index] = try writer.copy(old)
      return old
    }
  }

  /// True when a block lies in sparse pages and is short enough to be moved.
  func isCandidate(_ reference: BlockReference) -> Bool {
    Int(reference.length) < Self.longest && writer.isSparse(reference)
  }
}
