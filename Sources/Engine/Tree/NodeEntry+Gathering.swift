extension BlockWriter {
  /// Moves the blocks of the first entries together when they are in sparse pages: see `Gatherer`.
  ///
  /// - Returns: the old places, which the caller drops.
  func gather(_ entries: inout [NodeEntry], upTo end: Int) throws -> [BlockReference] {
    let gatherer = Gatherer(writer: self)
    // Most nodes have nothing to move, which this finds without a copy.
    guard entries[..<end].contains(where: { gatherer.isCandidate($0.reference) }) else { return [] }
    var references = entries[..<end].map(\.reference)
    let left = try gatherer.gather(&references)
    if !left.isEmpty {
      for index in 0..<end { entries[index].reference = references[index] }
    }
    return left
  }
}
