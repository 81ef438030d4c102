import Engine

/// The output for some rows; its memory is reused for the next ones.
///
/// Unsafe for speed: plain stores write into the space from `reserve`. There are always `slack` bytes after
/// it, so that whole words and blocks may be stored or read past its end.
///
/// Thread rule: one thread at a time; a thread that passes it on no longer uses it.
final class FormattedBytes: @unchecked Sendable {
  // @unchecked: see the thread rule.
  static let slack = 64

  // Unchecked: no call during their changes comes back here, so accesses cannot overlap.
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

  /// The place for the next `length` bytes, valid until the next call; `advance` counts them.
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
