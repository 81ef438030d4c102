/// A test of text, compared byte by byte: for UTF-8 that is the order of Unicode scalars.
struct TextTest: Sendable {
  enum Kind: Sendable {
    case equal([UInt8])
    /// Nil: without a bound on that side.
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

  /// Texts in it have been folded when `ignoresCase`.
  let kind: Kind
  let ignoresCase: Bool

  /// - Parameter room: for the folded text, kept from call to call.
  @inline(__always)
  func matches(_ text: UnsafeRawBufferPointer, room: inout [UInt8]) -> Bool {
    if !ignoresCase { return matches(text) }
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

  /// False when no text whose first eight bytes lie in these bounds can match.
  func mayMatch(_ bounds: ClosedRange<UInt64>) -> Bool {
    // Folded bytes say nothing about the stored ones.
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

  /// The first eight bytes as a number that orders like them.
  private static func prefix(_ bytes: [UInt8], filler: UInt8) -> UInt64 {
    (0..<8).reduce(0) { $0 << 8 | UInt64($1 < bytes.count ? bytes[$1] : filler) }
  }
}

/// Comparing bytes, eight at a time where it pays.
///
/// Unsafe loads for speed: offsets are bounded by the counts of both sides, as each place says.
enum Bytes {
  @inline(__always)
  static func areEqual(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Bool {
    if left.count != right.count { return false }
    return right.withUnsafeBytes { SpellingView(left).equals(SpellingView($0)) }
  }

  @inline(__always)
  static func begins(_ text: UnsafeRawBufferPointer, with prefix: [UInt8]) -> Bool {
    guard text.count >= prefix.count else { return false }
    return areEqual(UnsafeRawBufferPointer(rebasing: text[..<prefix.count]), prefix)
  }

  /// Below, equal to or above 0, as the first differs from the second.
  static func compare(_ left: UnsafeRawBufferPointer, _ right: [UInt8]) -> Int {
    right.withUnsafeBytes { compare(left, $0) }
  }

  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    let shared = min(left.count, right.count)
    var index = 0
    // Eight bytes from `index` end before `shared`.
    while index &+ 8 <= shared {
      let one = UInt64(bigEndian: left.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      let other = UInt64(bigEndian: right.loadUnaligned(fromByteOffset: index, as: UInt64.self))
      if one != other { return one < other ? -1 : 1 }
      index &+= 8
    }
    while index < shared {
      if left[index] != right[index] { return left[index] < right[index] ? -1 : 1 }
      index &+= 1
    }
    return left.count &- right.count
  }

  /// Looks at the first and the last byte of the part at eight places at once; after Wojciech Muła,
  /// "SIMD-friendly algorithms for substring searching".
  @inline(__always)
  static func contains(_ text: UnsafeRawBufferPointer, _ part: [UInt8]) -> Bool {
    guard let first = part.first, let last = part.last else { return true }
    let places = text.count &- part.count &+ 1
    if places <= 0 { return false }
    let ones: UInt64 = 0x0101_0101_0101_0101
    let firsts = ones &* UInt64(first)
    let lasts = ones &* UInt64(last)
    let distance = part.count &- 1
    var place = 0
    // Places up to `place` + 7 are possible, so the last byte looked at is inside the text.
    while place &+ 8 <= places {
      let one = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: place, as: UInt64.self))
      let other = UInt64(
        littleEndian: text.loadUnaligned(fromByteOffset: place &+ distance, as: UInt64.self))
      let difference = (one ^ firsts) | (other ^ lasts)
      var hits = (difference &- ones) & ~difference & 0x8080_8080_8080_8080
      while hits != 0 {
        if isPart(text, at: place &+ hits.trailingZeroBitCount &>> 3, part) { return true }
        hits &= hits &- 1
      }
      place &+= 8
    }
    while place < places {
      if isPart(text, at: place, part) { return true }
      place &+= 1
    }
    return false
  }

  /// - Precondition: the text has as many bytes behind `place`.
  private static func isPart(
    _ text: UnsafeRawBufferPointer, at place: Int, _ part: [UInt8]
  ) -> Bool {
    for index in 0..<part.count where text[place &+ index] != part[index] { return false }
    return true
  }
}
