/// Encoding 6: dates, `YYYY-MM-DD`.
///
///     marks               `RowMarks`
///     days since 1970     `FrameOfReference`
struct DateEncoding {
  let marks: RowMarks
  private let days: FrameOfReference

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    days = try FrameOfReference(&reader, rowCount: rowCount)
  }

  /// The date of a row that is neither null nor an exception.
  func date(_ row: Int) -> CalendarDate { CalendarDate(clamping: days[row]) }

  func write(_ row: Int, to target: UnsafeMutableRawPointer) -> Int {
    DateSpelling.write(date(row), to: target)
  }
}
