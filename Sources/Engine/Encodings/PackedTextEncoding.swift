import Base

/// Encodings 5 and 8: the spellings back to back, as they are (5) or compressed by a table of symbols or
/// digits (8).
///
///     marks               `RowMarks`; exceptions only where compressed
///     strings             `StoredStrings`, one for each row (empty for null and exceptions)
struct PackedTextEncoding {
  let marks: RowMarks
  let strings: StoredStrings

  init(
    _ reader: inout ByteReader, rowCount: Int, flags: SegmentFlags, areCompressed: Bool
  ) throws(DecodingFailure) {
    let known = areCompressed ? flags : flags.subtracting(.exceptions)
    marks = try RowMarks(&reader, rowCount: rowCount, flags: known)
    strings = try StoredStrings(&reader, count: rowCount, areCompressed: areCompressed)
  }

  static func plan(_ column: GatheredColumn) -> PackedStringsPlan {
    PackedStringsPlan(
      count: column.rowCount, total: column.lengths.total,
      minimum: column.nullCount > 0 ? 0 : column.lengths.minimum, maximum: column.lengths.maximum)
  }

  static func size(_ column: GatheredColumn) -> Int {
    RowMarks.size(column, exceptions: PackedStringsPlan()) &+ plan(column).size
  }

  /// Writes everything except the marks.
  static func write(_ column: GatheredColumn, into output: inout OutputBuffer) {
    plan(column).write(column, into: &output) { column.spans[$0] }
  }
}
