/// Puts quotes around the first field of CSV without a header if the field begins with U+FEFF: without them
/// readers would take it for the file's byte-order mark, and drop it.
///
/// Thread rule: one thread at a time.
struct MarkGuard {
  private enum Place {
    /// Nothing was written yet, and the first field is to be looked at.
    case beginning
    /// Inside of the first field, after its opening quote.
    case inField
    /// Nothing is left to do.
    case behind
  }
  private var place: Place

  /// - Parameter isNeeded: false for what begins with names or is no CSV: everything is passed on as it is.
  init(isNeeded: Bool) { place = isNeeded ? .beginning : .behind }

  /// Passes the next bytes of the output on.
  ///
  /// - Parameter bytes: the first ones have the first three bytes of the output, or all of it.
  /// - Throws: the errors of `write`.
  mutating func write(
    _ bytes: UnsafeRawBufferPointer, _ write: (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    if bytes.isEmpty { return }
    if case .beginning = place {
      place = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? .inField : .behind
      if case .inField = place { try Self.quote(write) }
    }
    guard case .inField = place else { return try write(bytes) }
    // It was not quoted, so that it has no comma, quote or line end itself.
    guard let end = bytes.firstIndex(where: { $0 == 0x2C || $0 == 0x0A }) else {
      return try write(bytes)
    }
    place = .behind
    try write(UnsafeRawBufferPointer(rebasing: bytes[..<end]))
    try Self.quote(write)
    try write(UnsafeRawBufferPointer(rebasing: bytes[end...]))
  }

  private static func quote(_ write: (UnsafeRawBufferPointer) throws -> Void) throws {
    try withUnsafeBytes(of: 0x22 as UInt8) { try write($0) }
  }
}
