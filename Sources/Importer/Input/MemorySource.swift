/// Bytes in memory: a beginning to examine, or a test's input.
///
/// Thread rule: see `ByteSource`.
package final class MemorySource: ByteSource, PositionedSource, @unchecked Sendable {
  // @unchecked: only the one reading thread touches `position` and `reads`; see `ByteSource`.
  package let name: String
  package let identity: InputIdentity?
  package var isCancelled: @Sendable () -> Bool = { false }
  private let bytes: [UInt8]
  private let readSizes: [Int]
  private let origin: Int
  private var position = 0
  private var reads = 0

  /// - Parameter readSizes: the maximum number of bytes of each read in turn, the last one repeated; empty:
  ///   as many as requested. Sizes below 1 count as 1.
  /// - Parameter origin: the offset of the first byte, for `seek`.
  package init(
    _ bytes: [UInt8], name: String = "memory", readSizes: [Int] = [], origin: Int = 0
  ) {
    self.origin = origin
    self.bytes = bytes
    self.name = name
    self.readSizes = readSizes
    identity = InputIdentity(size: bytes.count, device: 0, inode: 0, modified: 0)
  }

  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(ImportError) -> Int {
    var count = min(buffer.count, bytes.count - position)
    if !readSizes.isEmpty {
      count = min(count, max(1, readSizes[min(reads, readSizes.count - 1)]))
    }
    reads += 1
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: .init(rebasing: $0[position..<position + count]))
    }
    position += count
    return count
  }

  package var positioned: (any PositionedSource)? { self }

  package func readAhead(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let start = min(max(0, offset &- origin), bytes.count)
    let count = min(buffer.count, bytes.count - start)
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: .init(rebasing: $0[start..<start + count]))
    }
    return count
  }

  package func seek(to offset: Int) throws(ImportError) {
    position = min(max(0, offset &- origin), bytes.count)
  }
}
