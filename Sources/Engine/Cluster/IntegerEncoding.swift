/// Encoding 1: canonical decimal integers.
///
///     marks               `RowMarks`
///     numbers             `FrameOfReference`
struct IntegerEncoding {
  let marks: RowMarks
  private let numbers: FrameOfReference

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    numbers = try FrameOfReference(&reader, rowCount: rowCount)
  }

  /// The integer of a row that is neither null nor an exception.
  @inline(__always)
  func number(_ row: Int) -> Int64 { numbers[row] }

  @inline(__always)
  func write(_ row: Int, to target: UnsafeMutableRawPointer) -> Int {
    NumberSpelling.write(numbers[row], to: target)
  }
}
