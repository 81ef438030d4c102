extension RecordSplitter {
  /// Where an import begins, or goes on.
  package struct Start: Sendable, Equatable {
    /// First byte of a record, from the start of the input.
    package var byteOffset: Int
    /// 1-based line of that byte.
    package var line: Int
    /// Number of that record; 0 for a header.
    package var record: Int

    package init(byteOffset: Int = 0, line: Int = 1, record: Int = 0) {
      self.byteOffset = byteOffset
      self.line = line
      self.record = record
    }
  }

  /// Limits that bound memory. Values outside sensible bounds are moved to the nearest.
  package struct Limits: Sendable {
    /// A chunk ends with the record in which it reaches so many bytes: 1 byte to 256 MiB.
    package var chunkBytes: Int
    /// A longer record is an error: 64 bytes to 1 GiB.
    package var maximumRecordBytes: Int
    /// Most bytes asked of the source at once. Small enough to be still in the processor's cache
    /// when they are scanned.
    package var readBytes: Int
    /// Bytes that a thread which reads ahead asks for at once: whole strides, up to 16 MiB.
    var pieceBytes = 1 << 20
    var strideBytes = PieceFacts.strideBytes

    package init(
      chunkBytes: Int = 4 << 20, maximumRecordBytes: Int = 64 << 20, readBytes: Int = 256 << 10
    ) {
      // Spans are 32 bits wide: input and scratch together must stay below 4 GiB.
      self.chunkBytes = min(max(1, chunkBytes), 256 << 20)
      self.maximumRecordBytes = min(max(64, maximumRecordBytes), 1 << 30)
      self.readBytes = min(max(1, readBytes), 16 << 20)
    }
  }
}
