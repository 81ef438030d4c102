/// The XXH64 of bytes that come piece by piece: `value` is `Checksum.of` all bytes so far.
///
/// Thread rule: a plain value, `Sendable`. A copy continues independently.
package struct RunningChecksum: Sendable {
  private var a = Checksum.prime1 &+ Checksum.prime2
  private var b = Checksum.prime2
  private var c: UInt64 = 0
  private var d = 0 &- Checksum.prime1
  /// The last bytes, fewer than 32, that are not in the accumulators yet.
  private var tail: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  private var tailCount = 0
  /// Bytes so far.
  package private(set) var count = 0

  package init() {}

  /// Adds bytes.
  ///
  /// - Complexity: O(n), about 10 GB/s in a release build.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard var cursor = bytes.baseAddress, bytes.count > 0 else { return }
    count &+= bytes.count
    var remaining = bytes.count
    if tailCount > 0 {
      let taken = min(32 - tailCount, remaining)
      let place = tailCount
      withUnsafeMutableBytes(of: &tail) { tail in
        UnsafeMutableRawBufferPointer(rebasing: tail[place..<place + taken])
          .copyMemory(from: UnsafeRawBufferPointer(start: cursor, count: taken))
      }
      tailCount += taken
      cursor += taken
      remaining -= taken
      if tailCount < 32 { return }
      a = Checksum.round(a, UInt64(littleEndian: tail.0))
      b = Checksum.round(b, UInt64(littleEndian: tail.1))
      c = Checksum.round(c, UInt64(littleEndian: tail.2))
      d = Checksum.round(d, UInt64(littleEndian: tail.3))
      tailCount = 0
    }
    // Local variables, which the loop keeps in registers.
    var (a, b, c, d) = (self.a, self.b, self.c, self.d)
    while remaining >= 32 {
      a = Checksum.round(a, Checksum.load64(cursor))
      b = Checksum.round(b, Checksum.load64(cursor + 8))
      c = Checksum.round(c, Checksum.load64(cursor + 16))
      d = Checksum.round(d, Checksum.load64(cursor + 24))
      cursor += 32
      remaining &-= 32
    }
    (self.a, self.b, self.c, self.d) = (a, b, c, d)
    guard remaining > 0 else { return }
    withUnsafeMutableBytes(of: &tail) {
      $0.copyMemory(from: UnsafeRawBufferPointer(start: cursor, count: remaining))
    }
    tailCount = remaining
  }

  /// The checksum of all bytes so far.
  package var value: UInt64 {
    var hash =
      count >= 32 ? Checksum.merged(a, b, c, d) : Checksum.prime5
    hash = hash &+ UInt64(truncatingIfNeeded: count)
    return withUnsafeBytes(of: tail) {
      Checksum.finish(hash, UnsafeRawBufferPointer(rebasing: $0[..<tailCount]))
    }
  }
}
