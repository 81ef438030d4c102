import Base

/// A stream of bits, the highest first, as prefix codes need it.
struct BitWriter {
  private var target: UnsafeMutableRawPointer
  /// Bits not yet stored, from the top.
  private var word: UInt64 = 0
  private var filled = 0

  /// - Precondition: `target` has room for all bits and 16 bytes more.
  init(_ target: UnsafeMutableRawPointer) { self.target = target }

  /// Appends the lowest `count` bits (0 to 32) of `bits`; those above are 0.
  @inline(__always)
  mutating func append(_ bits: UInt64, count: Int) {
    filled &+= count
    word |= bits << UInt64(truncatingIfNeeded: 64 &- filled)
    let whole = filled &>> 3
    target.storeBytes(of: word.bigEndian, as: UInt64.self)
    target += whole
    word = word << UInt64(truncatingIfNeeded: whole &* 8)
    filled &-= whole &* 8
  }

  /// Appends the lowest `count` bits (0 to 64) of `bits`.
  @inline(__always)
  mutating func appendLong(_ bits: UInt64, count: Int) {
    if count > 32 {
      append(bits >> 32, count: count &- 32)
      append(bits & 0xFFFF_FFFF, count: 32)
    } else {
      append(bits, count: count)
    }
  }
}

/// Reads bits, the highest first. It never moves past the limit: bits read there mean nothing, but come from
/// inside the cluster and its padding.
struct BitCursor: Equatable {
  private let base: UnsafeRawPointer
  private let limit: Int
  private var position: Int

  /// - Precondition: `limit` bits and 8 bytes may be read from `base`.
  init(_ base: UnsafeRawPointer, position: Int, limit: Int) {
    self.base = base
    self.limit = limit
    self.position = min(max(position, 0), limit)
  }

  /// The next bits from the top; at least 57 are valid.
  @inline(__always)
  var window: UInt64 {
    let word = base.loadUnaligned(fromByteOffset: position &>> 3, as: UInt64.self)
    return UInt64(bigEndian: word) &<< UInt64(truncatingIfNeeded: position & 7)
  }

  @inline(__always)
  mutating func skip(_ count: Int) { position = min(position &+ count, limit) }

  /// Takes 0 to 64 bits.
  @inline(__always)
  mutating func read(_ count: Int) -> UInt64 {
    if count > 32 {
      let high = read(count &- 32)
      return high &<< 32 | read(32)
    }
    let bits = window >> UInt64(truncatingIfNeeded: 64 &- count)
    skip(count)
    return bits
  }
}

/// Rows of different numbers of bits, found in blocks of 128:
///
///     u32  bitCount      of all rows
///     u8   startWidth    0 to 32
///     packed  where block 1, 2, ... begins     ((rowCount - 1) / 128 values of startWidth bits)
///     bytes   (bitCount + 7) / 8
struct BitRows {
  static let blockShift = 7
  static let blockMask = 1 << blockShift - 1
  static let headerSize = 5

  private let starts: PackedBits
  private let base: UnsafeRawPointer
  private let bitCount: Int

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    bitCount = Int(try reader.read(UInt32.self, "the number of bits"))
    let width = Int(try reader.read(UInt8.self, "the width of block starts"))
    starts = try PackedBits(
      &reader, count: Self.startCount(rowCount), width: width, maximumWidth: 32, "block starts")
    let bytes = try reader.readBytes((bitCount + 7) >> 3, "the coded rows")
    guard let base = bytes.baseAddress else {
      throw DecodingFailure(what: "the coded rows", offset: reader.offset)
    }
    self.base = base
  }

  static func startCount(_ rowCount: Int) -> Int {
    rowCount == 0 ? 0 : (rowCount &- 1) &>> blockShift
  }

  /// Reads from the beginning of a row's block.
  ///
  /// - Precondition: 0 <= `row` < the number of rows.
  @inline(__always)
  func cursor(blockOf row: Int) -> BitCursor {
    let block = row &>> Self.blockShift
    let start = block == 0 ? 0 : Int(truncatingIfNeeded: starts[block &- 1])
    return BitCursor(base, position: start, limit: bitCount)
  }

  /// How many bytes rows with a total of `bits` bits take.
  static func size(rowCount: Int, bits: Int) -> Int {
    headerSize &+ BitPacking.byteCount(startCount(rowCount), width: BitPacking.width(bits))
      &+ (bits &+ 7) &>> 3
  }

  /// Writes rows.
  ///
  /// - Parameters:
  ///   - bits: the total of all rows; less than 2^32.
  ///   - length: the bits of a row.
  ///   - append: writes a row.
  static func write(
    rowCount: Int, bits: Int, into output: inout OutputBuffer, length: (Int) -> Int,
    append: (Int, inout BitWriter) -> Void
  ) {
    let width = BitPacking.width(bits)
    output.append(UInt32(truncatingIfNeeded: bits))
    output.append(UInt8(truncatingIfNeeded: width))
    var position = 0
    var next = 0
    BitPacking.pack(count: startCount(rowCount), width: width, into: &output) { block in
      let end = (block &+ 1) &<< blockShift
      while next < end {
        position &+= length(next)
        next &+= 1
      }
      return UInt64(truncatingIfNeeded: position)
    }
    let size = (bits &+ 7) &>> 3
    var writer = BitWriter(output.reserve(size &+ 16))
    for row in 0..<rowCount { append(row, &writer) }
    output.advance(size)
  }
}
