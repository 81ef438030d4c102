extension UnsafeRawBufferPointer {
  /// The number of bytes with which both buffers begin.
  ///
  /// Eight bytes are compared at a time.
  package func commonPrefixLength(with other: UnsafeRawBufferPointer) -> Int {
    let end = Swift.min(count, other.count)
    var offset = 0
    while offset &+ 8 <= end {
      let difference =
        UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        ^ UInt64(littleEndian: other.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      if difference != 0 { return offset &+ difference.trailingZeroBitCount / 8 }
      offset &+= 8
    }
    while offset < end, self[offset] == other[offset] { offset &+= 1 }
    return offset
  }
}
