import Base

/// The bytes of a primary key: what its code is made of, and what keys are compared by.
///
/// The key of one column is the spelling there. The key of several is the tuple of their spellings, each
/// with its length before it (4 bytes), so that ("a", "bc") and ("ab", "c") are two keys. Tuples are made
/// for looking keys up and are not stored: objects have the spellings in their columns.
package enum KeyTuple {
  /// Adds a part to the bytes of a key of several columns.
  @inline(__always)
  package static func append(_ part: UnsafeRawBufferPointer, to bytes: inout [UInt8]) {
    let length = UInt32(clamping: part.count)
    withUnsafeBytes(of: length.littleEndian) { bytes.append(contentsOf: $0) }
    bytes.append(contentsOf: part)
  }

  /// The bytes of a key.
  ///
  /// - Parameter parts: the spellings, in the key's order.
  package static func bytes(_ parts: [[UInt8]]) -> [UInt8] {
    if parts.count == 1 { return parts[0] }
    var bytes: [UInt8] = []
    for part in parts { part.withUnsafeBytes { append($0, to: &bytes) } }
    return bytes
  }

  /// The spellings in a key's bytes; nil when these are not the key of so many columns.
  package static func parts(_ bytes: UnsafeRawBufferPointer, columns: Int) -> [[UInt8]]? {
    if columns == 1 { return [Array(bytes)] }
    var reader = ByteReader(bytes)
    var parts: [[UInt8]] = []
    for _ in 0..<columns {
      guard let length = try? reader.read(UInt32.self, "length"),
        let part = try? reader.readBytes(Int(length), "part")
      else { return nil }
      parts.append(Array(part))
    }
    return reader.remaining == 0 ? parts : nil
  }

  /// A key for messages: `a`, or `a, b` of several columns.
  package static func described(_ bytes: UnsafeRawBufferPointer, columns: Int) -> String {
    let parts = parts(bytes, columns: columns) ?? [Array(bytes)]
    return parts.map { String(decoding: $0, as: UTF8.self) }.joined(separator: ", ")
  }
}
