import Base

/// Unsigned integers of one width, packed without gaps: value i has the bits from i * width on, the lowest
/// bit first; bit 0 is the lowest bit of byte 0. Width 0 takes no bytes: all values are 0.
enum BitPacking {
  /// Bits needed for values up to `maximum`.
  @inline(__always)
  static func width(_ maximum: UInt64) -> Int { 64 &- maximum.leadingZeroBitCount }

  @inline(__always)
  static func width(_ maximum: Int) -> Int {
    width(UInt64(truncatingIfNeeded: max(maximum, 0)))
  }

  /// Bytes that `count` values take. The product cannot overflow: a cluster has at most 2^20 rows.
  @inline(__always)
  static func byteCount(_ count: Int, width: Int) -> Int { (count &* width &+ 7) &>> 3 }

  /// Packs the values for 0..<`count`; each must fit `width` bits.
  @inline(__always)
  static func pack(
    count: Int, width: Int, into output: inout OutputBuffer, _ value: (Int) -> UInt64
  ) {
    if width == 0 || count == 0 { return }
    let size = byteCount(count, width: width)
    var target = output.reserve(size &+ 8)
    var word: UInt64 = 0
    var filled = 0
    for index in 0..<count {
      let next = value(index)
      word |= next &<< UInt64(truncatingIfNeeded: filled)
      filled &+= width
      if filled >= 64 {
        target.storeBytes(of: word.littleEndian, as: UInt64.self)
        target += 8
        filled &-= 64
        // Not `&>>`: all of `next` may be used up, and this then shifts by 64.
        word = next >> UInt64(truncatingIfNeeded: width &- filled)
      }
    }
    target.storeBytes(of: word.littleEndian, as: UInt64.self)
    output.advance(size)
  }
}

/// Packed integers inside a cluster.
///
/// Unsafe for speed: a value is one unaligned load of eight bytes. A cluster ends with eight bytes of
/// padding, so the load of the last value stays inside the cluster.
struct PackedBits {
  private let base: UnsafeRawPointer
  // One byte: columns that are kept open for single rows should stay small.
  private let bits: UInt8

  @inline(__always)
  var width: Int { Int(bits) }

  /// Takes the bytes of `count` values from the reader.
  init(
    _ reader: inout ByteReader, count: Int, width: Int, maximumWidth: Int,
    _ what: @autoclosure () -> String
  ) throws(DecodingFailure) {
    guard width >= 0, width <= maximumWidth else {
      throw DecodingFailure(what: "the bit width of " + what(), offset: reader.offset)
    }
    let bytes = try reader.readBytes(BitPacking.byteCount(count, width: width), what())
    guard let start = bytes.baseAddress else {
      throw DecodingFailure(what: what(), offset: reader.offset)
    }
    base = start
    bits = UInt8(truncatingIfNeeded: width)
  }

  /// The value at `index`.
  ///
  /// - Precondition: 0 <= `index` < the count given to `init`.
  @inline(__always)
  subscript(index: Int) -> UInt64 {
    let width = width
    let mask = width == 0 ? 0 : UInt64.max &>> UInt64(truncatingIfNeeded: 64 &- width)
    let bit = index &* width
    let shift = UInt64(truncatingIfNeeded: bit & 7)
    let byte = bit &>> 3
    var word =
      UInt64(littleEndian: base.loadUnaligned(fromByteOffset: byte, as: UInt64.self)) &>> shift
    if width > 56 && Int(shift) &+ width > 64 {
      let high = UInt64(base.load(fromByteOffset: byte &+ 8, as: UInt8.self))
      word |= high &<< (64 &- shift)
    }
    return word & mask
  }
}
