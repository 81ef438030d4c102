/// Encoding 2: canonical decimals, a mantissa and a number of digits after the point: `4.10` is 410
/// with scale 2, `5` is 5 with scale 0.
///
///     marks               `RowMarks`
///     u8   scale          0 to 18, the smallest
///     u8   scaleWidth     0 (all rows have that scale) to 5
///     packed  scale of each row - smallest scale     (rowCount values of scaleWidth bits)
///     mantissas           `FrameOfReference`
struct DecimalEncoding {
  static let headerSize = 2

  let marks: RowMarks
  private let smallestScale: Int
  private let scales: PackedBits
  private let mantissas: FrameOfReference

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    smallestScale = Int(try reader.read(UInt8.self, "the scale"))
    let width = Int(try reader.read(UInt8.self, "the width of scales"))
    scales = try PackedBits(&reader, count: rowCount, width: width, maximumWidth: 5, "the scales")
    mantissas = try FrameOfReference(&reader, rowCount: rowCount)
  }

  /// The number of a row that is neither null nor an exception.
  @inline(__always)
  func number(_ row: Int) -> ScaledNumber {
    let scale = smallestScale &+ Int(truncatingIfNeeded: scales[row])
    return ScaledNumber(
      mantissa: mantissas[row],
      scale: UInt8(truncatingIfNeeded: min(scale, ScaledNumber.maximumScale)))
  }

  @inline(__always)
  func write(_ row: Int, to target: UnsafeMutableRawPointer) -> Int {
    NumberSpelling.write(number(row), to: target)
  }

  /// Bits for the scales in a set.
  static func scaleWidth(_ mask: UInt32) -> Int {
    let highest = 31 &- mask.leadingZeroBitCount
    return mask == 0 ? 0 : BitPacking.width(highest &- mask.trailingZeroBitCount)
  }

  /// Writes all but the marks.
  ///
  /// - Precondition: the scales of nulls and exceptions have been set to `smallest`.
  static func write(
    _ scan: TypedScan, smallest: UInt8, width: Int, plan: FramePlan, count: Int,
    into output: inout OutputBuffer
  ) {
    output.append(smallest)
    output.append(UInt8(truncatingIfNeeded: width))
    BitPacking.pack(count: count, width: width, into: &output) { row in
      UInt64(scan.scales[row] &- smallest)
    }
    plan.write(scan.numbers, count: count, into: &output)
  }
}
