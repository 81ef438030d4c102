/// Comparing bytes, eight at a time where it pays.
///
/// Unsafe loads for speed: each use bounds its offsets by the counts of both sides.
package enum Bytes {
  @inline(__always)
  package static func areEqual(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
  ) -> Bool {
    left.count == right.count && SpellingView(left).equals(SpellingView(right))
  }

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

  /// Below, equal to or above 0, depending on the first difference.
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

  /// Compares the first and the last byte of the part at eight places at once; after Wojciech Muła,
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
    // Places up to `place` + 7 are possible, so the last byte read is inside the text.
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

  /// - Precondition: the text has as many bytes as the part from `place` on.
  private static func isPart(
    _ text: UnsafeRawBufferPointer, at place: Int, _ part: [UInt8]
  ) -> Bool {
    for index in 0..<part.count where text[place &+ index] != part[index] { return false }
    return true
  }
}
