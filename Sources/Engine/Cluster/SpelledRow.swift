/// The spellings of one row to be added to a table, in memory that is reused for the next row.
///
/// A value is spelled once: the row's primary key and the entries of its indexes are made from the same
/// bytes.
///
/// Thread rule: a value; copies are independent.
package struct SpelledRow: Sendable {
  package private(set) var bytes: [UInt8] = []
  /// One for each column, relative to the start of `bytes`.
  package private(set) var spans: [TextSpan] = []
  /// Larger buffers are not worth keeping.
  private static let mostKept = 1 << 16

  package init() {}

  /// Empties it for the next row.
  package mutating func removeAll() {
    spans.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: bytes.count <= Self.mostKept)
  }

  /// Adds the value of the next column.
  ///
  /// - Throws: `ClusterError.tooLarge`.
  @inline(__always)
  package mutating func append(_ value: Value) throws(ClusterError) {
    if case .null = value { return spans.append(.null) }
    let start = bytes.count
    value.appendSpelling(to: &bytes)
    guard bytes.count <= ClusterFormat.maximumBytes else { throw .tooLarge(bytes: bytes.count) }
    spans.append(
      TextSpan(
        offset: UInt32(truncatingIfNeeded: start),
        length: UInt32(truncatingIfNeeded: bytes.count - start)))
  }

  /// Calls `body` with the address that the spans' offsets are relative to, and the first span.
  @inline(__always)
  package func withSpans<Result>(
    _ body: (UnsafeRawPointer, UnsafePointer<TextSpan>) throws -> Result
  ) rethrows -> Result {
    var none = TextSpan.null
    return try bytes.withUnsafeBytes { bytes in
      try spans.withUnsafeBufferPointer { spans in
        // Without bytes and columns nothing is read: any address will do.
        try withUnsafePointer(to: &none) {
          try body(bytes.baseAddress ?? UnsafeRawPointer($0), spans.baseAddress ?? $0)
        }
      }
    }
  }
}
