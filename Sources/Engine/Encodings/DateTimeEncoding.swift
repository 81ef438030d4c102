import Base

/// Encoding 7: date-times that are all spelled in one style.
///
///     marks               `RowMarks`
///     u8   separator      `T` or a space
///     u8   hasSeconds     0 or 1
///     u8   fractionDigits 0 to 6
///     u8   zone           0 none, 1 `Z`, 2 `+HH:MM`, 3 `-HH:MM`
///     u16  zoneMinutes    of the offset, 0 to 1439
///     moments             `PackedNumbers`, since 1970 in UTC, in units of the last digit: minutes
///                         without seconds, else 10^-fractionDigits seconds
struct DateTimeEncoding {
  static let headerSize = 6

  let marks: RowMarks
  let style: DateTimeStyle
  let moments: PackedNumbers

  init(_ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags) throws(DecodingFailure) {
    marks = try RowMarks(&reader, rowCount: rowCount, flags: flags)
    var style = DateTimeStyle()
    let start = reader.offset
    style.separator = try reader.read(UInt8.self, "the separator")
    style.hasSeconds = try reader.readBool("the mark for seconds")
    style.fractionDigits = try reader.read(UInt8.self, "the fraction's digits")
    let zone = DateTimeStyle.Zone(rawValue: try reader.read(UInt8.self, "the zone"))
    style.zoneMinutes = try reader.read(UInt16.self, "the zone's offset")
    guard let zone, style.separator == 0x54 || style.separator == 0x20,
      style.fractionDigits <= (style.hasSeconds ? 6 : 0), style.zoneMinutes < 1440
    else { throw DecodingFailure(what: "the style", offset: start) }
    style.zone = zone
    self.style = style
    moments = try PackedNumbers(&reader, rowCount: rowCount)
  }

  /// The moment of a row that is neither null nor an exception.
  func moment(row: Int) -> DateTime { moment(moments[row]) }

  /// The moment of a stored number.
  @inline(__always)
  func moment(_ number: Int64) -> DateTime { DateTime(clamping: number &* style.unit) }

  /// Writes the moment of a stored number.
  func write(_ number: Int64, to target: UnsafeMutableRawPointer) -> Int {
    DateSpelling.write(moment(number), style: style, to: target)
  }

  /// Writes the style, which precedes the moments.
  static func write(_ style: DateTimeStyle, into output: inout OutputBuffer) {
    output.append(style.separator)
    output.append(UInt8(style.hasSeconds ? 1 : 0))
    output.append(style.fractionDigits)
    output.append(style.zone.rawValue)
    output.append(style.zoneMinutes)
  }
}
