extension RecordSplitter {
  /// Where an import begins or resumes.
  package struct Start: Sendable, Equatable {
    /// The offset of a record's first byte, from the start of the input.
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
