/// Limits of chunks, which bound memory. Values outside sensible bounds are moved to the nearest bound.
package struct ChunkLimits: Sendable {
  /// A chunk ends with the record in which it reaches this many bytes: 1 byte to 256 MiB.
  package var chunkBytes: Int
  /// A longer record is an error: 64 bytes to 1 GiB.
  package var maximumRecordBytes: Int
  /// The maximum bytes of one read: small enough to be in the processor's cache still when they are scanned.
  package var readBytes: Int
  /// The bytes that a thread which reads ahead reads at once: whole strides, up to 16 MiB.
  var pieceBytes = 1 << 20
  /// Such a thread records its results for each stride of this many bytes: a multiple of 64, below 65,536.
  /// Small, because the stride where a chunk ends is scanned again.
  var strideBytes = 2048

  package init(
    chunkBytes: Int = 4 << 20, maximumRecordBytes: Int = 64 << 20, readBytes: Int = 256 << 10
  ) {
    // Spans are 32 bits wide: input and scratch space together must stay below 4 GiB.
    self.chunkBytes = min(max(1, chunkBytes), 256 << 20)
    self.maximumRecordBytes = min(max(64, maximumRecordBytes), 1 << 30)
    self.readBytes = min(max(1, readBytes), 16 << 20)
  }
}
