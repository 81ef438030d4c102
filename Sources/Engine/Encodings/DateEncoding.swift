import Base

/// Encoding 6: dates, all spelled in one style.
///
///     marks               `RowMarks`
///     u8  style           `DateStyle`
///     days since 1970     `PackedNumbers`
struct DateEncoding {
  static let headerSize = 1

  let marks: RowMarks
  let style: DateStyle
  let days: PackedNumbers

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    let start = reader.offset
    guard let style = DateStyle(rawValue: try reader.read(UInt8.self, "the style")) else {
      throw DecodingFailure(what: "the style", offset: start)
    }
    self.style = style
    days = try PackedNumbers(&reader, rowCount: rowCount)
  }

  /// The date of a row that is neither null nor an exception.
  func date(_ row: Int) -> CalendarDate { CalendarDate(clamping: days[row]) }
}
