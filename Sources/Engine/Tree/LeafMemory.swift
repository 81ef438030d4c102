/// The bytes of a leaf that is only in memory, while it has a reader.
///
/// Unsafe, because leaves are read in place, wherever they are.
final class LeafMemory {
  private let buffer: UnsafeMutableRawBufferPointer
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(buffer) }

  init(_ bytes: [UInt8]) {
    buffer = .allocate(byteCount: bytes.count, alignment: 8)
    buffer.copyBytes(from: bytes)
  }

  deinit { buffer.deallocate() }
}
