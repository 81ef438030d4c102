/// Growing bytes that encoders write into with plain stores; reused for every cluster.
///
/// Unsafe for speed: packing writes whole words past the end of its output. There are always `slack` bytes
/// behind the reserved ones, so these stores stay inside.
struct OutputBuffer: ~Copyable {
  private var base: UnsafeMutableRawPointer
  private var capacity: Int
  private(set) var count = 0
  private static let slack = 64

  init(capacity: Int = 4096) {
    self.capacity = max(capacity, 64)
    base = .allocate(byteCount: self.capacity + Self.slack, alignment: 8)
  }

  deinit { base.deallocate() }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: base, count: count) }

  /// The address of the first byte; it changes when the buffer grows.
  var start: UnsafeMutableRawPointer { base }

  mutating func removeAll() { count = 0 }

  /// The place for the next `length` bytes; call `advance` once they are written.
  @inline(__always)
  mutating func reserve(_ length: Int) -> UnsafeMutableRawPointer {
    if capacity &- count < length { grow(length) }
    return base + count
  }

  @inline(never)
  private mutating func grow(_ length: Int) {
    let larger = max(capacity &* 2, count &+ length)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: larger + Self.slack, alignment: 8)
    moved.copyMemory(from: base, byteCount: count)
    base.deallocate()
    base = moved
    capacity = larger
  }

  /// - Precondition: `length` bytes were reserved.
  @inline(__always)
  mutating func advance(_ length: Int) { count &+= length }

  @inline(__always)
  mutating func append<Integer: FixedWidthInteger>(_ value: Integer) {
    let size = MemoryLayout<Integer>.size
    reserve(size).storeBytes(of: value.littleEndian, as: Integer.self)
    advance(size)
  }

  /// - Precondition: `length` bytes may be read from `source`.
  @inline(__always)
  mutating func append(_ source: UnsafeRawPointer, count length: Int) {
    reserve(length).copyMemory(from: source, byteCount: length)
    advance(length)
  }

  mutating func appendZeros(_ length: Int) {
    reserve(length).initializeMemory(as: UInt8.self, repeating: 0, count: length)
    advance(length)
  }

  /// Overwrites the number that was appended at `offset`.
  mutating func replace<Integer: FixedWidthInteger>(_ value: Integer, at offset: Int) {
    guard offset >= 0, offset <= count - MemoryLayout<Integer>.size else { return }
    base.storeBytes(of: value.littleEndian, toByteOffset: offset, as: Integer.self)
  }
}

/// Memory for elements, kept from one use to the next. Nothing is initialized.
struct Scratch<Element: BitwiseCopyable>: ~Copyable {
  private(set) var pointer: UnsafeMutablePointer<Element>
  private(set) var capacity: Int

  init(capacity: Int = 1024) {
    self.capacity = max(capacity, 1)
    pointer = .allocate(capacity: self.capacity)
  }

  deinit { pointer.deallocate() }

  /// Memory for `count` elements; the first `keeping` ones stay unchanged.
  mutating func reserve(_ count: Int, keeping: Int = 0) -> UnsafeMutablePointer<Element> {
    if count > capacity {
      let larger = max(count, capacity * 2)
      let moved = UnsafeMutablePointer<Element>.allocate(capacity: larger)
      moved.update(from: pointer, count: min(keeping, capacity))
      pointer.deallocate()
      pointer = moved
      capacity = larger
    }
    return pointer
  }
}
