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
}
