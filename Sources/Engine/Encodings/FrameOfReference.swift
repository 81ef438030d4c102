import Base

/// Numbers as differences from their smallest, bit-packed:
///
///     i64  base
///     u8   width        0 to 64
///     packed  number - base     (a value of width bits for each number)
struct FrameOfReference {
  static let headerSize = 9

  private let base: Int64
  private let packed: PackedBits

  init(_ reader: inout ByteReader, rowCount: Int) throws(DecodingFailure) {
    base = try reader.read(Int64.self, "the base")
    let width = Int(try reader.read(UInt8.self, "the bit width"))
    packed = try PackedBits(
      &reader, count: rowCount, width: width, maximumWidth: 64, "the numbers")
  }

  /// The number of a row. Damaged bytes may make the sum wrap.
  @inline(__always)
  subscript(row: Int) -> Int64 { base &+ Int64(bitPattern: packed[row]) }

  static func size(count: Int, width: Int) -> Int {
    headerSize &+ BitPacking.byteCount(count, width: width)
  }

  @inline(__always)
  static func write(
    count: Int, base: Int64, width: Int, into output: inout OutputBuffer,
    _ number: (Int) -> Int64
  ) {
    output.append(base)
    output.append(UInt8(truncatingIfNeeded: width))
    BitPacking.pack(count: count, width: width, into: &output) { index in
      UInt64(bitPattern: number(index) &- base)
    }
  }
}
