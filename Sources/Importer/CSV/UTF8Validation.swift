/// Strict UTF-8 (Unicode 3.9, table 3-7): no overlong forms, no surrogates, nothing beyond U+10FFFF.
enum UTF8Validation {
  /// Position of the first ill-formed sequence at or after `start`; `count` when there is none.
  ///
  /// - Parameter bytes: `count` readable bytes. Raw, because ASCII is skipped 32 bytes at a time.
  static func firstInvalid(_ bytes: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    var position = start
    while true {
      position = skipASCII(bytes, from: position, count: count)
      // Text in other scripts comes in runs: stay in this loop until the run ends.
      while position < count, bytes.load(fromByteOffset: position, as: UInt8.self) >= 0x80 {
        let length = sequenceLength(bytes + position, available: count - position)
        if length == 0 { return position }
        position += length
      }
      if position >= count { return count }
    }
  }

  @inline(__always)
  private static func skipASCII(_ bytes: UnsafeRawPointer, from start: Int, count: Int) -> Int {
    var position = start
    while count - position >= 32 {
      let a = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      let b = bytes.loadUnaligned(fromByteOffset: position + 8, as: UInt64.self)
      let c = bytes.loadUnaligned(fromByteOffset: position + 16, as: UInt64.self)
      let d = bytes.loadUnaligned(fromByteOffset: position + 24, as: UInt64.self)
      if (a | b | c | d) & 0x8080_8080_8080_8080 != 0 { break }
      position += 32
    }
    while count - position >= 8 {
      let word = UInt64(
        littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let high = word & 0x8080_8080_8080_8080
      if high != 0 { return position + high.trailingZeroBitCount / 8 }
      position += 8
    }
    while position < count, bytes.load(fromByteOffset: position, as: UInt8.self) < 0x80 {
      position += 1
    }
    return position
  }

  /// Length of the sequence of two to four bytes that starts here; 0 when it is ill-formed.
  @inline(__always)
  private static func sequenceLength(_ bytes: UnsafeRawPointer, available: Int) -> Int {
    let lead = bytes.load(as: UInt8.self)
    guard lead >= 0xC2, lead <= 0xF4, available >= 2 else { return 0 }
    let second = bytes.load(fromByteOffset: 1, as: UInt8.self)
    // The second byte reveals overlong forms, surrogates and values beyond U+10FFFF.
    let lowest: UInt8 = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80
    let highest: UInt8 = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF
    guard second >= lowest, second <= highest else { return 0 }
    if lead < 0xE0 { return 2 }
    guard available >= 3, bytes.load(fromByteOffset: 2, as: UInt8.self) & 0xC0 == 0x80 else {
      return 0
    }
    if lead < 0xF0 { return 3 }
    guard available >= 4, bytes.load(fromByteOffset: 3, as: UInt8.self) & 0xC0 == 0x80 else {
      return 0
    }
    return 4
  }
}
