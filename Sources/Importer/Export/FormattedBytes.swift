import Engine

/// The output for some rows; its memory is used again for the next ones.
///
/// Unsafe for speed: `reserve` gives room that is written with plain stores. There are always `slack` bytes
/// behind it, so that whole words and blocks may be stored, or looked at, past its end.
///
/// Thread rule: one thread at a time; a thread that passes it on does not use it any more.
final class FormattedBytes: @unchecked Sendable {
  // @unchecked: see the thread rule.
  static let slack = 64

  // Unchecked: no call that is made while these change comes back here, so no accesses can overlap.
  @exclusivity(unchecked) private var base: UnsafeMutableRawPointer
  @exclusivity(unchecked) private var capacity: Int
  @exclusivity(unchecked) private(set) var count = 0

  init(capacity: Int = 1 << 16) {
    self.capacity = capacity
    base = .allocate(byteCount: capacity + Self.slack, alignment: 16)
  }

  deinit { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  func removeAll() { count = 0 }

  /// The place for the next `length` bytes, valid until the next call; count them with `advance`.
  @inline(__always)
  func reserve(_ length: Int) -> UnsafeMutableRawPointer {
    if capacity &- count < length { grow(length) }
    return base + count
  }

  @inline(never)
  private func grow(_ length: Int) {
    let larger = max(capacity * 2, count + length)
    let moved = UnsafeMutableRawPointer.allocate(
      byteCount: larger + Self.slack, alignment: 16)
    moved.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = moved
    capacity = larger
  }

  /// - Precondition: as many bytes were reserved and written.
  @inline(__always)
  func advance(_ length: Int) { count &+= length }

  @inline(__always)
  func append(_ byte: UInt8) {
    reserve(1).storeBytes(of: byte, as: UInt8.self)
    advance(1)
  }

  func append(_ source: UnsafeRawBufferPointer) {
    guard let start = source.baseAddress else { return }
    reserve(source.count).copyMemory(from: start, byteCount: source.count)
    advance(source.count)
  }

  func append(_ source: [UInt8]) { source.withUnsafeBytes(append) }
}
