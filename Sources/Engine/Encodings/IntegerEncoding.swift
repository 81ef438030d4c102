import Base

/// Encoding 1: canonical decimal integers.
///
///     marks               `RowMarks`
///     numbers             `PackedNumbers`
struct IntegerEncoding {
  let marks: RowMarks
  let numbers: PackedNumbers

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    numbers = try PackedNumbers(&reader, rowCount: rowCount)
  }

  /// The integer of a row that is neither null nor an exception.
  @inline(__always)
  func number(_ row: Int) -> Int64 { numbers[row] }
}
