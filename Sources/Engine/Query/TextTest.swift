/// A test of text, compared byte by byte, which for UTF-8 is the order of Unicode scalars.
struct TextTest: Sendable {
  enum Kind: Sendable {
    case equal([UInt8])
    /// Nil: no bound on that side.
    case between(low: Bound?, high: Bound?)
    case oneOf(Set<[UInt8]>)
    case contains([UInt8])
    case beginsWith([UInt8])
    case endsWith([UInt8])
    case like(LikePattern)
  }

  struct Bound: Sendable {
    let bytes: [UInt8]
    let isIncluded: Bool
  }

  /// With `ignoresCase`, its texts are already folded.
  let kind: Kind
  let ignoresCase: Bool

  /// - Parameter room: memory for the folded text, reused between calls.
  @inline(__always)
  func matches(_ text: UnsafeRawBufferPointer, room: inout [UInt8]) -> Bool {
    if !ignoresCase { return matches(text) }
    if case .like(let pattern) = kind { return pattern.matchesFolded(text, room: &room) }
    CaseFolding.fold(text, into: &room)
    return room.withUnsafeBytes { matches($0) }
  }

  @inline(__always)
  private func matches(_ text: UnsafeRawBufferPointer) -> Bool {
    switch kind {
    case .equal(let wanted): return Bytes.areEqual(text, wanted)
    case .contains(let part): return Bytes.contains(text, part)
    case .beginsWith(let prefix): return Bytes.begins(text, with: prefix)
    case .endsWith(let suffix):
      guard text.count >= suffix.count else { return false }
      return Bytes.areEqual(
        UnsafeRawBufferPointer(rebasing: text[(text.count &- suffix.count)...]), suffix)
    case .like(let pattern): return pattern.matches(text)
    case .oneOf(let texts): return texts.contains(Array(text))
    case .between(let low, let high):
      if let low {
        let order = Bytes.compare(text, low.bytes)
        if order < 0 || (order == 0 && !low.isIncluded) { return false }
      }
      if let high {
        let order = Bytes.compare(text, high.bytes)
        if order > 0 || (order == 0 && !high.isIncluded) { return false }
      }
      return true
    }
  }

  /// Returns false when no text whose first eight bytes are within these bounds can match.
  func mayMatch(_ bounds: ClosedRange<UInt64>) -> Bool {
    // Folded bytes say nothing about stored ones.
    if ignoresCase { return true }
    switch kind {
    case .equal(let wanted): return bounds.contains(Self.prefix(wanted, filler: 0))
    case .beginsWith(let prefix): return Self.overlaps(bounds, prefix: prefix)
    case .like(let pattern): return Self.overlaps(bounds, prefix: pattern.literalPrefix)
    case .oneOf(let texts): return texts.contains { bounds.contains(Self.prefix($0, filler: 0)) }
    case .between(let low, let high):
      if let low, Self.prefix(low.bytes, filler: 0) > bounds.upperBound { return false }
      if let high, Self.prefix(high.bytes, filler: 0) < bounds.lowerBound { return false }
      return true
    case .contains, .endsWith: return true
    }
  }

  private static func overlaps(_ bounds: ClosedRange<UInt64>, prefix: [UInt8]) -> Bool {
    bounds.overlaps(Self.prefix(prefix, filler: 0)...Self.prefix(prefix, filler: .max))
  }

  /// The first eight bytes as a number with the same order.
  private static func prefix(_ bytes: [UInt8], filler: UInt8) -> UInt64 {
    (0..<8).reduce(0) { $0 << 8 | UInt64($1 < bytes.count ? bytes[$1] : filler) }
  }
}
