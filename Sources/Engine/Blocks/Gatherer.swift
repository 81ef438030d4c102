/// Moves small blocks together when they remain in pages whose other bytes are no longer needed.
///
/// A page becomes free when its last block does. A long-lived block of a small transaction, such as a cluster
/// of few rows, is beside nodes that the next transaction replaces, and would keep a whole page. So the
/// writer of a block that refers to others checks their places: when those in sparse pages use enough pages
/// more than they need, it copies them, byte for byte, to where the transaction writes. The copies share
/// pages, so a block is moved only until its page is full, and its bytes are written a few times at most.
///
/// Thread rule: only the transaction's thread.
struct Gatherer {
  /// The number of pages that moving must free, for each block that refers to others; otherwise nothing is
  /// moved.
  static let leastGain = 3
  /// Longer blocks fill most of their pages alone.
  private static let longest = 2 * Layout.pageBytes

  let writer: BlockWriter

  /// Moves blocks where that frees enough pages, and updates their references.
  ///
  /// - Parameter references: blocks of the transaction's base, or of the transaction itself; the latter are
  ///   not moved.
  /// - Returns: the old places, which the caller drops.
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
    // Blocks share pages, and each page counts once. With fewer bytes no gain is possible.
    let least = Layout.pages(holding: bytes) + Self.leastGain
    guard pages.count >= least, Set(pages).count >= least else { return [] }
    return try sparse.map { index in
      let old = references[index]
      references[index] = try writer.copy(old)
      return old
    }
  }

  /// Returns whether a block is in sparse pages and short enough to be moved.
  func isCandidate(_ reference: BlockReference) -> Bool {
    Int(reference.length) < Self.longest && writer.isSparse(reference)
  }
}
