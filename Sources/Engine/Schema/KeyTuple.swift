import Base

/// The bytes of a primary key, for computing its code and comparing keys.
///
/// The key of one column is the spelling in that column. The key of several columns is the tuple of their
/// spellings, each preceded by its length (4 bytes), so that ("a", "bc") and ("ab", "c") are two keys. Tuples
/// are made for looking keys up and are not stored: objects have the spellings in their columns.
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

  /// The spellings in a key's bytes; nil when these are not a key of that number of columns.
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

  /// A key for messages: `a`, or `a, b` for several columns.
  ///
  /// - Parameter most: the maximum number of bytes shown of each part.
  package static func described(
    _ bytes: UnsafeRawBufferPointer, columns: Int, mostBytes most: Int = .max
  ) -> String {
    let parts = parts(bytes, columns: columns) ?? [Array(bytes)]
    return parts.map { String(decoding: $0.prefix(most), as: UTF8.self) }.joined(separator: ", ")
  }
}

extension KeyTuple {
  /// Returns whether an object has a key.
  ///
  /// - Parameters:
  ///   - bytes: the bytes of the key.
  ///   - columns: the number of the key's columns.
  ///   - part: returns the object's spelling in one of them, by index; nil for null.
  @inline(__always)
  package static func areEqual(
    _ bytes: UnsafeRawBufferPointer, columns: Int, _ part: (Int) -> UnsafeRawBufferPointer?
  ) -> Bool {
    if columns == 1 { return part(0).map { Bytes.areEqual($0, bytes) } ?? false }
    var rest = bytes
    for column in 0..<columns {
      guard let part = part(column), rest.count >= 4 else { return false }
      let length = UInt32(littleEndian: rest.loadUnaligned(as: UInt32.self))
      guard part.count == Int(length), rest.count - 4 >= part.count else { return false }
      guard Bytes.areEqual(part, UnsafeRawBufferPointer(rebasing: rest[4..<4 + part.count])) else {
        return false
      }
      rest = UnsafeRawBufferPointer(rebasing: rest[(4 + part.count)...])
    }
    return rest.isEmpty
  }
}

/// The keys of many rows: tuples of the spellings in several columns.
package struct KeyTuples: Sendable {
  /// The number of the key's columns.
  package let columns: Int
  package private(set) var bytes: [UInt8] = []
  /// Relative to the start of `bytes`; null for a key with a null part.
  package private(set) var spans: [TextSpan] = []

  package init(columns: Int) { self.columns = columns }

  /// - Parameter part: returns the row's spelling in a column of the key, by index; nil for null.
  /// - Throws: `EngineError.tooLarge`.
  package mutating func append(_ part: (Int) throws -> UnsafeRawBufferPointer?) throws {
    let start = bytes.count
    for column in 0..<columns {
      guard let part = try part(column) else {
        bytes.removeLast(bytes.count - start)
        return spans.append(.null)
      }
      KeyTuple.append(part, to: &bytes)
    }
    guard let offset = UInt32(exactly: start), offset != .max,
      let length = UInt32(exactly: bytes.count - start)
    else { throw EngineError.tooLarge(what: "keys of several columns together", limit: "4 GB") }
    spans.append(TextSpan(offset: offset, length: length))
  }

  /// The bytes of a row's key; empty when a part of it is null.
  package func bytes(ofRow row: Int) -> [UInt8] {
    if spans[row].isNull { return [] }
    return withKeys { base, keys in Array(keys[row].bytes(from: base)) }
  }

  /// A row's key for messages: see `KeyTuple.described`.
  package func described(row: Int, mostBytes: Int) -> String {
    bytes(ofRow: row).withUnsafeBytes {
      KeyTuple.described($0, columns: columns, mostBytes: mostBytes)
    }
  }

  package func withKeys<Result>(
    _ body: (UnsafeRawPointer, UnsafeBufferPointer<TextSpan>) throws -> Result
  ) rethrows -> Result {
    var none: UInt8 = 0
    return try bytes.withUnsafeBytes { bytes in
      try spans.withUnsafeBufferPointer { spans in
        // Without bytes nothing is read: any address is valid.
        try withUnsafePointer(to: &none) {
          try body(bytes.baseAddress ?? UnsafeRawPointer($0), spans)
        }
      }
    }
  }
}
