/// Appends little-endian values to a byte array.
///
/// Numbers are stored into space that is already allocated: appending each one to an array took most of the
/// time of writing a catalogue.
@usableFromInline
package struct ByteWriter {
  /// The bytes written, followed by zeros.
  @usableFromInline var room: [UInt8]
  @usableFromInline package internal(set) var count = 0

  @inlinable package init(capacity: Int = 0) {
    room = [UInt8](repeating: 0, count: max(capacity, 64))
  }

  /// The bytes written.
  @inlinable package var bytes: [UInt8] { Array(room[..<count]) }

  @inlinable @inline(__always)
  mutating func reserve(_ length: Int) {
    if room.count &- count < length { grow(length) }
  }

  @inlinable @inline(never)
  mutating func grow(_ length: Int) {
    room += repeatElement(0, count: max(room.count, length))
  }

  @inlinable @inline(__always)
  package mutating func append<Integer: FixedWidthInteger>(_ value: Integer) {
    reserve(MemoryLayout<Integer>.size)
    let end = count
    room.withUnsafeMutableBytes {
      $0.storeBytes(of: value.littleEndian, toByteOffset: end, as: Integer.self)
    }
    count = end + MemoryLayout<Integer>.size
  }

  @inlinable package mutating func append(_ value: Bool) { append(UInt8(value ? 1 : 0)) }

  @inlinable package mutating func append(_ buffer: UnsafeRawBufferPointer) {
    reserve(buffer.count)
    let end = count
    room.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[end...]).copyMemory(from: buffer)
    }
    count = end + buffer.count
  }

  @inlinable package mutating func append(_ array: [UInt8]) {
    array.withUnsafeBytes { append($0) }
  }

  /// A length of four bytes, then the text's UTF-8.
  @inlinable package mutating func append(_ text: String) {
    var copy = text
    copy.withUTF8 { utf8 in
      append(UInt32(truncatingIfNeeded: utf8.count))
      append(UnsafeRawBufferPointer(utf8))
    }
  }

  /// Overwrites a value written before.
  @inlinable package mutating func replace<Integer: FixedWidthInteger>(
    _ value: Integer, at offset: Int
  ) {
    withUnsafeBytes(of: value.littleEndian) { source in
      for index in source.indices { room[offset + index] = source[index] }
    }
  }
}

/// An error of decoding: the bytes ended too early, or a value was out of bounds.
@usableFromInline
package struct DecodingFailure: Error, Equatable {
  package let what: String
  package let offset: Int

  @usableFromInline
  package init(what: String, offset: Int) {
    self.what = what
    self.offset = offset
  }
}

/// A bounds-checked cursor over bytes that may be damaged or hostile.
@usableFromInline
package struct ByteReader {
  @usableFromInline let bytes: UnsafeRawBufferPointer
  @usableFromInline package internal(set) var offset: Int

  @inlinable package init(_ bytes: UnsafeRawBufferPointer, offset: Int = 0) {
    self.bytes = bytes
    self.offset = min(max(offset, 0), bytes.count)
  }

  @inlinable package var remaining: Int { bytes.count - offset }

  @inlinable package mutating func read<Integer: FixedWidthInteger>(
    _ type: Integer.Type, _ what: @autoclosure () -> String
  ) throws(DecodingFailure) -> Integer {
    guard remaining >= MemoryLayout<Integer>.size else {
      throw DecodingFailure(what: what(), offset: offset)
    }
    let value = bytes.loadUnaligned(fromByteOffset: offset, as: Integer.self)
    offset += MemoryLayout<Integer>.size
    return Integer(littleEndian: value)
  }

  @inlinable package mutating func readBool(_ what: @autoclosure () -> String)
    throws(DecodingFailure) -> Bool
  {
    let value = try read(UInt8.self, what())
    guard value <= 1 else { throw DecodingFailure(what: what(), offset: offset - 1) }
    return value == 1
  }

  @inlinable package mutating func readBytes(
    _ count: Int, _ what: @autoclosure () -> String
  ) throws(DecodingFailure) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= remaining else {
      throw DecodingFailure(what: what(), offset: offset)
    }
    defer { offset += count }
    return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
  }

  /// Text written by `ByteWriter.append(_: String)`; invalid UTF-8 is a failure.
  @inlinable package mutating func readText(_ what: @autoclosure () -> String)
    throws(DecodingFailure)
    -> String
  {
    let start = offset
    let count = try read(UInt32.self, what())
    let content = try readBytes(Int(count), what())
    guard let text = String(validating: content, as: UTF8.self) else {
      throw DecodingFailure(what: what(), offset: start)
    }
    return text
  }
}
