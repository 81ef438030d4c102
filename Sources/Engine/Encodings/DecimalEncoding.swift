import Base

/// Encoding 2: canonical decimals, each a mantissa and a number of digits after the point: `4.10` is 410 with
/// scale 2, `5` is 5 with scale 0.
///
///     marks               `RowMarks`
///     u8   scale          0 to 18, the smallest
///     u8   scaleWidth     0 (all rows have that scale) to 5; or 255, see below
///     packed  scale of each row - smallest scale     (rowCount values of scaleWidth bits)
///     mantissas           `PackedNumbers`
///
/// With scaleWidth 255 no scales follow: `scale` is the largest, all mantissas are in units of its last
/// digit, and numbers are spelled without zeros at the end of a fraction: with scale 2, 410 is `4.1` and 500
/// is `5`.
struct DecimalEncoding {
  static let headerSize = 2
  static let trimmedWidth = 255

  let marks: RowMarks
  let mantissas: PackedNumbers
  private let scale: Int
  private let isTrimmed: Bool
  private let scales: PackedBits

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    scale = Int(try reader.read(UInt8.self, "the scale"))
    let width = Int(try reader.read(UInt8.self, "the width of scales"))
    isTrimmed = width == Self.trimmedWidth
    scales = try PackedBits(
      &reader, count: rowCount, width: isTrimmed ? 0 : width, maximumWidth: 5, "the scales")
    mantissas = try PackedNumbers(&reader, rowCount: rowCount)
  }

  /// The scale of all mantissas; nil when rows differ.
  var mantissaScale: Int? {
    isTrimmed || scales.width == 0 ? min(scale, ScaledNumber.maximumScale) : nil
  }

  /// The number of a row that is neither null nor an exception.
  @inline(__always)
  func number(_ row: Int) -> ScaledNumber { number(mantissas[row], row) }

  /// The number of a row's mantissa.
  @inline(__always)
  func number(_ mantissa: Int64, _ row: Int) -> ScaledNumber {
    if isTrimmed {
      return NumberSpelling.trimmed(mantissa, scale: min(scale, ScaledNumber.maximumScale))
    }
    let scale = scale &+ Int(truncatingIfNeeded: scales[row])
    return ScaledNumber(
      mantissa: mantissa, scale: UInt8(truncatingIfNeeded: min(scale, ScaledNumber.maximumScale)))
  }

  /// Writes the number of a row's mantissa and returns its length.
  ///
  /// - Precondition: `NumberSpelling.capacity` bytes may be written at `target`.
  @inline(__always)
  func write(_ mantissa: Int64, _ row: Int, to target: UnsafeMutableRawPointer) -> Int {
    isTrimmed
      ? NumberSpelling.writeTrimmed(
        mantissa, scale: min(scale, ScaledNumber.maximumScale), to: target)
      : NumberSpelling.write(number(mantissa, row), to: target)
  }

  /// Bits for the scales in a set.
  static func scaleWidth(_ mask: UInt32) -> Int {
    let highest = 31 &- mask.leadingZeroBitCount
    return mask == 0 ? 0 : BitPacking.width(highest &- mask.trailingZeroBitCount)
  }

  /// Writes everything except the marks.
  ///
  /// - Parameter width: the width of the scales, or `trimmedWidth`.
  /// - Precondition: the scales of nulls and exceptions have been set to `scale`.
  static func write(
    _ scan: TypedScan, scale: UInt8, width: Int, plan: FramePlan, count: Int,
    into output: inout OutputBuffer
  ) {
    output.append(scale)
    output.append(UInt8(truncatingIfNeeded: width))
    if width != trimmedWidth {
      BitPacking.pack(count: count, width: width, into: &output) { row in
        UInt64(scan.scales[row] &- scale)
      }
    }
    plan.write(scan.numbers, count: count, into: &output)
  }
}
