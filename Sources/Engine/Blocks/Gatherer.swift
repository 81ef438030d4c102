/// Moves small blocks together that are left in pages whose other bytes nobody needs any more.
///
/// A page comes free when the last of its blocks does. What a small transaction leaves for good, a cluster of
/// few rows say, would keep a page of its own, for as long as it lives, beside the nodes that the next
/// transaction replaces. So whoever writes the block that refers to others looks at where they lie: once
/// those in sparse pages keep some pages more than they need, they are copied, byte for byte, to
/// where the transaction writes. A copy joins others, so that a block is moved a few times until its
/// page is full, and its bytes are written a few times at most.
///
/// Thread rule: used by the transaction's thread only.
struct Gatherer {
  /// Pages that moving has to free: fewer are left where they are, for each block that refers to others.
  static let leastGain = 3
  /// Longer blocks fill most of their pages by themselves.
  private static let longest = 2 * Layout.pageBytes

  let writer: BlockWriter

  /// Moves those of some blocks that are worth it, and gives them their new places.
  ///
  /// - Parameter references: of blocks of the version that the transaction began from, or of its
  ///   own, which stay.
  /// - Returns: the places that were left; the caller drops them.
  /// - Complexity: O(references); what is moved is read and written.
  /// - Throws: `BlockError`, `SystemError`.
  func gather(_ references: inout [BlockReference]) throws -> [BlockReference] {
    var sparse: [Int] = []
    var pages: Set<Int> = []
    var bytes = 0
    for index in references.indices where isCandidate(references[index]) {
      sparse.append(index)
      bytes += Int(references[index].length)
      pages.formUnion(references[index].pages(within: .max) ?? 0..<0)
    }
    guard pages.count >= Layout.pages(holding: bytes) + Self.leastGain else { return [] }
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
